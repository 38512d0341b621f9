/*
 * Goal: a run's report names the verdict, the operation and what was expected and found; the same
 * file gives the same report.
 * Method: small scenarios, each run twice.
 * Rules: scenario-format, Verdicts, Expect and fine print 2, 3, 18.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "simulator/scenario.h"

#define FILE_OF(ops, expect)                                                                       \
    "{\"scenario\": 1, \"name\": \"n\", \"memory\": {\"A\": {\"at\": \"0x200010000\", "            \
    "\"size\": \"8P\"}}, \"threads\": {\"main\": [" ops "]}, \"expect\": " expect "}"

struct run_case {
    const char *name, *json;
    bool held;
    const char *verdict, *thread, *label, *text;
    uint32_t operation, column;
    uint64_t guest_addr;
};

static const struct run_case cases[] = {
    {"all is well", FILE_OF("\"store A 8 1\", \"load A 8 => 1, silent\"", "{}"), true, "ok", "", "",
     "", 0, 0, TRK_NOT_KNOWN},
    {"a wrong value", FILE_OF("\"store A 8 1\", \"x: load A 8 => 2\"", "{\"verdict\": \"ok\"}"),
     false, "mismatch", "main", "x", "expected 2, found 1, silent, faults 0", 2, 1, 0x200010000},
    {"a wrong list", FILE_OF("\"upload A+P 1P => [A 1P]\"", "{\"verdict\": \"mismatch\"}"), true,
     "mismatch", "main", "", "expected [A 1P], found [A+1P 1P]", 1, 1, 0x200011000},
    {"wrong calls", FILE_OF("\"upload A+P 1P\", \"calls => 0\"", "{\"verdict\": \"ok\"}"), false,
     "mismatch", "main", "", "expected 0, found [A+1P 1P r]", 2, 1, TRK_NOT_KNOWN},
    {"a nested operation", FILE_OF("\"upload A 1P { is_cpu A 1P }\"", "{\"verdict\": \"ok\"}"),
     false, "fatal:reentry", "main", "", "re-entered", 1, 15, 0x200010000},
    {"at another operation",
     FILE_OF("\"a: frame\", \"b: load A 8 => 1\"", "{\"verdict\": \"mismatch\", \"at\": \"a\"}"),
     false, "mismatch", "main", "b", "found 0", 2, 1, 0x200010000},
    {"a read of old bytes",
     FILE_OF("\"raw_write A+8 8 1\", \"gpu_read A 16\"", "{\"verdict\": \"stale-gpu-read\"}"), true,
     "stale-gpu-read", "main", "", "'raw_write A+8 8 1' is newer", 2, 1, 0x200010008},
    {"bytes that are lost",
     FILE_OF("\"gpu_write A+64 8 1\", \"copy_up A 1P\"", "{\"verdict\": \"lost-gpu-write\"}"), true,
     "lost-gpu-write", "main", "", "goes over 'gpu_write A+64 8 1'", 2, 1, 0x200010040},
    {"waiting for itself", FILE_OF("\"acquire M\", \"acquire M\"", "{\"verdict\": \"deadlock\"}"),
     true, "deadlock", "main", "", "main waits for mutex M of main", 2, 1, TRK_NOT_KNOWN},
    {"waiting for nobody", FILE_OF("\"await e\"", "{\"verdict\": \"deadlock\"}"), true, "deadlock",
     "main", "", "main waits for event e", 1, 1, TRK_NOT_KNOWN},
    {"a leak", FILE_OF("\"watch A+P 1P\"", "{\"verdict\": \"watch-leak\"}"), true, "watch-leak", "",
     "", "0x200011000 has 1 write", 0, 0, 0x200011000},
    {"one of a set is not the set", FILE_OF("\"frame\"", "{\"verdicts\": [\"ok\", \"deadlock\"]}"),
     false, "ok", "", "", "", 0, 0, TRK_NOT_KNOWN},
    {"the whole set", FILE_OF("\"frame\"", "{\"verdicts\": [\"ok\"], \"schedules\": 1}"), true,
     "ok", "", "", "", 0, 0, TRK_NOT_KNOWN},
    {"a fault of nobody", FILE_OF("\"load 0x5000 8\"", "{\"verdict\": \"unhandled-fault\"}"), true,
     "unhandled-fault", "main", "", "a load at 0x5000", 1, 1, 0x5000},
};

static struct trk_scenario_report report_of(const char *json)
{
    struct trk_scenario *scenario = NULL;
    struct trk_scenario_fault fault;
    struct trk_scenario_report report;
    cr_assert_eq(trk_scenario_parse(&scenario, json, strlen(json), &fault), TRK_OK, "%s: %s",
                 fault.where, fault.text);
    cr_assert_null(trk_scenario_needs(scenario));
    cr_assert_eq(trk_scenario_run(scenario, &report), TRK_OK);
    trk_scenario_destroy(scenario);
    return report;
}

static void check_one(const struct run_case *one)
{
    struct trk_scenario_report report = report_of(one->json), again = report_of(one->json);
    cr_expect_eq(report.held, one->held, "%s: verdict %s", one->name, report.verdict);
    cr_expect_str_eq(report.verdict, one->verdict, "%s: %s", one->name, report.verdict);
    cr_expect_str_eq(report.thread, one->thread, "%s: %s", one->name, report.thread);
    cr_expect_str_eq(report.label, one->label, "%s: %s", one->name, report.label);
    cr_expect(strstr(report.text, one->text) != NULL, "%s: %s", one->name, report.text);
    cr_expect_eq(report.operation, one->operation, "%s: operation %u", one->name, report.operation);
    cr_expect_eq(report.column, one->column, "%s: column %u", one->name, report.column);
    cr_expect_eq(report.guest_addr, one->guest_addr, "%s: 0x%llx", one->name,
                 (unsigned long long)report.guest_addr);
    cr_expect_eq(memcmp(&report, &again, sizeof report), 0, "%s: the second run differs",
                 one->name);
}

Test(scenario_report, says)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check_one(&cases[i]);
}

Test(scenario_report, refuses_what_it_cannot)
{
    static const char json[] = "{\"scenario\": 1, \"name\": \"n\", \"threads\": {\"a\": "
                               "[\"mark_cpu 0x200000000 8GiB\"], \"b\": [\"frame\"]}, "
                               "\"schedule\": \"explore\"}";
    struct trk_scenario *scenario = NULL;
    struct trk_scenario_fault fault;
    struct trk_scenario_report report;
    cr_assert_eq(trk_scenario_parse(&scenario, json, strlen(json), &fault), TRK_OK);
    cr_expect_str_eq(trk_scenario_needs(scenario),
                     "needs several schedules of a program that reaches more than 1024 regions");
    cr_expect_eq(trk_scenario_run(scenario, &report), TRK_E_UNSUPPORTED);
    trk_scenario_destroy(scenario);
}

Test(scenario_report, file_that_is_not_there)
{
    struct trk_scenario *scenario = NULL;
    struct trk_scenario_fault fault;
    cr_expect_eq(trk_scenario_load(&scenario, "no/such/file.json", &fault), TRK_E_SYSTEM);
    cr_expect(strstr(fault.text, "cannot be read") != NULL);
}
