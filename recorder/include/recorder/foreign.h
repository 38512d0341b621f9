/*
 * Recording a tracker that is not the core's: what it does, in the words of the core.
 *
 * An emulator that keeps its own tracker says once what that is (trk_capture_foreign), and then
 * notes each operation, each lock, each protection call and each run of pages that it hands over.
 * Nothing of libtrack runs for that. What is not noted cannot be judged; nothing is assumed.
 *
 * Around an operation stand trk_capture_op_begin and trk_capture_op_end; they nest through
 * callbacks. Around a fault stand trk_capture_fault_begin and trk_capture_fault_end, and between
 * them, before the handler acts, trk_capture_decision. All of it is legal while locks are held and
 * on an alternate stack: what the calls promise stands in recorder/capture.h. `trackers` are
 * numbers 0 to 15 and shared with the core's.
 *
 * recorder/capture.hpp has scopes and an adapter over this for C++.
 */
#ifndef RECORDER_FOREIGN_H
#define RECORDER_FOREIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/capture.h"
#include "track/event.h"
#include "track/policy.h"
#include "track/status.h"

TRK_EXTERN_C_BEGIN

/* A lock's number has so many bits. */
#define TRK_CAPTURE_LOCKS_MAX (UINT32_C(1) << 24)

/* The locks of a tracker. Zero: one for everything, and its holds are counted by the caller. */
struct trk_capture_locks {
    enum trk_lock_kind kind;
    /*
     * Locks whose holds the recorder counts: 0 to count - 1. 0: the caller counts them, under the
     * lock, from 1. Takes 4 bytes of address space a lock, and memory where locks are taken.
     */
    uint32_t count;
    uint64_t guest_addr; /* first byte that lock 0 covers */
    uint64_t lock_bytes; /* that each covers, one behind the other; 0: that is not so simple */
};

struct trk_capture_foreign {
    size_t size; /* sizeof(struct trk_capture_foreign) */
    uint32_t id; /* 0 to 15 */
    uint32_t page_size_bytes;
    unsigned notes; /* TRK_NOTES_*: what it will note, and whether loads are closed out */
    enum trk_backend_kind backend;
    /* NULL: it goes its own ways. Else it does all that a core with this policy does, and its
     * operations can be run again on one and compared. */
    const struct trk_policy *policy;
    struct trk_capture_locks locks;
};

struct trk_capture_foreign trk_capture_foreign_default(void);

/**
 * Say that a foreign tracker exists, before its first operation.
 *
 * @return TRK_OK, also where nothing is recorded; TRK_E_ARGUMENT: the struct is not usable;
 *         TRK_E_MEMORY: no address space for the counts of holds. Nothing is declared then.
 *
 * Allocates: a mapping, where the recorder counts holds. Blocks: no. Signal-safe: no. Threads: one
 * at a time, and nobody notes anything of this tracker meanwhile.
 */
TRK_MUST_USE enum trk_status trk_capture_foreign_declare(const struct trk_capture_foreign *foreign,
                                                         struct trk_error *error);

/* ---- operations ------------------------------------------------------------------------------ */

struct trk_capture_op {
    enum trk_op op;
    uint32_t tracker;
    uint64_t guest_addr, size_bytes; /* as they were asked, not rounded */
    unsigned flags;                  /* TRK_OP_FLAG_* */
    enum trk_origin origin;          /* what brought it about */
};

/* An operation begins. op: any but TRK_OP_FAULT. */
static inline void trk_capture_op_begin(const struct trk_capture_op *op)
{
    if (trk_capture_listens()) {
        struct trk_event event =
            trk_capture_ranged(TRK_EVENT_OP_BEGIN, op->guest_addr, op->size_bytes);
        event.context = (uint16_t)op->op;
        event.flags = (uint8_t)op->flags;
        event.page = (uint16_t)op->tracker;
        event.pages = (uint16_t)op->origin;
        trk_capture_event(&event);
    }
}

/*
 * It ends. status: TRK_OK, or what it was refused for, when it has changed nothing. value: what
 * enum trk_op says in brackets; of a question the answer.
 */
static inline void trk_capture_op_end(enum trk_op op, enum trk_status status, uint64_t value)
{
    if (trk_capture_listens()) {
        struct trk_event event = trk_event_of(TRK_EVENT_OP_END, value);
        event.context = (uint16_t)op;
        event.flags = (uint8_t)status;
        trk_capture_event(&event);
    }
}

/* The operation under way hands a run of pages to its range callback, which is called next. */
static inline void trk_capture_handed(uint32_t tracker, uint64_t guest_addr, uint64_t size_bytes)
{
    if (trk_capture_listens()) {
        struct trk_event event = trk_capture_ranged(TRK_EVENT_HANDED, guest_addr, size_bytes);
        event.page = (uint16_t)tracker;
        trk_capture_event(&event);
    }
}

/* It calls another callback next: an upload's completion, a flush, a read-back. */
static inline void trk_capture_callback(enum trk_callback callback)
{
    if (trk_capture_listens()) {
        struct trk_event event = trk_event_of(TRK_EVENT_CALLBACK, 0);
        event.context = (uint16_t)callback;
        trk_capture_event(&event);
    }
}

/*
 * The tracker's own check has failed, in the operation under way: its emulator would stop here. A
 * verdict of its own.
 */
static inline void trk_capture_failure(enum trk_status failure_class, enum trk_op op,
                                       uint64_t guest_addr, uint64_t size_bytes)
{
    if (trk_capture_listens()) {
        struct trk_event event = trk_capture_ranged(TRK_EVENT_FAIL, guest_addr, size_bytes);
        event.context = (uint16_t)failure_class;
        event.flags = (uint8_t)op;
        trk_capture_event(&event);
    }
}

/* ---- faults ---------------------------------------------------------------------------------- */

/* Where an access was made that faults. What is not known stays 0. */
struct trk_capture_place {
    uint64_t pc, stack_addr;
    uint32_t thread;               /* the kernel's id of who faulted, if that is not the caller */
    uint16_t access_bytes;         /* what the instruction reads or writes */
    enum trk_access_source source; /* how the access's kind is known */
};

/* Of the fault whose trk_capture_fault_begin comes next on this thread. */
static inline void trk_capture_fault_at(const struct trk_capture_place *place)
{
    if (trk_capture_listens()) {
        struct trk_event event = trk_event_of(TRK_EVENT_FAULT_AT, place->pc);
        trk_event_set_size(&event, place->stack_addr);
        trk_event_set_number32(&event, place->thread);
        event.flags = (uint8_t)place->source;
        event.context = place->access_bytes;
        trk_capture_event(&event);
    }
}

/* A guest access faulted at this byte. First thing in the handler. */
static inline void trk_capture_fault_begin(uint32_t tracker, uint64_t guest_addr,
                                           enum trk_access access)
{
    if (trk_capture_listens()) {
        struct trk_event event = trk_event_of(TRK_EVENT_FAULT, guest_addr);
        event.domain = tracker << 24; /* in no hold */
        event.flags = (uint8_t)access;
        event.context = TRK_LOOK_UNKNOWN;
        trk_capture_event(&event);
    }
}

/* What the handler is about to do. */
static inline void trk_capture_decision(uint32_t tracker, uint64_t guest_addr,
                                        enum trk_decision decision)
{
    if (trk_capture_listens()) {
        struct trk_event event = trk_event_of(TRK_EVENT_DECISION, guest_addr);
        event.page = (uint16_t)tracker;
        event.context = (uint16_t)decision;
        trk_capture_event(&event);
    }
}

/* It has done so; the access is run again, or somebody else is asked. */
static inline void trk_capture_fault_end(enum trk_fault_outcome outcome)
{
    trk_capture_op_end(TRK_OP_FAULT, TRK_OK, (uint64_t)outcome);
}

/* ---- protection ------------------------------------------------------------------------------ */

/* To be or-ed to the new rights below: the rights that the range had before. */
#define TRK_RIGHTS_FROM(former) (TRK_EVENT_HAS_FORMER | (former) << TRK_EVENT_FORMER_SHIFT)

/* The host was asked for these rights (TRK_RIGHT_*), and answered: 0, or its errno. */
static inline void trk_capture_host_protect(uint32_t tracker, uint64_t guest_addr,
                                            uint64_t size_bytes, unsigned rights, int os_errno)
{
    if (trk_capture_listens()) {
        struct trk_event event = trk_capture_ranged(TRK_EVENT_HOST_PROTECT, guest_addr, size_bytes);
        event.page = (uint16_t)tracker;
        event.flags = (uint8_t)(rights | (os_errno != 0 ? TRK_EVENT_FAILED : 0));
        event.context = (uint16_t)os_errno;
        trk_capture_event(&event);
    }
}

/* ---- locks ----------------------------------------------------------------------------------- */

/*
 * A lock was taken just now: its hold's number, for the call that follows its release; 0: nothing
 * was noted. _counted: the caller has counted the hold, under the lock, from 1.
 */
TRK_SELDOM_CALLED uint32_t trk_capture_lock_note(uint32_t tracker, uint32_t lock);
static inline uint32_t trk_capture_lock(uint32_t tracker, uint32_t lock)
{
    return trk_capture_listens() ? trk_capture_lock_note(tracker, lock) : 0;
}

static inline struct trk_event trk_capture_held(enum trk_event_type type, uint32_t tracker,
                                                uint32_t lock, uint32_t hold)
{
    struct trk_event event = trk_event_of(type, 0);
    event.domain = trk_domain(TRK_DOMAIN_OWNER, tracker, lock);
    event.seq = hold;
    return event;
}

static inline void trk_capture_lock_counted(uint32_t tracker, uint32_t lock, uint32_t hold)
{
    if (trk_capture_listens()) {
        struct trk_event event = trk_capture_held(TRK_EVENT_LOCK, tracker, lock, hold);
        trk_capture_event(&event);
    }
}

/* It was released, or is about to be. hold: what the lock's call gave or was given; 0: nothing. */
static inline void trk_capture_unlock(uint32_t tracker, uint32_t lock, uint32_t hold)
{
    if (trk_capture_listens() && hold != 0) {
        struct trk_event event = trk_capture_held(TRK_EVENT_UNLOCK, tracker, lock, hold);
        trk_capture_event(&event);
    }
}

/*
 * A lock that several may have at once was taken so just now, and given back. Such holds have no
 * numbers and order nothing: trk_capture_signal and trk_capture_await do. Of a lock whose holds the
 * recorder counts, the newest one that a thread had alone is noted.
 */
TRK_SELDOM_CALLED void trk_capture_shared_note(uint32_t tracker, uint32_t lock, bool released);
static inline void trk_capture_lock_shared(uint32_t tracker, uint32_t lock)
{
    if (trk_capture_listens())
        trk_capture_shared_note(tracker, lock, false);
}

static inline void trk_capture_unlock_shared(uint32_t tracker, uint32_t lock)
{
    if (trk_capture_listens())
        trk_capture_shared_note(tracker, lock, true);
}

TRK_EXTERN_C_END

#endif
