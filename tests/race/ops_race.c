/*
 * Goal: whatever threads do to overlapping ranges at once, page states stay legal, the host stays
 * in step, and the event streams order all holds without a gap.
 * Method: random operations, flushes included, on a few pages around region edges; pages and
 * streams are checked when all threads have ended. TRK_STEPS and TRK_SEED make it longer or other.
 *
 * Rules: [M-8] [M-16] [M-19].
 */
#include <stdio.h>
#include <stdlib.h>

#include "race_support.h"

#define THREADS      4u
#define WINDOW_PAGES 24u

static uint32_t steps_a_thread;
static uint64_t seed;

static void on_range(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    (void)context;
    (void)guest_addr;
    (void)size_bytes;
}

static void transfer(struct race_thread *thread, uint64_t addr, uint64_t size, uint32_t kind)
{
    struct trk_tracker *tracker = thread->race->tracker;
    struct trk_transfer request = {.size = sizeof request,
                                   .guest_addr = addr,
                                   .size_bytes = size,
                                   .written = kind == 1,
                                   .clear = kind == 2,
                                   .range = on_range};
    enum trk_status status = kind < 2    ? trk_tracker_upload(tracker, &request)
                             : kind == 4 ? trk_tracker_drain(tracker, &request)
                                         : trk_tracker_download(tracker, &request);
    if (status != TRK_OK)
        race_fail("transfer %u gives %s", kind, trk_status_name(status));
}

static void on_flush(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    struct race_thread *thread = context;
    transfer(thread, guest_addr, size_bytes, race_random(thread, 8) == 0 ? 2 : 4);
}

static void allow(enum trk_status status, enum trk_status one, enum trk_status other)
{
    if (status != TRK_OK && status != one && status != other)
        race_fail("unexpected %s", trk_status_name(status));
}

static void one_step(struct race_thread *thread)
{
    struct trk_tracker *tracker = thread->race->tracker;
    uint32_t page = TRK_REGION_PAGES - WINDOW_PAGES / 2 + race_random(thread, WINDOW_PAGES - 4);
    page += race_random(thread, 4) == 0 ? TRK_REGION_PAGES : 0;
    uint64_t addr = RACE_BASE + (uint64_t)page * TRK_HOST_PAGE_BYTES + race_random(thread, 4096);
    uint64_t size = 1 + race_random(thread, 3 * TRK_HOST_PAGE_BYTES);
    bool value = false;
    switch (race_random(thread, 14)) {
    case 0:
        allow(trk_tracker_is_cpu(tracker, addr, size, &value), TRK_OK, TRK_OK);
        break;
    case 1:
        allow(trk_tracker_is_gpu(tracker, addr, size, &value), TRK_OK, TRK_OK);
        break;
    case 2:
        allow(trk_tracker_mark_cpu(tracker, addr, size), TRK_E_CONFLICT, TRK_OK);
        break;
    case 3:
        allow(trk_tracker_mark_gpu(tracker, addr, size), TRK_E_CONFLICT, TRK_OK);
        break;
    case 4:
        allow(trk_tracker_unmark_gpu(tracker, addr, size), TRK_OK, TRK_OK);
        break;
    case 5:
        allow(trk_tracker_untrack(tracker, addr, size), TRK_E_UNTRACK, TRK_OK);
        break;
    case 6:
        /* The flush leaves nothing; what is GPU after it was taken anew, which is not retained. */
        allow(trk_tracker_invalidate(tracker, addr, size, on_flush, thread), TRK_E_LIVELOCK,
              TRK_OK);
        break;
    case 7:
        allow(trk_tracker_register(tracker, addr, size), TRK_OK, TRK_OK);
        break;
    case 8:
        (void)trk_tracker_fault(tracker, addr,
                                race_random(thread, 2) ? TRK_ACCESS_WRITE : TRK_ACCESS_READ);
        break;
    default:
        transfer(thread, addr, size, race_random(thread, 5));
    }
}

static void body(struct race_thread *thread)
{
    thread->random += seed * 1000003;
    for (uint32_t i = 0; i < steps_a_thread; i++)
        one_step(thread);
}

static void layer_flush(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    struct race *race = context;
    struct trk_transfer request = {
        .size = sizeof request, .guest_addr = guest_addr, .size_bytes = size_bytes, .clear = true};
    if (trk_tracker_download(race->tracker, &request) != TRK_OK)
        race_fail("a layer's download was refused");
}

int main(void)
{
    const char *steps = getenv("TRK_STEPS"), *seed_text = getenv("TRK_SEED");
    steps_a_thread = (uint32_t)((steps != NULL ? strtoull(steps, NULL, 0) : 120000) / THREADS);
    seed = seed_text != NULL ? strtoull(seed_text, NULL, 0) : 1;
    struct race *race = calloc(1, sizeof *race);
    for (int policy = 0; policy < 3; policy++) {
        /* Under strict a page taken anew is retained; that policy has no place here. */
        if (policy == TRK_INVALIDATE_STRICT)
            continue;
        race_open(race, (enum trk_invalidate_policy)policy);
        struct trk_resource_layer layer = {layer_flush, layer_flush, race};
        if (trk_tracker_set_resource_layer(race->tracker, &layer) != TRK_OK)
            race_fail("a layer was refused");
        race_run(race, THREADS, body);
        race_check_pages(race);
        race_close(race);
    }
    free(race);
    printf("%u operations a thread, %u threads, seed %llu\n", steps_a_thread, THREADS,
           (unsigned long long)seed);
    return 0;
}
