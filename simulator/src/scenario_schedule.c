/*
 * Running a scenario: the schedule that the file asks for.
 *
 * Rules: scenario-format, Schedules and fine print 17.
 */
#include "scenario_schedule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "track/sim_build.h"

#define SCHEDULES_MOST UINT64_C(1000000) /* exploring stops there */

/* ---- steps ----------------------------------------------------------------------------------- */

/* Whether the last thread could go on, and another one does. */
static bool preempts(const struct driver *driver, uint32_t thread)
{
    const struct path *path = &driver->path;
    uint32_t last = path->count > 0 ? path->steps[path->count - 1].thread : thread;
    return last != thread && driver_can(driver, last);
}

static void path_add(struct driver *driver, uint32_t thread, bool usual)
{
    struct path *path = &driver->path;
    bool preempting = preempts(driver, thread);
    if (path->count == path->capacity) {
        size_t capacity = path->capacity == 0 ? 256 : path->capacity * 2;
        struct path_step *steps = realloc(path->steps, capacity * sizeof *steps);
        driver->run->no_memory |= steps == NULL;
        if (steps == NULL)
            return;
        path->steps = steps;
        path->capacity = capacity;
    }
    path->steps[path->count++] =
        (struct path_step){.thread = (uint8_t)thread,
                           .label = place_of(&driver->run->threads[thread]),
                           .usual = usual,
                           .preempts = preempting};
}

void driver_step(struct driver *driver, uint32_t thread, bool usual)
{
    path_add(driver, thread, usual);
    coroutine_clean(driver->run->threads[thread].coroutine);
    run_resume(&driver->run->threads[thread]);
    driver->run->report->steps++;
    if (driver->steps_most != 0 && driver->path.count > driver->steps_most)
        run_verdict(driver->run, NULL, "livelock", TRK_NOT_KNOWN,
                    "the schedule has not ended within its bound of steps");
}

uint32_t driver_usual(const struct driver *driver, const uint32_t *threads, uint32_t count)
{
    const struct path *path = &driver->path;
    for (uint32_t i = 0; path->count > 0 && i < count; i++)
        if (threads[i] == path->steps[path->count - 1].thread)
            return threads[i];
    return threads[0];
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

bool driver_can(const struct driver *driver, uint32_t thread)
{
    uint32_t enabled[TRK_SCENARIO_THREADS];
    uint32_t count = driver_enabled(driver, enabled);
    for (uint32_t i = 0; i < count; i++)
        if (enabled[i] == thread)
            return true;
    return false;
}

bool driver_done(const struct driver *driver)
{
    for (uint32_t i = 1; i < driver->end; i++)
        if (!driver->run->threads[i].done)
            return false;
    return true;
}

uint32_t driver_choices(struct driver *driver, uint32_t *threads)
{
    struct scenario_run *run = driver->run;
    if (run->stopped || run_trouble(run) != TRK_OK || driver_done(driver))
        return 0;
    uint32_t count = driver_enabled(driver, threads);
    if (count == 0)
        run_deadlock(run, 1, driver->end);
    return count;
}

/* Let all threads go to their first operation. */
static void driver_start(struct driver *driver)
{
    driver->run->stepping = true;
    driver->path.count = 0;
    for (uint32_t i = 1; i < driver->end; i++) {
        coroutine_clean(driver->run->threads[i].coroutine);
        run_resume(&driver->run->threads[i]);
    }
}

enum trk_status driver_prime(struct driver *driver)
{
    if (core_ways.returns)
        snapshot_save(&driver->start, driver->run);
    driver_start(driver);
    return driver->start.no_memory ? TRK_E_MEMORY : TRK_OK;
}

static enum trk_status otherwise(void)
{
    core_complain("it does not answer the same twice: the same operations took another way");
    return TRK_E_UNSUPPORTED;
}

/* Back to before the first step, where the tracker is made anew and init runs again. */
static void begin_again(struct driver *driver)
{
    struct scenario_run *run = driver->run;
    bool inside = run_inside(run);
    snapshot_restore(&driver->start, run);
    for (uint32_t i = 0; i < run->thread_count; i++)
        coroutine_restart(run->threads[i].coroutine);
    enum trk_status status = run_renew(run, inside);
    if (status == TRK_OK)
        status = run_first(run);
    if (status == TRK_OK && run->stopped)
        status = otherwise(); /* it did not stop there the first time */
    if (status != TRK_OK)
        run->broken = status;
}

void driver_back(struct driver *driver, size_t path_count, const struct snapshot *there)
{
    if (there != NULL && coroutine_can_go_back() && core_ways.returns) {
        snapshot_restore(there, driver->run);
        driver->path.count = path_count;
        return;
    }
    struct trk_scenario_report counted = *driver->run->report; /* what was done is done twice */
    if (core_ways.returns)
        snapshot_restore(&driver->start, driver->run);
    else
        begin_again(driver);
    for (uint32_t i = 1; i < driver->end; i++)
        coroutine_restart(driver->run->threads[i].coroutine);
    driver_start(driver);
    while (driver->path.count < path_count) {
        struct path_step step = driver->path.steps[driver->path.count];
        /* A plug-in that answers otherwise than it did cannot be tried. */
        if (!core_ways.returns && (!driver_can(driver, step.thread) ||
                                   place_of(&driver->run->threads[step.thread]) != step.label)) {
            driver->run->broken = otherwise();
            break;
        }
        driver_step(driver, step.thread, step.usual);
    }
    *driver->run->report = counted;
}

static void driver_deinit(struct driver *driver)
{
    free(driver->path.steps);
    snapshot_deinit(&driver->start);
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

enum trk_status driver_follow(struct driver *driver, const uint8_t *choices, size_t count)
{
    uint32_t enabled[TRK_SCENARIO_THREADS], can;
    size_t next = 0;
    driver_back(driver, 0, NULL);
    while ((can = driver_choices(driver, enabled)) > 0) {
        uint32_t usual = driver_usual(driver, enabled, can), thread = usual;
        if (can > 1 && next < count)
            thread = choices[next++] + 1u;
        driver_step(driver, thread, thread == usual);
    }
    return driver_finish(driver);
}

/* ---- in order, and lists --------------------------------------------------------------------- */

/* The first that can run, to its end or until it blocks, and so on. */
static enum trk_status in_order(struct driver *driver)
{
    uint32_t enabled[TRK_SCENARIO_THREADS];
    driver->run->stepping = false;
    while (driver_choices(driver, enabled) > 0)
        driver_step(driver, enabled[0], true);
    return driver_finish(driver);
}

static bool stands_at(const struct run_thread *thread, const char *label)
{
    return thread->before != NULL && thread->before->label != NULL &&
           strcmp(thread->before->label, label) == 0;
}

static enum trk_status list(struct driver *driver)
{
    struct scenario_run *run = driver->run;
    const struct scenario_schedule *schedule = &run->scenario->schedule;
    driver_start(driver);
    for (uint32_t i = 0; i < schedule->step_count; i++) {
        const struct scenario_step *step = &schedule->steps[i];
        const struct run_thread *thread = &run->threads[step->thread];
        bool one = step->label == NULL;
        while (!run->stopped && run_trouble(run) == TRK_OK && driver_can(driver, step->thread) &&
               (one || !stands_at(thread, step->label))) {
            driver_step(driver, step->thread, false);
            if (one)
                break;
        }
    }
    return in_order(driver);
}

/* ---- a scenario ------------------------------------------------------------------------------ */

static enum trk_status drive(struct driver *driver, struct schedule_request *request,
                             struct trk_scenario_report *report)
{
    enum trk_status status = TRK_OK;
    if (request->walks > 0)
        return schedule_walk(driver, request->walks, request->seed);
    switch (driver->run->scenario->schedule.kind) {
    case SCHEDULE_LIST:
        return list(driver);
    case SCHEDULE_RANDOM:
    case SCHEDULE_PCT:
        return schedule_random(driver, &request->leave);
    case SCHEDULE_EXPLORE:
        status = schedule_explore(driver, request, &request->explored);
        if (request->explored.interleavings != 0)
            schedule_count_text(request->explored.interleavings, report->interleavings,
                                sizeof report->interleavings);
        if (request->explored.interleavings != 0 && request->explored.counted)
            tally_shares(request->explored.came, report);
        return status;
    default:
        return in_order(driver);
    }
}

static enum trk_status run_all(struct scenario_run *run, struct tally *tally,
                               struct schedule_request *request, struct trk_scenario_report *report)
{
    struct driver driver = {.run = run,
                            .tally = tally,
                            .end = run->thread_count - 1,
                            .steps_most = request->steps_most};
    if (!core_ways.returns)
        snapshot_save(&driver.start, run);
    enum trk_status status = driver.start.no_memory ? TRK_E_MEMORY : run_first(run);
    if (status == TRK_OK && run->stopped)
        tally_add(tally, run, &driver.path);
    else if (status == TRK_OK && request->repro != NULL)
        status = schedule_replay(&driver, request->repro, request->fault);
    else if (status == TRK_OK)
        status = drive(&driver, request, report);
    if (status == TRK_OK && request->passing != NULL && driver.path.count > 0)
        status = schedule_nearest(&driver, request->passing);
    if (status == TRK_OK && request->then != NULL && driver.path.count > 0)
        status = request->then(&driver, request->then_context);
    driver_deinit(&driver);
    return status;
}

enum trk_status schedule_scenario(const struct trk_scenario *scenario,
                                  struct schedule_request *request,
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
    tally.single = request->repro != NULL || request->walks > 0;
    if (request->most == 0)
        request->most = SCHEDULES_MOST;
    if (status == TRK_OK) {
        status = run_begin(&run, scenario, &one);
        run.tape = request->tape;
        run.looker = request->looker;
        if (status == TRK_OK)
            status = run_all(&run, &tally, request, report);
        run_end(&run);
    }
    report->operations = one.operations;
    report->faults = one.faults;
    report->host_calls = one.host_calls;
    report->states = request->explored.states;
    report->classes = request->explored.classes;
    report->fell_back = request->explored.fell_back;
    report->covered_percent = tally.stopped_early ? tally.covered_percent : TRK_NOT_KNOWN;
    report->failing_percent =
        tally.stopped_early ? request->explored.failing_percent : TRK_NOT_KNOWN;
    report->steps = one.steps;
    if (status == TRK_OK)
        tally_report(&tally, report);
    request->seen = tally.seen;
    request->stopped_early = tally.stopped_early;
    tally_deinit(&tally);
    return status;
}

enum trk_status schedule_line(const struct trk_scenario *scenario, const char *line,
                              struct schedule_request *request, struct trk_scenario_report *report)
{
    struct repro repro;
    enum trk_status status = TRK_E_ARGUMENT;
    request->repro = &repro;
    if (repro_read(&repro, line, scenario, request->fault))
        status = schedule_scenario(scenario, request, report);
    request->repro = NULL;
    repro_deinit(&repro);
    return status;
}
