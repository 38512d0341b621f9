/*
 * Goal: a harvest finds each page that was written since it was armed, once, whoever stores
 * meanwhile, and beside an mprotect tracker it shows a store that nobody reported.
 * Method: memory like the guest's, named patterns of stores; a thread that stores while harvests
 * are taken; a page opened behind the tracker's back.
 *
 * Rules: [M-48].
 */
#define _GNU_SOURCE
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "track/address.h"
#include "track/fault.h"
#include "track/harvest.h"
#include "track/pages.h"

#define PAGE  TRK_HOST_PAGE_BYTES
#define GUEST UINT64_C(0x200000000)
#define PAGES 2048u
#define BYTES (PAGES * PAGE)

static unsigned char *memory;
static struct trk_harvest *harvest;

/* False, and said by name, where the kernel lacks it. */
static bool open_harvest(void)
{
    int fd = memfd_create("guest", MFD_CLOEXEC);
    cr_assert(fd >= 0 && ftruncate(fd, (off_t)BYTES) == 0);
    memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    cr_assert_neq(memory, MAP_FAILED);
    struct trk_error error;
    enum trk_status status =
        trk_harvest_create(&harvest, (int64_t)((uintptr_t)memory - GUEST), &error);
    if (status == TRK_E_UNSUPPORTED) {
        cr_skip("%s", error.text);
        return false;
    }
    cr_assert_eq(status, TRK_OK, "%s", error.text);
    cr_assert_eq(trk_harvest_attach(harvest, GUEST, BYTES, &error), TRK_OK, "%s", error.text);
    return true;
}

static void close_harvest(void)
{
    trk_harvest_detach(harvest, GUEST, BYTES);
    trk_harvest_destroy(harvest);
    munmap(memory, BYTES);
}

/* What a harvest reported. */
struct seen {
    unsigned char page[PAGES];
    uint32_t runs, pages;
    uint64_t end_addr;
    bool ascending;
};

static void see(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    struct seen *seen = context;
    seen->ascending &= guest_addr > seen->end_addr; /* runs that touch would be one */
    seen->end_addr = guest_addr + size_bytes;
    seen->runs++;
    seen->pages += (uint32_t)(size_bytes / PAGE);
    memset(seen->page + (guest_addr - GUEST) / PAGE, 1, size_bytes / PAGE);
}

static struct seen take(uint32_t page, uint32_t pages)
{
    struct seen seen = {.ascending = true};
    uint64_t count = 0;
    struct trk_transfer what = {.size = sizeof what,
                                .guest_addr = GUEST + page * PAGE,
                                .size_bytes = pages * PAGE,
                                .range = see,
                                .context = &seen};
    cr_assert_eq(trk_harvest_take(harvest, &what, &count), TRK_OK);
    cr_assert_eq(count, seen.pages);
    cr_assert(seen.ascending);
    return seen;
}

static enum trk_status take_bytes(uint64_t guest_addr, uint64_t size_bytes)
{
    struct trk_transfer what = {
        .size = sizeof what, .guest_addr = guest_addr, .size_bytes = size_bytes};
    return trk_harvest_take(harvest, &what, NULL);
}

struct pattern {
    const char *name;
    uint32_t first, step, count;
    uint32_t runs;
};

static const struct pattern patterns[] = {
    {"none", 0, 1, 0, 0},
    {"first page", 0, 1, 1, 1},
    {"last page", PAGES - 1, 1, 1, 1},
    {"a run", 100, 1, 50, 1},
    {"every other page: more runs than a call reports", 0, 2, PAGES / 2, PAGES / 2},
    {"every page", 0, 1, PAGES, 1},
    {"few, far apart", 17, 500, 4, 4},
};

Test(harvest, patterns)
{
    if (!open_harvest())
        return;
    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++) {
        const struct pattern *p = &patterns[i];
        for (uint32_t k = 0; k < p->count; k++)
            memory[(p->first + k * p->step) * PAGE + k % PAGE]++;
        struct seen seen = take(0, PAGES);
        cr_expect_eq(seen.pages, p->count, "%s: %u pages", p->name, seen.pages);
        cr_expect_eq(seen.runs, p->runs, "%s: %u runs", p->name, seen.runs);
        for (uint32_t k = 0; k < p->count; k++)
            cr_assert(seen.page[p->first + k * p->step], "%s", p->name);
        cr_expect_eq(take(0, PAGES).pages, 0, "%s: armed again", p->name);
    }
    close_harvest();
}

Test(harvest, takes_a_part_and_leaves_the_rest)
{
    if (!open_harvest())
        return;
    memset(memory, 1, 20 * PAGE);
    cr_expect_eq(take(5, 10).pages, 10);
    cr_expect_eq(take(0, PAGES).pages, 10);
    volatile unsigned char byte = memory[30 * PAGE];
    cr_expect_eq(take(0, PAGES).pages, 0, "a load is no store (%u)", byte);
    cr_expect_eq(take_bytes(GUEST + 1, PAGE), TRK_E_ARGUMENT);
    cr_expect_eq(take_bytes(GUEST, 0), TRK_E_ARGUMENT);
    trk_harvest_detach(harvest, GUEST + 40 * PAGE, PAGE);
    cr_expect_eq(take_bytes(GUEST, BYTES), TRK_E_SYSTEM, "memory that is not attached");
    close_harvest();
}

Test(harvest, kernel_stores_are_noted)
{
    if (!open_harvest())
        return;
    int fds[2];
    cr_assert_eq(pipe(fds), 0);
    cr_assert_eq(write(fds[1], "abc", 3), 3);
    cr_assert_eq(read(fds[0], memory + 9 * PAGE, 3), 3);
    cr_expect_eq(take(0, PAGES).page[9], 1);
    close(fds[0]);
    close(fds[1]);
    close_harvest();
}

static atomic_bool stop;

static void *store_away(void *unused)
{
    for (uint32_t i = 1; !atomic_load(&stop); i++)
        __atomic_store_n((uint32_t *)(void *)(memory + i % 64 * PAGE), i, __ATOMIC_RELAXED);
    return unused;
}

static uint32_t word(const unsigned char *bytes)
{
    return __atomic_load_n((const uint32_t *)(const void *)bytes, __ATOMIC_RELAXED);
}

/* Each store is in some harvest taken after it: the copies made at harvests end up equal. */
Test(harvest, none_is_lost_under_stores)
{
    if (!open_harvest())
        return;
    uint32_t copies[64] = {0};
    pthread_t thread;
    cr_assert_eq(pthread_create(&thread, NULL, store_away, NULL), 0);
    for (int round = 0; round < 2000; round++) {
        if (round == 1999) {
            atomic_store(&stop, true);
            pthread_join(thread, NULL);
        }
        struct seen seen = take(0, 64);
        for (uint32_t page = 0; page < 64; page++) {
            if (seen.page[page])
                copies[page] = word(memory + page * PAGE);
        }
    }
    for (uint32_t page = 0; page < 64; page++)
        cr_expect_eq(copies[page], word(memory + page * PAGE), "page %u", page);
    close_harvest();
}

/* ---- the audit ---- */

Test(harvest, audit_beside_mprotect)
{
    if (!open_harvest())
        return;
    int64_t bias = (int64_t)((uintptr_t)memory - GUEST);
    struct trk_tracker_options options = trk_tracker_options_default();
    struct trk_tracker *tracker = NULL;
    cr_assert_eq(trk_backend_mprotect_create(&options.backend, bias, NULL), TRK_OK);
    cr_assert_eq(trk_tracker_create(&tracker, &options, NULL), TRK_OK);
    cr_assert_eq(trk_tracker_register(tracker, GUEST, BYTES), TRK_OK);
    cr_assert_eq(trk_fault_install(trk_fault_tracker, tracker, NULL), TRK_OK);
    struct trk_transfer all = {.size = sizeof all, .guest_addr = GUEST, .size_bytes = BYTES};
    cr_assert_eq(trk_tracker_upload(tracker, &all), TRK_OK);
    (void)take(0, PAGES);

    memory[3 * PAGE] = 1; /* faults, is served, and so reported */
    mprotect(memory + 7 * PAGE, PAGE, PROT_READ | PROT_WRITE);
    memory[7 * PAGE] = 1; /* somebody opened the page behind the tracker's back */
    struct seen seen = take(0, PAGES);
    uint32_t unreported = 0;
    for (uint32_t page = 0; page < PAGES; page++)
        unreported += seen.page[page] && !trk_pages_view(tracker, GUEST + page * PAGE).cpu_dirty;
    cr_expect_eq(seen.pages, 2);
    cr_expect_eq(unreported, 1, "page 7, and not page 3");

    cr_assert_eq(trk_fault_uninstall(NULL), TRK_OK);
    cr_assert_eq(trk_tracker_untrack(tracker, GUEST, BYTES), TRK_OK);
    trk_tracker_destroy(tracker);
    trk_backend_destroy(options.backend);
    close_harvest();
}

Test(harvest, memory_belongs_to_one)
{
    if (!open_harvest())
        return;
    struct trk_harvest *second = NULL;
    struct trk_error error;
    cr_assert_eq(trk_harvest_create(&second, (int64_t)((uintptr_t)memory - GUEST), NULL), TRK_OK);
    cr_expect_eq(trk_harvest_attach(second, GUEST, PAGE, &error), TRK_E_EXISTS);
    cr_expect_eq(trk_harvest_attach(second, GUEST + 8, PAGE, &error), TRK_E_ARGUMENT);
    cr_expect_eq(trk_harvest_create(&second, 7, &error), TRK_E_ARGUMENT);
    trk_harvest_destroy(second);
    trk_harvest_destroy(NULL);
    close_harvest();
}
