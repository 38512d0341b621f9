/*
 * The passing order nearest to one that breaks a rule: one swap of neighbours.
 *
 * A schedule is a row of runs, each some steps of one thread. Two neighbouring runs are swapped, or
 * the last step of the first with the first of the second, and so on, at last with all that the
 * second one's thread can do; what does not fit any more is passed over, and the rest runs as
 * usual. The last swap that lets the schedule pass is the nearest: up to there both are the same.
 *
 * Rules: scenario-format, Schedules.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scenario_schedule.h"

/* A step of the schedule that breaks a rule. */
struct place {
    uint8_t thread;
    const struct scenario_op *op; /* that it is in, or begins */
};

struct search {
    struct driver *driver;
    struct place *places;
    size_t count;
    uint8_t *order; /* one to try */
};

/* Steps [first, middle) are swapped with [middle, end). */
struct swap {
    size_t first, middle, end;
    bool go_on; /* the second one's thread goes on as far as it can, then comes the first */
};

/* One step of a thread, if it can run. */
static bool step(struct driver *driver, uint32_t thread)
{
    const struct scenario_run *run = driver->run;
    uint32_t enabled[TRK_SCENARIO_THREADS];
    if (run->stopped || run_trouble(run) != TRK_OK || !driver_can(driver, thread))
        return false;
    uint32_t count = driver_enabled(driver, enabled);
    driver_step(driver, thread, driver_usual(driver, enabled, count) == thread);
    return true;
}

enum trk_status driver_order(struct driver *driver, const struct driver_order *order,
                             uint32_t *verdict)
{
    uint32_t enabled[TRK_SCENARIO_THREADS], count;
    driver_back(driver, 0, NULL);
    for (size_t i = 0; i < order->count; i++) {
        (void)step(driver, order->threads[i]);
        while (i + 1 == order->go_on && step(driver, order->threads[i]))
            continue;
    }
    while ((count = driver_choices(driver, enabled)) > 0)
        driver_step(driver, driver_usual(driver, enabled, count), true);
    enum trk_status status = driver_finish(driver);
    *verdict = driver->tally->came / 2;
    return status;
}

static enum trk_status try_swap(struct search *search, struct swap swap, bool *passes)
{
    uint32_t verdict = 0;
    size_t at = 0;
    for (size_t i = 0; i < swap.first; i++)
        search->order[at++] = search->places[i].thread;
    for (size_t i = swap.middle; i < swap.end; i++)
        search->order[at++] = search->places[i].thread;
    for (size_t i = swap.first; i < swap.middle; i++)
        search->order[at++] = search->places[i].thread;
    for (size_t i = swap.end; i < search->count; i++)
        search->order[at++] = search->places[i].thread;
    const struct driver_order order = {search->order, search->count,
                                       swap.go_on ? swap.first + swap.end - swap.middle : 0};
    enum trk_status status = driver_order(search->driver, &order, &verdict);
    *passes = verdict == scenario_verdict_number("ok");
    return status;
}

/* The run of one thread that ends before `end`, and the one that begins there. */
static size_t stretch_first(const struct search *search, size_t end)
{
    size_t first = end;
    while (first > 0 && search->places[first - 1].thread == search->places[end - 1].thread)
        first--;
    return first;
}

static size_t stretch_end(const struct search *search, size_t first)
{
    size_t end = first;
    while (end < search->count && search->places[end].thread == search->places[first].thread)
        end++;
    return end;
}

static void tell(const struct search *search, size_t step, struct trk_scenario_step *out)
{
    const struct place *place = &search->places[step];
    const struct scenario_run *run = search->driver->run;
    snprintf(out->thread, sizeof out->thread, "%s", run->threads[place->thread].text->name);
    if (place->op == NULL)
        return;
    out->operation = place->op->number;
    snprintf(out->operation_text, sizeof out->operation_text, "%s", place->op->text);
}

/* The swaps around one border of runs, the smallest first. */
static enum trk_status try_border(struct search *search, size_t border,
                                  struct trk_scenario_passing *out)
{
    size_t first = stretch_first(search, border), end = stretch_end(search, border);
    const struct swap swaps[] = {
        {border - 1, border, border + 1, false},
        {border - 1, border, end, false},
        {first, border, border + 1, false},
        {first, border, end, false},
        {first, border, end, true},
    };
    enum trk_status status = TRK_OK;
    for (size_t i = 0; i < sizeof swaps / sizeof swaps[0] && status == TRK_OK && !out->there; i++) {
        status = try_swap(search, swaps[i], &out->there);
        if (status != TRK_OK || !out->there)
            continue;
        tell(search, swaps[i].middle, &out->first);
        tell(search, swaps[i].first, &out->then);
        repro_write(&search->driver->path, search->driver->run->scenario, out->schedule,
                    sizeof out->schedule);
    }
    return status;
}

/* Where the schedule that the driver has run came by, step for step. */
static bool note_places(struct search *search, const struct path *path)
{
    struct driver *driver = search->driver;
    search->count = path->count;
    search->places = calloc(path->count + 1, sizeof *search->places);
    search->order = calloc(path->count + 1, sizeof *search->order);
    if (search->places == NULL || search->order == NULL)
        return false;
    for (size_t i = 0; i < search->count; i++)
        search->places[i].thread = search->order[i] = path->steps[i].thread;
    driver_back(driver, 0, NULL);
    for (size_t i = 0; i < search->count; i++) {
        search->places[i].op = run_standing(&driver->run->threads[search->places[i].thread]);
        driver_step(driver, search->places[i].thread, false);
    }
    return true;
}

enum trk_status schedule_nearest(struct driver *driver, struct trk_scenario_passing *out)
{
    struct search search = {.driver = driver};
    /* The path is the driver's own, which steps overwrite with themselves. */
    enum trk_status status = note_places(&search, &driver->path) ? TRK_OK : TRK_E_MEMORY;
    for (size_t border = search.count; status == TRK_OK && !out->there && border-- > 1;)
        if (search.places[border].thread != search.places[border - 1].thread)
            status = try_border(&search, border, out);
    free(search.places);
    free(search.order);
    return status;
}
