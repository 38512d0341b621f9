/*
 * Goal: schedules are those of the format: where threads give way, lists, random ones, all of them.
 * Method: small programs whose numbers of schedules and verdicts are known; exploring with states
 * that are known against exploring without, on the handed files too.
 * Rules: scenario-format, Schedules, Expect and fine print 8, 17, 18.
 */
#include <criterion/criterion.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scenario_schedule.h"

#define PLAIN_MOST UINT64_C(20000) /* schedules that are tried one by one */

#define PROGRAM(init, threads, schedule, expect)                                                   \
    "{\"scenario\": 1, \"name\": \"n\", \"memory\": {\"A\": {\"at\": \"0x200010000\", "            \
    "\"size\": \"8P\"}}, \"init\": [" init "], \"threads\": {" threads                             \
    "}, \"schedule\": " schedule ", \"expect\": " expect "}"

struct outcome_of {
    struct trk_scenario_report report;
    uint32_t seen;
};

static struct trk_scenario *parse(const char *json)
{
    struct trk_scenario *scenario = NULL;
    struct trk_scenario_fault fault;
    cr_assert_eq(trk_scenario_parse(&scenario, json, strlen(json), &fault), TRK_OK, "%s: %s",
                 fault.where, fault.text);
    return scenario;
}

static struct outcome_of run(const struct trk_scenario *scenario, struct schedule_request request)
{
    struct outcome_of out;
    cr_assert_eq(schedule_scenario(scenario, &request, &out.report), TRK_OK);
    out.seen = request.seen;
    return out;
}

struct count_case {
    const char *name, *json;
    const char *interleavings;
    const char *verdict;
    bool held;
};

#define TWO(a, b) "\"a\": [" a "], \"b\": [" b "]"

static const struct count_case counts[] = {
    {"one thread", PROGRAM("", "\"a\": [\"frame\", \"frame\"]", "\"explore\"", "{}"), "1", "ok",
     true},
    {"two of one step", PROGRAM("", TWO("\"frame\"", "\"frame\""), "\"explore\"", "{}"), "2", "ok",
     true},
    {"two of two",
     PROGRAM("", TWO("\"frame\", \"frame\"", "\"frame\", \"frame\""), "\"explore\"", "{}"), "6",
     "ok", true},
    {"an await is no step until the signal",
     PROGRAM("", TWO("\"signal e\", \"frame\"", "\"await e\""), "\"explore\"", "{}"), "2", "ok",
     true},
    {"nested operations are steps",
     PROGRAM("", TWO("\"repeat 2 { frame }\"", "\"frame\""), "\"explore\"", "{}"), "4", "ok", true},
    /* before the query, and before its lock */
    {"a query", PROGRAM("", TWO("\"is_cpu A 1P\"", "\"frame\""), "\"explore\"", "{}"), "3", "ok",
     true},
    /* before it, region's lock, page manager's lock, before the call, after it */
    {"an upload of a page", PROGRAM("", TWO("\"upload A 1P\"", "\"frame\""), "\"explore\"", "{}"),
     "7", "ok", true},
    /* the second range, the completion */
    {"an upload of two ranges",
     PROGRAM("\"upload A+P 1P\"", TWO("\"upload A 3P\"", "\"frame\""), "\"explore\"", "{}"), "8",
     "ok", true},
    /* store; handler; look; region's, page manager's lock; before, after the call; try again */
    {"a store that faults",
     PROGRAM("\"upload A 1P\"", TWO("\"store A 8 1\"", "\"frame\""), "\"explore\"", "{}"), "9",
     "ok", true},
    /* ten, less those three that would query while it is held */
    {"a lock by hand keeps others out",
     PROGRAM("", TWO("\"lock A\", \"unlock A\"", "\"is_cpu A 1P\""), "\"explore\"", "{}"), "7",
     "ok", true},
    /* it begins, is done, and the load: each schedule starts from the view of the beginning */
    {"a view is another one in each schedule",
     PROGRAM("\"raw_write A 8 1\"",
             TWO("\"gen_remap A offset 0x8000\", \"load A 8 => 0\"", "\"frame\""), "\"explore\"",
             "{}"),
     "4", "ok", true},
    {"one verdict in some",
     PROGRAM("", TWO("\"raw_write A 8 1\"", "\"load A 8 => 0\""), "\"explore\"",
             "{\"verdict\": \"mismatch\", \"in\": \"some\"}"),
     "2", "mismatch", true},
    {"both verdicts",
     PROGRAM("", TWO("\"raw_write A 8 1\"", "\"load A 8 => 0\""), "\"explore\"",
             "{\"verdicts\": [\"mismatch\", \"ok\"]}"),
     "2", "mismatch", true},
    {"not in all",
     PROGRAM("", TWO("\"raw_write A 8 1\"", "\"load A 8 => 0\""), "\"explore\"",
             "{\"verdict\": \"mismatch\"}"),
     "2", "ok", false},
    {"not always ok",
     PROGRAM("", TWO("\"raw_write A 8 1\"", "\"load A 8 => 0\""), "\"explore\"", "{}"), "2",
     "mismatch", false},
    {"a verdict that never comes",
     PROGRAM("", TWO("\"frame\"", "\"frame\""), "\"explore\"",
             "{\"verdict\": \"deadlock\", \"in\": \"some\"}"),
     "2", "ok", false},
    {"more schedules than allowed",
     PROGRAM("", TWO("\"frame\"", "\"frame\""), "\"explore\"", "{\"schedules\": 1}"), "2", "ok",
     false},
    {"at another operation",
     PROGRAM("", TWO("\"raw_write A 8 1\"", "\"x: frame\", \"y: load A 8 => 0\""), "\"explore\"",
             "{\"verdict\": \"mismatch\", \"in\": \"some\", \"at\": \"x\"}"),
     "3", "mismatch", false},
};

Test(schedules, counts)
{
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        const struct count_case *one = &counts[i];
        struct trk_scenario *scenario = parse(one->json);
        struct outcome_of known = run(scenario, (struct schedule_request){0});
        struct outcome_of plain = run(scenario, (struct schedule_request){.plain = true});
        cr_expect_str_eq(known.report.interleavings, one->interleavings, "%s: %s", one->name,
                         known.report.interleavings);
        cr_expect_str_eq(plain.report.interleavings, one->interleavings, "%s", one->name);
        cr_expect_eq(plain.report.schedules, strtoull(one->interleavings, NULL, 10), "%s",
                     one->name);
        cr_expect_eq(plain.seen, known.seen, "%s", one->name);
        cr_expect_str_eq(known.report.verdict, one->verdict, "%s: %s", one->name,
                         known.report.verdict);
        cr_expect_eq(known.report.held, one->held, "%s: %s", one->name, known.report.text);
        trk_scenario_destroy(scenario);
    }
}

struct list_case {
    const char *name, *json;
    bool held;
};

static const struct list_case lists[] = {
    {"step by step",
     PROGRAM("", TWO("\"raw_write A 8 1\", \"raw_write A 8 2\"", "\"load A 8 => 1\""),
             "[\"a\", \"b\"]", "{}"),
     true},
    {"in order without",
     PROGRAM("", TWO("\"raw_write A 8 1\", \"raw_write A 8 2\"", "\"load A 8 => 2\""),
             "\"in-order\"", "{}"),
     true},
    {"the rest goes in order",
     PROGRAM("", TWO("\"raw_write A 8 1\"", "\"load A 8 => 0\", \"load A 8 => 1\""), "[\"b\"]",
             "{}"),
     true},
    {"up to a label",
     PROGRAM("",
             TWO("\"raw_write A 8 1\", \"raw_write A 8 2\", "
                 "\"x: raw_write A 8 3\"",
                 "\"load A 8 => 2\""),
             "[\"a@x\", \"b\"]", "{}"),
     true},
    {"a blocked thread is passed over",
     PROGRAM("", TWO("\"await e\", \"raw_write A 8 1\"", "\"load A 8 => 0\", \"signal e\""),
             "[\"a\", \"a\", \"b\"]", "{}"),
     true},
    {"who stands at a label stays",
     PROGRAM("", TWO("\"raw_write A 8 1\", \"x: raw_write A 8 2\"", "\"load A 8 => 1\""),
             "[\"a@x\", \"a@x\", \"b\"]", "{}"),
     true},
    {"inside an upload, before its host call",
     PROGRAM("", TWO("\"upload A 1P\"", "\"prot A => rw\", \"prot A => r\""),
             "[\"a\", \"a\", \"a\", \"b\", \"a\", \"b\"]", "{}"),
     true},
    {"between a fault and its handler",
     PROGRAM("\"upload A 1P\"", TWO("\"store A 8 1 => handled, faults 1\"", "\"untrack A 1P\""),
             "[\"a\"]", "{}"),
     true},
};

Test(schedules, lists)
{
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        struct trk_scenario *scenario = parse(lists[i].json);
        struct outcome_of out = run(scenario, (struct schedule_request){0});
        cr_expect_eq(out.report.held, lists[i].held, "%s: %s, %s", lists[i].name,
                     out.report.verdict, out.report.text);
        trk_scenario_destroy(scenario);
    }
}

/* The one schedule of 70 in which b runs whole before a's last step, and others. */
#define RARE                                                                                       \
    TWO("\"raw_write A 8 1\", \"frame\", \"frame\", \"frame\"",                                    \
        "\"load A 8 => 0\", \"frame\", \"frame\", \"frame\"")

Test(schedules, random_ones_are_the_same_each_time)
{
    static const char *const files[] = {
        PROGRAM("", RARE, "{\"random\": 3, \"runs\": 40}",
                "{\"verdicts\": [\"ok\", \"mismatch\"]}"),
        PROGRAM("", RARE, "{\"pct\": 3, \"depth\": 2, \"runs\": 40}",
                "{\"verdicts\": [\"ok\", \"mismatch\"]}"),
    };
    for (size_t i = 0; i < 2; i++) {
        struct trk_scenario *scenario = parse(files[i]);
        struct outcome_of out = run(scenario, (struct schedule_request){0});
        struct outcome_of again = run(scenario, (struct schedule_request){0});
        cr_expect(out.report.held, "%s", out.report.text);
        cr_expect_eq(out.report.schedules, 40);
        cr_expect_eq(memcmp(&out.report, &again.report, sizeof out.report), 0);
        trk_scenario_destroy(scenario);
    }
}

Test(schedules, a_line_runs_its_schedule_again)
{
    struct trk_scenario *scenario =
        parse(PROGRAM("", RARE, "\"explore\"", "{\"verdict\": \"mismatch\", \"in\": \"some\"}"));
    struct outcome_of out = run(scenario, (struct schedule_request){0});
    struct trk_scenario_report report;
    struct trk_scenario_fault fault;
    cr_assert_eq(trk_scenario_replay(scenario, out.report.schedule, &report, &fault), TRK_OK);
    cr_expect_str_eq(report.verdict, "mismatch");
    cr_expect_str_eq(report.text, out.report.text);
    cr_expect(report.held);
    cr_expect_eq(report.schedules, 1);
    char line[512];
    snprintf(line, sizeof line, "%s", out.report.schedule);
    char *last = &line[strlen(line) - 2];
    *last = *last == 'a' ? 'b' : 'a';
    cr_expect_eq(trk_scenario_replay(scenario, line, &report, &fault), TRK_E_ARGUMENT, "%s", line);
    line[15] = line[15] == '0' ? '1' : '0';
    cr_expect_eq(trk_scenario_replay(scenario, line, &report, &fault), TRK_E_ARGUMENT);
    cr_expect(strstr(fault.text, "another scenario") != NULL);
    cr_expect_eq(trk_scenario_replay(scenario, "trk1:x", &report, &fault), TRK_E_ARGUMENT);
    trk_scenario_destroy(scenario);
}

struct failing_case {
    const char *name, *json;
    const char *failing, *interleavings;
    const char *shares; /* "VERDICT COUNT" each, in the format's order */
};

static const struct failing_case failing[] = {
    {"none", PROGRAM("", TWO("\"frame\"", "\"frame\""), "\"explore\"", "{}"), "0", "2", "ok 2 "},
    {"only one order passes",
     PROGRAM("", TWO("\"raw_write A 8 1\"", "\"load A 8 => 0\""), "\"explore\"", "{}"), "1", "2",
     "ok 1 mismatch 1 "},
    /* b's load goes first, and 7 steps are left of which 3 are b's: 35; or it comes behind 1, 2, 3
     * or 4 steps of a, and nothing comes behind it */
    {"the rest of a schedule that breaks is not run",
     PROGRAM("", RARE, "\"explore\"", "{\"verdicts\": [\"ok\", \"mismatch\"]}"), "4", "39",
     "ok 35 mismatch 4 "},
    {"expected or not",
     PROGRAM("",
             TWO("\"raw_write A 8 1\"", "\"frame\", \"frame\", \"frame\", \"frame\", "
                                        "\"load A 8 => 0\""),
             "\"explore\"", "{\"verdict\": \"mismatch\", \"in\": \"some\"}"),
     "5", "6", "ok 1 mismatch 5 "},
    {"at another operation",
     PROGRAM("", TWO("\"raw_write A 8 1\"", "\"x: frame\", \"y: load A 8 => 0\""), "\"explore\"",
             "{\"verdict\": \"mismatch\", \"in\": \"some\", \"at\": \"x\"}"),
     "2", "3", "ok 1 mismatch 2 "},
    /* each has one and wants the other: 2; the rest as one after the other, with the first lock of
     * the second one taken before or behind the last unlock of the first: 2 for either */
    {"locks in both orders",
     PROGRAM("",
             TWO("\"acquire x\", \"acquire y\", \"release y\", \"release x\"",
                 "\"acquire y\", \"acquire x\", \"release x\", \"release y\""),
             "\"explore\"", "{\"verdict\": \"deadlock\", \"in\": \"some\"}"),
     "2", "6", "ok 4 deadlock 2 "},
};

Test(schedules, how_many_fail)
{
    for (size_t i = 0; i < sizeof failing / sizeof failing[0]; i++) {
        const struct failing_case *one = &failing[i];
        struct trk_scenario *scenario = parse(one->json);
        static const bool plain[] = {false, true};
        for (size_t k = 0; k < 2; k++) {
            struct outcome_of out = run(scenario, (struct schedule_request){.plain = plain[k]});
            char shares[256] = "";
            for (uint32_t s = 0; s < out.report.share_count; s++) {
                size_t used = strlen(shares);
                snprintf(shares + used, sizeof shares - used, "%s %s ",
                         out.report.shares[s].verdict, out.report.shares[s].schedules);
            }
            cr_expect_str_eq(out.report.interleavings, one->interleavings, "%s: %s", one->name,
                             out.report.interleavings);
            cr_expect_str_eq(out.report.failing, one->failing, "%s: %s", one->name,
                             out.report.failing);
            cr_expect_str_eq(shares, one->shares, "%s: %s", one->name, shares);
            cr_expect_eq(out.report.failing_percent, TRK_NOT_KNOWN);
        }
        trk_scenario_destroy(scenario);
    }
}

/* 5 of 6 fail, and each is as likely as its weight says: 1 of 2, 1 of 4, ... 1 of 32. */
Test(schedules, about_how_many_fail)
{
    struct trk_scenario *scenario = parse(failing[3].json);
    static const bool engines[] = {false, true};
    for (size_t i = 0; i < 2; i++) {
        struct outcome_of out =
            run(scenario, (struct schedule_request){.most = 1, .dpor = engines[i]});
        cr_expect_str_eq(out.report.failing, "");
        cr_expect(out.report.failing_percent >= 60 && out.report.failing_percent <= 95, "%u",
                  (unsigned)out.report.failing_percent);
        cr_expect_eq(out.report.share_count, 0);
        cr_expect_leq(out.report.schedules, 1);
    }
    trk_scenario_destroy(scenario);
}

Test(schedules, stop_early)
{
    struct trk_scenario *scenario =
        parse(PROGRAM("", TWO("\"frame\"", "\"frame\""), "\"explore\"", "{}"));
    struct outcome_of out = run(scenario, (struct schedule_request){.most = 1});
    cr_expect_not(out.report.held);
    cr_expect(strstr(out.report.text, "there are more") != NULL, "%s", out.report.text);
    cr_expect_str_eq(out.report.interleavings, "");
    trk_scenario_destroy(scenario);
}

/* With known states and without, the handed files have as many schedules and the same verdicts. */
static void check_file(const char *path)
{
    struct trk_scenario *scenario = NULL;
    struct trk_scenario_fault fault;
    cr_assert_eq(trk_scenario_load(&scenario, path, &fault), TRK_OK, "%s: %s", path, fault.text);
    struct outcome_of known = run(scenario, (struct schedule_request){0});
    uint64_t all = strtoull(known.report.interleavings, NULL, 10);
    if (all != 0 && all <= PLAIN_MOST) {
        struct outcome_of plain = run(scenario, (struct schedule_request){.plain = true});
        cr_expect_eq(plain.report.schedules, all, "%s: %llu", path,
                     (unsigned long long)plain.report.schedules);
        cr_expect_eq(plain.seen, known.seen, "%s", path);
    }
    trk_scenario_destroy(scenario);
}

Test(schedules, known_states_change_nothing)
{
    static const char *const patterns[] = {
        HANDED_DIR "/litmus/*.json",
        HANDED_DIR "/field/*.json",
        HANDED_DIR "/faults/two-threads*.json",
        HANDED_DIR "/generations/*.json",
    };
    glob_t files;
    size_t count = 0;
    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++)
        cr_assert_eq(glob(patterns[i], i > 0 ? GLOB_APPEND : 0, NULL, &files), 0, "%s",
                     patterns[i]);
    for (; count < files.gl_pathc; count++)
        check_file(files.gl_pathv[count]);
    globfree(&files);
    cr_expect_geq(count, 50);
}

/* Of the six places that a's step can have only the last one passes: a walk in which a thread goes
 * on with a chance as large as the steps it has left comes there once in six, one that is blind to
 * them once in 32. The first run of each seed knows no lengths yet. */
Test(schedules, walks_are_uniform)
{
    struct trk_scenario *scenario =
        parse(PROGRAM("",
                      TWO("\"raw_write A 1 1\"", "\"frame\", \"frame\", \"frame\", "
                                                 "\"frame\", \"sparse_read A 1 => 0\""),
                      "\"explore\"", "{\"verdicts\": [\"ok\", \"mismatch\"]}"));
    uint32_t passed = 0;
    for (uint64_t seed = 0; seed < 400; seed++)
        passed += run(scenario, (struct schedule_request){.walks = 2, .seed = seed}).seen & 1;
    cr_expect(passed >= 55 && passed <= 105, "%u of 400", passed);
    trk_scenario_destroy(scenario);
}

/* A thread that takes and gives back so many mutexes, beside one of one step. */
static struct trk_scenario *with_mutexes(uint32_t count)
{
    static char json[64 * 1024];
    size_t used = 0;
    used += (size_t)snprintf(json, sizeof json, "%s",
                             "{\"scenario\": 1, \"name\": \"n\", \"memory\": {}, \"schedule\": "
                             "\"explore\", \"threads\": {\"b\": [\"frame\"], \"a\": [\"frame\"");
    for (uint32_t i = 0; i < count; i++)
        used += (size_t)snprintf(json + used, sizeof json - used,
                                 ", \"acquire m%u\", \"release m%u\"", i, i);
    snprintf(json + used, sizeof json - used, "]}}");
    return parse(json);
}

/* b's step is anywhere among a's, and all those are one class. */
Test(schedules, dpor_with_many_things_to_wait_for)
{
    static const struct {
        uint32_t mutexes;
        bool fell_back;
    } cases[] = {{63, false}, {65, false}, {512, false}, {513, true}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct trk_scenario *scenario = with_mutexes(cases[i].mutexes);
        struct outcome_of out = run(scenario, (struct schedule_request){.dpor = true});
        cr_expect(out.report.held, "%s", out.report.text);
        cr_expect_eq(out.report.fell_back, cases[i].fell_back, "%u mutexes", cases[i].mutexes);
        cr_expect_eq(out.report.classes, cases[i].fell_back ? 0 : 1, "%u mutexes: %u classes",
                     cases[i].mutexes, (unsigned)out.report.classes);
        if (cases[i].fell_back)
            cr_expect_eq(strtoul(out.report.interleavings, NULL, 10), 2 * cases[i].mutexes + 2);
        trk_scenario_destroy(scenario);
    }
}

Test(schedules, a_search_that_stops_says_how_much_it_saw)
{
    struct trk_scenario *scenario = NULL;
    struct trk_scenario_fault fault;
    cr_assert_eq(
        trk_scenario_load(&scenario, HANDED_DIR "/litmus/region-crossing-stores.json", &fault),
        TRK_OK);
    static const bool engines[] = {false, true};
    for (size_t i = 0; i < 2; i++) {
        struct outcome_of less =
            run(scenario, (struct schedule_request){.most = 20, .dpor = engines[i]});
        struct outcome_of more =
            run(scenario, (struct schedule_request){.most = 400, .dpor = engines[i]});
        cr_expect(strstr(less.report.text, "seen were about") != NULL, "%s", less.report.text);
        cr_expect_leq(more.report.covered_percent, 100);
        cr_expect_gt(more.report.covered_percent, less.report.covered_percent);
        cr_expect_eq(
            run(scenario, (struct schedule_request){.dpor = engines[i]}).report.covered_percent,
            TRK_NOT_KNOWN);
    }
    trk_scenario_destroy(scenario);
}
