/* trk bench: the same copies under several policies, compared. */
#include <stdio.h>
#include <string.h>

#include "bench_print.h"
#include "command.h"
#include "options.h"
#include "progress.h"
#include "terminal.h"

#define SCHEMA "trk-bench/1"

#define ROUNDS        30u
#define ROUNDS_DETECT 2000u

static const char *const sides[] = {"a", "b", "c", "d"};
#define SIDES (sizeof sides / sizeof sides[0])

static const struct trk_option bench_options[] = {
    {.name = "a",
     .kind = TRK_OPTION_TEXT,
     .value = "P",
     .fallback = "per-range",
     .about = "The policy that the others are compared with."},
    {.name = "b", .kind = TRK_OPTION_TEXT, .value = "P", .about = "A policy to compare with it."},
    {.name = "c", .kind = TRK_OPTION_TEXT, .value = "P", .about = "Another one."},
    {.name = "d", .kind = TRK_OPTION_TEXT, .value = "P", .about = "Another one."},
    {.name = "all",
     .about = "All kinds of policies that there are; those that the device cannot run are named."},
    {.name = "seconds",
     .kind = TRK_OPTION_NUMBER,
     .value = "N",
     .least = 1,
     .most = 86400,
     .about = "Begin no round that would end later than so many seconds after the start; one round "
              "is run in any case."},
    {.name = "rounds",
     .kind = TRK_OPTION_NUMBER,
     .value = "N",
     .least = TRK_STATISTICS_ROUNDS_LEAST,
     .most = TRK_STATISTICS_ROUNDS_MOST,
     .about = "Rounds to run and compare. Default: 30; with --detect 2000."},
    {.name = "detect",
     .kind = TRK_OPTION_NUMBER,
     .value = "PERCENT",
     .least = 1,
     .most = 100,
     .about = "Run rounds only until the smallest detectable difference of every policy from --a "
              "is at most so many per cent; --rounds and --seconds end the bench in any case."},
    TRK_POLICY_RUNS_OPTIONS,
    {.name = "clock",
     .kind = TRK_OPTION_CHOICE,
     .value = "WHICH",
     .choices = "auto|device|host",
     .fallback = "auto",
     .about = "Compare by the device's time stamps, by the host's clock, or by the device's where "
              "both policies have any: device, host or auto."},
    {.name = "no-check", .about = "Do not compare the bytes of each policy before the rounds."},
    {.name = "csv", .about = "Print the raw passes as CSV, nothing else."},
    {.name = "json", .about = "One JSON object, schema " SCHEMA ", raw passes included."},
    TRK_PROGRESS_OPTION,
    {.name = NULL},
};

/* The clock that two policies are compared by: the device's where both have its time. */
static int clock_choose(const struct trk_bench_result *result, const struct trk_options *options,
                        struct trk_bench_verdict *verdict)
{
    const char *clock = trk_options_text(options, "clock");
    const uint32_t pair[2] = {0, verdict->policy};
    const bool device = trk_bench_clock_of(&result->bench, pair) == TRK_BENCH_DEVICE;
    verdict->clock = device && strcmp(clock, "host") != 0 ? TRK_BENCH_DEVICE : TRK_BENCH_HOST;
    if (!device && strcmp(clock, "device") == 0) {
        char text[2 * TRK_POLICY_TEXT_BYTES + 64];
        snprintf(text, sizeof text, "--clock device: %s or %s has no time of the device",
                 result->runs->runs[0].text, result->runs->runs[verdict->policy].text);
        return trk_policy_runs_refuse(options, TRK_E_UNSUPPORTED, text);
    }
    return TRK_EXIT_OK;
}

/* Compare all policies with the first one. */
static int judge(struct trk_bench_result *result, const struct trk_options *options)
{
    if (result->bench.rounds < TRK_STATISTICS_ROUNDS_LEAST) { /* the time was over before */
        return TRK_EXIT_OK;
    }
    for (uint32_t i = 1; i < result->runs->count; i++) {
        struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
        struct trk_bench_verdict *verdict = &result->verdicts[result->verdict_count++];
        const uint32_t pair[2] = {0, i};
        verdict->policy = i;
        int code = clock_choose(result, options, verdict);
        if (code != TRK_EXIT_OK) {
            return code;
        }
        if (trk_bench_compare(&verdict->comparison, &result->bench, pair, verdict->clock,
                              result->seed, &error) != TRK_OK) {
            return trk_policy_runs_fail(options, result->runs->runs[i].text, &error);
        }
        result->detected = (i == 1 || result->detected) &&
                           verdict->comparison.detectable <= result->runs->detect.share;
    }
    return TRK_EXIT_OK;
}

static int want(struct trk_policy_runs *runs, const struct trk_options *options)
{
    int code = TRK_EXIT_OK;
    for (size_t i = 0; code == TRK_EXIT_OK && i < SIDES; i++) {
        code = trk_policy_runs_want(runs, options, sides[i]);
    }
    if (code == TRK_EXIT_OK && trk_options_flag(options, "all")) {
        trk_policy_runs_want_all(runs);
        runs->want_one = true;
    }
    if (code == TRK_EXIT_OK && runs->count < 2) {
        char text[TRK_POLICY_TEXT_BYTES + 64];
        snprintf(text, sizeof text, "nothing to compare with %s: give --b or --all",
                 runs->runs[0].text);
        return trk_policy_runs_refuse(options, TRK_E_ARGUMENT, text);
    }
    if (code == TRK_EXIT_OK && trk_options_flag(options, "csv") &&
        trk_options_flag(options, "json")) {
        return trk_policy_runs_refuse(options, TRK_E_ARGUMENT,
                                      "--csv and --json both want standard output");
    }
    return code;
}

static int print(struct trk_bench_result *result, const struct trk_options *options)
{
    int code = judge(result, options);
    if (code != TRK_EXIT_OK) {
        return code;
    }
    if (trk_options_flag(options, "csv")) {
        trk_bench_print_csv(result);
    } else if (trk_options_flag(options, "json")) {
        trk_bench_print_json(result);
    } else {
        trk_bench_print_text(result);
    }
    trk_terminal_flush();
    code = trk_input_report(&result->runs->input, options);
    if (result->interrupted) {
        trk_terminal_say("bench", "interrupted: %u of %u rounds were run", result->bench.rounds,
                         result->rounds_wanted);
        return TRK_EXIT_DAMAGED;
    }
    return code;
}

static int run_rounds(struct trk_policy_runs *runs, const struct trk_options *options)
{
    struct trk_bench_result result = {
        .runs = runs,
        .seed = trk_options_number(options, "seed"),
        .device_number = (uint32_t)trk_options_number(options, "device"),
        .rounds_wanted = trk_options_given(options, "detect") ? ROUNDS_DETECT : ROUNDS,
    };
    if (trk_options_given(options, "rounds")) {
        result.rounds_wanted = (uint32_t)trk_options_number(options, "rounds");
    }
    if (trk_options_given(options, "detect")) {
        runs->detect.share = (double)trk_options_number(options, "detect") / 100.0;
        runs->detect.by_host = strcmp(trk_options_text(options, "clock"), "host") == 0;
    }
    if (trk_options_given(options, "seconds")) {
        runs->seconds = trk_options_number(options, "seconds");
    }
    trk_policy_runs_watch_interrupts();
    int code = trk_policy_runs_bench(runs, options, result.rounds_wanted, &result.bench);
    result.interrupted = runs->cut_short;
    if (code == TRK_EXIT_OK) {
        code = print(&result, options);
        trk_bench_free(&result.bench);
    }
    return code;
}

static int run_bench(const struct trk_options *options)
{
    static struct trk_policy_runs runs; /* 50 KiB of names and reasons */
    trk_policy_runs_init(&runs, SCHEMA);
    int code = want(&runs, options);
    if (code == TRK_EXIT_OK) {
        code = trk_policy_runs_plan(&runs, options);
    }
    if (code == TRK_EXIT_OK) {
        code = trk_policy_runs_device(&runs, options);
    }
    if (code == TRK_EXIT_OK) {
        code = trk_policy_runs_prepare(&runs, options, !trk_options_flag(options, "no-check"));
    }
    if (code == TRK_EXIT_OK && strcmp(trk_options_text(options, "clock"), "device") == 0) {
        code = trk_policy_runs_timed_by_device(&runs, options);
    }
    if (code == TRK_EXIT_OK) {
        code = run_rounds(&runs, options);
    }
    trk_policy_runs_close(&runs);
    return code;
}

const struct trk_command trk_cmd_bench = {
    .name = "bench",
    .about = "compare transfer policies on a trace's copies, on a Vulkan device",
    .operands = "[F]",
    .text =
        "Runs the copies of a trace again on a device, under each policy in turn, and says which "
        "is "
        "faster, by how much and how sure that is. In a round each policy runs several times, in "
        "an "
        "order drawn from the seed and the same backwards, and its fastest pass counts. For each "
        "policy the median of the rounds' differences from --a is printed with its 95 % interval, "
        "a "
        "sign test, and the smallest difference that a run like this one would have shown "
        "(docs/performance.md says how it is defined). Where the interval spans 0 it says so: no "
        "difference shown.\n"
        "\n"
        "A policy is an expression as in trk replay, for instance auto+scatter,threads=2. The "
        "option slow=5% does that share of a policy's copies twice, inside of what is measured: "
        "with it the bench itself can be tried.\n"
        "\n"
        "With --detect the bench takes as many rounds as it needs on this machine. Only the "
        "width "
        "of the intervals ends it, never where they lie, so that the verdict is not bent by when "
        "it "
        "ends. Where so small a difference is not reached it says so.\n"
        "\n"
        "With --all the same bytes are also copied in one region, in the same rounds: what the "
        "link "
        "gives at best. Each policy's rate is held against that and against per-range's, and auto "
        "against the fastest of the gaps that were chosen by hand.\n"
        "\n"
        "Before the rounds each policy's bytes are compared once with what they should be; wrong "
        "ones end the run with 1.\n"
        "\n"
        "An interrupt (SIGINT) ends the rounds behind the one that runs; those that were run are "
        "judged, and the exit code is 3.",
    .examples = "trk bench --b auto trace.trk\n"
                "trk bench --b auto --detect 4 --seconds 60 trace.trk\n"
                "trk bench --all --seconds 250 --json trace.trk\n"
                "trk bench --b per-range,slow=5% --csv trace.trk",
    .exits = "0 good, 1 a policy brought wrong bytes, 2 usage, 3 damaged or incomplete input, or "
             "an interrupt, 4 no "
             "Vulkan, not what a policy needs, a device that was lost or has no memory left, or a "
             "lost or wrong time stamp, 70 internal",
    .schema = SCHEMA,
    .options = bench_options,
    .operands_most = 1,
    .no_named_pipe = true,
    .run = run_bench,
};
