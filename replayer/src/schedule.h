/*
 * A plan cut up as a policy wants it: what is copied, in which submits, from where in staging.
 *
 * piece   bytes that a command copies, or that a shader moves in parts.
 * part    bytes that the host copies into a slot of staging, or out of it: of an upload the pieces,
 *         of a download what was asked for, without the gaps; cut up, so that threads share them.
 * chunk   the pieces of one submit; they fill one slot at most.
 * entry   what one workgroup moves.
 */
#ifndef SCHEDULE_H
#define SCHEDULE_H

#include <stdbool.h>

#include "replayer/plan.h"
#include "replayer/policy.h"
#include "replayer/replay.h"

/* No more entries in a chunk: their table is a part of the slot, and a dispatch has a limit. */
#define SCHEDULE_ENTRIES_MAX 32768u
#define SCHEDULE_ENTRY_BYTES 4096u
#define SCHEDULE_UNIT_BYTES  16u
#define SCHEDULE_PART_BYTES  (UINT64_C(256) << 10) /* a part's, at most */

struct schedule_piece {
    uint64_t offset; /* in the mirror */
    uint64_t stage;  /* in the slot, a multiple of SCHEDULE_UNIT_BYTES */
    uint64_t size_bytes;
    uint32_t image; /* as of a plan's item */
};

struct schedule_entry {
    uint32_t target, source, units, zero; /* as scatter.comp reads it */
};

/* Entries that see the same part of the mirror. */
struct schedule_dispatch {
    uint32_t window, first, count; /* first: in the chunk's table */
};

struct schedule_chunk {
    size_t first_piece, piece_count;
    size_t first_part, part_count;
    size_t first_entry, entry_count;
    size_t first_dispatch, dispatch_count;
    uint64_t staged_bytes; /* of the slot */
    uint64_t moved_bytes;
    bool in_place; /* see schedule_options */
    bool again;    /* a repetition of the chunk before */
    bool images;   /* its pieces are parts of images, and no shape's */
};

struct schedule_group {
    size_t first_chunk, chunk_count;
};

struct schedule {
    struct schedule_group *groups; /* by the plan's groups; empty but for copies */
    struct schedule_chunk *chunks;
    struct schedule_piece *pieces, *parts;
    struct schedule_entry *entries;
    struct schedule_dispatch *dispatches;
    size_t chunk_count, piece_count, part_count, entry_count, dispatch_count;
    size_t chunk_capacity, piece_capacity, part_capacity, entry_capacity, dispatch_capacity;
    uint64_t slot_bytes;           /* the most that a chunk stages, rounded up */
    size_t chunks_most;            /* in one group */
    uint64_t regions, moved_bytes; /* of a pass */
};

struct schedule_options {
    const struct trk_transfer_policy *policy;
    struct trk_gpu_cost cost;
    /* Pieces of uploads, of downloads lie in the slot as in the mirror: guest memory, or the mirror
     * itself, is the slot. */
    bool up_in_place, down_in_place;
    bool entries;          /* make entries */
    uint64_t window_bytes; /* of the mirror that a shader sees at once */
};

/* *schedule must be zero; schedule_deinit in any case. */
TRK_MUST_USE enum trk_status schedule_make(struct schedule *schedule, const struct trk_plan *plan,
                                           const struct schedule_options *options,
                                           struct trk_error *error);
void schedule_deinit(struct schedule *schedule);

/* ---- shapes.c: from ranges to regions -------------------------------------------------------- */

struct region {
    uint64_t first, end; /* bytes of the mirror */
};

struct shape {
    enum trk_policy_shape shape;
    uint64_t bytes;          /* the widest gap, or the granule */
    bool sorted;             /* regions have to ascend */
    const uint64_t *differs; /* a bit a page: the two sides may differ; NULL: nobody cares */
    uint64_t mirror_bytes;
};

/* In place; gives the number of regions that are left. They are apart from each other. */
size_t shape_regions(const struct shape *shape, struct region *regions, size_t count);

/* ---- schedule_entries.c ---------------------------------------------------------------------- */

/* The entries of a chunk whose pieces are there. Pieces that no shader can move have none. */
TRK_MUST_USE enum trk_status schedule_entries(struct schedule *schedule,
                                              struct schedule_chunk *chunk, bool up,
                                              const struct schedule_options *options);
/* Whether a shader moves this piece. */
static inline bool schedule_in_units(const struct schedule_piece *piece)
{
    return piece->offset % SCHEDULE_UNIT_BYTES == 0 && piece->size_bytes % SCHEDULE_UNIT_BYTES == 0;
}

#endif
