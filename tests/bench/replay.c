/*
 * The simulator beside the least that a replay can do, on a recorded run of the demo: one JSON
 * object.
 *
 *     trk_bench_replay --trk PATH [--rounds N] [--frames N]
 *
 * In each round, in turn: the bare loop (bare.h) and the simulator's whole re-execution, each on
 * the same events that were decoded to memory before; the oracle alone on them; decoding alone; and
 * file to verdict. Times are of the processor: all is one thread, whose pace others do not change.
 * No figure is judged here, but for what makes them void: a bare loop that is not where the trace
 * says, another verdict from memory than from the file.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "bare.h"
#include "demo_rounds.h"
#include "run.h"
#include "samples.h"

#define BARE_PASSES 8u

struct decoded {
    struct trk_trace *trace; /* at its end: for the streams' names and the state */
    struct trk_trace_event *events;
    struct bare_record *records;
    size_t count, room;
    size_t tracker_count; /* of the tracker's own; the others are annotations */
};

struct figures {
    struct bench_samples bare, simulator, oracle, decode, verdict; /* events/s */
    struct bench_samples bound;     /* events/s: 1 / (1 / decode + 1 / bare) */
    struct bench_samples own_bound; /* likewise of decode and simulator */
    uint64_t answers;
    bool ok;
};

static int complain(const char *what, const struct trk_error *error)
{
    fprintf(stderr, "%s: %s\n", what, error->text);
    return 1;
}

static double cpu_seconds(void)
{
    return (double)bench_processor_ns() / 1e9;
}

static double rate(size_t events, double seconds)
{
    return seconds > 0 ? (double)events / seconds : 0;
}

/* ---- the events in memory -------------------------------------------------------------------- */

static bool grow(struct decoded *decoded)
{
    size_t room = decoded->room == 0 ? 65536 : decoded->room * 2;
    struct trk_trace_event *events = realloc(decoded->events, room * sizeof *events);
    if (events != NULL)
        decoded->events = events;
    struct bare_record *records = realloc(decoded->records, room * sizeof *records);
    if (records != NULL)
        decoded->records = records;
    decoded->room = room;
    return events != NULL && records != NULL;
}

static int decode_all(const char *path, struct decoded *decoded)
{
    struct trk_error error;
    struct trk_trace_event event;
    enum trk_status status = trk_trace_open(&decoded->trace, path, &error);
    if (status == TRK_OK)
        status = trk_trace_scan(decoded->trace, &error);
    while (status == TRK_OK) {
        status = trk_trace_next(decoded->trace, &event, &error);
        if (status != TRK_OK)
            break;
        if (decoded->count == decoded->room && !grow(decoded)) {
            fputs("out of memory\n", stderr);
            return 1;
        }
        decoded->tracker_count += event.event.type < TRK_EVENT_FIRST_ANNOTATION;
        decoded->events[decoded->count] = event;
        decoded->records[decoded->count++] =
            (struct bare_record){.stream = event.stream, .event = event.event};
    }
    return status == TRK_E_END ? 0 : complain(path, &error);
}

static void decoded_free(struct decoded *decoded)
{
    trk_trace_close(decoded->trace);
    free(decoded->events);
    free(decoded->records);
}

/* What trk_sim_trace does, with the events at hand. */
static int simulate_decoded(const struct decoded *decoded, enum trk_sim_mode mode,
                            struct trk_sim_report *report)
{
    struct trk_sim_options options = trk_sim_options_default();
    struct run *run = calloc(1, sizeof *run);
    options.mode = mode;
    memset(report, 0, sizeof *report);
    if (run == NULL)
        return 1;
    enum trk_status status = run_init(run, decoded->trace, &options, report);
    for (size_t i = 0; i < decoded->count && status == TRK_OK && !run->stopped; i++) {
        run_event(run, &decoded->events[i]);
        status = run->failure;
    }
    if (status == TRK_OK && !run->stopped)
        status = run_finish(run);
    run_take_counts(run);
    run_deinit(run);
    free(run);
    if (status != TRK_OK)
        fprintf(stderr, "simulator: %s\n", trk_status_name(status));
    return status != TRK_OK;
}

/* ---- the file -------------------------------------------------------------------------------- */

static int decode_file(const char *path, size_t count)
{
    struct trk_trace *trace = NULL;
    struct trk_error error;
    struct trk_trace_event event;
    size_t seen = 0;
    if (trk_trace_open(&trace, path, &error) != TRK_OK)
        return complain(path, &error);
    while (trk_trace_next(trace, &event, &error) == TRK_OK)
        seen++;
    trk_trace_close(trace);
    return seen != count;
}

static int judge_file(const char *path, struct trk_sim_report *report)
{
    struct trk_trace *trace = NULL;
    struct trk_error error;
    if (trk_trace_open(&trace, path, &error) != TRK_OK)
        return complain(path, &error);
    enum trk_status status = trk_sim_trace(trace, report, &error);
    trk_trace_close(trace);
    return status == TRK_OK ? 0 : complain("sim", &error);
}

/* ---- rounds ---------------------------------------------------------------------------------- */

static double time_bare(struct bare *bare, const struct decoded *decoded, uint64_t *answers)
{
    double seconds = 0;
    for (unsigned pass = 0; pass < BARE_PASSES; pass++) {
        bare_reset(bare);
        double begun = cpu_seconds();
        *answers += bare_replay(bare, decoded->records, decoded->count);
        seconds += cpu_seconds() - begun;
    }
    return seconds / BARE_PASSES;
}

static int one_round(const char *path, const struct decoded *decoded, struct bare *bare,
                     struct figures *figures)
{
    static struct trk_sim_report memory, alone, file;
    size_t count = decoded->count;
    double bare_s = time_bare(bare, decoded, &figures->answers);
    double at[5] = {cpu_seconds()};
    if (simulate_decoded(decoded, TRK_SIM_ALL, &memory))
        return 1;
    at[1] = cpu_seconds();
    if (simulate_decoded(decoded, TRK_SIM_ORACLE_ONLY, &alone))
        return 1;
    at[2] = cpu_seconds();
    if (decode_file(path, count))
        return 1;
    at[3] = cpu_seconds();
    if (judge_file(path, &file))
        return 1;
    at[4] = cpu_seconds();
    figures->ok = file.verdict == TRK_VERDICT_OK;
    if (memory.verdict != file.verdict || memory.events != file.events ||
        memory.checks != file.checks || memory.operations != file.operations) {
        fprintf(stderr, "from memory %s, from the file %s\n", trk_verdict_name(&memory),
                trk_verdict_name(&file));
        return 1;
    }
    double decode_s = at[3] - at[2], simulator_s = at[1] - at[0];
    bench_samples_add(&figures->bare, rate(count, bare_s));
    bench_samples_add(&figures->simulator, rate(count, simulator_s));
    bench_samples_add(&figures->oracle, rate(count, at[2] - at[1]));
    bench_samples_add(&figures->decode, rate(count, decode_s));
    bench_samples_add(&figures->verdict, rate(count, at[4] - at[3]));
    bench_samples_add(&figures->bound, rate(count, decode_s + bare_s));
    bench_samples_add(&figures->own_bound, rate(count, decode_s + simulator_s));
    return 0;
}

static void print(const struct figures *figures, const struct decoded *decoded, unsigned rounds)
{
    const struct bench_row rows[] = {
        {"bare_events_per_second", bench_samples_spread(&figures->bare)},
        {"simulator_events_per_second", bench_samples_spread(&figures->simulator)},
        {"oracle_events_per_second", bench_samples_spread(&figures->oracle)},
        {"decode_events_per_second", bench_samples_spread(&figures->decode)},
        {"verdict_events_per_second", bench_samples_spread(&figures->verdict)},
        {"bound_events_per_second", bench_samples_spread(&figures->bound)},
        {"simulator_to_bare", bench_samples_ratio(&figures->simulator, &figures->bare)},
        {"verdict_to_bound", bench_samples_ratio(&figures->verdict, &figures->bound)},
        {"verdict_to_own_bound", bench_samples_ratio(&figures->verdict, &figures->own_bound)},
    };
    double simulator = rows[6].spread.median, verdict = rows[7].spread.median;
    printf("{\"schema\": \"trk-bench-replay/1\",\n \"rounds\": %u,\n \"events\": %zu", rounds,
           decoded->count);
    printf(",\n \"tracker_events\": %zu,\n \"ok\": %s", decoded->tracker_count,
           figures->ok ? "true" : "false");
    bench_rows_print(stdout, ",\n ", rows, sizeof rows / sizeof rows[0]);
    printf(",\n \"goals\": {\"simulator_to_bare\": {\"aim\": 0.6, \"met\": %s}, "
           "\"verdict_to_bound\": {\"aim\": 0.7, \"met\": %s}}}\n",
           simulator >= 0.6 ? "true" : "false", verdict >= 0.7 ? "true" : "false");
}

static int measure(const char *path, unsigned rounds)
{
    static struct figures figures;
    struct decoded decoded = {0};
    struct bare *bare = bare_create();
    int failed = bare == NULL || decode_all(path, &decoded);
    if (!failed) {
        uint64_t wrong = bare_wrong(bare, decoded.records, decoded.count);
        failed = wrong != 0 || bare_failed(bare);
        if (failed)
            fprintf(stderr, "the bare loop is not where the trace says, %" PRIu64 " times\n",
                    wrong);
    }
    for (unsigned round = 0; round < rounds && !failed; round++)
        failed = one_round(path, &decoded, bare, &figures);
    if (!failed)
        print(&figures, &decoded, rounds);
    decoded_free(&decoded);
    bare_destroy(bare);
    return failed ? 70 : 0;
}

/* 0, 77 where nothing can be recorded here, or 70. */
static int record(const struct demo_rounds *asked)
{
    char line[1024];
    snprintf(line, sizeof line, "'%s' record -f -o '%s' -- '%s' demo --frames %u >&2", asked->trk,
             asked->scratch, asked->trk, asked->frames);
    int status = system(line); // NOLINT(cert-env33-c): a command of the caller's own
    if (status == 0)
        return 0;
    fprintf(stderr, "%s: wait status %d\n", line, status);
    return WIFEXITED(status) && WEXITSTATUS(status) == 4 ? 77 : 70;
}

static int record_and_measure(const struct demo_rounds *asked)
{
    int code = record(asked);
    return code == 0 ? measure(asked->scratch, asked->rounds) : code;
}

int main(int argc, char **argv)
{
    return demo_rounds_main(argc, argv, "trk_bench_replay", 15, record_and_measure);
}
