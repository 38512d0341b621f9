/*
 * Goal: a region's lock excludes, hands over memory, refuses recursion and strangers, and numbers
 * its holds in the order in which they happened.
 * Method: threads take locks by hand and work on plain counters; the sanitizer sees what the lock
 * does not order, and the counters' values must be the hold numbers.
 *
 * Rules: [M-34].
 */
#include <stdio.h>
#include <stdlib.h>

#include "race_support.h"

#define THREADS 6u
#define ROUNDS  20000u

/* Plain memory, each under its region's lock. */
static uint64_t entered[RACE_REGIONS];
static uint64_t inside[RACE_REGIONS];

static uint64_t region_addr(uint32_t region)
{
    return RACE_BASE + (uint64_t)region * TRK_REGION_BYTES;
}

static void body(struct race_thread *thread)
{
    struct trk_tracker *tracker = thread->race->tracker;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        uint32_t region = race_random(thread, RACE_REGIONS);
        if (trk_tracker_lock(tracker, region_addr(region) + race_random(thread, 4096)) != TRK_OK)
            race_fail("a lock was refused");
        if (inside[region]++ != 0)
            race_fail("two threads inside region %u", region);
        entered[region]++;
        if (i % 64 == 0 && trk_tracker_lock(tracker, region_addr(region)) != TRK_E_LOCK)
            race_fail("a thread took its lock twice");
        /* The newest hold this thread has seen is its own: its number counts all entries. */
        if (thread->race->observed &&
            thread->stream.held[thread->stream.held_count - 1].seq != entered[region])
            race_fail("hold %u is entry %llu",
                      thread->stream.held[thread->stream.held_count - 1].seq,
                      (unsigned long long)entered[region]);
        inside[region]--;
        if (trk_tracker_unlock(tracker, region_addr(region)) != TRK_OK)
            race_fail("an unlock was refused");
        if (i % 64 == 0 && trk_tracker_unlock(tracker, region_addr(region)) != TRK_E_LOCK)
            race_fail("a thread released a lock that it does not hold");
    }
}

int main(void)
{
    struct race *race = calloc(1, sizeof *race);
    uint64_t waits = 0;
    race_open(race, TRK_INVALIDATE_VERIFY);
    race_run(race, THREADS, body);
    for (uint32_t i = 0; i < THREADS; i++)
        waits += race->threads[i].waits;
    if (entered[0] + entered[1] + entered[2] != (uint64_t)THREADS * ROUNDS)
        race_fail("entries were lost");
    race_close(race);
    free(race);
    printf("%u holds, %llu waits\n", THREADS * ROUNDS, (unsigned long long)waits);
    return 0;
}
