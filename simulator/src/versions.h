/*
 * The version check: whether each byte that was read is as new as it had to be.
 *
 * It is told of witnessed stores, copies, uploads and GPU work, in canonical order, and judges each
 * read: stale when a store that is ordered before it is newer than what it saw. What merely races
 * proves nothing. It knows nothing of page states; it works on traces of any tracker.
 *
 * Rules: scenario-format, Order and Verdicts.
 */
#ifndef SIMULATOR_VERSIONS_H
#define SIMULATOR_VERSIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "order.h"
#include "shadow.h"
#include "track/event.h"
#include "track/status.h"

struct versions;

/* Which event, of which stream, concerned which bytes. */
struct access {
    uint64_t event;
    uint32_t stream;
    uint64_t guest_addr, size_bytes;
};

/* What was proven of a stale read, and all that its story needs. */
struct finding {
    enum trk_agent agent; /* who read */
    struct access check;
    uint64_t guest_addr, size_bytes; /* the stale bytes */
    struct shadow_store store;       /* what should have been seen */
    bool stamped;                    /* the check said what it saw */
    uint32_t seen;                   /* stamp seen */
    bool has_copy;
    struct shadow_copy copy; /* that brought the older bytes, as far as known */
    bool has_clean;
    struct shadow_clean clean; /* that let the newer bytes be forgotten */
    uint64_t event_at;
    uint32_t stream_at;
    const char *detail; /* a constant, or "" */
};

/* The order must outlive it. Allocates. */
TRK_MUST_USE enum trk_status versions_create(struct versions **out, const struct order *order);
void versions_destroy(struct versions *versions);

/* Ranges that leave the bands are passed over by all of these. TRK_OK or TRK_E_MEMORY. */

/* flags: SHADOW_STORE_GPU, SHADOW_STORE_FAULTED; stamp 0: content not known. */
TRK_MUST_USE enum trk_status versions_store(struct versions *versions, const struct access *access,
                                            unsigned flags, uint32_t stamp);
/* Bytes were copied between event begin and the access's own event. */
TRK_MUST_USE enum trk_status versions_copy(struct versions *versions, const struct access *access,
                                           uint64_t begin, enum trk_copy direction);
/* A fault on a page that the GPU owned was served. */
TRK_MUST_USE enum trk_status versions_fetch(struct versions *versions, const struct access *access);
/* An upload took these pages: dirty bits were cleared. */
TRK_MUST_USE enum trk_status versions_clean(struct versions *versions, const struct access *access);
TRK_MUST_USE enum trk_status versions_map(struct versions *versions, const struct access *access,
                                          uint64_t frame, unsigned flags);
TRK_MUST_USE enum trk_status versions_unmap(struct versions *versions, const struct access *access);

/*
 * Judge a read. The caller fills agent, check, and stamped and seen where the read says which stamp
 * it saw; the rest is filled when *stale.
 */
void versions_check(struct versions *versions, struct finding *finding, bool *stale);

/*
 * At the end of the trace: the first check that saw bytes of no known stamp and that no store seen
 * since excuses. False when there is none.
 */
bool versions_unexcused(const struct versions *versions, struct finding *out);

#endif
