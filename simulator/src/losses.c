/* When a trace's recorder lost events. */
#include "losses.h"

#include <stdlib.h>

/* Time stamps are cut off and clocks of processors differ by a little: a microsecond and more. */
#define SLACK_TICKS 8192u

/* Whether nothing that is judged rests on such an event: it looks, or counts, and changes nothing.
 */
static bool harmless(unsigned type)
{
    return type == TRK_EVENT_WITNESS_CHECK || type == TRK_EVENT_GPU_READ ||
           type == TRK_EVENT_FRAME || type == TRK_EVENT_MARK || type == TRK_EVENT_DECISION ||
           type == TRK_EVENT_OBJECT || type == TRK_EVENT_LABEL || type == TRK_EVENT_IMAGE ||
           type == TRK_EVENT_DISPATCH;
}

/* Whether everything behind a lost event of this type, or of one that nobody knows, is in doubt. */
static bool lasting(unsigned type)
{
    return type == TRK_EVENT_NONE || type == TRK_EVENT_TRACKER || type == TRK_EVENT_MAP ||
           type == TRK_EVENT_UNMAP || type == TRK_EVENT_FOREIGN || type == TRK_EVENT_LOCKS;
}

/* before: time of the event before it in its stream. */
static void take(struct losses *losses, const struct trk_trace_event *drop, uint64_t before)
{
    unsigned type = drop->event.context;
    if (harmless(type))
        return;
    /* A time that would be earlier than the event's before is moved up to that by the recorder. */
    uint64_t first = drop->tsc > before + SLACK_TICKS ? drop->tsc - SLACK_TICKS : 0;
    uint64_t end = drop->tsc + trk_event_size(&drop->event) + SLACK_TICKS;
    if (lasting(type) || end < drop->tsc)
        end = UINT64_MAX;
    losses->first_tsc = losses->any && losses->first_tsc < first ? losses->first_tsc : first;
    losses->end_tsc = losses->any && losses->end_tsc > end ? losses->end_tsc : end;
    losses->any = true;
}

enum trk_status losses_find(struct losses *losses, struct trk_trace *trace)
{
    struct trk_error error;
    uint64_t told = 0;
    uint64_t *newest = calloc(trk_trace_stream_count(trace) + 1, sizeof *newest);
    *losses = (struct losses){.any = false};
    if (newest == NULL)
        return TRK_E_MEMORY;
    enum trk_status status = trk_trace_rewind(trace, &error);
    while (status == TRK_OK) {
        struct trk_trace_event event;
        status = trk_trace_next(trace, &event, &error);
        if (status != TRK_OK)
            break;
        if (event.event.type == TRK_EVENT_DROP) {
            take(losses, &event, newest[event.stream]);
            told += event.event.argument;
        }
        newest[event.stream] = event.tsc;
    }
    free(newest);
    if (status == TRK_E_END)
        status = trk_trace_rewind(trace, &error);
    /* Some are counted and stand nowhere: they may be anything, anywhere. */
    losses->bounded = told == trk_trace_state(trace).dropped;
    losses->any |= !losses->bounded;
    return status;
}
