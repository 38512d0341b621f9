#include "record_streams.h"

#include <stdio.h>

#include "format.h"
#include "record_book.h"
#include "record_losses.h"

/*
 * So many uses have a stream of their own. Further streams are for the first shared use of each
 * ring, for those whose last use ended in the middle of something, and for the recorder's own: a
 * file takes more, but who re-executes it takes 1024 streams.
 */
#define OWN_STREAMS 768u
#define SHARED_NAME "(several threads %u)" /* so that a report tells them apart */
/*
 * From so many on no use has its stream to itself for how it ended. What is left is for the uses of
 * now, once more for those behind a guard that has taken over, and for the recorder's own.
 */
#define LAST_STREAMS (TRK_FORMAT_STREAMS_MAX - 3 * TRK_SESSION_RINGS)

static void tell(struct trk_record_drain *drain, const struct trk_trace_stream *stream,
                 struct trk_error *error)
{
    if (drain->status == TRK_OK && drain->writer)
        drain->status = trk_writer_stream(drain->writer, stream, error);
    else if (drain->status == TRK_OK && drain->flight)
        drain->status = trk_flight_stream(drain->flight, stream, error);
}

static bool has_many(const struct trk_record_drain *drain)
{
    return drain->known >= OWN_STREAMS;
}

static uint32_t next_id(struct trk_record_drain *drain)
{
    drain->known += 1;
    return drain->streams++;
}

void trk_record_streams_begin(struct trk_record_drain *drain, uint32_t index)
{
    struct trk_record_drain_ring *ring = &drain->rings[index];
    ring->in_use = true;
    if (ring->reusable && has_many(drain)) {
        ring->announced = ring->announced && ring->is_shared;
        ring->is_shared = true;
        drain->shared_uses += 1;
    } else {
        ring->stream_id = next_id(drain);
        ring->is_shared = false;
        ring->announced = false;
        ring->last_tsc = 0;
        ring->ordinal = 0;
        ring->skip = 0;
    }
    ring->reusable = false;
    ring->operations = ring->holds = 0;
    trk_record_book_keep(drain, index);
}

void trk_record_streams_announce(struct trk_record_drain *drain, uint32_t index,
                                 struct trk_error *error)
{
    struct trk_record_drain_ring *ring = &drain->rings[index];
    const struct trk_session_ring *shared = &drain->session->rings[index];
    struct trk_trace_stream stream = {.stream_id = ring->stream_id, .thread_id = shared->thread_id};
    uint32_t version = ring->name_version;
    bool named = !ring->is_shared && trk_record_session_name(shared, &stream, &version);
    if (ring->announced && (!named || version == ring->name_version))
        return;
    if (named)
        ring->name_version = version;
    if (ring->is_shared) {
        stream = (struct trk_trace_stream){.stream_id = ring->stream_id};
        snprintf(stream.name, sizeof stream.name, SHARED_NAME, ring->stream_id);
    }
    ring->announced = true;
    tell(drain, &stream, error);
}

size_t trk_record_streams_cut(struct trk_record_drain *drain, struct trk_record_drain_ring *ring)
{
    const uint32_t operations = ring->operations;
    const uint32_t holds = ring->holds;
    size_t count = 0;
    if (drain->known < LAST_STREAMS)
        return 0;
    if (holds > 0)
        drain->batch[count++] = trk_record_losses_own(drain, ring, TRK_EVENT_UNLOCK, holds);
    if (operations > 0)
        drain->batch[count++] = trk_record_losses_own(drain, ring, TRK_EVENT_OP_END, operations);
    ring->operations = ring->holds = 0;
    return count;
}

void trk_record_streams_end(struct trk_record_drain *drain, struct trk_record_drain_ring *ring,
                            struct trk_error *error)
{
    ring->reusable = ring->operations == 0 && ring->holds == 0;
    if (drain->status != TRK_OK || drain->book) /* its flushes give the rings back */
        return;
    if (drain->flight)
        drain->status = trk_flight_end(drain->flight, ring->stream_id, error);
    else if (drain->writer && !(ring->reusable && has_many(drain)))
        drain->status = trk_writer_flush_stream(drain->writer, ring->stream_id, error);
}

void trk_record_streams_add(struct trk_record_drain *drain, struct trk_trace_stream *stream,
                            struct trk_error *error)
{
    stream->stream_id = next_id(drain);
    tell(drain, stream, error);
}
