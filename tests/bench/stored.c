#include "stored.h"

#include <sys/stat.h>
#include <unistd.h>

#include "loaded.h"
#include "simulator/sim.h"

static int complain(const char *what, const struct trk_error *error)
{
    fprintf(stderr, "%s: %s\n", what, error->text);
    return 1;
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

/* ns an event of encoding them anew; a default writer's. */
static int encode(const struct bench_loaded *loaded, struct bench_samples *ns)
{
    int fd = bench_memory_file();
    uint64_t start = bench_now_ns();
    int failed = fd < 0 || bench_encode(loaded, trk_writer_options_default().clock_shift, fd);
    if (!failed && loaded->events > 0) {
        bench_samples_add(ns, (double)(bench_now_ns() - start) / (double)loaded->events);
    }
    close(fd);
    return failed;
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
    struct bench_loaded loaded = {0};
    struct stat file;
    int failed = stat(path, &file) != 0 || bench_load(path, &loaded);
    out->bytes = failed ? 0 : (uint64_t)file.st_size;
    for (unsigned round = 0; round < rounds && !failed; round++) {
        failed = encode(&loaded, &encodes);
        uint64_t start = bench_now_ns();
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
    bench_unload(&loaded);
    out->encode_ns = bench_samples_spread(&encodes);
    out->decode_per_second = bench_samples_spread(&decodes);
    out->simulate_per_second = bench_samples_spread(&simulations);
    out->oracle_per_second = bench_samples_spread(&oracles[0]);
    out->lines_per_second = bench_samples_spread(&oracles[1]);
    out->pages_per_second = bench_samples_spread(&oracles[2]);
    return failed;
}
