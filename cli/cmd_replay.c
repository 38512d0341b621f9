/* trk replay: the copies of a trace again, on a Vulkan device. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibration_print.h"
#include "command.h"
#include "input.h"
#include "json_out.h"
#include "options.h"
#include "progress.h"
#include "replay_print.h"
#include "terminal.h"

#define SCHEMA     "trk-replay/1"
#define LOOPS_MOST 100000u

static const struct trk_option replay_options[] = {
    {.name = "policy",
     .kind = TRK_OPTION_TEXT,
     .value = "P",
     .fallback = "per-range",
     .about = "How the bytes travel, for instance auto+scatter,threads=4; the text above has the "
              "words."},
    {.name = "device",
     .kind = TRK_OPTION_NUMBER,
     .value = "N",
     .fallback = "0",
     .most = UINT32_MAX,
     .about = "The Vulkan device, by its number in trk devices."},
    {.name = "from",
     .kind = TRK_OPTION_NUMBER,
     .value = "N",
     .fallback = "0",
     .most = UINT64_MAX,
     .about = "The first frame. What was before it is there when it starts."},
    {.name = "to",
     .kind = TRK_OPTION_NUMBER,
     .value = "N",
     .most = UINT64_MAX,
     .about = "The last frame; without it the last one of the trace."},
    {.name = "loop",
     .kind = TRK_OPTION_NUMBER,
     .value = "N",
     .fallback = "1",
     .least = 1,
     .most = LOOPS_MOST,
     .about = "How often to run all of it, each time from the same state."},
    {.name = "check",
     .about = "Compare the bytes with what should be there: at each check of the trace, and all of "
              "it at the end. Not measured."},
    {.name = "frames", .about = "Print the times of each frame."},
    {.name = "validate",
     .about =
         "Load the validation layer, with synchronization validation; what it says is counted."},
    {.name = "json", .about = "One JSON object, schema " SCHEMA "."},
    TRK_PROGRESS_OPTION,
    {.name = NULL},
};

static int fail(const struct trk_replay_run *run, const struct trk_options *options,
                const struct trk_error *error)
{
    return (run->plan == NULL ? trk_input_fail_lacks : trk_input_fail)(&run->input, options, SCHEMA,
                                                                       error);
}

static enum trk_status make_plan(struct trk_replay_run *run, const struct trk_options *options,
                                 struct trk_error *error)
{
    struct trk_plan_options plan = trk_plan_options_default();
    plan.frame_first = trk_options_number(options, "from");
    if (trk_options_given(options, "to")) {
        plan.frame_last = trk_options_number(options, "to");
    }
    if (plan.frame_last < plan.frame_first) {
        return trk_error_set(error, TRK_E_ARGUMENT,
                             "the frames end before they begin: --from %" PRIu64 " --to %" PRIu64,
                             plan.frame_first, plan.frame_last);
    }
    return trk_plan_create(&run->plan, run->input.trace, &plan, error);
}

static enum trk_status make_replay(struct trk_replay_run *run, const struct trk_options *options,
                                   struct trk_error *error)
{
    struct trk_gpu_options gpu = {
        .size = sizeof gpu,
        .device_number = (uint32_t)trk_options_number(options, "device"),
        .validate = trk_options_flag(options, "validate"),
    };
    enum trk_status status = trk_gpu_open(&run->gpu, &gpu, error);
    return status == TRK_OK
               ? trk_replay_create(&run->replay, run->gpu, run->plan, &run->policy, error)
               : status;
}

static enum trk_status run_passes(struct trk_replay_run *run, struct trk_error *error)
{
    enum trk_status status = TRK_OK;
    run->passes = calloc(run->loops, sizeof *run->passes);
    run->frames = calloc(run->plan->frame_count + 1, sizeof *run->frames);
    run->places = calloc(run->plan->frame_count + 1, sizeof *run->places);
    if (run->passes == NULL || run->frames == NULL || run->places == NULL) {
        return trk_error_set(error, TRK_E_MEMORY, "no memory for %" PRIu64 " passes", run->loops);
    }
    for (uint64_t i = 0; i < run->loops && status == TRK_OK; i++) {
        run->passes[i].frames = run->frames; /* those of the last one are printed */
        run->passes[i].places = run->places;
        status = trk_replay_pass(run->replay, &run->passes[i], error);
        trk_progress_show(
            &(struct trk_progress){.unit = "passes", .done = i + 1, .total = run->loops});
        trk_calibration_extend(&run->calibration, &run->passes[i].calibration);
    }
    return status;
}

static enum trk_status work(struct trk_replay_run *run, const struct trk_options *options,
                            struct trk_error *error)
{
    enum trk_status status = make_plan(run, options, error);
    if (status == TRK_OK) {
        status = make_replay(run, options, error);
    }
    if (status == TRK_OK) {
        status = run_passes(run, error);
    }
    if (status == TRK_OK && run->checked) {
        status = trk_replay_check(run->replay, &run->check, error);
    }
    trk_replay_destroy(run->replay);
    run->replay = NULL;
    trk_gpu_end(run->gpu); /* the layer may have something to say of that, too */
    if (status == TRK_OK) {
        run->messages = trk_gpu_messages(run->gpu, &run->first_message);
    }
    return status;
}

/* Whether the device did not say when something began or ended, or said what cannot be. */
static bool say_times(const struct trk_replay_run *run)
{
    for (uint64_t i = 0; i < run->loops; i++) {
        const struct trk_replay_pass *pass = &run->passes[i];
        char what[TRK_REPLAY_FAULT_BYTES];
        if (trk_replay_times_fault(pass, what, sizeof what)) {
            trk_terminal_say("replay", "%s: the device's times are not right", what);
            return true;
        }
    }
    return false;
}

static int run_replay(const struct trk_options *options)
{
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    struct trk_replay_run run = {
        .loops = trk_options_number(options, "loop"),
        .checked = trk_options_flag(options, "check"),
        .by_frame = trk_options_flag(options, "frames"),
    };
    const char *policy = trk_options_text(options, "policy");
    if (trk_transfer_policy_parse(&run.policy, policy, &error) != TRK_OK) {
        struct trk_error wrong = error;
        wrong.status = trk_error_set(&wrong, TRK_E_ARGUMENT, "--policy: %s", error.text);
        return trk_input_fail(&run.input, options, SCHEMA, &wrong);
    }
    int code = trk_input_open(&run.input, options, SCHEMA);
    if (code != TRK_EXIT_OK) {
        return code;
    }
    error.status = work(&run, options, &error);
    trk_progress_wipe();
    if (error.status != TRK_OK) {
        code = fail(&run, options, &error);
    } else {
        (trk_options_flag(options, "json") ? trk_replay_print_json : trk_replay_print_text)(&run,
                                                                                            SCHEMA);
        trk_terminal_flush();
        code = trk_input_report(&run.input, options);
        code = code == TRK_EXIT_OK && run.check.not_brought > 0 ? TRK_EXIT_DAMAGED : code;
        code = say_times(&run) ? TRK_EXIT_ENVIRONMENT : code;
        if (run.check.wrong_recorded + run.check.wrong_replayed > 0 || run.messages > 0 ||
            trk_replay_broken(&run) > 0) {
            code = TRK_EXIT_BROKEN;
        }
    }
    trk_gpu_close(run.gpu);
    trk_plan_destroy(run.plan);
    free(run.passes);
    free(run.frames);
    free(run.places);
    trk_input_close(&run.input);
    return code;
}

const struct trk_command trk_cmd_replay = {
    .name = "replay",
    .about = "run a trace's copies again on a Vulkan device",
    .operands = "[F]",
    .text =
        "Does again what a trace moved: copies to and from the device and the device's own writes, "
        "in the recorded order, under a transfer policy, and says how long it took by the device's "
        "time stamps and by the host's clock. Stores to guest memory are done in between, with "
        "the clock standing. Bytes that the trace did not record are made up from their place and "
        "their version.\n"
        "\n"
        "With --check the bytes on both sides are compared with what should be there. The oracle "
        "of trk sim says which store a read should have seen, so the replay of a trace with a "
        "coherency bug shows the wrong bytes where trk sim says that they are.\n"
        "\n"
        "A policy is WORD[+WORD][,OPTION=VALUE ...]. How ranges become regions: per-range (as "
        "recorded), coalesce:BYTES (gaps up to so much are copied along), auto (likewise, up to "
        "what a region costs on the device, which is measured first), whole (any gap), "
        "granule:BYTES (ranges are widened). Gaps are copied along only where both sides hold the "
        "same bytes. How regions travel: copy (through staging), scatter (one linear copy, then a "
        "shader puts the pieces in their places), fetch (likewise, but the shader reads staging "
        "itself), import (guest memory itself is the source), "
        "import+scatter, direct (the host writes the device's memory), host-copy (images). "
        "Options: queue=universal|compute|transfer, threads=N that copy into staging, ring=BYTES "
        "of staging each way (two of the largest submits at least, 64 at most), batch=BYTES in a "
        "submit at most, "
        "slow=N% of the copies done twice.",
    .examples = "trk replay trace.trk\n"
                "trk replay --policy auto+scatter,threads=4 --loop 10 trace.trk\n"
                "trk replay --check --from 5 --to 9 trace.trk",
    .exits = "0 good, 1 wrong bytes, a broken rule or messages of the validation layer, 2 usage, 3 "
             "damaged or "
             "incomplete input, also a trace that lacks a copy, 4 no Vulkan, not what the policy "
             "needs, a device that was lost or "
             "has no memory left, or a "
             "lost or wrong time stamp, 70 internal",
    .schema = SCHEMA,
    .options = replay_options,
    .operands_most = 1,
    .no_named_pipe = true,
    .run = run_replay,
};
