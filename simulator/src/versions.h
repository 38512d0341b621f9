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

#include "disorder.h"
#include "finding.h"
#include "latent.h"
#include "order.h"
#include "track/event.h"
#include "track/status.h"

struct versions;

/* The order must outlive it. granule_bytes: a power of two, 1 to 4096. Allocates. */
TRK_MUST_USE enum trk_status versions_create(struct versions **out, const struct order *order,
                                             uint32_t granule_bytes);
void versions_destroy(struct versions *versions);

/*
 * Events before this one may be missing: what rests on nothing having happened since a store
 * before it is not judged any more.
 */
void versions_doubt(struct versions *versions, uint64_t event);
/* Likewise of events with numbers below `lost`, instead of what was said here before. */
void versions_lose(struct versions *versions, uint64_t lost);
/*
 * Views may have changed untold: at some event with a number below `lost`, instead of what was said
 * here before; UINT64_MAX: at any from now on. An address may then show other bytes than is known.
 */
void versions_lose_views(struct versions *versions, uint64_t lost);
/* A change of views, or an access, does not stand where it belongs: it is not known any more, for
 * good, which came first. */
void versions_views_astray(struct versions *versions);
/* Where the order is a guess; must outlive it. NULL: what is not in order is not known. */
void versions_disorder(struct versions *versions, const struct disorder *disorder);
/* What is told and asked from here on belongs to this event. */
void versions_now(struct versions *versions, uint64_t event);
/* Whether something that bears on bytes may have come since an event, and is missing or stands
 * before it. */
bool versions_in_doubt(const struct versions *versions, uint64_t event);
/* The GPU has run this tick, and all before it. */
void versions_complete(struct versions *versions, uint64_t event, uint64_t tick);

/* Ranges that leave the bands are passed over by all of these. TRK_OK or TRK_E_MEMORY. */

/* The store's event, stream and AFTER_COPIES are filled here; stamp 0: content not known. */
TRK_MUST_USE enum trk_status versions_store(struct versions *versions, const struct access *access,
                                            const struct shadow_store *store);
/*
 * Bytes were copied between event told->begin and the access's own event; of told, begin and the
 * flags count. A copy over newer bytes that are nowhere else fills lost.
 */
TRK_MUST_USE enum trk_status versions_copy(struct versions *versions, const struct access *access,
                                           const struct shadow_copy *told, enum trk_copy direction,
                                           struct finding *lost);
/* The GPU's bytes of these pages may have come home, or were given up. */
TRK_MUST_USE enum trk_status versions_fetch(struct versions *versions, const struct access *access);
/* An upload took these pages: dirty bits were cleared. */
TRK_MUST_USE enum trk_status versions_clean(struct versions *versions, const struct access *access);
TRK_MUST_USE enum trk_status versions_map(struct versions *versions, const struct access *access,
                                          uint64_t frame, unsigned flags);
TRK_MUST_USE enum trk_status versions_unmap(struct versions *versions, const struct access *access);

/* The GPU's copy of these bytes counts no more from here on: fills lost if it was the only one. */
void versions_drop(const struct versions *versions, const struct access *access,
                   struct finding *lost);

/* What a check could say. */
enum versions_word {
    VERSIONS_FRESH,   /* as new as it had to be, or as one of the stores that race it */
    VERSIONS_STALE,   /* the finding is filled */
    VERSIONS_UNKNOWN, /* no store to the bytes is known, or what is known is in doubt */
};

/*
 * Judge a read. The caller fills agent, check, and stamped and seen where the read says which stamp
 * it saw; the rest is filled when it is stale.
 */
enum versions_word versions_check(struct versions *versions, struct finding *finding);

/* The view of an address is one that nobody registered; the address that the tracker knows the
 * bytes by, the same where there is no other. */
bool versions_untracked(const struct versions *versions, uint64_t guest_addr);
uint64_t versions_tracked_addr(const struct versions *versions, uint64_t guest_addr);

/*
 * The earliest store to one of the pages that nobody was told of, as far as its bytes are the
 * newest and have not come to the GPU's copy since; finding->found false: none.
 */
void versions_untold(const struct versions *versions, const struct latents *latents,
                     struct finding *finding);

/* Whether something was forgotten for want of room. */
bool versions_limited(const struct versions *versions);

/*
 * At the end of the trace: the first check that saw bytes of no known stamp and that no store seen
 * since excuses. False when there is none.
 */
bool versions_unexcused(const struct versions *versions, struct finding *out);

#endif
