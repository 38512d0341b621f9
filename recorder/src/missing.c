/* Where the events stood that a file should have and has not. */
#include <stdlib.h>

#include "reader.h"

struct missing_list {
    struct trk_trace_missing *all;
    size_t count, room;
};

static enum trk_status add(struct missing_list *list, const struct trk_trace_missing *missing)
{
    if (list->count == list->room) {
        size_t room = list->room == 0 ? 16 : 2 * list->room;
        struct trk_trace_missing *all = realloc(list->all, room * sizeof *all);
        if (all == NULL) {
            return TRK_E_MEMORY;
        }
        list->all = all;
        list->room = room;
    }
    list->all[list->count++] = *missing;
    return TRK_OK;
}

/* Nobody says where a stream ends: the file has no totals, or is known to have been cut off. */
static bool open_ended(const struct trk_index *index)
{
    return !index->state.counted || index->state.cut;
}

/* What one stream lacks between its chunks, and behind the last. */
static enum trk_status of_stream(const struct trk_index *index, uint32_t stream,
                                 struct missing_list *list)
{
    const struct trk_index_stream *of = &index->streams[stream];
    struct trk_trace_missing missing = {.stream = stream};
    uint64_t ordinal = 0; /* behind the last event that is there */
    enum trk_status status = TRK_OK;
    for (uint32_t at = of->first_chunk; at != TRK_INDEX_NONE && status == TRK_OK;
         at = index->chunks[at].next) {
        const struct trk_index_chunk *chunk = &index->chunks[at];
        if (chunk->bad) {
            continue;
        }
        if (chunk->first_ordinal > ordinal) {
            missing.events = chunk->first_ordinal - ordinal;
            missing.end_tsc = chunk->first_tsc;
            status = add(list, &missing);
        }
        ordinal = chunk->first_ordinal + chunk->events;
        missing.first_tsc = chunk->last_tsc;
    }
    uint64_t end = of->total > of->next_ordinal ? of->total : of->next_ordinal;
    if (status == TRK_OK && (end > ordinal || open_ended(index))) {
        missing.events = open_ended(index) ? TRK_NOT_KNOWN : end - ordinal;
        missing.end_tsc = UINT64_MAX;
        status = add(list, &missing);
    }
    return status;
}

enum trk_status trk_trace_missing(const struct trk_trace *trace, struct trk_trace_missing **out,
                                  size_t *count)
{
    const struct trk_index *index = &trace->index;
    struct missing_list list = {.all = NULL};
    enum trk_status status = TRK_OK;
    bool whole = trk_trace_state(trace).whole;
    for (size_t i = 0; i < index->stream_count && !whole && status == TRK_OK; i++) {
        status = of_stream(index, (uint32_t)i, &list);
    }
    /* Without totals a chunk may have been all that there was of a stream. */
    bool inside = index->state.damaged_chunks > 0 &&
                  index->state.first_damage_offset <= index->state.last_events_offset;
    if (status == TRK_OK && !whole && inside && !index->state.counted) {
        status =
            add(&list, &(struct trk_trace_missing){
                           .stream = UINT32_MAX, .events = TRK_NOT_KNOWN, .end_tsc = UINT64_MAX});
    }
    if (status != TRK_OK) {
        free(list.all);
        list = (struct missing_list){.all = NULL};
    }
    *out = list.all;
    *count = list.count;
    return status;
}

bool trk_trace_gapless(const struct trk_trace *trace)
{
    const struct trk_index *index = &trace->index;
    bool gapless = !open_ended(index) && index->chunk_count > 0 &&
                   index->state.first_damage_offset > index->chunks[0].offset;
    for (size_t i = 0; i < index->stream_count && gapless; i++) {
        struct missing_list list = {.all = NULL};
        gapless = of_stream(index, (uint32_t)i, &list) == TRK_OK && list.count == 0;
        free(list.all);
    }
    return gapless;
}
