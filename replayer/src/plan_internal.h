/*
 * What the plan_*.c files share.
 *
 * key      where bytes are, whatever view shows them: 4096 times a page's key, plus the byte in it.
 *          A page's key is its frame's number where a MAP says it, else the guest page's.
 * raw      an item as the trace gave it: its offset is still a key.
 * order    raws are run by it: twice their number, less one for what stands before another.
 */
#ifndef PLAN_INTERNAL_H
#define PLAN_INTERNAL_H

#include "replayer/plan.h"

#define PLAN_PAGE_SHIFT 12u

struct plan_raw {
    struct trk_plan_item item;
    uint64_t order;
    uint64_t operation; /* of a download: those of one operation go together */
    uint32_t frame;
    bool synthetic;  /* a store that only stands for a copy up */
    bool hashed;     /* of a page whose recorded hash is its content number */
    bool from_range; /* a copy that only a range of the tracker tells of */
    uint32_t tick;   /* of a GPU write; 0: not known */
};

/* An image that the trace names; its offset is a key at first. */
struct plan_image {
    struct trk_plan_image image;
    bool plain;
    uint32_t number; /* in the plan, from 1; 0: it is plain */
};

struct plan_raws {
    struct plan_image *images; /* an item's image is 1 + its index here, until plan_images */
    size_t image_count, image_capacity;
    struct plan_raw *all;
    size_t count, capacity;
    struct trk_plan_finding *findings;
    size_t finding_count, finding_capacity;
    uint64_t *frames; /* numbers, as recorded */
    size_t frame_count, frame_capacity;
    bool witnessed, copies; /* there were witnessed stores, COPY events */
    uint64_t events;
};

/* Room for one more of an array, doubled as it grows; NULL without memory (nothing changed then).
 */
void *plan_grow(void *array, size_t count, size_t *capacity, size_t item_bytes);
/* Room for one raw more; false: none, or there are PLAN_RAWS_MAX. */
bool plan_raws_grow(struct plan_raws *raws);

/* ---- plan_views.c: which frames guest addresses show ----------------------------------------- */

struct plan_view {
    uint64_t first, end; /* guest pages */
    uint64_t key;        /* of the first */
};

struct plan_views {
    struct plan_view *all; /* ascending, apart */
    size_t count, capacity;
};

void plan_views_deinit(struct plan_views *views);
/* mapped: show frames from `frame` on; else nothing is known of the range any more. */
TRK_MUST_USE enum trk_status plan_views_set(struct plan_views *views, uint64_t guest_addr,
                                            uint64_t size_bytes, bool mapped, uint64_t frame);
/* The key of an address, and how many bytes from there on keep step with it, at most `size_bytes`.
 */
uint64_t plan_views_key(const struct plan_views *views, uint64_t guest_addr, uint64_t *size_bytes);

/* ---- plan_images.c --------------------------------------------------------------------------- */

/* What a thread's newest events say of the copy under way and of the GPU's next access. */
struct plan_shape {
    uint32_t image; /* of the copy; 0: none */
    uint64_t accesses;
    bool dispatched; /* the access is a dispatch's */
};

/* Take an event, before it is used. TRK_E_DAMAGED: an image that cannot be; TRK_E_MEMORY. */
TRK_MUST_USE enum trk_status plan_shape_take(struct plan_shape *shape, struct plan_raws *raws,
                                             const struct plan_views *views,
                                             const struct trk_event *event);
/* Behind plan_layout: the plan's images, and their numbers into the raws. */
TRK_MUST_USE enum trk_status plan_images(struct trk_plan *plan, struct plan_raws *raws,
                                         struct trk_error *error);

/* ---- plan_read.c: the trace's events --------------------------------------------------------- */

/* raws is to be freed in any case. */
TRK_MUST_USE enum trk_status plan_read(struct plan_raws *raws, struct trk_trace *trace,
                                       struct trk_error *error);

/* ---- plan_undone.c: read-backs that came too early ------------------------------------------- */

/* Writes that are looked at for it, at most. */
#define PLAN_UNDONE_MAX 4096u

struct plan_undone {
    uint64_t done_tick; /* newest that is known to have run; 0: the trace says of none yet */
    size_t count;
    struct {
        size_t raw;   /* a write by the GPU whose tick has not run */
        size_t since; /* it has its place behind this raw */
    } all[PLAN_UNDONE_MAX];
};

/* A raw is a write by the GPU that has a tick. */
void plan_undone_add(struct plan_undone *undone, size_t raw);
void plan_undone_complete(struct plan_undone *undone, const struct plan_raws *raws, uint64_t tick);
/* The raws from `first` on are a read-back. */
TRK_MUST_USE enum trk_status plan_undone_down(struct plan_undone *undone, struct plan_raws *raws,
                                              size_t first);

/* The most raws that a plan is made from. */
#define PLAN_RAWS_MAX (UINT64_C(1) << 28)

/* ---- plan_pages.c: contents that the trace has --------------------------------------------- */

/* Give the hashed stores of frames below `end_frame` their pages. */
TRK_MUST_USE enum trk_status plan_pages(struct trk_plan *plan, struct plan_raws *raws,
                                        uint32_t end_frame, struct trk_trace *trace,
                                        struct trk_error *error);

/* ---- plan_layout.c: from keys to places in the mirror ---------------------------------------- */

/* Cuts raws where the mirror is cut; gives the mirror's size. */
TRK_MUST_USE enum trk_status plan_layout(struct plan_raws *raws, uint64_t *mirror_bytes,
                                         struct trk_error *error);

/* ---- plan_versions.c: bytes for copies that the trace does not tell ----------------------------
 */

/* Behind plan_layout, in the order to run them. */
TRK_MUST_USE enum trk_status plan_versions(struct plan_raws *raws, uint64_t mirror_bytes,
                                           struct trk_error *error);

/* ---- plan_groups.c: frames, groups, and the stores before them ------------------------------- */

/* The raws of frames [first, end) become the plan's. */
TRK_MUST_USE enum trk_status plan_groups(struct trk_plan *plan, const struct plan_raws *raws,
                                         uint32_t first_frame, uint32_t end_frame,
                                         struct trk_error *error);

#endif
