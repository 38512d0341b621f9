/*
 * libtrack against the floor: runs two programs in turn, one JSON object on stdout.
 *
 *   floor_compare FLOOR TRACK [PAIRS]
 *
 * Each program prints lines `E.<who>.<key> TAB <value> TAB <unit>` for a mode (st: one thread; mt:
 * two; mem). A row's figure is the median of the ratios of pairs, libtrack / floor. The peers'
 * figures are constants: two emulators' trackers against the same floor, measured once.
 */
#define _GNU_SOURCE
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "samples.h"

#define LINES_MAX 32u
#define KEY_BYTES 64

enum better {
    LESS,
    MORE,
};

/* What a row is held against. */
struct goal {
    enum better better;
    double peers[2]; /* peer / floor: Kyty (0d92ce49), shadPS4 (0aea6ef3) */
    double times;    /* libtrack is meant to be so many times as fast as the faster one; 0: none */
};

struct row {
    const char *mode, *key, *name;
    struct goal goal;
};

static const struct row rows[] = {
    {"st", "is_cpu_modified_1p_clean", "is_cpu_1_page", {LESS, {5.39, 5.44}, 4}},
    {"st", "is_cpu_modified_1p_hot", "is_cpu_1_hot_page", {LESS, {5.29, 6.15}, 4}},
    {"st", "is_gpu_modified_64K", "is_gpu_64k", {LESS, {4.54, 4.63}, 3.5}},
    {"st", "is_gpu_modified_16M", "is_gpu_16m", {LESS, {1.92, 2.18}, 1.6}},
    {"st", "invalidate_1p_armed", "invalidate_1_armed", {LESS, {4.71, 4.90}, 3.3}},
    {"st", "invalidate_1p_already_dirty", "invalidate_1_dirty", {LESS, {8.83, 5.90}, 4}},
    {"st", "upload_64K_1dirty", "upload_64k_1_dirty", {LESS, {3.24, 4.14}, 2.3}},
    {"st", "upload_64K_clean", "upload_64k_clean", {LESS, {6.58, 7.41}, 4.5}},
    {"st", "upload_16M_1pct", "upload_16m_1_percent", {LESS, {8.22, 5.82}, 4}},
    {"st", "upload_16M_clean", "upload_16m_clean", {LESS, {3.81, 3.95}, 2.7}},
    {"st", "upload_16M_alldirty", "upload_16m_all_dirty", {LESS, {2.20, 2.47}, 1.6}},
    {"st", "invalidate_16M_range", "invalidate_16m", {LESS, {19.17, 14.55}, 8}},
    {"st", "mark_gpu_64K", "mark_gpu_64k", {LESS, {9.88, 10.80}, 6}},
    {"st", "download_64K", "download_64k", {LESS, {11.42, 7.99}, 5}},
    {"st", "fresh_region_query", "fresh_region_query", {LESS, {0.35, 0.34}, 1}},
    {"st", "fresh_region_first_arm64K", "fresh_region_arm", {LESS, {6.71, 2.46}, 0}},
    {"mt", "mt.invalidate.1thr", "invalidate_1_thread", {MORE, {0.20, 0.21}, 1}},
    {"mt", "mt.invalidate.2thr_same", "invalidate_2_threads_1_region", {MORE, {0.32, 0.36}, 2}},
    {"mt", "mt.invalidate.2thr_diff", "invalidate_2_threads_apart", {MORE, {0.21, 0.21}, 3.5}},
    {"mt", "mt.inval_upload_pair.1thr", "pair_1_thread", {MORE, {0.20, 0.19}, 1}},
    {"mt", "mt.inval_upload_pair.2thr_same", "pair_2_threads_1_region", {MORE, {0.34, 0.38}, 2}},
    {"mt", "mt.inval_upload_pair.2thr_diff", "pair_2_threads_apart", {MORE, {0.26, 0.20}, 3.5}},
};

#define ROW_COUNT (sizeof rows / sizeof rows[0])

struct line {
    char key[KEY_BYTES];
    double value;
};

struct output {
    struct line lines[LINES_MAX];
    size_t count;
};

/* Run a program in a mode; false when it does not end well. */
static bool run(const char *program, const char *mode, struct output *out)
{
    int ends[2];
    char text[256];
    out->count = 0;
    if (pipe(ends) != 0)
        return false;
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execl(program, program, mode, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    FILE *lines = fdopen(ends[0], "r");
    while (child > 0 && lines != NULL && fgets(text, sizeof text, lines) != NULL) {
        struct line *line = &out->lines[out->count];
        /* E.<who>.<key> */
        if (out->count < LINES_MAX &&
            sscanf(text, "E.%*[^.].%63[^\t]\t%lf", line->key, &line->value) == 2)
            out->count++;
    }
    if (lines != NULL)
        fclose(lines);
    int status = 0;
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
           WEXITSTATUS(status) == 0;
}

static bool find(const struct output *output, const char *key, double *value)
{
    for (size_t i = 0; i < output->count; i++) {
        if (strcmp(output->lines[i].key, key) == 0) {
            *value = output->lines[i].value;
            return true;
        }
    }
    return false;
}

struct measured {
    struct bench_samples floor[ROW_COUNT], track[ROW_COUNT];
    struct bench_samples alone, apart; /* libtrack's own rates, with one thread and with two */
};

static bool measure_pair(const char *const *programs, const char *mode, struct measured *measured)
{
    static struct output outputs[2];
    if (!run(programs[0], mode, &outputs[0]) || !run(programs[1], mode, &outputs[1]))
        return false;
    for (size_t i = 0; i < ROW_COUNT; i++) {
        double floor_value, track_value;
        /* Two ticks of the clock may be the same one: such a pair says nothing. */
        if (strcmp(rows[i].mode, mode) == 0 && find(&outputs[0], rows[i].key, &floor_value) &&
            find(&outputs[1], rows[i].key, &track_value) && floor_value > 0 && track_value > 0) {
            bench_samples_add(&measured->floor[i], floor_value);
            bench_samples_add(&measured->track[i], track_value);
        }
    }
    double alone, apart;
    if (find(&outputs[1], "mt.invalidate.1thr", &alone) &&
        find(&outputs[1], "mt.invalidate.2thr_diff", &apart)) {
        bench_samples_add(&measured->alone, alone);
        bench_samples_add(&measured->apart, apart);
    }
    return true;
}

static void print_goal(const struct bench_spread *ratio, enum better better, double goal)
{
    bool met = better == LESS ? ratio->median <= goal : ratio->median >= goal;
    printf(", \"goal\": %.3f, \"met\": %s}", goal, !ratio->known ? "null" : met ? "true" : "false");
}

static void print_row(const struct row *row, const struct measured *measured)
{
    size_t i = (size_t)(row - rows);
    const struct goal *goal = &row->goal;
    struct bench_spread floor = bench_samples_spread(&measured->floor[i]);
    struct bench_spread track = bench_samples_spread(&measured->track[i]);
    struct bench_spread ratio = bench_samples_ratio(&measured->track[i], &measured->floor[i]);
    bool first = (goal->peers[0] < goal->peers[1]) == (goal->better == LESS);
    double peer = first ? goal->peers[0] : goal->peers[1];
    printf(",\n \"%s\": {", row->name);
    bench_spread_print(stdout, "ratio", &ratio);
    if (ratio.known)
        printf(", \"floor\": %.3f, \"track\": %.3f", floor.median, track.median);
    printf(", \"peer_ratio\": %.2f", peer);
    if (goal->times > 0)
        print_goal(&ratio, goal->better,
                   goal->better == LESS ? peer / goal->times : peer * goal->times);
    else
        printf("}");
}

static void print_memory(const char *program)
{
    static const struct {
        const char *key, *name;
        double most;
    } figures[] = {
        {"mem_fixed", "resident_before_first_region_mib", 1},
        {"mem_per_tracked_GiB", "resident_per_tracked_gib_kib", 410},
    };
    static struct output output;
    if (!run(program, "mem", &output))
        output.count = 0;
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++) {
        double value;
        if (find(&output, figures[i].key, &value))
            printf(",\n \"%s\": {\"value\": %.3f, \"goal\": %.0f, \"met\": %s}", figures[i].name,
                   value, figures[i].most, value <= figures[i].most ? "true" : "false");
        else
            printf(",\n \"%s\": null", figures[i].name);
    }
}

int main(int argc, char **argv)
{
    static struct measured measured;
    unsigned long pairs = argc == 4 ? strtoul(argv[3], NULL, 10) : 15;
    if (argc < 3 || argc > 4 || pairs == 0 || pairs > BENCH_SAMPLES_MAX) {
        fputs("usage: floor_compare FLOOR TRACK [PAIRS]\n", stderr);
        return 2;
    }
    const char *const programs[2] = {argv[1], argv[2]};
    bool one = true, two = true;
    for (unsigned long i = 0; i < pairs && one; i++) {
        one = measure_pair(programs, "st", &measured);
        two = two && measure_pair(programs, "mt", &measured);
    }
    if (!one) {
        fputs("floor_compare: a program failed\n", stderr);
        return 70;
    }
    if (!two)
        fputs("floor_compare: no two processors to run on; rows of two threads are null\n", stderr);
    printf("{\"schema\": \"trk-bench-floor/1\",\n \"pairs\": %lu", pairs);
    for (size_t i = 0; i < ROW_COUNT; i++)
        print_row(&rows[i], &measured);
    struct bench_spread scaling = bench_samples_ratio(&measured.apart, &measured.alone);
    printf(",\n \"invalidate_2_threads_to_1\": {");
    bench_spread_print(stdout, "ratio", &scaling);
    print_goal(&scaling, MORE, 1.8);
    print_memory(programs[1]);
    puts("}");
    return 0;
}
