/*
 * The book of a guarded recording.
 *
 * A ring has two entries and a word that says which one counts; the other one is written first. So
 * whoever reads it after a kill finds one that is whole. The file may be ahead of it by what was
 * written since: the number of events tells by how many.
 */
#include "record_book.h"

#include <stdlib.h>
#include <string.h>

void trk_record_book_keep(const struct trk_record_drain *drain, uint32_t index)
{
    const struct trk_record_drain_ring *ring = &drain->rings[index];
    struct trk_record_book *book = drain->book;
    if (!book)
        return;
    uint32_t next = !atomic_load_explicit(&book->active[index], memory_order_relaxed);
    struct trk_record_book_entry *entry = &book->entries[index][next];
    entry->in_use = ring->in_use;
    entry->is_shared = ring->is_shared;
    entry->stream_id = ring->stream_id;
    entry->operations = ring->operations;
    entry->holds = ring->holds;
    entry->position = ring->tail;
    entry->ordinal = ring->ordinal;
    memcpy(entry->told, ring->told, sizeof(entry->told));
    entry->discards.any = ring->discards && ring->discards->any;
    if (entry->discards.any)
        entry->discards = *ring->discards;
    atomic_store_explicit(&book->streams, drain->streams, memory_order_relaxed);
    atomic_store_explicit(&book->active[index], next, memory_order_release);
}

void trk_record_book_settle(struct trk_record_drain *drain)
{
    drain->behind = false;
    for (uint32_t i = 0; drain->book && i < drain->session->ring_count; ++i) {
        struct trk_record_drain_ring *ring = &drain->rings[i];
        struct trk_session_ring *shared = &drain->session->rings[i];
        if (ring->safe == ring->tail && !ring->ended)
            continue;
        ring->in_use = ring->in_use && !ring->ended;
        trk_record_book_keep(drain, i);
        ring->safe = ring->tail;
        atomic_store_explicit(&shared->tail, ring->tail, memory_order_release);
        if (ring->ended)
            atomic_store_explicit(&shared->state, TRK_RING_FREE, memory_order_release);
        ring->ended = false;
    }
}

/* What was thrown away and not told before: told with the next event, or at the end. */
static enum trk_status continue_discards(struct trk_record_drain_ring *ring,
                                         const struct trk_record_book_entry *entry)
{
    if (!entry->discards.any)
        return TRK_OK;
    ring->discards = malloc(sizeof(*ring->discards));
    if (!ring->discards)
        return TRK_E_MEMORY;
    *ring->discards = entry->discards;
    return TRK_OK;
}

enum trk_status trk_record_book_continue(struct trk_record_drain *drain,
                                         const struct trk_record_book *book,
                                         const struct trk_record_book_stream *has, size_t streams)
{
    enum trk_status status = TRK_OK;
    drain->disabled = atomic_load_explicit(&book->disabled, memory_order_acquire);
    drain->streams = atomic_load_explicit(&book->streams, memory_order_relaxed);
    if (drain->streams < streams)
        drain->streams = (uint32_t)streams;
    for (size_t i = 0; i < streams; ++i)
        drain->known += has[i].there;
    for (uint32_t i = 0; i < drain->session->ring_count && status == TRK_OK; ++i) {
        struct trk_record_drain_ring *ring = &drain->rings[i];
        uint32_t active = atomic_load_explicit(&book->active[i], memory_order_acquire) & 1;
        const struct trk_record_book_entry *entry = &book->entries[i][active];
        ring->in_use = entry->in_use;
        ring->is_shared = entry->is_shared;
        ring->stream_id = entry->stream_id;
        ring->operations = entry->operations;
        ring->holds = entry->holds;
        ring->tail = entry->position;
        ring->ordinal = entry->ordinal;
        memcpy(ring->told, entry->told, sizeof(ring->told));
        if (!entry->in_use || entry->stream_id >= streams)
            continue;
        status = continue_discards(ring, entry);
        /* Written down first, the stream's note may be missing in the file. */
        ring->announced = has[entry->stream_id].there;
        uint64_t events = has[entry->stream_id].events;
        if (events > entry->ordinal)
            ring->skip = events - entry->ordinal;
        else /* the file took no more, or it cannot be read */
            ring->missing = entry->ordinal - events;
    }
    return status;
}
