/*
 * The cost of an append: what the core pays to hand an event to the recorder.
 *
 * Against it stands the least that could be done: the same 32 bytes with a time stamp, written to a
 * buffer as large as a ring, index published with a release store. Batches alternate.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "bare_ring.h"
#include "live.h"
#include "recorder/capture.h"

#define BATCH        4096u
#define GROUP        64u
#define LONG_BATCHES 8u /* where two threads meet: long enough for one to notice the other */

/* Events that are appended again and again. */
struct source {
    const struct trk_event *events;
    size_t count, next;
};

static const struct trk_event *next_event(struct source *source)
{
    const struct trk_event *event = &source->events[source->next];
    source->next = source->next + 1 < source->count ? source->next + 1 : 0;
    return event;
}

static double time_bare(struct bench_bare_ring *ring, struct source *source)
{
    uint64_t start = bench_now_ns();
    for (unsigned i = 0; i < BATCH; i++) {
        bench_bare_append(ring, next_event(source));
    }
    return (double)(bench_now_ns() - start) / BATCH;
}

static double time_recorder(const struct trk_observer *observer, struct source *source)
{
    uint64_t start = bench_now_ns();
    for (unsigned i = 0; i < BATCH; i++) {
        observer->emit(observer->context, next_event(source));
    }
    return (double)(bench_now_ns() - start) / BATCH;
}

/* A few appends at a time, for what the slow ones take. */
static void time_groups(const struct trk_observer *observer, struct source *source,
                        struct bench_samples *groups)
{
    for (unsigned group = 0; group < BATCH / GROUP && groups->count < BENCH_SAMPLES_MAX; group++) {
        uint64_t start = bench_now_ns();
        for (unsigned i = 0; i < GROUP; i++) {
            observer->emit(observer->context, next_event(source));
        }
        bench_samples_add(groups, (double)(bench_now_ns() - start) / GROUP);
    }
}

static double p99(const struct bench_samples *samples)
{
    static struct bench_samples sorted;
    sorted = *samples;
    bench_samples_sort(&sorted);
    return sorted.count > 0 ? sorted.values[(sorted.count - 1) * 99 / 100] : 0;
}

int bench_append_events(const struct trk_event *events, size_t count, unsigned rounds,
                        struct bench_appends *out)
{
    static struct bench_samples bare, recorder, groups;
    struct bench_bare_ring ring = {.records = calloc(BENCH_BARE_RECORDS, sizeof *ring.records)};
    struct source source = {events, count, 0};
    struct trk_observer observer = trk_capture_observer();
    if (ring.records == NULL || observer.emit == NULL || count == 0) {
        fputs("append: not recorded, no events, or out of memory\n", stderr);
        free(ring.records);
        return 1;
    }
    /* Once around: no first touch of a page of the buffer is timed. The rings' pages are there. */
    for (unsigned i = 0; i < BENCH_BARE_RECORDS; i++) {
        bench_bare_append(&ring, next_event(&source));
    }
    struct timespec pause = {.tv_nsec = 3 * 1000 * 1000};
    for (unsigned round = 0; round < rounds + 2; round++) {
        bool bare_first = round % 2 == 0;
        double first = bare_first ? time_bare(&ring, &source) : time_recorder(&observer, &source);
        double second = bare_first ? time_recorder(&observer, &source) : time_bare(&ring, &source);
        if (round >= 2) {
            bench_samples_add(&bare, bare_first ? first : second);
            bench_samples_add(&recorder, bare_first ? second : first);
        }
        nanosleep(&pause, NULL); /* the parent drains; the ring never fills */
    }
    for (unsigned i = 0; i < BENCH_SAMPLES_MAX * GROUP / BATCH; i++) {
        time_groups(&observer, &source, &groups);
        nanosleep(&pause, NULL);
    }
    free(ring.records);
    out->bare_ns = bench_samples_spread(&bare);
    out->recorder_ns = bench_samples_spread(&recorder);
    out->ratio = bench_samples_ratio(&recorder, &bare);
    out->p99_ns = p99(&groups);
    return 0;
}

static struct trk_event marks[BATCH];

static double time_long(const struct trk_observer *observer, struct source *source)
{
    double sum = 0;
    for (unsigned i = 0; i < LONG_BATCHES; i++) {
        sum += time_recorder(observer, source);
    }
    return sum / LONG_BATCHES;
}

/* A second recording thread, which appends a batch for each that is wanted. */
struct second {
    const struct trk_observer *observer;
    _Atomic int wanted; /* batches so far; -1: it ends */
    _Atomic int done;
};

static void *append_beside(void *context)
{
    struct second *second = context;
    struct source source = {marks, BATCH, 0};
    int begun = 0;
    int wanted;
    trk_capture_thread("bench beside", TRK_ROLE_GUEST);
    while ((wanted = atomic_load_explicit(&second->wanted, memory_order_acquire)) >= 0) {
        if (begun < wanted) {
            (void)time_long(second->observer, &source);
            atomic_store_explicit(&second->done, ++begun, memory_order_release);
        } else {
            sched_yield();
        }
    }
    trk_capture_thread_end();
    return NULL;
}

/* A batch of this thread while the other one appends a batch, too: ns an append of both together.
 */
static double time_both(struct second *second, struct source *source)
{
    int batch = atomic_load(&second->wanted) + 1;
    uint64_t start = bench_now_ns();
    atomic_store_explicit(&second->wanted, batch, memory_order_release);
    (void)time_long(second->observer, source);
    while (atomic_load_explicit(&second->done, memory_order_acquire) < batch) {
        sched_yield();
    }
    return (double)(bench_now_ns() - start) / (2.0 * BATCH * LONG_BATCHES);
}

static int append_on_two(unsigned rounds, struct bench_live *out)
{
    static struct bench_samples one, both;
    struct trk_observer observer = trk_capture_observer();
    struct second second = {.observer = &observer};
    struct source source = {marks, BATCH, 0};
    struct timespec pause = {.tv_nsec = 3 * 1000 * 1000};
    pthread_t thread;
    uint64_t dropped = trk_capture_dropped();
    if (pthread_create(&thread, NULL, append_beside, &second) != 0) {
        fputs("append: no second thread\n", stderr);
        return 1;
    }
    for (unsigned round = 0; round < rounds + 2; round++) {
        double alone = time_long(&observer, &source);
        nanosleep(&pause, NULL);
        double together = time_both(&second, &source);
        if (round >= 2) {
            bench_samples_add(&one, alone);
            bench_samples_add(&both, together);
        }
        nanosleep(&pause, NULL);
    }
    atomic_store_explicit(&second.wanted, -1, memory_order_release);
    pthread_join(thread, NULL);
    out->two_threads = bench_samples_ratio(&one, &both);
    out->two_dropped = trk_capture_dropped() - dropped;
    return 0;
}

int bench_append(unsigned rounds, struct bench_live *out)
{
    for (unsigned i = 0; i < BATCH; i++) {
        marks[i] = (struct trk_event){.argument = i, .type = TRK_EVENT_MARK};
    }
    return bench_append_events(marks, BATCH, rounds, &out->append) || append_on_two(rounds, out);
}

void bench_hook(unsigned rounds, struct bench_spread *out)
{
    static struct bench_samples samples;
    for (unsigned round = 0; round < rounds; round++) {
        uint64_t start = bench_now_ns();
        for (unsigned i = 0; i < BATCH; i++) {
            trk_capture_mark(i);
        }
        bench_samples_add(&samples, (double)(bench_now_ns() - start) / BATCH);
    }
    *out = bench_samples_spread(&samples);
}
