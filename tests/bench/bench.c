/*
 * The benchmarks: one JSON object on stdout, talk on stderr.
 *
 *   bench [--rounds N] [--trk PATH] [--frames N]
 *
 * The live part runs in a child of its own that is recorded, the stored part on a trace of
 * `PATH demo`. No figure is judged here: compare ratios, never bare times, and on one machine.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "live.h"
#include "recorded.h"
#include "recorder/capture.h"
#include "stored.h"

struct options {
    unsigned rounds;
    const char *trk;    /* NULL: no stored part */
    const char *frames; /* of the demo */
};

/* A count from 1 to BENCH_SAMPLES_MAX, or 0. */
static unsigned parse_count(const char *text)
{
    char *end = NULL;
    errno = 0;
    unsigned long value = strtoul(text, &end, 10);
    bool good = errno == 0 && end != text && *end == '\0' && value <= BENCH_SAMPLES_MAX;
    return good ? (unsigned)value : 0;
}

/* The recorded child: measure and send the figures home. */
static int live_child(unsigned rounds, int fd)
{
    static struct bench_live live;
    if (bench_recorded_begin("bench") || bench_append(rounds, &live) ||
        bench_singles(rounds, &live.singles) || bench_faults(rounds, NULL, &live.faults)) {
        return 1;
    }
    live.dropped = trk_capture_dropped() - live.two_dropped;
    return bench_recorded_end(fd, &live, sizeof live);
}

static int live_parent(const struct options *options, const char *scratch, struct bench_live *out)
{
    char rounds[16];
    char word[] = "--live";
    snprintf(rounds, sizeof rounds, "%u", options->rounds);
    char *const words[] = {word, rounds, NULL};
    return bench_record_self(scratch, words, out, sizeof *out);
}

static int stored(const struct options *options, const char *scratch, struct bench_stored *out)
{
    char program[4096];
    char frames[16];
    char demo[] = "demo";
    char frames_word[] = "--frames";
    snprintf(program, sizeof program, "%s", options->trk);
    snprintf(frames, sizeof frames, "%s", options->frames);
    char *argv[] = {program, demo, frames_word, frames, NULL};
    return bench_record(scratch, argv, 0, NULL) || bench_stored(scratch, 5, out);
}

static void print_single(const char *name, const struct bench_single *single)
{
    printf(",\n \"%s\": {\"median\": %.2f, \"p99\": %.2f, \"worst\": %.0f, \"count\": %llu}", name,
           single->median, single->p99, single->worst, (unsigned long long)single->count);
}

static void print_singles(const struct bench_singles *singles)
{
    printf(",\n \"clock_step_ns\": %.2f,\n \"clock_read_ns\": %.2f", singles->step_ns,
           singles->empty_ns);
    print_single("append_single_called", &singles->called);
    print_single("append_single_handler", &singles->handler);
    print_single("append_single_after_sleep", &singles->woken);
    print_single("append_single_chunk_edge", &singles->edge);
    print_single("append_single_inside_chunk", &singles->inner);
    print_single("append_single_ring_full", &singles->full);
    printf(
        ",\n \"ring_full_counted\": %llu,\n \"appends_watched\": %llu,\n \"their_system_calls\": ",
        (unsigned long long)singles->full_counted, (unsigned long long)singles->quiet_appends);
    printf(singles->quiet_appends > 0 ? "%llu" : "null", (unsigned long long)singles->calls);
}

static void print_live(const struct bench_live *live)
{
    const struct bench_faults *faults = &live->faults;
    const struct bench_row rows[] = {
        {"fault_bare_ns", faults->bare_ns},
        {"fault_tracker_ns", faults->tracker_ns},
        {"fault_recorder_ns", faults->recorder_ns},
        {"fault_tracker_to_bare", faults->tracker_ratio},
        {"fault_recorder_to_tracker", faults->recorder_ratio},
        {"append_bare_ns", live->append.bare_ns},
        {"append_ns", live->append.recorder_ns},
        {"append_to_bare", live->append.ratio},
        {"append_two_threads_to_one", live->two_threads},
        {"append_called_ns", live->singles.called_ns},
        {"append_handler_ns", live->singles.handler_ns},
        {"append_handler_to_called", live->singles.handler_ratio},
    };
    bench_rows_print(stdout, ",\n ", rows, sizeof rows / sizeof rows[0]);
    print_singles(&live->singles);
    printf(",\n \"faults_per_second\": {\"bare\": %.0f, \"tracker\": %.0f, \"recorder\": %.0f}",
           1e9 / faults->bare_ns.median, 1e9 / faults->tracker_ns.median,
           1e9 / faults->recorder_ns.median);
    printf(",\n \"faults_each\": %llu,\n \"live_dropped\": %llu,\n \"two_threads_dropped\": %llu",
           (unsigned long long)faults->faults, (unsigned long long)live->dropped,
           (unsigned long long)live->two_dropped);
}

static void print_stored(const struct bench_stored *demo)
{
    const struct bench_row rows[] = {
        {"encode_ns_per_event", demo->encode_ns},
        {"decode_events_per_second", demo->decode_per_second},
        {"simulate_events_per_second", demo->simulate_per_second},
        {"oracle_events_per_second", demo->oracle_per_second},
        {"oracle_lines_events_per_second", demo->lines_per_second},
        {"oracle_pages_events_per_second", demo->pages_per_second},
    };
    printf(",\n \"demo_events\": %llu,\n \"demo_faults\": %llu,\n \"demo_dropped\": %llu",
           (unsigned long long)demo->events, (unsigned long long)demo->faults,
           (unsigned long long)demo->dropped);
    printf(",\n \"demo_bytes\": %llu,\n \"bytes_per_event\": %.3f,\n \"demo_ok\": %s",
           (unsigned long long)demo->bytes,
           demo->events == 0 ? 0.0 : (double)demo->bytes / (double)demo->events,
           demo->ok ? "true" : "false");
    bench_rows_print(stdout, ",\n ", rows, sizeof rows / sizeof rows[0]);
}

static int run(const struct options *options)
{
    static struct bench_live live;
    struct bench_stored demo = {0};
    const char *folder = getenv("TMPDIR");
    char scratch[4096];
    snprintf(scratch, sizeof scratch, "%s/trk-bench-XXXXXX", folder != NULL ? folder : "/tmp");
    int fd = mkstemp(scratch);
    if (fd < 0) {
        perror("mkstemp");
        return 70;
    }
    close(fd);
    int failed = live_parent(options, scratch, &live);
    if (!failed) {
        printf("{\"schema\": \"trk-bench/1\",\n \"rounds\": %u", options->rounds);
        print_live(&live);
        struct bench_spread hook;
        bench_hook(options->rounds, &hook);
        printf(",\n ");
        bench_spread_print(stdout, "hook_off_ns", &hook);
        printf(",\n \"append_group_p99_ns\": %.2f", live.append.p99_ns);
        if (options->trk != NULL && stored(options, scratch, &demo) == 0) {
            print_stored(&demo);
        } else if (options->trk != NULL) {
            printf(",\n \"demo_events\": null");
            failed = 1;
        }
        printf("}\n");
    }
    unlink(scratch);
    return failed ? 70 : 0;
}

int main(int argc, char **argv)
{
    struct options options = {.rounds = 200, .frames = "60"};
    if (argc == 4 && strcmp(argv[1], "--live") == 0) {
        return live_child(parse_count(argv[2]), (int)parse_count(argv[3]));
    }
    for (int i = 1; i < argc; i += 2) {
        bool has_value = i + 1 < argc;
        if (has_value && strcmp(argv[i], "--rounds") == 0 && parse_count(argv[i + 1]) > 0) {
            options.rounds = parse_count(argv[i + 1]);
        } else if (has_value && strcmp(argv[i], "--trk") == 0) {
            options.trk = argv[i + 1];
        } else if (has_value && strcmp(argv[i], "--frames") == 0) {
            options.frames = argv[i + 1];
        } else {
            fputs("usage: bench [--rounds 1..1024] [--trk PATH] [--frames N]\n", stderr);
            return 2;
        }
    }
    return run(&options);
}
