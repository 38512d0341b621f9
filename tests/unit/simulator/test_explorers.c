/*
 * Goal: nothing that a thread sees is forgotten in what states are known by.
 * Method: generated programs of two and three threads, explored three ways: states known by what
 * threads have seen, by their stacks too, and not at all. The numbers of all schedules and the
 * verdicts must be equal.
 * Again: TRK_SEED and TRK_PROGRAMS in the environment.
 * Rules: scenario-format, Schedules.
 */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdlib.h>

#include "environment.h"
#include "generated_program.h"
#include "scenario_schedule.h"

#define PLAIN_MOST UINT64_C(5000)

static struct schedule_request explore(const struct trk_scenario *scenario,
                                       struct schedule_request request,
                                       struct trk_scenario_report *report)
{
    enum trk_status status = schedule_scenario(scenario, &request, report);
    cr_assert_eq(status, TRK_OK, "status %d", (int)status);
    return request;
}

/* Whether there was something to compare. */
static bool check(uint64_t seed)
{
    struct generated text;
    struct trk_scenario *scenario = NULL;
    struct trk_scenario_fault fault;
    struct trk_scenario_report seen, stacks, plain;
    generated_program(&text, seed);
    if (trk_scenario_parse(&scenario, text.bytes, text.used, &fault) != TRK_OK)
        return false;
    struct schedule_request one =
        explore(scenario, (struct schedule_request){.most = 20000}, &seen);
    struct schedule_request other =
        explore(scenario, (struct schedule_request){.most = 20000, .stacks = true}, &stacks);
    if (seen.interleavings[0] != '\0' && stacks.interleavings[0] != '\0') {
        cr_expect_str_eq(seen.interleavings, stacks.interleavings, "TRK_SEED=%" PRIu64 ": %s", seed,
                         text.bytes);
        cr_expect_eq(one.seen, other.seen, "TRK_SEED=%" PRIu64 ": %s", seed, text.bytes);
    }
    uint64_t all = strtoull(seen.interleavings, NULL, 10);
    if (all > 0 && all <= PLAIN_MOST) {
        other = explore(scenario, (struct schedule_request){.plain = true}, &plain);
        cr_expect_eq(plain.schedules, all, "TRK_SEED=%" PRIu64 ": %s", seed, text.bytes);
        cr_expect_eq(one.seen, other.seen, "TRK_SEED=%" PRIu64 ": %s", seed, text.bytes);
    }
    trk_scenario_destroy(scenario);
    return true;
}

Test(explorers, agree)
{
    uint64_t seed = environment_number("TRK_SEED", 1),
             programs = environment_number("TRK_PROGRAMS", 60), checked = 0;
    for (uint64_t i = 0; i < programs; i++)
        checked += check(seed + i);
    cr_expect_geq(checked * 2, programs, "of %" PRIu64 " programs", programs);
}
