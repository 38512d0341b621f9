/*
 * Commands that are no operation of the core, as far as the core needs them.
 */
#include "run.h"

#include <string.h>

#include "snapshot.h"

static void must(struct stream *stream, enum trk_status status)
{
    if (status != TRK_OK)
        stream_fail(stream, status);
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
    if (core_is_trackers_own()) {
        verdict_unknown(stream, "a tracker of libtrack, and the plug-in tells no events");
        stream_stop(stream);
    }
    if (machine->tracker == NULL)
        run->machine_count++;
    /* Declared again: the former one is gone. */
    run->closing = true;
    core_live->destroy(machine->tracker);
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
    must(stream, core_live->create(&machine->tracker, &options, NULL));
    must(stream, snapshot_declare(run, event->page));
}

void annotation_take(struct stream *stream, const struct trk_trace_event *due)
{
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
    default: /* the oracle reads the others */
        break;
    }
}
