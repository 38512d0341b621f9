/*
 * Goal: when the rest of the process has taken the host's mappings, of which the budget knows
 * nothing, accesses to pages that only the GPU has are served all the same, and their bytes are
 * there; with other views too.
 * Method: real stores and loads into the middle of closed memory, after every mapping that the
 * kernel gives has been taken; again after each access.
 *
 * Rules: [M-49], [M-50].
 */
#define _GNU_SOURCE
#include <criterion/criterion.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "backends.h"
#include "track/address.h"
#include "track/fault.h"
#include "track/pages.h"
#include "track/tracker.h"

#define PAGE        TRK_HOST_PAGE_BYTES
#define GUEST       UINT64_C(0x200000000)
#define GUEST_BYTES (4 * TRK_REGION_BYTES)
#define HALF_BYTES  (2 * TRK_REGION_BYTES)

static struct {
    unsigned char *guest, *own; /* the second view is never closed */
    struct trk_backend *backend;
    struct trk_tracker *tracker;
    unsigned failures, warnings;
} world;

static void on_failure(void *context, const struct trk_failure *failure)
{
    (void)context;
    (void)failure;
    world.failures++;
}

static void on_warning(void *context, const char *line)
{
    (void)context;
    (void)line;
    world.warnings++;
}

static void flush(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    (void)context;
    struct trk_transfer drain = {
        .size = sizeof drain, .guest_addr = guest_addr, .size_bytes = size_bytes};
    cr_expect_eq(trk_tracker_drain(world.tracker, &drain), TRK_OK);
}

static void read_back(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    (void)context;
    struct trk_transfer download = {
        .size = sizeof download, .guest_addr = guest_addr, .size_bytes = size_bytes, .clear = true};
    cr_expect_eq(trk_tracker_download(world.tracker, &download), TRK_OK);
}

static void make_gpu(uint64_t offset, uint64_t bytes)
{
    struct trk_transfer transfer = {.size = sizeof transfer,
                                    .guest_addr = GUEST + offset,
                                    .size_bytes = bytes,
                                    .written = true};
    cr_assert_eq(trk_tracker_upload(world.tracker, &transfer), TRK_OK);
}

static bool is_cpu(uint64_t page)
{
    bool cpu = false;
    cr_assert_eq(trk_tracker_is_cpu(world.tracker, GUEST + page * PAGE, PAGE, &cpu), TRK_OK);
    return cpu;
}

static void store(uint64_t page, unsigned char value)
{
    ((volatile unsigned char *)world.guest)[page * PAGE + 7] = value;
    cr_assert_eq(world.own[page * PAGE + 7], value, "page %lu", page);
    cr_assert(is_cpu(page), "page %lu", page);
}

/* ---- what the rest of the process does ---- */

#define TAKEN_PAGES 70000ul
#define TAKEN_MAX   8u

static struct {
    unsigned char *memory[TAKEN_MAX];
    unsigned count;
} taken;

static void take_mappings(void)
{
    unsigned char *memory = mmap(NULL, TAKEN_PAGES * PAGE, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    /* Later the host may have no mapping left for the memory itself: then none is to be taken. */
    if (memory == MAP_FAILED) {
        cr_assert_neq(taken.count, 0);
        return;
    }
    size_t page = 1;
    while (page < TAKEN_PAGES && mprotect(memory + page * PAGE, PAGE, PROT_READ) == 0)
        page += 2;
    cr_assert(page < TAKEN_PAGES && taken.count < TAKEN_MAX, "the kernel has no limit");
    taken.memory[taken.count++] = memory;
}

static void give_mappings(void)
{
    while (taken.count > 0)
        cr_assert_eq(munmap(taken.memory[--taken.count], TAKEN_PAGES * PAGE), 0);
}

/* ---- the cases ---- */

static const struct taken_case {
    const char *name;
    enum backend_choice backend;
    bool views;       /* regions 2 and 3 are views of 0 and 1 */
    bool views_owned; /* and the GPU's in their own right */
} cases[] = {
    {"mprotect", BACKEND_MPROTECT, false, false},
    {"userfaultfd without guards", BACKEND_UFFD_PLAIN, false, false},
    {"userfaultfd with guards", BACKEND_UFFD_GUARDS, false, false},
    {"a second view", BACKEND_MPROTECT, true, false},
    {"a second view, the GPU's too", BACKEND_MPROTECT, true, true},
};

/* Regions 0 and 1 are the GPU's, one mapping of the host's; false: no such backend here. */
static bool world_open(const struct taken_case *one)
{
    int fd = memfd_create("guest", MFD_CLOEXEC);
    memset(&world, 0, sizeof world);
    cr_assert(fd >= 0 && ftruncate(fd, (off_t)GUEST_BYTES) == 0);
    world.guest = mmap(NULL, GUEST_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    world.own = mmap(NULL, GUEST_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    cr_assert(world.guest != MAP_FAILED && world.own != MAP_FAILED);
    world.backend = backend_choice_open(one->backend, (int64_t)((uintptr_t)world.guest - GUEST));
    if (world.backend == NULL)
        return false;
    if (world.backend->mappings != NULL)
        world.backend->mappings->warn = on_warning;
    cr_assert_eq(trk_backend_attach(world.backend, GUEST, GUEST_BYTES, NULL), TRK_OK);
    struct trk_tracker_options options = trk_tracker_options_default();
    options.backend = world.backend;
    options.failure = on_failure;
    cr_assert_eq(trk_tracker_create(&world.tracker, &options, NULL), TRK_OK);
    struct trk_resource_layer layer = {.flush = flush, .read_back = read_back};
    cr_assert_eq(trk_tracker_set_resource_layer(world.tracker, &layer), TRK_OK);
    cr_assert_eq(trk_tracker_register(world.tracker, GUEST, GUEST_BYTES), TRK_OK);
    cr_assert_eq(trk_fault_install(trk_fault_tracker, world.tracker, NULL), TRK_OK);
    if (one->views)
        cr_assert_eq(trk_tracker_join_views(world.tracker, GUEST, GUEST + HALF_BYTES, HALF_BYTES),
                     TRK_OK);
    make_gpu(0, one->views_owned ? GUEST_BYTES : HALF_BYTES);
    take_mappings();
    return true;
}

static void world_close(void)
{
    give_mappings();
    cr_assert_eq(trk_fault_uninstall(NULL), TRK_OK);
    trk_tracker_destroy(world.tracker);
    trk_backend_destroy(world.backend);
    munmap(world.guest, GUEST_BYTES);
    munmap(world.own, GUEST_BYTES);
}

Test(mappings_taken, no_access_fails)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (!world_open(&cases[i]))
            continue;
        store(300, 0xab);
        take_mappings(); /* what was let go for it, too */
        store(100, 0xac);
        /* With guards a page takes mappings for a moment only: each comes home alone. */
        bool alone = cases[i].backend == BACKEND_UFFD_GUARDS;
        cr_expect_eq(is_cpu(0), !alone,
                     "%s: the host is known to be short, so the run comes home together",
                     cases[i].name);
        take_mappings();
        store(TRK_REGION_PAGES + 300, 0xad);
        take_mappings();
        volatile unsigned char byte = world.guest[(TRK_REGION_PAGES - 10) * PAGE];
        (void)byte;
        cr_expect_eq(world.failures, 0, "%s", cases[i].name);
        cr_expect_eq(world.warnings, !alone, "%s: it is said", cases[i].name);
        world_close();
    }
}

/* Mappings of the reserve come back when the pattern needs fewer. */
Test(mappings_taken, the_reserve_comes_back)
{
    cr_assert(world_open(&cases[0]));
    const struct trk_mappings *mappings = world.backend->mappings;
    store(300, 0xab);
    cr_expect_neq(mappings->reserve_out, 0);
    /* The run before it: one place fewer, and nobody takes its mapping. */
    store(100, 0xac);
    store(TRK_REGION_PAGES - 1, 0xad);
    store(TRK_REGION_PAGES + 1, 0xae);
    cr_expect_eq(mappings->reserve_out, 0);
    cr_expect_eq(mappings->count, 0);
    make_gpu(0, 500 * PAGE);
    store(300, 0xaf);
    cr_expect_not(is_cpu(299), "with room again a store opens its page alone");
    cr_expect_eq(world.failures, 0);
    world_close();
}
