/*
 * Traces under policies, all on one device in one process: told to the tests.
 *
 *     replay_all [--validate] F... -- [POLICY...]    without any: every one of the list
 *
 * A line "plan F IMAGES PLAIN DISPATCHES" for each trace, what its plan holds, and behind it a line
 * for each policy: "ran POLICY", or "lacks POLICY: WHY" where the device cannot run it. Ends with 1
 * after a line "FAIL: ..." where bytes come out wrong, the validation layer has something to say,
 * or a replay fails.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "recorder/trace.h"
#include "replayer/plan.h"
#include "replayer/policy.h"
#include "replayer/replay.h"

static int failures;

static void fail(const char *path, const char *policy, const char *what)
{
    printf("FAIL: %s, %s: %s\n", path, policy, what);
    failures++;
}

/* A measured pass and a checked one, as trk replay --check makes them. */
static enum trk_status run(struct trk_replay *replay, struct trk_replay_check *check,
                           struct trk_error *error)
{
    struct trk_replay_pass pass = {.frames = NULL};
    enum trk_status status = trk_replay_pass(replay, &pass, error);
    return status == TRK_OK ? trk_replay_check(replay, check, error) : status;
}

static void try_policy(struct trk_gpu *gpu, const struct trk_plan *plan, const char *path,
                       const char *text)
{
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    struct trk_transfer_policy policy;
    struct trk_replay *replay = NULL;
    struct trk_replay_check check = {0};
    const char *first;
    const uint64_t before = trk_gpu_messages(gpu, &first);
    enum trk_status status = trk_transfer_policy_parse(&policy, text, &error);
    if (status == TRK_OK) {
        status = trk_replay_create(&replay, gpu, plan, &policy, &error);
        if (status == TRK_E_UNSUPPORTED) {
            printf("lacks %s: %s\n", text, error.text);
            return;
        }
    }
    if (status == TRK_OK) {
        status = run(replay, &check, &error);
    }
    trk_replay_destroy(replay);
    if (status != TRK_OK) {
        fail(path, text, error.text);
    } else if (check.wrong_recorded + check.wrong_replayed > 0) {
        fail(path, text, "wrong bytes");
    } else {
        printf("ran %s\n", text);
    }
    if (trk_gpu_messages(gpu, &first) > before) {
        fail(path, text, first);
    }
}

/* policies ends with NULL; none: every one that the list has. */
static void try_trace(struct trk_gpu *gpu, const char *path, char **policies)
{
    const struct trk_plan_options options = trk_plan_options_default();
    struct trk_error error;
    struct trk_trace *trace = NULL;
    struct trk_plan *plan = NULL;
    enum trk_status status = trk_trace_open(&trace, path, &error);
    if (status == TRK_OK) {
        status = trk_trace_scan(trace, &error);
    }
    if (status == TRK_OK) {
        status = trk_plan_create(&plan, trace, &options, &error);
    }
    if (status == TRK_OK) {
        printf("plan %s %zu %zu %" PRIu64 "\n", path, plan->image_count, plan->plain_images,
               plan->dispatches);
        for (const char *const *every = trk_transfer_policy_list();
             *policies == NULL && *every != NULL; every++) {
            try_policy(gpu, plan, path, *every);
        }
        for (; *policies != NULL; policies++) {
            try_policy(gpu, plan, path, *policies);
        }
    } else {
        fail(path, "no policy", error.text);
    }
    trk_plan_destroy(plan);
    trk_trace_close(trace);
}

int main(int argc, char **argv)
{
    struct trk_gpu *gpu = NULL;
    struct trk_error error;
    struct trk_gpu_options options = {.size = sizeof options};
    int at = 1, traces;
    if (argc > 1 && strcmp(argv[1], "--validate") == 0) {
        options.validate = true;
        at++;
    }
    for (traces = at; traces < argc && strcmp(argv[traces], "--") != 0; traces++) {
    }
    if (traces == at || traces >= argc) {
        fprintf(stderr, "usage: replay_all [--validate] F... -- [POLICY...]\n");
        return 2;
    }
    if (trk_gpu_open(&gpu, &options, &error) != TRK_OK) {
        fprintf(stderr, "replay_all: %s\n", error.text);
        return 1;
    }
    for (int i = at; i < traces; i++) {
        try_trace(gpu, argv[i], &argv[traces + 1]);
    }
    const char *said;
    const uint64_t before = trk_gpu_messages(gpu, &said);
    trk_gpu_end(gpu);
    if (trk_gpu_messages(gpu, &said) > before) {
        fail("the device", "all policies", said);
    }
    trk_gpu_close(gpu);
    return failures == 0 ? 0 : 1;
}
