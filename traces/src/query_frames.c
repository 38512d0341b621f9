#include "query_frames.h"

#include <stdlib.h>
#include <string.h>

#include "query.h"

void trk_query_frame_list_deinit(struct trk_query_frame_list *list)
{
    free(list->at);
    *list = (struct trk_query_frame_list){.at = NULL};
}

void trk_query_frames_deinit(struct trk_query_frames *frames)
{
    free(frames->chunks);
    trk_query_frame_list_deinit(&frames->list);
    *frames = (struct trk_query_frames){.chunks = NULL};
}

static enum trk_status no_memory(struct trk_error *error)
{
    return trk_error_set(error, TRK_E_MEMORY, "no memory for the frames of the trace");
}

/* The frames that a chunk begins. */
static enum trk_status take_chunk(struct trk_query_frame_list *list,
                                  const struct trk_query_chunk *chunk, struct trk_error *error)
{
    for (uint32_t i = 0; i < chunk->count; i++) {
        if (chunk->records[i].event.type != TRK_EVENT_FRAME) {
            continue;
        }
        if (list->count == list->room) {
            size_t room = list->room == 0 ? 64 : 2 * list->room;
            struct trk_query_frame *at = realloc(list->at, room * sizeof *at);
            if (at == NULL) {
                return no_memory(error);
            }
            list->at = at;
            list->room = room;
        }
        list->at[list->count++] =
            (struct trk_query_frame){chunk->records[i].tsc, chunk->records[i].event.argument};
    }
    return TRK_OK;
}

static enum trk_status read_into(struct trk_query *query, uint32_t index,
                                 struct trk_query_frame_list *list, struct trk_error *error)
{
    struct trk_query_chunk chunk = {.records = NULL};
    enum trk_status status = trk_query_read_chunk(query, index, &chunk, error);
    if (status == TRK_OK) {
        status = take_chunk(list, &chunk, error);
    }
    free(chunk.records);
    return status == TRK_E_DAMAGED ? TRK_OK : status;
}

struct begun {
    uint64_t tsc;
    uint32_t index;
};

static int compare_begun(const void *a, const void *b)
{
    const struct begun *x = a;
    const struct begun *y = b;
    return x->tsc != y->tsc ? (x->tsc > y->tsc) - (x->tsc < y->tsc)
                            : (x->index > y->index) - (x->index < y->index);
}

/* The chunks of the frames' stream, from the first frame on. */
static enum trk_status list_chunks(struct trk_query *query, struct trk_error *error)
{
    struct trk_query_frames *frames = &query->frames;
    size_t count = 0;
    for (uint32_t at = frames->first_chunk; at != TRK_TRACE_NO_CHUNK;
         at = trk_trace_chunk(query->trace, at).next) {
        count++;
    }
    frames->chunks = malloc((count + 1) * sizeof *frames->chunks);
    if (frames->chunks == NULL) {
        return no_memory(error);
    }
    for (uint32_t at = frames->first_chunk; at != TRK_TRACE_NO_CHUNK;
         at = trk_trace_chunk(query->trace, at).next) {
        frames->chunks[frames->chunk_count++] = at;
    }
    return TRK_OK;
}

/* Look for the first chunk with a frame, by time. */
static enum trk_status look(struct trk_query *query, struct trk_error *error)
{
    struct trk_query_frames *frames = &query->frames;
    struct trk_query_frame_list list = {.at = NULL};
    size_t count = trk_trace_chunk_count(query->trace);
    size_t i = 0;
    if (frames->looked) {
        return TRK_OK;
    }
    struct begun *order = malloc((count + 1) * sizeof *order);
    enum trk_status status = order != NULL ? TRK_OK : no_memory(error);
    for (size_t j = 0; j < count && order != NULL; j++) {
        order[j] = (struct begun){trk_trace_chunk(query->trace, j).first_tsc, (uint32_t)j};
    }
    if (order != NULL) {
        qsort(order, count, sizeof *order, compare_begun);
    }
    while (order != NULL && status == TRK_OK && i < count && list.count == 0) {
        status = read_into(query, order[i++].index, &list, error);
    }
    if (status == TRK_OK) {
        frames->looked = true;
        frames->none = list.count == 0;
    }
    if (order != NULL && status == TRK_OK && !frames->none) {
        frames->first_chunk = order[i - 1].index;
        frames->stream = trk_trace_chunk(query->trace, frames->first_chunk).stream;
        status = list_chunks(query, error);
    }
    free(order);
    trk_query_frame_list_deinit(&list);
    return status;
}

static int compare_frames(const void *a, const void *b)
{
    const struct trk_query_frame *x = a;
    const struct trk_query_frame *y = b;
    return (x->tsc > y->tsc) - (x->tsc < y->tsc);
}

static bool ascends(const struct trk_query_frame_list *list)
{
    for (size_t i = 1; i < list->count; i++) {
        if (list->at[i].number <= list->at[i - 1].number || list->at[i].tsc < list->at[i - 1].tsc) {
            return false;
        }
    }
    return true;
}

enum trk_status trk_query_frames_all(struct trk_query *query, struct trk_error *error)
{
    struct trk_query_frames *frames = &query->frames;
    struct trk_query_frame_list list = {.last_tsc = UINT64_MAX};
    enum trk_status status = frames->all ? TRK_OK : look(query, error);
    if (frames->all || status != TRK_OK) {
        return status;
    }
    for (size_t i = 0; i < frames->chunk_count && status == TRK_OK; i++) {
        status = read_into(query, frames->chunks[i], &list, error);
    }
    if (status != TRK_OK) {
        trk_query_frame_list_deinit(&list);
        return status;
    }
    frames->mixed = !ascends(&list);
    if (list.count > 0) {
        qsort(list.at, list.count, sizeof *list.at, compare_frames);
    }
    frames->list = list;
    frames->all = true;
    return TRK_OK;
}

uint64_t trk_query_frame_at(const struct trk_query_frame_list *list, uint64_t tsc)
{
    size_t low = 0;
    size_t high = list->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (list->at[middle].tsc <= tsc) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low > 0 ? list->at[low - 1].number : TRK_NOT_KNOWN;
}

/* The newest frame that began in a chunk or, where none did, in one before it; `at` says where. */
static enum trk_status newest(struct trk_query *query, size_t *at, struct trk_query_frame *out,
                              struct trk_error *error)
{
    struct trk_query_frame_list list = {.at = NULL};
    enum trk_status status = TRK_OK;
    while (status == TRK_OK) {
        status = read_into(query, query->frames.chunks[*at], &list, error);
        if (list.count > 0 || *at == 0) {
            break;
        }
        --*at;
    }
    if (status == TRK_OK && list.count > 0) {
        *out = list.at[list.count - 1];
    }
    trk_query_frame_list_deinit(&list);
    return status;
}

/* The place of the first chunk in which a frame of that number or a greater begins; may be behind
 * the last. */
static enum trk_status halve(struct trk_query *query, uint64_t number, size_t *place,
                             struct trk_error *error)
{
    size_t low = 0;
    size_t high = query->frames.chunk_count;
    enum trk_status status = TRK_OK;
    while (status == TRK_OK && low < high) {
        size_t middle = low + (high - low) / 2;
        size_t at = middle;
        struct trk_query_frame frame = {0};
        status = newest(query, &at, &frame, error);
        if (frame.number >= number) {
            high = at;
        } else {
            low = middle + 1;
        }
    }
    *place = low;
    return status;
}

/* From all frames: the time from the first that is asked for to the end of the last. */
static enum trk_status find_in_all(struct trk_query *query, uint64_t first, uint64_t last,
                                   struct trk_query_frame_list *out, struct trk_error *error)
{
    enum trk_status status = trk_query_frames_all(query, error);
    const struct trk_query_frame_list *all = &query->frames.list;
    *out = (struct trk_query_frame_list){.first_tsc = 1};
    if (status != TRK_OK || all->count == 0) {
        return status;
    }
    out->at = malloc(all->count * sizeof *out->at);
    if (out->at == NULL) {
        return no_memory(error);
    }
    memcpy(out->at, all->at, all->count * sizeof *out->at);
    out->count = out->room = all->count;
    for (size_t i = 0; i < all->count; i++) {
        if (all->at[i].number < first || all->at[i].number > last) {
            continue;
        }
        if (out->first_tsc > out->last_tsc) {
            out->first_tsc = all->at[i].tsc;
        }
        out->last_tsc = i + 1 < all->count ? all->at[i + 1].tsc : UINT64_MAX;
    }
    return TRK_OK;
}

enum trk_status trk_query_frames_find(struct trk_query *query, uint64_t first, uint64_t last,
                                      struct trk_query_frame_list *out, struct trk_error *error)
{
    struct trk_query_frames *frames = &query->frames;
    size_t begin = 0;
    *out = (struct trk_query_frame_list){.first_tsc = 1};
    enum trk_status status = look(query, error);
    if (status != TRK_OK || frames->none || first > last) {
        return status;
    }
    if (frames->all) {
        return find_in_all(query, first, last, out, error);
    }
    status = halve(query, first, &begin, error);
    uint64_t next_tsc = UINT64_MAX;
    bool behind = false;
    for (size_t i = begin; i < frames->chunk_count && status == TRK_OK && !behind; i++) {
        status = read_into(query, frames->chunks[i], out, error);
        behind = out->count > 0 && out->at[out->count - 1].number > last;
    }
    if (status != TRK_OK || !ascends(out)) {
        trk_query_frame_list_deinit(out);
        return status != TRK_OK ? status : find_in_all(query, first, last, out, error);
    }
    out->first_tsc = 1;
    for (size_t i = out->count; i > 0; i--) {
        const struct trk_query_frame *frame = &out->at[i - 1];
        if (frame->number > last) {
            next_tsc = frame->tsc;
        } else if (frame->number >= first) {
            out->first_tsc = frame->tsc;
            out->last_tsc = next_tsc;
        }
    }
    return TRK_OK;
}
