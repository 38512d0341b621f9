/*
 * Bisecting schedules.
 *
 * Behind a longer beginning of a schedule there are fewer orders of the rest, all of which lie
 * behind the shorter one, too: where none passes, none does further on. So the point of no return
 * is found by halving.
 *
 * From one schedule to another lead swaps of neighbouring steps of different threads, by insertion:
 * the state after m of them is an order of its own. The first passes and the last fails, so
 * somewhere a swap lies between.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scenario_schedule.h"
#include "simulator/bisect.h"

#define REST_MOST 200000u /* schedules tried behind a beginning */

static void tell(const struct scenario_run *run, uint32_t thread, struct trk_scenario_step *out)
{
    const struct scenario_op *op = run_standing(&run->threads[thread]);
    snprintf(out->thread, sizeof out->thread, "%s", run->threads[thread].text->name);
    if (op == NULL)
        return;
    out->operation = op->number;
    snprintf(out->operation_text, sizeof out->operation_text, "%s", op->text);
}

static uint8_t *copy_path(const struct driver *driver)
{
    uint8_t *order = malloc(driver->path.count + 1);
    for (size_t i = 0; order != NULL && i < driver->path.count; i++)
        order[i] = driver->path.steps[i].thread;
    return order;
}

/* ---- the point of no return ------------------------------------------------------------------ */

/* Whether an order of the rest passes behind the first steps of an order. */
static enum trk_status passes_behind(struct driver *driver, const uint8_t *order, size_t steps,
                                     bool *passes, bool *whole)
{
    struct tally scratch, *tally = driver->tally;
    struct trk_scenario_report counted = *driver->run->report;
    bool stopped_early = false;
    enum trk_status status = tally_init(&scratch, driver->run->scenario);
    if (status != TRK_OK)
        return status;
    driver->tally = &scratch;
    driver_back(driver, 0, NULL);
    for (size_t i = 0; i < steps; i++)
        driver_step(driver, order[i], false);
    status = schedule_rest(driver, REST_MOST, &stopped_early);
    *passes = (scratch.seen >> scenario_verdict_number("ok") & 1u) != 0;
    *whole &= *passes || !stopped_early;
    driver->tally = tally;
    *driver->run->report = counted;
    tally_deinit(&scratch);
    return status;
}

static enum trk_status find_no_return(struct driver *driver, void *context)
{
    struct trk_scenario_no_return *out = context;
    size_t count = driver->path.count, passing = 0, failing = count;
    uint8_t *order = copy_path(driver);
    enum trk_status status = order != NULL ? TRK_OK : TRK_E_MEMORY;
    bool passes = false;
    out->steps = count;
    out->whole = true;
    if (status == TRK_OK) {
        out->probes++;
        status = passes_behind(driver, order, 0, &passes, &out->whole);
    }
    while (status == TRK_OK && passes && failing - passing > 1) {
        bool here = false;
        size_t middle = passing + (failing - passing) / 2;
        out->probes++;
        status = passes_behind(driver, order, middle, &here, &out->whole);
        *(here ? &passing : &failing) = middle;
    }
    if (status == TRK_OK && passes) {
        driver_back(driver, 0, NULL);
        for (size_t i = 0; i < passing; i++)
            driver_step(driver, order[i], false);
        const struct scenario_op *op = run_standing(&driver->run->threads[order[passing]]);
        out->step = failing;
        tell(driver->run, order[passing], &out->at);
        if (op != NULL && op->label != NULL)
            snprintf(out->label, sizeof out->label, "%s", op->label);
    }
    free(order);
    return status;
}

enum trk_status trk_scenario_no_return(const struct trk_scenario *scenario, const char *schedule,
                                       struct trk_scenario_no_return *out,
                                       struct trk_scenario_fault *fault)
{
    struct trk_scenario_report report;
    struct schedule_request request = {.fault = fault, .then = find_no_return, .then_context = out};
    *out = (struct trk_scenario_no_return){0};
    return schedule_line(scenario, schedule, &request, &report);
}

/* ---- between two schedules ------------------------------------------------------------------- */

struct between {
    struct trk_scenario_between *out;
    uint8_t *from, *to, *order;
    size_t from_count, to_count, count; /* count: of both, with what each lacks */
    uint32_t *target;                   /* of each step of `from` its place in `to` */
    uint32_t *places;                   /* as far as the swaps have gone */
};

static enum trk_status keep_path(struct driver *driver, void *context)
{
    struct between *between = context;
    between->from = copy_path(driver);
    between->from_count = driver->path.count;
    return between->from != NULL ? TRK_OK : TRK_E_MEMORY;
}

/* Add to an order the steps that the other one has more of. */
static size_t fill_up(uint8_t *order, size_t count, const uint8_t *other, size_t other_count)
{
    uint32_t lacks[256] = {0};
    for (size_t i = 0; i < other_count; i++)
        lacks[other[i]]++;
    for (size_t i = 0; i < count; i++)
        lacks[order[i]] -= lacks[order[i]] > 0;
    for (uint32_t thread = 0; thread < 256; thread++)
        for (; lacks[thread] > 0; lacks[thread]--)
            order[count++] = (uint8_t)thread;
    return count;
}

/* The i-th step of a thread in the one is its i-th step in the other. */
static void match_steps(struct between *between)
{
    size_t next[256] = {0};
    for (size_t i = 0; i < between->count; i++) {
        uint8_t thread = between->from[i];
        while (between->to[next[thread]] != thread)
            next[thread]++;
        between->target[i] = (uint32_t)next[thread]++;
    }
}

static bool prepare(struct between *between)
{
    size_t room = between->from_count + between->to_count + 1;
    uint8_t *from = realloc(between->from, room), *to = realloc(between->to, room);
    between->from = from != NULL ? from : between->from;
    between->to = to != NULL ? to : between->to;
    between->order = malloc(room);
    between->target = calloc(room, sizeof *between->target);
    between->places = calloc(room, sizeof *between->places);
    if (from == NULL || to == NULL || between->order == NULL || between->target == NULL ||
        between->places == NULL)
        return false;
    between->count = fill_up(from, between->from_count, to, between->to_count);
    (void)fill_up(to, between->to_count, from, between->count);
    match_steps(between);
    return true;
}

/* Do the first `most` swaps of an insertion sort; how many were done. last: where the last was. */
static uint64_t swap_steps(struct between *between, uint64_t most, size_t *last)
{
    uint64_t done = 0;
    memcpy(between->places, between->target, between->count * sizeof *between->places);
    for (size_t i = 1; i < between->count && done < most; i++) {
        for (size_t at = i; at > 0 && between->places[at - 1] > between->places[at]; at--) {
            uint32_t place = between->places[at];
            if (done == most)
                break;
            between->places[at] = between->places[at - 1];
            between->places[at - 1] = place;
            *last = at - 1;
            done++;
        }
    }
    for (size_t i = 0; i < between->count; i++)
        between->order[i] = between->to[between->places[i]];
    return done;
}

static enum trk_status passes_after(struct driver *driver, struct between *between, uint64_t swaps,
                                    bool *passes)
{
    size_t last = 0;
    uint32_t verdict = 0;
    (void)swap_steps(between, swaps, &last);
    between->out->probes++;
    enum trk_status status =
        driver_order(driver, &(struct driver_order){between->order, between->count, 0}, &verdict);
    *passes = verdict == scenario_verdict_number("ok");
    return status;
}

/* What the swap behind `passing` of them changes, and both schedules. */
static enum trk_status tell_swap(struct driver *driver, struct between *between, uint64_t passing)
{
    struct trk_scenario_between *out = between->out;
    const struct scenario_run *run = driver->run;
    size_t at = 0;
    bool passes;
    (void)swap_steps(between, passing + 1, &at);
    uint8_t then = between->order[at], first = between->order[at + 1];
    enum trk_status status = passes_after(driver, between, passing + 1, &passes);
    repro_write(&driver->path, run->scenario, out->fails, sizeof out->fails);
    if (status == TRK_OK)
        status = passes_after(driver, between, passing, &passes);
    repro_write(&driver->path, run->scenario, out->passes, sizeof out->passes);
    out->probes -= 2; /* both were run before */
    driver_back(driver, 0, NULL);
    for (size_t i = 0; i < at && !run->stopped; i++)
        if (driver_can(driver, between->order[i]))
            driver_step(driver, between->order[i], false);
    tell(run, first, &out->first);
    tell(run, then, &out->then);
    out->there = true;
    return status;
}

static enum trk_status find_between(struct driver *driver, void *context)
{
    struct between *between = context;
    struct trk_scenario_between *out = between->out;
    bool first = false, last = true;
    size_t at;
    between->to = copy_path(driver);
    between->to_count = driver->path.count;
    if (between->to == NULL || !prepare(between))
        return TRK_E_MEMORY;
    out->swaps = swap_steps(between, UINT64_MAX, &at);
    enum trk_status status = passes_after(driver, between, 0, &first);
    if (status == TRK_OK)
        status = passes_after(driver, between, out->swaps, &last);
    if (status != TRK_OK || !first || last)
        return status;
    uint64_t passing = 0, failing = out->swaps;
    while (status == TRK_OK && failing - passing > 1) {
        bool here = false;
        uint64_t middle = passing + (failing - passing) / 2;
        status = passes_after(driver, between, middle, &here);
        *(here ? &passing : &failing) = middle;
    }
    return status == TRK_OK ? tell_swap(driver, between, passing) : status;
}

enum trk_status trk_scenario_between(const struct trk_scenario *scenario, const char *passing,
                                     const char *failing, struct trk_scenario_between *out,
                                     struct trk_scenario_fault *fault)
{
    struct trk_scenario_report report;
    struct between between = {.out = out};
    struct schedule_request request = {.fault = fault, .then = keep_path, .then_context = &between};
    *out = (struct trk_scenario_between){0};
    enum trk_status status = schedule_line(scenario, passing, &request, &report);
    request =
        (struct schedule_request){.fault = fault, .then = find_between, .then_context = &between};
    if (status == TRK_OK && between.from != NULL)
        status = schedule_line(scenario, failing, &request, &report);
    free(between.from);
    free(between.to);
    free(between.order);
    free(between.target);
    free(between.places);
    return status;
}
