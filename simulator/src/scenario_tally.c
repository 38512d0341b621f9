/*
 * What all schedules of a scenario came to, held against its expectation.
 *
 * Rules: scenario-format, Expect and fine print 3, 18.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core.h"
#include "scenario_schedule.h"

static const char ok[] = "ok";

enum trk_status tally_init(struct tally *tally, const struct trk_scenario *scenario)
{
    *tally = (struct tally){.scenario = scenario};
    tally->shown = calloc(2 * (size_t)SCENARIO_VERDICTS, sizeof *tally->shown);
    if (tally->shown == NULL)
        return TRK_E_MEMORY;
    tally->misplaced_shown = tally->shown + SCENARIO_VERDICTS;
    return TRK_OK;
}

void tally_deinit(struct tally *tally)
{
    free(tally->shown);
}

/* How simple a schedule is: first in preemptions, then in steps. */
static uint64_t cost_of(const struct path *path)
{
    uint64_t preemptions = 0;
    for (size_t i = 0; i < path->count; i++)
        preemptions += path->steps[i].preempts;
    return preemptions << 32 | (uint32_t)path->count;
}

/* The schedule kept of an outcome. */
static struct tally_shown *kept_of(const struct tally *tally, uint32_t came)
{
    return &(came % 2 ? tally->misplaced_shown : tally->shown)[came / 2];
}

bool tally_cheaper(const struct tally *tally, uint32_t came, uint64_t cost)
{
    const struct tally_shown *kept = kept_of(tally, came);
    return !kept->there || cost < kept->cost;
}

void tally_begin(struct trk_scenario_report *report)
{
    *report = (struct trk_scenario_report){.guest_addr = TRK_NOT_KNOWN,
                                           .operations = report->operations,
                                           .faults = report->faults,
                                           .host_calls = report->host_calls,
                                           .steps = report->steps};
}

void tally_add(struct tally *tally, const struct scenario_run *run, const struct path *path)
{
    struct trk_scenario_report *report = run->report;
    if (!run->stopped)
        snprintf(report->verdict, sizeof report->verdict, "%s", ok);
    uint32_t verdict = scenario_verdict_number(report->verdict);
    bool misplaced = run->stopped && tally->scenario->expect.at != NULL && !run->at;
    enum scenario_schedule_kind kind = tally->scenario->schedule.kind;
    uint64_t cost = cost_of(path);
    core_progress();
    tally->schedules++;
    tally->came = verdict * 2 + misplaced;
    tally->seen |= UINT32_C(1) << verdict;
    if (misplaced)
        tally->misplaced |= UINT32_C(1) << verdict;
    if (tally_cheaper(tally, tally->came, cost)) {
        if (kind != SCHEDULE_IN_ORDER && kind != SCHEDULE_LIST)
            repro_write(path, tally->scenario, report->schedule, sizeof report->schedule);
        report->preemptions = cost >> 32;
        *kept_of(tally, tally->came) =
            (struct tally_shown){.there = true, .cost = cost, .report = *report};
    }
    tally_begin(report);
}

/* ---- the expectation ------------------------------------------------------------------------- */

/* Verdicts that may be seen, and those of them that must. */
struct wanted {
    uint32_t may, must;
};

static struct wanted wanted(const struct scenario_expect *expect)
{
    struct wanted out = {0};
    for (uint32_t i = 0; i < expect->verdict_count; i++)
        out.must |= UINT32_C(1) << scenario_verdict_number(expect->verdicts[i]);
    out.may = out.must;
    if (expect->some)
        out.may |= UINT32_C(1) << scenario_verdict_number(ok);
    return out;
}

static void take(const struct trk_scenario_report *from, struct trk_scenario_report *report)
{
    struct trk_scenario_report whole = *from;
    whole.held = report->held;
    whole.undecided = report->undecided;
    whole.schedules = report->schedules;
    whole.operations = report->operations;
    whole.faults = report->faults;
    whole.host_calls = report->host_calls;
    whole.steps = report->steps;
    memcpy(whole.expected, report->expected, sizeof whole.expected);
    memcpy(whole.interleavings, report->interleavings, sizeof whole.interleavings);
    whole.states = report->states;
    whole.classes = report->classes;
    whole.fell_back = report->fell_back;
    whole.covered_percent = report->covered_percent;
    whole.failing_percent = report->failing_percent;
    memcpy(whole.failing, report->failing, sizeof whole.failing);
    whole.share_count = report->share_count;
    memcpy(whole.shares, report->shares, sizeof whole.shares);
    *report = whole;
}

/* The simplest schedule of a verdict, wherever it broke. */
static const struct tally_shown *nearest(const struct tally *tally, uint32_t verdict)
{
    const struct tally_shown *one = &tally->shown[verdict],
                             *other = &tally->misplaced_shown[verdict];
    return !one->there || (other->there && other->cost < one->cost) ? other : one;
}

/* The schedule to show: one that must not be, else one at the wrong place, else a broken one. */
static const struct trk_scenario_report *shown(const struct tally *tally, uint32_t unexpected)
{
    if (unexpected != 0)
        return &nearest(tally, (uint32_t)__builtin_ctz(unexpected))->report;
    if (tally->misplaced != 0)
        return &tally->misplaced_shown[__builtin_ctz(tally->misplaced)].report;
    uint32_t broken = tally->seen & ~(UINT32_C(1) << scenario_verdict_number(ok));
    /* Where no schedule came to its end, nothing was seen. */
    uint32_t number = broken != 0 ? (uint32_t)__builtin_ctz(broken) : scenario_verdict_number(ok);
    return &nearest(tally, number)->report;
}

/* Whether there are schedules that were not tried. */
static bool part_only(const struct tally *tally)
{
    enum scenario_schedule_kind kind = tally->scenario->schedule.kind;
    return tally->stopped_early || kind == SCHEDULE_RANDOM || kind == SCHEDULE_PCT;
}

void tally_report(const struct tally *tally, struct trk_scenario_report *report)
{
    const struct scenario_expect *expect = &tally->scenario->expect;
    struct wanted want = wanted(expect);
    if (tally->single)
        want.must = 0;
    uint32_t unexpected = tally->seen & ~want.may, missing = want.must & ~tally->seen;
    report->schedules = tally->schedules;
    scenario_expect_words(expect, report->expected, sizeof report->expected);
    take(shown(tally, unexpected), report);
    /* Not all was seen: what must come may still have come; that nothing else does is not shown. */
    bool many = expect->schedules != 0 && tally->schedules > expect->schedules;
    report->held = unexpected == 0 && missing == 0 && tally->misplaced == 0 && !many &&
                   !(tally->stopped_early && !expect->some);
    report->undecided =
        !report->held && part_only(tally) && unexpected == 0 && tally->misplaced == 0 && !many;
    size_t used = strlen(report->text);
    char *end = report->text + used;
    size_t room = sizeof report->text - used;
    if (unexpected != 0 || tally->misplaced != 0)
        return;
    if (missing != 0)
        snprintf(end, room, "%s%" PRIu64 " schedules, and none ends in %s", used > 0 ? "; " : "",
                 tally->schedules, scenario_verdict_word((uint32_t)__builtin_ctz(missing)));
    else if (many)
        snprintf(end, room, "%s%" PRIu64 " schedules, at most %" PRIu64 " expected",
                 used > 0 ? "; " : "", tally->schedules, expect->schedules);
    else if (tally->stopped_early)
        snprintf(end, room,
                 "%sstopped after %" PRIu64 " schedules; there are more: seen were about %" PRIu32
                 " %% %s",
                 used > 0 ? "; " : "", tally->schedules, tally->covered_percent,
                 tally->covered_how);
}

void schedule_count_text(schedule_count count, char *out, size_t size)
{
    char digits[48];
    size_t at = sizeof digits;
    digits[--at] = '\0';
    do {
        digits[--at] = (char)('0' + (int)(count % 10));
        count /= 10;
    } while (count != 0);
    snprintf(out, size, "%s", digits + at);
}

_Static_assert(TRK_SCENARIO_SHARES >= SCENARIO_VERDICTS, "a share for each verdict");

void tally_shares(const schedule_count came[ENGINE_GRAPH_CAME], struct trk_scenario_report *report)
{
    schedule_count failing = 0;
    report->share_count = 0;
    for (uint32_t verdict = 0; verdict < SCENARIO_VERDICTS; verdict++) {
        schedule_count all = engine_sum(came[2 * verdict], came[2 * verdict + 1]);
        if (all == 0)
            continue;
        struct trk_scenario_share *share = &report->shares[report->share_count++];
        snprintf(share->verdict, sizeof share->verdict, "%s", scenario_verdict_word(verdict));
        schedule_count_text(all, share->schedules, sizeof share->schedules);
        if (verdict != scenario_verdict_number(ok))
            failing = engine_sum(failing, all);
    }
    schedule_count_text(failing, report->failing, sizeof report->failing);
}
