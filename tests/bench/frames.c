/*
 * A frame of `trk demo` with the recorder against one without: one JSON object on stdout.
 *
 *   trk_bench_frames --trk PATH [--rounds N] [--frames N]
 *
 * Rounds of two runs, one recorded and one not, the order taking turns; each run tells the time of
 * its frames alone, unpaced. The ratio of a round is what counts: both runs saw the same machine.
 * Its median has a 95 % interval by bootstrap, with fixed seed. Beside it stands the same for the
 * program's processor time, which says something on a busy machine, too; that of the recording
 * parent is not in it. 77 without a Vulkan device.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "demo_rounds.h"
#include "samples.h"

#define RESAMPLES 2000u
/* About 800 events a frame, some milliseconds on any machine. */
#define DEMO "demo --json --threads 1 --megabytes 4 --frames"

struct run {
    double frame_ns;
    double cpu_ns;
    double events_a_frame;
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
    FILE *pipe = popen(line, "r");
    if (pipe == NULL) {
        perror("popen");
        return 70;
    }
    size_t length = fread(text, 1, sizeof text - 1, pipe);
    text[length] = '\0';
    int status = pclose(pipe);
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 70;
    double frames_ns = 0;
    double cpu_ns = 0;
    double events = 0;
    double dropped = 0;
    if (code == 0 && (!number_behind(text, "\"frames_ns\"", &frames_ns) ||
                      !number_behind(text, "\"frames_cpu_ns\"", &cpu_ns) ||
                      (recorded && (!number_behind(text, "\"events\"", &events) ||
                                    !number_behind(text, "\"dropped\"", &dropped)))))
        code = 70;
    if (dropped > 0)
        fprintf(stderr, "trk_bench_frames: %.0f events were lost\n", dropped);
    *out = (struct run){frames_ns / frames, cpu_ns / frames, events / frames};
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
    printf(",\n \"%s\": {\"median\": %.5f, \"low\": %.5f, \"high\": %.5f, \"at_most_one_percent\": "
           "%s}",
           name, middle, low, high, high <= 1.01 ? "\"shown\"" : "\"not shown\"");
}

static int measure(const struct demo_rounds *asked)
{
    static struct bench_samples plain_ns, recorded_ns, ratios, cpu_ratios, events;
    const unsigned rounds = asked->rounds;
    const unsigned frames = asked->frames;
    char plain[512];
    char recorded[512];
    snprintf(plain, sizeof plain, "'%s' " DEMO " %u", asked->trk, frames);
    snprintf(recorded, sizeof recorded, "'%s' record --json -f -o '%s' -- '%s' " DEMO " %u 2>&1",
             asked->trk, asked->scratch, asked->trk, frames);
    for (unsigned round = 0; round < rounds; round++) {
        struct run runs[2]; /* plain, recorded */
        for (unsigned i = 0; i < 2; i++) {
            unsigned which = (round + i) % 2;
            int code = run_line(which ? recorded : plain, frames, which == 1, &runs[which]);
            if (code != 0) {
                return code == 4 ? 77 : 70;
            }
        }
        bench_samples_add(&plain_ns, runs[0].frame_ns);
        bench_samples_add(&recorded_ns, runs[1].frame_ns);
        bench_samples_add(&ratios, runs[1].frame_ns / runs[0].frame_ns);
        bench_samples_add(&cpu_ratios, runs[1].cpu_ns / runs[0].cpu_ns);
        bench_samples_add(&events, runs[1].events_a_frame);
    }
    struct bench_spread spread = bench_samples_spread(&plain_ns);
    printf("{\"schema\": \"trk-bench-frames/1\",\n \"rounds\": %u,\n \"frames\": %u,\n ", rounds,
           frames);
    bench_spread_print(stdout, "plain_frame_ns", &spread);
    spread = bench_samples_spread(&recorded_ns);
    printf(",\n ");
    bench_spread_print(stdout, "recorded_frame_ns", &spread);
    spread = bench_samples_spread(&events);
    printf(",\n ");
    bench_spread_print(stdout, "events_a_frame", &spread);
    print_interval("recorded_ratio", &ratios);
    print_interval("recorded_cpu_ratio", &cpu_ratios);
    printf("}\n");
    return 0;
}

int main(int argc, char **argv)
{
    return demo_rounds_main(argc, argv, "trk_bench_frames", 30, measure);
}
