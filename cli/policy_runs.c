#include "policy_runs.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "calibration_print.h"
#include "clock.h"
#include "interrupt.h"
#include "machine.h"
#include "progress.h"
#include "refusal.h"
#include "terminal.h"

/*
 * A round has as many turns as it takes for the fastest policy's passes to last this long together;
 * but not more than all policies' passes do in the other time.
 */
#define ROUND_NS_FASTEST UINT64_C(20000000)
#define ROUND_NS_ALL     UINT64_C(250000000)
#define SECOND_NS        UINT64_C(1000000000)

static const struct trk_error no_place = {.file_offset = TRK_NOT_KNOWN,
                                          .event_number = TRK_NOT_KNOWN};

void trk_policy_runs_init(struct trk_policy_runs *out, const char *schema)
{
    *out = (struct trk_policy_runs){
        .schema = schema, .input = {.fd = -1}, .turns = 1, .start_ns = trk_clock_ns()};
}

/* "checking policy 3 of 44". */
static void show(const char *what, const struct trk_progress *now)
{
    struct trk_progress with_text = *now;
    char text[80];
    if (!trk_progress_is_shown()) {
        return;
    }
    snprintf(text, sizeof text, "%s %" PRIu64 " of %" PRIu64, what, now->done, now->total);
    with_text.text = text;
    trk_progress_show(&with_text);
}

/* An error that is not the trace's. */
static int fail_early(const struct trk_options *options, const char *subject,
                      const struct trk_error *error)
{
    return trk_terminal_error(options->command->name, subject, error);
}

int trk_policy_runs_refuse(const struct trk_options *options, enum trk_status status,
                           const char *text)
{
    struct trk_error error = no_place;
    error.status = trk_error_set(&error, status, "%s", text);
    return fail_early(options, NULL, &error);
}

static bool noted(const struct trk_policy_runs *runs, const char *text)
{
    for (uint32_t i = 0; i < runs->count; i++) {
        if (strcmp(runs->runs[i].text, text) == 0) {
            return true;
        }
    }
    return false;
}

static void note(struct trk_policy_runs *runs, const struct trk_transfer_policy *policy,
                 const char *name)
{
    struct trk_policy_run *run = &runs->runs[runs->count++];
    *run = (struct trk_policy_run){.policy = *policy, .name = name};
    trk_transfer_policy_print(policy, run->text);
}

int trk_policy_runs_want(struct trk_policy_runs *runs, const struct trk_options *options,
                         const char *name)
{
    struct trk_error error = no_place;
    struct trk_transfer_policy policy;
    const char *text = trk_options_text(options, name);
    if (text == NULL) {
        return TRK_EXIT_OK;
    }
    if (trk_transfer_policy_parse(&policy, text, &error) != TRK_OK) {
        char subject[40 + TRK_POLICY_TEXT_BYTES];
        snprintf(subject, sizeof subject, "--%s %.*s", name, (int)TRK_POLICY_TEXT_BYTES, text);
        return fail_early(options, subject, &error);
    }
    note(runs, &policy, name);
    return TRK_EXIT_OK;
}

void trk_policy_runs_want_all(struct trk_policy_runs *runs)
{
    for (const char *const *at = trk_transfer_policy_list();
         *at != NULL && runs->count < TRK_BENCH_POLICIES_MOST; at++) {
        struct trk_transfer_policy policy;
        char text[TRK_POLICY_TEXT_BYTES];
        if (trk_transfer_policy_parse(&policy, *at, NULL) != TRK_OK) {
            continue; /* the list's own expressions parse: its test says so */
        }
        trk_transfer_policy_print(&policy, text);
        if (!noted(runs, text)) {
            note(runs, &policy, "");
        }
    }
}

int trk_policy_runs_plan(struct trk_policy_runs *runs, const struct trk_options *options)
{
    int code = trk_input_open(&runs->input, options, runs->schema);
    if (code != TRK_EXIT_OK) {
        return code;
    }
    trk_refusal_path(runs->input.path);
    struct trk_error error = no_place;
    struct trk_plan_options plan = trk_plan_options_default();
    plan.frame_first = trk_options_number(options, "from");
    if (trk_options_given(options, "to")) {
        plan.frame_last = trk_options_number(options, "to");
    }
    if (plan.frame_last < plan.frame_first) {
        error.status =
            trk_error_set(&error, TRK_E_ARGUMENT,
                          "the frames end before they begin: --from %" PRIu64 " --to %" PRIu64,
                          plan.frame_first, plan.frame_last);
        return trk_input_fail(&runs->input, options, runs->schema, &error);
    }
    if (trk_plan_create(&runs->plan, runs->input.trace, &plan, &error) != TRK_OK) {
        return trk_input_fail_lacks(&runs->input, options, runs->schema, &error);
    }
    return TRK_EXIT_OK;
}

int trk_policy_runs_device(struct trk_policy_runs *runs, const struct trk_options *options)
{
    struct trk_error error = no_place;
    const struct trk_gpu_options gpu = {
        .size = sizeof gpu, .device_number = (uint32_t)trk_options_number(options, "device")};
    return trk_gpu_open(&runs->gpu, &gpu, &error) == TRK_OK ? TRK_EXIT_OK
                                                            : fail_early(options, NULL, &error);
}

int trk_policy_runs_fail(const struct trk_options *options, const char *text,
                         struct trk_error *error)
{
    char subject[TRK_POLICY_TEXT_BYTES + 16];
    snprintf(subject, sizeof subject, "policy %s", text);
    return fail_early(options, subject, error);
}

static void leave_out(struct trk_policy_runs *runs, const struct trk_policy_run *run,
                      const struct trk_error *error)
{
    struct trk_policy_left_out *out = &runs->left_out[runs->left_out_count++];
    snprintf(out->text, sizeof out->text, "%s", run->text);
    snprintf(out->why, sizeof out->why, "%s", error->text);
}

static volatile sig_atomic_t interrupted;

/* Why no further policy is to be prepared; NULL: there is time for it. */
static const char *too_late(const struct trk_policy_runs *runs)
{
    const uint64_t half_ns = runs->seconds * SECOND_NS / 2;
    if (!runs->hurried) {
        return NULL;
    }
    return interrupted != 0 ? "interrupted before it was tried"
           : runs->seconds > 0 && trk_clock_ns() > runs->start_ns + half_ns
               ? "half of the time was over before it was tried"
               : NULL;
}

/* Leave out all policies from one on, for want of time. */
static void leave_out_from(struct trk_policy_runs *runs, uint32_t first, const char *why)
{
    struct trk_error error = no_place;
    (void)trk_error_set(&error, TRK_E_UNSUPPORTED, "%s", why);
    for (uint32_t i = first; i < runs->count; i++) {
        const struct trk_policy_run gone = runs->runs[i];
        leave_out(runs, &gone, &error);
        trk_replay_destroy(gone.replay);
    }
    runs->count = first;
}

/* Create the replays; those that cannot be go from the list. */
static int create_all(struct trk_policy_runs *runs, const struct trk_options *options)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < runs->count; i++) {
        struct trk_error error = no_place;
        struct trk_policy_run run = runs->runs[i];
        const char *why = kept > 0 ? too_late(runs) : NULL;
        if (why != NULL) {
            (void)trk_error_set(&error, TRK_E_UNSUPPORTED, "%s", why);
            leave_out(runs, &run, &error);
            continue;
        }
        enum trk_status status =
            trk_replay_create(&run.replay, runs->gpu, runs->plan, &run.policy, &error);
        if ((status == TRK_E_UNSUPPORTED || status == TRK_E_MEMORY) && run.name[0] == 0) {
            leave_out(runs, &run, &error);
            continue;
        }
        if (status != TRK_OK) {
            runs->count = kept; /* those that hold something */
            return trk_policy_runs_fail(options, run.text, &error);
        }
        runs->runs[kept++] = run;
    }
    runs->count = kept;
    return TRK_EXIT_OK;
}

static int check_one(struct trk_policy_run *run, const struct trk_options *options)
{
    struct trk_error error = no_place;
    if (trk_replay_check(run->replay, &run->check, &error) != TRK_OK) {
        return trk_policy_runs_fail(options, run->text, &error);
    }
    if (run->check.wrong_replayed == 0) {
        return TRK_EXIT_OK;
    }
    const struct trk_replay_wrong *wrong = &run->check.first_replayed;
    char place[80] = "at the end";
    if (wrong->event != TRK_NOT_KNOWN) {
        snprintf(place, sizeof place, "at 0x%" PRIx64 " in frame %" PRIu64, wrong->guest_addr,
                 wrong->frame);
    } else if (wrong->guest_addr != TRK_NOT_KNOWN) {
        snprintf(place, sizeof place, "at 0x%" PRIx64 " at the end", wrong->guest_addr);
    }
    trk_terminal_say(options->command->name,
                     "policy %s: wrong bytes %s: see trk replay --policy %s --check", run->text,
                     place, run->text);
    return TRK_EXIT_BROKEN;
}

/* A pass of each shows how long it takes, and so how many turns make a round. */
static int size_up(struct trk_policy_runs *runs, const struct trk_options *options)
{
    uint64_t fastest_ns = ROUND_NS_FASTEST, all_ns = 0;
    for (uint32_t i = 0; i < runs->count; i++) {
        struct trk_policy_run *run = &runs->runs[i];
        struct trk_error error = no_place;
        if (trk_replay_pass(run->replay, &run->last, &error) != TRK_OK) {
            return trk_policy_runs_fail(options, run->text, &error);
        }
        const uint64_t host_ns = run->last.all.host_ns;
        fastest_ns = host_ns < fastest_ns ? host_ns : fastest_ns;
        all_ns += host_ns;
    }
    runs->turns = 1;
    while (runs->turns < TRK_BENCH_TURNS_MOST &&
           2 * (runs->turns + 1) * fastest_ns <= ROUND_NS_FASTEST &&
           2 * (runs->turns + 1) * all_ns <= ROUND_NS_ALL) {
        runs->turns++;
    }
    struct trk_replay_times times;
    struct trk_error error = no_place;
    return runs->one == NULL || trk_one_region_pass(runs->one, &times, &error) == TRK_OK
               ? TRK_EXIT_OK
               : fail_early(options, "one region", &error);
}

/* As many bytes as the frame with the most, the way that most bytes go. */
static int create_one(struct trk_policy_runs *runs, const struct trk_options *options)
{
    const struct trk_plan *plan = runs->plan;
    struct trk_error error = no_place;
    struct trk_one_region_options one = {
        .size = sizeof one,
        .down = plan->download_bytes > plan->upload_bytes,
    };
    for (size_t i = 0; i < plan->frame_count; i++) {
        const struct trk_plan_frame *frame = &plan->frames[i];
        const uint64_t bytes = one.down ? frame->download_bytes : frame->upload_bytes;
        one.size_bytes = bytes > one.size_bytes ? bytes : one.size_bytes;
    }
    if (!runs->want_one || one.size_bytes == 0) {
        return TRK_EXIT_OK;
    }
    return trk_one_region_create(&runs->one, runs->gpu, &one, &error) == TRK_OK
               ? TRK_EXIT_OK
               : fail_early(options, "one region", &error);
}

int trk_policy_runs_timed_by_device(struct trk_policy_runs *runs, const struct trk_options *options)
{
    for (uint32_t i = 0; i < runs->count;) {
        struct trk_policy_run *run = &runs->runs[i];
        struct trk_error error = no_place;
        if (run->last.all.device_ns != TRK_NOT_KNOWN) {
            i++;
            continue;
        }
        error.status = trk_error_set(&error, TRK_E_UNSUPPORTED, "it has no time of the device");
        if (run->name[0] != '\0') {
            return trk_policy_runs_fail(options, run->text, &error);
        }
        const struct trk_policy_run gone = *run;
        leave_out(runs, &gone, &error);
        trk_replay_destroy(gone.replay);
        runs->count--;
        memmove(run, run + 1, (runs->count - i) * sizeof *run);
    }
    return TRK_EXIT_OK;
}

int trk_policy_runs_prepare(struct trk_policy_runs *runs, const struct trk_options *options,
                            bool check)
{
    int code = create_all(runs, options);
    code = code == TRK_EXIT_OK ? create_one(runs, options) : code;
    runs->checked = check;
    for (uint32_t i = 0; check && code == TRK_EXIT_OK && i < runs->count; i++) {
        const char *why = i > 0 ? too_late(runs) : NULL;
        if (why != NULL) {
            leave_out_from(runs, i, why);
            break;
        }
        show("checking policy",
             &(struct trk_progress){
                 .unit = "policies", .done = i + 1, .total = runs->count, .step = true});
        code = check_one(&runs->runs[i], options);
    }
    return code == TRK_EXIT_OK ? size_up(runs, options) : code;
}

static enum trk_status pass_run(void *context, uint32_t policy, struct trk_bench_times *out,
                                struct trk_error *error)
{
    struct trk_policy_runs *runs = context;
    show("measuring: pass", &(struct trk_progress){.unit = "passes",
                                                   .done = ++runs->passes,
                                                   .total = runs->passes_wanted});
    if (policy == runs->count) {
        struct trk_replay_times times;
        enum trk_status status = trk_one_region_pass(runs->one, &times, error);
        *out = (struct trk_bench_times){.host_ns = times.host_ns, .device_ns = times.device_ns};
        return status;
    }
    struct trk_policy_run *run = &runs->runs[policy];
    enum trk_status status = trk_replay_pass(run->replay, &run->last, error);
    char fault[TRK_REPLAY_FAULT_BYTES];
    if (status == TRK_OK && trk_replay_times_fault(&run->last, fault, sizeof fault)) {
        return trk_error_set(error, TRK_E_SYSTEM, "policy %s: %s", run->text, fault);
    }
    trk_calibration_extend(&runs->calibration, &run->last.calibration);
    out->host_ns = run->last.all.host_ns;
    out->device_ns = run->last.all.device_ns;
    return status;
}

static void clocks_read(const struct trk_policy_runs *runs, struct trk_policy_clocks *out)
{
    out->processor_mhz = trk_machine_processor_mhz();
    (void)trk_gpu_clock_read(&out->gpu, trk_gpu_info(runs->gpu)->device_name);
}

void trk_policy_runs_watch_interrupts(void)
{
    trk_interrupt_watch(&interrupted, 1, true);
}

/* A round is expected to last as long as the longest before it. */
static bool round_fits(struct trk_policy_runs *runs)
{
    const uint64_t now = trk_clock_ns(), last = now - runs->round_start_ns;
    runs->round_ns = last > runs->round_ns ? last : runs->round_ns;
    return runs->seconds == 0 || now + runs->round_ns <= runs->start_ns + runs->seconds * SECOND_NS;
}

static bool round_more(void *context, const struct trk_bench *so_far)
{
    struct trk_policy_runs *runs = context;
    const bool more = round_fits(runs) && !(runs->detect.share > 0.0 &&
                                            trk_bench_detects(so_far, &runs->detect, runs->seed));
    runs->cut_short = more && interrupted != 0;
    runs->round_start_ns = trk_clock_ns();
    return more && !runs->cut_short;
}

int trk_policy_runs_bench(struct trk_policy_runs *runs, const struct trk_options *options,
                          uint32_t rounds, struct trk_bench *out)
{
    struct trk_error error = no_place;
    runs->seed = trk_options_number(options, "seed");
    const struct trk_bench_options bench = {
        .size = sizeof bench,
        .policies = runs->count + (runs->one != NULL),
        .rounds = rounds,
        .turns = runs->turns,
        .seed = runs->seed,
        .pass = pass_run,
        .more = round_more,
        .warm = true, /* sizing up was a pass of each */
        .context = runs,
    };
    runs->detect.policies = runs->count;
    runs->passes_wanted = UINT64_C(2) * rounds * bench.turns * bench.policies;
    clocks_read(runs, &runs->before);
    runs->round_start_ns = trk_clock_ns();
    enum trk_status status = trk_bench_run(out, &bench, &error);
    clocks_read(runs, &runs->after);
    trk_progress_wipe();
    return status == TRK_OK ? TRK_EXIT_OK : fail_early(options, NULL, &error);
}

void trk_policy_runs_close(struct trk_policy_runs *runs)
{
    for (uint32_t i = 0; i < runs->count; i++) {
        trk_replay_destroy(runs->runs[i].replay);
    }
    trk_one_region_destroy(runs->one);
    trk_gpu_close(runs->gpu);
    trk_plan_destroy(runs->plan);
    trk_input_close(&runs->input);
}
