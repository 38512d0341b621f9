/*
 * Goal: beside a schedule that breaks a rule the passing order is found that is one swap away.
 * Method: files of which some schedules break a rule: the simplest of them, its preemptions, and
 * the two steps that are swapped; what passes is run again. Rules: scenario-format, Schedules.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "simulator/scenario.h"

struct nearest_case {
    const char *name;
    uint64_t preemptions;
    const char *first, *then; /* NULL: no swap lets it pass */
};

static const struct nearest_case cases[] = {
    {"litmus/mutex-orders-the-write", 1, "raw_write A 64 1", "upload A 1P"},
    {"litmus/write-that-tells-nobody", 0, "raw_write A 64 7", "upload A 1P"},
    {"field/remap-leaves-a-gap", 1, "load N 8", "unmap N 4P"},
    {"litmus/completion-of-a-written-upload-waits", 0, "is_cpu A+P 1P", "upload A 1P written"},
    {"litmus/two-written-uploads-in-one-region", 0, NULL, NULL}, /* no schedule passes */
};

Test(nearest, one_swap_away)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct nearest_case *its = &cases[i];
        struct trk_scenario *scenario = NULL;
        struct trk_scenario_fault fault;
        struct trk_scenario_report report;
        struct trk_scenario_passing passing;
        char path[512];
        snprintf(path, sizeof path, "%s/%s.json", HANDED_DIR, its->name);
        cr_assert_eq(trk_scenario_load(&scenario, path, &fault), TRK_OK, "%s", path);
        cr_assert_eq(trk_scenario_run(scenario, &report), TRK_OK);
        cr_expect_eq(report.preemptions, its->preemptions, "%s: %d preemptions", its->name,
                     (int)report.preemptions);
        cr_assert_eq(trk_scenario_nearest(scenario, report.schedule, &passing, &fault), TRK_OK);
        cr_expect_eq(passing.there, its->first != NULL, "%s", its->name);
        if (passing.there && its->first != NULL) {
            cr_expect_str_eq(passing.first.operation_text, its->first, "%s", its->name);
            cr_expect_str_eq(passing.then.operation_text, its->then, "%s", its->name);
            cr_assert_eq(trk_scenario_replay(scenario, passing.schedule, &report, &fault), TRK_OK);
            cr_expect_str_eq(report.verdict, "ok", "%s", its->name);
        }
        trk_scenario_destroy(scenario);
    }
}
