/*
 * What the recorder costs on the demo's mix of events and on three others: one JSON object on
 * stdout.
 *
 *   trk_bench_mixes --trk PATH [--rounds N] [--frames N]
 *
 * Each mix is recorded once, without losses. Then, N times: its events are appended again, in a
 * recorded process, beside a bare append of the same; encoded; decoded. Beside the bytes of an
 * event stand those of the same records as they lie in memory, by zstd at level 3. 77 without a
 * device.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zstd.h>

#include "demo_rounds.h"
#include "live.h"
#include "mix_programs.h"
#include "recorded.h"
#include "recorder/capture.h"
#include "recorder/trace.h"
#include "recorder/writer.h"
#include "stored.h"

#define LOADED_MOST (128u << 10) /* events that are appended again, in the trace's order */
#define BLOCK_MS    60000u
#define ZSTD_LEVEL  3
#define RAW_PASSES  15u

struct mix_figures {
    struct bench_stored stored;
    struct bench_appends append;
    double raw_bytes; /* an event, as records by zstd alone */
    struct bench_spread raw_ns;
};

struct packed {
    char bytes[ZSTD_COMPRESSBOUND(TRK_CHUNK_EVENTS * sizeof(struct trk_record))];
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
    struct trk_error error;
    size_t count;
    if (trk_capture_open(&error) != TRK_OK) {
        fprintf(stderr, "not recorded: %s\n", error.text);
        return 1;
    }
    trk_capture_thread("mix", TRK_ROLE_GUEST);
    static struct trk_event events[LOADED_MOST];
    struct trk_record *records = load(path, &count);
    for (size_t i = 0; i < count; i++) {
        events[i] = records[i].event;
    }
    int failed = records == NULL ||
                 bench_append_events(events, count, (unsigned)strtoul(rounds, NULL, 10), &figures);
    free(records);
    trk_capture_thread_end();
    return failed || write((int)strtol(target, NULL, 10), &figures, sizeof figures) !=
                         (ssize_t)sizeof figures;
}

static int mix_child(const char *name)
{
    struct trk_error error;
    if (trk_capture_open(&error) != TRK_OK) {
        fprintf(stderr, "not recorded: %s\n", error.text);
        return 1;
    }
    for (const struct bench_mix *mix = bench_mixes; mix->name != NULL; mix++) {
        if (strcmp(mix->name, name) == 0) {
            return mix->run();
        }
    }
    return 2;
}

/* Bytes that zstd makes of records, chunk by chunk; 0: it fails. */
static size_t pack_raw(ZSTD_CCtx *zstd, const struct trk_record *records, size_t count,
                       struct packed *packed)
{
    size_t bytes = 0;
    for (size_t at = 0; at < count; at += TRK_CHUNK_EVENTS) {
        size_t part = count - at < TRK_CHUNK_EVENTS ? count - at : TRK_CHUNK_EVENTS;
        size_t got = ZSTD_compressCCtx(zstd, packed->bytes, sizeof packed->bytes, records + at,
                                       part * sizeof *records, ZSTD_LEVEL);
        if (ZSTD_isError(got)) {
            return 0;
        }
        bytes += got;
    }
    return bytes;
}

/* What columns are measured against. */
static int measure_raw(const char *path, struct mix_figures *out)
{
    static struct packed packed;
    static struct bench_samples ns;
    size_t count;
    struct trk_record *records = load(path, &count);
    ZSTD_CCtx *zstd = ZSTD_createCCtx();
    size_t bytes = records != NULL && zstd != NULL ? 1 : 0;
    ns.count = 0;
    for (unsigned pass = 0; pass < RAW_PASSES && bytes > 0; pass++) {
        uint64_t start = bench_now_ns();
        bytes = pack_raw(zstd, records, count, &packed);
        bench_samples_add(&ns, (double)(bench_now_ns() - start) / (double)count);
    }
    out->raw_bytes = (double)bytes / (double)count;
    out->raw_ns = bench_samples_spread(&ns);
    ZSTD_freeCCtx(zstd);
    free(records);
    return bytes == 0;
}

static void print_mix(const char *name, const char *about, const struct mix_figures *figures)
{
    const struct bench_stored *stored = &figures->stored;
    const struct {
        const char *name;
        const struct bench_spread *spread;
    } rows[] = {
        {"append_ns", &figures->append.recorder_ns},
        {"append_bare_ns", &figures->append.bare_ns},
        {"append_to_bare", &figures->append.ratio},
        {"encode_ns_per_event", &stored->encode_ns},
        {"raw_zstd_ns_per_event", &figures->raw_ns},
        {"decode_events_per_second", &stored->decode_per_second},
    };
    printf("  {\"mix\": \"%s\", \"about\": \"%s\",\n   \"events\": %" PRIu64
           ", \"faults\": %" PRIu64 ", \"dropped\": %" PRIu64
           ", \"ok\": %s,\n   \"bytes_per_event\": %.3f",
           name, about, stored->events, stored->faults, stored->dropped,
           stored->ok ? "true" : "false", (double)stored->bytes / (double)stored->events);
    printf(", \"raw_zstd_bytes_per_event\": %.3f,\n   \"append_group_p99_ns\": %.2f",
           figures->raw_bytes, figures->append.p99_ns);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        printf(",\n   ");
        bench_spread_print(stdout, rows[i].name, rows[i].spread);
    }
    printf("}");
}

/* Measure the mix whose trace lies at path. */
static int measure_mix(const char *name, const char *about, const char *path, unsigned rounds)
{
    static struct mix_figures figures;
    char word[] = "--append";
    char number[16];
    char trace[64];
    static const char nowhere[] = "/dev/null";
    figures = (struct mix_figures){.raw_bytes = 0};
    snprintf(number, sizeof number, "%u", rounds);
    snprintf(trace, sizeof trace, "%s", path);
    char *const words[] = {word, trace, number, NULL};
    if (bench_record_self(nowhere, words, &figures.append, sizeof figures.append) ||
        bench_stored(path, rounds < 15 ? rounds : 15, &figures.stored) ||
        measure_raw(path, &figures)) {
        return 1;
    }
    print_mix(name, about, &figures);
    return 0;
}

static int record_mix(const char *name, const char *path)
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
    return bench_record(path, argv, BLOCK_MS);
}

static int record_demo(const struct demo_rounds *asked)
{
    char program[4096];
    char frames[16];
    char demo[] = "demo";
    char word[] = "--frames";
    snprintf(program, sizeof program, "%s", asked->trk);
    snprintf(frames, sizeof frames, "%u", asked->frames);
    char *const argv[] = {program, demo, word, frames, NULL};
    return bench_record(asked->scratch, argv, BLOCK_MS);
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
    printf("{\"schema\": \"trk-bench-mixes/1\", \"rounds\": %u, \"mixes\": [\n", asked->rounds);
    int failed = record_demo(asked) ||
                 measure_mix("demo", "trk demo, four threads", asked->scratch, asked->rounds);
    for (const struct bench_mix *mix = bench_mixes; mix->name != NULL && !failed; mix++) {
        printf(",\n");
        failed = record_mix(mix->name, asked->scratch) ||
                 measure_mix(mix->name, mix->about, asked->scratch, asked->rounds);
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
