#include "schedule.h"

#include <stdlib.h>
#include <string.h>

#include "plan_internal.h"

#define SLOT_ROUND (UINT64_C(64) << 10)

struct making {
    struct schedule *schedule;
    const struct trk_plan *plan;
    const struct schedule_options *options;
    uint64_t *differs; /* a bit a page */
    struct region *regions;
    size_t region_capacity;
    double owed_ns; /* of copies that are to be done again */
    bool again;     /* some are */
};

void schedule_deinit(struct schedule *schedule)
{
    free(schedule->groups);
    free(schedule->chunks);
    free(schedule->pieces);
    free(schedule->parts);
    free(schedule->entries);
    free(schedule->dispatches);
    memset(schedule, 0, sizeof *schedule);
}

/* ---- which pages differ ---------------------------------------------------------------------- */

static void differs_mark(struct making *making, const struct trk_plan_item *item)
{
    uint64_t first = item->offset / TRK_PLAN_PAGE_BYTES;
    uint64_t end =
        (item->offset + item->size_bytes + TRK_PLAN_PAGE_BYTES - 1) / TRK_PLAN_PAGE_BYTES;
    if (item->kind == TRK_PLAN_STORE || item->kind == TRK_PLAN_GPU_WRITE) {
        for (uint64_t page = first; page < end; page++) {
            making->differs[page / 64] |= UINT64_C(1) << page % 64;
        }
        return;
    }
    /* Only a copy of all of a page makes its two sides the same. */
    first = (item->offset + TRK_PLAN_PAGE_BYTES - 1) / TRK_PLAN_PAGE_BYTES;
    end = (item->offset + item->size_bytes) / TRK_PLAN_PAGE_BYTES;
    for (uint64_t page = first; page < end && item->kind != TRK_PLAN_CHECK; page++) {
        making->differs[page / 64] &= ~(UINT64_C(1) << page % 64);
    }
}

static void differs_begin(struct making *making)
{
    const struct trk_plan *plan = making->plan;
    for (uint64_t page = 0; plan->guest_start && page < plan->mirror_bytes / TRK_PLAN_PAGE_BYTES;
         page++) {
        uint64_t at = page * TRK_PLAN_PAGE_BYTES;
        if (memcmp(plan->guest_start + at, plan->device_start + at, TRK_PLAN_PAGE_BYTES) != 0) {
            making->differs[page / 64] |= UINT64_C(1) << page % 64;
        }
    }
}

/* ---- chunks ---------------------------------------------------------------------------------- */

static struct schedule_chunk *chunk_begin(struct making *making, struct schedule_group *group,
                                          bool up)
{
    struct schedule *schedule = making->schedule;
    void *chunks = plan_grow(schedule->chunks, schedule->chunk_count, &schedule->chunk_capacity,
                             sizeof *schedule->chunks);
    if (chunks == NULL) {
        return NULL;
    }
    schedule->chunks = chunks;
    struct schedule_chunk *chunk = &schedule->chunks[schedule->chunk_count++];
    *chunk = (struct schedule_chunk){
        .first_piece = schedule->piece_count,
        .first_part = schedule->part_count,
        .in_place = up ? making->options->up_in_place : making->options->down_in_place,
    };
    group->chunk_count++;
    return chunk;
}

/* What a shader needs for a piece, at most. */
static uint64_t piece_entries(uint64_t size_bytes)
{
    return size_bytes / SCHEDULE_ENTRY_BYTES + 2;
}

static enum trk_status piece_add(struct making *making, struct schedule_chunk *chunk,
                                 uint64_t offset, uint64_t size_bytes)
{
    struct schedule *schedule = making->schedule;
    void *pieces = plan_grow(schedule->pieces, schedule->piece_count, &schedule->piece_capacity,
                             sizeof *schedule->pieces);
    if (pieces == NULL) {
        return TRK_E_MEMORY;
    }
    schedule->pieces = pieces;
    schedule->pieces[schedule->piece_count++] = (struct schedule_piece){
        .offset = offset,
        .stage = chunk->in_place ? offset : chunk->staged_bytes,
        .size_bytes = size_bytes,
    };
    chunk->piece_count++;
    chunk->moved_bytes += size_bytes;
    chunk->staged_bytes +=
        (size_bytes + SCHEDULE_UNIT_BYTES - 1) / SCHEDULE_UNIT_BYTES * SCHEDULE_UNIT_BYTES;
    return TRK_OK;
}

/* What the host copies, in parts that its threads can share. */
static enum trk_status part_add(struct making *making, struct schedule_chunk *chunk,
                                const struct schedule_piece *whole)
{
    struct schedule *schedule = making->schedule;
    for (uint64_t done = 0; done < whole->size_bytes;) {
        const uint64_t left = whole->size_bytes - done;
        void *parts = plan_grow(schedule->parts, schedule->part_count, &schedule->part_capacity,
                                sizeof *schedule->parts);
        if (parts == NULL) {
            return TRK_E_MEMORY;
        }
        schedule->parts = parts;
        struct schedule_piece *part = &schedule->parts[schedule->part_count++];
        *part = *whole;
        part->offset += done;
        part->stage += done;
        part->size_bytes = left < SCHEDULE_PART_BYTES ? left : SCHEDULE_PART_BYTES;
        chunk->part_count++;
        done += part->size_bytes;
    }
    return TRK_OK;
}

/* Of a download: what of the chunk's pieces was asked for. `next` goes on from chunk to chunk. */
static enum trk_status parts_asked(struct making *making, struct schedule_chunk *chunk,
                                   const struct region *asked, size_t count, size_t *next)
{
    for (size_t i = 0; i < chunk->piece_count; i++) {
        const struct schedule_piece piece = making->schedule->pieces[chunk->first_piece + i];
        const uint64_t end = piece.offset + piece.size_bytes;
        size_t at = *next;
        for (; at < count && asked[at].first < end; at++) {
            uint64_t first = asked[at].first > piece.offset ? asked[at].first : piece.offset;
            uint64_t stop = asked[at].end < end ? asked[at].end : end;
            if (first >= stop) {
                continue;
            }
            struct schedule_piece part = {first, piece.stage + (first - piece.offset), stop - first,
                                          0};
            if (part_add(making, chunk, &part) != TRK_OK) {
                return TRK_E_MEMORY;
            }
            *next = at;
        }
    }
    return TRK_OK;
}

/* A share of the copies is done again, by what they cost. */
static enum trk_status chunk_again(struct making *making, struct schedule_group *group)
{
    struct schedule *schedule = making->schedule;
    const struct trk_gpu_cost *cost = &making->options->cost;
    const struct schedule_chunk chunk = schedule->chunks[schedule->chunk_count - 1];
    double ns = cost->submit_ns + cost->region_ns * (double)chunk.piece_count +
                cost->byte_ns * (double)chunk.moved_bytes;
    making->owed_ns += ns * making->options->policy->slow;
    if (making->options->policy->slow <= 0 || making->owed_ns < ns) {
        return TRK_OK;
    }
    making->owed_ns -= ns;
    struct schedule_chunk *again = chunk_begin(making, group, true);
    if (again == NULL) {
        return TRK_E_MEMORY;
    }
    making->again = true;
    *again = chunk;
    again->again = true;
    return TRK_OK;
}

static enum trk_status chunk_end(struct making *making, struct schedule_group *group, bool up)
{
    struct schedule *schedule = making->schedule;
    struct schedule_chunk *chunk = &schedule->chunks[schedule->chunk_count - 1];
    enum trk_status status = TRK_OK;
    for (size_t i = 0; up && i < chunk->piece_count && status == TRK_OK; i++) {
        const struct schedule_piece part = schedule->pieces[chunk->first_piece + i];
        status = part_add(making, chunk, &part);
    }
    if (status == TRK_OK && making->options->entries && !chunk->images) {
        status = schedule_entries(schedule, chunk, up, making->options);
    }
    if (chunk->staged_bytes > schedule->slot_bytes) {
        schedule->slot_bytes = chunk->staged_bytes;
    }
    return status == TRK_OK ? chunk_again(making, group) : status;
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* The regions, cut into chunks. asked: of a download; else NULL. */
static enum trk_status group_chunks(struct making *making, struct schedule_group *group,
                                    size_t region_count, const struct region *asked,
                                    size_t asked_count)
{
    const uint64_t most = making->options->policy->batch_bytes;
    struct schedule_chunk *chunk = NULL;
    uint64_t entries = 0;
    size_t next = 0;
    for (size_t i = 0; i < region_count; i++) {
        uint64_t at = making->regions[i].first;
        while (at < making->regions[i].end) {
            if (chunk != NULL && (chunk->staged_bytes + SCHEDULE_UNIT_BYTES > most ||
                                  entries + 2 >= SCHEDULE_ENTRIES_MAX)) {
                if ((asked && parts_asked(making, chunk, asked, asked_count, &next) != TRK_OK) ||
                    chunk_end(making, group, asked == NULL) != TRK_OK) {
                    return TRK_E_MEMORY;
                }
                chunk = NULL;
            }
            if (chunk == NULL) {
                chunk = chunk_begin(making, group, asked == NULL);
                entries = 0;
            }
            if (chunk == NULL) {
                return TRK_E_MEMORY;
            }
            uint64_t room = most - chunk->staged_bytes;
            uint64_t size = making->regions[i].end - at;
            uint64_t shader = (SCHEDULE_ENTRIES_MAX - entries - 2) * SCHEDULE_ENTRY_BYTES;
            size = size < room ? size : room;
            size = size < shader ? size : shader;
            if (piece_add(making, chunk, at, size) != TRK_OK) {
                return TRK_E_MEMORY;
            }
            entries += piece_entries(size);
            at += size;
        }
    }
    if (chunk != NULL &&
        ((asked && parts_asked(making, chunk, asked, asked_count, &next) != TRK_OK) ||
         chunk_end(making, group, asked == NULL) != TRK_OK)) {
        return TRK_E_MEMORY;
    }
    return TRK_OK;
}

/* Items that are parts of images are regions as they are, in chunks of their own. */
static enum trk_status group_images(struct making *making, const struct trk_plan_group *group,
                                    struct schedule_group *out)
{
    const uint64_t most = making->options->policy->batch_bytes;
    struct schedule *schedule = making->schedule;
    struct schedule_chunk *chunk = NULL;
    for (size_t i = 0; i < group->item_count; i++) {
        const struct trk_plan_item *item = &making->plan->items[group->first_item + i];
        uint64_t done = item->image != 0 ? 0 : item->size_bytes;
        while (done < item->size_bytes) {
            if (chunk != NULL && chunk->staged_bytes + SCHEDULE_UNIT_BYTES > most) {
                if (chunk_end(making, out, true) != TRK_OK) {
                    return TRK_E_MEMORY;
                }
                chunk = NULL;
            }
            if (chunk == NULL) {
                chunk = chunk_begin(making, out, group->kind == TRK_PLAN_UPLOAD);
            }
            if (chunk == NULL) {
                return TRK_E_MEMORY;
            }
            chunk->images = true;
            /* Whole texels, whatever they are. */
            uint64_t room =
                (most - chunk->staged_bytes) / SCHEDULE_UNIT_BYTES * SCHEDULE_UNIT_BYTES;
            uint64_t size = item->size_bytes - done < room ? item->size_bytes - done : room;
            if (piece_add(making, chunk, item->offset + done, size) != TRK_OK) {
                return TRK_E_MEMORY;
            }
            schedule->pieces[schedule->piece_count - 1].image = item->image;
            done += size;
        }
    }
    return chunk != NULL ? chunk_end(making, out, true) : TRK_OK;
}

static enum trk_status group_copies(struct making *making, const struct trk_plan_group *group,
                                    struct schedule_group *out)
{
    const struct schedule_options *options = making->options;
    const bool up = group->kind == TRK_PLAN_UPLOAD;
    const bool automatic = options->policy->shape == TRK_SHAPE_AUTO;
    struct shape shape = {
        .shape = options->policy->shape,
        .bytes = automatic ? options->cost.gap_bytes : options->policy->shape_bytes,
        .sorted = options->entries,
        .differs = up ? making->differs : NULL,
        .mirror_bytes = making->plan->mirror_bytes,
    };
    struct region *asked = NULL;
    size_t count = 0;
    out->first_chunk = making->schedule->chunk_count;
    for (size_t i = 0; i < group->item_count; i++) {
        const struct trk_plan_item *item = &making->plan->items[group->first_item + i];
        if (item->image == 0) {
            making->regions[count++] =
                (struct region){item->offset, item->offset + item->size_bytes};
        }
    }
    const size_t asked_count = count;
    if (!up) {
        asked = malloc((group->item_count + 1) * sizeof *asked);
        if (asked == NULL) {
            return TRK_E_MEMORY;
        }
        shape.sorted = true;
        memcpy(asked, making->regions, count * sizeof *asked);
        const struct shape ascending = {.shape = TRK_SHAPE_PER_RANGE, .sorted = true};
        (void)shape_regions(&ascending, asked, count);
    }
    count = shape_regions(&shape, making->regions, count);
    enum trk_status status = group_chunks(making, out, count, asked, asked_count);
    free(asked);
    if (status == TRK_OK) {
        status = group_images(making, group, out);
    }
    if (out->chunk_count > making->schedule->chunks_most) {
        making->schedule->chunks_most = out->chunk_count;
    }
    return status;
}

static enum trk_status make_all(struct making *making)
{
    const struct trk_plan *plan = making->plan;
    struct schedule *schedule = making->schedule;
    differs_begin(making);
    for (size_t i = 0; i < plan->group_count; i++) {
        const struct trk_plan_group *group = &plan->groups[i];
        for (size_t k = 0; k < group->store_count; k++) {
            differs_mark(making, &plan->stores[group->first_store + k]);
        }
        if (group->item_count > 0 &&
            (group->kind == TRK_PLAN_UPLOAD || group->kind == TRK_PLAN_DOWNLOAD) &&
            group_copies(making, group, &schedule->groups[i]) != TRK_OK) {
            return TRK_E_MEMORY;
        }
        for (size_t k = 0; k < group->item_count; k++) {
            differs_mark(making, &plan->items[group->first_item + k]);
        }
    }
    for (size_t i = 0; i < schedule->chunk_count; i++) {
        schedule->regions += schedule->chunks[i].piece_count;
        schedule->moved_bytes += schedule->chunks[i].moved_bytes;
    }
    schedule->slot_bytes = (schedule->slot_bytes / SLOT_ROUND + 1) * SLOT_ROUND;
    return TRK_OK;
}

enum trk_status schedule_make(struct schedule *schedule, const struct trk_plan *plan,
                              const struct schedule_options *options, struct trk_error *error)
{
    struct making making = {.schedule = schedule, .plan = plan, .options = options};
    size_t most = 0;
    for (size_t i = 0; i < plan->group_count; i++) {
        most = plan->groups[i].item_count > most ? plan->groups[i].item_count : most;
    }
    schedule->groups = calloc(plan->group_count + 1, sizeof *schedule->groups);
    making.differs = calloc(plan->mirror_bytes / TRK_PLAN_PAGE_BYTES / 64 + 1, sizeof(uint64_t));
    making.regions = malloc((most + 1) * sizeof *making.regions);
    enum trk_status status = TRK_E_MEMORY;
    if (schedule->groups != NULL && making.differs != NULL && making.regions != NULL) {
        status = make_all(&making);
    }
    free(making.differs);
    free(making.regions);
    const double slow = options->policy->slow;
    if (status == TRK_OK && slow > 0 && schedule->chunk_count > 0 && !making.again) {
        return trk_error_set(error, TRK_E_UNSUPPORTED,
                             "slow=%.0f%%: of %zu submits none would be done twice; a smaller "
                             "batch= makes more",
                             100.0 * slow, schedule->chunk_count);
    }
    return status == TRK_OK
               ? TRK_OK
               : trk_error_set(error, status, "no memory to cut %zu copies as the policy wants",
                               plan->item_count);
}
