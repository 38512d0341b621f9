/*
 * Goal: the page manager [M-37] to [M-45]: counts and their bounds, effective protection, which
 * host calls are made, and what a refused call leaves. And faults [M-55] to [M-58].
 * Method: tables of scripts (script.h).
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "script.h"

#define COUNT(table) (sizeof(table) / sizeof(table)[0])

static void run_table(const char *preset, const struct script_case *cases, size_t count)
{
    struct trk_policy policy;
    cr_assert_eq(trk_policy_preset(preset, &policy), TRK_OK);
    for (size_t i = 0; i < count; i++) {
        const char *problem = script_run(&policy, cases[i].steps);
        cr_expect_null(problem, "%s: %s", cases[i].name, problem != NULL ? problem : "");
    }
}

static const struct script_case watch_cases[] = {
    {"a watch takes write",
     "loose; watch 1 2 => ok; prot 1 => r; watches 2 => 1/0; state 1 => cpu; "
     "calls => [1+2:r]; unwatch 1 2 => ok; prot 1 => rw; calls => [1+2:rw]"},
    {"a second watch makes no call",
     "loose; watch 0 1; calls; watch 0 1; calls => []; unwatch 0 1; "
     "calls => []; unwatch 0 1; calls => [0+1:rw]"},
    {"watching {1,3} is two calls, unwatching one",
     "loose; watch_mask 0 w 1,3 => ok; calls => [1+1:r 3+1:r]; watch_mask 0 w 2; calls => [2+1:r]; "
     "unwatch_mask 0 w 2; calls => [2+1:rw]; unwatch_mask 0 w 1,3 => ok; calls => [1+3:rw]"},
    {"bridged pages must have the run's protection",
     "loose; guest 2 1 r; calls; watch_mask 0 w 1,3 => ok; calls => [1+3:r]; "
     "unwatch_mask 0 w 1,3; calls => [1+1:rw 3+1:rw]"},
    {"never past the last", "loose; guest 2 4 r; calls; watch_mask 0 w 1 => ok; calls => [1+1:r]"},
    {"a read watch takes everything",
     "loose; watch_mask 0 r 4 => ok; prot 4 => none; watches 4 => 0/1; unwatch_mask 0 r 4 => ok; "
     "prot 4 => rw; calls => [4+1:none 4+1:rw]"},
    {"read over write", "loose; watch 0 1; watch_mask 0 r 0; prot 0 => none; unwatch 0 1; "
                        "prot 0 => none; unwatch_mask 0 r 0; prot 0 => rw; "
                        "calls => [0+1:r 0+1:none 0+1:rw]"},
    {"masks of all words", "loose; watch_mask R w 0,63-64,127,500-600,1023 => ok; prot R+63 => r; "
                           "prot R+1023 => r; prot R+1022 => rw; "
                           "calls => [1024+1:r 1087+2:r 1151+1:r 1524+101:r 2047+1:r]; "
                           "unwatch_mask R w 0,63-64,127,500-600,1023 => ok; "
                           "calls => [1024+1024:rw]"},
    {"different protections are different runs",
     "loose; guest 1 1 rx; guest 2 1 rwx; calls; watch 0 4 => ok; prot 1 => rx; prot 2 => rx; "
     "calls => [0+1:r 2+1:rx 3+1:r]"},
    {"split at region edges", "loose; watch R-1 2 => ok; calls => [1023+1:r 1024+1:r]"},
    {"beside the tracker's own watches",
     "loose; upload 0 1; watch 0 1; watches 0 => 2/0; mark_gpu 0 1; watches 0 => 2/1; "
     "drain 0 1; watches 0 => 1/0; prot 0 => r; state 0 => cpu; unwatch 0 1; prot 0 => rw"},
};

static const struct script_case bound_cases[] = {
    {"below zero",
     "unwatch 0 1 => watch; loose; watch 0 1; unwatch 0 2 => watch; watches 0 => 1/0"},
    {"below zero in a region never created", "unwatch R 1 => watch; unwatch_mask 2R w 0 => watch; "
                                             "unwatch_mask 2R r 0 => watch; calls => []"},
    {"below zero in a later region changes nothing before",
     "loose; watch R-1 1; calls; unwatch R-1 2 => watch; watches R-1 => 1/0; calls => []"},
    {"a second read watch",
     "loose; watch_mask 0 r 1; watch_mask 0 r 0-1 => watch; watches 0 => 0/0"},
    {"read watch below zero", "unwatch_mask 0 r 1 => watch"},
    {"empty masks", "watch_mask 0 w - => watch; watch_mask 0 r - => watch; "
                    "unwatch_mask 0 w - => watch; unwatch_mask 0 r - => watch"},
    {"misaligned bases", "watch_mask 1 w 0 => watch; watch_mask b1 w 0 => watch; "
                         "watch_mask R-1 r 0 => watch; unwatch_mask 512 w 0 => watch"},
    {"outside the bands", "watch -2048R 1 => range; unwatch 260096R 1 => range"},
    {"the tracker's own read watch is one", "loose; upload_written 0 1; watch_mask 0 r 0 => watch"},
};

Test(pages, watches)
{
    run_table("default", watch_cases, COUNT(watch_cases));
    run_table("default", bound_cases, COUNT(bound_cases));
}

Test(pages, count_of_write_watches)
{
    char steps[4096] = "loose; ";
    size_t used = 7;
    for (int i = 0; i < 127; i++)
        used += (size_t)sprintf(steps + used, "watch 0 1 => ok; ");
    sprintf(steps + used,
            "watches 0 => 127/0; watch 0 1 => watch; watch 0 2 => watch; watches 1 => 0/0; "
            "watch_mask 0 w 0-1 => watch; watches 0 => 127/0; unwatch 0 1 => ok; watch 0 1 => ok; "
            "watches 0 => 127/0; upload 0 1 => watch; state 0 => cpu; calls => [0+1:r]");
    struct script_case one = {"the 128th write watch", steps};
    run_table("default", &one, 1);
}

static const struct script_case guest_cases[] = {
    {"default is rw", "prot 0 => rw; guest 0 1 rw => ok; calls => []"},
    {"a call where the effective protection changes",
     "guest 0 2 r => ok; prot 1 => r; calls => [0+2:r]; guest 0 2 r; calls => []; "
     "guest 0 1 none; calls => [0+1:none]; guest 0 2 rw; calls => [0+2:rw]"},
    {"under a watch no call for write", "upload 0 1; calls; guest 0 1 r => ok; calls => []; "
                                        "mark_cpu 0 1; prot 0 => r; calls => []; state 0 => cpu"},
    {"under a read watch no call at all",
     "upload_written 0 1; calls; guest 0 1 none; guest 0 1 rwx; "
     "calls => []; drain 0 1; calls => [0+1:rwx]"},
    {"execute is kept under a write watch",
     "guest 0 1 rwx; upload 0 1; prot 0 => rx; guest 0 1 rx; prot 0 => rx; mark_gpu 0 1; "
     "prot 0 => none; unmark_gpu 0 1; prot 0 => rx; untrack 0 1; prot 0 => rx"},
    {"never looser than the guest's own",
     "guest 0 1 none; upload 0 1; prot 0 => none; mark_cpu 0 1; prot 0 => none; state 0 => cpu"},
    {"rights over regions",
     "guest R-1 2 r => ok; calls => [1023+1:r 1024+1:r]; prot R-1 => r; prot R => r"},
    {"a new mapping over a live watch gets it",
     "upload 0 1; guest 0 1 none; guest 0 1 rw => ok; prot 0 => r"},
    {"rights round to pages", "guest b1 b1 r => ok; prot 0 => r; prot 1 => rw"},
};

static const struct script_case refused_call_cases[] = {
    {"upload rolls back",
     "fail 1; upload 0 2 => protect; state 0 => cpu; prot 0 => rw; watches 0 => 0/0; "
     "calls => []; upload 0 2 => [0+2]"},
    {"upload's second run rolls the first back",
     "upload_written 1 1; calls; fail 2; upload 0 3 => protect; state 0 => cpu; state 1 => gpu; "
     "state 2 => cpu; calls => [0+1:r 0+1:rw]"},
    {"regions before stay done",
     "fail 2; upload R-1 2 => protect; state R-1 => clean; state R => cpu; calls => [1023+1:r]"},
    {"written upload's last step rolls back to CLEAN",
     "fail 2; upload_written 0 1 => protect; state 0 => clean; prot 0 => r"},
    {"written upload's last step: regions before stay GPU",
     "fail 4; upload_written R-1 2 => protect; state R-1 => gpu; state R => clean"},
    {"mark_gpu rolls back",
     "upload 0 1; fail 1; mark_gpu 0 1 => protect; state 0 => clean; prot 0 => r"},
    {"mark_cpu rolls back",
     "upload 0 1; fail 1; mark_cpu 0 1 => protect; state 0 => clean; prot 0 => r"},
    {"unmark_gpu rolls back",
     "upload_written 0 1; fail 1; unmark_gpu 0 1 => protect; state 0 => gpu; prot 0 => none"},
    {"clearing download rolls back",
     "upload_written 0 1; fail 1; download_clear 0 1 => protect; state 0 => gpu; watches 0 => 1/1"},
    {"drain rolls back",
     "upload_written 0 1; fail 1; drain 0 1 => protect; state 0 => gpu; prot 0 => none"},
    {"untrack rolls back",
     "upload 0 1; fail 1; untrack 0 1 => protect; state 0 => clean; prot 0 => r"},
    {"invalidate rolls back",
     "upload 0 1; fail 1; invalidate 0 1 drain => protect; state 0 => clean"},
    {"watch rolls back counts and calls",
     "loose; watch_mask 0 w 2; calls; fail 2; watch_mask 0 w 0,2,4 => protect; watches 0 => 0/0; "
     "watches 2 => 1/0; prot 0 => rw; calls => [0+1:r 0+1:rw]"},
    {"unwatch rolls back", "loose; watch 0 1; watch_mask 0 w 2; guest 1 1 r; calls; fail 2; "
                           "unwatch_mask 0 w 0,2 => protect; "
                           "watches 0 => 1/0; prot 0 => r; calls => [0+1:rw 0+1:r]"},
    {"guest rights roll back",
     "loose; watch_mask 0 r 1; calls; fail 2; guest 0 3 r => protect; prot 0 => rw; prot 2 => rw; "
     "calls => [0+1:r 0+1:rw]; unwatch_mask 0 r 1; prot 1 => rw"},
    {"the failure is told once and the tracker goes on",
     "fail 1; upload 0 1 => protect; upload 0 1 => [0+1]; drain 0 1 => []; untrack 0 1 => ok"},
};

Test(pages, guest_rights)
{
    run_table("default", guest_cases, COUNT(guest_cases));
}

Test(pages, refused_host_calls)
{
    run_table("default", refused_call_cases, COUNT(refused_call_cases));
}

/* ---- faults: [M-55] to [M-58] ---- */

static const struct script_case fault_cases[] = {
    {"untouched memory is not ours", "fault 0 w => unhandled; fault 0 r => unhandled; calls => []"},
    {"a registered page that is open: retry",
     "register 0 1; fault 0 w => retry; fault b9 r => retry"},
    {"a clean page: a store makes it CPU",
     "register 0 1; upload 0 1; calls; fault b77 w => served; state 0 => cpu; calls => [0+1:rw]"},
    {"served already: retry", "register 0 1; upload 0 1; fault 0 w => served; fault 0 w => retry"},
    {"a load of a clean page: retry",
     "register 0 1; upload 0 1; fault 0 r => retry; state 0 => clean"},
    {"not registered: not ours, nothing changes",
     "upload 0 1; calls; fault 0 w => unhandled; state 0 => clean; calls => []"},
    {"byte-exact registration",
     "register b100 b50; upload 0 1; fault b99 w => unhandled; fault b150 w => unhandled; "
     "state 0 => clean; fault b100 w => served"},
    {"the last registered byte",
     "register b100 b50; upload 0 1; fault b149 w => served; state 0 => cpu"},
    {"registered twice, unregistered in the middle",
     "register b0 b100; register b50 b100; unregister b60 b10; upload 0 1; fault b65 w => "
     "unhandled; "
     "fault b69 w => unhandled; fault b70 w => served"},
    {"unregistered over a region's edge",
     "register R-1 2; unregister R-b8 b16; upload R-1 2; fault R-b8 w => unhandled; "
     "fault R+b7 w => unhandled; fault R-b9 w => served; fault R+b8 w => served"},
    {"the guest's own rights come first",
     "register 0 1; upload 0 1; guest 0 1 r; fault 0 w => unhandled; state 0 => clean; "
     "fault 0 r => retry; guest 0 1 none; fault 0 r => unhandled; fault 0 x => unhandled"},
    {"a GPU page, store: flush and hand-over",
     "layer drain clear; register 0 1; upload_written 0 1; fault 0 w => served; state 0 => cpu"},
    {"a GPU page, load: read back, page CLEAN",
     "layer drain clear; register 0 1; upload_written 0 1; fault 0 r => served; state 0 => clean; "
     "prot 0 => r; fault 0 w => served; state 0 => cpu"},
    {"a GPU page, execute: read back",
     "layer drain clear; guest 0 1 rx; register 0 1; upload_written 0 1; fault 0 x => served; "
     "state 0 => clean; prot 0 => rx; fault 0 x => retry"},
    {"execute where the guest may not", "layer drain clear; register 0 1; upload_written 0 1; "
                                        "fault 0 x => unhandled; state 0 => gpu"},
    {"only the faulting page is served",
     "layer drain clear; register 0 4; upload_written 0 4; fault 1 w => served; state 0 => gpu; "
     "state 1 => cpu; state 2 => gpu"},
    {"rights beside the page are its own",
     "register 0 2; guest 1 1 none; upload 0 2; fault 0 w => served; prot 1 => none"},
    {"outside the bands", "fault -2048R r => unhandled; fault 260096R w => unhandled"},
};

static const struct script_case wide_fault_cases[] = {
    {"eight bytes in one page", "register 0 1; upload 0 2; fault b8 w => served; state 1 => clean"},
    {"eight bytes over an edge reach the next page",
     "layer drain clear; register 0 2; upload_written 0 2; fault 1-b4 w => served; state 0 => cpu; "
     "state 1 => cpu"},
    {"the last fitting eight bytes", "layer drain clear; register 0 2; upload_written 0 2; "
                                     "fault 1-b8 w => served; state 0 => cpu; state 1 => gpu"},
    {"all eight must be registered", "register b0 b4; upload 0 1; fault b0 w => unhandled; "
                                     "register b4 b4; fault b0 w => served"},
    {"eight bytes over registered regions",
     "layer drain clear; register R-1 2; upload_written R-1 2; fault R-b1 w => served; "
     "state R-1 => cpu; state R => cpu"},
    {"eight bytes over a region's edge, the far side not registered",
     "layer drain clear; register R-1 1; upload_written R-1 2; fault R-b7 w => unhandled; "
     "fault R-b8 w => served"},
    {"a load over an edge reads both back", "layer drain clear; register 0 2; upload_written 0 2; "
                                            "fault 1-b1 r => served; state 0 => clean; "
                                            "state 1 => clean"},
};

static const struct script_case livelock_cases[] = {
    {"the eighth fault without a change",
     "loose; register 0 1; watch 0 1; "
     "fault 0 w => served; fault 0 w => served; fault 0 w => served; fault 0 w => served; "
     "fault 0 w => served; fault 0 w => served; fault 0 w => served; fault 0 w => unhandled; "
     "unwatch 0 1"},
    {"a change in between starts the count again",
     "loose; register 0 1; watch 0 1; "
     "fault 0 w; fault 0 w; fault 0 w; fault 0 w; fault 0 w; fault 0 w; fault 0 w => served; "
     "watch 1 1; fault 0 w => served; fault 0 w => served; unwatch 0 2"},
    {"another page in between starts the count again",
     "loose; register 0 2; watch 0 2; "
     "fault 0 w; fault 0 w; fault 0 w; fault 0 w; fault 0 w; fault 0 w; fault 0 w => served; "
     "fault 1 w => served; fault 0 w => served; unwatch 0 2"},
    {"another access in between starts the count again",
     "loose; register 0 1; watch 0 1; "
     "fault 0 w; fault 0 w; fault 0 w; fault 0 w; fault 0 w; fault 0 w; fault 0 w => served; "
     "fault 0 r => retry; fault 0 w => served; unwatch 0 1"},
    {"faults that are not ours are not counted",
     "loose; watch 0 1; "
     "fault 0 w; fault 0 w; fault 0 w; fault 0 w; fault 0 w; fault 0 w; fault 0 w; fault 0 w; "
     "fault 0 w; register 0 1; fault 0 w => served; unwatch 0 1"},
};

Test(pages, faults)
{
    run_table("default", fault_cases, COUNT(fault_cases));
    run_table("strict", fault_cases, COUNT(fault_cases));
    run_table("kyty-2026-08", wide_fault_cases, COUNT(wide_fault_cases));
    run_table("default", livelock_cases, COUNT(livelock_cases));
}

Test(pages, wide_faults_under_verify)
{
    struct trk_policy policy;
    cr_assert_eq(trk_policy_preset("default", &policy), TRK_OK);
    policy.fault_width_bytes = 8;
    for (size_t i = 0; i < COUNT(wide_fault_cases); i++) {
        const char *problem = script_run(&policy, wide_fault_cases[i].steps);
        cr_expect_null(problem, "%s: %s", wide_fault_cases[i].name, problem != NULL ? problem : "");
    }
}

/* An unserved access that is not ours must not be told as a failure. */
Test(pages, unhandled_faults_are_no_failures)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);
    struct trk_policy policy;
    cr_assert_eq(trk_policy_preset("default", &policy), TRK_OK);
    fixture_open(fixture, &policy, 0);
    cr_assert_eq(trk_pages_watch(fixture->tracker, FIXTURE_BASE, 4096), TRK_OK);
    for (int i = 0; i < 20; i++)
        cr_expect_eq(trk_tracker_fault(fixture->tracker, FIXTURE_BASE, TRK_ACCESS_WRITE),
                     TRK_FAULT_UNHANDLED);
    cr_expect_eq(fixture->failures, 0, "%s", fixture->failure.text);
    cr_assert_eq(trk_pages_unwatch(fixture->tracker, FIXTURE_BASE, 4096), TRK_OK);
    fixture_close(fixture);
    free(fixture);
}

Test(pages, destruction_with_live_watches_fails)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);
    struct trk_policy policy;
    cr_assert_eq(trk_policy_preset("default", &policy), TRK_OK);
    fixture_open(fixture, &policy, 0);
    cr_assert_eq(trk_pages_watch(fixture->tracker, FIXTURE_BASE, 3 * 4096), TRK_OK);
    cr_expect_eq(trk_pages_live_watches(fixture->tracker), 3);
    fixture_close(fixture);
    cr_expect_eq(fixture->failures, 1);
    cr_expect_eq(fixture->failure.failure_class, TRK_E_WATCH);
    free(fixture);
}
