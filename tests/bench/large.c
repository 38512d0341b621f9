/*
 * What a large trace costs to open, to go into the middle of, and to read: one JSON object.
 *
 *     trk_bench_large [--path P] [--megabytes N] [--rounds N] [--decode-events N] [--make-only 1]
 *
 * Makes the trace itself, through the recorder's writer, one chunk in memory at a time: four
 * threads that fault on random pages of 64 regions, in frames of 16 ms, with a checkpoint about
 * every 65,536 events. It is the same on every machine. Each figure is taken in a process of its
 * own, whose peak of memory counts: open and first seek (by the index, to an event in the middle),
 * reading from there on, the whole scan with all checksums, and the opening of the same file
 * without its end, as after a kill. The file lies in the page cache mostly; what a disk adds is not
 * measured. No figure is judged here.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "recorder/checkpoint.h"
#include "recorder/packing.h"
#include "track/address.h"

#define THREADS    4u
#define REGIONS    64u
#define STEP       5u /* events of one fault */
#define CHECKPOINT 65536u
#define ROUNDS_MAX 64u
#define FRAME      6000u /* steps of a frame: about 16 ms */

struct large {
    const char *path;
    uint64_t bytes_wanted;
    unsigned rounds;
    bool make_only; /* and leave it there */
    uint64_t decode_events;
    uint64_t events, bytes; /* of the file */
};

struct maker {
    struct trk_writer *writer;
    uint64_t random, tsc;
    uint64_t ordinals[THREADS];
    uint32_t holds[2][REGIONS]; /* newest, of regions and page managers */
};

static int complain(const char *what, const struct trk_error *error)
{
    fprintf(stderr, "trk_bench_large: %s: %s\n", what, error->text);
    return 1;
}

static uint64_t next_random(struct maker *maker)
{
    maker->random += UINT64_C(0x9E3779B97F4A7C15);
    uint64_t x = maker->random;
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

static uint32_t domain_of(unsigned class_index, uint32_t region)
{
    uint32_t first = trk_region_index(TRK_ARENA_FIRST);
    return (class_index == 0 ? (uint32_t)TRK_DOMAIN_REGION : (uint32_t)TRK_DOMAIN_PAGES) << 28 |
           (first + region);
}

/* One store to a closed page, as the core tells of it. */
static enum trk_status add_step(struct maker *maker, struct trk_error *error)
{
    uint64_t random = next_random(maker);
    uint32_t thread = (uint32_t)(random % THREADS);
    uint32_t region = (uint32_t)(random >> 8) % REGIONS;
    uint16_t page = (uint16_t)(random >> 20 & 1023);
    uint32_t hold = ++maker->holds[0][region];
    uint32_t pages_hold = maker->holds[1][region] + 1;
    maker->holds[1][region] += 2;
    uint64_t guest_addr = TRK_ARENA_FIRST + (uint64_t)region * TRK_REGION_BYTES +
                          page * UINT64_C(4096) + (random >> 40 & 4095);
    const struct trk_event events[STEP] = {
        {.type = TRK_EVENT_FAULT,
         .argument = guest_addr,
         .domain = domain_of(1, region),
         .seq = pages_hold,
         .page = page,
         .context = 1},
        {.type = TRK_EVENT_LOCK, .domain = domain_of(0, region), .seq = hold},
        {.type = TRK_EVENT_PROTECT,
         .domain = domain_of(1, region),
         .seq = pages_hold + 1,
         .page = page,
         .pages = 1,
         .flags = TRK_RIGHTS_RW | TRK_EVENT_HOLD_END},
        {.type = TRK_EVENT_UNLOCK, .domain = domain_of(0, region), .seq = hold, .pages = 1},
        {.type = TRK_EVENT_OP_END, .context = TRK_OP_FAULT, .argument = TRK_FAULT_SERVED},
    };
    struct trk_record records[STEP];
    for (unsigned i = 0; i < STEP; i++) {
        maker->tsc += 600 + (next_random(maker) & 1023);
        records[i] = (struct trk_record){maker->tsc, events[i]};
    }
    maker->ordinals[thread] += STEP;
    return trk_writer_append(maker->writer, thread, records, STEP, 0, error);
}

static enum trk_status add_frame(struct maker *maker, uint64_t number, struct trk_error *error)
{
    maker->tsc += 600;
    maker->ordinals[0]++;
    struct trk_record record = {maker->tsc, trk_event_of(TRK_EVENT_FRAME, number)};
    return trk_writer_append(maker->writer, 0, &record, 1, 0, error);
}

static enum trk_status add_checkpoint(struct maker *maker, struct trk_error *error)
{
    struct trk_packing packing = {.bytes = NULL};
    uint64_t events = 0;
    trk_packing_number(&packing, TRK_CHECKPOINT_FULL);
    trk_packing_number(&packing, THREADS);
    for (uint32_t i = 0; i < THREADS; i++) {
        trk_packing_number(&packing, i);
        trk_packing_number(&packing, maker->ordinals[i]);
        events += maker->ordinals[i];
    }
    trk_packing_number(&packing, 2 * (uint64_t)REGIONS);
    for (unsigned i = 0; i < 2 * REGIONS; i++) {
        trk_packing_number(&packing, domain_of(i / REGIONS, i % REGIONS));
        trk_packing_number(&packing, maker->holds[i / REGIONS][i % REGIONS]);
    }
    for (int i = 0; i < 3; i++) /* timelines, prologue, trackers */
        trk_packing_number(&packing, 0);
    enum trk_status status =
        trk_writer_checkpoint(maker->writer, events, packing.bytes, packing.size_bytes, error);
    free(packing.bytes);
    return status;
}

static enum trk_status fill(struct maker *maker, const struct large *large, struct trk_error *error)
{
    enum trk_status status = TRK_OK;
    for (uint32_t i = 0; i < THREADS && status == TRK_OK; i++) {
        struct trk_trace_stream stream = {.stream_id = i, .thread_id = 100 + i, .role = 1};
        snprintf(stream.name, sizeof stream.name, "guest %" PRIu32, i);
        status = trk_writer_stream(maker->writer, &stream, error);
    }
    for (uint64_t steps = 1;
         status == TRK_OK && trk_writer_bytes(maker->writer) < large->bytes_wanted; steps++) {
        if (steps % FRAME == 1)
            status = add_frame(maker, steps / FRAME, error);
        if (status == TRK_OK)
            status = add_step(maker, error);
        if (status == TRK_OK && steps % (CHECKPOINT / STEP) == 0)
            status = add_checkpoint(maker, error);
    }
    return status;
}

static int make(struct large *large)
{
    struct trk_error error = {.status = TRK_OK};
    struct trk_writer_options options = trk_writer_options_default();
    struct maker maker = {.random = 1, .tsc = 1000000};
    memset(options.sync_marker, 0x5a, sizeof options.sync_marker);
    int fd = open(large->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0) {
        perror(large->path);
        return 1;
    }
    enum trk_status status =
        trk_writer_create(&maker.writer, fd, &options, "{\"tsc_hz\":2000000000}", &error);
    if (status == TRK_OK) {
        status = fill(&maker, large, &error);
        if (status == TRK_OK)
            status = trk_writer_end(maker.writer, 0, &error);
        else
            trk_writer_destroy(maker.writer);
    }
    struct stat file;
    if (status == TRK_OK && fstat(fd, &file) == 0)
        large->bytes = (uint64_t)file.st_size;
    for (unsigned i = 0; i < THREADS; i++)
        large->events += maker.ordinals[i];
    if (close(fd) != 0)
        perror(large->path);
    return status == TRK_OK ? 0 : complain("making the trace", &error);
}

/* ---- measuring ------------------------------------------------------------------------------- */

static double seconds_of(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* What a child gives: a figure, or nothing. */
struct answer {
    double figure;
    bool good;
};

typedef enum trk_status measure_fn(struct trk_trace *trace, const struct large *large,
                                   struct answer *answer, struct trk_error *error);

/* Milliseconds since the beginning are the caller's to add. */
static enum trk_status go_to_middle(struct trk_trace *trace, const struct large *large,
                                    struct answer *answer, struct trk_error *error)
{
    struct trk_trace_event event;
    enum trk_status status = trk_trace_scan_quick(trace, error);
    if (status == TRK_OK)
        status = trk_trace_seek(trace, large->events / 2 + CHECKPOINT / 2, error);
    if (status == TRK_OK)
        status = trk_trace_next(trace, &event, error);
    answer->good = status == TRK_OK && event.number == large->events / 2 + CHECKPOINT / 2 &&
                   trk_trace_state(trace).quick;
    return status;
}

static enum trk_status scan_index(struct trk_trace *trace, const struct large *large,
                                  struct answer *answer, struct trk_error *error)
{
    (void)large;
    enum trk_status status = trk_trace_scan_quick(trace, error);
    answer->good = status == TRK_OK && trk_trace_stream_count(trace) == THREADS;
    return status;
}

static enum trk_status scan_all(struct trk_trace *trace, const struct large *large,
                                struct answer *answer, struct trk_error *error)
{
    (void)large;
    enum trk_status status = trk_trace_scan(trace, error);
    answer->good = status == TRK_OK && trk_trace_state(trace).complete;
    return status;
}

/* Events a second of the processor. */
static enum trk_status decode(struct trk_trace *trace, const struct large *large,
                              struct answer *answer, struct trk_error *error)
{
    struct trk_trace_event event;
    uint64_t count = 0;
    enum trk_status status = trk_trace_scan_quick(trace, error);
    double begun = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
    while (status == TRK_OK && (large->decode_events == 0 || count < large->decode_events)) {
        status = trk_trace_next(trace, &event, error);
        count += status == TRK_OK;
    }
    answer->figure = (double)count / (seconds_of(CLOCK_PROCESS_CPUTIME_ID) - begun);
    answer->good = status == TRK_OK || status == TRK_E_END;
    return status == TRK_E_END ? TRK_OK : status;
}

/* In a process of its own; memory_mib is its peak. */
static int measure(const struct large *large, measure_fn *what, double *figure, double *memory_mib)
{
    int pipes[2];
    if (pipe(pipes) != 0)
        return 1;
    pid_t child = fork();
    if (child == 0) {
        struct trk_trace *trace = NULL;
        struct trk_error error = {.status = TRK_OK};
        struct answer answer = {.figure = -1};
        double begun = seconds_of(CLOCK_MONOTONIC);
        enum trk_status status = trk_trace_open(&trace, large->path, &error);
        if (status == TRK_OK)
            status = what(trace, large, &answer, &error);
        if (answer.figure < 0)
            answer.figure = 1000 * (seconds_of(CLOCK_MONOTONIC) - begun);
        if (status != TRK_OK)
            (void)complain("reading", &error);
        _exit(write(pipes[1], &answer, sizeof answer) == (ssize_t)sizeof answer ? 0 : 1);
    }
    close(pipes[1]);
    struct answer answer = {.good = false};
    bool got = read(pipes[0], &answer, sizeof answer) == (ssize_t)sizeof answer;
    close(pipes[0]);
    struct rusage usage;
    int status = 1;
    if (child < 0 || wait4(child, &status, 0, &usage) != child || status != 0 || !got ||
        !answer.good) {
        fprintf(stderr, "trk_bench_large: a measurement came to nothing\n");
        return 1;
    }
    *figure = answer.figure;
    *memory_mib = (double)usage.ru_maxrss / 1024;
    return 0;
}

static int measure_rounds(const struct large *large, measure_fn *what, const char *name)
{
    double figures[ROUNDS_MAX];
    double memory_mib = 0;
    for (unsigned i = 0; i < large->rounds; i++) {
        double peak = 0;
        if (measure(large, what, &figures[i], &peak) != 0)
            return 1;
        memory_mib = peak > memory_mib ? peak : memory_mib;
    }
    for (unsigned i = 0; i < large->rounds; i++) { /* few: put in order by hand */
        for (unsigned j = i; j > 0 && figures[j] < figures[j - 1]; j--) {
            double swapped = figures[j];
            figures[j] = figures[j - 1];
            figures[j - 1] = swapped;
        }
    }
    printf(",\n  \"%s\": {\"median\": %.2f, \"least\": %.2f, \"most\": %.2f, "
           "\"memory_mib\": %.1f}",
           name, figures[large->rounds / 2], figures[0], figures[large->rounds - 1], memory_mib);
    return 0;
}

static int run(struct large *large)
{
    double begun = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
    if (make(large) != 0)
        return 1;
    double make_s = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - begun;
    printf("{\n  \"schema\": \"trk-bench-large/1\",\n  \"bytes\": %" PRIu64
           ",\n  \"events\": %" PRIu64 ",\n  \"bytes_an_event\": %.3f,\n"
           "  \"write_ns_an_event\": %.1f",
           large->bytes, large->events, (double)large->bytes / (double)large->events,
           1e9 * make_s / (double)large->events);
    if (measure_rounds(large, go_to_middle, "open_and_seek_ms") != 0 ||
        measure_rounds(large, scan_index, "open_ms") != 0 ||
        measure_rounds(large, decode, "decode_events_a_second") != 0 ||
        measure_rounds(large, scan_all, "scan_ms") != 0)
        return 1;
    /* As a killed recorder leaves it: without its end mark, END and the last INDEX. */
    if (truncate(large->path, (off_t)(large->bytes - 200)) != 0 ||
        measure_rounds(large, scan_index, "open_unended_ms") != 0)
        return 1;
    puts("\n}");
    return 0;
}

int main(int argc, char **argv)
{
    struct large large = {.path = "large.trk",
                          .bytes_wanted = UINT64_C(1000000000),
                          .rounds = 5,
                          .decode_events = 50000000};
    for (int i = 1; i + 1 < argc; i += 2) {
        uint64_t number = strtoull(argv[i + 1], NULL, 10);
        if (strcmp(argv[i], "--path") == 0)
            large.path = argv[i + 1];
        else if (strcmp(argv[i], "--megabytes") == 0 && number > 0)
            large.bytes_wanted = number * 1000000;
        else if (strcmp(argv[i], "--rounds") == 0 && number > 0 && number <= ROUNDS_MAX)
            large.rounds = (unsigned)number;
        else if (strcmp(argv[i], "--make-only") == 0 && number <= 1)
            large.make_only = number == 1;
        else if (strcmp(argv[i], "--decode-events") == 0)
            large.decode_events = number;
        else
            argc = 0;
    }
    if (argc == 0 || argc % 2 == 0) {
        fprintf(stderr, "usage: trk_bench_large [--path P] [--megabytes N] [--rounds N] "
                        "[--decode-events N] [--make-only 1]\n");
        return 2;
    }
    if (large.make_only)
        return make(&large);
    int code = run(&large);
    (void)unlink(large.path);
    return code;
}
