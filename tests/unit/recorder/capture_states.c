/*
 * Goal: when the making of states is late, it leaves a chain of them, not only the newest; a dump
 * takes the whole ring rather than the little that is behind a state, and says so.
 *
 * Method: a program that stops between bursts, and states that are made only when the test wants:
 * the order of all of it is forced, and the control FIFOs say how far the recording is. How many
 * bytes a burst is depends on the machine, so where that matters bursts are small, and end with the
 * first state. What is in a state is of no matter here.
 */
#define _GNU_SOURCE /* mkdtemp, nftw */
#include <ftw.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "recorder/control.h"
#include "recorder/record.h"
#include "recorder/trace.h"

#define FLIGHT_BYTES (128u << 10)
#define TIMEOUT_MS   120000u
#define TRACE        "a.trk"
#define BURSTS_MOST  24u

static char folder[] = "/tmp/trk-states-XXXXXX";
static char told[4096];
static atomic_uint calls;
static unsigned none_before; /* bursts that have to be over before there is a state */
static bool one_is_enough;   /* no burst comes behind the first state */

static void make_folder(void)
{
    cr_assert_not_null(mkdtemp(folder));
    cr_assert_eq(chdir(folder), 0);
    cr_assert_eq(setenv("XDG_RUNTIME_DIR", folder, 1), 0);
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    return remove(path);
}

static void remove_folder(void)
{
    cr_assert_eq(chdir("/"), 0);
    cr_assert_eq(nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

TestSuite(capture_states, .init = make_folder, .fini = remove_folder);

static bool is_there(const char *name)
{
    return access(name, F_OK) == 0;
}

static void await_file(const char *name)
{
    const struct timespec pause = {.tv_nsec = 2000000};
    while (!is_there(name))
        (void)nanosleep(&pause, NULL);
}

static void make_file(const char *name)
{
    FILE *file = fopen(name, "w");
    cr_assert_not_null(file);
    fclose(file);
}

static bool status_says(const char *what)
{
    char answer[TRK_CONTROL_LINE] = "";
    struct trk_error error;
    return trk_control_send((uint32_t)getpid(), "status", answer, TIMEOUT_MS, &error) == TRK_OK &&
           strstr(answer, what) != NULL;
}

static void say(const char *text)
{
    size_t used = strlen(told);
    snprintf(told + used, sizeof told - used, "%s\n", text);
}

/* Behind the last event before that time; the first one waits until the first burst is in the ring.
 */
static enum trk_status make_state(struct trk_trace *trace, uint64_t ticks,
                                  struct trk_record_state *out, struct trk_error *error)
{
    struct trk_trace_event event;
    char name[32];
    if (atomic_fetch_add(&calls, 1) == 0) {
        await_file("did-1");
        (void)status_says(""); /* all of it was drained */
        (void)status_says(""); /* and a turn is over behind that */
    }
    snprintf(name, sizeof name, "go-%u", none_before);
    if (none_before > 0 && !is_there(name))
        return trk_error_set(error, TRK_E_UNSUPPORTED, "too early");
    out->ordinals = calloc(trk_trace_stream_count(trace) + 1, sizeof *out->ordinals);
    out->prologue = calloc(1, sizeof *out->prologue);
    trk_packing_number(&out->snapshot, 0);
    trk_packing_number(&out->snapshot, 0);
    trk_packing_number(&out->snapshot, 0);
    while (trk_trace_next(trace, &event, error) == TRK_OK && event.tsc < ticks) {
        out->ordinals[event.stream]++;
        out->ticks = event.tsc;
    }
    return TRK_OK;
}

/* Lets the program go on whenever no state is under way. */
static void *let_go(void *argument)
{
    const unsigned bursts = *(const unsigned *)argument;
    for (unsigned i = 1; i <= bursts && !is_there("enough"); ++i) {
        char name[32];
        snprintf(name, sizeof name, "did-%u", i);
        await_file(name);
        while (!status_says("none under way") && !status_says("no more to come")) {
        }
        if (one_is_enough && !status_says(" 0 states made"))
            make_file("enough");
        snprintf(name, sizeof name, "go-%u", i);
        make_file(name);
    }
    return NULL;
}

static void fly(const char *const *bursts, unsigned count)
{
    const char *argv[BURSTS_MOST + 2] = {BURST_TARGET};
    struct trk_record_result result;
    struct trk_error error = {0};
    pthread_t thread;
    cr_assert_leq(count, BURSTS_MOST);
    for (unsigned i = 0; i < count; ++i)
        argv[i + 1] = bursts[i];
    struct trk_record_options options = {
        .size = sizeof options,
        .path = TRACE,
        .argv = (char *const *)(uintptr_t)argv,
        .ring_records = 4096,
        .block_ms = TRK_RECORD_BLOCK_MOST,
        .flight_bytes = FLIGHT_BYTES,
        .triggers = "exit",
        .state = make_state,
        .control = true,
        .say = say,
    };
    cr_assert_eq(pthread_create(&thread, NULL, let_go, &count), 0);
    cr_assert_eq(trk_record_command(&options, &result, &error), TRK_OK, "%s", error.text);
    pthread_join(thread, NULL);
    cr_assert_eq(result.dropped, 0u);
    cr_assert_eq(result.dumps, 1u);
}

/* Whether the dump begins with a state; what it has lost. */
static bool begins_with_state(uint64_t *dropped)
{
    struct trk_trace *trace = NULL;
    struct trk_error error;
    const uint8_t *end;
    cr_assert_eq(trk_trace_open(&trace, TRACE, &error), TRK_OK);
    cr_assert_eq(trk_trace_scan(trace, &error), TRK_OK);
    *dropped = trk_trace_state(trace).dropped;
    bool begins = trk_trace_snapshot(trace, &end) != NULL;
    trk_trace_close(trace);
    return begins;
}

Test(capture_states, a_late_thread_leaves_a_chain)
{
    static const char *const bursts[] = {"300"};
    uint64_t dropped;
    fly(bursts, 1);
    cr_assert_geq(atomic_load(&calls), 3u, "%u", atomic_load(&calls));
    cr_assert(begins_with_state(&dropped), "%s", told);
    cr_assert_eq(dropped, 0u);
    cr_assert_null(strstr(told, "whole ring"), "%s", told);
}

Test(capture_states, a_dump_is_not_shorter_for_its_state)
{
    const char *bursts[BURSTS_MOST] = {"400"};
    uint64_t dropped;
    for (size_t i = 1; i < BURSTS_MOST; ++i)
        bursts[i] = "8";
    none_before = 1;
    one_is_enough = true;
    fly(bursts, BURSTS_MOST);
    cr_assert(is_there("enough"), "there never was a state");
    cr_assert_not(begins_with_state(&dropped));
    cr_assert_gt(dropped, 0u);
    cr_assert_not_null(strstr(told, "exit: the dump has the whole ring and begins with no state"),
                       "%s", told);
}

/* Far more than twice the ring comes while the first state is being made. */
Test(capture_states, a_ring_does_not_outrun_its_states)
{
    static const char *const bursts[] = {"1200", "60"};
    uint64_t dropped;
    fly(bursts, 2);
    cr_assert_null(strstr(told, "any more"), "%s", told);
    cr_assert(begins_with_state(&dropped), "%s", told);
    cr_assert_eq(dropped, 0u);
}
