/*
 * Random schedules, and PCT: priorities with a few changes.
 *
 * Rules: scenario-format, Schedules.
 */
#include "chance.h"
#include "scenario_schedule.h"

/* A seed of its own for each run. */
static uint64_t random_seed(uint64_t seed, uint64_t number)
{
    uint64_t state = seed ^ number * UINT64_C(0xd1342543de82ef95);
    return trk_chance_next(&state);
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
    uint32_t enabled[TRK_SCENARIO_THREADS], count;
    *choices = 0;
    while ((count = driver_choices(driver, enabled)) > 0) {
        uint32_t chosen = enabled[0];
        if (count > 1 && priorities->on)
            chosen = highest(priorities, enabled, count, *choices);
        else if (count > 1)
            chosen = enabled[random_below(state, count)];
        *choices += count > 1;
        driver_step(driver, chosen, chosen == driver_usual(driver, enabled, count));
    }
    return driver_finish(driver);
}

/* ---- a uniform walk -------------------------------------------------------------------------- */

/* Steps of threads: of the last schedule, and of this one so far. */
struct lengths {
    uint64_t before[TRK_SCENARIO_THREADS + 1], now[TRK_SCENARIO_THREADS + 1];
};

/* One of the threads, with a chance as large as what it has left, which is a step at least. */
static uint32_t weighted(const struct lengths *lengths, const uint32_t *enabled, uint32_t count,
                         uint64_t *state)
{
    uint64_t left[TRK_SCENARIO_THREADS] = {0}, all = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t thread = enabled[i];
        bool more = lengths->before[thread] > lengths->now[thread];
        left[i] = more ? lengths->before[thread] - lengths->now[thread] : 1;
        all += left[i];
    }
    uint64_t at = random_below(state, all);
    uint32_t chosen = 0;
    for (; chosen + 1 < count && at >= left[chosen]; chosen++)
        at -= left[chosen];
    return enabled[chosen];
}

static enum trk_status walk_run(struct driver *driver, struct lengths *lengths, uint64_t *state)
{
    uint32_t enabled[TRK_SCENARIO_THREADS], count;
    for (uint32_t i = 0; i <= TRK_SCENARIO_THREADS; i++)
        lengths->now[i] = 0;
    while ((count = driver_choices(driver, enabled)) > 0) {
        uint32_t chosen = weighted(lengths, enabled, count, state);
        lengths->now[chosen]++;
        driver_step(driver, chosen, chosen == driver_usual(driver, enabled, count));
    }
    /* A schedule that broke off says less of its threads' lengths than one before it. */
    for (uint32_t i = 0; i <= TRK_SCENARIO_THREADS; i++)
        if (lengths->now[i] > lengths->before[i] || !driver->run->stopped)
            lengths->before[i] = lengths->now[i];
    return driver_finish(driver);
}

enum trk_status schedule_walk(struct driver *driver, uint64_t runs, uint64_t seed)
{
    struct lengths lengths = {0};
    enum trk_status status = driver_prime(driver);
    for (uint64_t i = 0; status == TRK_OK && i < runs; i++) {
        uint64_t state = random_seed(seed, i);
        if (i > 0)
            driver_back(driver, 0, NULL);
        status = walk_run(driver, &lengths, &state);
    }
    return status;
}

enum trk_status schedule_random(struct driver *driver, const struct engine_leave *leave)
{
    const struct scenario_schedule *schedule = &driver->run->scenario->schedule;
    uint64_t choices = 0, most = 0; /* the most that a schedule has had yet */
    enum trk_status status = driver_prime(driver);
    bool goes_on = true;
    for (uint64_t i = 0; status == TRK_OK && goes_on && i < schedule->runs; i++) {
        uint64_t state = random_seed(schedule->seed, i);
        struct priorities priorities = {0};
        if (i > 0)
            driver_back(driver, 0, NULL);
        if (schedule->kind == SCHEDULE_PCT)
            priorities_init(&priorities, driver, most > 0 ? most : 1, &state);
        status = random_run(driver, &priorities, &state, &choices);
        most = choices > most ? choices : most;
        goes_on = engine_goes_on(leave);
    }
    return status;
}
