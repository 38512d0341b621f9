#include "scenario_diff.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

/* The text with another policy; NULL: no memory, or no JSON. To be freed with cJSON_free. */
static char *with_policy(const char *text, const char *policy)
{
    cJSON *root = cJSON_Parse(text);
    char *out = NULL;
    if (cJSON_IsObject(root)) {
        cJSON_DeleteItemFromObjectCaseSensitive(root, "policy");
        cJSON_AddStringToObject(root, "policy", policy);
        out = cJSON_PrintUnformatted(root);
    }
    cJSON_Delete(root);
    return out;
}

static enum trk_status run(const char *text, const char *policy, struct trk_scenario_report *report,
                           struct trk_scenario_fault *fault)
{
    struct trk_scenario *scenario = NULL;
    char *changed = policy == NULL ? NULL : with_policy(text, policy);
    const char *json = changed == NULL ? text : changed; /* what is no JSON is told by the parser */
    enum trk_status status = trk_scenario_parse(&scenario, json, strlen(json), fault);
    if (status == TRK_OK) {
        status = trk_scenario_run(scenario, report);
        if (status == TRK_E_UNSUPPORTED) {
            snprintf(fault->text, sizeof fault->text, "it needs %s", trk_scenario_needs(scenario));
            status = TRK_E_ARGUMENT;
        }
        trk_scenario_destroy(scenario);
    }
    cJSON_free(changed);
    return status;
}

static void add_row(struct trk_scenario_diff *out, const char *key, const char *a, const char *b)
{
    if (out->count == TRK_SCENARIO_DIFF_ROWS || (a[0] == '\0' && b[0] == '\0')) {
        return;
    }
    struct trk_scenario_diff_row *row = &out->rows[out->count++];
    snprintf(row->key, sizeof row->key, "%s", key);
    snprintf(row->a, sizeof row->a, "%.150s", a);
    snprintf(row->b, sizeof row->b, "%.150s", b);
    row->equal = strcmp(a, b) == 0;
    out->differ |= !row->equal;
}

static const char *share_of(const struct trk_scenario_report *report, const char *verdict)
{
    for (uint32_t i = 0; i < report->share_count; i++) {
        if (strcmp(report->shares[i].verdict, verdict) == 0) {
            return report->shares[i].schedules;
        }
    }
    return report->failing[0] != '\0' ? "0" : "";
}

static void add_shares(struct trk_scenario_diff *out, const struct trk_scenario_report *a,
                       const struct trk_scenario_report *b)
{
    const struct trk_scenario_report *sides[] = {a, b};
    for (size_t s = 0; s < 2; s++) {
        for (uint32_t i = 0; i < sides[s]->share_count; i++) {
            const char *verdict = sides[s]->shares[i].verdict;
            char key[64];
            bool told = s == 1 && strcmp(share_of(a, verdict), "0") != 0;
            snprintf(key, sizeof key, "orders that end in %.40s", verdict);
            if (!told) {
                add_row(out, key, share_of(a, verdict), share_of(b, verdict));
            }
        }
    }
}

static void compare(struct trk_scenario_diff *out, const struct trk_scenario_report *a,
                    const struct trk_scenario_report *b)
{
    add_row(out, "verdict", a->verdict, b->verdict);
    add_row(out, "thread", a->thread, b->thread);
    add_row(out, "operation", a->operation_text, b->operation_text);
    add_row(out, "text", a->text, b->text);
    add_row(out, "orders", a->interleavings, b->interleavings);
    add_shares(out, a, b);
    if (a->interleavings[0] == '\0' && b->interleavings[0] == '\0') {
        char number_a[32], number_b[32];
        snprintf(number_a, sizeof number_a, "%" PRIu64, a->faults);
        snprintf(number_b, sizeof number_b, "%" PRIu64, b->faults);
        add_row(out, "faults", number_a, number_b);
        snprintf(number_a, sizeof number_a, "%" PRIu64, a->host_calls);
        snprintf(number_b, sizeof number_b, "%" PRIu64, b->host_calls);
        add_row(out, "host calls", number_a, number_b);
    }
    out->complete = a->covered_percent == TRK_NOT_KNOWN && b->covered_percent == TRK_NOT_KNOWN;
}

enum trk_status trk_scenario_diff_run(const char *const texts[2], const char *const policies[2],
                                      struct trk_scenario_diff *out,
                                      struct trk_scenario_fault *fault)
{
    struct trk_scenario_report *reports = calloc(2, sizeof *reports);
    enum trk_status status = reports == NULL ? TRK_E_MEMORY : TRK_OK;
    *out = (struct trk_scenario_diff){.count = 0};
    *fault = (struct trk_scenario_fault){.where = ""};
    for (size_t i = 0; i < 2 && status == TRK_OK; i++) {
        status = run(texts[i], policies == NULL ? NULL : policies[i], &reports[i], fault);
    }
    if (status == TRK_OK) {
        compare(out, &reports[0], &reports[1]);
    }
    free(reports);
    return status;
}
