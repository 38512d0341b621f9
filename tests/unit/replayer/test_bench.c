/*
 * Goal: orders are balanced, every pass is noted, and what is said of two policies is right as
 * often as it claims to be, under noise of every kind that a shared machine makes. Method: passes
 * whose times come from a noise with a seed: many benches without a difference, many with one of 5
 * %.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "noise.h"
#include "replayer/bench.h"

#define BENCHES 200u

struct fake {
    struct noise noise;
    double times_of[4]; /* by policy */
    uint32_t calls, fail_at;
    uint32_t turns;
    bool no_stamps; /* of policy 1 */
    uint32_t rounds_left;
};

static bool fake_more(void *context, const struct trk_bench *so_far)
{
    (void)so_far;
    struct fake *fake = context;
    return fake->rounds_left-- > 0;
}

static enum trk_status fake_pass(void *context, uint32_t policy, struct trk_bench_times *out,
                                 struct trk_error *error)
{
    struct fake *fake = context;
    if (++fake->calls == fake->fail_at) {
        return trk_error_set(error, TRK_E_SYSTEM, "the device was lost");
    }
    const double time = noise_next(&fake->noise) * fake->times_of[policy];
    out->host_ns = (uint64_t)(time * 1e9);
    out->device_ns = fake->no_stamps && policy == 1 ? TRK_NOT_KNOWN : out->host_ns / 2;
    return TRK_OK;
}

static struct trk_bench_options fake_options(struct fake *fake, uint32_t policies, uint32_t rounds)
{
    return (struct trk_bench_options){
        .size = sizeof(struct trk_bench_options),
        .policies = policies,
        .rounds = rounds,
        .turns = fake->turns,
        .seed = fake->noise.chance,
        .pass = fake_pass,
        .context = fake,
    };
}

Test(bench, orders)
{
    uint32_t first[3] = {0};
    for (uint32_t round = 0; round < 600; round += 2) {
        uint32_t order[3], back[3];
        trk_bench_order(order, 3, round, 5);
        trk_bench_order(back, 3, round + 1, 5);
        uint32_t seen = 0;
        for (unsigned i = 0; i < 3; i++) {
            seen |= 1u << order[i];
            cr_expect_eq(order[i], back[2 - i], "the next round has it reversed");
        }
        cr_expect_eq(seen, 7);
        first[order[0]]++;
    }
    for (unsigned i = 0; i < 3; i++) {
        cr_expect(first[i] > 70 && first[i] < 130, "policy %u is first %u times", i, first[i]);
    }
}

Test(bench, passes)
{
    struct fake fake = {.times_of = {1, 2, 3}, .turns = 2};
    struct trk_bench bench;
    const struct trk_bench_options options = fake_options(&fake, 3, 4);
    cr_assert_eq(trk_bench_run(&bench, &options, NULL), TRK_OK);
    cr_assert_eq(bench.pass_count, 48);
    cr_expect_eq(fake.calls, 51, "each once before the first round");
    for (uint32_t i = 0; i < 48; i++) {
        const struct trk_bench_pass *pass = &bench.passes[i];
        cr_expect_eq(pass->round, i / 12);
        cr_expect_eq(pass->place, i % 12);
        cr_expect_eq(pass->policy, bench.passes[i / 6 * 6 + 5 - i % 6].policy, "a mirror");
        cr_expect_eq(pass->times.host_ns, (pass->policy + 1) * UINT64_C(1000000000));
    }
    double times[16];
    cr_assert_eq(trk_bench_passes_of(&bench), 16);
    trk_bench_times_of(&bench, 1, TRK_BENCH_DEVICE, times);
    cr_expect_eq(times[0], 1e9);
    cr_expect_eq(times[15], 1e9);
    trk_bench_free(&bench);
}

Test(bench, no_more_time)
{
    for (uint32_t more = 0; more <= 5; more += 2) {
        struct fake fake = {.times_of = {1, 2}, .turns = 1, .rounds_left = more};
        struct trk_bench bench;
        double times[10];
        struct trk_bench_options options = fake_options(&fake, 2, 4);
        const uint32_t rounds = more < 3 ? more + 1 : 4;
        options.more = fake_more;
        options.warm = true;
        cr_assert_eq(trk_bench_run(&bench, &options, NULL), TRK_OK);
        cr_expect_eq(bench.rounds, rounds, "one round without being asked, %u more", more);
        cr_expect_eq(bench.pass_count, 4 * rounds);
        cr_expect_eq(fake.calls, 4 * rounds, "what is warm is not warmed");
        cr_assert_eq(trk_bench_passes_of(&bench), 2 * rounds);
        trk_bench_times_of(&bench, 1, TRK_BENCH_HOST, times);
        cr_expect_eq(times[2 * rounds - 1], 2e9);
        trk_bench_free(&bench);
    }
}

Test(bench, failing_pass)
{
    for (uint32_t at = 1; at <= 12; at += 11) {
        struct fake fake = {.times_of = {1, 1}, .fail_at = at, .turns = 1};
        struct trk_bench bench;
        struct trk_error error;
        const struct trk_bench_options options = fake_options(&fake, 2, 6);
        cr_expect_eq(trk_bench_run(&bench, &options, &error), TRK_E_SYSTEM);
        cr_expect_str_eq(error.text, "the device was lost");
        cr_expect_null(bench.passes);
        cr_expect_eq(fake.calls, at, "nothing runs behind it");
    }
}

Test(bench, no_time_stamps)
{
    struct fake fake = {.times_of = {1, 1}, .no_stamps = true, .turns = 1};
    struct trk_bench bench;
    struct trk_comparison comparison;
    struct trk_error error;
    const uint32_t pair[2] = {0, 1};
    const struct trk_bench_options options = fake_options(&fake, 2, 6);
    cr_assert_eq(trk_bench_run(&bench, &options, NULL), TRK_OK);
    cr_expect(trk_bench_has(&bench, 1, TRK_BENCH_HOST));
    cr_expect_not(trk_bench_has(&bench, 1, TRK_BENCH_DEVICE));
    cr_expect(trk_bench_has(&bench, 0, TRK_BENCH_DEVICE));
    cr_expect_eq(trk_bench_compare(&comparison, &bench, pair, TRK_BENCH_DEVICE, 1, &error),
                 TRK_E_ARGUMENT);
    cr_expect_not_null(strstr(error.text, "device"));
    cr_expect_eq(trk_bench_compare(&comparison, &bench, pair, TRK_BENCH_HOST, 1, NULL), TRK_OK);
    trk_bench_free(&bench);
}

/* A steady drift favours whoever comes first, which each does in every other round. */
Test(bench, drift)
{
    struct fake fake = {.times_of = {1, 1}, .turns = 1, .noise = {.drift = 0.01}};
    struct trk_bench bench;
    struct trk_comparison comparison;
    const uint32_t pair[2] = {0, 1};
    const struct trk_bench_options options = fake_options(&fake, 2, 10);
    cr_assert_eq(trk_bench_run(&bench, &options, NULL), TRK_OK);
    cr_assert_eq(trk_bench_compare(&comparison, &bench, pair, TRK_BENCH_HOST, 1, NULL), TRK_OK);
    cr_expect_not(comparison.shown);
    cr_expect_eq(comparison.slower, 5);
    cr_expect_eq(comparison.faster, 5);
    trk_bench_free(&bench);
}

struct tally {
    uint32_t shown, sure, found; /* sure: the smallest detectable difference is 4 % or less */
    double detectable;
};

static struct tally benches(enum noise_kind kind, uint32_t rounds, uint32_t turns, double slow)
{
    struct tally tally = {0};
    const uint32_t pair[2] = {0, 1};
    for (uint32_t i = 0; i < BENCHES; i++) {
        struct fake fake = {
            .times_of = {1, 1 + slow},
            .turns = turns,
            .noise = {.kind = kind, .deviation = 0.03, .drift = 1e-4, .chance = 1000 * kind + i},
        };
        struct trk_bench bench;
        struct trk_comparison comparison;
        const struct trk_bench_options options = fake_options(&fake, 2, rounds);
        cr_assert_eq(trk_bench_run(&bench, &options, NULL), TRK_OK);
        cr_assert_eq(trk_bench_compare(&comparison, &bench, pair, TRK_BENCH_HOST, i, NULL), TRK_OK);
        trk_bench_free(&bench);
        tally.shown += comparison.shown;
        tally.sure += comparison.detectable <= 0.04;
        tally.found += comparison.detectable <= 0.04 && comparison.shown;
        tally.detectable += comparison.detectable / BENCHES;
    }
    return tally;
}

/*
 * At most one bench in twenty shows a difference that is not there. Of 200, 18 or more would be by
 * chance once in a hundred times.
 */
Test(bench, nothing_there, .timeout = 120)
{
    for (enum noise_kind kind = NOISE_GAUSS; kind < NOISE_KINDS; kind++) {
        for (uint32_t rounds = 6; rounds <= 36; rounds += 15) {
            const uint32_t turns = rounds == 21 ? 4 : 1;
            const struct tally tally = benches(kind, rounds, turns, 0.0);
            cr_expect_lt(tally.shown, 18, "noise %u, %u rounds of %u: %u of %u show a difference",
                         kind, rounds, turns, tally.shown, BENCHES);
        }
    }
}

/* Where it says that 4 % would be seen, 5 % are: at least 95 times in 100. */
Test(bench, five_per_cent, .timeout = 120)
{
    for (enum noise_kind kind = NOISE_GAUSS; kind < NOISE_KINDS; kind++) {
        for (uint32_t turns = 1; turns <= 4; turns += 3) {
            const struct tally tally = benches(kind, 40, turns, 0.05);
            cr_expect_gt(tally.sure, BENCHES / 4, "noise %u, %u: %u sure", kind, turns, tally.sure);
            cr_expect_geq(100 * tally.found, 95 * tally.sure, "noise %u, %u: %u of %u found", kind,
                          turns, tally.found, tally.sure);
        }
    }
}

/* Benches that end where 4 % is detectable. */
struct until {
    struct fake fake; /* first: its pass takes the context for one */
    struct trk_bench_detect detect;
    uint32_t seed;
};

static bool until_more(void *context, const struct trk_bench *so_far)
{
    const struct until *until = context;
    return !trk_bench_detects(so_far, &until->detect, until->seed);
}

struct until_tally {
    uint32_t reached, shown, rounds;
};

static struct until_tally until_benches(enum noise_kind kind, double slow, uint32_t rounds)
{
    struct until_tally tally = {0};
    const uint32_t pair[2] = {0, 1};
    for (uint32_t i = 0; i < BENCHES; i++) {
        struct until until = {
            .fake = {.times_of = {1, 1 + slow},
                     .turns = 1,
                     .noise = {.kind = kind, .deviation = 0.05, .drift = 1e-4, .chance = 7000 + i}},
            .detect = {.share = 0.04, .policies = 2},
            .seed = i,
        };
        struct trk_bench bench;
        struct trk_comparison comparison;
        struct trk_bench_options options = fake_options(&until.fake, 2, rounds);
        options.more = until_more;
        options.context = &until;
        cr_assert_eq(trk_bench_run(&bench, &options, NULL), TRK_OK);
        cr_assert_eq(trk_bench_compare(&comparison, &bench, pair, TRK_BENCH_DEVICE, i, NULL),
                     TRK_OK);
        cr_expect(comparison.detectable <= 0.04 || bench.rounds == rounds, "it ends too soon");
        tally.reached += comparison.detectable <= 0.04;
        tally.shown += comparison.detectable <= 0.04 && comparison.shown;
        tally.rounds += bench.rounds;
        trk_bench_free(&bench);
    }
    return tally;
}

/* To end where the interval is narrow bends the verdict neither way. */
Test(bench, until_detectable, .timeout = 240)
{
    for (enum noise_kind kind = NOISE_GAUSS; kind < NOISE_KINDS; kind++) {
        const struct until_tally same = until_benches(kind, 0.0, 1000);
        cr_expect_eq(same.reached, BENCHES, "noise %u: %u reach it", kind, same.reached);
        cr_expect_gt(same.rounds, BENCHES * TRK_BENCH_LOOK_FIRST, "some take more than the least");
        cr_expect_lt(same.shown, 18, "noise %u: %u of %u show a difference", kind, same.shown,
                     BENCHES);
        const struct until_tally slower = until_benches(kind, 0.05, 1000);
        cr_expect_eq(slower.reached, BENCHES, "noise %u: %u reach it", kind, slower.reached);
        cr_expect_geq(100 * slower.shown, 95 * BENCHES, "noise %u: %u of %u found", kind,
                      slower.shown, BENCHES);
    }
}

/* It is looked at with few numbers of rounds, all even, and by every policy. */
Test(bench, looks)
{
    uint32_t looks = 0;
    for (uint32_t rounds = 6; rounds <= 100; rounds++) {
        struct fake fake = {.times_of = {1, 1.1, 1.2}, .turns = 1};
        const struct trk_bench_detect two = {.share = 0.04, .policies = 2};
        struct trk_bench_options options = fake_options(&fake, 3, rounds);
        struct trk_bench bench;
        cr_assert_eq(trk_bench_run(&bench, &options, NULL), TRK_OK);
        if (trk_bench_detects(&bench, &two, 1)) {
            cr_expect_gt(rounds, TRK_BENCH_LOOK_FIRST, "one look is none");
            cr_expect_eq(rounds % 2, 0, "%u rounds", rounds);
            looks++;
            struct trk_bench_detect three = two;
            three.policies = 3;
            cr_expect(trk_bench_detects(&bench, &three, 1));
            for (size_t i = 0; i < bench.pass_count; i++) { /* the third one's become noise */
                bench.passes[i].times.device_ns *= bench.passes[i].policy == 2 ? 1 + i % 7 : 1;
            }
            cr_expect(trk_bench_detects(&bench, &two, 1));
            cr_expect_not(trk_bench_detects(&bench, &three, 1));
            three.by_host = true;
            cr_expect(trk_bench_detects(&bench, &three, 1));
        }
        trk_bench_free(&bench);
    }
    cr_expect(looks >= 6 && looks <= 10, "%u looks", looks);
}

/*
 * The smallest detectable difference is no boast and no excuse: a difference as large as it says on
 * average is found by most benches (95 in 100 is what it promises; its own noise costs some), and
 * one of a third of it by few.
 */
Test(bench, detectable, .timeout = 120)
{
    const double detectable = benches(NOISE_GAUSS, 30, 1, 0.0).detectable;
    const struct tally large = benches(NOISE_GAUSS, 30, 1, detectable);
    const struct tally small = benches(NOISE_GAUSS, 30, 1, detectable / 3);
    cr_expect_geq(large.shown, BENCHES * 9 / 10, "%u of %u", large.shown, BENCHES);
    cr_expect_leq(small.shown, BENCHES / 2, "%u of %u", small.shown, BENCHES);
}
