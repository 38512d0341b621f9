/*
 * A full synchronisation in the midst of a re-executed trace. The run is thrown away behind it, so
 * what the operations leave is nobody's.
 */
#include "symptom_force.h"

#include <string.h>

#include "core.h"
#include "recorder/checkpoint.h"
#include "run.h"
#include "versions.h"

/* ---- to the moment --------------------------------------------------------------------------- */

/* Put the trace to the last checkpoint at or before an event, by halving; *found false: none is. */
static enum trk_status find_checkpoint(struct trk_trace *trace, uint64_t event, bool *found,
                                       struct trk_error *error)
{
    struct trk_trace_checkpoint place;
    size_t first = 0, end = trk_trace_checkpoint_count(trace);
    enum trk_status status = TRK_OK;
    *found = false;
    while (first < end) {
        size_t middle = first + (end - first) / 2;
        status = trk_trace_go_to(trace, middle, &place, error);
        if (status == TRK_E_DAMAGED)
            return TRK_OK; /* then from the beginning */
        if (status != TRK_OK)
            return status;
        bool before = place.event_number <= event;
        first = before ? middle + 1 : first;
        end = before ? end : middle;
    }
    if (first == 0)
        return TRK_OK;
    status = trk_trace_go_to(trace, first - 1, &place, error);
    *found = status == TRK_OK;
    return status == TRK_E_DAMAGED ? TRK_OK : status;
}

static enum trk_status begin(struct run **run, struct trk_trace *trace, uint64_t event,
                             struct trk_sim_report *report, struct symptom_forced *out,
                             struct trk_error *error)
{
    const struct trk_sim_options options = trk_sim_options_default();
    enum trk_status status = find_checkpoint(trace, event, &out->from_checkpoint, error);
    if (status != TRK_OK)
        return status;
    status = out->from_checkpoint ? run_create_here(run, trace, &options, report, error)
                                  : run_create(run, trace, &options, report, error);
    if (status != TRK_OK)
        return status;
    (*run)->deaf = true;
    size_t count = 0;
    const struct trk_trace_event *prologue =
        out->from_checkpoint ? trk_trace_prologue(trace, &count) : NULL;
    for (size_t i = 0; i < count && (*run)->failure == TRK_OK && !(*run)->stopped; i++)
        run_prologue(*run, &prologue[i]);
    return TRK_OK;
}

static enum trk_status follow(struct run *run, uint64_t event, struct symptom_forced *out,
                              struct trk_error *error)
{
    enum trk_status status = TRK_OK;
    uint64_t number = 0;
    bool there = false;
    while (!there && run->failure == TRK_OK && !run->stopped && !run->core_lost) {
        struct trk_trace_event next;
        status = trk_trace_next(run->trace, &next, error);
        if (status != TRK_OK)
            break;
        run_event(run, &next);
        out->events++;
        number = next.number;
        there = number == event;
    }
    if (run->failure != TRK_OK)
        return trk_error_set(error, run->failure, "re-execution ended at event %llu: %s",
                             (unsigned long long)number, trk_status_name(run->failure));
    out->done = there && !run->stopped && !run->core_lost && run->machine_count > 0;
    return status == TRK_E_END ? TRK_OK : status;
}

/* ---- the synchronisation --------------------------------------------------------------------- */

struct forcing {
    struct stream stream; /* first: whoever waits for a lock stands on its coroutine */
    struct machine *machine;
    uint64_t guest_addr;
    bool up, down, over;
};

static void note_up(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    struct forcing *forcing = context;
    forcing->up |= forcing->guest_addr - guest_addr < size_bytes;
}

static void note_down(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    struct forcing *forcing = context;
    forcing->down |= forcing->guest_addr - guest_addr < size_bytes;
}

/* What the statuses say shows in what was handed over. */
static void ignore(enum trk_status status)
{
    (void)status;
}

static void force(void *context)
{
    struct forcing *forcing = context;
    struct trk_transfer transfer = {
        .size = sizeof transfer,
        .guest_addr = forcing->guest_addr & ~(TRK_HOST_PAGE_BYTES - 1),
        .size_bytes = TRK_HOST_PAGE_BYTES,
        .range = note_up,
        .context = forcing,
    };
    ignore(core_live->upload(forcing->machine->tracker, &transfer));
    transfer.range = note_down;
    transfer.clear = true;
    ignore(core_live->download(forcing->machine->tracker, &transfer));
    forcing->over = true;
    for (;;)
        coroutine_yield(forcing->stream.coroutine);
}

/* Of one tracker. What it tells on the way is nobody's. */
static enum trk_status force_tracker(struct run *run, struct machine *machine, uint64_t guest_addr,
                                     struct symptom_forced *out)
{
    struct forcing forcing = {.machine = machine, .guest_addr = guest_addr};
    forcing.stream.run = run;
    forcing.stream.thread.thread.id = run->stream_count + 1;
    enum trk_status status = coroutine_create(&forcing.stream.coroutine, force, &forcing);
    if (status != TRK_OK)
        return status;
    run->current = &forcing.stream;
    run->closing = run->probing = true;
    core_live->thread_swap(&forcing.stream.thread.thread);
    coroutine_resume(forcing.stream.coroutine);
    core_live->thread_swap(NULL);
    run->closing = run->probing = false;
    run->current = NULL;
    coroutine_destroy(forcing.stream.coroutine);
    out->busy |= !forcing.over;
    out->up |= forcing.up;
    out->down |= forcing.down;
    return TRK_OK;
}

/* Of each tracker that has met the page. Where none has, it is the CPU's: an upload would take it.
 */
static enum trk_status force_all(struct run *run, uint64_t guest_addr, struct symptom_forced *out)
{
    enum trk_status status = TRK_OK;
    bool met = false, valid = trk_range_valid(TRK_ARENA_LOW_EXTENDED, guest_addr, 1);
    for (uint32_t id = 0; id < RUN_TRACKERS && status == TRK_OK && valid && !out->busy; id++) {
        struct machine *machine = &run->machines[id];
        if (machine->tracker == NULL || !core_live->met(machine->tracker, guest_addr))
            continue;
        met = true;
        status = force_tracker(run, machine, guest_addr, out);
    }
    out->up |= !met;
    return status;
}

enum trk_status symptom_force(struct trk_trace *trace, uint64_t guest_addr, uint64_t event,
                              struct symptom_forced *out, struct trk_error *error)
{
    struct trk_sim_report report;
    struct run *run = NULL;
    *out = (struct symptom_forced){.done = false};
    enum trk_status status = begin(&run, trace, event, &report, out, error);
    if (status == TRK_OK)
        status = follow(run, event, out, error);
    if (status == TRK_OK && out->done)
        status = force_all(run, versions_tracked_addr(run->judge.versions, guest_addr), out);
    run_destroy(run);
    return status;
}
