/*
 * What is remembered of each byte: the newest stores to it and the newest copies of it.
 *
 * Bytes of a page with equal histories share a segment. All histories are short and fixed; what
 * falls out of one is forgotten, and so is a page's whole history when it is cut into too many
 * segments. Forgetting is safe: the check then proves less, never something false.
 */
#ifndef SIMULATOR_SHADOW_H
#define SIMULATOR_SHADOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "track/status.h"

#define SHADOW_PAGE_BYTES   4096u
#define SHADOW_STORES       4u
#define SHADOW_COPIES       2u
#define SHADOW_CLEANS       2u
#define SHADOW_SEGMENTS_MAX 128u
#define SHADOW_PAGES_MAX    (1u << 19) /* 2 GiB of guest memory */

/* What all histories together may take; pages beyond it are not followed. */
#define SHADOW_BYTES_MAX (UINT64_C(160) << 20)

#define SHADOW_STORE_GPU          1u
#define SHADOW_STORE_FAULTED      2u   /* the store's thread had just faulted on the page */
#define SHADOW_STORE_UNTRACKED    4u   /* through a view that nobody registered */
#define SHADOW_STORE_AFTER_COPIES 8u   /* every copy up kept then was ordered before it */
#define SHADOW_STORE_SAID         16u  /* the state below is known */
#define SHADOW_STORE_SAID_BEFORE  32u  /* and what made it is ordered before the store */
#define SHADOW_STORE_PART         64u  /* of a granule: which bytes of it is forgotten */
#define SHADOW_STORE_UNSAID       128u /* what made the state of its page may be missing */

/* No padding in these: segments are compared byte by byte. */
struct shadow_store {
    uint64_t event;
    uint64_t since; /* the event that put the page into `state`; TRK_NOT_KNOWN: it began so */
    uint32_t stream, stamp;
    uint32_t flags, tick; /* tick: of a GPU's write, 0 not known */
    uint32_t since_stream;
    uint8_t agent;    /* enum trk_agent */
    uint8_t state;    /* enum said_state: of the page, by the tracker's word, at the store */
    uint8_t since_op; /* enum trk_op */
    uint8_t reserved;
};

#define SHADOW_COPY_FETCHED 1u /* no copy, but the GPU's bytes may have come by a way not noted */
#define SHADOW_COPY_EARLY   2u /* down, and the newest GPU write to the bytes was not complete */
#define SHADOW_COPY_TAKEN   4u /* up, in the callback of the upload that took the bytes */
#define SHADOW_COPY_ENDED   8u /* what began it is lost: begin is 0 for what may be any event */

struct shadow_copy {
    uint64_t begin, end; /* events */
    uint64_t guest_addr, size_bytes;
    uint32_t stream, flags;
};

/*
 * Newest first; unused entries are zero and lie behind the counts. A copy home over the newest
 * store to guest memory is not forgotten before newer ones.
 */
struct shadow_history {
    struct shadow_store stores[SHADOW_STORES];
    struct shadow_copy up[SHADOW_COPIES], down[SHADOW_COPIES];
    uint64_t down_up_end[SHADOW_COPIES]; /* of the newest copy up that began before down[] ended,
                                            also where that is forgotten; 0: there was none */
    uint32_t store_count, up_count, down_count, reserved;
    uint64_t overwritten; /* the end of the copy that put older bytes over the newest store, where
                             no other copy had it; 0: none is known to have */
    uint64_t doubted;     /* likewise of the first that may have: what it brought is not known */
};

struct shadow_segment {
    uint32_t first, end; /* bytes of the page */
    struct shadow_history history;
};

/* An upload took the page: its dirty bit was cleared. */
struct shadow_clean {
    uint64_t event;
    uint64_t guest_addr, size_bytes;
    uint32_t stream, reserved;
};

struct shadow_page {
    uint64_t key;
    uint32_t count, capacity;
    struct shadow_segment *segments; /* cover the page, ascending */
    uint32_t clean_count;
    struct shadow_clean cleans[SHADOW_CLEANS]; /* newest first */
};

struct shadow;

TRK_MUST_USE enum trk_status shadow_create(struct shadow **out);
void shadow_destroy(struct shadow *shadow);

/* NULL when it was never made. */
struct shadow_page *shadow_find(const struct shadow *shadow, uint64_t key);

/* The pages that there are, in no order; *at is 0 at first. NULL: that was all. */
struct shadow_page *shadow_next(const struct shadow *shadow, size_t *at);

/*
 * Find or make. *out is NULL with TRK_OK when SHADOW_PAGES_MAX, or SHADOW_BYTES_MAX, are in use:
 * the page is not followed.
 */
TRK_MUST_USE enum trk_status shadow_touch(struct shadow *shadow, uint64_t key,
                                          struct shadow_page **out);

/* Whether something was forgotten, or not followed, for want of room. */
bool shadow_limited(const struct shadow *shadow);

/* Forget all of a page. */
void shadow_forget(struct shadow_page *page);

/* Neighbouring segments of a page. */
struct shadow_part {
    struct shadow_segment *segments;
    size_t count;
};

/*
 * Cut segments so that [first, end) is made of whole ones, and give these. A page that would be cut
 * too small forgets first.
 */
TRK_MUST_USE enum trk_status shadow_cut(struct shadow *shadow, struct shadow_page *page,
                                        uint32_t first, uint32_t end, struct shadow_part *part);

/* Join neighbours with equal histories. */
void shadow_join(struct shadow_page *page);

void shadow_add_store(struct shadow_history *history, const struct shadow_store *store);
void shadow_add_up(struct shadow_history *history, const struct shadow_copy *copy);
void shadow_add_down(struct shadow_history *history, const struct shadow_copy *copy);
void shadow_add_clean(struct shadow_page *page, const struct shadow_clean *clean);

#endif
