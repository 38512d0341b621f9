/*
 * What the races of the core share: a host, an event stream a thread, threads that start at once.
 *
 * Each thread's events are checked against the grammar (stream.h) and the numbers of its holds are
 * kept. When all have ended, the holds of each domain must be 1, 2, 3 ... without a gap and each
 * must have been seen by one thread only.
 */
#ifndef TESTS_RACE_SUPPORT_H
#define TESTS_RACE_SUPPORT_H

#include <stdint.h>

#include "stream.h"
#include "track/pages.h"
#include "track/tracker.h"

#define RACE_BASE        UINT64_C(0x200000000)
#define RACE_REGIONS     3u
#define RACE_PAGES       (RACE_REGIONS * TRK_REGION_PAGES)
#define RACE_THREADS_MAX 8u

struct race_hold {
    uint32_t domain, seq;
};

struct race;

struct race_thread {
    struct race *race;
    uint32_t number;
    uint64_t random;
    struct stream stream;
    struct race_hold *holds;
    uint32_t hold_count, hold_capacity;
    uint64_t waits;
};

struct race {
    struct trk_backend backend; /* first */
    struct trk_tracker *tracker;
    bool observed;            /* not with TRK_TEST_UNOBSERVED in the environment */
    uint8_t host[RACE_PAGES]; /* rights; written under the core's own locks only */
    struct race_thread threads[RACE_THREADS_MAX];
    uint32_t thread_count;
    void (*body)(struct race_thread *thread);
};

/* A tracker with the default policy and the given invalidate; its failures are returned, not told.
 */
void race_open(struct race *race, enum trk_invalidate_policy invalidate);
void race_open_policy(struct race *race, const struct trk_policy *policy);
/* Gives everything back to the CPU; no watch may be left. */
void race_close(struct race *race);

/* Run the body in so many threads at once, then check streams and holds; once a race. Exits 1. */
void race_run(struct race *race, uint32_t threads, void (*body)(struct race_thread *thread));

/* Check that every page is in a legal state and the host is in step. Exits 1 if not. */
void race_check_pages(struct race *race);

uint32_t race_random(struct race_thread *thread, uint32_t limit);

/* Print the line and exit 1. */
_Noreturn void race_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
