/*
 * Goal: the two engines that try every schedule come to the same verdicts.
 * Method: generated programs, explored over states and by classes. An engine that forgets something
 * that a thread sees, or a dependency of two steps, misses a verdict sooner or later.
 * Again: TRK_SEED and TRK_PROGRAMS in the environment.
 * Rules: scenario-format, Schedules.
 */
#include <criterion/criterion.h>
#include <inttypes.h>

#include "environment.h"
#include "generated_program.h"
#include "scenario_schedule.h"

#define SCHEDULES_MOST UINT64_C(20000) /* a program with more proves nothing */

/* Whether there was something to compare. */
static bool check(uint64_t seed)
{
    struct generated text;
    struct trk_scenario *scenario = NULL;
    struct trk_scenario_fault fault;
    struct trk_scenario_report report;
    struct schedule_request hashed = {.most = SCHEDULES_MOST};
    struct schedule_request dpor = {.most = SCHEDULES_MOST, .dpor = true};
    generated_program(&text, seed);
    if (trk_scenario_parse(&scenario, text.bytes, text.used, &fault) != TRK_OK)
        return false;
    cr_assert_eq(schedule_scenario(scenario, &hashed, &report), TRK_OK);
    cr_assert_eq(schedule_scenario(scenario, &dpor, &report), TRK_OK);
    bool whole = !hashed.stopped_early && !dpor.stopped_early;
    if (whole)
        cr_expect_eq(hashed.seen, dpor.seen,
                     "TRK_SEED=%" PRIu64 " TRK_PROGRAMS=1: hashed finds %x, dpor %x: %s", seed,
                     hashed.seen, dpor.seen, text.bytes);
    trk_scenario_destroy(scenario);
    return whole;
}

Test(engines, agree)
{
    uint64_t seed = environment_number("TRK_SEED", 1),
             programs = environment_number("TRK_PROGRAMS", 150);
    uint64_t checked = 0;
    for (uint64_t i = 0; i < programs; i++)
        checked += check(seed + i);
    cr_expect_geq(checked * 2, programs, "of %" PRIu64 " programs", programs);
}
