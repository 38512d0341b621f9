/*
 * A foreign tracker's operations, run again on a core with the policy that it follows.
 */
#include "foreign_core_inside.h"

#include <stdlib.h>

#include "core_apart.h"
#include "simulator/core.h"
#include "track/pages.h"

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
    if (core->stuck)
        core_abandon(core->tracker);
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

struct putting {
    struct foreign_core *core;
    uint64_t number;
    struct foreign_page *page;
    enum trk_status status;
};

static void put_apart(void *context)
{
    struct putting *putting = context;
    putting->status = put(putting->core, putting->number, putting->page);
}

/* A tracker's own code may wait for itself. */
static enum trk_status enter(struct foreign_core *core, core_apart_fn *call, void *context)
{
    enum trk_status status = TRK_OK;
    if (core_is_trackers_own())
        status = core_apart(call, context);
    else
        call(context);
    core->stuck |= status == TRK_E_LOCK;
    return status;
}

enum trk_status foreign_core_settle(struct foreign_core *core, uint64_t number,
                                    struct foreign_page *page)
{
    struct putting putting = {.core = core, .number = number, .page = page};
    core->refused = false;
    foreign_runs_clear(&core->runs);
    enum trk_status status = enter(core, put_apart, &putting);
    if (status == TRK_OK)
        status = putting.status;
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

struct asking {
    struct foreign_core *core;
    const struct foreign_operation *operation;
    bool answer;
    enum trk_status status;
};

static void ask_apart(void *context)
{
    struct asking *asking = context;
    asking->status = ask(asking->core, asking->operation, &asking->answer);
}

bool foreign_core_stuck(struct run *run, const struct foreign_core *core,
                        const struct foreign_ending *ending)
{
    if (core->stuck)
        foreign_core_deadlock(run, ending);
    return core->stuck;
}

void foreign_core_run(struct run *run, struct foreign_core *core,
                      const struct foreign_ending *ending, const struct foreign_range *range)
{
    const struct trk_event *event = &ending->event->event;
    bool fault = ending->operation->op == TRK_OP_FAULT;
    bool question =
        ending->operation->op == TRK_OP_IS_CPU || ending->operation->op == TRK_OP_IS_GPU;
    struct asking asking = {.core = core, .operation = ending->operation};
    if (fault && event->argument != TRK_FAULT_SERVED)
        return; /* it has changed nothing */
    run->foreign.core.judged++;
    enum trk_status status = enter(core, ask_apart, &asking);
    if (foreign_core_stuck(run, core, ending))
        return;
    if (status == TRK_OK)
        status = asking.status;
    enum trk_status recorded = fault ? TRK_OK : (enum trk_status)event->flags;
    core_progress();
    if (status == TRK_E_MEMORY || trk_core_misused()) {
        run->failure = status != TRK_OK ? status : TRK_E_UNSUPPORTED;
    } else if (status != recorded) {
        foreign_core_diverge(run, ending, fault ? "served" : trk_status_name(recorded),
                             foreign_core_outcome(status, fault));
    } else if (foreign_core_belied(core, status, fault)) {
        foreign_core_diverge_belied(run, core, ending, status);
    } else if (question && status == TRK_OK && asking.answer != (event->argument != 0)) {
        foreign_core_diverge(run, ending, asking.answer ? "no" : "yes",
                             asking.answer ? "say yes" : "say no");
    } else if (status == TRK_OK) {
        foreign_core_compare(run, core, ending, range);
    }
}
