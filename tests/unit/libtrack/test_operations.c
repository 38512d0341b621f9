/*
 * Goal: operations [M-7] to [M-24], [M-28] to [M-33], [M-63]: what an operation changes, reports,
 * refuses and asks of the host.
 * Method: tables of scripts (script.h) under each policy that the row depends on; after every step
 * all pages are compared with the three legal states and the host.
 */
#include <criterion/criterion.h>

#include "script.h"

#define COUNT(table) (sizeof(table) / sizeof(table)[0])

static struct trk_policy preset(const char *name)
{
    struct trk_policy policy;
    cr_assert_eq(trk_policy_preset(name, &policy), TRK_OK);
    return policy;
}

static void run_table(const struct trk_policy *policy, const struct script_case *cases,
                      size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *problem = script_run(policy, cases[i].steps);
        cr_expect_null(problem, "%s: %s", cases[i].name, problem != NULL ? problem : "");
    }
}

static const struct script_case state_cases[] = {
    {"untouched memory is the CPU's", "is_cpu 0 1 => 1; is_gpu 0 1 => 0; state 5 => cpu; prot 5 => "
                                      "rw; watches 5 => 0/0; calls => []"},
    {"CPU to CLEAN by upload",
     "upload 1 2 => [1+2]; state 1 => clean; prot 2 => r; watches 1 => 1/0; "
     "is_cpu 1 2 => 0; is_cpu 0 2 => 1; calls => [1+2:r]"},
    {"CLEAN to GPU by mark_gpu", "upload 0 2; mark_gpu 0 2 => ok; state 0 => gpu; prot 1 => none; "
                                 "watches 1 => 1/1; is_gpu 1 1 => 1; calls => [0+2:r 0+2:none]"},
    {"GPU to CLEAN by unmark_gpu",
     "upload 0 2; mark_gpu 0 2; calls; unmark_gpu 0 1 => ok; state 0 => clean; state 1 => gpu; "
     "prot 0 => r; calls => [0+1:r]"},
    {"GPU to CLEAN by a clearing download",
     "upload_written 0 2; calls; download_clear 0 4 => [0+2]; state 1 => clean; is_gpu 0 2 => 0; "
     "calls => [0+2:r]"},
    {"CLEAN to CPU by mark_cpu",
     "upload 0 2; calls; mark_cpu 0 1 => ok; state 0 => cpu; prot 0 => rw; watches 0 => 0/0; "
     "state 1 => clean; calls => [0+1:rw]"},
    {"CLEAN to CPU by invalidate", "upload 0 2; invalidate 0 1 drain => flush 0; state 0 => cpu"},
    {"CLEAN to CPU by untrack", "upload 0 2; untrack 0 2 => ok; state 1 => cpu; prot 1 => rw"},
    {"CPU to GPU is a conflict", "mark_gpu 0 1 => conflict; state 0 => cpu; calls => []"},
    {"CPU to GPU in part is a conflict and changes nothing",
     "upload 0 2; calls; mark_gpu 0 3 => conflict; state 0 => clean; calls => []"},
    {"CPU to GPU in another region is a conflict and changes nothing",
     "upload R-1 1; calls; mark_gpu R-1 2 => conflict; state R-1 => clean; calls => []"},
    {"GPU to CPU is a conflict and changes nothing",
     "upload 0 4; mark_gpu 3 1; calls; mark_cpu 0 4 => conflict; state 0 => clean; calls => []"},
    {"GPU to CPU in a later region is a conflict and changes nothing",
     "upload R-1 2; mark_gpu R 1; mark_cpu R-1 2 => conflict; state R-1 => clean"},
    {"mark_gpu of GPU pages is legal and makes no call",
     "upload 0 2; mark_gpu 0 1; calls; mark_gpu 0 2 => ok; calls => [1+1:none]"},
    {"mark_cpu of CPU pages makes no call", "mark_cpu 0 8 => ok; calls => []; is_cpu 0 8 => 1"},
    {"mark_cpu drops one watch only", "loose; upload 0 1; watch 0 1; mark_cpu 0 1 => ok; "
                                      "watches 0 => 1/0; prot 0 => r; state 0 => cpu"},
};

static const struct script_case rounding_cases[] = {
    {"a byte takes its page", "upload b5 b1 => [0+1]"},
    {"two bytes over an edge take two pages", "upload 1-b1 b2 => [0+2]"},
    {"a page's exact bytes take it alone", "upload 1 1 => [1+1]; state 0 => cpu; state 2 => cpu"},
    {"a page and a byte", "upload 1 1+b1 => [1+2]"},
    {"one byte less than a page behind an edge", "upload 1+b1 1-b1 => [1+1]"},
    {"queries round too",
     "upload 0 1; is_cpu b0 1 => 0; is_cpu b4095 b1 => 0; is_cpu b4095 b2 => 1"},
    {"runs are maximal, ascending and split at region edges",
     "upload 0 1; upload 2 1; upload 0 4 => [1+1 3+1]; upload R-2 4 => [1022+2 1024+2]"},
    {"runs over word edges are one", "upload 60 8 => [60+8]; upload 62 70 => [68+64]"},
    {"a whole region is one run", "upload R R => [1024+1024]; upload R R => []"},
    {"three regions in one range",
     "upload R-1 R+2 => [1023+1 1024+1024 2048+1]; calls => [1023+1:r 1024+1024:r 2048+1:r]"},
    {"download reports GPU runs only",
     "upload 0 8; mark_gpu 1 2; mark_gpu 5 1; download 0 8 => [1+2 5+1]; state 1 => gpu"},
    {"download of untouched memory", "download 0 2R => []; download_clear 0 2R => []; calls => []"},
};

static const struct script_case transfer_cases[] = {
    {"upload of clean pages reports nothing", "upload 0 2; calls; upload 0 2 => []; calls => []"},
    {"upload of GPU pages reports nothing and leaves them",
     "upload_written 0 2; calls; upload 0 2 => []; state 0 => gpu; calls => []"},
    {"written upload takes everything",
     "upload 1 1; calls; upload_written 0 3 => [0+1 2+1]; state 0 => gpu; state 1 => gpu; "
     "calls => [0+3:r 0+3:none]"},
    {"written upload over GPU pages makes no call for them",
     "upload_written 1 1; calls; upload_written 0 3 => [0+1 2+1]; "
     "calls => [0+1:r 2+1:r 0+3:none]"},
    {"written upload again reports and calls nothing",
     "upload_written 0 3; calls; upload_written 0 3 => []; calls => []"},
    {"written upload rounds to pages", "upload_written b100 1 => [0+2]; state 1 => gpu"},
    {"written upload over regions",
     "upload_written R-1 2 => [1023+1 1024+1]; state R-1 => gpu; state R => gpu; "
     "calls => [1023+1:r 1024+1:r 1023+1:none 1024+1:none]"},
    {"drain hands over to the CPU",
     "upload 0 4; mark_gpu 1 2; calls; drain 0 4 => [1+2]; state 0 => clean; state 1 => cpu; "
     "prot 1 => rw; watches 2 => 0/0; calls => [1+2:rw]"},
    {"drain of untouched memory", "drain 0 2R => []"},
    {"unmark_gpu leaves CPU and CLEAN alone",
     "upload 1 1; calls; unmark_gpu 0 3 => ok; state 0 => cpu; state 1 => clean; calls => []"},
    {"untrack over GPU is refused before any change",
     "upload 0 4; mark_gpu 2 1; calls; untrack 0 4 => untrack; state 0 => clean; state 2 => gpu; "
     "calls => []"},
    {"untrack over GPU in a later region is refused before any change",
     "upload R-1 2; mark_gpu R 1; calls; untrack R-1 2 => untrack; state R-1 => clean; calls => "
     "[]"},
    {"untrack opens both sides of an edge",
     "upload R-1 2; calls; untrack R-1 2 => ok; state R-1 => cpu; calls => [1023+1:rw 1024+1:rw]"},
};

static const struct script_case refusal_cases[] = {
    {"empty ranges",
     "is_cpu 0 0 => range; is_gpu 0 0 => range; mark_cpu 0 0 => range; mark_gpu 0 0 => range; "
     "unmark_gpu 0 0 => range; untrack 0 0 => range; upload 0 0 => range; download 0 0 => range; "
     "upload_written 0 0 => range; download_clear 0 0 => range; drain 0 0 => range; "
     "invalidate 0 0 drain => range; register 0 0 => range; unregister 0 0 => range; "
     "guest 0 0 rw => range; watch 0 0 => range; unwatch 0 0 => range"},
    /* FIXTURE_BASE is 2048 regions up: -2048R is address 0, 260096R the low band's end. */
    {"page 0",
     "upload -2048R b1 => range; mark_cpu -2048R+b1 b1 => range; upload -2048R 2 => range"},
    {"first valid page is not refused", "is_gpu -2048R+1 1 => 0; is_cpu -2048R+b4096 b1 => 1"},
    {"over the low band's end",
     "is_cpu 260096R-1 1 => 1; is_gpu 260096R-1 1 => 0; upload 260096R-1 1+b1 => range; "
     "untrack 260096R b1 => range; invalidate 260096R-b1 b2 drain => range"},
    {"wrapping sizes", "mark_gpu 0 -1 => range; download 0 b0-b1 => range"},
    {"locks by hand",
     "lock 5 => ok; unlock 7 => ok; unlock 5 => lock; lock 0 => ok; lock 1 => lock; "
     "lock R => ok; unlock 0 => ok; unlock R => ok; unlock 2R => lock"},
    {"operations under a lock held by hand",
     "lock 0; upload R 1 => [1024+1]; upload 0 1 => lock; is_cpu R-1 2 => lock; unlock 0; "
     "upload 0 1 => [0+1]"},
    {"lock needs a valid place", "lock -2048R => range; unlock -2048R => range"},
};

Test(operations, states_under_every_preset)
{
    static const char *const presets[] = {"default", "strict", "kyty-2026-08"};
    for (size_t i = 0; i < COUNT(presets); i++) {
        struct trk_policy policy = preset(presets[i]);
        run_table(&policy, state_cases, COUNT(state_cases));
        run_table(&policy, rounding_cases, COUNT(rounding_cases));
        run_table(&policy, transfer_cases, COUNT(transfer_cases));
        run_table(&policy, refusal_cases, COUNT(refusal_cases));
    }
}

/* ---- larger tracker pages ---- */

static const struct script_case pages_16k_cases[] = {
    {"a byte takes four host pages", "upload b1 b1 => [0+4]; calls => [0+4:r]; state 3 => clean"},
    {"two bytes over an edge take eight", "upload 4-b1 b2 => [0+8]"},
    {"states move together",
     "upload 5 1 => [4+4]; mark_cpu 6 1 => ok; state 4 => cpu; state 7 => cpu"},
    {"a conflict one host page away", "upload 0 4; mark_gpu 3 1; mark_cpu 0 1 => conflict"},
    {"a region's last tracker page", "upload R-1 1 => [1020+4]; upload R-1 2 => [1024+4]"},
    {"guest rights keep their 4 KiB",
     "guest 1 1 r => ok; prot 0 => rw; prot 1 => r; upload 0 1; prot 1 => r; mark_cpu 0 1; "
     "prot 0 => rw; prot 1 => r; prot 2 => rw"},
};

static const struct script_case pages_64k_cases[] = {
    {"a byte takes sixteen host pages", "upload 17 b1 => [16+16]; state 31 => clean"},
    {"runs of tracker pages", "upload 0 1; upload 32 1; upload 0 48 => [16+16]"},
    {"a region's last tracker page",
     "upload_written R-1 1 => [1008+16]; drain 1010 1 => [1008+16]"},
};

Test(operations, larger_tracker_pages)
{
    struct trk_policy policy = preset("default");
    policy.page_size_bytes = 16384;
    run_table(&policy, pages_16k_cases, COUNT(pages_16k_cases));
    policy.page_size_bytes = 65536;
    run_table(&policy, pages_64k_cases, COUNT(pages_64k_cases));
}

/* ---- invalidate: [M-28] to [M-33] ---- */

static const struct script_case invalidate_whole_cases[] = {
    {"no GPU page: the range becomes CPU, no flush",
     "upload 0 3; calls; invalidate 0 3 drain => flush 0; state 2 => cpu; calls => [0+3:rw]"},
    {"untouched memory", "invalidate 0 2R drain => flush 0; calls => []"},
    {"a GPU page: one flush",
     "upload_written 0 3; invalidate 0 3 drain => flush 1; state 1 => cpu"},
    {"CLEAN pages beside the GPU page become CPU too",
     "upload 0 4; mark_gpu 1 1; invalidate 0 4 drain => flush 1; state 0 => cpu; state 3 => cpu"},
    {"a flush that leaves CLEAN",
     "upload_written 0 2; invalidate 0 2 clear => flush 1; state 0 => cpu"},
    {"a flush that does nothing", "upload_written 0 2; calls; invalidate 0 2 nothing => retained; "
                                  "state 0 => gpu; calls => []"},
    {"no flush counts as one that does nothing",
     "upload_written 0 1; invalidate 0 1 null => retained; state 0 => gpu; upload 1 1; "
     "invalidate 1 1 null => flush 0"},
    {"a flush that leaves a page",
     "upload_written 0 3; invalidate 0 3 part => retained; state 0 => cpu; state 2 => gpu"},
    {"a flush over regions is one",
     "upload_written R-2 4; invalidate R-2 4 drain => flush 1; state R-2 => cpu; state R+1 => cpu"},
    {"only its own range counts",
     "upload_written 0 4; invalidate 1 2 drain => flush 1; state 0 => gpu; state 3 => gpu"},
    {"part of the retained in the second region",
     "upload_written R-1 2; invalidate R-1 2 part => retained; state R-1 => cpu; state R => gpu"},
};

static const struct script_case invalidate_verify_cases[] = {
    {"taken anew once", "upload_written 0 2; invalidate 0 2 take:1 => flush 2; state 0 => cpu"},
    {"taken anew seven times",
     "upload_written 0 2; invalidate 0 2 take:7 => flush 8; state 1 => cpu"},
    {"taken anew eight times",
     "upload_written 0 2; invalidate 0 2 take:8 => livelock; state 0 => gpu"},
    {"taken anew always",
     "upload_written R-1 2; invalidate R-1 2 take:99 => livelock; state R => gpu"},
    {"left and taken again in between is taken anew",
     "upload_written 0 1; invalidate 0 1 keep => livelock; state 0 => gpu"},
};

static const struct script_case invalidate_strict_cases[] = {
    {"taken anew once is fatal",
     "upload_written 0 2; invalidate 0 2 take:1 => retained; state 0 => gpu"},
    {"left and taken again is fatal", "upload_written 0 1; invalidate 0 1 keep => retained"},
};

static const struct script_case invalidate_per_region_cases[] = {
    {"no GPU page", "upload 0 3; invalidate 0 3 drain => flush 0; state 0 => cpu"},
    {"the flush hands over itself",
     "upload 0 4; mark_gpu 1 1; invalidate 0 4 drain => flush 1; state 0 => clean; state 1 => cpu"},
    {"nothing is verified",
     "upload_written 0 2; invalidate 0 2 nothing => flush 1; state 0 => gpu"},
    {"each region alone: the GPU one first",
     "upload_written R-1 1; upload R 1; invalidate R-1 2 drain => flush 1; state R-1 => cpu; "
     "state R => cpu"},
    {"each region alone: flush may come twice",
     "upload_written R-1 2; invalidate R-1 2 nothing => flush 2; state R => gpu"},
    {"one flush may serve both",
     "upload_written R-1 2; invalidate R-1 2 drain => flush 1; state R => cpu"},
};

Test(operations, invalidate)
{
    struct trk_policy policy = preset("default");
    run_table(&policy, invalidate_whole_cases, COUNT(invalidate_whole_cases));
    run_table(&policy, invalidate_verify_cases, COUNT(invalidate_verify_cases));
    policy = preset("strict");
    run_table(&policy, invalidate_whole_cases, COUNT(invalidate_whole_cases));
    run_table(&policy, invalidate_strict_cases, COUNT(invalidate_strict_cases));
    policy = preset("kyty-2026-08");
    run_table(&policy, invalidate_per_region_cases, COUNT(invalidate_per_region_cases));
}
