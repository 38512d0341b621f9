/*
 * Goal: what touches page sets or watches without the lock that they are under is seen where it is
 * done, whatever comes of it.
 * Method: one program on the right core, and on cores with a seeded fault that forgets a lock: no
 * order of threads shows anything else of the first of these.
 * Rules: scenario-format, Verdicts.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "mutation.h"
#include "simulator/scenario.h"

static const char program[] =
    "{\"scenario\": 1, \"name\": \"n\", \"memory\": {\"A\": {\"at\": \"0x200010000\", "
    "\"size\": \"2P\"}}, \"threads\": {\"render\": [\"store A 8 1\", "
    "\"upload A 1P written { gpu_write A 8 2 }\", \"drain A 1P\"]}}";

struct lockset_case {
    const char *name;
    unsigned fault;
    const char *verdict, *text;
};

static const struct lockset_case cases[] = {
    {"the right core", 0, "ok", ""},
    {"marked behind the unlock", 119, "fatal:lock", "unlocked access: a page set"},
    {"page manager without its lock", 30, "fatal:lock", "unlocked access: watches"},
};

static unsigned in_force;

bool trk_mutant(unsigned number)
{
    return number == in_force;
}

int main(void)
{
    struct trk_scenario *scenario = NULL;
    struct trk_scenario_fault fault;
    if (trk_scenario_parse(&scenario, program, sizeof program - 1, &fault) != TRK_OK) {
        fprintf(stderr, "%s: %s\n", fault.where, fault.text);
        return 1;
    }
    int wrong = 0;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct trk_scenario_report report;
        in_force = cases[i].fault;
        enum trk_status status = trk_scenario_run(scenario, &report);
        if (status == TRK_OK && strcmp(report.verdict, cases[i].verdict) == 0 &&
            strncmp(report.text, cases[i].text, strlen(cases[i].text)) == 0)
            continue;
        fprintf(stderr, "%s: status %d, %s: %s\n", cases[i].name, (int)status, report.verdict,
                report.text);
        wrong = 1;
    }
    trk_scenario_destroy(scenario);
    return wrong;
}
