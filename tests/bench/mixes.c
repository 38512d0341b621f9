/*
 * What the recorder costs on the demo's mix of events and on three others: one JSON object on
 * stdout.
 *
 *   trk_bench_mixes --trk PATH [--rounds N] [--frames N]
 *
 * Each mix is recorded without losses. Then, N times, its events are appended again, in a recorded
 * process, beside a bare append of the same. A second recording keeps whole time stamps: for each
 * resolution of them (against_raw.h) it is encoded and decoded beside the same records as they lie
 * in memory, by zstd at level 3. 77 without a device.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "against_raw.h"
#include "demo_rounds.h"
#include "live.h"
#include "mix_programs.h"
#include "recorded.h"
#include "recorder/capture.h"
#include "recorder/trace.h"
#include "stored.h"

#define LOADED_MOST (128u << 10) /* events that are appended again, in the trace's order */
#define BLOCK_MS    60000u
#define ROUNDS_MOST 15u /* of all but the appends */
#define SHIFTS      3u

/* Low bits of time stamps that are lost: none, the recorder's default (about 13 ns), 26 ns. */
static const unsigned shifts[SHIFTS] = {0, 5, 6};

struct mix_figures {
    struct bench_stored stored;
    struct bench_appends append;
    struct bench_against_raw columns[SHIFTS];
};

/* The first events of a trace, without losses; *count how many. NULL after a line on stderr. */
static struct trk_record *load(const char *path, size_t *count)
{
    struct trk_trace *trace = NULL;
    struct trk_error error;
    struct trk_trace_event event;
    struct trk_record *records = calloc(LOADED_MOST, sizeof *records);
    *count = 0;
    if (records == NULL || trk_trace_open(&trace, path, &error) != TRK_OK) {
        fprintf(stderr, "mixes: %s: cannot be loaded\n", path);
        free(records);
        return NULL;
    }
    while (*count < LOADED_MOST && trk_trace_next(trace, &event, &error) == TRK_OK) {
        if (event.event.type != TRK_EVENT_DROP) {
            records[(*count)++] = (struct trk_record){event.tsc, event.event};
        }
    }
    trk_trace_close(trace);
    return records;
}

/* In the recorded process: append the events of a trace, and send home what that took. */
static int append_child(const char *path, const char *rounds, const char *target)
{
    static struct bench_appends figures;
    size_t count;
    if (bench_recorded_begin("mix")) {
        return 1;
    }
    static struct trk_event events[LOADED_MOST];
    struct trk_record *records = load(path, &count);
    for (size_t i = 0; i < count; i++) {
        events[i] = records[i].event;
    }
    int failed = records == NULL ||
                 bench_append_events(events, count, (unsigned)strtoul(rounds, NULL, 10), &figures);
    free(records);
    return failed || bench_recorded_end((int)strtol(target, NULL, 10), &figures, sizeof figures);
}

static int mix_child(const char *name)
{
    if (bench_recorded_begin(NULL)) {
        return 1;
    }
    for (const struct bench_mix *mix = bench_mixes; mix->name != NULL; mix++) {
        if (strcmp(mix->name, name) == 0) {
            return mix->run();
        }
    }
    return 2;
}

/* Resolution by resolution; each takes bits from the one before. */
static int measure_columns(const char *path, unsigned rounds, struct mix_figures *out)
{
    struct bench_loaded loaded;
    int failed = bench_load(path, &loaded);
    for (size_t i = 0; i < SHIFTS && !failed; i++) {
        failed = bench_against_raw(&loaded, shifts[i], rounds, &out->columns[i]);
    }
    bench_unload(&loaded);
    return failed;
}

static void print_columns(const struct bench_against_raw *columns)
{
    const struct bench_row rows[] = {
        {"encode_ns_per_event", columns->encode_ns},
        {"raw_encode_ns_per_event", columns->raw_encode_ns},
        {"writer_to_raw", columns->writer_ratio},
        {"decode_events_per_second", columns->decode_per_second},
        {"ordered_events_per_second", columns->ordered_per_second},
        {"raw_decode_events_per_second", columns->raw_decode_per_second},
        {"reader_to_raw", columns->reader_ratio},
        {"ordered_to_raw", columns->ordered_ratio},
    };
    printf("    {\"clock_shift\": %u, \"bytes_per_event\": %.3f, \"raw_bytes_per_event\": %.3f",
           columns->clock_shift, columns->bytes, columns->raw_bytes);
    printf(",\n     \"bytes_to_raw\": %.4f", columns->bytes / columns->raw_bytes);
    bench_rows_print(stdout, ",\n     ", rows, sizeof rows / sizeof rows[0]);
    printf("}");
}

static void print_mix(const char *name, const char *about, const struct mix_figures *figures)
{
    const struct bench_stored *stored = &figures->stored;
    const struct bench_row rows[] = {
        {"append_ns", figures->append.recorder_ns},
        {"append_bare_ns", figures->append.bare_ns},
        {"append_to_bare", figures->append.ratio},
    };
    printf("  {\"mix\": \"%s\", \"about\": \"%s\",\n   \"events\": %" PRIu64
           ", \"faults\": %" PRIu64 ", \"dropped\": %" PRIu64
           ", \"ok\": %s,\n   \"bytes_per_event\": %.3f",
           name, about, stored->events, stored->faults, stored->dropped,
           stored->ok ? "true" : "false", (double)stored->bytes / (double)stored->events);
    printf(",\n   \"append_group_p99_ns\": %.2f", figures->append.p99_ns);
    bench_rows_print(stdout, ",\n   ", rows, sizeof rows / sizeof rows[0]);
    printf(",\n   \"columns\": [\n");
    for (size_t i = 0; i < SHIFTS; i++) {
        print_columns(&figures->columns[i]);
        printf(i + 1 < SHIFTS ? ",\n" : "]}");
    }
}

/* Append the events of the trace at path again, in a recorded process. */
static int measure_appends(const char *path, unsigned rounds, struct bench_appends *out)
{
    char word[] = "--append";
    char number[16];
    char trace[64];
    static const char nowhere[] = "/dev/null";
    snprintf(number, sizeof number, "%u", rounds);
    snprintf(trace, sizeof trace, "%s", path);
    char *const words[] = {word, trace, number, NULL};
    return bench_record_self(nowhere, words, out, sizeof *out);
}

static int record_mix(const char *name, const char *path, const unsigned *clock_shift)
{
    char self[4096];
    char word[] = "--mix";
    char mix[32];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length < 0) {
        return 1;
    }
    self[length] = '\0';
    snprintf(mix, sizeof mix, "%s", name);
    char *const argv[] = {self, word, mix, NULL};
    return bench_record(path, argv, BLOCK_MS, clock_shift);
}

static int record_demo(const struct demo_rounds *asked, const unsigned *clock_shift)
{
    char program[4096];
    char frames[16];
    char demo[] = "demo";
    char word[] = "--frames";
    snprintf(program, sizeof program, "%s", asked->trk);
    snprintf(frames, sizeof frames, "%u", asked->frames);
    char *const argv[] = {program, demo, word, frames, NULL};
    return bench_record(asked->scratch, argv, BLOCK_MS, clock_shift);
}

/* name: NULL for the demo. */
static int measure_mix(const struct demo_rounds *asked, const char *name, const char *about)
{
    static struct mix_figures figures;
    const char *path = asked->scratch;
    const unsigned rounds = asked->rounds < ROUNDS_MOST ? asked->rounds : ROUNDS_MOST;
    const unsigned *const ways[] = {NULL, &shifts[0]}; /* as ever, and with whole time stamps */
    for (size_t i = 0; i < 2; i++) {
        if (name != NULL ? record_mix(name, path, ways[i]) : record_demo(asked, ways[i])) {
            return 1;
        }
        if (i == 0 ? measure_appends(path, asked->rounds, &figures.append) ||
                         bench_stored(path, 1, &figures.stored)
                   : measure_columns(path, rounds, &figures)) {
            return 1;
        }
    }
    print_mix(name != NULL ? name : "demo", about, &figures);
    return 0;
}

static int has_device(const struct demo_rounds *asked)
{
    char line[4352];
    snprintf(line, sizeof line, "'%s' demo --frames 1 >/dev/null 2>&1", asked->trk);
    int status = system(line); /* NOLINT(cert-env33-c): the user's own path */
    return !WIFEXITED(status) || WEXITSTATUS(status) != 4;
}

static int measure(const struct demo_rounds *asked)
{
    if (!has_device(asked)) {
        return 77;
    }
    printf("{\"schema\": \"trk-bench-mixes/2\", \"rounds\": %u, \"mixes\": [\n", asked->rounds);
    int failed = measure_mix(asked, NULL, "trk demo, four threads");
    for (const struct bench_mix *mix = bench_mixes; mix->name != NULL && !failed; mix++) {
        printf(",\n");
        failed = measure_mix(asked, mix->name, mix->about);
    }
    printf("\n]}\n");
    return failed ? 70 : 0;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--mix") == 0) {
        return mix_child(argv[2]);
    }
    if (argc == 5 && strcmp(argv[1], "--append") == 0) {
        return append_child(argv[2], argv[3], argv[4]);
    }
    return demo_rounds_main(argc, argv, "trk_bench_mixes", 100, measure);
}
