#define _GNU_SOURCE /* memfd_create */
#include "stored.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recorder/writer.h"
#include "simulator/sim.h"

/* All events of a trace, a list a stream. */
struct loaded {
    size_t streams;
    struct stream {
        struct trk_record *records;
        size_t count, room;
    } * list;
};

static int complain(const char *what, const struct trk_error *error)
{
    fprintf(stderr, "%s: %s\n", what, error->text);
    return 1;
}

static int keep(struct stream *stream, const struct trk_trace_event *event)
{
    if (stream->count == stream->room) {
        size_t room = stream->room == 0 ? 4096 : stream->room * 2;
        struct trk_record *grown = realloc(stream->records, room * sizeof *grown);
        if (grown == NULL) {
            fputs("out of memory\n", stderr);
            return 1;
        }
        stream->records = grown;
        stream->room = room;
    }
    stream->records[stream->count++] =
        (struct trk_record){.tsc = event->tsc, .event = event->event};
    return 0;
}

static void unload(struct loaded *loaded)
{
    for (size_t i = 0; i < loaded->streams; i++) {
        free(loaded->list[i].records);
    }
    free(loaded->list);
}

static int load(const char *path, struct loaded *loaded)
{
    struct trk_trace *trace = NULL;
    struct trk_error error;
    struct trk_trace_event event;
    if (trk_trace_open(&trace, path, &error) != TRK_OK || trk_trace_scan(trace, &error) != TRK_OK) {
        trk_trace_close(trace);
        return complain(path, &error);
    }
    loaded->streams = trk_trace_stream_count(trace);
    loaded->list = calloc(loaded->streams, sizeof *loaded->list);
    int failed = loaded->list == NULL;
    while (!failed && trk_trace_next(trace, &event, &error) == TRK_OK) {
        failed = keep(&loaded->list[event.stream], &event);
    }
    trk_trace_close(trace);
    return failed;
}

/* The drain's work without the rings: append by chunks, then END. */
static int encode(const struct loaded *loaded, uint64_t *events)
{
    struct trk_writer *writer = NULL;
    struct trk_error error = {.text = ""};
    struct trk_writer_options options = trk_writer_options_default();
    int fd = memfd_create("encoded", MFD_CLOEXEC);
    enum trk_status status = trk_writer_create(&writer, fd, &options, "{}", &error);
    for (size_t i = 0; i < loaded->streams && status == TRK_OK; i++) {
        const struct stream *stream = &loaded->list[i];
        struct trk_trace_stream about = {.stream_id = (uint32_t)i};
        status = trk_writer_stream(writer, &about, &error);
        for (size_t first = 0; first < stream->count && status == TRK_OK;
             first += TRK_CHUNK_EVENTS) {
            size_t left = stream->count - first;
            size_t count = left < TRK_CHUNK_EVENTS ? left : TRK_CHUNK_EVENTS;
            status =
                trk_writer_append(writer, (uint32_t)i, stream->records + first, count, 0, &error);
        }
        *events += stream->count;
    }
    if (status == TRK_OK) {
        status = trk_writer_end(writer, 0, &error); /* uses the writer up, come what may */
    } else {
        trk_writer_destroy(writer);
    }
    close(fd);
    return status == TRK_OK ? 0 : complain("encode", &error);
}

static int decode(const char *path, uint64_t *events, uint64_t *faults, uint64_t *dropped)
{
    struct trk_trace *trace = NULL;
    struct trk_error error;
    struct trk_trace_event event;
    *events = 0;
    *faults = 0;
    if (trk_trace_open(&trace, path, &error) != TRK_OK) {
        return complain(path, &error);
    }
    while (trk_trace_next(trace, &event, &error) == TRK_OK) {
        *events += 1;
        *faults += event.event.type == TRK_EVENT_FAULT;
    }
    *dropped = trk_trace_state(trace).dropped;
    trk_trace_close(trace);
    return 0;
}

static int simulate(const char *path, const struct trk_sim_options *options, bool *ok)
{
    struct trk_trace *trace = NULL;
    struct trk_error error;
    static struct trk_sim_report report;
    if (trk_trace_open(&trace, path, &error) != TRK_OK) {
        return complain(path, &error);
    }
    enum trk_status status = trk_sim_trace_with(trace, options, &report, &error);
    trk_trace_close(trace);
    *ok = report.verdict == TRK_VERDICT_OK;
    return status == TRK_OK ? 0 : complain("sim", &error);
}

/* The oracle alone; what it says is the re-execution's business. */
static int judge(const char *path, uint32_t granule_bytes)
{
    struct trk_sim_options options = trk_sim_options_default();
    bool ok;
    options.mode = TRK_SIM_ORACLE_ONLY;
    options.granule_bytes = granule_bytes;
    return simulate(path, &options, &ok);
}

static double per_second(uint64_t events, uint64_t start_ns)
{
    return (double)events * 1e9 / (double)(bench_now_ns() - start_ns);
}

int bench_stored(const char *path, unsigned rounds, struct bench_stored *out)
{
    static struct bench_samples encodes, decodes, simulations, oracles[3];
    static const uint32_t granules[3] = {1, 64, 4096};
    const struct trk_sim_options everything = trk_sim_options_default();
    struct loaded loaded = {0};
    struct stat file;
    int failed = stat(path, &file) != 0 || load(path, &loaded);
    out->bytes = failed ? 0 : (uint64_t)file.st_size;
    for (unsigned round = 0; round < rounds && !failed; round++) {
        uint64_t encoded = 0;
        uint64_t start = bench_now_ns();
        failed = encode(&loaded, &encoded);
        if (!failed && encoded > 0) {
            bench_samples_add(&encodes, (double)(bench_now_ns() - start) / (double)encoded);
        }
        start = bench_now_ns();
        if (!failed && !(failed = decode(path, &out->events, &out->faults, &out->dropped))) {
            bench_samples_add(&decodes, per_second(out->events, start));
        }
        start = bench_now_ns();
        if (!failed && !(failed = simulate(path, &everything, &out->ok))) {
            bench_samples_add(&simulations, per_second(out->events, start));
        }
        for (size_t i = 0; i < 3 && !failed; i++) {
            start = bench_now_ns();
            failed = judge(path, granules[i]);
            bench_samples_add(&oracles[i], per_second(out->events, start));
        }
    }
    unload(&loaded);
    out->encode_ns = bench_samples_spread(&encodes);
    out->decode_per_second = bench_samples_spread(&decodes);
    out->simulate_per_second = bench_samples_spread(&simulations);
    out->oracle_per_second = bench_samples_spread(&oracles[0]);
    out->lines_per_second = bench_samples_spread(&oracles[1]);
    out->pages_per_second = bench_samples_spread(&oracles[2]);
    return failed;
}
