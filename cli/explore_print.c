#include "explore_print.h"

#include <inttypes.h>
#include <stdio.h>

#include "json_out.h"
#include "scenario_story_print.h"
#include "terminal.h"

/* ---- text ------------------------------------------------------------------------------------ */

static void print_verdict(const struct trk_explore_report *report)
{
    bool bad = report->finding_count > 0 || report->not_shown;
    fputs("orders: ", stdout);
    trk_terminal_word(bad                ? TRK_TONE_BAD
                      : report->complete ? TRK_TONE_GOOD
                                         : TRK_TONE_DOUBT,
                      bad                ? "broken"
                      : report->complete ? "ok"
                                         : "not complete");
    putchar('\n');
}

static void print_place(const struct trk_explore_finding *finding)
{
    if (finding->thread[0] == '\0') {
        return;
    }
    fputs("  at: ", stdout);
    if (finding->event_at != TRK_NOT_KNOWN) {
        printf("event %" PRIu64 ", thread ", finding->event_at);
        trk_terminal_text(stdout, finding->thread);
    } else {
        fputs("the end of the window, where the newest bytes must be on both sides", stdout);
    }
    fputs(": ", stdout);
    trk_terminal_text(stdout, finding->operation);
    putchar('\n');
}

static void print_finding(const struct trk_explore_finding *finding,
                          const struct trk_explore_of *of)
{
    fputs("verdict: ", stdout);
    trk_terminal_word(TRK_TONE_BAD, finding->verdict);
    if (finding->recorded) {
        fputs(" (the recorded order, too)", stdout);
    }
    if (finding->speculative_at != TRK_NOT_KNOWN) {
        printf(" (speculative from event %" PRIu64 " on)", finding->speculative_at);
    }
    putchar('\n');
    print_place(finding);
    fputs("  ", stdout);
    trk_terminal_text(stdout, finding->text);
    printf("\n  window: events %" PRIu64 "-%" PRIu64 ", %" PRIu32 " page%s from 0x%" PRIx64
           "; %" PRIu64 " orders tried%s%s\n",
           finding->from, finding->to, finding->pages, finding->pages == 1 ? "" : "s",
           finding->page_addr, finding->schedules, finding->orders[0] ? ", for all of " : "",
           finding->orders);
    if (finding->failing[0] != '\0') {
        printf("  fails in %s of %s\n", finding->failing, finding->orders);
    }
    trk_scenario_story_print_one(&finding->story);
    if (finding->speculative_at != TRK_NOT_KNOWN) {
        printf("  from event %" PRIu64
               " on the guest has read other bytes than in the recording, and might have done "
               "something else\n",
               finding->speculative_at);
    }
    if (finding->schedule[0] != '\0') {
        fputs("  again: trk explore ", stdout);
        if (of->core_path != NULL) {
            fputs("--core ", stdout);
            trk_terminal_quote(stdout, of->core_path);
            putchar(' ');
        }
        trk_terminal_quote(stdout, of->path);
        printf(" --schedule %s\n", finding->schedule);
    }
}

static void print_counts(const struct trk_explore_report *report)
{
    printf("%" PRIu64 " windows of %" PRIu32 " set%s of pages, %" PRIu64
           " of them different; %" PRIu64 " orders tried%s%s\n",
           report->windows, report->foci, report->foci == 1 ? "" : "s", report->distinct,
           report->schedules, report->orders[0] ? ", for all of " : "", report->orders);
    if (report->pages_met != TRK_NOT_KNOWN && report->pages_met > report->foci) {
        printf("%" PRIu32 " of the %" PRIu64
               " pages that come into question were looked at: see --page and --pages\n",
               report->foci, report->pages_met);
    }
    if (report->nothing) {
        puts("nothing to judge: in these events no two threads meet on these pages");
    }
    if (report->unsettled > 0) {
        printf("%" PRIu32 " sets of pages are never in a state that the trace proves, as where it "
               "begins in the middle or lacks events: nothing was tried there\n",
               report->unsettled);
    }
    if (report->ended) {
        puts("not everything was tried: it was ended before");
    }
    if (report->stopped > 0) {
        printf("%" PRIu64 " windows have more orders than were tried\n", report->stopped);
    }
    if (report->unfaithful > 0) {
        printf("%" PRIu64
               " windows do not end as recorded even in the recorded order: not judged\n",
               report->unfaithful);
    }
    if (report->left_out > 0) {
        printf("%" PRIu64 " windows cannot be said as a scenario: not judged\n", report->left_out);
    }
    if (report->lacks[0] != '\0') {
        fputs("the plug-in lacks what some of these need, the first of them: ", stdout);
        trk_terminal_text(stdout, report->lacks);
        putchar('\n');
    }
    if (report->foreign) {
        puts("operations of trackers that are not the core's were tried in no other order");
    }
    if (report->not_shown) {
        puts("what broke in the recording needs more than windows keep: see trk sim");
    }
    printf("recorded order: %s, trace %s\n", trk_verdict_name(&report->recorded),
           report->recorded.complete ? "complete" : "incomplete");
}

/* Which plug-in it was, and how it was tried. */
static void print_core(const struct trk_core_about *core)
{
    if (core == NULL) {
        return;
    }
    fputs("core ", stdout);
    trk_terminal_text(stdout, core->name);
    fputs(", build ", stdout);
    trk_terminal_text(stdout, core->build);
    printf(": tried %s\n", core->inside ? "inside its operations"
                                        : "operation by operation, since it does not take its "
                                          "locks through the host");
}

void trk_explore_print(const struct trk_explore_report *report, const struct trk_explore_of *of)
{
    bool once = of->once;
    if (once && report->finding_count == 0) {
        puts("verdict: ok");
        print_core(of->core);
        return;
    }
    if (!once) {
        print_verdict(report);
    }
    for (uint64_t i = 0; i < report->finding_count && i < TRK_EXPLORE_FINDINGS_MOST; i++) {
        print_finding(&report->findings[i], of);
    }
    if (report->finding_count > TRK_EXPLORE_FINDINGS_MOST) {
        printf("and %" PRIu64 " more windows with a broken order\n",
               report->finding_count - TRK_EXPLORE_FINDINGS_MOST);
    }
    if (!once) {
        print_counts(report);
    }
    print_core(of->core);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static cJSON *finding_json(const struct trk_explore_finding *finding)
{
    cJSON *object = cJSON_CreateObject();
    bool placed = finding->thread[0] != '\0';
    trk_json_out_text(object, "verdict", finding->verdict);
    trk_json_out_text(object, "text", finding->text);
    trk_json_out_text(object, "thread", placed ? finding->thread : NULL);
    trk_json_out_text(object, "operation", placed ? finding->operation : NULL);
    trk_json_out_number(object, "event_at", finding->event_at);
    trk_json_out_address(object, "guest_addr", finding->guest_addr);
    trk_json_out_address(object, "page_addr", finding->page_addr);
    trk_json_out_number(object, "pages", finding->pages);
    trk_json_out_number(object, "from", finding->from);
    trk_json_out_number(object, "to", finding->to);
    cJSON_AddBoolToObject(object, "recorded", finding->recorded);
    cJSON_AddBoolToObject(object, "speculative", finding->speculative_at != TRK_NOT_KNOWN);
    trk_json_out_number(object, "speculative_at", finding->speculative_at);
    trk_json_out_number(object, "schedules", finding->schedules);
    trk_json_out_text(object, "orders", finding->orders[0] ? finding->orders : NULL);
    trk_json_out_text(object, "failing", finding->failing[0] ? finding->failing : NULL);
    trk_json_out_number(object, "preemptions", finding->preemptions);
    trk_scenario_story_json_one(object, &finding->story);
    trk_json_out_text(object, "schedule", finding->schedule[0] ? finding->schedule : NULL);
    return object;
}

static void add_core(cJSON *object, const struct trk_core_about *about)
{
    if (about == NULL) {
        return;
    }
    cJSON *core = cJSON_AddObjectToObject(object, "core");
    trk_json_out_text(core, "name", about->name);
    trk_json_out_text(core, "build", about->build);
    cJSON_AddBoolToObject(core, "inside", about->inside);
}

void trk_explore_print_json(const struct trk_explore_report *report,
                            const struct trk_explore_of *of)
{
    cJSON *object = trk_json_out_object(TRK_EXPLORE_SCHEMA);
    trk_json_out_text(object, "path", of->path);
    add_core(object, of->core);
    trk_json_out_text(object, "recorded", trk_verdict_name(&report->recorded));
    cJSON_AddBoolToObject(object, "complete", report->complete);
    cJSON_AddBoolToObject(object, "ended", report->ended);
    cJSON_AddBoolToObject(object, "foreign", report->foreign);
    cJSON_AddBoolToObject(object, "nothing", report->nothing);
    cJSON_AddBoolToObject(object, "not_shown", report->not_shown);
    const struct {
        const char *key;
        uint64_t number;
    } counts[] = {
        {"sets_of_pages", report->foci},    {"windows", report->windows},
        {"distinct", report->distinct},     {"left_out", report->left_out},
        {"unfaithful", report->unfaithful}, {"stopped", report->stopped},
        {"schedules", report->schedules},   {"finding_count", report->finding_count},
        {"unsettled", report->unsettled},
    };
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        trk_json_out_number(object, counts[i].key, counts[i].number);
    }
    trk_json_out_number(object, "pages_met", report->pages_met);
    trk_json_out_text(object, "orders", report->orders[0] ? report->orders : NULL);
    if (of->core != NULL) {
        trk_json_out_text(object, "lacks", report->lacks[0] ? report->lacks : NULL);
    }
    cJSON *list = cJSON_AddArrayToObject(object, "findings");
    for (uint64_t i = 0; i < report->finding_count && i < TRK_EXPLORE_FINDINGS_MOST; i++) {
        cJSON_AddItemToArray(list, finding_json(&report->findings[i]));
    }
    trk_json_out_print(object);
}
