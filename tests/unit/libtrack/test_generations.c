/*
 * Goal: generations [M-64] to [M-71]: sums, arming, what moves them on and what forgets
 * them, the order of decisions in the fault handler, what a refused call leaves; and the emulator's
 * checked write.
 * Method: tables of programs (gen_script.h); the handed cases of scenarios/handed/generations by
 * their names, on the core itself.
 */
#include <criterion/criterion.h>

#include "gen_script.h"
#include "track/generations.h"
#include "track/hle.h"

#define COUNT(table) (sizeof(table) / sizeof(table)[0])

static struct trk_policy policy_with(uint32_t page_size_bytes, bool generations)
{
    struct trk_policy policy;
    cr_assert_eq(trk_policy_preset("default", &policy), TRK_OK);
    policy.page_size_bytes = page_size_bytes;
    policy.generations = generations;
    return policy;
}

static void run_table(const struct trk_policy *policy, const struct gen_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *problem = gen_script_run(policy, cases[i].steps);
        cr_expect_null(problem, "%s (%u): %s", cases[i].name, policy->page_size_bytes,
                       problem != NULL ? problem : "");
    }
}

static void run_with_each_page_size(const struct gen_case *cases, size_t count)
{
    static const uint32_t sizes[] = {4096, 16384, 65536};
    for (size_t i = 0; i < COUNT(sizes); i++) {
        struct trk_policy policy = policy_with(sizes[i], true);
        run_table(&policy, cases, count);
    }
}

static const struct gen_case handed_cases[] = {
    {"changed-generation-expected-unchanged",
     "gen_track A 1G => new g; store A => handled; gen A 1G => not g"},
    {"emulator-write-always-advances",
     "gen_track A 2G => new g1; gen A+G 1G => new h1; gen_hle A+8 16 => ok; gen A 2G => not g1; "
     "gen A 2G => new g2; gen A+G 1G => same h1; prot A => rw; prot A+G => r; gen_hle A+8 16; "
     "gen A 2G => not g2; gen A 2G => not g1; gen_hle A+G 1; gen A+G 1G => not h1; prot A+G => rw"},
    {"guest-protect-forgets",
     "gen_track A 2G => new g1; gen A+G 1G => new h1; guest A 1G rw => ok; gen A 2G => 0; "
     "gen A 1G => 0; gen A+G 1G => same h1; prot A => rw; prot A+G => r; gen_track A 2G => new g2; "
     "gen A 2G => not g1; gen_hle A 2G => ok"},
    {"nothing-to-track",
     "gen_track A 0 => 0; gen A 0 => 0; gen_track A 1G => new g1; gen A 1G => same g1; "
     "gen A 2G => 0; gen A+G 1G => 0; prot A+G => rw; gen_track A+G 1G => new h1; "
     "gen A 2G => new s; gen A 2G => not g1; gen A 1G => same g1; gen_hle A 2G"},
    {"read-only-memory-is-registered-not-armed",
     "guest A 2G r; gen_track A 1G => new g1; prot A => r; store A => unhandled; gen A 1G => same "
     "g1; guest A 1G rw => ok; gen A 1G => 0; store A => silent"},
    {"remapped-elsewhere-and-back",
     "gen_map A 1G 0 rw => replaced; gen_track A 1G => new g1; gen_map A 1G 0x4000 rw => replaced; "
     "gen A 1G => 0; gen_map A 1G 0 rw => replaced; gen A 1G => 0; gen_track A 1G => new g2; "
     "gen A 1G => not g1; gen_hle A 1G"},
    {"same-mapping-again-keeps-the-view",
     "gen_map A 4G 0 rw => replaced; gen_track A 2G => new g1; gen_map A 4G 0 rw => kept; "
     "gen A 2G => same g1; gen_hle A+8 8; gen A 2G => new g2; gen_map A 4G 0 rw => kept; "
     "gen A 2G => same g2; gen_map A 4G 0x4000 rw => replaced; gen A 2G => 0; "
     "gen_track A 2G => new g3; gen_map A 4G 0x4000 r => replaced; gen A 2G => 0; prot A => r"},
    {"store-advances-once",
     "gen_track A 2G => new g1; store A+G+4 => handled; gen A 2G => not g1; gen A 2G => new g2; "
     "store A+G+8 => silent; store A+2G-8 => silent; gen A 2G => same g2; "
     "gen_track A 2G => same g2; store A+G+8 => handled; gen A 2G => not g2; load A+G+8 => silent; "
     "gen_hle A 2G"},
    {"tracked-range-has-a-generation",
     "gen A 2G => 0; gen_track A 2G => new g1; gen A 2G => same g1; gen_track A 2G => same g1; "
     "prot A => r; prot A+2G-P => r; prot A+2G => rw; load A+2G-1 => silent; gen A 2G => same g1; "
     "gen_hle A 2G"},
    {"two-stores-into-foreign-armed-memory",
     "gen_track A 1G => new g; fault A+8 w => served; fault A+P+8 w => retry; gen A 1G => not g; "
     "prot A => rw; gen_track A 1G => new h; late A+P+8 w => retry; gen A 1G => not h; "
     "prot A => rw"},
    {"unmap-forgets",
     "guest A 2G none; gen_map A 2G 0 rw => replaced; gen_track A 2G => new g1; "
     "guest A 2G none => ok; gen A 2G => 0; gen_map A 2G 0 rw => replaced; gen A 2G => 0; "
     "prot A => rw; store A => silent; gen_track A 2G => new g2; gen A 2G => not g1; gen_hle A 2G"},
    {"unreadable-bytes-cannot-be-tracked",
     "guest A+2G 1G none => ok; gen_track A 3G => fail; gen A 1G => 0; prot A => rw; "
     "gen_track A 2G => new g; guest A+3G 1G none => ok; gen_track A+3G-1 2 => fail; "
     "gen A 2G => same g; guest A+2G 1G r => ok; gen_track A 3G => new h; prot A+2G => r; "
     "gen_hle A 3G"},
};

/* The tracker's own pages are 4 KiB here, as in the handed file. */
static const struct gen_case both_cases[] = {
    {"both-trackers-on-one-page",
     "register A 4G; upload A 4P; gen_track A 1G => new g1; prot A => r; store A+P+8 => handled; "
     "gen A 1G => not g1; is_cpu A+P 1P => 1; is_cpu A 1P => 0; prot A+P => rw; prot A => r; "
     "untrack A 4P => ok; prot A => rw"},
    {"one fault for both", "register A 1G; upload A 4P; gen_track A 1G; calls; "
                           "fault A+P w => served; calls => [1+1:rw]; is_cpu A+P 1P => 1; "
                           "is_cpu A 1P => 0; fault A+P w => retry; fault A w => served"},
    {"the other thread served both", "register A 1G; upload A 1P; gen_track A 1G => new g; "
                                     "late A w => served; gen A 1G => not g; is_cpu A 1P => 1"},
    {"a GPU page is flushed once",
     "register A 1G; upload A 1P; mark_gpu A 1P; gen_track A 1G => new g; prot A => none; "
     "store A => handled; flushes => [0+1]; gen A 1G => not g; prot A+P => rw"},
    {"a load is no store",
     "register A 1G; upload A 1P; mark_gpu A 1P; gen_track A 1G => new g; "
     "load A => handled; gen A 1G => same g; prot A => r; store A => handled; "
     "gen A 1G => not g"},
    {"opened and armed anew since the look",
     "gen_track A 1G => new g; rearmed A w A => retry; gen A 1G => not g; prot A => r"},
    {"a watch on memory that the GPU does not know",
     "upload A 1P; gen_track A 1G => new g; fault A w => served; prot A => r; fault A w => "
     "unhandled; gen A 1G => not g; prot A+P => rw; untrack A 1P => ok"},
};

static const struct gen_case sum_cases[] = {
    {"bytes are rounded out", "gen_track A+G+5 1 => new g; gen A+G 1G => same g; "
                              "gen A+2G-1 1 => same g; gen A+G-1 2 => 0; prot A+G => r; "
                              "prot A+2G-P => r; prot A+2G => rw; prot A+G-P => rw"},
    {"pages and orders differ",
     "gen_track A 1G => new a; gen_track A+G 1G => new b; gen A 1G => not b; gen A 2G => new c; "
     "gen A 2G => not a; gen A 2G => not b; gen A+G 1G => not c"},
    {"a known page keeps its generation beside new ones",
     "gen_track A+G 1G => new b; gen_track A 3G; gen A+G 1G => same b; gen A+2G 1G => not b"},
    {"over a region's edge", "gen_track Z+R-G 2G => new g; prot Z+R-P => r; prot Z+R => r; "
                             "store Z+R => handled; gen Z+R-G 2G => not g; prot Z+R-P => r; "
                             "gen_track Z+R-G 1G; gen_hle Z+R-1 2; prot Z+R-P => rw"},
    {"a whole region and more",
     "gen_track Z 2R => new g; gen Z 2R => same g; store Z+R => handled; "
     "gen Z 2R => not g; gen_hle Z 2R; prot Z+R-P => rw"},
    {"0 is no generation",
     "newest 0xffffffffffffffff; gen_track A 1G => new g; gen A 1G => same g; "
     "newest 0xffffffffffffffff; store A => handled; gen A 1G => new h"},
    {"outside the bands",
     "gen_track 0 1P => fail; gen 0 1P => 0; gen_hle 0 1P => ok; gen_track 0x10000000000-P 2P => "
     "fail; gen 0x10000000000-P 2P => 0; gen_hle 0x10000000000-P 2P => ok; "
     "gen_track A 0xffffffffffffffff => fail; gen_hle A 0 => ok"},
    {"nothing of a refused range is armed",
     "guest Z+2R-P 1P none; gen_track Z 2R => fail; prot Z => rw; gen Z 1G => 0; "
     "gen_track Z+2R-G 3P => new g; prot Z+2R-P => none; prot Z+2R-2P => r; "
     "gen_track Z+2R-G 1G => fail; gen Z+2R-G 1G => same g"},
};

static const struct gen_case call_cases[] = {
    {"one call a run, none when armed",
     "gen_track A 2G; calls => [0+8:r]; gen_track A 2G; calls => []; store A+G; "
     "calls => [4+4:rw]; gen_track A 2G; calls => [4+4:r]; gen_hle A 2G; calls => [0+8:rw]; "
     "gen_hle A 2G; calls => []"},
    {"execute is kept",
     "guest A 1G rwx; gen_track A 1G => new g; prot A => rx; store A => handled; "
     "prot A => rwx; gen A 1G => not g"},
    {"only what the guest may write", "guest A+P 1P r; calls; gen_track A 1G; armed A+P => 0; "
                                      "armed A => 1; armed A+G => 0; "
                                      "calls => [0+4:r]; store A+P => unhandled; "
                                      "store A => handled; calls => [0+1:rw 2+2:rw]"},
    {"rights change in one call",
     "gen_track A 1G; calls; guest A 1G none; calls => [0+4:none]; "
     "guest A 1G rw; gen_track A 1G; calls; guest A 1G r; calls => []; "
     "guest A 1G rw; gen_track A 1G; calls; guest A+P 1P rw; "
     "calls => [0+4:rw]; gen A 1G => 0"},
    {"arming is one more client", "upload A 1P; calls; gen_track A 1G; calls => [1+3:r]; gen_hle A "
                                  "1; calls => [1+3:rw]; prot A => r; untrack A 1P"},
};

static const struct gen_case refused_call_cases[] = {
    {"track", "fail 1; gen_track A 1G => protect; gen A 1G => 0; prot A => rw; "
              "gen_track A 1G => new g; prot A => r"},
    {"track, second region", "fail 2; gen_track Z+R-G 2G => protect; gen Z+R-G 1G => new a; "
                             "gen Z+R 1G => 0; prot Z+R-P => r; prot Z+R => rw"},
    {"notify", "gen_track A 1G => new g; fail 1; gen_hle A 1 => protect; gen A 1G => same g; "
               "prot A => r; gen_hle A 1 => ok; gen A 1G => not g"},
    {"store", "gen_track A 1G => new g; fail 1; store A => unhandled; gen A 1G => same g; "
              "store A => handled; gen A 1G => not g"},
    {"guest rights that cannot be given back",
     "gen_track A 1G => new g; fail 1; guest A 1G rw => protect; gen A 1G => 0; prot A => r; "
     "store A => handled; gen A 1G => 0; gen_track A 1G => new h; gen A 1G => not g"},
    {"hle_write", "gen_track A 1G => new g; fail 1; hle_write A 8 => protect; gen A 1G => same g; "
                  "hle_write A 8 => ok; gen A 1G => not g"},
};

static const struct gen_case map_cases[] = {
    {"any difference replaces",
     "gen_map A 2G 0 rw => replaced; gen_track A 1G => new g; gen_map A 1G 0 rw => replaced; "
     "gen A 1G => 0; gen_map A 2G 0 rw => replaced; gen_map A 2G 0 rw => kept; "
     "gen_map A 2G 4096 rw => replaced; gen_map A 2G 4096 rwx => replaced; "
     "gen_map A+G 2G 4096 rwx => replaced; gen_map A 2G 4096 rwx => replaced; prot A => rwx"},
    {"neighbours are kept",
     "gen_map A 1G 0 rw; gen_map A+G 1G 0 rw; gen_map A+2G 1G 0 rw; gen_track A 3G; "
     "gen A 1G => new a; gen A+2G 1G => new c; gen_map A+G 1G 64 rw => replaced; "
     "gen A 1G => same a; gen A+G 1G => 0; gen A+2G 1G => same c; gen_map A 1G 0 rw => kept; "
     "gen_map A+2G 1G 0 rw => kept; gen_map A 3G 0 rw => replaced; gen_map A+G 1G 64 rw => "
     "replaced"},
    {"rights over the whole view change the view",
     "gen_map A 2G 0 rw; guest A 2G r; gen_map A 2G 0 rw => replaced; guest A 2G r; "
     "gen_track A 1G => new g; gen_map A 2G 0 r => kept; gen A 1G => same g"},
    {"rights over a part forget it",
     "gen_map A 2G 0 rw; gen_track A 2G; gen A+G 1G => new b; guest A 1P rw; gen A+G 1G => same b; "
     "gen_map A 2G 0 rw => replaced; gen A+G 1G => 0; gen_map A 2G 0 rw => kept"},
    {"many views",
     "gen_map Z+9P 1P 9 rw; gen_map Z+1P 1P 1 rw; gen_map Z+5P 1P 5 rw; gen_map Z+3P 1P 3 rw; "
     "gen_map Z+7P 1P 7 rw; gen_map Z+5P 1P 5 rw => kept; gen_map Z+1P 1P 1 rw => kept; "
     "gen_map Z+9P 1P 9 rw => kept; gen_map Z+2P 6P 0 rw => replaced; gen_map Z+1P 1P 1 rw => "
     "kept; gen_map Z+9P 1P 9 rw => kept; gen_map Z+7P 1P 7 rw => replaced"},
    {"what is unmapped is no view", "gen_map A 1G 0 rw; guest A 1G none; gen_map A 1G 0 none => "
                                    "replaced; gen_map A 1G 0 none => replaced; prot A => none"},
    {"refused", "gen_map A+1 1G 0 rw => fail; gen_map A 5 0 rw => fail; gen_map A 0 0 rw => range; "
                "gen_map 0 1P 0 rw => range; fail 1; gen_map A 1G 0 r => protect; "
                "gen_map A 1G 0 r => replaced; prot A => r"},
};

static const struct gen_case view_cases[] = {
    {"a store through another registered view",
     "register A 1G; register B 1G; join A B 1G; gen_track A 1G => new g; prot B => r; "
     "fault B+P w => served; gen A 1G => not g; prot A => rw; prot B => rw; gen B 1G => 0"},
    {"both views tracked",
     "register A 1G; register B 1G; join A B 1G; gen_track A 1G => new a; gen_track B 1G => new b; "
     "fault A w => served; gen A 1G => not a; gen B 1G => not b; prot A => rw; prot B => rw"},
    {"a view that is not registered is silent",
     "register A 1G; join A B 1G; gen_track A 1G => new g; prot B => rw; store B => silent; "
     "gen A 1G => same g"},
    {"its own generation always applies",
     "register A 1G; join A B 1G; gen_track B 1G => new g; prot A => rw; store A => silent; "
     "store B => handled; gen B 1G => not g"},
    {"pages of a GPU view", "register A 1G; register B 1G; join A B 1G; upload A 1P; upload B 1P; "
                            "mark_gpu A 1P; gen_track B 1G => new g; prot B => none; "
                            "store B => handled; flushes => [0+1]; gen B 1G => not g; "
                            "is_cpu A 1P => 1; is_cpu B 1P => 1; prot A => rw"},
    {"a load through another view",
     "register A 1G; register B 1G; join A B 1G; upload B 1P; mark_gpu B 1P; upload A 1P; "
     "load A => handled; flushes => [1024+1]; prot A => r; untrack A 1P; untrack B 1P => ok"},
    {"hle_write tells every registered view",
     "register A 1G; register B 1G; join A B 1G; upload A 2P; upload B 2P; mark_gpu A 2P; "
     "gen_track B 1G => new g; hle_write A+8 4097 => ok; flushes => [0+2]; gen B 1G => not g; "
     "is_cpu B 1P => 1; is_cpu B+P 1P => 1; prot B => rw"},
    {"another view's lock is held by this thread",
     "register A 2G; register B 1G; join A B 1G; upload A 1P; upload B 1P; upload A+G 1P; lock B; "
     "store A => unhandled; is_cpu A 1P => 0; hle_write A 8 => lock; is_cpu A 1P => 0; "
     "hle_write A+G 8 => ok; unlock B => ok; store A => handled; is_cpu B 1P => 1"},
    {"hle_write, views ascending",
     "register A 1G; register B 1G; join A B 1G; upload A 1P; upload B 1P; mark_gpu A 1P; "
     "upload A+P 1P; upload B+P 1P; mark_gpu B 1P; hle_write B 8 => ok; flushes => [0+1 1024+1]"},
};

/* A fault of 8 bytes of which the last lie behind what is registered: generations' alone. */
static const struct gen_case wide_cases[] = {
    {"served by generations", "register A 1G; upload A 1G; gen_track A 1G => new g; "
                              "fault A+G-4 w => served; gen A 1G => not g; is_cpu A+3P 1P => 0; "
                              "untrack A 1G"},
    {"another view is armed anew since the look",
     "register A 1G; register B 1G; join A B 1G; gen_track B 1G => new g; "
     "rearmed A+G-4 w B+3P => retry; gen B 1G => not g; prot A+3P => r; "
     "fault A+G-4 w => served; prot B => rw"},
};

static const struct gen_case hle_cases[] = {
    {"denied", "guest A 1P r; hle_write A 8 => denied; hle_write A+P-1 2 => denied; "
               "hle_write A+P 8 => ok"},
    {"denied over the edge", "guest A+P 1P r; upload A 1P; gen_track A 1P => new g; "
                             "hle_write A+P-4 8 => denied; gen A 1P => same g; is_cpu A 1P => 0; "
                             "untrack A 1P"},
    {"denied in a hole of a later region", "guest Z+R 1P none; hle_write Z+R-8 16 => denied"},
    {"each run once",
     "register A 2P; register A+3P 1P; upload A 4P; mark_gpu A 4P; hle_write A 4P => ok; "
     "flushes => [0+2 3+1]; is_cpu A+2P 1P => 0; is_cpu A+3P 1P => 1; unregister A 4P; "
     "register A 4P; hle_write A 4P => ok; flushes => [0+4]"},
    {"runs over regions", "register Z+R-P 2P; upload Z+R-P 2P; mark_gpu Z+R-P 2P; "
                          "hle_write Z+R-P+1 4096 => ok; flushes => [1007+2]"},
    {"bytes of the run only", "register A+8 8; upload A 2P; mark_gpu A 2P; hle_write A 8 => ok; "
                              "flushes => []; is_cpu A 1P => 0; hle_write A+15 1 => ok; "
                              "flushes => [0+1]; is_cpu A 1P => 1; unregister A 1P; register A 2P; "
                              "hle_write A+P 1 => ok; flushes => [1+1]"},
    {"a notify for generations", "gen_track A 2G => new g; gen A+G 1G => new h; "
                                 "hle_write A 8 => ok; gen A 2G => not g; gen A+G 1G => same h; "
                                 "hle_write A 8 => ok; prot A => rw; prot A+G => r"},
    {"ranges", "hle_write A 0 => range; hle_write 0 8 => range"},
};

static const struct gen_case off_cases[] = {
    {"switched-off", "gen_track A 2G => 0; gen A 2G => 0; prot A => rw; store A => silent; "
                     "gen_hle A 8 => ok; gen A 2G => 0; gen_track 0 1 => 0; calls => []"},
    {"maps are rights", "gen_map A 1G 0 r => replaced; prot A => r; gen_map A 1G 0 r => replaced; "
                        "hle_write A 8 => denied; hle_write A+G 8 => ok"},
};

Test(generations, handed)
{
    run_with_each_page_size(handed_cases, COUNT(handed_cases));
    struct trk_policy policy = policy_with(4096, true);
    run_table(&policy, both_cases, COUNT(both_cases));
}

Test(generations, sums_and_calls)
{
    run_with_each_page_size(sum_cases, COUNT(sum_cases));
    struct trk_policy policy = policy_with(4096, true);
    run_table(&policy, call_cases, COUNT(call_cases));
}

Test(generations, refused_calls)
{
    run_with_each_page_size(refused_call_cases, COUNT(refused_call_cases));
}

Test(generations, maps)
{
    run_with_each_page_size(map_cases, COUNT(map_cases));
}

Test(generations, views)
{
    struct trk_policy policy = policy_with(4096, true);
    run_table(&policy, view_cases, COUNT(view_cases));
    policy.fault_width_bytes = 8;
    run_table(&policy, wide_cases, COUNT(wide_cases));
}

Test(generations, off)
{
    struct trk_policy policy = policy_with(4096, false);
    run_table(&policy, off_cases, COUNT(off_cases));
}

Test(hle, writes)
{
    struct trk_policy policy = policy_with(4096, true);
    run_table(&policy, hle_cases, COUNT(hle_cases));
}
