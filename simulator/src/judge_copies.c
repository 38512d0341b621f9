/*
 * The oracle of traces: copies, each from its begin to its end.
 */
#include <string.h>

#include "judge.h"

void judge_copy_begin(const struct judge *judge, const struct trk_trace_event *event)
{
    struct judge_stream *stream = &judge->streams[event->stream];
    const struct judge_operation *operation = judge_operation_of(judge, event->stream);
    if (stream->copy_count == JUDGE_COPIES_OPEN) {
        memmove(stream->copies, stream->copies + 1,
                (JUDGE_COPIES_OPEN - 1) * sizeof *stream->copies);
        stream->copy_count--;
        stream->copies_beyond++;
    }
    stream->copies[stream->copy_count++] = (struct judge_copy){
        .begin = event->number,
        .guest_addr = event->event.argument,
        .size_bytes = trk_event_size(&event->event),
        .direction = event->event.context,
        .taken = operation != NULL && operation->op == TRK_OP_UPLOAD && operation->in_callback,
    };
}

/* How the copy which ends now began: by the end itself when there is no begin, and none can be
 * missing or was forgotten. */
static struct shadow_copy copy_close(struct judge *judge, const struct trk_trace_event *event)
{
    struct judge_stream *stream = &judge->streams[event->stream];
    for (uint32_t i = stream->copy_count; i-- > 0;) {
        const struct judge_copy *open = &stream->copies[i];
        if (open->guest_addr != event->event.argument ||
            open->size_bytes != trk_event_size(&event->event) ||
            open->direction != event->event.context)
            continue;
        struct shadow_copy told = {.begin = open->begin,
                                   .flags = open->taken ? SHADOW_COPY_TAKEN : 0};
        stream->copy_count--;
        memmove(stream->copies + i, stream->copies + i + 1,
                (stream->copy_count - i) * sizeof *open);
        return told;
    }
    bool forgotten = stream->copies_beyond > 0;
    stream->copies_beyond -= forgotten;
    if (judge->lossy || forgotten)
        return (struct shadow_copy){.flags = SHADOW_COPY_ENDED};
    return (struct shadow_copy){.begin = event->number};
}

enum trk_status judge_copy_end(struct judge *judge, const struct trk_trace_event *event,
                               struct finding *finding)
{
    struct judge_stream *stream = &judge->streams[event->stream];
    struct access access = {event->number, event->stream, event->event.argument,
                            trk_event_size(&event->event)};
    struct shadow_copy told = copy_close(judge, event);
    bool down = event->event.context == TRK_COPY_DOWN;
    judge->copies++;
    enum trk_status status =
        versions_copy(judge->versions, &access, &told, down ? TRK_COPY_DOWN : TRK_COPY_UP, finding);
    /* Waited for somebody while it copied: what that one stored may have been copied, too. */
    if (finding->found && finding->agent == TRK_AGENT_CPU && stream->last_await > told.begin)
        finding->found = false;
    return status;
}
