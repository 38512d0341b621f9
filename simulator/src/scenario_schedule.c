/*
 * Running a scenario: the schedule that the file asks for.
 *
 * Rules: scenario-format, Schedules and fine print 17.
 */
#include "scenario_schedule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCHEDULES_MOST UINT64_C(1000000) /* exploring stops there */

/* ---- steps ----------------------------------------------------------------------------------- */

static void path_add(struct driver *driver, uint32_t thread)
{
    struct path *path = &driver->path;
    if (path->count == path->capacity) {
        size_t capacity = path->capacity == 0 ? 256 : path->capacity * 2;
        uint8_t *threads = realloc(path->threads, capacity);
        driver->run->no_memory |= threads == NULL;
        if (threads == NULL)
            return;
        path->threads = threads;
        path->capacity = capacity;
    }
    path->threads[path->count++] = (uint8_t)thread;
}

void driver_step(struct driver *driver, uint32_t thread)
{
    path_add(driver, thread);
    coroutine_clean(driver->run->threads[thread].coroutine);
    run_resume(&driver->run->threads[thread]);
}

uint32_t driver_enabled(const struct driver *driver, uint32_t *threads)
{
    const struct scenario_run *run = driver->run;
    uint32_t count = 0;
    for (uint32_t i = 1; i < driver->end; i++)
        if (run_can(&run->threads[i]))
            threads[count++] = i;
    for (uint32_t i = 1; count == 0 && i < driver->end; i++)
        if (!run->threads[i].done && run->threads[i].wait == WAIT_CHANGE)
            threads[count++] = i;
    return count;
}

bool driver_done(const struct driver *driver)
{
    for (uint32_t i = 1; i < driver->end; i++)
        if (!driver->run->threads[i].done)
            return false;
    return true;
}

void driver_prime(struct driver *driver)
{
    driver->run->stepping = true;
    driver->path.count = 0;
    for (uint32_t i = 1; i < driver->end; i++) {
        coroutine_clean(driver->run->threads[i].coroutine);
        run_resume(&driver->run->threads[i]);
    }
}

enum trk_status driver_finish(struct driver *driver)
{
    struct scenario_run *run = driver->run;
    enum trk_status status = run_trouble(run);
    if (status == TRK_OK && !run->stopped)
        status = run_last(run);
    if (status == TRK_OK)
        tally_add(driver->tally, run, &driver->path);
    return status;
}

/* ---- in order, and lists --------------------------------------------------------------------- */

/* The first that can run, to its end or until it blocks, and so on. */
static enum trk_status in_order(struct driver *driver)
{
    struct scenario_run *run = driver->run;
    uint32_t enabled[TRK_SCENARIO_THREADS];
    run->stepping = false;
    while (!run->stopped && run_trouble(run) == TRK_OK && !driver_done(driver)) {
        if (driver_enabled(driver, enabled) == 0)
            run_deadlock(run, 1, driver->end);
        else
            driver_step(driver, enabled[0]);
    }
    return driver_finish(driver);
}

static bool stands_at(const struct run_thread *thread, const char *label)
{
    return thread->before != NULL && thread->before->label != NULL &&
           strcmp(thread->before->label, label) == 0;
}

static bool may_run(const struct driver *driver, uint32_t thread)
{
    uint32_t enabled[TRK_SCENARIO_THREADS];
    uint32_t count = driver_enabled(driver, enabled);
    for (uint32_t i = 0; i < count; i++)
        if (enabled[i] == thread)
            return true;
    return false;
}

static enum trk_status list(struct driver *driver)
{
    struct scenario_run *run = driver->run;
    const struct scenario_schedule *schedule = &run->scenario->schedule;
    driver_prime(driver);
    for (uint32_t i = 0; i < schedule->step_count; i++) {
        const struct scenario_step *step = &schedule->steps[i];
        const struct run_thread *thread = &run->threads[step->thread];
        bool one = step->label == NULL;
        while (!run->stopped && run_trouble(run) == TRK_OK && may_run(driver, step->thread) &&
               (one || !stands_at(thread, step->label))) {
            driver_step(driver, step->thread);
            if (one)
                break;
        }
    }
    return in_order(driver);
}

/* ---- random ---------------------------------------------------------------------------------- */

/* splitmix64: a state is enough, and every seed will do. */
static uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* A number below a small bound, all alike but for less than one in 2^57. */
static uint32_t random_below(uint64_t *state, uint64_t bound)
{
    return (uint32_t)((unsigned __int128)random_next(state) * bound >> 64);
}

/* A seed of its own for each run. */
static uint64_t random_seed(uint64_t seed, uint64_t number)
{
    uint64_t state = seed ^ number * UINT64_C(0xd1342543de82ef95);
    return random_next(&state);
}

/* Priorities of a PCT run: the highest that can run does; at some steps the runner falls behind. */
struct priorities {
    bool on;
    uint64_t of[TRK_SCENARIO_THREADS + 1];
    uint64_t falls[64]; /* numbers of steps */
    uint32_t fall_count;
};

#define PCT_DEPTH_MOST 64u

static void priorities_init(struct priorities *priorities, const struct driver *driver,
                            uint64_t steps, uint64_t *state)
{
    uint64_t depth = driver->run->scenario->schedule.depth;
    priorities->on = true;
    priorities->fall_count = (uint32_t)((depth > PCT_DEPTH_MOST ? PCT_DEPTH_MOST : depth) - 1);
    for (uint32_t i = 1; i < driver->end; i++)
        priorities->of[i] = PCT_DEPTH_MOST + i;
    for (uint32_t i = driver->end - 1; i > 1; i--) {
        uint32_t other = 1 + random_below(state, i);
        uint64_t swapped = priorities->of[i];
        priorities->of[i] = priorities->of[other];
        priorities->of[other] = swapped;
    }
    for (uint32_t i = 0; i < priorities->fall_count; i++)
        priorities->falls[i] = random_below(state, steps);
}

static uint32_t highest(struct priorities *priorities, const uint32_t *enabled, uint32_t count,
                        uint64_t choice)
{
    uint32_t best = enabled[0];
    for (uint32_t i = 1; i < count; i++)
        if (priorities->of[enabled[i]] > priorities->of[best])
            best = enabled[i];
    for (uint32_t i = 0; i < priorities->fall_count; i++)
        if (priorities->falls[i] == choice)
            priorities->of[best] = priorities->fall_count - i - 1;
    return best;
}

/* One schedule; gives the number of its choices. */
static enum trk_status random_run(struct driver *driver, struct priorities *priorities,
                                  uint64_t *state, uint64_t *choices)
{
    struct scenario_run *run = driver->run;
    uint32_t enabled[TRK_SCENARIO_THREADS];
    *choices = 0;
    while (!run->stopped && run_trouble(run) == TRK_OK && !driver_done(driver)) {
        uint32_t count = driver_enabled(driver, enabled);
        if (count == 0) {
            run_deadlock(run, 1, driver->end);
            break;
        }
        uint32_t chosen = enabled[0];
        if (count > 1 && priorities->on)
            chosen = highest(priorities, enabled, count, *choices);
        else if (count > 1)
            chosen = enabled[random_below(state, count)];
        *choices += count > 1;
        driver_step(driver, chosen);
    }
    return driver_finish(driver);
}

static enum trk_status random_runs(struct driver *driver)
{
    const struct scenario_schedule *schedule = &driver->run->scenario->schedule;
    struct snapshot start = {0};
    enum trk_status status = TRK_OK;
    uint64_t choices = 0;
    driver_prime(driver);
    snapshot_save(&start, driver->run);
    for (uint64_t i = 0; status == TRK_OK && i < schedule->runs; i++) {
        uint64_t state = random_seed(schedule->seed, i);
        struct priorities priorities = {0};
        if (i > 0)
            snapshot_restore(&start, driver->run);
        driver->path.count = 0;
        if (schedule->kind == SCHEDULE_PCT)
            priorities_init(&priorities, driver, choices > 0 ? choices : 1, &state);
        status = random_run(driver, &priorities, &state, &choices);
    }
    if (start.no_memory)
        status = TRK_E_MEMORY;
    snapshot_deinit(&start);
    return status;
}

/* ---- a scenario ------------------------------------------------------------------------------ */

static enum trk_status drive(struct driver *driver, struct trk_scenario_report *report)
{
    schedule_count total = 0;
    enum trk_status status = TRK_OK;
    switch (driver->run->scenario->schedule.kind) {
    case SCHEDULE_LIST:
        return list(driver);
    case SCHEDULE_RANDOM:
    case SCHEDULE_PCT:
        return random_runs(driver);
    case SCHEDULE_EXPLORE:
        status = schedule_explore(driver, SCHEDULES_MOST, &total);
        if (total != 0)
            schedule_count_text(total, report->interleavings, sizeof report->interleavings);
        return status;
    default:
        return in_order(driver);
    }
}

static enum trk_status run_all(struct scenario_run *run, struct tally *tally,
                               struct trk_scenario_report *report)
{
    struct driver driver = {.run = run, .tally = tally, .end = run->thread_count - 1};
    enum trk_status status = run_first(run);
    if (status == TRK_OK && !run->stopped)
        status = drive(&driver, report);
    else if (status == TRK_OK)
        tally_add(tally, run, &driver.path);
    free(driver.path.threads);
    return status;
}

enum trk_status trk_scenario_run(const struct trk_scenario *scenario,
                                 struct trk_scenario_report *report)
{
    memset(report, 0, sizeof *report);
    report->guest_addr = TRK_NOT_KNOWN;
    if (trk_scenario_needs(scenario) != NULL)
        return TRK_E_UNSUPPORTED;
    struct trk_scenario_report one = {.guest_addr = TRK_NOT_KNOWN};
    struct tally tally;
    struct scenario_run run;
    enum trk_status status = tally_init(&tally, scenario);
    if (status == TRK_OK) {
        status = run_begin(&run, scenario, &one);
        if (status == TRK_OK)
            status = run_all(&run, &tally, report);
        run_end(&run);
    }
    report->operations = one.operations;
    report->faults = one.faults;
    report->host_calls = one.host_calls;
    if (status == TRK_OK)
        tally_report(&tally, report);
    tally_deinit(&tally);
    return status;
}
