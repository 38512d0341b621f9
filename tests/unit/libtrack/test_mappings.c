/*
 * Goal: the mprotect backend's mappings are counted right, warned of before they are used up, and
 * at the limit, the budget's or the kernel's, no store is lost and none fails in the handler.
 * Method: random operations against a count from scratch; isolated pages armed until the limit;
 * then real stores into the middle of closed runs, whose pages must be the CPU's afterwards.
 *
 * Rules: [M-49], [M-50].
 */
#define _GNU_SOURCE
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "backends.h"
#include "track/address.h"
#include "track/fault.h"
#include "track/pages.h"
#include "track/tracker.h"

#define PAGE  TRK_HOST_PAGE_BYTES
#define GUEST UINT64_C(0x200000000)

static struct {
    unsigned char *guest, *own; /* the second view is never closed */
    uint64_t bytes;
    struct trk_backend *backend;
    struct trk_tracker *tracker;
    unsigned failures, warnings;
    uint64_t flushed_bytes; /* by the last flush or read-back */
    int64_t warned_at;      /* the count at the first warning */
} world;

static void on_failure(void *context, const struct trk_failure *failure)
{
    (void)context;
    (void)failure;
    world.failures++;
}

static void on_warning(void *context, const char *line)
{
    cr_assert_not_null(strstr(line, "vm.max_map_count"));
    cr_assert_null(strchr(line, '\n'));
    world.warnings++;
    world.warned_at = ((struct trk_mappings *)context)->count;
}

static void flush(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    (void)context;
    world.flushed_bytes = size_bytes;
    struct trk_transfer drain = {
        .size = sizeof drain, .guest_addr = guest_addr, .size_bytes = size_bytes};
    (void)!trk_tracker_drain(world.tracker, &drain);
}

static void read_back(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    (void)context;
    world.flushed_bytes = size_bytes;
    struct trk_transfer download = {
        .size = sizeof download, .guest_addr = guest_addr, .size_bytes = size_bytes, .clear = true};
    (void)!trk_tracker_download(world.tracker, &download);
}

/* False: this machine lacks the backend. */
static bool world_open_by(bool by_userfaultfd, uint32_t regions, uint32_t budget)
{
    int fd = memfd_create("guest", MFD_CLOEXEC);
    memset(&world, 0, sizeof world);
    world.bytes = regions * TRK_REGION_BYTES;
    cr_assert(fd >= 0 && ftruncate(fd, (off_t)world.bytes) == 0);
    world.guest = mmap(NULL, world.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    world.own = mmap(NULL, world.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    cr_assert(world.guest != MAP_FAILED && world.own != MAP_FAILED);
    int64_t bias = (int64_t)((uintptr_t)world.guest - GUEST);
    if (by_userfaultfd) {
        world.backend = backend_choice_open(BACKEND_UFFD_PLAIN, bias);
        if (world.backend == NULL)
            return false;
        cr_assert_eq(trk_backend_attach(world.backend, GUEST, world.bytes, NULL), TRK_OK);
        world.backend->mappings->budget = budget;
    } else {
        cr_assert_eq(trk_backend_mprotect_create(&world.backend, bias, NULL), TRK_OK);
        if (budget != 0)
            trk_backend_mprotect_budget(world.backend, budget);
    }
    world.backend->mappings->warn = on_warning;
    world.backend->mappings->warn_context = world.backend->mappings;
    struct trk_tracker_options options = trk_tracker_options_default();
    options.backend = world.backend;
    options.failure = on_failure;
    cr_assert_eq(trk_tracker_create(&world.tracker, &options, NULL), TRK_OK);
    struct trk_resource_layer layer = {.flush = flush, .read_back = read_back};
    cr_assert_eq(trk_tracker_set_resource_layer(world.tracker, &layer), TRK_OK);
    cr_assert_eq(trk_tracker_register(world.tracker, GUEST, world.bytes), TRK_OK);
    cr_assert_eq(trk_fault_install(trk_fault_tracker, world.tracker, NULL), TRK_OK);
    return true;
}

static void world_open(uint32_t regions, uint32_t budget)
{
    world_open_by(false, regions, budget);
}

static void world_close(void)
{
    cr_assert_eq(trk_fault_uninstall(NULL), TRK_OK);
    trk_tracker_destroy(world.tracker);
    trk_backend_destroy(world.backend);
    munmap(world.guest, world.bytes);
    munmap(world.own, world.bytes);
}

static enum trk_status upload(uint32_t page, uint32_t pages)
{
    struct trk_transfer transfer = {
        .size = sizeof transfer, .guest_addr = GUEST + page * PAGE, .size_bytes = pages * PAGE};
    return trk_tracker_upload(world.tracker, &transfer);
}

static void make_gpu(uint32_t page, uint32_t pages)
{
    struct trk_transfer transfer = {.size = sizeof transfer,
                                    .guest_addr = GUEST + page * PAGE,
                                    .size_bytes = pages * PAGE,
                                    .written = true};
    cr_assert_eq(trk_tracker_upload(world.tracker, &transfer), TRK_OK);
}

static bool is_cpu(uint32_t page)
{
    bool cpu = false;
    cr_assert_eq(trk_tracker_is_cpu(world.tracker, GUEST + page * PAGE, PAGE, &cpu), TRK_OK);
    return cpu;
}

/* A real store; afterwards the bytes are there and the next upload will take them. */
static void store(uint32_t page, unsigned char value)
{
    ((volatile unsigned char *)world.guest)[page * PAGE + 7] = value;
    cr_assert_eq(world.own[page * PAGE + 7], value, "page %u", page);
    cr_assert(is_cpu(page), "page %u", page);
}

/* Arm every other page from `page` on, until one is refused; gives that page. */
static uint32_t arm_isolated(uint32_t page, uint32_t end)
{
    for (; page < end; page += 2) {
        if (upload(page, 1) != TRK_OK)
            return page;
    }
    cr_assert_fail("no limit was met in %u pages", end);
    return end;
}

/* Arm every other page, from the first. */
static void arm_some(uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        cr_assert_eq(upload(2 * i, 1), TRK_OK);
}

static unsigned host_rights(uint32_t page)
{
    return trk_pages_view(world.tracker, GUEST + page * PAGE).host_rights;
}

/* Places where neighbours of one region differ, from scratch. */
static int64_t count_places(void)
{
    int64_t places = 0;
    for (uint32_t page = 1; page < world.bytes / PAGE; page++)
        places += page % TRK_REGION_PAGES != 0 && host_rights(page) != host_rights(page - 1);
    return places;
}

static void random_operation(uint32_t random, bool rights_too)
{
    uint32_t page = (random >> 8) % (2 * TRK_REGION_PAGES);
    uint32_t pages = 1 + (random >> 20) % (random & 1 ? 3 : 150);
    if (page + pages > 2 * TRK_REGION_PAGES)
        pages = 2 * TRK_REGION_PAGES - page;
    uint64_t first = GUEST + page * PAGE, bytes = pages * PAGE;
    struct trk_transfer transfer = {
        .size = sizeof transfer, .guest_addr = first, .size_bytes = bytes, .clear = true};
    static const unsigned rights[] = {TRK_RIGHTS_RW, TRK_RIGHT_READ, TRK_RIGHTS_NONE,
                                      TRK_RIGHT_READ | TRK_RIGHT_EXEC};
    switch ((random >> 4) % 8) {
    case 0:
        transfer.written = true;
        (void)!trk_tracker_upload(world.tracker, &transfer);
        break;
    case 1:
        (void)!trk_tracker_drain(world.tracker, &transfer);
        break;
    case 2:
        (void)!trk_tracker_download(world.tracker, &transfer);
        break;
    case 3:
        (void)!trk_tracker_invalidate(world.tracker, first, bytes, NULL, NULL);
        break;
    case 4:
        if (rights_too)
            (void)!trk_tracker_set_guest_protection(world.tracker, first, bytes,
                                                    rights[(random >> 16) % 4]);
        break;
    case 5:
        (void)!trk_pages_watch(world.tracker, first, bytes);
        break;
    case 6:
        (void)!trk_pages_unwatch(world.tracker, first, bytes);
        break;
    default:
        (void)!trk_tracker_upload(world.tracker, &transfer);
        break;
    }
}

/* What makes the core go its longer ways: views of one frame, rights of the guest's own. */
enum ways { PLAIN, RIGHTS, VIEWS, WAYS };

static void count_along(uint32_t budget, enum ways ways)
{
    world_open(2, budget);
    if (ways == VIEWS)
        cr_assert_eq(trk_tracker_join_views(world.tracker, GUEST + 20 * PAGE,
                                            GUEST + TRK_REGION_BYTES + 50 * PAGE, 600 * PAGE),
                     TRK_OK);
    uint32_t random = budget + (uint32_t)ways;
    for (int step = 0; step < 1500; step++) {
        random = random * 1664525 + 1013904223;
        random_operation(random ^ random >> 13, ways != PLAIN);
        if (step % 10 == 0)
            cr_assert_eq(world.backend->mappings->count, count_places(),
                         "ways %d, step %d: %ld, not %ld", ways, step,
                         (long)world.backend->mappings->count, (long)count_places());
    }
}

Test(mappings, counted)
{
    for (enum ways ways = PLAIN; ways < WAYS; ways++) {
        count_along(1u << 30, ways);
        cr_expect_gt(world.backend->mappings->count, 5);
        world_close();
    }
}

/* Refused calls go back without a trace; here the budget refuses, at every size. */
Test(mappings, refused_changes_are_not_counted)
{
    for (enum ways ways = PLAIN; ways < WAYS; ways++) {
        count_along(25, ways);
        cr_expect_gt(world.failures, 100);
        world_close();
    }
}

#define RUN_FIRST 100u
#define RUN_PAGES 800u

Test(mappings, at_a_budget_of_1000)
{
    world_open(4, 1000);
    cr_assert_eq(upload(RUN_FIRST, RUN_PAGES), TRK_OK);
    cr_expect_eq(world.backend->mappings->count, 2);
    uint32_t refused = arm_isolated(TRK_REGION_PAGES, 4 * TRK_REGION_PAGES);
    cr_expect_eq(world.failures, 1, "closing beyond the budget is refused");
    cr_expect_leq(world.backend->mappings->count, 1000);
    cr_expect_geq(world.backend->mappings->count, 999);
    cr_expect(is_cpu(refused), "and what was refused has not changed");
    cr_expect_eq(world.warnings, 1, "told once,");
    cr_expect_leq(world.warned_at, 900, "and before the budget is used up");
    cr_expect_eq(upload(RUN_FIRST + RUN_PAGES, 1), TRK_OK, "closing that takes none is not");

    /* The middle of the run: it takes two more, so the whole run becomes the CPU's. */
    store(RUN_FIRST + 300, 0xab);
    cr_expect(is_cpu(RUN_FIRST) && is_cpu(RUN_FIRST + RUN_PAGES), "the run is opened whole");
    cr_expect_not(is_cpu(TRK_REGION_PAGES), "and nothing else");
    for (uint32_t page = TRK_REGION_PAGES; page < refused; page += 2)
        store(page, (unsigned char)page);
    cr_expect_eq(world.backend->mappings->count, 0);
    cr_expect_eq(world.failures, 1);

    cr_assert_eq(upload(RUN_FIRST, RUN_PAGES), TRK_OK);
    store(RUN_FIRST + 300, 0xac);
    cr_expect_not(is_cpu(RUN_FIRST), "with room again a store opens its page alone");
    world_close();
}

/* By hand too: an emulator that is about to write. */
Test(mappings, invalidate_at_the_budget)
{
    world_open(1, 2);
    cr_assert_eq(upload(10, 100), TRK_OK);
    cr_assert_eq(trk_tracker_invalidate(world.tracker, GUEST + 50 * PAGE, PAGE, NULL, NULL),
                 TRK_OK);
    cr_expect(is_cpu(10) && is_cpu(109));
    cr_expect_eq(world.failures, 0);
    world_close();
}

/* [M-50]: 32 753 isolated pages and the kernel refuses; here nothing else does. */
Test(mappings, at_the_kernel_s_limit)
{
    world_open(80, UINT32_MAX);
    cr_assert_eq(upload(RUN_FIRST, RUN_PAGES), TRK_OK);
    uint32_t refused = arm_isolated(TRK_REGION_PAGES, 80 * TRK_REGION_PAGES);
    cr_expect_eq(world.failures, 1);
    cr_expect_gt(refused, 60000u, "the limit is met after %u isolated pages",
                 (refused - TRK_REGION_PAGES) / 2);
    store(RUN_FIRST + 300, 0xab);
    cr_expect(is_cpu(RUN_FIRST), "the kernel refused two more; the run is opened whole");
    for (uint32_t page = TRK_REGION_PAGES; page < refused; page += 2)
        store(page, (unsigned char)page);
    cr_expect_eq(world.failures, 1);
    world_close();
}

/* As it comes: the budget ends before the kernel does. */
Test(mappings, at_the_default_budget)
{
    world_open(80, 0);
    /* A run over regions' edges, which the kernel keeps as one mapping. */
    cr_assert_eq(upload(RUN_FIRST, 2 * TRK_REGION_PAGES), TRK_OK);
    uint32_t refused = arm_isolated(3 * TRK_REGION_PAGES, 80 * TRK_REGION_PAGES);
    cr_expect_eq(world.warnings, 1);
    store(TRK_REGION_PAGES + 300, 0xab);
    cr_expect(is_cpu(TRK_REGION_PAGES) && is_cpu(2 * TRK_REGION_PAGES - 1));
    cr_expect_not(is_cpu(TRK_REGION_PAGES - 1));
    store(refused - 2, 1);
    cr_expect_eq(world.failures, 1);
    world_close();
}

/* ---- pages that only the GPU has ---- */

enum limit { BY_BUDGET, BY_KERNEL };

/* Isolated pages up to the limit, and two runs of the GPU's. */
static uint32_t gpu_world(enum limit limit)
{
    world_open(80, limit == BY_BUDGET ? 500 : 0);
    make_gpu(RUN_FIRST, RUN_PAGES);
    make_gpu(TRK_REGION_PAGES + RUN_FIRST, RUN_PAGES);
    uint32_t refused = arm_isolated(2 * TRK_REGION_PAGES, 80 * TRK_REGION_PAGES);
    cr_expect_eq(world.failures, 1);
    return refused;
}

Test(mappings, gpu_pages_come_home_together)
{
    for (enum limit limit = BY_BUDGET; limit <= BY_KERNEL; limit++) {
        uint32_t refused = gpu_world(limit);
        store(RUN_FIRST + 300, 0xab);
        cr_expect_eq(world.flushed_bytes, RUN_PAGES * PAGE, "the flush is asked for the run");
        cr_expect(is_cpu(RUN_FIRST) && is_cpu(RUN_FIRST + RUN_PAGES - 1));
        uint32_t second = TRK_REGION_PAGES + RUN_FIRST;
        arm_isolated(refused, 80 * TRK_REGION_PAGES); /* opening a run made room */
        volatile unsigned char byte = world.guest[(second + 300) * PAGE];
        struct trk_page_view view = trk_pages_view(world.tracker, GUEST + second * PAGE);
        cr_expect(!view.gpu_dirty && !view.cpu_dirty, "a load makes the run CLEAN (%u)", byte);
        cr_expect_eq(world.failures, 2, "the two closings");
        world_close();
    }
}

Test(mappings, gpu_pages_come_home_alone_while_there_is_room)
{
    world_open(1, 10);
    make_gpu(RUN_FIRST, RUN_PAGES);
    store(RUN_FIRST + 300, 0xab);
    cr_expect_eq(world.flushed_bytes, PAGE);
    cr_expect_not(is_cpu(RUN_FIRST));
    cr_expect_eq(world.failures, 0);
    world_close();
}

/* Every page of a run of the GPU's, by loads, at the limit: each alone would take two mappings. */
Test(mappings, loads_of_many_gpu_pages)
{
    gpu_world(BY_KERNEL);
    uint32_t read = 0;
    for (uint32_t page = 0; page < 2 * TRK_REGION_PAGES; page += 2)
        read += ((volatile unsigned char *)world.guest)[page * PAGE];
    cr_expect_eq(read, 0);
    cr_expect_eq(world.failures, 1);
    world_close();
}

/* Without guard pages, userfaultfd takes mappings for pages closed to loads, and for them alone. */
Test(mappings, userfaultfd_without_guards)
{
    if (!world_open_by(true, 2, 10))
        return;
    arm_some(200);
    cr_expect_eq(world.backend->mappings->count, 0);
    store(2, 5);
    make_gpu(TRK_REGION_PAGES + RUN_FIRST, RUN_PAGES);
    for (uint32_t i = 0; i < 4; i++)
        make_gpu(TRK_REGION_PAGES + 2 + i * 4, 1);
    cr_expect_eq(world.backend->mappings->count, 10);
    cr_expect_eq(world.failures, 0);
    struct trk_transfer more = {.size = sizeof more,
                                .guest_addr = GUEST + (TRK_REGION_PAGES + 50) * PAGE,
                                .size_bytes = PAGE,
                                .written = true};
    cr_expect_eq(trk_tracker_upload(world.tracker, &more), TRK_E_PROTECT);
    cr_expect_eq(world.failures, 1);
    store(TRK_REGION_PAGES + RUN_FIRST + 300, 0xab);
    cr_expect(is_cpu(TRK_REGION_PAGES + RUN_FIRST), "the run comes home as a whole");
    store(4, 6);
    cr_expect_eq(world.failures, 1);
    world_close();
}
