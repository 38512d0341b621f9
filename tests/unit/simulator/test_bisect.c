/*
 * Goal: the point of no return is the first step behind which no order passes, and the swap between
 * two schedules is one that lets a passing order fail (simulator/bisect.h).
 * Method: programs of two threads whose orders can be listed by hand; what is found must hold when
 * it is run again; lines that are none, or the wrong way round.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "simulator/bisect.h"

#define PROGRAM(init, a, b)                                                                        \
    "{\"scenario\": 1, \"name\": \"n\", \"memory\": {\"A\": {\"at\": \"0x200010000\", "            \
    "\"size\": \"8P\"}}, \"init\": [" init "], \"threads\": {\"a\": [" a "], \"b\": [" b           \
    "]}, \"schedule\": \"explore\"}"

#define EARLY "\"load A 8 => 0\"" /* fails behind the store */
#define STORE "\"it: raw_write A 8 1\""
#define FRAME "\"frame\", "

static struct trk_scenario *parse(const char *json)
{
    struct trk_scenario *scenario = NULL;
    struct trk_scenario_fault fault;
    cr_assert_eq(trk_scenario_parse(&scenario, json, strlen(json), &fault), TRK_OK, "%s: %s",
                 fault.where, fault.text);
    return scenario;
}

static unsigned log2_of(uint64_t number)
{
    unsigned bits = 0;
    while (UINT64_C(1) << bits < number)
        bits++;
    return bits;
}

struct no_return_case {
    const char *name, *json;
    uint64_t step, steps;
    const char *thread, *label;
};

/* Each raw_write, load and frame is one step. */
static const struct no_return_case no_returns[] = {
    {"the store comes first", PROGRAM("", STORE, EARLY), 1, 2, "a", "it"},
    {"steps before it do not matter", PROGRAM("", FRAME FRAME FRAME STORE, EARLY), 4, 5, "a", "it"},
    {"steps between do not either", PROGRAM("", STORE ", \"frame\", \"frame\"", EARLY), 1, 4, "a",
     "it"},
    {"no order passes", PROGRAM("", STORE, "\"load A 8 => 5\""), 0, 1, "", ""},
    {"steps on either side", PROGRAM("", FRAME STORE, FRAME FRAME EARLY), 2, 5, "a", "it"},
};

Test(bisect, the_point_of_no_return)
{
    for (size_t i = 0; i < sizeof no_returns / sizeof no_returns[0]; i++) {
        const struct no_return_case *one = &no_returns[i];
        struct trk_scenario *scenario = parse(one->json);
        struct trk_scenario_report report;
        struct trk_scenario_no_return found;
        struct trk_scenario_fault fault;
        cr_assert_eq(trk_scenario_run(scenario, &report), TRK_OK);
        cr_assert_str_eq(report.verdict, "mismatch", "%s", one->name);
        cr_assert_eq(trk_scenario_no_return(scenario, report.schedule, &found, &fault), TRK_OK,
                     "%s: %s", one->name, fault.text);
        cr_expect_eq(found.step, one->step, "%s: step %llu", one->name,
                     (unsigned long long)found.step);
        cr_expect_eq(found.steps, one->steps, "%s: of %llu", one->name,
                     (unsigned long long)found.steps);
        cr_expect_str_eq(found.at.thread, one->thread, "%s: %s", one->name, found.at.thread);
        cr_expect_str_eq(found.label, one->label, "%s: %s", one->name, found.label);
        cr_expect(found.whole, "%s", one->name);
        cr_expect_leq(found.probes, 1 + log2_of(found.steps), "%s: %llu probes", one->name,
                      (unsigned long long)found.probes);
        trk_scenario_destroy(scenario);
    }
}

Test(bisect, a_line_of_another_program_is_refused)
{
    struct trk_scenario *one = parse(PROGRAM("", STORE, EARLY));
    struct trk_scenario *other = parse(PROGRAM("", FRAME STORE, EARLY));
    struct trk_scenario_report report;
    struct trk_scenario_no_return found;
    struct trk_scenario_between between;
    struct trk_scenario_fault fault = {.text = ""};
    cr_assert_eq(trk_scenario_run(one, &report), TRK_OK);
    cr_expect_eq(trk_scenario_no_return(other, report.schedule, &found, &fault), TRK_E_ARGUMENT);
    cr_expect_str_neq(fault.text, "");
    cr_expect_eq(trk_scenario_no_return(one, "trk1:x", &found, &fault), TRK_E_ARGUMENT);
    cr_expect_eq(trk_scenario_between(other, report.schedule, report.schedule, &between, &fault),
                 TRK_E_ARGUMENT);
    trk_scenario_destroy(other);
    trk_scenario_destroy(one);
}

/* A line for the same program fits whatever `about` says, and only that. */
Test(bisect, a_line_fits_whatever_is_said_about_the_program)
{
    static const char *const same[] = {
        "{\"scenario\":1,\"name\":\"n\",\"about\":\"It fails with --schedule trk1:x.\",\"memory\":"
        "{\"A\":{\"at\":\"0x200010000\",\"size\":\"8P\"}},\"init\":[],\"threads\":{\"a\":[" STORE
        "],\"b\":[" EARLY "]},\"schedule\":\"explore\"}",
        PROGRAM("", STORE, EARLY) "\n",
    };
    static const char *const others[] = {
        PROGRAM("\"frame\"", STORE, EARLY),
        PROGRAM("", STORE, "\"load A 8 => 0x0\""),
        PROGRAM("", EARLY, STORE),
    };
    struct trk_scenario *scenario = parse(PROGRAM("", STORE, EARLY));
    struct trk_scenario_report report, again;
    struct trk_scenario_fault fault;
    cr_assert_eq(trk_scenario_run(scenario, &report), TRK_OK);
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
        struct trk_scenario *other = parse(same[i]);
        cr_expect_eq(trk_scenario_replay(other, report.schedule, &again, &fault), TRK_OK, "%zu: %s",
                     i, fault.text);
        cr_expect_str_eq(again.verdict, report.verdict);
        trk_scenario_destroy(other);
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        struct trk_scenario *other = parse(others[i]);
        cr_expect_eq(trk_scenario_replay(other, report.schedule, &again, &fault), TRK_E_ARGUMENT,
                     "%zu", i);
        trk_scenario_destroy(other);
    }
    trk_scenario_destroy(scenario);
}

/* The schedules that the report of a run gives: one that fails, and one beside it that passes. */
struct pair {
    char fails[512], passes[512];
};

static void pair_of(const struct trk_scenario *scenario, struct pair *out)
{
    struct trk_scenario_report report;
    struct trk_scenario_passing passing;
    struct trk_scenario_fault fault;
    cr_assert_eq(trk_scenario_run(scenario, &report), TRK_OK);
    cr_assert_eq(trk_scenario_nearest(scenario, report.schedule, &passing, &fault), TRK_OK);
    cr_assert(passing.there);
    snprintf(out->fails, sizeof out->fails, "%s", report.schedule);
    snprintf(out->passes, sizeof out->passes, "%s", passing.schedule);
}

Test(bisect, the_swap_between)
{
    static const char *const programs[] = {
        PROGRAM("", STORE, EARLY),
        PROGRAM("", FRAME FRAME STORE, FRAME EARLY),
        PROGRAM("", STORE ", \"frame\", \"frame\", \"frame\"", FRAME FRAME EARLY ", \"frame\""),
    };
    for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++) {
        struct trk_scenario *scenario = parse(programs[i]);
        struct trk_scenario_between found, back;
        struct trk_scenario_report report;
        struct trk_scenario_fault fault;
        struct pair pair;
        pair_of(scenario, &pair);
        cr_assert_eq(trk_scenario_between(scenario, pair.passes, pair.fails, &found, &fault),
                     TRK_OK, "%zu: %s", i, fault.text);
        cr_assert(found.there, "%zu", i);
        cr_expect_str_eq(found.first.thread, "b", "%zu: %s", i, found.first.thread);
        cr_expect_str_eq(found.first.operation_text, "load A 8", "%zu: %s", i,
                         found.first.operation_text);
        cr_expect_str_eq(found.then.thread, "a", "%zu: %s", i, found.then.thread);
        cr_expect_leq(found.probes, 2 + log2_of(found.swaps), "%zu: %llu probes for %llu swaps", i,
                      (unsigned long long)found.probes, (unsigned long long)found.swaps);
        /* What it gives can be run. */
        cr_assert_eq(trk_scenario_replay(scenario, found.passes, &report, &fault), TRK_OK);
        cr_expect_str_eq(report.verdict, "ok", "%zu", i);
        cr_assert_eq(trk_scenario_replay(scenario, found.fails, &report, &fault), TRK_OK);
        cr_expect_str_eq(report.verdict, "mismatch", "%zu", i);
        /* The wrong way round, and nothing between, there is none. */
        cr_assert_eq(trk_scenario_between(scenario, pair.fails, pair.passes, &back, &fault),
                     TRK_OK);
        cr_expect_not(back.there, "%zu", i);
        cr_assert_eq(trk_scenario_between(scenario, pair.passes, pair.passes, &back, &fault),
                     TRK_OK);
        cr_expect_not(back.there, "%zu", i);
        trk_scenario_destroy(scenario);
    }
}
