/*
 * The life of a run: what it needs is made before its first operation, so that schedules differ in
 * what they do and not in where things lie.
 */
#include <stdio.h>
#include <string.h>

#include "scenario_run.h"
#include "track/sim_build.h"

/* Pages of memory that are ready from the start; more get ready when they are written. */
#define READY_PAGES 256u

/* ---- where operations begin and end ---------------------------------------------------------- */

static void cut(bool *cuts, uint64_t guest_addr, uint64_t size_bytes)
{
    cuts[guest_addr % FRAME_BYTES] = true;
    cuts[(guest_addr + size_bytes) % FRAME_BYTES] = true;
}

static void cut_ops(bool *cuts, const struct scenario_op *ops, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        cut(cuts, ops[i].guest_addr, ops[i].size_bytes);
        cut_ops(cuts, ops[i].nested, ops[i].nested_count);
    }
}

static bool cells_init(struct scenario_run *run)
{
    bool cuts[FRAME_BYTES] = {false};
    for (uint32_t i = 0; i < run->thread_count; i++)
        cut_ops(cuts, run->threads[i].text->ops, run->threads[i].text->op_count);
    return oracle_cut(&run->oracle, &run->fixed, cuts);
}

/* ---- tables by name -------------------------------------------------------------------------- */

static bool tables_init(struct scenario_run *run)
{
    size_t names = run->scenario->name_count + 1;
    run->events = scenario_pool_take(&run->pool, names * sizeof *run->events);
    run->mutexes = scenario_pool_take(&run->pool, names * sizeof *run->mutexes);
    run->generations = scenario_pool_take(&run->pool, names * sizeof *run->generations);
    if (run->events == NULL || run->mutexes == NULL || run->generations == NULL)
        return false;
    for (uint32_t i = 0; i < run->scenario->name_count; i++) {
        run->mutexes[i].owner = SCENARIO_NONE;
        run->events[i].clock = oracle_clock_new(&run->oracle);
        run->mutexes[i].clock = oracle_clock_new(&run->oracle);
    }
    return !run->oracle.no_memory;
}

static bool threads_init(struct scenario_run *run)
{
    const struct trk_scenario *scenario = run->scenario;
    run->thread_count = scenario->thread_count;
    run->threads = scenario_pool_take(&run->pool, run->thread_count * sizeof *run->threads);
    if (run->threads == NULL ||
        !oracle_init(&run->oracle, &run->pool, run->thread_count, scenario->policy.line_bytes))
        return false;
    for (uint32_t i = 0; i < run->thread_count; i++) {
        struct run_thread *thread = &run->threads[i];
        thread->run = run;
        thread->index = i;
        thread->text = &scenario->threads[i];
        thread->core.thread.id = i + 1;
        oracle_thread_pool(&run->oracle, i, &thread->pool);
        /* A block each now: one that is made later lies wherever there is room then. */
        if (scenario_pool_take(&thread->pool, 1) == NULL ||
            scenario_pool_take(&thread->scratch, 1) == NULL)
            return false;
        if (coroutine_create(&thread->coroutine, run_thread_body, thread) != TRK_OK)
            return false;
    }
    return true;
}

/* One schedule alone needs no list, so a program that reaches far can do without. */
static bool reach_init(struct scenario_run *run)
{
    run->reach = scenario_pool_take(&run->fixed, SCENARIO_REACH_MOST * sizeof *run->reach);
    if (run->reach != NULL && !scenario_reach(run->scenario, run->reach, &run->reach_count))
        run->reach_count = 0;
    return run->reach != NULL;
}

static bool memory_init(struct scenario_run *run)
{
    if (!world_init(&run->world, &run->pool, &run->pages, run->scenario))
        return false;
    run->oracle.pool = &run->pages;
    uint32_t ready = 0;
    for (uint32_t i = 0; i < run->world.entry_count; i++) {
        struct world_entry *entry = &run->world.entries[i];
        for (uint32_t page = 0; page < entry->page_count && ready < READY_PAGES; page++, ready++)
            if (entry->pages[page].frame != NULL)
                oracle_frame_touch(&run->oracle, entry->pages[page].frame);
    }
    run->touched = touched_create(&run->pages);
    run->world.touched = run->oracle.touched = run->touched;
    run->world.pool = run->oracle.pool = &run->pool;
    return run->touched != NULL && !run->oracle.no_memory;
}

/* ---- a run ----------------------------------------------------------------------------------- */

enum trk_status run_begin(struct scenario_run *run, const struct trk_scenario *scenario,
                          struct trk_scenario_report *report)
{
    *run = (struct scenario_run){.scenario = scenario, .report = report};
    if (!threads_init(run) || !cells_init(run) || !tables_init(run) || !reach_init(run) ||
        !memory_init(run))
        return TRK_E_MEMORY;
    host_init(run);
    struct trk_tracker_options options = trk_tracker_options_default();
    options.policy = scenario->policy.core;
    options.backend = &run->backend;
    options.observer = (struct trk_observer){host_observe, NULL, run};
    options.failure = host_failure;
    options.failure_context = run;
    enum trk_status status = core_sim->create(&run->tracker, &options, NULL);
    if (status != TRK_OK)
        return status;
    return core_insides->ready(run->tracker) ? space_init(run) : TRK_E_MEMORY;
}

enum trk_status run_renew(struct scenario_run *run, bool abandon)
{
    enum trk_status status = core_renew(run->tracker, abandon);
    return status == TRK_OK ? space_init(run) : status;
}

bool run_inside(const struct scenario_run *run)
{
    for (uint32_t i = 0; run->threads != NULL && i < run->thread_count; i++)
        if (run->threads[i].core_depth > 0)
            return true;
    return false;
}

void run_end(struct scenario_run *run)
{
    run->stopped = true; /* what is said from here on is nobody's */
    if (run->tracker != NULL && run_inside(run))
        core_abandon(run->tracker);
    for (uint32_t i = 0; run->threads != NULL && i < run->thread_count; i++) {
        coroutine_destroy(run->threads[i].coroutine);
        scenario_pool_deinit(&run->threads[i].pool);
        scenario_pool_deinit(&run->threads[i].scratch);
    }
    core_sim->destroy(run->tracker);
    touched_destroy(run->touched);
    scenario_pool_deinit(&run->pages);
    scenario_pool_deinit(&run->pool);
    scenario_pool_deinit(&run->fixed);
}
