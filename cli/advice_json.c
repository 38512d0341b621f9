/* Advice on a policy as JSON. */
#include "advice_print.h"
#include "json_out.h"

static void add_classes(cJSON *object, const char *key, const uint64_t *counts,
                        const uint64_t *bytes)
{
    cJSON *list = cJSON_AddArrayToObject(object, key);
    for (uint32_t i = 0; i < TRK_ADVICE_CLASSES; i++) {
        if (counts[i] == 0) {
            continue;
        }
        cJSON *item = trk_json_out_item(list);
        trk_json_out_number(item, "from_bytes", trk_advice_class_least(i));
        trk_json_out_number(item, "count", counts[i]);
        if (bytes != NULL) {
            trk_json_out_number(item, "bytes", bytes[i]);
        }
    }
}

static void add_way(cJSON *object, const char *key, const struct trk_advice_way *way)
{
    cJSON *item = cJSON_AddObjectToObject(object, key);
    trk_json_out_number(item, "ranges", way->ranges);
    trk_json_out_number(item, "groups", way->groups);
    trk_json_out_number(item, "moved_bytes", way->moved_bytes);
    trk_json_out_number(item, "changed_bytes", way->changed_bytes);
    add_classes(item, "sizes", way->sizes, NULL);
    add_classes(item, "gaps", way->gaps, way->gap_bytes);
}

/* Below 0: not known. */
static void add_time(cJSON *object, const char *key, double ns)
{
    if (ns < 0.0) {
        cJSON_AddNullToObject(object, key);
    } else {
        cJSON_AddNumberToObject(object, key, ns);
    }
}

/* NULL: there were too few rounds. */
static void add_comparison(cJSON *item, const struct trk_comparison *against)
{
    if (against == NULL) {
        static const char *const keys[] = {"told_apart", "best_difference", "low", "high",
                                           "detectable"};
        for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
            cJSON_AddNullToObject(item, keys[i]);
        }
        return;
    }
    cJSON_AddBoolToObject(item, "told_apart", against->shown);
    cJSON_AddNumberToObject(item, "best_difference", against->difference);
    cJSON_AddNumberToObject(item, "low", against->low);
    cJSON_AddNumberToObject(item, "high", against->high);
    trk_bench_json_detectable(item, against);
}

static void add_policy(cJSON *list, const struct trk_advise_result *result, uint32_t i)
{
    const struct trk_policy_run *run = &result->runs->runs[i];
    cJSON *item = trk_json_out_item(list);
    trk_json_out_text(item, "policy", run->text);
    add_time(item, "predicted_ns", result->predicted_ns[i]);
    add_time(item, "device_ns", result->device[i].median);
    add_time(item, "host_ns", result->host[i].median);
    add_time(item, "host_p5_ns", result->host[i].low);
    add_time(item, "host_p95_ns", result->host[i].high);
    trk_json_out_number(item, "regions", run->last.regions);
    trk_json_out_number(item, "moved_bytes", run->last.moved_bytes);
    trk_json_out_number(item, "submits", run->last.submits);
    cJSON_AddNumberToObject(item, "region_ns", result->costs[i].region_ns);
    cJSON_AddNumberToObject(item, "byte_ns", result->costs[i].byte_ns);
    cJSON_AddNumberToObject(item, "submit_ns", result->costs[i].submit_ns);
    trk_json_out_number(item, "gap_bytes", result->costs[i].gap_bytes);
    add_comparison(item, result->compared ? &result->against[i] : NULL);
}

static void add_measured(cJSON *object, const struct trk_advise_result *result)
{
    trk_json_out_number(object, "rounds", result->bench.rounds);
    trk_json_out_number(object, "rounds_wanted", result->rounds_wanted);
    cJSON_AddBoolToObject(object, "interrupted", result->runs->cut_short);
    trk_json_out_number(object, "seed", result->seed);
    trk_json_out_text(object, "advice", result->runs->runs[result->best].text);
    cJSON *list = cJSON_AddArrayToObject(object, "policies");
    for (uint32_t i = 0; i < result->runs->count; i++) {
        add_policy(list, result, i);
    }
    trk_bench_json_left_out(object, result->runs);
}

void trk_advise_print_json(const struct trk_advise_result *result)
{
    cJSON *object = trk_json_out_object(result->runs->schema);
    const bool hashes = result->pages.hashed > 0;
    trk_bench_json_head(object, result->runs, result->device_number);
    add_way(object, "up", &result->advice.up);
    add_way(object, "down", &result->advice.down);
    trk_json_out_number(object, "pages_hashed", hashes ? result->pages.hashed : TRK_NOT_KNOWN);
    trk_json_out_number(object, "pages_redundant",
                        hashes ? result->pages.redundant : TRK_NOT_KNOWN);
    if (result->runs->gpu != NULL) {
        add_measured(object, result);
    } else {
        trk_json_out_text(object, "advice", NULL);
        trk_json_out_error(object, &result->no_device);
    }
    trk_json_out_print(object);
}
