#include "simulator/rest.h"

#include <stdlib.h>

enum trk_status trk_rest_init(struct trk_rest *rest, const struct trk_trace *trace)
{
    size_t streams = trk_trace_stream_count(trace);
    *rest = (struct trk_rest){.stream_count = streams,
                              .ahead_of = calloc(streams + 1, sizeof *rest->ahead_of),
                              .at_fault = calloc(streams + 1, sizeof *rest->at_fault)};
    if (rest->ahead_of != NULL && rest->at_fault != NULL)
        return TRK_OK;
    trk_rest_deinit(rest);
    return TRK_E_MEMORY;
}

void trk_rest_deinit(struct trk_rest *rest)
{
    free(rest->ahead_of);
    free(rest->at_fault);
    *rest = (struct trk_rest){.open = 0};
}

void trk_rest_take(struct trk_rest *rest, const struct trk_trace_event *event)
{
    if (event->stream >= rest->stream_count)
        return;
    rest->ahead -= rest->at_fault[event->stream];
    rest->at_fault[event->stream] = event->event.type == TRK_EVENT_FAULT_AT;
    rest->ahead += rest->at_fault[event->stream];
    switch (event->event.type) {
    case TRK_EVENT_OP_BEGIN:
        rest->ahead -= rest->ahead_of[event->stream];
        rest->ahead_of[event->stream] = 0;
        rest->open++;
        break;
    case TRK_EVENT_FAULT:
    case TRK_EVENT_LOCK:
    case TRK_EVENT_COPY_BEGIN:
        rest->open++;
        break;
    case TRK_EVENT_OP_END:
    case TRK_EVENT_UNLOCK:
    case TRK_EVENT_COPY_END:
        rest->open -= rest->open > 0; /* an end without its beginning, behind a loss */
        break;
    case TRK_EVENT_MASK:
    case TRK_EVENT_OPERAND:
        rest->ahead++;
        rest->ahead_of[event->stream]++;
        break;
    default:
        break;
    }
}
