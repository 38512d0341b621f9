/* What is taken of a flight ring: views of it, and what it still has behind a state. */
#include <stdlib.h>

#include "flight.h"
#include "flight_ring.h"
#include "format.h"

static bool view_make(struct trk_flight_view *view, const struct trk_flight *flight)
{
    size_t streams = flight->stream_count > 0 ? flight->stream_count : 1;
    view->end_ticks = UINT64_MAX;
    view->blocks = calloc(flight->held + 1, sizeof(void *));
    view->streams = malloc(streams * sizeof *view->streams);
    view->missing = calloc(streams, sizeof *view->missing);
    view->pinned = calloc(flight->pinned_count + 1, sizeof *view->pinned);
    view->pinned_streams = calloc(flight->pinned_count + 1, sizeof *view->pinned_streams);
    return view->blocks != NULL && view->streams != NULL && view->missing != NULL &&
           view->pinned != NULL && view->pinned_streams != NULL;
}

void trk_flight_view_end_at(struct trk_flight_view *view, uint64_t ticks)
{
    view->end_ticks = ticks;
}

/* How many of the oldest blocks a file has no streams for, with those that are pinned. */
static bool count_beyond(const struct trk_flight *flight, size_t *beyond)
{
    size_t left = TRK_FORMAT_STREAMS_MAX - 1; /* the last one is that of all the others */
    *beyond = 0;
    if (flight->stream_count <= TRK_FORMAT_STREAMS_MAX)
        return true;
    bool *seen = calloc(flight->stream_count, sizeof *seen);
    if (seen == NULL)
        return false;
    for (size_t i = 0; i < flight->pinned_count; ++i) {
        left -= left > 0 && !seen[flight->pinned[i].stream];
        seen[flight->pinned[i].stream] = true;
    }
    for (size_t i = flight->held; i > 0 && *beyond == 0; --i) {
        uint32_t stream = trk_flight_block_at(flight, i - 1)->stream;
        if (!seen[stream] && left == 0)
            *beyond = i;
        left -= left > 0 && !seen[stream];
        seen[stream] = true;
    }
    free(seen);
    return true;
}

struct trk_flight_view *trk_flight_view(const struct trk_flight *flight, uint64_t since_ticks)
{
    size_t beyond;
    struct trk_flight_view *view = calloc(1, sizeof *view);
    if (view == NULL || !view_make(view, flight) || !count_beyond(flight, &beyond)) {
        trk_flight_view_destroy(view);
        return NULL;
    }
    view->stream_count = flight->stream_count;
    view->clock_shift = flight->clock_shift;
    for (size_t i = 0; i < flight->stream_count; ++i) {
        view->streams[i] = flight->streams[i].note;
        view->missing[i] = flight->streams[i].events;
    }
    uint64_t first = UINT64_MAX;
    for (size_t i = beyond; i < flight->held; ++i) {
        struct trk_flight_block *block = trk_flight_block_at(flight, i);
        if (block->last_tsc < since_ticks && view->block_count == 0)
            continue; /* once begun, nothing is left out: a hole in the middle helps nobody */
        first = first < block->number ? first : block->number;
        atomic_fetch_add_explicit(&block->users, 1, memory_order_relaxed);
        if (view->block_count == 0 || block->first_tsc < view->begin_ticks)
            view->begin_ticks = block->first_tsc;
        view->blocks[view->block_count++] = block;
        view->missing[block->stream] -= block->count - block->losses + block->lost;
    }
    for (size_t i = 0; i < flight->pinned_count; ++i) {
        if (flight->pinned[i].block >= first || trk_flight_is_outdated(flight, i, first))
            continue;
        view->pinned[view->pinned_count] = flight->pinned[i].record;
        view->pinned_streams[view->pinned_count++] = flight->pinned[i].stream;
        if (view->missing[flight->pinned[i].stream] > 0)
            view->missing[flight->pinned[i].stream] -= 1;
    }
    for (size_t i = 0; view->block_count == 0 && i < flight->held; ++i) {
        const struct trk_flight_block *block = trk_flight_block_at(flight, i);
        if (block->last_tsc > view->begin_ticks)
            view->begin_ticks = block->last_tsc; /* the newest of all that is missing */
    }
    return view;
}

/* Whether a block has events that come behind a state. */
static bool is_behind(const struct trk_flight_block *block, const struct trk_flight_state *state)
{
    return block->first + block->count > trk_flight_state_before(state, block->stream);
}

struct trk_flight_view *trk_flight_view_behind(const struct trk_flight *flight,
                                               struct trk_flight_state *state, uint64_t end_number)
{
    struct trk_flight_view *view = calloc(1, sizeof *view);
    if (view == NULL || !view_make(view, flight)) {
        trk_flight_view_destroy(view);
        return NULL;
    }
    view->state = trk_flight_state_use(state);
    view->stream_count = flight->stream_count;
    view->clock_shift = flight->clock_shift;
    for (size_t i = 0; i < flight->stream_count; ++i)
        view->streams[i] = flight->streams[i].note;
    for (size_t i = 0; i < flight->held; ++i) {
        struct trk_flight_block *block = trk_flight_block_at(flight, i);
        if (!is_behind(block, state) || block->number >= end_number)
            continue;
        atomic_fetch_add_explicit(&block->users, 1, memory_order_relaxed);
        view->blocks[view->block_count++] = block;
    }
    return view;
}

bool trk_flight_has_behind(const struct trk_flight *flight, const struct trk_flight_state *state)
{
    for (size_t i = 0; i < flight->stream_count; ++i) {
        if (flight->streams[i].gone > trk_flight_state_before(state, i))
            return false;
    }
    return true;
}

void trk_flight_keep_behind(struct trk_flight *flight, const struct trk_flight_state *state)
{
    flight->keep_from = flight->next_number;
    for (size_t i = flight->held; i > 0; --i) {
        const struct trk_flight_block *block = trk_flight_block_at(flight, i - 1);
        if (is_behind(block, state))
            flight->keep_from = block->number;
    }
}

uint64_t trk_flight_bytes_behind(const struct trk_flight *flight,
                                 const struct trk_flight_state *state)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < flight->held; ++i) {
        const struct trk_flight_block *block = trk_flight_block_at(flight, i);
        if (is_behind(block, state))
            bytes += sizeof *block + block->packed_bytes;
    }
    return bytes;
}

bool trk_flight_reaches(const struct trk_flight *flight, uint64_t ticks)
{
    return trk_flight_has_behind(flight, NULL) ||
           (flight->held > 0 && trk_flight_block_at(flight, 0)->first_tsc <= ticks);
}
