/*
 * Goal: a thread and the drain share a ring without a data race, and rings go from thread to thread
 * without one; order and counts are exact.
 *
 * Method: a plain program, for the thread sanitizer. Part 1: one producer and one drain on a small
 * ring, so that it is full again and again. Part 2: a session in this process; threads come, emit
 * and go while the real drain writes a trace to nowhere.
 *
 * ring_race [EVENTS [ROUNDS]]
 */
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "record_drain.h"
#include "recorder/capture.h"
#include "ring.h"

#define CAPACITY        128u
#define EVENTS_A_TURN   50u
#define THREADS_AT_ONCE 4
#define EVENTS_A_THREAD 300u

static struct trk_session_ring shared;
static struct trk_session_losses losses;
static struct trk_record slots[CAPACITY];
static uint64_t events = 400000;
static unsigned rounds = 60;
static _Atomic bool producer_done;

static void fail(const char *what, uint64_t got, uint64_t expected)
{
    fprintf(stderr, "ring_race: %s: %" PRIu64 ", expected %" PRIu64 "\n", what, got, expected);
    exit(1);
}

static void *produce(void *unused)
{
    struct trk_ring ring;
    trk_ring_init(&ring, &(struct trk_ring_place){&shared, &losses, slots, CAPACITY});
    for (uint64_t n = 0; n < events; ++n) {
        struct trk_event event = {.argument = n, .type = TRK_EVENT_LOCK};
        trk_ring_append(&ring, &event);
        if (n % EVENTS_A_TURN == 0)
            sched_yield(); /* let the drain come in between, also on one processor */
    }
    atomic_store(&producer_done, true);
    return unused;
}

/* Every event comes in order, or its loss does: next is the number that must follow. */
static uint64_t consume(uint64_t next, uint64_t *told)
{
    uint64_t head = atomic_load_explicit(&shared.head, memory_order_acquire);
    uint64_t tail = atomic_load_explicit(&shared.tail, memory_order_relaxed);
    if (head - tail > CAPACITY)
        fail("held", head - tail, CAPACITY);
    for (; tail != head; ++tail) {
        const struct trk_record *record = &slots[tail & (CAPACITY - 1)];
        if (record->event.type == TRK_EVENT_DROP) {
            next += record->event.argument - *told;
            *told = record->event.argument;
            continue;
        }
        if (record->event.argument != next)
            fail("event", record->event.argument, next);
        ++next;
    }
    atomic_store_explicit(&shared.tail, tail, memory_order_release);
    return next;
}

static void race_on_one_ring(void)
{
    pthread_t producer;
    uint64_t next = 0;
    uint64_t told = 0;
    if (pthread_create(&producer, NULL, produce, NULL) != 0)
        fail("pthread_create", 1, 0);
    bool last = false;
    while (!last) {
        last = atomic_load(&producer_done);
        next = consume(next, &told);
        sched_yield();
    }
    pthread_join(producer, NULL);
    next = consume(next, &told);
    uint64_t untold = atomic_load(&shared.dropped) - told;
    if (next + untold != events)
        fail("kept and lost", next + untold, events);
    printf("one ring: %" PRIu64 " events, %" PRIu64 " lost, all told\n", events,
           atomic_load(&shared.dropped));
}

static void *come_and_go(void *unused)
{
    trk_capture_thread("passer-by", TRK_ROLE_GUEST);
    for (uint64_t n = 0; n < EVENTS_A_THREAD; ++n) {
        trk_capture_mark(n);
        if (n % EVENTS_A_TURN == 0)
            sched_yield();
    }
    return unused; /* the end of the thread gives the ring back */
}

static struct trk_record_drain drain;

static void *drain_all(void *unused)
{
    uint64_t fullest = 0;
    while (!atomic_load(&producer_done)) {
        if (trk_record_drain_pass(&drain, &fullest, NULL) != TRK_OK)
            fail("drain", 1, 0);
    }
    return unused;
}

static void run_threads(void)
{
    for (unsigned round = 0; round < rounds; ++round) {
        pthread_t threads[THREADS_AT_ONCE];
        for (int i = 0; i < THREADS_AT_ONCE; ++i) {
            if (pthread_create(&threads[i], NULL, come_and_go, NULL) != 0)
                fail("pthread_create", 1, 0);
        }
        for (int i = 0; i < THREADS_AT_ONCE; ++i)
            pthread_join(threads[i], NULL);
    }
}

static struct trk_writer *writer_to_nowhere(void)
{
    struct trk_writer_options options = trk_writer_options_default();
    struct trk_writer *writer = NULL;
    int fd = open("/dev/null", O_WRONLY);
    if (fd < 0 || trk_writer_create(&writer, fd, &options, "{}", NULL) != TRK_OK)
        fail("writer", 1, 0);
    return writer;
}

static void race_for_rings(void)
{
    struct trk_record_session session;
    if (trk_record_session_init(&session, CAPACITY, TRK_PAYLOAD_NONE, NULL) != TRK_OK)
        fail("session", 1, 0);
    char number[16];
    snprintf(number, sizeof(number), "%d", dup(session.fd));
    setenv(TRK_SESSION_VARIABLE, number, 1);
    struct trk_writer *writer = writer_to_nowhere();
    if (trk_capture_open(NULL) != TRK_OK ||
        trk_record_drain_init(&drain, &session, writer, NULL) != TRK_OK)
        fail("capture", 1, 0);
    atomic_store(&producer_done, false);
    pthread_t drainer;
    if (pthread_create(&drainer, NULL, drain_all, NULL) != 0)
        fail("pthread_create", 1, 0);
    run_threads();
    atomic_store(&producer_done, true);
    pthread_join(drainer, NULL);
    if (trk_record_drain_finish(&drain, NULL) != TRK_OK)
        fail("finish", 1, 0);
    uint64_t all = (uint64_t)rounds * THREADS_AT_ONCE * EVENTS_A_THREAD;
    if (drain.events + drain.dropped != all)
        fail("kept and lost", drain.events + drain.dropped, all);
    if (drain.dropped != trk_capture_dropped())
        fail("lost", drain.dropped, trk_capture_dropped());
    printf("rings in turn: %" PRIu64 " events, %" PRIu64 " lost, %u streams\n", drain.events,
           drain.dropped, drain.streams);
    trk_record_drain_deinit(&drain);
    if (trk_writer_end(writer, -1, NULL) != TRK_OK)
        fail("end", 1, 0);
    trk_record_session_deinit(&session);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        events = strtoull(argv[1], NULL, 10);
    if (argc > 2)
        rounds = (unsigned)strtoul(argv[2], NULL, 10);
    race_on_one_ring();
    race_for_rings();
    return 0;
}
