/* A bench of policies as JSON: all that a program needs to compare it with another machine's. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "bench_print.h"
#include "bench_rates.h"
#include "calibration_print.h"
#include "json_out.h"
#include "machine.h"

static void add_trace(cJSON *object, const struct trk_policy_runs *runs)
{
    const struct trk_plan *plan = runs->plan;
    char hash[17];
    snprintf(hash, sizeof hash, "%016" PRIx64, plan->hash);
    cJSON *trace = cJSON_AddObjectToObject(object, "trace");
    trk_json_out_text(trace, "hash", hash);
    trk_json_out_number(trace, "bytes", runs->input.bytes);
    trk_json_out_number(trace, "events", plan->events);
    trk_json_out_number(trace, "frames", plan->frame_count);
    trk_json_out_number(trace, "first_frame",
                        plan->frame_count > 0 ? plan->frames[0].number : TRK_NOT_KNOWN);
    trk_json_out_number(trace, "upload_bytes", plan->upload_bytes);
    trk_json_out_number(trace, "uploads", plan->uploads);
    trk_json_out_number(trace, "download_bytes", plan->download_bytes);
    trk_json_out_number(trace, "downloads", plan->downloads);
    trk_json_out_number(trace, "gpu_write_bytes", plan->gpu_write_bytes);
    trk_json_out_number(trace, "gpu_writes", plan->gpu_writes);
    trk_json_out_number(trace, "mirror_bytes", plan->mirror_bytes);
    cJSON_AddBoolToObject(trace, "witnessed", plan->witnessed);
}

void trk_bench_json_head(cJSON *object, const struct trk_policy_runs *runs, uint32_t device_number)
{
    trk_json_out_text(object, "path", runs->input.path);
    cJSON_AddBoolToObject(object, "complete", runs->plan->complete);
    add_trace(object, runs);
    if (runs->gpu == NULL) {
        cJSON_AddNullToObject(object, "device");
        return;
    }
    const struct trk_gpu_info *info = trk_gpu_info(runs->gpu);
    char version[40];
    snprintf(version, sizeof version, "%u.%u.%u", info->api_version >> 22 & 0x7f,
             info->api_version >> 12 & 0x3ff, info->api_version & 0xfff);
    cJSON *device = cJSON_AddObjectToObject(object, "device");
    trk_json_out_number(device, "number", device_number);
    trk_json_out_text(device, "name", info->device_name);
    trk_json_out_text(device, "driver", info->driver);
    trk_json_out_number(device, "vendor_id", info->vendor_id);
    trk_json_out_number(device, "device_id", info->device_id);
    trk_json_out_text(device, "api_version", version);
    cJSON_AddNumberToObject(device, "tick_ns", info->tick_ns);
    struct trk_machine machine;
    trk_machine_read(&machine);
    trk_machine_json(object, &machine);
}

void trk_bench_json_left_out(cJSON *object, const struct trk_policy_runs *runs)
{
    cJSON *list = cJSON_AddArrayToObject(object, "left_out");
    for (uint32_t i = 0; i < runs->left_out_count; i++) {
        cJSON *item = trk_json_out_item(list);
        trk_json_out_text(item, "policy", runs->left_out[i].text);
        trk_json_out_text(item, "text", runs->left_out[i].why);
    }
}

static void add_clock(cJSON *object, const char *key, const struct trk_policy_clocks *clocks)
{
    const bool gpu = clocks->gpu.core_mhz > 0;
    cJSON *item = cJSON_AddObjectToObject(object, key);
    trk_json_out_number(item, "processor_mhz",
                        clocks->processor_mhz > 0 ? clocks->processor_mhz : TRK_NOT_KNOWN);
    trk_json_out_number(item, "gpu_mhz", gpu ? clocks->gpu.core_mhz : TRK_NOT_KNOWN);
    trk_json_out_number(item, "gpu_memory_mhz", gpu ? clocks->gpu.memory_mhz : TRK_NOT_KNOWN);
    trk_json_out_number(item, "gpu_celsius", gpu ? clocks->gpu.temperature_celsius : TRK_NOT_KNOWN);
}

static void add_spread(cJSON *object, const char *key, const struct trk_bench *bench,
                       uint32_t policy, enum trk_bench_clock clock)
{
    if (!trk_bench_has(bench, policy, clock)) {
        cJSON_AddNullToObject(object, key);
        return;
    }
    const struct trk_bench_spread spread = trk_bench_spread_of(bench, policy, clock);
    cJSON *item = cJSON_AddObjectToObject(object, key);
    cJSON_AddNumberToObject(item, "median", spread.median);
    cJSON_AddNumberToObject(item, "p5", spread.low);
    cJSON_AddNumberToObject(item, "p95", spread.high);
}

static void add_known(cJSON *object, const char *key, double value)
{
    if (value > 0) {
        cJSON_AddNumberToObject(object, key, value);
    } else {
        cJSON_AddNullToObject(object, key);
    }
}

static void add_rates(cJSON *object, const struct trk_bench_result *result, uint32_t policy)
{
    const struct trk_bench_rates rates = trk_bench_rates_of(result, policy);
    add_known(object, "device_gb_s", rates.gbs[TRK_BENCH_DEVICE]);
    add_known(object, "host_gb_s", rates.gbs[TRK_BENCH_HOST]);
    add_known(object, "device_of_one_region", rates.share[TRK_BENCH_DEVICE]);
    add_known(object, "host_of_one_region", rates.share[TRK_BENCH_HOST]);
    add_known(object, "device_times_per_range", rates.times[TRK_BENCH_DEVICE]);
    add_known(object, "host_times_per_range", rates.times[TRK_BENCH_HOST]);
}

/* What the link gives at best, and what that says of the policies. */
static void add_one_region(cJSON *object, const struct trk_bench_result *result)
{
    const struct trk_policy_runs *runs = result->runs;
    struct trk_bench_gap gap;
    if (runs->one == NULL) {
        cJSON_AddNullToObject(object, "one_region");
        return;
    }
    cJSON *item = cJSON_AddObjectToObject(object, "one_region");
    trk_json_out_number(item, "bytes", trk_one_region_bytes(runs->one));
    add_spread(item, "device_ns", &result->bench, runs->count, TRK_BENCH_DEVICE);
    add_spread(item, "host_ns", &result->bench, runs->count, TRK_BENCH_HOST);
    add_rates(item, result, runs->count);
    if (!trk_bench_gap_find(result, &gap)) {
        cJSON_AddNullToObject(object, "auto_gap");
        return;
    }
    item = cJSON_AddObjectToObject(object, "auto_gap");
    trk_json_out_text(item, "best", runs->runs[gap.policy].text);
    trk_json_out_text(item, "clock", gap.clock == TRK_BENCH_DEVICE ? "device" : "host");
    cJSON_AddNumberToObject(item, "slower", gap.slower);
}

static void add_policies(cJSON *object, const struct trk_bench_result *result)
{
    cJSON *list = cJSON_AddArrayToObject(object, "policies");
    for (uint32_t i = 0; i < result->runs->count; i++) {
        const struct trk_policy_run *run = &result->runs->runs[i];
        cJSON *item = trk_json_out_item(list);
        trk_json_out_text(item, "name", run->name[0] ? run->name : NULL);
        trk_json_out_text(item, "policy", run->text);
        trk_json_out_number(item, "regions", run->last.regions);
        trk_json_out_number(item, "moved_bytes", run->last.moved_bytes);
        trk_json_out_number(item, "submits", run->last.submits);
        trk_json_out_number(item, "compared_bytes",
                            result->runs->checked ? run->check.compared_bytes : TRK_NOT_KNOWN);
        add_spread(item, "device_ns", &result->bench, i, TRK_BENCH_DEVICE);
        add_spread(item, "host_ns", &result->bench, i, TRK_BENCH_HOST);
        add_rates(item, result, i);
    }
    trk_bench_json_left_out(object, result->runs);
}

void trk_bench_json_detectable(cJSON *object, const struct trk_comparison *comparison)
{
    if (isfinite(comparison->detectable)) {
        cJSON_AddNumberToObject(object, "detectable", comparison->detectable);
    } else {
        cJSON_AddNullToObject(object, "detectable");
    }
}

/* How small a difference was to be detectable, and whether it is. */
static void add_detect(cJSON *object, const struct trk_bench_result *result)
{
    add_known(object, "detect", result->runs->detect.share);
    if (result->runs->detect.share > 0.0) {
        cJSON_AddBoolToObject(object, "detected", result->detected);
    } else {
        cJSON_AddNullToObject(object, "detected");
    }
}

static void add_verdicts(cJSON *object, const struct trk_bench_result *result)
{
    cJSON *list = cJSON_AddArrayToObject(object, "comparisons");
    for (uint32_t i = 0; i < result->verdict_count; i++) {
        const struct trk_comparison *comparison = &result->verdicts[i].comparison;
        char said[120];
        cJSON *item = trk_json_out_item(list);
        trk_bench_say_difference(comparison, said, sizeof said);
        trk_json_out_number(item, "a", 0);
        trk_json_out_number(item, "b", result->verdicts[i].policy);
        trk_json_out_text(item, "clock",
                          result->verdicts[i].clock == TRK_BENCH_DEVICE ? "device" : "host");
        cJSON_AddBoolToObject(item, "shown", comparison->shown);
        trk_json_out_text(item, "text", said);
        cJSON_AddNumberToObject(item, "difference", comparison->difference);
        cJSON_AddNumberToObject(item, "low", comparison->low);
        cJSON_AddNumberToObject(item, "high", comparison->high);
        cJSON_AddNumberToObject(item, "difference_ns", comparison->difference_ns);
        trk_bench_json_detectable(item, comparison);
        trk_json_out_number(item, "slower", comparison->slower);
        trk_json_out_number(item, "faster", comparison->faster);
        cJSON_AddNumberToObject(item, "sign_p", comparison->sign_p);
    }
}

static void add_passes(cJSON *object, const struct trk_bench_result *result)
{
    cJSON *list = cJSON_AddArrayToObject(object, "passes");
    for (size_t i = 0; i < result->bench.pass_count; i++) {
        const struct trk_bench_pass *pass = &result->bench.passes[i];
        cJSON *item = trk_json_out_item(list);
        trk_json_out_number(item, "round", pass->round);
        trk_json_out_number(item, "policy", pass->policy);
        trk_json_out_number(item, "device_ns", pass->times.device_ns);
        trk_json_out_number(item, "host_ns", pass->times.host_ns);
    }
}

void trk_bench_print_json(const struct trk_bench_result *result)
{
    cJSON *object = trk_json_out_object(result->runs->schema);
    trk_bench_json_head(object, result->runs, result->device_number);
    cJSON *clocks = cJSON_AddObjectToObject(object, "clocks");
    add_clock(clocks, "before", &result->runs->before);
    add_clock(clocks, "after", &result->runs->after);
    trk_calibration_json(object, trk_gpu_info(result->runs->gpu), &result->runs->calibration);
    trk_json_out_number(object, "seed", result->seed);
    trk_json_out_number(object, "rounds", result->bench.rounds);
    trk_json_out_number(object, "rounds_wanted", result->rounds_wanted);
    cJSON_AddBoolToObject(object, "interrupted", result->interrupted);
    trk_json_out_number(object, "turns", result->bench.turns);
    add_detect(object, result);
    add_one_region(object, result);
    add_policies(object, result);
    add_verdicts(object, result);
    add_passes(object, result);
    trk_json_out_print(object);
}
