/*
 * What others may ask of a scenario: a run as the file says, another way, or one schedule again.
 */
#include <stdio.h>
#include <string.h>

#include "scenario_schedule.h"

enum trk_status trk_scenario_run(const struct trk_scenario *scenario,
                                 struct trk_scenario_report *report)
{
    return schedule_scenario(scenario, &(struct schedule_request){0}, report);
}

/* Words of verdicts, by their bits. */
static void verdict_words(uint32_t seen, char *out, size_t size)
{
    size_t used = 0;
    for (; seen != 0 && used < size; seen &= seen - 1) {
        int length = snprintf(out + used, size - used, "%s%s", used > 0 ? ", " : "",
                              scenario_verdict_word((uint32_t)__builtin_ctz(seen)));
        used += length > 0 ? (size_t)length : 0;
    }
}

static enum trk_status run_both(const struct trk_scenario *scenario, struct schedule_request hashed,
                                struct trk_scenario_report *report)
{
    struct trk_scenario_report other;
    struct schedule_request dpor = hashed;
    dpor.dpor = true;
    enum trk_status status = schedule_scenario(scenario, &hashed, report);
    if (status == TRK_OK)
        status = schedule_scenario(scenario, &dpor, &other);
    if (status != TRK_OK)
        return status;
    report->classes = other.classes;
    report->fell_back = other.fell_back;
    /* A search that ended early has not seen all. */
    bool whole = !hashed.stopped_early && !dpor.stopped_early;
    if (!whole || hashed.seen == dpor.seen)
        return TRK_OK;
    char one[200], two[200];
    verdict_words(hashed.seen, one, sizeof one);
    verdict_words(dpor.seen, two, sizeof two);
    report->held = false;
    report->differ = true;
    snprintf(report->text, sizeof report->text,
             "the engines differ, which is a bug in one: hashed finds %s; dpor finds %s", one, two);
    return TRK_OK;
}

enum trk_status trk_scenario_run_with(const struct trk_scenario *scenario,
                                      const struct trk_scenario_options *options,
                                      struct trk_scenario_report *report)
{
    memset(report, 0, sizeof *report);
    if (options->size != sizeof *options)
        return TRK_E_ARGUMENT;
    enum scenario_schedule_kind kind = scenario->schedule.kind;
    bool many = kind == SCHEDULE_EXPLORE || kind == SCHEDULE_RANDOM || kind == SCHEDULE_PCT;
    struct schedule_request request = {.most = options->schedules,
                                       .steps_most = options->steps,
                                       .walks = many ? options->walks : 0,
                                       .seed = options->seed,
                                       .dpor = options->engine == TRK_SCENARIO_DPOR};
    if (options->engine == TRK_SCENARIO_BOTH && kind == SCHEDULE_EXPLORE && request.walks == 0)
        return run_both(scenario, request, report);
    return schedule_scenario(scenario, &request, report);
}

enum trk_status trk_scenario_nearest(const struct trk_scenario *scenario, const char *schedule,
                                     struct trk_scenario_passing *out,
                                     struct trk_scenario_fault *fault)
{
    struct trk_scenario_report report;
    struct schedule_request request = {.fault = fault, .passing = out};
    *out = (struct trk_scenario_passing){0};
    return schedule_line(scenario, schedule, &request, &report);
}

enum trk_status trk_scenario_replay(const struct trk_scenario *scenario, const char *schedule,
                                    struct trk_scenario_report *report,
                                    struct trk_scenario_fault *fault)
{
    struct schedule_request request = {.fault = fault};
    memset(report, 0, sizeof *report);
    return schedule_line(scenario, schedule, &request, report);
}
