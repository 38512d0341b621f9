/*
 * Goal: threads that sleep for a lock are woken or wake by themselves, none is lost, and nobody is
 * counted as a sleeper who is awake.
 * Method: holders keep their region for longer than anybody spins, in the hold of an upload's
 * completion, so that others sleep at a pair of locks that the short way releases in one step. The
 * counts of entries must add up, and all slots of sleepers must be empty in the end. The time that
 * it takes is not judged.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "env.h"
#include "race_support.h"

#define THREADS 6u
#define ROUNDS  400u

static uint64_t entered[RACE_REGIONS]; /* plain, each under its region's lock */
static uint64_t slept;                 /* threads that were seen sleeping */

static uint64_t sleepers(void)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < ENV_SLEEPER_SLOTS; i++)
        count += __atomic_load_n(&trk_lock_sleepers[i], __ATOMIC_RELAXED);
    return count;
}

static void on_completion(void *context)
{
    struct race_thread *thread = context;
    usleep(race_random(thread, 100));
    __atomic_fetch_add(&slept, sleepers(), __ATOMIC_RELAXED);
    entered[thread->number % RACE_REGIONS]++;
}

static void body(struct race_thread *thread)
{
    struct trk_tracker *tracker = thread->race->tracker;
    uint32_t region = thread->number % RACE_REGIONS;
    uint64_t base = RACE_BASE + region * TRK_REGION_BYTES;
    struct trk_transfer upload = {.size = sizeof upload,
                                  .guest_addr = base,
                                  .size_bytes = 1,
                                  .written = true,
                                  .completion = on_completion,
                                  .context = thread};
    for (uint32_t i = 0; i < ROUNDS; i++) {
        if (i % 4 == 0 && trk_tracker_upload(tracker, &upload) != TRK_OK)
            race_fail("an upload was refused");
        if (i % 4 == 1 && (trk_tracker_lock(tracker, base) != TRK_OK || ++entered[region] == 0 ||
                           trk_tracker_unlock(tracker, base) != TRK_OK))
            race_fail("a lock was refused");
        if (i % 4 > 1 && trk_pages_watch(tracker, base, 1) + trk_pages_unwatch(tracker, base, 1))
            race_fail("a watch was refused");
    }
}

int main(void)
{
    struct race *race = calloc(1, sizeof *race);
    race_open(race, TRK_INVALIDATE_VERIFY);
    race_run(race, THREADS, body);
    uint64_t all = 0;
    for (uint32_t i = 0; i < RACE_REGIONS; i++)
        all += entered[i];
    if (all != (uint64_t)THREADS * ROUNDS / 2)
        race_fail("%llu entries", (unsigned long long)all);
    if (sleepers() != 0)
        race_fail("%llu sleepers are left", (unsigned long long)sleepers());
    race_close(race);
    free(race);
    printf("%llu entries, %llu times somebody slept\n", (unsigned long long)all,
           (unsigned long long)slept);
    return 0;
}
