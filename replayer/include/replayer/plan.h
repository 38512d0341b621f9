/*
 * What a trace moved, in the order to do it again: decoded once, before anything is measured.
 *
 * item     one thing done to bytes: a store to guest memory, a copy up or down, a write by the GPU,
 *          a look at bytes (a check).
 * group    neighbouring items of one kind that nothing between them orders: one or more submits.
 *          Stores are no groups: they stand before the group that they must precede.
 * frame    the groups between two FRAME events; what is before the first one belongs to frame 0.
 * mirror   one image that holds every page that the trace touches, on the device and, as guest
 *          memory, on the host. Neighbouring pages stay neighbours; views of one frame of memory
 *          are one place. Holes wider than TRK_PLAN_HOLE_PAGES are cut.
 * content  what a store or a GPU write leaves: it follows from the item's content number and the
 *          place (replayer/content.h), or it is a page that the trace recorded.
 *
 * image    bytes of the mirror that are in an image on the device instead: the trace says that they
 *          are copied to and from one, and nothing else touches them but the GPU's writes inside of
 * it.
 *
 * A copy up of a page that no witnessed store has changed since the copy before says only that the
 * page was dirty: then it is preceded by a store of its own to what no witnessed store ever writes,
 * whose content follows from the recorded hash of the page where there is one. With the first copy
 * of a page that one has changed, such a store gives bytes to what nobody says anything of. Where
 * the trace also has the content of such a page (`trk record --payload pages`), the copy is
 * preceded by a store of just these bytes, whether or not stores were witnessed.
 *
 * The oracle of the simulator is asked at every check of the trace; where it says that bytes are
 * stale or lost, the check knows which store should have been seen.
 */
#ifndef REPLAYER_PLAN_H
#define REPLAYER_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/trace.h"
#include "simulator/sim.h"
#include "track/status.h"

TRK_EXTERN_C_BEGIN

#define TRK_PLAN_PAGE_BYTES      4096u
#define TRK_PLAN_HOLE_PAGES      64u
#define TRK_PLAN_TEXEL_BYTES_MAX 16u

enum trk_plan_kind {
    TRK_PLAN_STORE = 0,     /* to guest memory, by anyone */
    TRK_PLAN_UPLOAD = 1,    /* guest memory to the device */
    TRK_PLAN_DOWNLOAD = 2,  /* the device to guest memory */
    TRK_PLAN_GPU_WRITE = 3, /* on the device */
    TRK_PLAN_CHECK = 4,     /* somebody read, or the oracle found something */
};

enum trk_plan_side {
    TRK_PLAN_DEVICE = 0,
    TRK_PLAN_GUEST = 1,
};

struct trk_plan_item {
    uint64_t event;      /* number in the trace */
    uint64_t guest_addr; /* as the trace names it */
    uint64_t offset;     /* in the mirror */
    uint64_t size_bytes;
    /* STORE, GPU_WRITE: see replayer/content.h. CHECK: that of the store whose bytes the oracle
     * says are there; 0: it is not sure of one. */
    uint64_t content;
    uint32_t resource; /* as recorded with a copy; 0: none given */
    uint16_t kind;     /* enum trk_plan_kind */
    uint16_t side;     /* of a CHECK: enum trk_plan_side */
    uint32_t finding;  /* of a CHECK: 1 + index of the oracle's finding; 0: nothing is wrong */
    uint32_t page;     /* of a STORE: 1 + index in the plan's pages; 0: bytes are made up */
    uint32_t image;    /* 1 + index of the image that holds it on the device; 0: none does */
    uint32_t dispatch; /* of a GPU_WRITE: 1: a compute shader's */
    uint32_t by_gpu;   /* of a CHECK with content: 1: that of a write by the GPU */
};

struct trk_plan_group {
    uint32_t kind;                   /* never TRK_PLAN_STORE */
    uint32_t frame;                  /* index in the plan */
    size_t first_store, store_count; /* done before, to guest memory */
    size_t first_item, item_count;
    uint64_t bytes; /* of the items */
};

struct trk_plan_frame {
    uint64_t number; /* as recorded */
    size_t first_group, group_count;
    uint64_t upload_bytes, download_bytes, gpu_write_bytes;
    uint64_t uploads, downloads, gpu_writes; /* items */
};

/* Rows without gaps; its bytes of the mirror on the device are not used. */
struct trk_plan_image {
    uint64_t guest_addr,
        offset; /* of the first texel; in the mirror, of TRK_PLAN_TEXEL_BYTES_MAX */
    uint64_t size_bytes;
    uint32_t width, height, texel_bytes; /* a texel: 1, 2, 4, 8 or 16 bytes */
};

/* What the oracle said: which store should have been there. */
struct trk_plan_finding {
    enum trk_verdict_kind verdict;
    enum trk_status failure_class; /* of a fatal one */
    uint32_t frame;                /* in which it showed: as plan->frames has them */
    uint64_t event_at;             /* that broke the rule */
    uint64_t event_visible;        /* where it showed */
    uint64_t guest_addr, size_bytes;
    uint64_t store_event; /* TRK_NOT_KNOWN: none is to blame */
    uint64_t content;     /* that store's; valid where store_event is known */
    bool by_gpu;          /* that store was the GPU's */
};

struct trk_plan {
    const struct trk_plan_item *items;   /* groups' items */
    const struct trk_plan_item *stores;  /* in the order of the groups that they precede */
    const struct trk_plan_group *groups; /* in the order to run them */
    const struct trk_plan_frame *frames;
    const struct trk_plan_finding *findings; /* that showed in these frames */
    const struct trk_plan_image *images;     /* ascending, apart */
    size_t image_count;
    size_t plain_images; /* that the trace names, and that are replayed as parts of the mirror */
    size_t item_count, store_count, group_count, frame_count, finding_count;
    uint64_t mirror_bytes;
    uint64_t upload_bytes, download_bytes, gpu_write_bytes; /* of all frames */
    uint64_t uploads, downloads, gpu_writes;
    uint64_t dispatches; /* of the GPU's writes: by a compute shader */
    uint64_t events;     /* of the trace, that were read */
    bool complete;       /* the trace was whole */
    bool witnessed;      /* stores were witnessed */
    uint64_t hash;       /* of the plan: the same trace and frames give the same */
    /* Contents of pages that the trace has, each once; TRK_PLAN_PAGE_BYTES each. */
    const uint8_t *pages;
    size_t page_count, pages_damaged; /* those that the file had, but no longer has whole */
    /* Guest memory and the device when the first frame starts; NULL: zeros. mirror_bytes each. */
    const uint8_t *guest_start, *device_start;
};

struct trk_plan_options {
    size_t size;               /* sizeof(struct trk_plan_options) */
    uint64_t frame_first;      /* numbers as recorded */
    uint64_t frame_last;       /* inclusive; UINT64_MAX: to the end */
    uint64_t mirror_bytes_max; /* a mirror that is larger is refused; 0: 64 GiB */
};

struct trk_plan_options trk_plan_options_default(void);

/**
 * Read a trace from its beginning and plan its frames.
 *
 * @return TRK_OK; TRK_E_ARGUMENT: there are no such frames; TRK_E_INCOMPLETE: nothing in them moves
 *         bytes; TRK_E_UNSUPPORTED: the mirror would be too large; what reading gives;
 *         TRK_E_MEMORY. The trace is left at its end.
 *
 * Allocates: yes. Blocks: reads the trace. Signal-safe: no. Threads: one call at a time.
 */
TRK_MUST_USE enum trk_status trk_plan_create(struct trk_plan **out, struct trk_trace *trace,
                                             const struct trk_plan_options *options,
                                             struct trk_error *error);
void trk_plan_destroy(struct trk_plan *plan);

/* What a store of the plan leaves in `size_bytes` bytes of the mirror from `at` on, all of them its
 * own: as recorded where the trace has that, else made up (replayer/content.h). */
void trk_plan_store(const struct trk_plan *plan, const struct trk_plan_item *item, uint64_t at,
                    uint64_t size_bytes, void *out);

TRK_EXTERN_C_END

#endif
