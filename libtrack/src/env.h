/*
 * The core's contact with the world, in one place.
 *
 * The live build has real locks, real host calls and plain memory; a simulated build gives another
 * env.h in which each of these yields, checks and logs. Nothing else in the core reaches outside.
 */
#ifndef TRACK_ENV_H
#define TRACK_ENV_H

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "track/address.h"
#include "track/backend.h"
#include "track/event_values.h"
#include "track/thread.h"
#include "track/tracker.h"

/* thread.c: the state in force on this host thread; before the first use one with the id 0. */
extern _Thread_local struct trk_thread *trk_thread_in_force
    __attribute__((tls_model("initial-exec")));

/* The thread that acts: owner of locks, of upload callbacks, of fault counts. */
static inline struct trk_thread *env_self(void)
{
    struct trk_thread *self = trk_thread_in_force;
    return TRK_LIKELY(self->id != 0) ? self : trk_thread_current();
}

/*
 * A lock that a signal handler may take [M-34]: the owner's id, or 0. Who sleeps for it is counted
 * apart, in a slot by the lock's place, so that an unlock is a store and a look; lock.c says why
 * that is enough. Locks that share a slot cost each other a needless wake now and then.
 */
struct env_lock {
    uint32_t word;
};

struct region;

/* Where the access was that a handler on this thread is at: what the processor had in its hands. */
struct env_interrupted {
    uint64_t pc, stack_addr;
    enum trk_access_source source; /* how load and store were told apart */
    uint64_t host_addr;            /* that the signal told; 0: none */
    uintptr_t frame;               /* of the handler; 0: there is none */
    uintptr_t floor;               /* of the alternate stack that it is on; 0: it is on none */
};

#ifdef TRK_SIM
#include "env_sim.h"
#else

/* fault.c: of the handler that this thread is in. */
extern _Thread_local struct env_interrupted trk_fault_interrupted
    __attribute__((tls_model("initial-exec")));

/*
 * Where an access at a guest address was that a handler asks for; NULL: no handler does. An owner
 * may have jumped out of it: then whoever calls stands before it on the stack, or on another one.
 * Where the handler was on the thread's own stack, a later caller may stand deeper: it is known by
 * another place in the page, which is the same in every view.
 */
static inline const struct env_interrupted *env_interrupted(uint64_t guest_addr)
{
    const struct env_interrupted *at = &trk_fault_interrupted;
    const uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    const uint64_t in_page = TRK_HOST_PAGE_BYTES - 1;
    if (here >= at->frame || here < at->floor)
        return NULL;
    return at->host_addr == 0 || ((guest_addr ^ at->host_addr) & in_page) == 0 ? at : NULL;
}

#define ENV_SLEEPER_SLOTS 64u

extern uint32_t trk_lock_sleepers[ENV_SLEEPER_SLOTS]; /* lock.c */

/* The slot is the same for two locks in one aligned pair. */
static inline uint32_t *env_lock_sleepers(const struct env_lock *lock)
{
    uint64_t place = (uint64_t)(uintptr_t)lock / 8;
    return &trk_lock_sleepers[place * UINT64_C(0x9e3779b97f4a7c15) >> 58];
}

/* Wait for a lock that was not free; in lock.c. */
void env_lock_slow(struct env_lock *lock, uint32_t id);
/* Wait a little for a pair; false: not now. */
bool env_lock_pair_spin(struct env_lock *first, uint32_t id);
void env_lock_wake(struct env_lock *lock);

static inline bool env_lock_try(struct env_lock *lock, uint32_t id)
{
    uint32_t expected = 0;
    return __atomic_compare_exchange_n(&lock->word, &expected, id, false, __ATOMIC_ACQUIRE,
                                       __ATOMIC_RELAXED);
}

static inline uint32_t env_lock_owner(const struct env_lock *lock)
{
    return __atomic_load_n(&lock->word, __ATOMIC_RELAXED);
}

static inline void env_lock_put_down(struct env_lock *lock)
{
    __atomic_store_n(&lock->word, 0, __ATOMIC_RELEASE);
}

static inline bool env_lock_has_sleepers(const struct env_lock *lock)
{
    return TRK_UNLIKELY(__atomic_load_n(env_lock_sleepers(lock), __ATOMIC_RELAXED) != 0);
}

/* The caller is the owner. */
static inline void env_unlock(struct env_lock *lock)
{
    env_lock_put_down(lock);
    if (env_lock_has_sleepers(lock))
        env_lock_wake(lock);
}

/*
 * Both locks of a pair (the second lies behind the first, which is aligned to 8 bytes), taken by
 * one instruction or not at all: no order is needed, since nothing is held while one waits. Each
 * is a lock of its own as well. The thread sanitizer follows whole words only: two steps for it.
 */
static inline bool env_lock_try_pair(struct env_lock *first, uint32_t id)
{
#if defined(__SANITIZE_THREAD__)
    if (!env_lock_try(first, id))
        return false;
    if (env_lock_try(first + 1, id))
        return true;
    env_unlock(first);
    return false;
#else
    uint64_t expected = 0;
    return __atomic_compare_exchange_n((uint64_t *)(void *)first, &expected,
                                       (uint64_t)id << 32 | id, false, __ATOMIC_ACQUIRE,
                                       __ATOMIC_RELAXED);
#endif
}

static inline void env_unlock_pair(struct env_lock *first)
{
#if defined(__SANITIZE_THREAD__)
    env_lock_put_down(first);
    env_lock_put_down(first + 1);
#else
    __atomic_store_n((uint64_t *)(void *)first, 0, __ATOMIC_RELEASE);
#endif
    if (env_lock_has_sleepers(first)) {
        env_lock_wake(first);
        env_lock_wake(first + 1);
    }
}

/* A fault that changed nothing is about to be tried again: let others run. */
static inline void env_stand_back(void)
{
    int saved = errno;
    sched_yield();
    errno = saved;
}

/*
 * Words of the page sets: written under their region's lock, looked at without it by readers who
 * then check that no hold began meanwhile (region_peek). A reader that sees a word of a hold also
 * sees that hold's number. The simulated build holds env_load and env_store against the lock.
 */
static inline uint64_t env_load(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static inline void env_store(uint64_t *word, uint64_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

/* A word that is looked at without a lock, by whoever knows what that is worth. */
static inline uint64_t env_peek(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

/* Bits are set without a lock, and never cleared. */
static inline void env_set_forever(uint64_t *word, uint64_t bits)
{
    __atomic_fetch_or(word, bits, __ATOMIC_RELEASE);
}

/* The same for flags. */
static inline bool env_peek_flag(const bool *flag)
{
    return __atomic_load_n(flag, __ATOMIC_ACQUIRE);
}

static inline void env_raise_flag(bool *flag)
{
    __atomic_store_n(flag, true, __ATOMIC_RELEASE);
}

/*
 * A region's watches and rights are about to change, under its page manager's lock; or are looked
 * at without. For the simulated build alone.
 */
static inline void env_pages_change(const struct region *region)
{
    (void)region;
}

static inline void env_pages_peek(const struct region *region)
{
    (void)region;
}

#endif /* TRK_SIM */

/* One host protection call: 0 or an errno value. */
static inline int env_protect(struct trk_backend *backend, uint64_t guest_addr, uint64_t size_bytes,
                              unsigned rights)
{
    return backend->protect(backend, guest_addr, size_bytes, rights);
}

/* The edges between the core and its owner. */
static inline void env_call_range(trk_range_fn *range, void *context, uint64_t guest_addr,
                                  uint64_t size_bytes)
{
    range(context, guest_addr, size_bytes);
}

static inline void env_call_flush(trk_flush_fn *flush, void *context, uint64_t guest_addr,
                                  uint64_t size_bytes)
{
    flush(context, guest_addr, size_bytes);
}

static inline void env_call_completion(trk_completion_fn *completion, void *context)
{
    completion(context);
}

#endif
