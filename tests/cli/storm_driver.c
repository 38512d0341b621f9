/*
 * Goal: whatever a storm of faults does to rings that are far too small, each event is in the file
 * or counted as lost, type by type, to the last one.
 *
 * Method: record storm_target with rings of several sizes; the target counts what it emits in a
 * shared file; compare with the file's events and with what its DROP events say.
 *
 * storm_driver TARGET
 */
#define _GNU_SOURCE /* mkdtemp */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recorder/record.h"
#include "recorder/trace.h"
#include "storm_shared.h"

static char folder[] = "/tmp/trk-storm-XXXXXX";
static char trace_path[64];
static char shared_path[64];
static struct storm_shared *shared;

static const struct storm_case {
    const char *name;
    const char *rounds;
    uint32_t ring_records;
    uint32_t block_ms;
    bool loses;
    bool guard;
} cases[] = {
    {"the smallest ring", "40", 128, 0, true, false},
    {"the smallest ring, guarded", "20", 128, 0, true, true},
    {"a small ring", "40", 4096, 0, false, false},
    {"a small ring, guarded", "40", 4096, 0, false, true},
    {"the smallest ring, blocking", "6", 128, 2000, true, false}, /* handlers do not wait */
};

static _Noreturn void fail(const char *name, const char *what, uint64_t got, uint64_t expected)
{
    fprintf(stderr, "storm_driver: %s: %s: %" PRIu64 ", expected %" PRIu64 "\n", name, what, got,
            expected);
    (void)unlink(trace_path);
    (void)unlink(shared_path);
    (void)rmdir(folder);
    exit(1);
}

static void make_files(void)
{
    if (!mkdtemp(folder))
        fail("files", "mkdtemp", 0, 1);
    snprintf(trace_path, sizeof(trace_path), "%s/a.trk", folder);
    snprintf(shared_path, sizeof(shared_path), "%s/shared", folder);
    int fd = open(shared_path, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (fd < 0 || ftruncate(fd, sizeof(*shared)) != 0)
        fail("files", "shared file", 0, 1);
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (shared == MAP_FAILED)
        fail("files", "mmap", 0, 1);
}

struct totals {
    uint64_t written[STORM_TYPES];
    uint64_t lost[STORM_TYPES];
};

static struct trk_trace_state read_trace(const char *name, struct totals *totals)
{
    struct trk_trace *trace = NULL;
    struct trk_error error = {0};
    struct trk_trace_event event;
    memset(totals, 0, sizeof(*totals));
    if (trk_trace_open(&trace, trace_path, &error) != TRK_OK)
        fail(name, error.text, error.status, TRK_OK);
    enum trk_status status;
    while ((status = trk_trace_next(trace, &event, &error)) == TRK_OK) {
        if (event.event.type != TRK_EVENT_DROP)
            totals->written[event.event.type] += 1;
        else if (event.event.context < STORM_TYPES)
            totals->lost[event.event.context] += event.event.argument;
    }
    if (status != TRK_E_END)
        fail(name, "end of the file", status, TRK_E_END);
    struct trk_trace_state state = trk_trace_state(trace);
    trk_trace_close(trace);
    return state;
}

static void run(const struct storm_case *which, const char *target)
{
    static struct totals totals;
    memset((void *)shared, 0, sizeof(*shared));
    char *const argv[] = {(char *)(uintptr_t)target, shared_path, (char *)(uintptr_t)which->rounds,
                          NULL};
    struct trk_record_options options = {
        .size = sizeof(options),
        .path = trace_path,
        .overwrite = true,
        .argv = argv,
        .ring_records = which->ring_records,
        .block_ms = which->block_ms,
        .guard = which->guard,
    };
    struct trk_record_result result;
    struct trk_error error = {0};
    if (trk_record_command(&options, &result, &error) != TRK_OK)
        fail(which->name, error.text, error.status, TRK_OK);
    if (result.child_status != 0)
        fail(which->name, "wait status of the target", (uint64_t)result.child_status, 0);
    struct trk_trace_state state = read_trace(which->name, &totals);
    uint64_t emitted = 0;
    uint64_t lost = 0;
    for (unsigned type = 0; type < STORM_TYPES; ++type) {
        uint64_t expected = atomic_load(&shared->emitted[type]);
        if (totals.written[type] + totals.lost[type] != expected)
            fail(which->name, trk_event_type_name((uint8_t)type),
                 totals.written[type] + totals.lost[type], expected);
        emitted += expected;
        lost += totals.lost[type];
    }
    if (result.events + result.dropped != emitted)
        fail(which->name, "written and lost by the result", result.events + result.dropped,
             emitted);
    if (state.dropped != lost || result.dropped != lost)
        fail(which->name, "lost by the file's state", state.dropped, lost);
    if (which->loses && lost == 0)
        fail(which->name, "lost, or it was no storm", lost, 1);
    if (!state.ended || state.complete != (lost == 0))
        fail(which->name, "complete", state.complete, lost == 0);
    printf("%s: %" PRIu64 " events, %" PRIu64 " lost, %" PRIu64 " of handlers, %" PRIu64 " waits\n",
           which->name, emitted, lost, atomic_load(&shared->in_handlers), result.waits);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: storm_driver TARGET\n");
        return 2;
    }
    make_files();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i)
        run(&cases[i], argv[1]);
    (void)unlink(trace_path);
    (void)unlink(shared_path);
    (void)rmdir(folder);
    return 0;
}
