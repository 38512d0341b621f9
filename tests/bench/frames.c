/*
 * A frame of `trk demo` with the recorder against one without: one JSON object on stdout.
 *
 *   trk_bench_frames --trk PATH [--rounds N] [--frames N] [--load long]
 *
 * Two loads: the demo as it is, and with as much work of the guest's own as makes a frame a bit
 * less than five milliseconds without the recorder; both with above 900 events a frame, unpaced.
 * With --load long only the latter: twice as many rounds in the same time.
 * Rounds of two runs, one recorded and one not, the order taking turns. The ratio of a round is
 * what counts: both runs saw the same machine. Three of them: of the time of all frames, of the
 * median frame, which one interruption does not move, and of the program's processor time, which
 * says something on a busy machine, too; that of the recording parent is not in it. The median of
 * the rounds' ratios has a 95 % interval by bootstrap, with fixed seed. 77 without a Vulkan device.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "demo_rounds.h"
#include "samples.h"

#define RESAMPLES 2000u
/* About 966 events a frame. */
#define DEMO       "demo --json --threads 1 --megabytes 4 --pages 8"
#define LONG_NS    4.6e6
#define LONGEST_NS 5.0e6
/* Work that is tried to see what it takes. */
#define TRIED_KIB  8192u
#define TRIED_RUNS 3u
#define LOADS      2u
#define LONG_LOAD  "long"

struct run {
    double frame_ns;
    double median_ns;
    double cpu_ns;
    double events_a_frame;
};

enum ratio { RATIO_ALL, RATIO_MEDIAN, RATIO_CPU, RATIOS };

static const char *const ratio_names[RATIOS] = {"recorded_ratio", "recorded_median_ratio",
                                                "recorded_cpu_ratio"};

struct load {
    unsigned work_kib;
    struct bench_samples plain_ns, recorded_ns, events, ratios[RATIOS];
};

static bool number_behind(const char *text, const char *key, double *out)
{
    const char *at = strstr(text, key);
    return at != NULL && sscanf(at + strlen(key), "%*[: ]%lf", out) == 1;
}

/* Run a command line; what it prints must have the keys. The exit code. */
static int run_line(const char *line, unsigned frames, bool recorded, struct run *out)
{
    char text[8192];
    FILE *pipe = popen(line, "r"); /* NOLINT(cert-env33-c): the user's own path */
    if (pipe == NULL) {
        perror("popen");
        return 70;
    }
    size_t length = fread(text, 1, sizeof text - 1, pipe);
    text[length] = '\0';
    int status = pclose(pipe);
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 70;
    double frames_ns = 0;
    double median_ns = 0;
    double cpu_ns = 0;
    double events = 0;
    double dropped = 0;
    if (code == 0 && (!number_behind(text, "\"frames_ns\"", &frames_ns) ||
                      !number_behind(text, "\"frame_median_ns\"", &median_ns) ||
                      !number_behind(text, "\"frames_cpu_ns\"", &cpu_ns) ||
                      (recorded && (!number_behind(text, "\"events\"", &events) ||
                                    !number_behind(text, "\"dropped\"", &dropped)))))
        code = 70;
    if (dropped > 0)
        fprintf(stderr, "trk_bench_frames: %.0f events were lost\n", dropped);
    *out = (struct run){frames_ns / frames, median_ns, cpu_ns / frames, events / frames};
    return code;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, compare);
    return count % 2 == 1 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void print_interval(const char *name, const struct bench_samples *ratios)
{
    static double medians[RESAMPLES];
    static double drawn[BENCH_SAMPLES_MAX];
    uint64_t state = UINT64_C(0x9e3779b97f4a7c15);
    for (unsigned i = 0; i < RESAMPLES; i++) {
        for (size_t k = 0; k < ratios->count; k++) {
            drawn[k] = ratios->values[next_random(&state) % ratios->count];
        }
        medians[i] = median(drawn, ratios->count);
    }
    memcpy(drawn, ratios->values, ratios->count * sizeof *drawn);
    double middle = median(drawn, ratios->count);
    qsort(medians, RESAMPLES, sizeof *medians, compare);
    double low = medians[RESAMPLES / 40];
    double high = medians[RESAMPLES - 1 - RESAMPLES / 40];
    printf(
        ",\n   \"%s\": {\"median\": %.5f, \"low\": %.5f, \"high\": %.5f, \"at_most_one_percent\": "
        "%s}",
        name, middle, low, high, high <= 1.01 ? "\"shown\"" : "\"not shown\"");
}

static int run_one(const struct demo_rounds *asked, unsigned work_kib, bool recorded,
                   struct run *out)
{
    char line[1024];
    char demo[640];
    snprintf(demo, sizeof demo, "'%s' " DEMO " --work %u --frames %u", asked->trk, work_kib,
             asked->frames);
    if (recorded) {
        snprintf(line, sizeof line, "'%s' record --json -f -o '%s' -- %s 2>&1", asked->trk,
                 asked->scratch, demo);
    }
    return run_line(recorded ? line : demo, asked->frames, recorded, out);
}

/* A frame of the shortest of some plain runs. */
static int try_work(const struct demo_rounds *asked, unsigned work_kib, double *out)
{
    *out = 0;
    for (unsigned i = 0; i < TRIED_RUNS; i++) {
        struct run run;
        int code = run_one(asked, work_kib, false, &run);
        if (code != 0) {
            return code;
        }
        *out = i == 0 || run.frame_ns < *out ? run.frame_ns : *out;
    }
    return 0;
}

/* How much work makes the long frame, on this machine: first by a little, then by about that much.
 */
static int choose_work(const struct demo_rounds *asked, unsigned *out)
{
    double without_ns;
    double with_ns;
    unsigned work_kib = TRIED_KIB;
    int code = try_work(asked, 0, &without_ns);
    for (unsigned i = 0; i < 2 && code == 0 && work_kib > 0; i++) {
        code = try_work(asked, work_kib, &with_ns);
        work_kib = code == 0 && with_ns > without_ns && without_ns < LONG_NS
                       ? (unsigned)((LONG_NS - without_ns) / (with_ns - without_ns) * work_kib)
                       : 0;
    }
    *out = work_kib;
    return code;
}

static int measure_round(const struct demo_rounds *asked, unsigned round, struct load *load)
{
    struct run runs[2]; /* plain, recorded */
    for (unsigned i = 0; i < 2; i++) {
        unsigned which = (round + i) % 2;
        int code = run_one(asked, load->work_kib, which == 1, &runs[which]);
        if (code != 0) {
            return code;
        }
    }
    bench_samples_add(&load->plain_ns, runs[0].frame_ns);
    bench_samples_add(&load->recorded_ns, runs[1].frame_ns);
    bench_samples_add(&load->events, runs[1].events_a_frame);
    bench_samples_add(&load->ratios[RATIO_ALL], runs[1].frame_ns / runs[0].frame_ns);
    bench_samples_add(&load->ratios[RATIO_MEDIAN], runs[1].median_ns / runs[0].median_ns);
    bench_samples_add(&load->ratios[RATIO_CPU], runs[1].cpu_ns / runs[0].cpu_ns);
    return 0;
}

static void print_load(const char *name, const struct load *load)
{
    const struct bench_row rows[] = {
        {"plain_frame_ns", bench_samples_spread(&load->plain_ns)},
        {"recorded_frame_ns", bench_samples_spread(&load->recorded_ns)},
        {"events_a_frame", bench_samples_spread(&load->events)},
    };
    printf("  {\"load\": \"%s\", \"work_kib\": %u, \"at_most_five_ms\": %s", name, load->work_kib,
           rows[0].spread.median <= LONGEST_NS ? "true" : "false");
    bench_rows_print(stdout, ",\n   ", rows, sizeof rows / sizeof rows[0]);
    for (unsigned i = 0; i < RATIOS; i++) {
        print_interval(ratio_names[i], &load->ratios[i]);
    }
    printf("}");
}

static int measure(const struct demo_rounds *asked)
{
    static struct load loads[LOADS];
    const bool all = asked->load == NULL;
    if (!all && strcmp(asked->load, LONG_LOAD) != 0) {
        fprintf(stderr, "trk_bench_frames: --load is \"" LONG_LOAD "\", or not given\n");
        return 2;
    }
    int code = choose_work(asked, &loads[LOADS - 1].work_kib);
    /* The loads take turns: both meet the machine's good and bad times. */
    for (unsigned round = 0; round < asked->rounds && code == 0; round++) {
        for (unsigned i = all ? 0 : LOADS - 1; i < LOADS && code == 0; i++) {
            code = measure_round(asked, round, &loads[i]);
        }
    }
    if (code != 0) {
        return code == 4 ? 77 : 70;
    }
    printf("{\"schema\": \"trk-bench-frames/2\", \"rounds\": %u, \"frames\": %u, \"loads\": [\n",
           asked->rounds, asked->frames);
    if (all) {
        print_load("as it is", &loads[0]);
        printf(",\n");
    }
    print_load("long frames", &loads[LOADS - 1]);
    printf("\n]}\n");
    return 0;
}

int main(int argc, char **argv)
{
    return demo_rounds_main(argc, argv, "trk_bench_frames", 60, measure);
}
