/*
 * Goal: a region that many threads touch first is created once, and nobody sees half of it.
 * Method: fresh trackers; all threads upload, look, register and set rights in the same untouched
 * regions at once. Each page is taken by exactly one upload.
 *
 * Rules: [M-6] [M-27].
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "race_support.h"

#define THREADS 6u
#define ROUNDS  30u

static uint8_t taken[RACE_PAGES]; /* each page written under its region's lock */

static void on_range(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    (void)context;
    uint64_t first = (guest_addr - RACE_BASE) / TRK_HOST_PAGE_BYTES;
    for (uint64_t i = 0; i < size_bytes / TRK_HOST_PAGE_BYTES; i++)
        taken[first + i]++;
}

static void upload(struct race_thread *thread, uint32_t page, uint32_t pages)
{
    struct trk_transfer request = {.size = sizeof request,
                                   .guest_addr = RACE_BASE + (uint64_t)page * TRK_HOST_PAGE_BYTES,
                                   .size_bytes = (uint64_t)pages * TRK_HOST_PAGE_BYTES,
                                   .written = race_random(thread, 2) == 0,
                                   .range = on_range};
    if (trk_tracker_upload(thread->race->tracker, &request) != TRK_OK)
        race_fail("an upload was refused");
}

static void body(struct race_thread *thread)
{
    struct trk_tracker *tracker = thread->race->tracker;
    uint32_t first = race_random(thread, RACE_PAGES);
    uint64_t addr = RACE_BASE + (uint64_t)first * TRK_HOST_PAGE_BYTES;
    bool value = false;
    if (thread->number % 2 == 0 && trk_tracker_register(tracker, addr, 16) != TRK_OK)
        race_fail("a registration was refused");
    if (thread->number % 3 == 0 &&
        trk_tracker_set_guest_protection(tracker, addr, 1, TRK_RIGHT_READ) != TRK_OK)
        race_fail("rights were refused");
    if (trk_tracker_is_gpu(tracker, addr, TRK_REGION_BYTES, &value) != TRK_OK ||
        trk_tracker_is_cpu(tracker, addr, 1, &value) != TRK_OK)
        race_fail("a query was refused");
    (void)trk_tracker_fault(tracker, addr, TRK_ACCESS_WRITE);
    for (uint32_t page = 0; page < RACE_PAGES;) {
        uint32_t pages = 1 + race_random(thread, 500);
        pages = pages < RACE_PAGES - page ? pages : RACE_PAGES - page;
        upload(thread, page, pages);
        page += pages;
    }
}

int main(void)
{
    struct race *race = calloc(1, sizeof *race);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        memset(taken, 0, sizeof taken);
        race_open(race, TRK_INVALIDATE_PER_REGION);
        race_run(race, THREADS, body);
        for (uint32_t page = 0; page < RACE_PAGES; page++) {
            /* A fault on a registered page may have given it back in between. */
            if (taken[page] < 1 || taken[page] > 1 + THREADS)
                race_fail("round %u: page %u was taken %u times", round, page, taken[page]);
        }
        race_check_pages(race);
        race_close(race);
    }
    free(race);
    printf("%u rounds of first touches\n", ROUNDS);
    return 0;
}
