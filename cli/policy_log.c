#include "policy_log.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "trace_look.h"

#define NONE      TRK_POLICY_LOG_NONE
#define NEST_MOST 16u

/* A thread's operations under way. */
struct lane {
    uint32_t open[NEST_MOST]; /* commands; NONE: a foreign tracker's */
    bool flushing[NEST_MOST]; /* it has called its flush, and done nothing else since */
    uint32_t depth;
    uint32_t extra; /* for the next operation */
};

struct reading {
    struct trk_policy_log *out;
    struct lane *lanes;
    bool foreign[16]; /* trackers */
};

/* Room for one more; NULL: no memory. */
static void *grown(void *all, uint32_t count, uint32_t *capacity, size_t bytes)
{
    if (count < *capacity) {
        return all;
    }
    uint32_t more = *capacity == 0 ? 1024 : *capacity * 2;
    void *now = realloc(all, more * bytes);
    *capacity = now == NULL ? *capacity : more;
    return now;
}

static struct trk_policy_extra *extra_of(struct reading *reading, struct lane *lane)
{
    struct trk_policy_log *out = reading->out;
    if (lane->extra == NONE) {
        void *extras =
            grown(out->extras, out->extra_count, &out->extra_capacity, sizeof *out->extras);
        if (extras == NULL) {
            return NULL;
        }
        out->extras = extras;
        lane->extra = out->extra_count++;
        out->extras[lane->extra] = (struct trk_policy_extra){.operand = 0};
    }
    return &out->extras[lane->extra];
}

/* In whose flush a command stands that begins now. */
static uint32_t parent_of(const struct lane *lane)
{
    return lane->depth > 0 && lane->depth <= NEST_MOST && lane->flushing[lane->depth - 1]
               ? lane->open[lane->depth - 1]
               : NONE;
}

static void nest(struct trk_policy_log *out, uint32_t command, uint32_t parent)
{
    struct trk_policy_command *outer = &out->commands[parent];
    *(outer->first_nested == NONE ? &outer->first_nested
                                  : &out->commands[outer->last_nested].sister) = command;
    outer->last_nested = command;
    out->commands[command].parent = parent;
    out->commands[command].round = (uint16_t)(outer->rounds - 1);
}

static enum trk_status add(struct reading *reading, const struct trk_trace_event *event)
{
    struct trk_policy_log *out = reading->out;
    struct lane *lane = &reading->lanes[event->stream];
    if (out->count == TRK_POLICY_LOG_MOST || event->number >= UINT32_MAX) {
        return TRK_E_UNSUPPORTED;
    }
    void *commands = grown(out->commands, out->count, &out->capacity, sizeof *out->commands);
    if (commands == NULL) {
        return TRK_E_MEMORY;
    }
    out->commands = commands;
    out->commands[out->count] = (struct trk_policy_command){
        .event = event->event,
        .number = (uint32_t)event->number,
        .stream = event->stream,
        .extra = lane->extra,
        .parent = NONE,
        .first_nested = NONE,
        .last_nested = NONE,
        .sister = NONE,
    };
    lane->extra = NONE;
    uint32_t parent = parent_of(lane);
    if (parent != NONE) {
        nest(out, out->count, parent);
    }
    out->count++;
    return TRK_OK;
}

static void push(struct lane *lane, uint32_t command)
{
    if (lane->depth < NEST_MOST) {
        lane->open[lane->depth] = command;
        lane->flushing[lane->depth] = false;
    }
    lane->depth++;
}

static enum trk_status begin(struct reading *reading, const struct trk_trace_event *event)
{
    const struct trk_event *said = &event->event;
    struct lane *lane = &reading->lanes[event->stream];
    bool fault = said->type == TRK_EVENT_FAULT;
    unsigned tracker = fault ? trk_domain_tracker(said->domain) : said->page;
    /* The resource layer has no range, and sides have their own. */
    bool layer = !fault && said->context == TRK_OP_RESOURCE_LAYER;
    if (layer || tracker >= 16 || reading->foreign[tracker]) {
        reading->out->foreign += !layer;
        push(lane, NONE);
        return TRK_OK;
    }
    enum trk_status status = add(reading, event);
    if (status == TRK_OK) {
        push(lane, reading->out->count - 1);
    }
    return status;
}

static void note_callback(struct reading *reading, struct lane *lane, unsigned callback)
{
    bool flush = callback == TRK_CALLBACK_FLUSH || callback == TRK_CALLBACK_READ_BACK;
    if (lane->depth == 0 || lane->depth > NEST_MOST || lane->open[lane->depth - 1] == NONE) {
        return;
    }
    lane->flushing[lane->depth - 1] = flush;
    struct trk_policy_command *command = &reading->out->commands[lane->open[lane->depth - 1]];
    command->rounds = (uint16_t)(command->rounds + (flush && command->rounds < UINT16_MAX));
}

static enum trk_status take(struct reading *reading, const struct trk_trace_event *event)
{
    const struct trk_event *said = &event->event;
    struct lane *lane = &reading->lanes[event->stream];
    struct trk_policy_extra *extra;
    switch (said->type) {
    case TRK_EVENT_OPERAND:
    case TRK_EVENT_MASK:
        extra = extra_of(reading, lane);
        if (extra == NULL) {
            return TRK_E_MEMORY;
        }
        if (said->type == TRK_EVENT_OPERAND) {
            extra->operand = said->argument;
        } else if (said->page < TRK_REGION_WORDS) {
            extra->mask[said->page] = said->argument;
        }
        return TRK_OK;
    case TRK_EVENT_FOREIGN:
        reading->foreign[said->page & 15u] = true;
        return TRK_OK;
    case TRK_EVENT_TRACKER:
        reading->foreign[said->page & 15u] = false;
        return add(reading, event);
    case TRK_EVENT_WITNESS_STORE:
    case TRK_EVENT_WITNESS_CHECK:
    case TRK_EVENT_ACCESS:
        return said->flags == TRK_AGENT_CPU ? add(reading, event) : TRK_OK;
    case TRK_EVENT_OP_BEGIN:
    case TRK_EVENT_FAULT:
        return begin(reading, event);
    case TRK_EVENT_OP_END:
        lane->depth -= lane->depth > 0;
        return TRK_OK;
    case TRK_EVENT_CALLBACK:
        note_callback(reading, lane, said->context);
        return TRK_OK;
    default:
        /* What follows from the operation itself: its callback is over. */
        if (!trk_event_is_command(said) && lane->depth > 0 && lane->depth <= NEST_MOST) {
            lane->flushing[lane->depth - 1] = false;
        }
        return TRK_OK;
    }
}

/* When the first event is missing that is known to be: what comes then may have met another state.
 * A file that just stops is good to its end. */
static enum trk_status find_loss(struct trk_trace *trace, uint64_t *first_tsc,
                                 struct trk_error *error)
{
    struct trk_look look = {.part = TRK_LOOK_ALL};
    enum trk_status status = trk_look_read(&look, trace, false, error);
    const struct trk_trace_state state = trk_trace_state(trace);
    bool stops = !state.ended || state.cut || !state.counted;
    *first_tsc = UINT64_MAX;
    for (size_t i = 0; status == TRK_OK && !look.complete && i < look.stream_count; i++) {
        for (uint32_t k = 0; k < look.streams[i].count; k++) {
            const struct trk_loss *loss = &look.streams[i].losses[k];
            bool end = loss->last_tsc == UINT64_MAX;
            if (loss->first_tsc < *first_tsc && !(end && stops)) {
                *first_tsc = loss->first_tsc;
            }
        }
    }
    trk_look_free(&look);
    return status;
}

static bool is_run(const struct trk_event *event)
{
    return event->type == TRK_EVENT_OP_BEGIN || event->type == TRK_EVENT_FAULT ||
           ((event->type == TRK_EVENT_WITNESS_STORE || event->type == TRK_EVENT_WITNESS_CHECK ||
             event->type == TRK_EVENT_ACCESS) &&
            event->flags == TRK_AGENT_CPU);
}

/* Leave out the operations that are not over at the loss, and all behind the first of them. */
static void leave_open_ones(struct reading *reading, size_t streams)
{
    struct trk_policy_log *out = reading->out;
    uint32_t most = out->count;
    for (size_t i = 0; i < streams; i++) {
        const struct lane *lane = &reading->lanes[i];
        for (uint32_t k = 0; k < lane->depth && k < NEST_MOST; k++) {
            most = lane->open[k] < most ? lane->open[k] : most;
        }
    }
    for (uint32_t i = 0; i < most; i++) {
        uint32_t last = out->commands[i].last_nested;
        if (last != NONE && last >= most) {
            most =
                i; /* what is nested goes with its operation; all before it is to be seen again */
            i = UINT32_MAX;
        }
    }
    out->behind += out->count - most;
    out->count = most;
}

enum trk_status trk_policy_log_read(struct trk_policy_log *out, struct trk_trace *trace,
                                    struct trk_error *error)
{
    struct reading reading = {.out = out};
    struct trk_trace_event event;
    const size_t streams = trk_trace_stream_count(trace);
    *out = (struct trk_policy_log){.count = 0};
    reading.lanes = calloc(streams + 1, sizeof *reading.lanes);
    if (reading.lanes == NULL) {
        return trk_error_set(error, TRK_E_MEMORY, "no memory");
    }
    for (size_t i = 0; i < streams; i++) {
        reading.lanes[i].extra = NONE;
    }
    uint64_t loss_tsc;
    bool lost = false;
    enum trk_status status = find_loss(trace, &loss_tsc, error);
    status = status == TRK_OK ? trk_trace_rewind(trace, error) : status;
    while (status == TRK_OK && (status = trk_trace_next(trace, &event, error)) == TRK_OK) {
        lost = lost || (loss_tsc != UINT64_MAX && event.tsc >= loss_tsc);
        if (lost) {
            out->behind += is_run(&event.event);
            continue;
        }
        status = take(&reading, &event);
        if (status == TRK_E_UNSUPPORTED) {
            (void)trk_error_set(error, status, "more than %" PRIu32 " operations and accesses",
                                TRK_POLICY_LOG_MOST);
        } else if (status != TRK_OK) {
            (void)trk_error_set(error, status, "no memory");
        }
    }
    if (lost) {
        leave_open_ones(&reading, streams);
    }
    out->complete = trk_trace_state(trace).complete;
    free(reading.lanes);
    return status == TRK_E_END ? TRK_OK : status;
}

void trk_policy_log_free(struct trk_policy_log *log)
{
    free(log->commands);
    free(log->extras);
}
