/*
 * Goal: whatever threads do to views of one frame at once - operations and faults on each, joining
 * and leaving, registering and unregistering - each registered view has the strictest rights that
 * any asks for, the host is in step, and the event streams order all holds without a gap. Regions
 * come to share the common lock while others work in them.
 * Method: random operations on a few pages in each of three regions that are, and are no longer,
 * views of each other; pages and streams are checked when all threads have ended. TRK_STEPS and
 * TRK_SEED make it longer or other.
 */
#include <stdio.h>
#include <stdlib.h>

#include "race_support.h"

#define THREADS      4u
#define VIEW_PAGES   6u
#define PAGE         TRK_HOST_PAGE_BYTES
#define SHORT_ROUNDS 150u /* what happens once a region, its first sharing, happens often */
#define SHORT_STEPS  40u
#define ROUNDS       8u

static uint32_t steps_a_thread;
static uint64_t seed;

static void transfer(struct trk_tracker *tracker, uint64_t addr, uint64_t size, uint32_t kind)
{
    struct trk_transfer request = {.size = sizeof request,
                                   .guest_addr = addr,
                                   .size_bytes = size,
                                   .written = kind == 1,
                                   .clear = true};
    enum trk_status status = kind < 2    ? trk_tracker_upload(tracker, &request)
                             : kind == 2 ? trk_tracker_download(tracker, &request)
                                         : trk_tracker_drain(tracker, &request);
    if (status != TRK_OK)
        race_fail("transfer %u gives %s", kind, trk_status_name(status));
}

static void allow(enum trk_status status, enum trk_status other)
{
    if (status != TRK_OK && status != other)
        race_fail("unexpected %s", trk_status_name(status));
}

static uint64_t place(uint32_t region, uint32_t page)
{
    return RACE_BASE + region * TRK_REGION_BYTES + page * PAGE;
}

static void one_step(struct race_thread *thread)
{
    struct trk_tracker *tracker = thread->race->tracker;
    uint32_t region = race_random(thread, RACE_REGIONS);
    uint32_t page = race_random(thread, VIEW_PAGES);
    uint64_t addr = place(region, page);
    uint64_t size = (1 + race_random(thread, VIEW_PAGES - page)) * PAGE;
    uint64_t other = place((region + 1 + race_random(thread, 2)) % RACE_REGIONS, page);
    switch (race_random(thread, 16)) {
    case 0:
        allow(trk_tracker_join_views(tracker, addr, other, size), TRK_OK);
        break;
    case 1:
        if (race_random(thread, 2) == 0)
            allow(trk_tracker_leave_view(tracker, addr, size), TRK_OK);
        break;
    case 2:
        allow(trk_tracker_register(tracker, addr, size), TRK_OK);
        break;
    case 3:
        if (race_random(thread, 3) == 0)
            allow(trk_tracker_unregister(tracker, addr, size), TRK_OK);
        break;
    case 4:
        allow(trk_tracker_untrack(tracker, addr, size), TRK_E_UNTRACK);
        break;
    case 5:
        allow(trk_tracker_mark_gpu(tracker, addr, size), TRK_E_CONFLICT);
        break;
    case 6:
    case 7:
        (void)trk_tracker_fault(tracker, addr + race_random(thread, 4096), TRK_ACCESS_READ);
        break;
    case 8:
    case 9:
    case 10:
        (void)trk_tracker_fault(tracker, addr + race_random(thread, 4096), TRK_ACCESS_WRITE);
        break;
    default:
        transfer(tracker, addr, size, race_random(thread, 4));
    }
}

static void body(struct race_thread *thread)
{
    thread->random += seed * 1000003;
    for (uint32_t i = 0; i < steps_a_thread; i++)
        one_step(thread);
}

static void flush(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    transfer(((struct race *)context)->tracker, guest_addr, size_bytes, 2);
}

static unsigned less_watches(const struct trk_page_view *view, unsigned rights)
{
    if (view->read_watch)
        return TRK_RIGHTS_NONE;
    return view->write_watches > 0 ? rights & ~TRK_RIGHT_WRITE : rights;
}

static void check_page(const struct race *race, uint32_t page)
{
    uint64_t addr = RACE_BASE + page * PAGE, views[TRK_VIEWS_MAX];
    struct trk_page_view view = trk_pages_view(race->tracker, addr);
    unsigned asked = less_watches(&view, TRK_RIGHTS_RW);
    uint32_t count = view.registered ? trk_tracker_views(race->tracker, addr, views) : 0;
    for (uint32_t i = 0; i < count; i++) {
        struct trk_page_view other = trk_pages_view(race->tracker, views[i]);
        if (other.registered)
            asked = less_watches(&other, asked);
    }
    bool legal = !(view.cpu_dirty && view.gpu_dirty) && view.write_watches == !view.cpu_dirty &&
                 view.read_watch == view.gpu_dirty;
    if (!legal || race->host[page] != asked || view.host_rights != asked)
        race_fail("page %u: cpu %d gpu %d watches %u/%d, %u views, host %x/%x, asked %x", page,
                  view.cpu_dirty, view.gpu_dirty, view.write_watches, view.read_watch, count,
                  race->host[page], view.host_rights, asked);
}

static void one_round(struct race *race)
{
    race_open(race, TRK_INVALIDATE_VERIFY);
    struct trk_resource_layer layer = {flush, flush, race};
    if (trk_tracker_set_resource_layer(race->tracker, &layer) != TRK_OK)
        race_fail("a layer was refused");
    race_run(race, THREADS, body);
    for (uint32_t page = 0; page < RACE_PAGES; page++)
        check_page(race, page);
    race_close(race);
    seed++;
}

int main(void)
{
    const char *steps = getenv("TRK_STEPS"), *seed_text = getenv("TRK_SEED");
    uint64_t all = steps != NULL ? strtoull(steps, NULL, 0) : 160000;
    steps_a_thread = (uint32_t)(all / ROUNDS / THREADS);
    seed = seed_text != NULL ? strtoull(seed_text, NULL, 0) : 1;
    struct race *race = calloc(1, sizeof *race);
    for (uint32_t round = 0; round < ROUNDS; round++)
        one_round(race);
    uint32_t long_steps = steps_a_thread;
    steps_a_thread = SHORT_STEPS;
    for (uint32_t round = 0; round < SHORT_ROUNDS; round++)
        one_round(race);
    steps_a_thread = long_steps;
    free(race);
    printf("%u operations a thread, %u threads, %u rounds\n", steps_a_thread, THREADS, ROUNDS);
    return 0;
}
