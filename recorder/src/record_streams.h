/*
 * The streams of a recording: which one the events of a ring's use go to.
 *
 * Each use has a stream of its own as long as a file has room for them. A program may have more
 * threads than that in its life, one after the other: then the next use of a ring goes on in the
 * stream of the one before. A ring is claimed again only when its last thread has ended and all
 * that it said was taken, so what stands behind each other there came after each other. A use that
 * ended in the middle of something has its stream to itself: what comes behind would stand in that.
 */
#ifndef RECORDER_RECORD_STREAMS_H
#define RECORDER_RECORD_STREAMS_H

#include "record_drain.h"

/* A use of a ring begins: give it a stream. */
void trk_record_streams_begin(struct trk_record_drain *drain, uint32_t index);

/* Tell the trace of a use that it does not know, or of a name that came later. */
void trk_record_streams_announce(struct trk_record_drain *drain, uint32_t index,
                                 struct trk_error *error);

/* All that a use had is taken: write out what nobody adds to. */
void trk_record_streams_end(struct trk_record_drain *drain, struct trk_record_drain_ring *ring,
                            struct trk_error *error);

/* A further stream, for what has no ring. Sets its id, and tells the trace of it. */
void trk_record_streams_add(struct trk_record_drain *drain, struct trk_trace_stream *stream,
                            struct trk_error *error);

/* By how much an event changes what a thread is in the middle of. */
static inline int32_t trk_record_streams_opens(uint8_t type)
{
    switch (type) {
    case TRK_EVENT_OP_BEGIN:
    case TRK_EVENT_FAULT:
    case TRK_EVENT_LOCK:
        return 1;
    case TRK_EVENT_OP_END:
    case TRK_EVENT_UNLOCK:
        return -1;
    default:
        return 0;
    }
}

#endif
