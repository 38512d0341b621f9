/*
 * A case of a verdict.
 */
#include "verdict_case.h"

#include <criterion/criterion.h>

void verdict_case_judge_with(const char *policy, const struct verdict_case *one)
{
    struct tape *tape = tape_create(policy);
    one->record(tape);
    struct trk_sim_report report = tape_judge(tape);
    cr_expect_str_eq(trk_verdict_name(&report), one->verdict, "%s: %s (%s) %s", one->name,
                     trk_verdict_name(&report), report.text, report.story[0].text);
    cr_expect_str_eq(report.detail, one->detail, "%s: detail %s", one->name, report.detail);
    uint8_t type_at = tape_type_at(tape, report.event_at);
    if (one->type_at != 0)
        cr_expect_eq(type_at, one->type_at, "%s: event at fault is %s", one->name,
                     trk_event_type_name(type_at));
    cr_expect_neq(report.text[0], '\0', "%s: no text", one->name);
    /* Again, byte for byte. */
    struct trk_sim_report again = tape_judge(tape);
    cr_expect(tape_reports_equal(&report, &again), "%s: two runs differ", one->name);
    tape_destroy(tape);
}

void verdict_case_judge(const struct verdict_case *one)
{
    verdict_case_judge_with("default", one);
}
