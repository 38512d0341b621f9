/*
 * Foreign trackers: what they are, and the counts of holds that the recorder keeps for them.
 */
#define _GNU_SOURCE /* mremap */
#include "recorder/foreign.h"

#include <sys/mman.h>

#include "capture_emit.h"
#include "track/address.h"

#define TRACKERS 16u

/* A count a lock, each written under its lock only. */
struct holds {
    uint32_t *counts; /* NULL: the caller counts */
    uint32_t count;
};

static struct holds holds_of[TRACKERS];

struct trk_capture_foreign trk_capture_foreign_default(void)
{
    return (struct trk_capture_foreign){
        .size = sizeof(struct trk_capture_foreign),
        .page_size_bytes = (uint32_t)TRK_HOST_PAGE_BYTES,
        .notes = TRK_NOTES_LOCKS | TRK_NOTES_PROTECTION | TRK_NOTES_HANDED,
        .backend = TRK_BACKEND_MPROTECT,
    };
}

static enum trk_status check(const struct trk_capture_foreign *foreign, struct trk_error *error)
{
    const unsigned notes =
        TRK_NOTES_LOCKS | TRK_NOTES_PROTECTION | TRK_NOTES_HANDED | TRK_NOTES_LOADS;
    if (foreign == NULL || foreign->size != sizeof *foreign)
        return trk_error_set(error, TRK_E_ARGUMENT, "what declares a tracker is of another size");
    uint32_t page = foreign->page_size_bytes;
    if (foreign->id >= TRACKERS)
        return trk_error_set(error, TRK_E_ARGUMENT, "a foreign tracker's number is 0 to 15");
    if (page < TRK_HOST_PAGE_BYTES || (page & (page - 1)) != 0)
        return trk_error_set(error, TRK_E_ARGUMENT,
                             "a tracker's page is a power of two from %u bytes on, not %u",
                             (unsigned)TRK_HOST_PAGE_BYTES, (unsigned)page);
    if (foreign->locks.count > TRK_CAPTURE_LOCKS_MAX)
        return trk_error_set(error, TRK_E_ARGUMENT, "a tracker has at most %u locks",
                             (unsigned)TRK_CAPTURE_LOCKS_MAX);
    if (foreign->locks.kind > TRK_LOCK_PAGE)
        return trk_error_set(error, TRK_E_ARGUMENT, "%u is no kind of lock",
                             (unsigned)foreign->locks.kind);
    if (foreign->backend > TRK_BACKEND_USERFAULTFD)
        return trk_error_set(error, TRK_E_ARGUMENT, "%u is no backend", (unsigned)foreign->backend);
    if ((foreign->notes & ~notes) != 0)
        return trk_error_set(error, TRK_E_ARGUMENT, "what a tracker notes has an unknown bit");
    if (foreign->policy != NULL &&
        (trk_policy_check(foreign->policy) != TRK_OK || foreign->policy->page_size_bytes != page))
        return trk_error_set(error, TRK_E_ARGUMENT, "no policy of the core's, or another page");
    return TRK_OK;
}

/* Counts go on when a tracker is declared again: its locks may be the same. */
static enum trk_status count_holds(struct holds *holds, uint32_t count, struct trk_error *error)
{
    if (count <= holds->count)
        return TRK_OK;
    size_t size_bytes = (size_t)count * sizeof *holds->counts;
    void *memory = holds->counts == NULL
                       ? mmap(NULL, size_bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
                       : mremap(holds->counts, (size_t)holds->count * sizeof *holds->counts,
                                size_bytes, MREMAP_MAYMOVE);
    if (memory == MAP_FAILED)
        return trk_error_set(error, TRK_E_MEMORY, "no address space for the holds of %u locks",
                             (unsigned)count);
    holds->counts = memory;
    holds->count = count;
    return TRK_OK;
}

enum trk_status trk_capture_foreign_declare(const struct trk_capture_foreign *foreign,
                                            struct trk_error *error)
{
    enum trk_status status = check(foreign, error);
    if (status != TRK_OK || !trk_capture_listens())
        return status;
    status = count_holds(&holds_of[foreign->id], foreign->locks.count, error);
    if (status != TRK_OK)
        return status;
    uint64_t policy = foreign->policy != NULL ? trk_policy_pack(foreign->policy) : 0;
    trk_capture_know_foreign(foreign->id, policy, foreign->backend);
    struct trk_event event =
        trk_capture_ranged(TRK_EVENT_FOREIGN, policy, foreign->page_size_bytes);
    event.page = (uint16_t)foreign->id;
    event.context = (uint16_t)foreign->backend;
    event.flags = (uint8_t)foreign->notes;
    trk_capture_event(&event);
    event =
        trk_capture_ranged(TRK_EVENT_LOCKS, foreign->locks.guest_addr, foreign->locks.lock_bytes);
    event.page = (uint16_t)foreign->id;
    event.context = (uint16_t)foreign->locks.kind;
    trk_capture_event(&event);
    return TRK_OK;
}

/* Not part of the function that callers hold for a cold one. */
static __attribute__((noinline, hot)) uint32_t note_lock(uint32_t tracker, uint32_t lock)
{
    if (tracker >= TRACKERS || lock >= holds_of[tracker].count || !trk_capture_active())
        return 0;
    uint32_t *count = &holds_of[tracker].counts[lock];
    uint32_t hold = TRK_LOAD_RELAXED(count) + 1; /* 0 is no number: the count has wrapped */
    hold += hold == 0;
    TRK_STORE_RELAXED(count, hold);
    struct trk_event event = trk_capture_held(TRK_EVENT_LOCK, tracker, lock, hold);
    trk_capture_event(&event);
    return hold;
}

uint32_t trk_capture_lock_note(uint32_t tracker, uint32_t lock)
{
    return note_lock(tracker, lock);
}

void trk_capture_shared_note(uint32_t tracker, uint32_t lock, bool released)
{
    bool counted = tracker < TRACKERS && lock < holds_of[tracker].count;
    uint32_t hold = counted ? TRK_LOAD_RELAXED(&holds_of[tracker].counts[lock]) : 0;
    struct trk_event event = trk_event_of(TRK_EVENT_SHARED, hold);
    trk_event_set_number32(&event, lock);
    event.context = (uint16_t)tracker;
    event.flags = released ? 1 : 0;
    trk_capture_event(&event);
}
