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
           type == TRK_EVENT_DISPATCH || type == TRK_EVENT_FAULT_AT || type == TRK_EVENT_SHARED ||
           type == TRK_EVENT_RESULT || type == TRK_EVENT_OBJECT_DETAIL;
}

/* Whether everything behind a lost event of this type, or of one that nobody knows, is in doubt. */
static bool lasting(unsigned type)
{
    return type == TRK_EVENT_NONE || type == TRK_EVENT_TRACKER || type == TRK_EVENT_MAP ||
           type == TRK_EVENT_UNMAP || type == TRK_EVENT_FOREIGN || type == TRK_EVENT_LOCKS;
}

static void add(struct losses *losses, uint64_t first_tsc, uint64_t end_tsc)
{
    if (!losses->any || first_tsc < losses->first_tsc)
        losses->first_tsc = first_tsc;
    if (!losses->any || end_tsc > losses->end_tsc)
        losses->end_tsc = end_tsc;
    losses->any = true;
}

/* What may have been a change of views, or an access that stored older bytes again. */
static void add_views(struct losses *losses, uint64_t first_tsc, uint64_t end_tsc)
{
    if (losses->views_end_tsc == 0 || first_tsc < losses->views_first_tsc)
        losses->views_first_tsc = first_tsc;
    if (end_tsc > losses->views_end_tsc)
        losses->views_end_tsc = end_tsc;
}

/* before: time of the event before it in its stream. */
static void take(struct losses *losses, const struct trk_trace_event *drop, uint64_t before)
{
    unsigned type = drop->event.context;
    if (harmless(type))
        return;
    /* A time that would be earlier than the event's before is moved up to that by the recorder. And
     * what nobody knows the type of may be a chunk of a file that was recovered: without its header
     * it is told of with the time of the chunk behind it [F-32]. */
    bool moved = drop->tsc <= before;
    uint64_t known = type == TRK_EVENT_NONE ? before : drop->tsc;
    uint64_t first = !moved && known > SLACK_TICKS ? known - SLACK_TICKS : 0;
    uint64_t end = drop->tsc + trk_event_size(&drop->event) + SLACK_TICKS;
    bool unknown = type == TRK_EVENT_NONE || end < drop->tsc;
    add(losses, first, lasting(type) || unknown ? UINT64_MAX : end);
    if (type == TRK_EVENT_NONE || type == TRK_EVENT_MAP || type == TRK_EVENT_UNMAP ||
        type == TRK_EVENT_ACCESS)
        add_views(losses, first, unknown ? UINT64_MAX : end);
}

/* Those that DROP events tell of, and how many they are. */
static enum trk_status find_told(struct losses *losses, struct trk_trace *trace, uint64_t *told)
{
    struct trk_error error;
    uint64_t *newest = calloc(trk_trace_stream_count(trace) + 1, sizeof *newest);
    *losses = (struct losses){.bounded = true};
    *told = 0;
    if (newest == NULL)
        return TRK_E_MEMORY;
    enum trk_status status = trk_trace_rewind(trace, &error);
    while (status == TRK_OK) {
        struct trk_trace_event event;
        status = trk_trace_next(trace, &event, &error);
        if (status != TRK_OK)
            break;
        status = disorder_add(&losses->disorder, &event);
        if (event.event.type == TRK_EVENT_DROP) {
            take(losses, &event, newest[event.stream]);
            *told += event.event.argument;
        }
        newest[event.stream] = event.tsc;
    }
    free(newest);
    disorder_finish(&losses->disorder);
    return status == TRK_E_END ? trk_trace_rewind(trace, &error) : status;
}

/* Some are counted and stand nowhere: they may be anything, anywhere. */
static void unbound(struct losses *losses)
{
    losses->bounded = false;
    losses->any = true;
    add_views(losses, 0, UINT64_MAX);
}

enum trk_status losses_find(struct losses *losses, struct trk_trace *trace)
{
    uint64_t told;
    enum trk_status status = find_told(losses, trace, &told);
    if (told != trk_trace_state(trace).dropped)
        unbound(losses);
    return status;
}

enum trk_status losses_find_all(struct losses *losses, struct trk_trace *trace)
{
    struct trk_trace_missing *missing;
    size_t count;
    uint64_t told;
    enum trk_status status = find_told(losses, trace, &told);
    if (status != TRK_OK)
        return status;
    status = trk_trace_missing(trace, &missing, &count);
    if (status != TRK_OK)
        return status;
    /* Of these nobody knows the types: they may have changed something for good. */
    for (size_t i = 0; i < count; i++) {
        uint64_t first =
            missing[i].first_tsc > SLACK_TICKS ? missing[i].first_tsc - SLACK_TICKS : 0;
        uint64_t end = missing[i].end_tsc;
        add(losses, first, UINT64_MAX);
        add_views(losses, first, end < UINT64_MAX - SLACK_TICKS ? end + SLACK_TICKS : UINT64_MAX);
    }
    if (count == 0 && told != trk_trace_state(trace).dropped)
        unbound(losses);
    free(missing);
    return TRK_OK;
}

enum trk_status losses_find_views(struct losses *losses, struct trk_trace *trace)
{
    struct losses all;
    enum trk_status status = losses_find_all(&all, trace);
    losses_deinit(losses);
    losses->views_first_tsc = all.views_first_tsc;
    losses->views_end_tsc = all.views_end_tsc;
    losses->disorder = all.disorder;
    return status;
}

void losses_deinit(struct losses *losses)
{
    disorder_deinit(&losses->disorder);
}

/* ---- reading past them ----------------------------------------------------------------------- */

void losses_pass(struct losses_passed *passed, const struct trk_trace_event *event)
{
    const struct losses *losses = &passed->losses;
    bool begun = event->tsc >= losses->first_tsc || passed->first > 0;
    bool among = losses->any && (!losses->bounded || (begun && event->tsc <= losses->end_tsc));
    passed->number = event->number;
    /* An event whose place is a guess has lost what would say it. */
    passed->among = among || event->guessed;
    if (passed->among) {
        passed->end = event->number + 1;
        passed->first = passed->first == 0 ? event->number + 1 : passed->first;
    } else if (losses->any && begun && passed->end == 0) {
        passed->end = passed->first = event->number; /* they came before this one */
    }
}

bool losses_since(const struct losses_passed *passed, uint64_t event)
{
    return passed->end > event || disorder_between(&passed->losses.disorder, event, passed->number);
}

struct trk_lost {
    struct losses_passed passed;
};

enum trk_status trk_lost_create(struct trk_lost **out, struct trk_trace *trace,
                                struct trk_error *error)
{
    struct trk_lost *lost = calloc(1, sizeof *lost);
    *out = NULL;
    enum trk_status status = lost == NULL ? TRK_E_MEMORY : TRK_OK;
    if (status == TRK_OK && !trk_trace_state(trace).complete)
        status = losses_find_all(&lost->passed.losses, trace);
    if (status != TRK_OK) {
        trk_lost_destroy(lost);
        return trk_error_set(error, status, "what the trace lacks is not known: %s",
                             trk_status_name(status));
    }
    *out = lost;
    return TRK_OK;
}

void trk_lost_destroy(struct trk_lost *lost)
{
    if (lost != NULL)
        losses_deinit(&lost->passed.losses);
    free(lost);
}

void trk_lost_pass(struct trk_lost *lost, const struct trk_trace_event *event)
{
    losses_pass(&lost->passed, event);
}

bool trk_lost_since(const struct trk_lost *lost, uint64_t event)
{
    return losses_since(&lost->passed, event);
}
