/*
 * The state of a tracker's regions, to be kept and put into another tracker.
 *
 * For who re-executes the second part of a log without the first. Regions whose pages are shared
 * between views, and trackers with generations, are not taken.
 *
 * Allocates: the tracker's own memory. Blocks: no. Signal-safe: no. Threads: nobody else may be in
 * the tracker meanwhile.
 */
#ifndef TRACK_IMAGE_H
#define TRACK_IMAGE_H

#include "track/address.h"
#include "track/tracker.h"

TRK_EXTERN_C_BEGIN

#define TRK_IMAGE_WORDS TRK_REGION_WORDS /* a bit a page of a region */
#define TRK_IMAGE_PAGES TRK_REGION_PAGES

/* The sets of a region, a bit a page. */
enum trk_image_set {
    TRK_IMAGE_NOT_CPU = 0,
    TRK_IMAGE_GPU,
    TRK_IMAGE_WATCHED,  /* at least one write watch */
    TRK_IMAGE_MANY,     /* at least two */
    TRK_IMAGE_READ,     /* the read watch */
    TRK_IMAGE_NO_READ,  /* the guest's rights */
    TRK_IMAGE_NO_WRITE, /* likewise */
    TRK_IMAGE_EXECUTE,  /* likewise */
    TRK_IMAGE_SETS,
};

/* Registered bytes, [first, end) in the region. */
struct trk_image_span {
    uint32_t first, end;
};

struct trk_image {
    uint32_t region;
    uint32_t seq;       /* of the newest hold */
    uint32_t pages_seq; /* likewise, of the page manager */
    uint32_t span_count;
    const struct trk_image_span *spans; /* taken: the tracker's, until the next operation */
    uint64_t sets[TRK_IMAGE_SETS][TRK_IMAGE_WORDS];
    uint8_t counts[TRK_IMAGE_PAGES]; /* write watches above the first */
};

/* The first region with a number from `region` on that an operation has met; TRK_REGION_COUNT:
 * none.
 */
uint32_t trk_image_next(const struct trk_tracker *tracker, uint32_t region);

/**
 * Copy a region's state.
 *
 * @return TRK_OK; TRK_E_UNSUPPORTED: it is in use, or of a kind that is not taken.
 */
TRK_MUST_USE enum trk_status trk_image_take(const struct trk_tracker *tracker, uint32_t region,
                                            struct trk_image *out);

/**
 * Give a region of a fresh tracker this state. Nothing is told to host or observer.
 *
 * @return TRK_OK; TRK_E_ARGUMENT: no state that a region can have; TRK_E_MEMORY;
 *         TRK_E_UNSUPPORTED: the tracker has generations.
 */
TRK_MUST_USE enum trk_status trk_image_put(struct trk_tracker *tracker,
                                           const struct trk_image *image);

/* The resource layer, likewise: what was set, and setting it without an event. */
struct trk_resource_layer trk_image_layer(const struct trk_tracker *tracker);
void trk_image_put_layer(struct trk_tracker *tracker, const struct trk_resource_layer *layer);

TRK_EXTERN_C_END

#endif
