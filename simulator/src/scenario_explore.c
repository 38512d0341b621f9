/*
 * Every schedule of a scenario: the run as a program for the engines.
 *
 * What a step touches is noted where it happens (footprint.h). Beside that a thread's place says
 * what the step had to wait for; a thread that stands back and runs because nobody else can goes
 * behind everything, and so does the step that breaks a rule, since nothing comes behind it.
 */
#include <stdlib.h>
#include <string.h>

#include "engine.h"
#include "engine_graph.h"
#include "footprint.h"
#include "scenario_schedule.h"
#include "track/sim_build.h"

struct explorer {
    struct driver *driver;
    const struct schedule_request *request;
    struct footprint_table table;
    struct engine_program program;
};

/* A state that is kept: the engine's slot. */
struct kept {
    struct snapshot snapshot;
    size_t path_count;
};

static struct scenario_run *run_of(void *context)
{
    return ((struct explorer *)context)->driver->run;
}

/* Threads of a program are numbered from 0, of a run from 1. */
static struct run_thread *thread_of(void *context, uint32_t thread)
{
    return &run_of(context)->threads[thread + 1];
}

static enum engine_phase phase(void *context)
{
    const struct explorer *explorer = context;
    const struct scenario_run *run = run_of(context);
    if (run->stopped || run_trouble(run) != TRK_OK)
        return ENGINE_BROKEN;
    return driver_done(explorer->driver) ? ENGINE_ENDED : ENGINE_GOING;
}

static uint32_t enabled(void *context, uint8_t *threads)
{
    const struct driver *driver = ((struct explorer *)context)->driver;
    uint32_t can[TRK_SCENARIO_THREADS];
    uint32_t count = driver_enabled(driver, can);
    if (count == 0)
        return 0;
    /* The usual thread goes first: schedules with few changes of threads are seen first. */
    uint32_t usual = driver_usual(driver, can, count), place = 1;
    threads[0] = (uint8_t)(usual - 1);
    for (uint32_t i = 0; i < count; i++)
        if (can[i] != usual)
            threads[place++] = (uint8_t)(can[i] - 1);
    return count;
}

/* What the thread's next step had to wait for, among objects. */
static void note_need(const struct run_thread *thread)
{
    uint32_t region, kind;
    switch (thread->wait) {
    case WAIT_LOCK:
        kind = core_insides->lock_kind(thread->run->tracker, thread->wait_lock, &region);
        footprint_needs(NEED_LOCK, OBJECT_LOCK, run_lock_name(kind, region));
        break;
    case WAIT_MUTEX:
        footprint_needs(NEED_LOCK, OBJECT_MUTEX, thread->wait_for);
        break;
    case WAIT_EVENT:
        footprint_needs(NEED_OPENED, OBJECT_EVENT, thread->wait_for);
        break;
    case WAIT_CHANGE:
        footprint_needs(NEED_CHANGE, OBJECT_CHANGE, thread->index);
        footprint_writes(OBJECT_CHANGE, thread->index);
        break;
    default:
        break;
    }
}

static void step(void *context, uint32_t thread, bool usual, struct footprint *footprint)
{
    struct explorer *explorer = context;
    const struct run_thread *its = thread_of(context, thread);
    footprint_notes = (struct footprint_notes){footprint, &explorer->table};
    if (footprint != NULL) {
        footprint->all = !run_can(its); /* it stands back, and nobody else can run */
        note_need(its);
    }
    driver_step(explorer->driver, thread + 1, usual);
    footprint_notes.footprint = NULL;
    if (footprint != NULL)
        footprint->stops = phase(context) == ENGINE_BROKEN;
    explorer->program.words = footprint_words(&explorer->table);
}

static void deadlock(void *context)
{
    const struct driver *driver = ((struct explorer *)context)->driver;
    run_deadlock(driver->run, 1, driver->end);
}

static bool waits(void *context, uint32_t thread, struct footprint *footprint)
{
    struct explorer *explorer = context;
    const struct run_thread *its = thread_of(context, thread);
    if (its->done || (its->wait != WAIT_LOCK && its->wait != WAIT_MUTEX))
        return false;
    footprint_notes = (struct footprint_notes){footprint, &explorer->table};
    note_need(its);
    footprint_notes.footprint = NULL;
    footprint_bit(footprint->write, footprint->need_bit);
    explorer->program.words = footprint_words(&explorer->table);
    return true;
}

static bool save(void *context, void *slot)
{
    struct kept *kept = slot;
    const struct driver *driver = ((struct explorer *)context)->driver;
    snapshot_save_state(&kept->snapshot, driver->run);
    kept->path_count = driver->path.count;
    if (((struct explorer *)context)->request->stacks)
        snapshot_save_stacks(&kept->snapshot, driver->run);
    return !kept->snapshot.no_memory;
}

static bool keep(void *context, void *slot)
{
    struct kept *kept = slot;
    const struct explorer *explorer = context;
    if (!explorer->request->stacks)
        snapshot_save_stacks(&kept->snapshot, explorer->driver->run);
    return !kept->snapshot.no_memory;
}

static uint64_t hash(void *context, const void *slot)
{
    const struct kept *kept = slot;
    return snapshot_hash(&kept->snapshot, ((struct explorer *)context)->request->stacks);
}

static void restore(void *context, const void *slot)
{
    const struct kept *kept = slot;
    driver_back(((struct explorer *)context)->driver, kept->path_count, &kept->snapshot);
}

static void drop(void *context, void *slot)
{
    (void)context;
    snapshot_deinit(&((struct kept *)slot)->snapshot);
}

static enum trk_status end(void *context, uint32_t *came)
{
    const struct explorer *explorer = context;
    struct driver *driver = explorer->driver;
    enum trk_status status = driver_finish(driver);
    if (came != NULL)
        *came = driver->tally->came;
    /* Two things to wait for would look like one: no class is sure any more. */
    return status == TRK_OK && explorer->table.full ? TRK_E_UNSUPPORTED : status;
}

static struct engine_program program_of(struct explorer *explorer)
{
    return (struct engine_program){
        .context = explorer,
        .threads = explorer->driver->end - 1,
        .words = 1,
        .state_bytes = sizeof(struct kept),
        .phase = phase,
        .enabled = enabled,
        .step = step,
        .deadlock = deadlock,
        .waits = waits,
        .save = save,
        .keep = keep,
        .hash = hash,
        .restore = restore,
        .drop = drop,
        .end = end,
    };
}

/* Run the simplest schedule of each outcome, where it is simpler than those that were met. */
static enum trk_status run_simplest(struct explorer *explorer, struct engine_graph *graph)
{
    struct driver *driver = explorer->driver;
    struct engine_way ways[ENGINE_GRAPH_CAME];
    enum trk_status status = TRK_OK;
    /* Where nothing broke the usual schedule, which came first, is as good as any. */
    if (driver->tally->seen == UINT32_C(1) << scenario_verdict_number("ok"))
        return TRK_OK;
    if (!engine_graph_ways(graph, driver->end - 1, ways))
        return TRK_OK; /* what was met will do */
    uint64_t schedules = driver->tally->schedules;
    struct trk_scenario_report counted = *driver->run->report;
    for (uint32_t came = 0; came < ENGINE_GRAPH_CAME; came++) {
        const struct engine_way *way = &ways[came];
        if (status == TRK_OK && way->there &&
            tally_cheaper(driver->tally, came, (uint64_t)way->preemptions << 32 | way->steps))
            status = driver_follow(driver, way->choices, way->count);
        free(way->choices);
    }
    driver->tally->schedules = schedules;
    *driver->run->report = counted;
    return status;
}

#define SHARE_RUNS 200u

/* About which part of all schedules is not ok; what those tried here come to counts nowhere. */
static enum trk_status estimate(const struct engine_program *program, struct driver *driver,
                                uint32_t *percent)
{
    struct tally scratch, *tally = driver->tally;
    struct trk_scenario_report counted = *driver->run->report;
    enum trk_status status = tally_init(&scratch, driver->run->scenario);
    if (status != TRK_OK)
        return status;
    driver->tally = &scratch;
    driver_back(driver, 0, NULL);
    uint64_t fine = UINT64_C(1) << 2 * scenario_verdict_number("ok");
    status = engine_share(program, SHARE_RUNS, fine, percent);
    driver->tally = tally;
    *driver->run->report = counted;
    tally_deinit(&scratch);
    return status;
}

/* By classes where that is asked for and there is room for what threads wait for. */
static enum trk_status search(struct explorer *explorer, const struct engine_limits *limits,
                              bool *dpor, struct engine_result *result)
{
    const struct engine_program *program = &explorer->program;
    *dpor = explorer->request->dpor;
    if (*dpor) {
        enum trk_status status = engine_dpor(program, limits, result);
        if (!explorer->table.full)
            return status;
        *dpor = explorer->table.full = false;
        driver_back(explorer->driver, 0, NULL);
    }
    return engine_hashed(program, limits, result);
}

static enum trk_status explore(struct explorer *explorer, struct explored *explored)
{
    const struct schedule_request *request = explorer->request;
    struct driver *driver = explorer->driver;
    struct engine_graph graph = {0};
    struct engine_limits limits = {
        .most = request->most, .leave = request->leave, .plain = request->plain, .graph = &graph};
    struct engine_result result = {0};
    bool dpor;
    explorer->program = program_of(explorer);
    enum trk_status status = search(explorer, &limits, &dpor, &result);
    /* Estimates run on, and what they come to is nobody's. */
    tally_begin(driver->run->report);
    driver->tally->covered_percent = result.covered_percent;
    driver->tally->covered_how = dpor ? "of the tree of choices, by its branches (Knuth)"
                                      : "of the states that 200 random schedules come by "
                                        "(capture and recapture)";
    driver->tally->schedules = result.schedules;
    uint32_t failing_percent = 0;
    if (status == TRK_OK && result.stopped_early && !result.left)
        status = estimate(&explorer->program, driver, &failing_percent);
    bool counted = !dpor && !result.stopped_early && engine_graph_counts(&graph, explored->came);
    if (status == TRK_OK)
        status = run_simplest(explorer, &graph);
    engine_graph_deinit(&graph);
    driver->tally->stopped_early = result.stopped_early;
    explored->interleavings = result.interleavings;
    explored->states = result.states;
    explored->classes = dpor && !result.stopped_early ? result.schedules : 0;
    explored->fell_back = request->dpor && !dpor;
    explored->counted = counted;
    explored->failing_percent = failing_percent;
    return status;
}

/*
 * What the core allows: by states only where they can be told, by classes only where what its steps
 * touch is known. That is so of one that is entered by one thread at a time, as its steps are then.
 */
static struct schedule_request allowed(const struct schedule_request *request)
{
    struct schedule_request out = *request;
    if (!core_ways.returns)
        out.dpor = !core_ways.inside && (request->dpor || !core_ways.knows);
    out.plain |= !core_ways.knows && !out.dpor;
    return out;
}

enum trk_status schedule_explore(struct driver *driver, const struct schedule_request *asked,
                                 struct explored *explored)
{
    const struct schedule_request request = allowed(asked);
    struct explorer *explorer = calloc(1, sizeof *explorer);
    *explored = (struct explored){0};
    if (explorer == NULL)
        return TRK_E_MEMORY;
    explorer->driver = driver;
    explorer->request = &request;
    enum trk_status status = driver_prime(driver);
    if (status == TRK_OK)
        status = explore(explorer, explored);
    free(explorer);
    return status;
}

enum trk_status schedule_rest(struct driver *driver, uint64_t most, bool *stopped_early)
{
    const struct schedule_request request = {.most = most};
    const struct engine_limits limits = {.most = most, .plain = !core_ways.knows};
    struct engine_result result = {0};
    struct explorer *explorer = calloc(1, sizeof *explorer);
    if (explorer == NULL)
        return TRK_E_MEMORY;
    explorer->driver = driver;
    explorer->request = &request;
    explorer->program = program_of(explorer);
    enum trk_status status = engine_hashed(&explorer->program, &limits, &result);
    *stopped_early = result.stopped_early;
    free(explorer);
    return status;
}
