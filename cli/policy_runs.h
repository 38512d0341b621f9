/*
 * A trace and several policies, ready to be run again and again on one device.
 */
#ifndef CLI_POLICY_RUNS_H
#define CLI_POLICY_RUNS_H

#include "input.h"
#include "options.h"
#include "replayer/bench.h"
#include "replayer/gpu_clock.h"
#include "replayer/one_region.h"
#include "replayer/plan.h"
#include "replayer/policy.h"
#include "replayer/replay.h"

struct trk_policy_run {
    struct trk_transfer_policy policy;
    char text[TRK_POLICY_TEXT_BYTES]; /* the shortest expression that means it */
    const char *name;                 /* the option that gave it: "a"; "" where --all did */
    struct trk_replay *replay;
    struct trk_replay_pass last; /* counts and times of a pass */
    struct trk_replay_check check;
};

/* A policy that the device cannot run, or that there is no memory for. */
struct trk_policy_left_out {
    char text[TRK_POLICY_TEXT_BYTES];
    char why[sizeof((struct trk_error *)0)->text];
};

/* The clocks at one moment; zeros where they are not known. */
struct trk_policy_clocks {
    uint32_t processor_mhz;
    struct trk_gpu_clock gpu;
};

struct trk_policy_runs {
    const char *schema;
    struct trk_input input;
    struct trk_plan *plan;
    struct trk_gpu *gpu;
    struct trk_policy_run runs[TRK_BENCH_POLICIES_MOST];
    uint32_t count;
    struct trk_policy_left_out left_out[TRK_BENCH_POLICIES_MOST];
    uint32_t left_out_count;
    uint32_t turns;                 /* of a round, so that a round is long enough */
    bool want_one;                  /* measure also what the link gives in one region */
    struct trk_one_region *one;     /* that; in a bench it is the policy behind the last; or NULL */
    struct trk_bench_detect detect; /* share 0: all rounds are run */
    uint64_t seed;                  /* the bench's */
    uint64_t start_ns, seconds; /* no round begins that would end later than this; 0: no limit */
    uint64_t round_ns;          /* the longest so far */
    uint64_t round_start_ns;
    struct trk_calibration calibration; /* from the first pass of the rounds to the last */
    bool checked;
    bool cut_short; /* an interrupt has ended the rounds before they were all run */
    bool hurried;   /* what no option named and there is no time to prepare is left out */
    uint64_t passes, passes_wanted;         /* of the rounds */
    struct trk_policy_clocks before, after; /* the bench */
};

/* The options of commands that run policies. */
#define TRK_POLICY_RUNS_OPTIONS                                                                    \
    {.name = "device",                                                                             \
     .kind = TRK_OPTION_NUMBER,                                                                    \
     .value = "N",                                                                                 \
     .fallback = "0",                                                                              \
     .most = UINT32_MAX,                                                                           \
     .about = "Number of the Vulkan device, see trk devices."},                                    \
        {.name = "from",                                                                           \
         .kind = TRK_OPTION_NUMBER,                                                                \
         .value = "N",                                                                             \
         .fallback = "0",                                                                          \
         .most = UINT64_MAX,                                                                       \
         .about = "First frame."},                                                                 \
        {.name = "to",                                                                             \
         .kind = TRK_OPTION_NUMBER,                                                                \
         .value = "N",                                                                             \
         .most = UINT64_MAX,                                                                       \
         .about = "Last frame. Default: the trace's last."},                                       \
    {                                                                                              \
        .name = "seed", .kind = TRK_OPTION_NUMBER, .value = "N", .fallback = "1",                  \
        .most = UINT64_MAX, .about = "Seed of the order of the passes and of resampling."          \
    }

/* All below give an exit code: TRK_EXIT_OK, or what to end with after the message that was printed
 * (in JSON too, with --json). */

/* Begin with nothing. */
void trk_policy_runs_init(struct trk_policy_runs *out, const char *schema);

/* Note the policy that an option gives, if it is given. The trace is not needed for it. */
int trk_policy_runs_want(struct trk_policy_runs *runs, const struct trk_options *options,
                         const char *name);
/* Note every kind of policy that there is and that is not noted yet. */
void trk_policy_runs_want_all(struct trk_policy_runs *runs);

/* Open the trace and plan it. */
int trk_policy_runs_plan(struct trk_policy_runs *runs, const struct trk_options *options);

/* Open the device. */
int trk_policy_runs_device(struct trk_policy_runs *runs, const struct trk_options *options);

/*
 * Prepare all policies. One that the device cannot run, or has no memory for, ends this with 4
 * where an option named it, and is left out where none did. With `check` each one's bytes are
 * compared once: 1 when they are wrong where the trace's were right. When they are hurried, an
 * interrupt or half of the seconds being over leaves out those that are not prepared yet, but for
 * the first.
 */
int trk_policy_runs_prepare(struct trk_policy_runs *runs, const struct trk_options *options,
                            bool check);

/*
 * Keep only policies that have the device's time. One without ends this with 4 where an option
 * named it, and is left out where none did. Behind trk_policy_runs_prepare.
 */
int trk_policy_runs_timed_by_device(struct trk_policy_runs *runs,
                                    const struct trk_options *options);

/* From now on an interrupt ends the rounds behind the one that runs; a second one ends the program.
 */
void trk_policy_runs_watch_interrupts(void);

/* Run all in rounds, as many as there is time for; at least one. */
int trk_policy_runs_bench(struct trk_policy_runs *runs, const struct trk_options *options,
                          uint32_t rounds, struct trk_bench *out);

/* Say what is wrong with what was asked for. */
int trk_policy_runs_refuse(const struct trk_options *options, enum trk_status status,
                           const char *text);

/* Say an error of a policy. */
int trk_policy_runs_fail(const struct trk_options *options, const char *text,
                         struct trk_error *error);

void trk_policy_runs_close(struct trk_policy_runs *runs);

#endif
