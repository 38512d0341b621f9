/*
 * Reading a trace while it is being written: chunk by chunk, in the file's order.
 *
 * That is not the canonical order, which needs to know what else is to come: events of one thread
 * are in order, those of several are as their chunks were written.
 */
#ifndef RECORDER_FOLLOW_H
#define RECORDER_FOLLOW_H

#include "recorder/event_text.h"
#include "recorder/trace.h"

TRK_EXTERN_C_BEGIN

struct trk_follow;

/**
 * Open a file whose header is there.
 *
 * @return as trk_trace_open; TRK_E_INCOMPLETE: the header is not written yet.
 *
 * Allocates: yes. Signal-safe: no. Threads: one at a time.
 */
TRK_MUST_USE enum trk_status trk_follow_open(struct trk_follow **out, const char *path,
                                             struct trk_error *error);
void trk_follow_close(struct trk_follow *follow);

/* HEADER's JSON text; the follower's. */
const char *trk_follow_header_json(const struct trk_follow *follow);

/* What a type is called, by the file where it is newer than this version. */
const char *trk_follow_type_name(const struct trk_follow *follow, uint8_t id);

/* What an event says, of a newer type by what the file says of it: as trk_trace_event_fields. */
size_t trk_follow_event_fields(const struct trk_follow *follow, const struct trk_event *event,
                               struct trk_event_field out[TRK_EVENT_FIELDS_MOST]);

/* A thread's name as far as it is known; "" if not. */
const char *trk_follow_name(const struct trk_follow *follow, uint32_t stream_id);

/**
 * The next event. event->stream is the id in the file, event->number how many came before.
 *
 * @return TRK_OK; TRK_E_INCOMPLETE: no more has been written yet; TRK_E_END: the trace has ended;
 *         TRK_E_DAMAGED: what stands there is no chunk, or some are missing before it (error says
 *         where); TRK_E_MEMORY; TRK_E_SYSTEM; TRK_E_VERSION: it needs a newer reader.
 */
TRK_MUST_USE enum trk_status
trk_follow_next(struct trk_follow *follow, struct trk_trace_event *event, struct trk_error *error);

TRK_EXTERN_C_END

#endif
