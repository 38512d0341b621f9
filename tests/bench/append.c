/*
 * The cost of an append: what the core pays to hand an event to the recorder.
 *
 * Against it stands the least that could be done: the same 32 bytes with a time stamp, written to a
 * buffer as large as a ring, index published with a release store. Batches alternate.
 */
#include <stdlib.h>
#include <time.h>

#include "bare_ring.h"
#include "live.h"
#include "recorder/capture.h"

#define BATCH 4096u

static struct trk_event event_number(unsigned number)
{
    return (struct trk_event){
        .argument = number,
        .type = TRK_EVENT_MARK,
    };
}

static double time_bare(struct bench_bare_ring *ring)
{
    uint64_t start = bench_now_ns();
    for (unsigned i = 0; i < BATCH; i++) {
        struct trk_event event = event_number(i);
        bench_bare_append(ring, &event);
    }
    return (double)(bench_now_ns() - start) / BATCH;
}

static double time_recorder(const struct trk_observer *observer)
{
    uint64_t start = bench_now_ns();
    for (unsigned i = 0; i < BATCH; i++) {
        struct trk_event event = event_number(i);
        observer->emit(observer->context, &event);
    }
    return (double)(bench_now_ns() - start) / BATCH;
}

int bench_append(unsigned rounds, struct bench_live *out)
{
    static struct bench_samples bare, recorder;
    struct bench_bare_ring ring = {.records = calloc(BENCH_BARE_RECORDS, sizeof *ring.records)};
    struct trk_observer observer = trk_capture_observer();
    if (ring.records == NULL || observer.emit == NULL) {
        fputs("append: not recorded, or out of memory\n", stderr);
        free(ring.records);
        return 1;
    }
    /* Once around: no first touch of a page of the buffer is timed. The rings' pages are there. */
    for (unsigned i = 0; i < BENCH_BARE_RECORDS; i++) {
        struct trk_event event = event_number(i);
        bench_bare_append(&ring, &event);
    }
    struct timespec pause = {.tv_nsec = 3 * 1000 * 1000};
    for (unsigned round = 0; round < rounds + 2; round++) {
        double first = round % 2 == 0 ? time_bare(&ring) : time_recorder(&observer);
        double second = round % 2 == 0 ? time_recorder(&observer) : time_bare(&ring);
        if (round >= 2) {
            bench_samples_add(&bare, round % 2 == 0 ? first : second);
            bench_samples_add(&recorder, round % 2 == 0 ? second : first);
        }
        nanosleep(&pause, NULL); /* the parent drains; the ring never fills */
    }
    free(ring.records);
    out->append_bare_ns = bench_samples_spread(&bare);
    out->append_ns = bench_samples_spread(&recorder);
    out->append_ratio = bench_samples_ratio(&recorder, &bare);
    return 0;
}
