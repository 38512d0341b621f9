/*
 * Commands that are no operation of the core: what the recorded program said of itself.
 */
#include "run.h"

#include <string.h>

#include "snapshot.h"

static void must(struct stream *stream, enum trk_status status)
{
    if (status != TRK_OK)
        stream_fail(stream, status);
}

/* Bytes of a type whose size is 64 bits, or 32 bits in seq. */
static struct access access_of(const struct trk_trace_event *event, uint64_t size_bytes)
{
    return (struct access){event->number, event->stream, event->event.argument, size_bytes};
}

/* Whether any stream is inside an operation of a tracker. */
static bool in_use(const struct run *run, const struct machine *machine)
{
    for (uint32_t i = 0; i < run->stream_count; i++) {
        const struct operation_run *operation = run->streams[i].operation;
        for (; operation != NULL; operation = operation->outer) {
            if (operation->machine == machine && !operation->over)
                return true;
        }
    }
    return false;
}

static void declare_tracker(struct stream *stream, const struct trk_event *event)
{
    struct run *run = stream->run;
    if (event->page >= RUN_TRACKERS) {
        verdict_unknown(stream, "a tracker with a number above 15");
        stream_stop(stream);
    }
    struct machine *machine = &run->machines[event->page];
    if (in_use(run, machine)) {
        verdict_unknown(stream, "a tracker declared again inside its own operation");
        stream_stop(stream);
    }
    if (machine->tracker == NULL)
        run->machine_count++;
    /* Declared again: the former one is gone. */
    run->closing = true;
    trk_tracker_destroy(machine->tracker);
    run->closing = false;
    *machine = (struct machine){
        .backend = {.kind = TRK_BACKEND_SIMULATED,
                    .name = "recorded",
                    .protect = observer_protect,
                    .separate_runs = event->context == TRK_BACKEND_USERFAULTFD},
        .mappings = {.budget = INT64_MAX},
        .run = run,
        .last_watch = TRK_NOT_KNOWN,
    };
    /* The core then knows another way where the host refused to open a page. */
    if (event->context != TRK_BACKEND_SIMULATED)
        machine->backend.mappings = &machine->mappings;
    machine->mappings.loads_only = event->context == TRK_BACKEND_USERFAULTFD;
    if (trk_policy_unpack(event->argument, &machine->policy) != TRK_OK) {
        verdict_unknown(stream, "a tracker with a policy that this version does not know");
        stream_stop(stream);
    }
    struct trk_tracker_options options = trk_tracker_options_default();
    options.policy = machine->policy;
    options.backend = &machine->backend;
    options.observer = (struct trk_observer){observer_emit, observer_wait, machine};
    options.failure = observer_failure;
    options.id = event->page;
    must(stream, trk_tracker_create(&machine->tracker, &options, NULL));
    must(stream, snapshot_declare(run, event->page));
}

static void copy_begin(struct stream *stream, const struct trk_trace_event *event)
{
    if (stream->copy_count == RUN_COPIES_OPEN) {
        memmove(stream->copies, stream->copies + 1, (RUN_COPIES_OPEN - 1) * sizeof *stream->copies);
        stream->copy_count--;
    }
    stream->copies[stream->copy_count++] = (struct open_copy){
        .begin = event->number,
        .guest_addr = event->event.argument,
        .size_bytes = trk_event_size(&event->event),
        .direction = event->event.context,
    };
}

static void copy_end(struct stream *stream, const struct trk_trace_event *event)
{
    struct access access = access_of(event, trk_event_size(&event->event));
    unsigned direction = event->event.context;
    uint64_t begin = event->number;
    for (uint32_t i = stream->copy_count; i-- > 0;) {
        const struct open_copy *open = &stream->copies[i];
        if (open->guest_addr != access.guest_addr || open->size_bytes != access.size_bytes ||
            open->direction != direction)
            continue;
        begin = open->begin;
        stream->copy_count--;
        memmove(stream->copies + i, stream->copies + i + 1,
                (stream->copy_count - i) * sizeof *open);
        break;
    }
    stream->run->report->copies++;
    must(stream, versions_copy(stream->run->versions, &access, begin,
                               direction == TRK_COPY_DOWN ? TRK_COPY_DOWN : TRK_COPY_UP));
}

static void store(struct stream *stream, const struct trk_trace_event *event, enum trk_agent agent)
{
    struct access access = access_of(event, event->event.seq);
    unsigned flags = agent == TRK_AGENT_GPU ? SHADOW_STORE_GPU : 0;
    uint64_t page = access.guest_addr / TRK_HOST_PAGE_BYTES;
    if (agent == TRK_AGENT_CPU && stream->faulted && stream->fault_page == page)
        flags |= SHADOW_STORE_FAULTED;
    stream->faulted = false;
    must(stream, versions_store(stream->run->versions, &access, flags, event->event.domain));
}

static void check(struct stream *stream, const struct trk_trace_event *event, enum trk_agent agent,
                  bool stamped)
{
    struct run *run = stream->run;
    run->report->checks++;
    /* Without a stamp the proof rests on the copies, and some may be lost. */
    if (!stamped && (run_doubtful(run) || run->windowed))
        return;
    struct finding finding = {
        .agent = agent,
        .check = access_of(event, event->event.seq),
        .stamped = stamped,
        .seen = event->event.domain,
    };
    bool stale;
    versions_check(run->versions, &finding, &stale);
    if (!stale)
        return;
    verdict_stale(run, &finding);
    stream_stop(stream);
}

static void change_views(struct stream *stream, const struct trk_trace_event *event)
{
    struct access access = access_of(event, trk_event_size(&event->event));
    if (event->event.type == TRK_EVENT_MAP)
        must(stream, versions_map(stream->run->versions, &access, trk_event_number32(&event->event),
                                  event->event.flags));
    else
        must(stream, versions_unmap(stream->run->versions, &access));
}

static enum trk_agent agent_of(const struct trk_event *event)
{
    return event->flags == TRK_AGENT_GPU ? TRK_AGENT_GPU : TRK_AGENT_CPU;
}

void annotation_take(struct stream *stream, const struct trk_trace_event *due)
{
    struct run *run = stream->run;
    const struct trk_event *event = &due->event;
    switch (event->type) {
    case TRK_EVENT_MASK:
        if (event->page < TRK_REGION_WORDS)
            stream->mask[event->page] = event->argument;
        break;
    case TRK_EVENT_OPERAND:
        stream->operand = event->argument;
        stream->has_operand = true;
        break;
    case TRK_EVENT_TRACKER:
        declare_tracker(stream, event);
        break;
    case TRK_EVENT_COPY_BEGIN:
        copy_begin(stream, due);
        break;
    case TRK_EVENT_COPY_END:
        copy_end(stream, due);
        break;
    case TRK_EVENT_GPU_WRITE:
        store(stream, due, TRK_AGENT_GPU);
        break;
    case TRK_EVENT_GPU_READ:
        check(stream, due, TRK_AGENT_GPU, event->domain != 0);
        break;
    case TRK_EVENT_MAP:
    case TRK_EVENT_UNMAP:
        change_views(stream, due);
        break;
    case TRK_EVENT_FRAME:
        run->report->frames++;
        break;
    case TRK_EVENT_WITNESS_STORE:
        store(stream, due, agent_of(event));
        break;
    case TRK_EVENT_WITNESS_CHECK:
        check(stream, due, agent_of(event), true);
        break;
    case TRK_EVENT_SIGNAL:
        must(stream,
             order_signal(run->order, due->stream, due->number, event->domain, event->argument));
        break;
    case TRK_EVENT_AWAIT:
        order_await(run->order, due->stream, event->domain, event->argument);
        break;
    default: /* nothing follows from the others */
        break;
    }
}
