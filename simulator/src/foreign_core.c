/*
 * A foreign tracker's operations, run again on a core with the policy that it follows.
 */
#include "foreign_core.h"

#include <stdio.h>
#include <stdlib.h>

#include "run.h"
#include "simulator/core.h"
#include "story.h"
#include "track/pages.h"

struct foreign_core {
    struct trk_backend *backend;
    struct trk_tracker *tracker;
    uint64_t page_bytes;
    uint32_t fault_bytes; /* that a fault is taken to touch */
    struct foreign_runs runs;
    bool refused; /* the operation under way */
    enum trk_status refusal;
};

static void note_run(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    struct foreign_core *core = context;
    foreign_runs_add(&core->runs, guest_addr, size_bytes);
}

/* The bytes came home when the recorded flush ran: its operations were run before. */
static void nothing_to_flush(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    (void)context;
    (void)guest_addr;
    (void)size_bytes;
}

static void on_failure(void *context, const struct trk_failure *failure)
{
    struct foreign_core *core = context;
    if (!core->refused)
        core->refusal = failure->failure_class;
    core->refused = true;
}

enum trk_status foreign_core_create(struct foreign_core **out, uint64_t policy, uint64_t page_bytes)
{
    struct trk_tracker_options options = trk_tracker_options_default();
    *out = NULL;
    if (core_is_trackers_own()) /* it does as it does, whatever that is called */
        options.policy.page_size_bytes = (uint32_t)page_bytes;
    else if (trk_policy_unpack(policy, &options.policy) != TRK_OK ||
             options.policy.page_size_bytes != page_bytes)
        return TRK_OK;
    struct foreign_core *core = calloc(1, sizeof *core);
    if (core == NULL)
        return TRK_E_MEMORY;
    enum trk_status status = trk_backend_simulated_create(&core->backend, NULL);
    options.backend = core->backend;
    options.failure = on_failure;
    options.failure_context = core;
    if (status == TRK_OK)
        status = core_live->create(&core->tracker, &options, NULL);
    core->page_bytes = page_bytes;
    core->fault_bytes = options.policy.fault_width_bytes;
    if (status != TRK_OK) {
        foreign_core_destroy(core);
        return status == TRK_E_UNSUPPORTED ? TRK_OK : status;
    }
    *out = core;
    return TRK_OK;
}

void foreign_core_destroy(struct foreign_core *core)
{
    if (core == NULL)
        return;
    core_live->destroy(core->tracker);
    trk_backend_destroy(core->backend);
    foreign_runs_deinit(&core->runs);
    free(core);
}

struct trk_tracker *foreign_core_tracker(const struct foreign_core *core)
{
    return core->tracker;
}

static struct trk_transfer transfer_of(struct foreign_core *core, uint64_t guest_addr,
                                       uint64_t size_bytes)
{
    return (struct trk_transfer){.size = sizeof(struct trk_transfer),
                                 .guest_addr = guest_addr,
                                 .size_bytes = size_bytes,
                                 .range = note_run,
                                 .context = core};
}

/* A plug-in serves faults of registered pages; which those are the log does not say. */
static enum trk_status enroll(const struct foreign_core *core, uint64_t guest_addr,
                              struct foreign_page *page)
{
    enum trk_status status =
        page->registered || !core_is_trackers_own()
            ? TRK_OK
            : core_live->register_bytes(core->tracker, guest_addr, core->page_bytes);
    page->registered |= status == TRK_OK;
    return status;
}

static enum trk_status put(struct foreign_core *core, uint64_t number, struct foreign_page *page)
{
    uint64_t at = number * core->page_bytes;
    enum trk_status enrolled = enroll(core, at, page);
    if (enrolled != TRK_OK)
        return enrolled;
    struct trk_transfer transfer = transfer_of(core, at, core->page_bytes);
    if (!page->unsettled)
        return TRK_OK;
    enum trk_status status = core_live->unmark_gpu(core->tracker, at, core->page_bytes);
    if (status != TRK_OK)
        return status;
    switch (page->states) {
    case FOREIGN_CPU:
        return core_live->mark_cpu(core->tracker, at, core->page_bytes);
    case FOREIGN_CLEAN:
        return core_live->upload(core->tracker, &transfer);
    case FOREIGN_GPU:
        status = core_live->upload(core->tracker, &transfer);
        return status == TRK_OK ? core_live->mark_gpu(core->tracker, at, core->page_bytes) : status;
    default:
        return TRK_E_CONFLICT;
    }
}

enum trk_status foreign_core_settle(struct foreign_core *core, uint64_t number,
                                    struct foreign_page *page)
{
    core->refused = false;
    foreign_runs_clear(&core->runs);
    enum trk_status status = put(core, number, page);
    return status == TRK_OK && core->refused ? TRK_E_CONFLICT : status;
}

const char *foreign_core_lacks(void)
{
    const char *complaint = trk_core_complaint();
    if (!core_has(TRK_OP_UNMARK_GPU) || !core_has(TRK_OP_MARK_CPU) || !core_has(TRK_OP_MARK_GPU))
        return "the plug-in lacks unmark_gpu, mark_cpu or mark_gpu";
    return complaint != NULL ? complaint : "the plug-in refuses to put pages into their states";
}

bool foreign_core_knows(const struct foreign_operation *operation)
{
    if (!core_has((enum trk_op)operation->op))
        return false;
    return foreign_rules_change(operation)
               ? operation->op != TRK_OP_HLE_WRITE
               : operation->op == TRK_OP_IS_CPU || operation->op == TRK_OP_IS_GPU;
}

static bool same_page(const struct trk_page_view *a, const struct trk_page_view *b)
{
    return a->cpu_dirty == b->cpu_dirty && a->gpu_dirty == b->gpu_dirty &&
           a->host_rights == b->host_rights;
}

/*
 * A tracker's own code serves its faults itself. TRK_E_INCOMPLETE: it does not; TRK_E_CONFLICT: it
 * says that there was nothing to do, and has changed the page.
 */
static enum trk_status serve(struct foreign_core *core, const struct foreign_operation *operation)
{
    uint64_t at = operation->guest_addr;
    struct trk_page_view before = core_live->page(core->tracker, at);
    enum trk_fault_outcome outcome =
        core_live->fault(core->tracker, at, (enum trk_access)operation->access);
    struct trk_page_view after = core_live->page(core->tracker, at);
    if (outcome == TRK_FAULT_RETRY && !same_page(&before, &after))
        return TRK_E_CONFLICT;
    return outcome == TRK_FAULT_UNHANDLED ? TRK_E_INCOMPLETE : TRK_OK;
}

/* Ask the core the same; *answer of a question. */
static enum trk_status ask(struct foreign_core *core, const struct foreign_operation *operation,
                           bool *answer)
{
    struct trk_tracker *tracker = core->tracker;
    uint64_t guest_addr = operation->guest_addr, size_bytes = operation->size_bytes;
    struct trk_transfer transfer = transfer_of(core, guest_addr, size_bytes);
    transfer.written = operation->flags & TRK_OP_FLAG_WRITTEN;
    transfer.clear = operation->flags & TRK_OP_FLAG_CLEAR;
    foreign_runs_clear(&core->runs);
    core->refused = false;
    switch (operation->op) {
    case TRK_OP_IS_CPU:
        return core_live->is_cpu(tracker, guest_addr, size_bytes, answer);
    case TRK_OP_IS_GPU:
        return core_live->is_gpu(tracker, guest_addr, size_bytes, answer);
    case TRK_OP_MARK_CPU:
        return core_live->mark_cpu(tracker, guest_addr, size_bytes);
    case TRK_OP_MARK_GPU:
        return core_live->mark_gpu(tracker, guest_addr, size_bytes);
    case TRK_OP_UNMARK_GPU:
        return core_live->unmark_gpu(tracker, guest_addr, size_bytes);
    case TRK_OP_UNTRACK:
        return core_live->untrack(tracker, guest_addr, size_bytes);
    case TRK_OP_UPLOAD:
        return core_live->upload(tracker, &transfer);
    case TRK_OP_DOWNLOAD:
        return core_live->download(tracker, &transfer);
    case TRK_OP_DRAIN:
        return core_live->drain(tracker, &transfer);
    case TRK_OP_FAULT:
        if (core_is_trackers_own())
            return serve(core, operation);
        if (operation->access == TRK_ACCESS_WRITE)
            return core_live->invalidate(tracker, guest_addr, core->fault_bytes, nothing_to_flush,
                                         core);
        transfer.clear = true;
        return core_live->download(tracker, &transfer);
    default:
        return core_live->invalidate(tracker, guest_addr, size_bytes, nothing_to_flush, core);
    }
}

static void diverge(struct run *run, const struct foreign_ending *ending, const char *recorded,
                    const char *executed)
{
    const struct foreign_operation *operation = ending->operation;
    const struct trk_trace_event *event = ending->event;
    story_set(run, TRK_VERDICT_DIVERGENCE, operation->event, event->stream, event->number);
    story_range(run, operation->guest_addr, operation->size_bytes);
    story_detail(run, "not what the policy does");
    story_text(run, "%s " STORY_SPAN " of foreign tracker %u: recorded %s; the core did %s",
               trk_op_name(operation->op), operation->guest_addr, operation->size_bytes,
               operation->tracker, recorded, executed);
    story_add(run, operation->event, event->stream, "%s " STORY_SPAN, trk_op_name(operation->op),
              operation->guest_addr, operation->size_bytes);
    story_add(run, event->number, event->stream, "recorded: %s", recorded);
    story_add(run, event->number, event->stream, "executed: %s", executed);
    run->report->divergences = 1;
    run->foreign.broken_core = true;
    run->stopped = true;
}

static const char *rights_words(unsigned rights)
{
    return rights & TRK_RIGHT_WRITE ? "stores" : rights & TRK_RIGHT_READ ? "loads" : "nobody";
}

static const char *states_words(unsigned states)
{
    return states == FOREIGN_CPU   ? "the CPU's"
           : states == FOREIGN_GPU ? "the GPU's"
           : states == 0           ? "clean"
                                   : "both sides'";
}

/* Whose a page is, where the log leaves no doubt. */
static void compare_state(struct run *run, const struct foreign_ending *ending,
                          const struct foreign_page *page, const struct trk_page_view *view,
                          uint64_t at)
{
    unsigned its = (view->cpu_dirty ? FOREIGN_CPU : 0) | (view->gpu_dirty ? FOREIGN_GPU : 0);
    unsigned states = page->states == FOREIGN_CLEAN ? 0 : page->states;
    char recorded[96], executed[96];
    if ((page->states & (page->states - 1)) != 0 || its == states)
        return;
    snprintf(recorded, sizeof recorded, "page %#" PRIx64 " is %s", at, states_words(states));
    snprintf(executed, sizeof executed, "say that it is %s", states_words(its));
    diverge(run, ending, recorded, executed);
}

/*
 * What was handed over of a page: all of it, as the interface has it, or what the log has. false:
 * it is another part.
 */
static bool compare_handed(struct run *run, const struct foreign_core *core,
                           const struct foreign_ending *ending, const struct foreign_page *page,
                           uint64_t at)
{
    uint64_t end = at + core->page_bytes;
    uint64_t bytes = foreign_runs_bytes(&core->runs, at, end);
    bool handed = page->handed > ending->operation->event, again = bytes > 0;
    char recorded[96], executed[96];
    if (handed == again && (bytes == 0 || bytes == core->page_bytes ||
                            foreign_runs_agree(&core->runs, ending->handed, at, end)))
        return true;
    snprintf(recorded, sizeof recorded, "page %#" PRIx64 " %shanded over", at,
             handed ? "" : "not ");
    if (handed && again)
        snprintf(executed, sizeof executed, "hand over %" PRIu64 " of its %" PRIu64 " bytes", bytes,
                 core->page_bytes);
    else
        snprintf(executed, sizeof executed, "%shand it over", again ? "" : "not ");
    diverge(run, ending, recorded, executed);
    return false;
}

static bool transfers_noted(const struct run *run, const struct foreign_ending *ending)
{
    const struct foreign_operation *operation = ending->operation;
    bool transfers = operation->op == TRK_OP_UPLOAD || operation->op == TRK_OP_DOWNLOAD ||
                     operation->op == TRK_OP_DRAIN;
    return transfers && run->foreign.trackers[operation->tracker].notes & TRK_NOTES_HANDED;
}

/* What no page of the range shows: bytes that come twice, runs of nothing, and other pages. */
static void compare_runs(struct run *run, struct foreign_core *core,
                         const struct foreign_ending *ending, const struct foreign_range *range)
{
    struct foreign_runs *theirs = ending->handed, *its = &core->runs;
    const struct span below = {0, range->first * core->page_bytes};
    const struct span above = {range->end * core->page_bytes,
                               UINT64_MAX - range->end * core->page_bytes};
    uint64_t at = 0, other = 0;
    char executed[96];
    foreign_runs_sort(its);
    foreign_runs_sort(theirs);
    bool same = foreign_runs_same(its, theirs);
    if (!same && foreign_runs_twice(its, &at) && !foreign_runs_twice(theirs, &other)) {
        snprintf(executed, sizeof executed, "hand %#" PRIx64 " over twice", at);
        diverge(run, ending, "no byte handed over twice", executed);
    } else if (!same && foreign_runs_empty(its, &at) && !foreign_runs_empty(theirs, &other)) {
        snprintf(executed, sizeof executed, "hand over 0 bytes at %#" PRIx64, at);
        diverge(run, ending, "no run without a byte handed over", executed);
    }
    foreign_runs_join(its);
    foreign_runs_join(theirs);
    if (!run->stopped && (foreign_runs_more(its, theirs, below, &at) ||
                          foreign_runs_more(its, theirs, above, &at))) {
        snprintf(executed, sizeof executed, "hand over %#" PRIx64 ", which is outside", at);
        diverge(run, ending, "only pages of the range handed over", executed);
    }
}

/* Whose a page is and what the host lets through of it afterwards. */
static void compare_page(struct run *run, const struct foreign_core *core,
                         const struct foreign_ending *ending, uint64_t number)
{
    const struct foreign_operation *operation = ending->operation;
    unsigned notes = run->foreign.trackers[operation->tracker].notes;
    const struct foreign_page *page =
        foreign_pages_find(&run->foreign.pages, operation->tracker, number);
    uint64_t at = number * core->page_bytes;
    char recorded[96], executed[96];
    if (page == NULL)
        return;
    if (transfers_noted(run, ending) && !core->runs.lost && !ending->handed->lost &&
        !compare_handed(run, core, ending, page, at))
        return;
    struct trk_page_view view = core_live->page(core->tracker, at);
    unsigned rights = view.host_rights & TRK_RIGHTS_RW;
    if (foreign_rules_change(operation) && notes & TRK_NOTES_PROTECTION && page->rights_known &&
        rights != page->rights) {
        snprintf(recorded, sizeof recorded, "page %#" PRIx64 " open to %s", at,
                 rights_words(page->rights));
        snprintf(executed, sizeof executed, "leave it open to %s", rights_words(rights));
        diverge(run, ending, recorded, executed);
    } else {
        compare_state(run, ending, page, &view, at);
    }
}

/* A fault's outcome, or a status, in words. */
static const char *outcome_words(enum trk_status status, bool fault)
{
    if (fault && status == TRK_E_INCOMPLETE)
        return "unhandled";
    return fault && status == TRK_E_CONFLICT ? "retry, which changes nothing, and changed the page"
                                             : trk_status_name(status);
}

/* Whether the operation was refused in words, and its status is another. */
static bool belied(const struct foreign_core *core, enum trk_status status, bool fault)
{
    return core->refused && (status == TRK_OK || (!fault && status != core->refusal));
}

static void diverge_belied(struct run *run, const struct foreign_core *core,
                           const struct foreign_ending *ending, enum trk_status status)
{
    bool fault = ending->operation->op == TRK_OP_FAULT;
    char executed[96];
    snprintf(executed, sizeof executed, "refuse it (%s), and end with %s",
             core->refusal == TRK_OK ? "for nothing" : trk_status_name(core->refusal),
             fault && status == TRK_OK ? "served" : outcome_words(status, fault));
    diverge(run, ending,
            fault ? "served" : trk_status_name((enum trk_status)ending->event->event.flags),
            executed);
}

/* Run again, it came to the same end. */
static void compare_pages(struct run *run, struct foreign_core *core,
                          const struct foreign_ending *ending, const struct foreign_range *range)
{
    if (transfers_noted(run, ending) && !core->runs.lost && !ending->handed->lost)
        compare_runs(run, core, ending, range);
    for (uint64_t i = range->first; i < range->end && !run->stopped; i++)
        compare_page(run, core, ending, i);
    if (!run->stopped && belied(core, TRK_OK, false))
        diverge_belied(run, core, ending, TRK_OK); /* asked how its pages are */
}

void foreign_core_run(struct run *run, struct foreign_core *core,
                      const struct foreign_ending *ending, const struct foreign_range *range)
{
    const struct trk_event *event = &ending->event->event;
    bool fault = ending->operation->op == TRK_OP_FAULT;
    bool question =
        ending->operation->op == TRK_OP_IS_CPU || ending->operation->op == TRK_OP_IS_GPU;
    bool answer = false;
    if (fault && event->argument != TRK_FAULT_SERVED)
        return; /* it has changed nothing */
    run->foreign.core.judged++;
    enum trk_status status = ask(core, ending->operation, &answer);
    enum trk_status recorded = fault ? TRK_OK : (enum trk_status)event->flags;
    core_progress();
    if (status == TRK_E_MEMORY || trk_core_misused()) {
        run->failure = status != TRK_OK ? status : TRK_E_UNSUPPORTED;
    } else if (status != recorded) {
        diverge(run, ending, fault ? "served" : trk_status_name(recorded),
                outcome_words(status, fault));
    } else if (belied(core, status, fault)) {
        diverge_belied(run, core, ending, status);
    } else if (question && status == TRK_OK && answer != (event->argument != 0)) {
        diverge(run, ending, answer ? "no" : "yes", answer ? "say yes" : "say no");
    } else if (status == TRK_OK) {
        compare_pages(run, core, ending, range);
    }
}
