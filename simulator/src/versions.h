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

#include "finding.h"
#include "order.h"
#include "track/event.h"
#include "track/status.h"

struct versions;

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
