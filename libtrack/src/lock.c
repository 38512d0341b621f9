/*
 * Waiting for a lock of the core: pause, then futex.
 *
 * The fast path is in env.h. An unlock writes the word and then looks whether anybody sleeps at
 * that lock's slot, without an instruction that orders the two. So it may look too early:
 *
 *   unlock               waiter
 *   word = 0 (not out)
 *   sleepers? none
 *                        sleepers++
 *                        word? taken: asks the kernel to sleep while it is
 *   word = 0 (out)
 *
 * and the waiter sleeps at a free lock. Nothing else can go wrong: the kernel compares the word
 * before it lets anybody sleep, and the next unlock sees the waiter's count. A sleep therefore
 * ends by itself after SLEEP_NS, and the waiter looks anew. A sleeper that misses its call is
 * rare (the store is out within nanoseconds, and a waiter has spun for microseconds before), so
 * the price of that bound is small; an unlock in order would cost as much as taking the lock.
 *
 * Safe in a signal handler: errno is kept, nothing is allocated.
 */
#include <errno.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "env.h"

#define LOCK_SPINS 200
#define SLEEP_NS   2000000

uint32_t trk_lock_sleepers[ENV_SLEEPER_SLOTS];

static inline void pause_once(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static void futex(uint32_t *word, int operation, uint32_t value)
{
    static const struct timespec sleep = {.tv_nsec = SLEEP_NS};
    int saved = errno;
    syscall(SYS_futex, word, operation | FUTEX_PRIVATE_FLAG, value,
            operation == FUTEX_WAIT ? &sleep : NULL, NULL, 0);
    errno = saved;
}

static bool spin(struct env_lock *lock, uint32_t id)
{
    for (int i = 0; i < LOCK_SPINS; i++) {
        if (__atomic_load_n(&lock->word, __ATOMIC_RELAXED) == 0 && env_lock_try(lock, id))
            return true;
        pause_once();
    }
    return false;
}

void env_lock_slow(struct env_lock *lock, uint32_t id)
{
    if (spin(lock, id))
        return;
    uint32_t *sleepers = env_lock_sleepers(lock);
    __atomic_fetch_add(sleepers, 1, __ATOMIC_SEQ_CST);
    for (;;) {
        uint32_t word = __atomic_load_n(&lock->word, __ATOMIC_RELAXED);
        if (word != 0)
            futex(&lock->word, FUTEX_WAIT, word);
        else if (env_lock_try(lock, id))
            break;
    }
    __atomic_fetch_sub(sleepers, 1, __ATOMIC_RELAXED);
}

bool env_lock_pair_spin(struct env_lock *first, uint32_t id)
{
    const struct env_lock *second = first + 1;
    for (int i = 0; i < LOCK_SPINS; i++) {
        if (__atomic_load_n(&first->word, __ATOMIC_RELAXED) == 0 &&
            __atomic_load_n(&second->word, __ATOMIC_RELAXED) == 0 && env_lock_try_pair(first, id))
            return true;
        pause_once();
    }
    return false;
}

void env_lock_wake(struct env_lock *lock)
{
    futex(&lock->word, FUTEX_WAKE, 1);
}
