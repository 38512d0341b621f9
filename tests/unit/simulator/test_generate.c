/*
 * Goal: what the generator makes is a scenario, whatever it may use; the same options give the same
 * bytes; and options are kept to.
 * Method: programs of many seeds, with each feature alone, parsed and run in order.
 * Again: TRK_SEED in the environment.
 */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "environment.h"
#include "simulator/generate.h"
#include "simulator/scenario.h"

static char *program(const struct trk_generate_options *options, size_t *size_bytes)
{
    char *text;
    cr_assert_eq(trk_generate_scenario(&text, size_bytes, options), TRK_OK);
    cr_assert_eq(strlen(text), *size_bytes);
    return text;
}

static void holds(const struct trk_generate_options *options, const char *what)
{
    size_t size_bytes;
    char *text = program(options, &size_bytes);
    struct trk_scenario *scenario = NULL;
    struct trk_scenario_fault fault;
    struct trk_scenario_report report;
    enum trk_status status = trk_scenario_parse(&scenario, text, size_bytes, &fault);
    cr_assert_eq(status, TRK_OK, "%s, TRK_SEED=%" PRIu64 ": %s: %s", what, options->seed,
                 fault.where, fault.text);
    cr_assert_eq(trk_scenario_run(scenario, &report), TRK_OK);
    cr_expect(report.held, "%s, TRK_SEED=%" PRIu64 ": %s at %s %" PRIu32 ", %s: %s", what,
              options->seed, report.verdict, report.thread, report.operation, report.operation_text,
              report.text);
    trk_scenario_destroy(scenario);
    free(text);
}

Test(generate, each_feature_alone_gives_scenarios)
{
    struct trk_generate_options options = {
        .size = sizeof options, .schedule = TRK_GENERATE_RANDOM, .runs = 2};
    uint32_t features = 0;
    for (; trk_generate_feature_name(features) != NULL; features++) {
        /* With threads that share, so that it meets them. */
        options.features = UINT32_C(7) | UINT32_C(1) << features;
        for (uint64_t i = 0; i < 10; i++) {
            options.seed = environment_number("TRK_SEED", 1) + i;
            holds(&options, trk_generate_feature_name(features));
        }
    }
    cr_expect_gt(features, 10);
    options.features = 0;
    holds(&options, "no feature");
}

Test(generate, the_same_options_give_the_same_bytes)
{
    struct trk_generate_options options = {.size = sizeof options,
                                           .features = TRK_GENERATE_ALL,
                                           .schedule = TRK_GENERATE_PCT,
                                           .runs = 3};
    uint32_t alike = 0;
    for (options.seed = 1; options.seed <= 50; options.seed++) {
        size_t one_bytes, other_bytes, next_bytes;
        char *one = program(&options, &one_bytes), *other = program(&options, &other_bytes);
        cr_expect_str_eq(one, other);
        options.seed++;
        char *next = program(&options, &next_bytes);
        alike += next_bytes == one_bytes;
        free(one);
        free(other);
        free(next);
    }
    cr_expect_lt(alike, 10, "seeds make a difference");
}

/* How often a piece of text stands in another. */
static uint32_t count(const char *text, const char *piece)
{
    uint32_t found = 0;
    for (const char *at = strstr(text, piece); at != NULL; at = strstr(at + 1, piece))
        found++;
    return found;
}

Test(generate, options_are_kept_to)
{
    struct trk_generate_options options = {
        .size = sizeof options, .features = TRK_GENERATE_ALL, .runs = 1};
    size_t size_bytes;
    for (options.threads = 1; options.threads <= TRK_GENERATE_THREADS; options.threads++) {
        options.schedule = (enum trk_generate_schedule)(options.threads - 1);
        char *text = program(&options, &size_bytes);
        cr_expect_eq(count(text, "\"run\": ["), options.threads);
        cr_expect_eq(count(text, "\"random\""), options.schedule == TRK_GENERATE_RANDOM);
        cr_expect_eq(count(text, "\"pct\""), options.schedule == TRK_GENERATE_PCT);
        cr_expect_eq(count(text, "\"explore\""), options.schedule == TRK_GENERATE_EXPLORE);
        free(text);
    }
    options = (struct trk_generate_options){
        .size = sizeof options, .features = ~UINT32_C(0) << 3, .schedule = TRK_GENERATE_IN_ORDER};
    for (options.seed = 0; options.seed < 20; options.seed++) {
        char *text = program(&options, &size_bytes);
        cr_expect_eq(count(text, "\"run\": ["), 1, "no threads");
        cr_expect_eq(count(text, "written"), 0, "no GPU");
        free(text);
    }
}
