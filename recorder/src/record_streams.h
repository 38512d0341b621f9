/*
 * The streams of a recording: which one the events of a ring's use go to.
 *
 * Each use has a stream of its own as long as a file has room for them. A program may have more
 * threads than that in its life, one after the other: then the next use of a ring goes on in the
 * stream of the one before. A ring is claimed again only when its last thread has ended and all
 * that it said was taken, so what stands behind each other there came after each other. A use that
 * ended in the middle of something has its stream to itself: what comes behind would stand in that.
 * Where a file has hardly any streams left, the ends that never came are told as lost, and the
 * stream goes on.
 */
#ifndef RECORDER_RECORD_STREAMS_H
#define RECORDER_RECORD_STREAMS_H

#include "record_drain.h"

/* A use of a ring begins: give it a stream. */
void trk_record_streams_begin(struct trk_record_drain *drain, uint32_t index);

/* Tell the trace of a use that it does not know, or of a name that came later. */
void trk_record_streams_announce(struct trk_record_drain *drain, uint32_t index,
                                 struct trk_error *error);

/*
 * All that a use had is taken. Where it needs that for its stream to go on, its last losses: put
 * into the drain's batch. How many.
 */
size_t trk_record_streams_cut(struct trk_record_drain *drain, struct trk_record_drain_ring *ring);

/* Behind that: write out what nobody adds to. */
void trk_record_streams_end(struct trk_record_drain *drain, struct trk_record_drain_ring *ring,
                            struct trk_error *error);

/* A further stream, for what has no ring. Sets its id, and tells the trace of it. */
void trk_record_streams_add(struct trk_record_drain *drain, struct trk_trace_stream *stream,
                            struct trk_error *error);

/* Note what a use is in the middle of behind an event. An end without a begin ends nothing. */
static inline void trk_record_streams_follow(struct trk_record_drain_ring *ring, uint8_t type)
{
    switch (type) {
    case TRK_EVENT_OP_BEGIN:
    case TRK_EVENT_FAULT:
        ring->operations += 1;
        break;
    case TRK_EVENT_LOCK:
        ring->holds += 1;
        break;
    case TRK_EVENT_OP_END:
        ring->operations -= ring->operations > 0;
        break;
    case TRK_EVENT_UNLOCK:
        ring->holds -= ring->holds > 0;
        break;
    default:
        break;
    }
}

/*
 * Likewise behind a loss, by the type of what is lost: whoever reads it there does not know which
 * operation the use is in any more, so nothing that comes behind stands in that. A hold that has
 * begun goes on for readers until its end, or the stream's.
 */
static inline void trk_record_streams_lose(struct trk_record_drain_ring *ring, uint32_t type)
{
    if (type == TRK_EVENT_NONE || type == TRK_EVENT_OP_BEGIN || type == TRK_EVENT_FAULT ||
        type == TRK_EVENT_OP_END)
        ring->operations = 0;
}

#endif
