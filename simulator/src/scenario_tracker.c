/*
 * Verbs that ask the tracker and its page manager.
 *
 * Rules: scenario-format, Tracker and fine print 9.
 */
#include "core_design.h"
#include "scenario_run.h"

void verb_query(struct doing *doing)
{
    const struct scenario_op *op = doing->op;
    struct trk_tracker *tracker = doing_run(doing)->tracker;
    bool answer = false;
    enum trk_status status =
        op->verb == VERB_IS_CPU
            ? core_sim->is_cpu(tracker, op->guest_addr, op->size_bytes, &answer)
            : core_sim->is_gpu(tracker, op->guest_addr, op->size_bytes, &answer);
    doing->found.has_number = status == TRK_OK;
    doing->found.number = answer;
}

/* Bytes that only the GPU's copy has are dropped with the pages' tracking. */
static void untrack_loses(struct doing *doing)
{
    struct scenario_run *run = doing_run(doing);
    const struct scenario_op *op = doing->op;
    uint64_t page = run_page_bytes(run);
    uint64_t first = op->guest_addr & ~(page - 1);
    uint64_t last = (op->guest_addr + op->size_bytes - 1) | (page - 1);
    struct world_walk walk = world_walk(&run->world, first, last - first + 1);
    while (world_next_mapped(&walk)) {
        struct oracle_finding finding = oracle_gpu_newer(&run->oracle, walk.part);
        uint64_t guest_addr = walk.guest_addr - walk.part.first + finding.offset;
        if (finding.found)
            run_stop(doing, "lost-gpu-write", guest_addr,
                     "the GPU's newer bytes at 0x%llx are not tracked any more",
                     (unsigned long long)guest_addr);
    }
}

void verb_mark(struct doing *doing)
{
    const struct scenario_op *op = doing->op;
    struct trk_tracker *tracker = doing_run(doing)->tracker;
    switch (op->verb) {
    case VERB_MARK_CPU:
        run_status(doing, core_sim->mark_cpu(tracker, op->guest_addr, op->size_bytes));
        break;
    case VERB_MARK_GPU:
        run_status(doing, core_sim->mark_gpu(tracker, op->guest_addr, op->size_bytes));
        break;
    case VERB_UNMARK_GPU:
        run_status(doing, core_sim->unmark_gpu(tracker, op->guest_addr, op->size_bytes));
        break;
    default:
        if (core_sim->untrack(tracker, op->guest_addr, op->size_bytes) == TRK_OK)
            untrack_loses(doing);
        break;
    }
}

/* Whether a client has taken the watch that the tracker itself has on pages that are not the CPU's.
 */
static void note_taken(const struct doing *doing, uint64_t guest_addr, uint64_t size_bytes)
{
    struct scenario_run *run = doing_run(doing);
    uint64_t page_bytes = run_page_bytes(run), end = guest_addr + size_bytes;
    if (!core_design_asked() || doing->found.failure != TRK_OK)
        return;
    for (uint64_t at = guest_addr & ~(page_bytes - 1); at < end; at += page_bytes) {
        struct trk_page_view view = core_sim->page(run->tracker, at);
        if (view.write_watches == 0 && !view.cpu_dirty)
            core_design_needs(CORE_DESIGN_COUNTS);
    }
}

void verb_watch(struct doing *doing)
{
    const struct scenario_op *op = doing->op;
    struct trk_tracker *tracker = doing_run(doing)->tracker;
    if (op->verb == VERB_WATCH)
        run_status(doing, core_sim->watch(tracker, op->guest_addr, op->size_bytes));
    else
        run_status(doing, core_sim->unwatch(tracker, op->guest_addr, op->size_bytes));
    if (op->verb == VERB_UNWATCH)
        note_taken(doing, op->guest_addr, op->size_bytes);
}

void verb_watch_mask(struct doing *doing)
{
    const struct scenario_op *op = doing->op;
    struct trk_tracker *tracker = doing_run(doing)->tracker;
    if (op->verb == VERB_WATCH_MASK)
        run_status(doing, core_sim->watch_mask(tracker, op->guest_addr, op->mask, op->read_watch));
    else
        run_status(doing,
                   core_sim->unwatch_mask(tracker, op->guest_addr, op->mask, op->read_watch));
    if (op->verb == VERB_UNWATCH_MASK)
        note_taken(doing, op->guest_addr, TRK_REGION_BYTES);
}

void verb_calls(struct doing *doing)
{
    struct run_thread *thread = doing->thread;
    for (size_t i = 0; i < thread->calls.count; i++)
        run_span_scratch(thread, &doing->found.spans, thread->calls.spans[i]);
    doing->found.has_number = true;
    doing->found.number = thread->calls.count;
    run_span_clear(&thread->calls);
}

void verb_host_protect(struct doing *doing)
{
    const struct scenario_op *op = doing->op;
    uint64_t first = op->guest_addr & ~(SCENARIO_PAGE_BYTES - 1);
    uint64_t last = (op->guest_addr + op->size_bytes - 1) | (SCENARIO_PAGE_BYTES - 1);
    /* Whoever calls the host by hand looks at no result either. */
    (void)host_call(doing_run(doing), first, last - first + 1, op->rights);
}
