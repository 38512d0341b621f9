/*
 * Goal: the tracker works on real memory: native stores and loads of many threads, served through
 * the fault handler by real mprotect calls, lose no byte on either side.
 * Method: guest memory is a memfd mapped at its guest addresses (plus the build's bias), with an
 * alias for the owner's copies; a plain array stands in for the GPU's copy. Single-threaded tables
 * count faults exactly; a storm of guests and one render thread checks every slot that it owns.
 *
 * Rules: [M-3] [M-20] [M-58].
 */
#define _GNU_SOURCE
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "track/address.h"
#include "track/fault.h"
#include "track/pages.h"

#if defined(__SANITIZE_THREAD__)
#define ARENA_MAPPABLE false /* the thread sanitizer's shadow lies there */
#else
#define ARENA_MAPPABLE true
#endif

#define PAGE         TRK_HOST_PAGE_BYTES
#define WINDOW_PAGES 32u
#define WINDOW_BYTES (WINDOW_PAGES * PAGE)
/* A region's edge lies in the middle of the window. */
#define LOW_WINDOW   (UINT64_C(0x200000000) + TRK_REGION_BYTES - WINDOW_BYTES / 2)
#define ARENA_WINDOW TRK_ARENA_FIRST

/* One window of guest memory under test. */
static struct {
    uint64_t guest_addr;
    unsigned char *guest;            /* where guests touch it */
    unsigned char *alias;            /* where the owner's copies go */
    unsigned char gpu[WINDOW_BYTES]; /* the GPU's copy; touched under region locks only */
    struct trk_backend *backend;
    struct trk_tracker *tracker;
    atomic_uint write_faults, read_faults;
} world;

static void copy_up(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    (void)context;
    uint64_t offset = guest_addr - world.guest_addr;
    memcpy(world.gpu + offset, world.alias + offset, size_bytes);
}

static void copy_down(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    (void)context;
    uint64_t offset = guest_addr - world.guest_addr;
    memcpy(world.alias + offset, world.gpu + offset, size_bytes);
}

static void on_flush(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    (void)context;
    struct trk_transfer drain = {.size = sizeof drain,
                                 .guest_addr = guest_addr,
                                 .size_bytes = size_bytes,
                                 .range = copy_down};
    if (trk_tracker_drain(world.tracker, &drain) != TRK_OK)
        abort();
}

static void on_read_back(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    (void)context;
    struct trk_transfer download = {.size = sizeof download,
                                    .guest_addr = guest_addr,
                                    .size_bytes = size_bytes,
                                    .clear = true,
                                    .range = copy_down};
    if (trk_tracker_download(world.tracker, &download) != TRK_OK)
        abort();
}

static enum trk_fault_outcome on_fault(void *tracker, uint64_t host_addr, enum trk_access access)
{
    enum trk_fault_outcome outcome = trk_fault_tracker(tracker, host_addr, access);
    if (outcome != TRK_FAULT_UNHANDLED)
        atomic_fetch_add(access == TRK_ACCESS_WRITE ? &world.write_faults : &world.read_faults, 1);
    return outcome;
}

static void world_open(uint64_t guest_addr)
{
    int64_t bias = trk_host_bias_default();
    int fd = memfd_create("guest", MFD_CLOEXEC);
    cr_assert(fd >= 0 && ftruncate(fd, (off_t)WINDOW_BYTES) == 0);
    world.guest_addr = guest_addr;
    void *wanted = (void *)(uintptr_t)(guest_addr + (uint64_t)bias);
    world.guest =
        mmap(wanted, WINDOW_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE, fd, 0);
    world.alias = mmap(NULL, WINDOW_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    cr_assert_eq(world.guest, wanted, "guest memory maps at its address");
    cr_assert_neq(world.alias, MAP_FAILED);

    struct trk_error error;
    cr_assert_eq(trk_backend_mprotect_create(&world.backend, bias, &error), TRK_OK, "%s",
                 error.text);
    struct trk_tracker_options options = trk_tracker_options_default();
    options.backend = world.backend;
    cr_assert_eq(trk_tracker_create(&world.tracker, &options, &error), TRK_OK, "%s", error.text);
    struct trk_resource_layer layer = {.flush = on_flush, .read_back = on_read_back};
    cr_assert_eq(trk_tracker_set_resource_layer(world.tracker, &layer), TRK_OK);
    cr_assert_eq(trk_tracker_register(world.tracker, guest_addr, WINDOW_BYTES), TRK_OK);
    cr_assert_eq(trk_fault_install(on_fault, world.tracker, &error), TRK_OK, "%s", error.text);
    cr_assert_eq(trk_fault_thread_enter(NULL), TRK_OK);
}

static void world_close(void)
{
    on_flush(NULL, world.guest_addr, WINDOW_BYTES);
    cr_expect_eq(trk_tracker_untrack(world.tracker, world.guest_addr, WINDOW_BYTES), TRK_OK);
    cr_expect_eq(trk_pages_live_watches(world.tracker), 0);
    cr_expect_eq(trk_fault_uninstall(NULL), TRK_OK);
    trk_fault_thread_leave();
    trk_tracker_destroy(world.tracker);
    trk_backend_destroy(world.backend);
    munmap(world.guest, WINDOW_BYTES);
    munmap(world.alias, WINDOW_BYTES);
}

static enum trk_status upload(uint32_t page, uint32_t pages, bool written,
                              trk_completion_fn *completion, void *context)
{
    struct trk_transfer request = {.size = sizeof request,
                                   .guest_addr = world.guest_addr + page * PAGE,
                                   .size_bytes = pages * PAGE,
                                   .written = written,
                                   .range = copy_up,
                                   .completion = completion,
                                   .context = context};
    return trk_tracker_upload(world.tracker, &request);
}

static unsigned faults(void)
{
    return atomic_load(&world.write_faults) + atomic_load(&world.read_faults);
}

static volatile unsigned char *at(uint32_t page, uint32_t byte)
{
    return world.guest + page * PAGE + byte;
}

/* One access of 8 bytes at any alignment. */
struct word {
    uint64_t value;
} __attribute__((packed));

static void one_thread(uint64_t window)
{
    world_open(window);
    uint32_t edge = WINDOW_PAGES / 2;

    *at(0, 5) = 1;
    cr_expect_eq(faults(), 0, "untouched memory is open");
    cr_assert_eq(upload(0, 2, false, NULL, NULL), TRK_OK);
    cr_expect_eq(world.gpu[5], 1);
    cr_expect_eq(*at(0, 5), 1);
    cr_expect_eq(faults(), 0, "a clean page can be read");
    *at(0, 5) = 2;
    *at(0, 6) = 2;
    cr_expect_eq(faults(), 1, "the first store faults, the second does not");
    cr_expect_eq(world.gpu[5], 1);
    cr_assert_eq(upload(0, 2, false, NULL, NULL), TRK_OK);
    cr_expect_eq(world.gpu[5], 2);

    cr_assert_eq(upload(edge - 1, 2, true, NULL, NULL), TRK_OK);
    memset(world.gpu + (edge - 1) * PAGE, 7, 2 * PAGE);
    cr_expect_eq(*at(edge - 1, 9), 7);
    cr_expect_eq(faults(), 2, "a load from a GPU page reads it back");
    cr_expect_eq(*at(edge - 1, 10), 7);
    *at(edge - 1, 10) = 8;
    cr_expect_eq(faults(), 3, "and the page is clean then");
    *at(edge, 100) = 9;
    cr_expect_eq(faults(), 4, "a store into a GPU page takes it");
    cr_expect_eq(*at(edge, 99), 7, "with the GPU's bytes around it");
    cr_expect_eq(*at(edge, 100), 9);

    cr_assert_eq(upload(2, 2, true, NULL, NULL), TRK_OK);
    memset(world.gpu + 2 * PAGE, 3, 2 * PAGE);
    volatile struct word *straddling = (volatile struct word *)at(2, PAGE - 4);
    straddling->value = UINT64_C(0x1111111122222222);
    cr_expect_eq(faults(), 6, "a store over two GPU pages faults in each");
    cr_expect_eq(*at(2, PAGE - 5), 3);
    cr_expect_eq(*at(2, PAGE - 4), 0x22);
    cr_expect_eq(*at(3, 3), 0x11);
    cr_expect_eq(*at(3, 4), 3);
    world_close();
}

Test(memory, one_thread_in_the_low_band)
{
    one_thread(LOW_WINDOW);
}

Test(memory, one_thread_in_the_arena)
{
    if (!ARENA_MAPPABLE)
        cr_skip_test("the thread sanitizer keeps its shadow in the arena");
    one_thread(ARENA_WINDOW);
}

/* ---- the storm ---- */

#define GUESTS 3u
/* The storm lasts until so many faults have been served. */
#define WRITE_FAULTS 4000u
#define READ_FAULTS  400u
#define SLOT_BYTES   64u
#define GPU_SLOT     (GUESTS * SLOT_BYTES)

static atomic_uint guests_running;
static uint64_t gpu_written[WINDOW_PAGES]; /* the render thread's: what it last wrote to a page */

static uint32_t next(uint64_t *random, uint32_t limit)
{
    *random = *random * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (uint32_t)((*random >> 33) * limit >> 31);
}

static volatile uint64_t *slot(uint32_t page, uint32_t slot_at)
{
    return (volatile uint64_t *)(void *)(world.guest + page * PAGE + slot_at);
}

static bool storm_lasts(void)
{
    return atomic_load(&world.write_faults) < WRITE_FAULTS ||
           atomic_load(&world.read_faults) < READ_FAULTS;
}

/* Store growing values into its own slot of random pages; what it loads must be its own last. */
static void *guest_main(void *argument)
{
    uintptr_t number = (uintptr_t)argument;
    uint64_t random = number + 1, mine[WINDOW_PAGES] = {0}, gpu_seen[WINDOW_PAGES] = {0};
    const char *problem = trk_fault_thread_enter(NULL) == TRK_OK ? NULL : "no alternate stack";
    while (storm_lasts() && problem == NULL) {
        uint32_t page = next(&random, WINDOW_PAGES);
        volatile uint64_t *own = slot(page, (uint32_t)number * SLOT_BYTES);
        if (next(&random, 2) == 0) {
            mine[page]++;
            *own = mine[page];
        }
        if (*own != mine[page])
            problem = "a store was lost";
        if (next(&random, 8) == 0) {
            uint64_t seen = *slot(page, GPU_SLOT);
            if (seen < gpu_seen[page])
                problem = "the GPU's bytes went back in time";
            gpu_seen[page] = seen;
        }
    }
    for (uint32_t page = 0; page < WINDOW_PAGES && problem == NULL; page++) {
        if (*slot(page, (uint32_t)number * SLOT_BYTES) != mine[page])
            problem = "a store was lost at the end";
    }
    trk_fault_thread_leave();
    atomic_fetch_sub(&guests_running, 1);
    return (void *)(uintptr_t)problem;
}

struct draw {
    uint32_t page, pages;
};

/* The GPU writes its slot of each page; under the written upload's locks. */
static void draw(void *context)
{
    const struct draw *what = context;
    for (uint32_t page = what->page; page < what->page + what->pages; page++) {
        gpu_written[page]++;
        memcpy(world.gpu + page * PAGE + GPU_SLOT, &gpu_written[page], sizeof gpu_written[page]);
    }
}

static bool render_step(uint64_t *random)
{
    struct draw what = {.page = next(random, WINDOW_PAGES)};
    uint32_t room = WINDOW_PAGES - what.page;
    what.pages = 1 + next(random, room < 6 ? room : 6);
    uint64_t guest_addr = world.guest_addr + what.page * PAGE;
    switch (next(random, 6)) {
    case 0:
        return upload(what.page, what.pages, true, draw, &what) == TRK_OK;
    case 1:
        on_read_back(NULL, guest_addr, what.pages * PAGE);
        return true;
    case 2:
        return trk_tracker_invalidate(world.tracker, guest_addr, what.pages * PAGE, on_flush,
                                      NULL) == TRK_OK;
    default:
        return upload(what.page, what.pages, false, NULL, NULL) == TRK_OK;
    }
}

Test(memory, storm)
{
    pthread_t guests[GUESTS];
    uint64_t random = 99;
    world_open(LOW_WINDOW);
    atomic_store(&guests_running, GUESTS);
    for (uintptr_t i = 0; i < GUESTS; i++)
        cr_assert_eq(pthread_create(&guests[i], NULL, guest_main, (void *)i), 0);
    while (atomic_load(&guests_running) > 0)
        cr_assert(render_step(&random), "a render operation was refused");
    for (size_t i = 0; i < GUESTS; i++) {
        void *problem = NULL;
        pthread_join(guests[i], &problem);
        cr_expect_null(problem, "guest %zu: %s", i, (const char *)problem);
    }

    /* After a last upload both sides hold the same bytes, and the GPU's own are its last. */
    cr_assert_eq(upload(0, WINDOW_PAGES, false, NULL, NULL), TRK_OK);
    on_read_back(NULL, world.guest_addr, WINDOW_BYTES);
    cr_expect_eq(memcmp(world.gpu, world.alias, WINDOW_BYTES), 0);
    for (uint32_t page = 0; page < WINDOW_PAGES; page++)
        cr_expect_eq(*slot(page, GPU_SLOT), gpu_written[page], "page %u", page);
    world_close();
}

Test(memory, kernel_accesses_get_an_error_and_no_fault)
{
    int fds[2];
    world_open(LOW_WINDOW);
    cr_assert_eq(pipe(fds), 0);
    cr_assert_eq(upload(0, 1, false, NULL, NULL), TRK_OK);
    cr_assert_eq(upload(1, 1, true, NULL, NULL), TRK_OK);
    cr_expect_eq(write(fds[1], (const void *)(uintptr_t)at(0, 0), 1), 1, "clean can be read");
    cr_expect_eq(read(fds[0], (void *)(uintptr_t)at(0, 0), 1), -1, "clean cannot be written");
    cr_expect_eq(write(fds[1], (const void *)(uintptr_t)at(1, 0), 1), -1, "GPU cannot be read");
    cr_expect_eq(faults(), 0);
    close(fds[0]);
    close(fds[1]);
    world_close();
}
