/*
 * Goal: the demo really faults, finds every byte right without a bug and something wrong with each
 * bug, refuses what it cannot do, and leaves the process as it found it.
 * Method: small runs in process. The same run twice in one process shows that the windows and the
 * fault handler were given back.
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>

#include "demo.h"
#include "device.h"

static struct trk_demo_options small_options(void)
{
    struct trk_demo_options options = trk_demo_options_default();
    options.frames = 20;
    options.threads = 3;
    options.megabytes = 2;
    options.check = true;
    return options;
}

static struct trk_demo_result run_or_skip(const struct trk_demo_options *options)
{
    struct trk_demo_result result;
    struct trk_error error;
    memset(&result, 0, sizeof result);
    enum trk_status status = trk_demo_run(options, &result, &error);
    if (status == TRK_E_UNSUPPORTED) {
        cr_skip("%s", error.text);
    }
    cr_assert_eq(status, TRK_OK, "%s", error.text);
    return result;
}

struct shape_case {
    const char *name;
    uint32_t frames, threads, megabytes;
    uint64_t seed;
};

static const struct shape_case shape_cases[] = {
    {"one frame, one guest", 1, 1, 2, 1},
    {"two guests", 20, 2, 2, 2},
    {"regions crossed", 20, 4, 16, 3},
    {"more guests than cores", 8, 17, 4, 4},
    {"as many guests as there may be", 4, TRK_DEMO_THREADS_MAX, 2, 5},
    {"large memory", 4, 3, 128, UINT64_MAX},
};

Test(demo, every_byte_is_right)
{
    for (size_t i = 0; i < sizeof shape_cases / sizeof *shape_cases; i++) {
        const struct shape_case *given = &shape_cases[i];
        struct trk_demo_options options = small_options();
        options.frames = given->frames;
        options.threads = given->threads;
        options.megabytes = given->megabytes;
        options.seed = given->seed;
        struct trk_demo_result result = run_or_skip(&options);
        cr_expect_eq(result.frames, given->frames, "%s", given->name);
        cr_expect_eq(result.mismatches, 0, "%s", given->name);
        cr_expect_eq(result.failures, 0, "%s", given->name);
        cr_expect_gt(result.checks, 0, "%s", given->name);
        cr_expect_gt(result.uploads, 0, "%s", given->name);
        cr_expect_gt(result.downloads, 0, "%s", given->name);
        cr_expect(given->frames == 1 || result.faults > given->frames * given->threads,
                  "%s: %llu faults", given->name, (unsigned long long)result.faults);
    }
}

/* Thread timing moves faults and copies; what the guests do follows from the seed. */
Test(demo, seed_decides_the_stores)
{
    struct trk_demo_options options = small_options();
    struct trk_demo_result first = run_or_skip(&options);
    struct trk_demo_result second = run_or_skip(&options);
    cr_expect_eq(first.stores, second.stores);
    cr_expect_eq(first.loads, second.loads);
    cr_expect_eq(first.checks, second.checks);
    options.seed++;
    struct trk_demo_result other = run_or_skip(&options);
    cr_expect(first.loads != other.loads || first.checks != other.checks);
}

struct bug_case {
    const char *name;
    bool bytes_wrong; /* else the tracker refuses, once */
};

static const struct bug_case bug_cases[] = {
    {"copy-before-arm", true},
    {"flush-leaves-page", false},
    {"call-in-callback", false},
};

Test(demo, each_bug_is_found)
{
    for (size_t i = 0; i < sizeof bug_cases / sizeof *bug_cases; i++) {
        for (uint64_t seed = 1; seed <= 4; seed++) {
            struct trk_demo_options options = small_options();
            options.bug = trk_demo_bug_find(bug_cases[i].name)->id;
            options.seed = seed;
            options.check = seed % 2 == 0; /* a sample holds what matters too */
            struct trk_demo_result result = run_or_skip(&options);
            cr_expect_eq(result.frames, options.frames, "%s", bug_cases[i].name);
            cr_expect_eq(result.failures, bug_cases[i].bytes_wrong ? 0 : 1, "%s: %llu failures",
                         bug_cases[i].name, (unsigned long long)result.failures);
            cr_expect(!bug_cases[i].bytes_wrong || result.mismatches > 0, "%s", bug_cases[i].name);
        }
    }
}

Test(demo, bugs_are_listed)
{
    size_t count = 0;
    for (const struct trk_demo_bug *bug = trk_demo_bugs; bug->name != NULL; bug++) {
        cr_expect_eq(trk_demo_bug_find(bug->name), bug);
        cr_expect_str_not_empty(bug->about);
        cr_expect_str_not_empty(bug->verdict);
        count++;
    }
    cr_expect_eq(count, sizeof bug_cases / sizeof *bug_cases, "each bug has a case above");
    cr_expect_null(trk_demo_bug_find("no-such-bug"));
    cr_expect_null(trk_demo_bug_find(""));
}

struct refusal_case {
    const char *name;
    struct trk_demo_options options;
    enum trk_status status;
};

static const struct refusal_case refusal_cases[] = {
    {"another version's options",
     {.size = 8, .frames = 3, .threads = 2, .megabytes = 2},
     TRK_E_ARGUMENT},
    {"no frame",
     {.size = sizeof(struct trk_demo_options), .threads = 2, .megabytes = 2},
     TRK_E_ARGUMENT},
    {"no guest",
     {.size = sizeof(struct trk_demo_options), .frames = 3, .megabytes = 2},
     TRK_E_ARGUMENT},
    {"no memory",
     {.size = sizeof(struct trk_demo_options), .frames = 3, .threads = 2},
     TRK_E_ARGUMENT},
    {"too many guests",
     {.size = sizeof(struct trk_demo_options),
      .frames = 3,
      .threads = TRK_DEMO_THREADS_MAX + 1,
      .megabytes = 2},
     TRK_E_ARGUMENT},
    {"odd memory",
     {.size = sizeof(struct trk_demo_options), .frames = 3, .threads = 2, .megabytes = 3},
     TRK_E_ARGUMENT},
    {"too much memory",
     {.size = sizeof(struct trk_demo_options), .frames = 3, .threads = 2, .megabytes = 1026},
     TRK_E_ARGUMENT},
    {"a bug in a single frame",
     {.size = sizeof(struct trk_demo_options),
      .frames = 1,
      .threads = 2,
      .megabytes = 2,
      .bug = TRK_DEMO_BUG_FLUSH_LEAVES_PAGE},
     TRK_E_ARGUMENT},
    {"a device that is not there",
     {.size = sizeof(struct trk_demo_options),
      .frames = 3,
      .threads = 2,
      .megabytes = 2,
      .device = 4096},
     TRK_E_UNSUPPORTED},
};

Test(demo, refusals)
{
    for (size_t i = 0; i < sizeof refusal_cases / sizeof *refusal_cases; i++) {
        const struct refusal_case *given = &refusal_cases[i];
        struct trk_demo_result result;
        struct trk_error error = {.status = TRK_OK};
        cr_expect_eq(trk_demo_run(&given->options, &result, &error), given->status, "%s",
                     given->name);
        cr_expect_eq(error.status, given->status, "%s", given->name);
        cr_expect_str_not_empty(error.text, "%s", given->name);
    }
}

Test(demo, handlers_come_back)
{
    struct sigaction before;
    struct sigaction after;
    struct trk_demo_options options = small_options();
    options.frames = 3;
    sigaction(SIGSEGV, NULL, &before);
    (void)run_or_skip(&options);
    sigaction(SIGSEGV, NULL, &after);
    cr_expect_eq(before.sa_handler, after.sa_handler);
}
