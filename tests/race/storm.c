/*
 * Goal: whatever guests and owners do at once on real memory, through real faults, no byte is lost
 * on either side and every page ends in a legal state.
 * Method: each of four threads stores and loads its own slots of a few pages around a region's
 * edge, through two views of the same frames, and between that uploads, drains, invalidates,
 * tracks generations and watches pages at random. Each round has another policy or backend. Loads
 * are checked as they come, all slots and page states when a round has ended.
 *
 * Usage: race_storm [seconds [seed]]
 *
 * Rules: [M-8] [M-20] [M-58] [M-66] [M-74].
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "storm_world.h"

#define THREADS       4u
#define ROUND_SECONDS 1u

struct guest {
    uint32_t number;
    uint64_t random;
    uint64_t stored[STORM_PAGES];   /* last value of the own slot */
    uint64_t gpu_seen[STORM_PAGES]; /* newest GPU value that was loaded */
    uint32_t watches[STORM_SPARE_PAGES];
    uint64_t operations, loads;
};

static struct guest guests[THREADS];
static pthread_barrier_t start;
static atomic_bool stop;

static uint32_t below(struct guest *guest, uint32_t limit)
{
    guest->random = guest->random * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (uint32_t)((guest->random >> 33) * limit >> 31);
}

/* ---- what guests do ---- */

static volatile uint64_t *slot(struct guest *guest, uint32_t page, uint32_t number)
{
    unsigned char *view = below(guest, 3) == 0 ? storm.other : storm.guest;
    return (volatile uint64_t *)(view + page * STORM_PAGE) + number * STORM_SLOT_WORDS;
}

static void store(struct guest *guest, uint32_t page)
{
    guest->stored[page]++;
    *slot(guest, page, guest->number) = guest->stored[page];
}

static void load(struct guest *guest, uint32_t page)
{
    uint64_t own = *slot(guest, page, guest->number);
    if (own != guest->stored[page])
        storm_fail("thread %u loads %" PRIu64 " from page %u where it stored %" PRIu64,
                   guest->number, own, page, guest->stored[page]);
    uint64_t gpu = *slot(guest, page, STORM_GPU_SLOT);
    if (gpu < guest->gpu_seen[page])
        storm_fail("thread %u loads GPU value %" PRIu64 " from page %u after %" PRIu64,
                   guest->number, gpu, page, guest->gpu_seen[page]);
    guest->gpu_seen[page] = gpu;
    guest->loads++;
}

/* A sum that was taken while the page was armed moves with the next store. */
static void track_and_store(struct guest *guest, uint32_t page)
{
    uint64_t before, after;
    uint64_t guest_addr = STORM_BASE + page * STORM_PAGE;
    if (trk_generations_track(storm.tracker, guest_addr, STORM_PAGE, &before) != TRK_OK)
        storm_fail("tracking page %u was refused", page);
    store(guest, page);
    if (trk_generations_query(storm.tracker, guest_addr, STORM_PAGE, &after) != TRK_OK)
        storm_fail("a query of page %u was refused", page);
    if (storm.policy.generations ? before == 0 || after == before : before + after != 0)
        storm_fail("page %u: sum %" PRIx64 " before a store, %" PRIx64 " after", page, before,
                   after);
}

/* Watches of a further client, on pages that no guest touches: each gives back what it took. */
static void watch(struct guest *guest)
{
    uint32_t page = below(guest, STORM_SPARE_PAGES);
    uint64_t guest_addr = STORM_BASE + (STORM_PAGES + page) * STORM_PAGE;
    /* One each: with tracker pages of 64 KiB all lie on one another, and a page bears 127. */
    bool more = guest->watches[page] == 0;
    enum trk_status status = more ? trk_pages_watch(storm.tracker, guest_addr, STORM_PAGE)
                                  : trk_pages_unwatch(storm.tracker, guest_addr, STORM_PAGE);
    if (status != TRK_OK)
        storm_fail("a watch of page %u gives %s", page, trk_status_name(status));
    guest->watches[page] += more ? 1u : (uint32_t)-1;
}

static void give_watches_back(struct guest *guest)
{
    for (uint32_t page = 0; page < STORM_SPARE_PAGES; page++) {
        uint64_t guest_addr = STORM_BASE + (STORM_PAGES + page) * STORM_PAGE;
        for (; guest->watches[page] > 0; guest->watches[page]--) {
            if (trk_pages_unwatch(storm.tracker, guest_addr, STORM_PAGE) != TRK_OK)
                storm_fail("a watch of page %u cannot be given back", page);
        }
    }
}

/* ---- what owners do ---- */

static void allow(enum trk_status status, enum trk_status other, const char *what)
{
    if (status != TRK_OK && status != other)
        storm_fail("%s gives %s", what, trk_status_name(status));
}

static void own(struct guest *guest, uint64_t guest_addr, uint64_t size_bytes)
{
    bool any;
    switch (below(guest, 11)) {
    case 0:
    case 1:
        allow(storm_upload(guest_addr, size_bytes), TRK_OK, "upload");
        break;
    case 2:
    case 3:
        allow(storm_upload_written(guest_addr, size_bytes), TRK_OK, "written upload");
        break;
    case 4:
        allow(storm_download(guest_addr, size_bytes, below(guest, 2) == 0), TRK_OK, "download");
        break;
    case 5:
        allow(storm_drain(guest_addr, size_bytes), TRK_OK, "drain");
        break;
    case 6: /* pages taken anew eight times are rare, and no error of ours */
        allow(trk_tracker_invalidate(storm.tracker, guest_addr, size_bytes, storm_flush, NULL),
              TRK_E_LIVELOCK, "invalidate");
        break;
    case 7:
        allow(trk_tracker_mark_cpu(storm.tracker, guest_addr, size_bytes), TRK_E_CONFLICT,
              "mark_cpu");
        break;
    case 8:
        allow(trk_tracker_mark_gpu(storm.tracker, guest_addr, size_bytes), TRK_E_CONFLICT,
              "mark_gpu");
        break;
    case 9:
        allow(trk_tracker_untrack(storm.tracker, guest_addr, size_bytes), TRK_E_UNTRACK, "untrack");
        break;
    default:
        allow(trk_tracker_is_cpu(storm.tracker, guest_addr, size_bytes, &any), TRK_OK, "is_cpu");
        allow(trk_tracker_is_gpu(storm.tracker, guest_addr, size_bytes, &any), TRK_OK, "is_gpu");
    }
}

static void step(struct guest *guest)
{
    uint32_t page = below(guest, STORM_PAGES);
    uint32_t pages = 1 + below(guest, STORM_PAGES - page < 6 ? STORM_PAGES - page : 6);
    uint32_t inset = below(guest, 4) == 0 ? below(guest, (uint32_t)STORM_PAGE) : 0;
    guest->operations++;
    switch (below(guest, 8)) {
    case 0:
    case 1:
    case 2:
        store(guest, page);
        break;
    case 3:
    case 4:
        load(guest, page);
        break;
    case 5:
        if (below(guest, 2) == 0)
            track_and_store(guest, page);
        else
            watch(guest);
        break;
    default:
        own(guest, STORM_BASE + page * STORM_PAGE + inset, pages * STORM_PAGE - inset);
    }
}

static void *thread_main(void *argument)
{
    struct guest *guest = argument;
    if (trk_fault_thread_enter(NULL) != TRK_OK)
        storm_fail("no fault stack");
    pthread_barrier_wait(&start);
    while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
        for (uint32_t i = 0; i < 16; i++)
            step(guest);
    }
    give_watches_back(guest);
    trk_fault_thread_leave();
    return NULL;
}

/* ---- rounds ---- */

static struct trk_policy pick_policy(uint32_t round)
{
    static const uint32_t pages[] = {4096, 16384, 65536};
    struct trk_policy policy;
    if (trk_policy_preset("default", &policy) != TRK_OK)
        storm_fail("no default policy");
    /* Under strict a page that is taken anew is retained: no policy for a storm. */
    policy.invalidate = round % 2 ? TRK_INVALIDATE_PER_REGION : TRK_INVALIDATE_VERIFY;
    policy.download = round / 2 % 2 ? TRK_DOWNLOAD_ALL_REGIONS : TRK_DOWNLOAD_PER_REGION;
    policy.page_size_bytes = pages[round % 3];
    policy.fault_width_bytes = round / 3 % 2 ? 8 : 1;
    policy.generations = round % 4 != 3;
    return policy;
}

static void wait_until(uint32_t milliseconds)
{
    struct timespec rest = {milliseconds / 1000, milliseconds % 1000 * 1000000L};
    while (nanosleep(&rest, &rest) != 0)
        continue;
}

static void check_slots(void)
{
    for (uint32_t page = 0; page < STORM_PAGES; page++) {
        for (uint32_t i = 0; i < THREADS; i++) {
            uint64_t found = storm_slot(storm.alias, page, i);
            if (found != guests[i].stored[page])
                storm_fail("page %u: slot of thread %u holds %" PRIu64 ", not %" PRIu64, page, i,
                           found, guests[i].stored[page]);
        }
        uint64_t found = storm_slot(storm.alias, page, STORM_GPU_SLOT);
        if (found != storm.gpu_value[page])
            storm_fail("page %u: GPU slot holds %" PRIu64 ", not %" PRIu64, page, found,
                       storm.gpu_value[page]);
    }
}

static void round_run(uint32_t round, uint64_t seed, struct trk_backend *backend)
{
    pthread_t ids[THREADS];
    struct trk_policy policy = pick_policy(round);
    storm_open(&policy, backend);
    atomic_store(&stop, false);
    memset(guests, 0, sizeof guests);
    for (uint32_t i = 0; i < THREADS; i++) {
        guests[i].number = i;
        guests[i].random = seed * 1000003 + round * THREADS + i;
        if (pthread_create(&ids[i], NULL, thread_main, &guests[i]) != 0)
            storm_fail("no thread");
    }
    wait_until(ROUND_SECONDS * 1000);
    atomic_store(&stop, true);
    for (uint32_t i = 0; i < THREADS; i++)
        pthread_join(ids[i], NULL);
    storm_check_pages();
    storm_settle();
    check_slots();
    storm_close();
}

int main(int argc, char **argv)
{
    uint32_t seconds = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 0) : 5;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
    struct trk_backend *backends[BACKEND_CHOICES];
    uint32_t backend_count = 0;
    uint64_t operations = 0, loads = 0;
    FOR_BACKENDS(choice)
    {
        struct trk_backend *backend = backend_choice_open(choice, trk_host_bias_default());
        if (backend != NULL)
            backends[backend_count++] = backend;
    }
    pthread_barrier_init(&start, NULL, THREADS);
    fprintf(stderr, "again: %s %u %" PRIu64 "\n", argv[0], seconds, seed);
    for (uint32_t round = 0; round * ROUND_SECONDS < seconds; round++) {
        round_run(round, seed, backends[round % backend_count]);
        for (uint32_t i = 0; i < THREADS; i++) {
            operations += guests[i].operations;
            loads += guests[i].loads;
        }
    }
    pthread_barrier_destroy(&start);
    for (uint32_t i = 0; i < backend_count; i++)
        trk_backend_destroy(backends[i]);
    printf("%" PRIu64 " operations, %" PRIu64 " loads checked, %" PRIu64 " faults, %u backends\n",
           operations, loads, (uint64_t)atomic_load(&storm.faults), backend_count);
    return 0;
}
