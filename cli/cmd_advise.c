/* trk advise: which transfer policy for this trace on this device, and the figures that say so. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "advice_print.h"
#include "command.h"
#include "options.h"
#include "progress.h"
#include "terminal.h"

#define SCHEMA "trk-advise/1"

static const struct trk_option advise_options[] = {
    {.name = "rounds",
     .kind = TRK_OPTION_NUMBER,
     .value = "N",
     .fallback = "10",
     .least = TRK_STATISTICS_ROUNDS_LEAST,
     .most = TRK_STATISTICS_ROUNDS_MOST,
     .about = "Rounds to measure."},
    {.name = "seconds",
     .kind = TRK_OPTION_NUMBER,
     .value = "S",
     .least = 1,
     .most = 86400,
     .about = "End in time, with what was measured: when half of so many seconds are over no "
              "further policy is tried, and no round begins that would end later than they are; "
              "one policy is tried and one round run in any case."},
    TRK_POLICY_RUNS_OPTIONS,
    {.name = "json", .about = "One JSON object, schema " SCHEMA "."},
    TRK_PROGRESS_OPTION,
    {.name = NULL},
};

/* Redundant uploads, by the hashes of pages that the trace has. */
static int pages_count(struct trk_advise_result *result, const struct trk_options *options)
{
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    struct trk_trace *trace = result->runs->input.trace;
    struct trk_trace_event event;
    enum trk_status status = trk_trace_rewind(trace, &error);
    while (status == TRK_OK) {
        status = trk_trace_next(trace, &event, &error);
        if (status == TRK_OK && !trk_page_hashes_note(&result->pages, &event.event)) {
            status = trk_error_set(&error, TRK_E_MEMORY, "out of memory");
        }
    }
    if (status != TRK_E_END) {
        return trk_input_fail(&result->runs->input, options, SCHEMA, &error);
    }
    return TRK_EXIT_OK;
}

static int predict(struct trk_advise_result *result, const struct trk_options *options)
{
    for (uint32_t i = 0; i < result->runs->count; i++) {
        struct trk_policy_run *run = &result->runs->runs[i];
        struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
        if (trk_gpu_cost(result->runs->gpu, run->policy.queue, &result->costs[i], &error) !=
            TRK_OK) {
            return trk_policy_runs_fail(options, run->text, &error);
        }
        result->predicted_ns[i] =
            trk_advice_predict_ns(&result->costs[i], &run->policy, &run->last);
    }
    return TRK_EXIT_OK;
}

/* The policy with the least median, and how all others compare with it. */
static int choose(struct trk_advise_result *result, const struct trk_options *options)
{
    const struct trk_bench *bench = &result->bench;
    for (uint32_t i = 0; i < bench->policies; i++) {
        result->host[i] = trk_bench_spread_of(bench, i, TRK_BENCH_HOST);
        result->device[i].median = -1.0;
        if (trk_bench_has(bench, i, TRK_BENCH_DEVICE)) {
            result->device[i] = trk_bench_spread_of(bench, i, TRK_BENCH_DEVICE);
        }
        if (result->host[i].median < result->host[result->best].median) {
            result->best = i;
        }
    }
    result->compared = bench->rounds >= TRK_STATISTICS_ROUNDS_LEAST;
    for (uint32_t i = 0; result->compared && i < bench->policies; i++) {
        struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
        const uint32_t pair[2] = {i, result->best};
        if (trk_bench_compare(&result->against[i], bench, pair, TRK_BENCH_HOST, result->seed,
                              &error) != TRK_OK) {
            return trk_policy_runs_fail(options, result->runs->runs[i].text, &error);
        }
    }
    return TRK_EXIT_OK;
}

static int measure(struct trk_advise_result *result, const struct trk_options *options)
{
    struct trk_policy_runs *runs = result->runs;
    trk_policy_runs_watch_interrupts();
    int code = trk_policy_runs_prepare(runs, options, true);
    if (code == TRK_EXIT_OK) {
        code = predict(result, options);
    }
    if (code == TRK_EXIT_OK) {
        code = trk_policy_runs_bench(runs, options, result->rounds_wanted, &result->bench);
    }
    return code == TRK_EXIT_OK ? choose(result, options) : code;
}

/* What the trace says by itself is printed also where there is no device to ask. */
static int advise(struct trk_advise_result *result, const struct trk_options *options)
{
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    int code = pages_count(result, options);
    if (code == TRK_EXIT_OK &&
        trk_advice_make(&result->advice, result->runs->plan, &error) != TRK_OK) {
        code = trk_input_fail(&result->runs->input, options, SCHEMA, &error);
    }
    if (code != TRK_EXIT_OK) {
        return code;
    }
    const struct trk_gpu_options gpu = {.size = sizeof gpu, .device_number = result->device_number};
    if (trk_gpu_open(&result->runs->gpu, &gpu, &error) != TRK_OK) {
        result->no_device = error;
        (trk_options_flag(options, "json") ? trk_advise_print_json : trk_advise_print_text)(result);
        trk_terminal_flush();
        return trk_terminal_error("advise", NULL, &error);
    }
    code = measure(result, options);
    if (code == TRK_EXIT_OK) {
        (trk_options_flag(options, "json") ? trk_advise_print_json : trk_advise_print_text)(result);
        trk_terminal_flush();
        code = trk_input_report(&result->runs->input, options);
        if (result->runs->cut_short) {
            trk_terminal_say("advise", "interrupted: %u of %u rounds were run",
                             result->bench.rounds, result->rounds_wanted);
            code = TRK_EXIT_DAMAGED;
        }
    }
    return code;
}

static int run_advise(const struct trk_options *options)
{
    static struct trk_policy_runs runs; /* 50 KiB of names and reasons */
    static struct trk_advise_result result;
    trk_policy_runs_init(&runs, SCHEMA);
    result = (struct trk_advise_result){
        .runs = &runs,
        .seed = trk_options_number(options, "seed"),
        .device_number = (uint32_t)trk_options_number(options, "device"),
        .rounds_wanted = (uint32_t)trk_options_number(options, "rounds"),
    };
    runs.hurried = true;
    if (trk_options_given(options, "seconds")) {
        runs.seconds = trk_options_number(options, "seconds");
    }
    trk_policy_runs_want_all(&runs);
    int code = trk_policy_runs_plan(&runs, options);
    if (code == TRK_EXIT_OK) {
        code = advise(&result, options);
    }
    trk_page_hashes_deinit(&result.pages);
    trk_bench_free(&result.bench);
    trk_policy_runs_close(&runs);
    return code;
}

const struct trk_command trk_cmd_advise = {
    .name = "advise",
    .about = "say which transfer policy suits a trace on a Vulkan device, and why",
    .operands = "[F]",
    .text =
        "Prints what a trace's copies are like: bytes moved against bytes that could differ, "
        "uploads "
        "that carried nothing new (in traces with page hashes, trk record --payload hash), how "
        "large "
        "the ranges are and how far apart. Then it measures what a region and a byte cost on the "
        "device, predicts from these two numbers what each policy should take, runs every policy "
        "in "
        "balanced rounds, and names the one that takes the host the least time from the first copy "
        "into "
        "staging to the last wait, with all figures. That takes minutes where the trace is large: "
        "--progress says how far it is, "
        "--seconds ends it in time, fewer --rounds and a part of the frames take less.\n"
        "\n"
        "An interrupt (SIGINT) ends the rounds behind the one that runs, or, before them, what was "
        "not tried yet is left out; what was run is judged, and the exit code is 3. A second one "
        "ends the program.\n"
        "\n"
        "Without a device the first part is printed, and the exit code is 4.",
    .examples = "trk advise trace.trk\ntrk advise --seconds 30 trace.trk\n"
                "trk advise --device 1 --json trace.trk",
    .exits = "0 good, 1 a policy brought wrong bytes, 2 usage, 3 damaged or incomplete input, or "
             "an interrupt, 4 no "
             "Vulkan, a device that was lost or has no memory left, or a lost or wrong time stamp, "
             "70 internal",
    .schema = SCHEMA,
    .options = advise_options,
    .operands_most = 1,
    .no_named_pipe = true,
    .run = run_advise,
};
