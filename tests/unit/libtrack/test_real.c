/*
 * Goal: on real memory, whatever the backend, each access ends in the state that the model says,
 * and under threads that store while pages are uploaded, taken by the GPU and flushed, no byte is
 * lost.
 * Method: guest memory with a second view for the copies, the process's fault handler, a tracker
 * over each backend of this machine. The GPU is a copy of the memory.
 *
 * Rules: [M-47].
 */
#define _GNU_SOURCE
#include <criterion/criterion.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
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
#define PAGES 1536u /* one region and a half */
#define BYTES (PAGES * PAGE)

static struct {
    unsigned char *guest, *own, *gpu;
    struct trk_backend *backend;
    struct trk_tracker *tracker;
    atomic_uint failures;
} world;

/* Words, each copied whole: other threads store to the page meanwhile. */
static void copy(unsigned char *to, const unsigned char *from, uint64_t bytes)
{
    for (uint64_t i = 0; i < bytes; i += 8)
        __atomic_store_n(
            (uint64_t *)(void *)(to + i),
            __atomic_load_n((const uint64_t *)(const void *)(from + i), __ATOMIC_RELAXED),
            __ATOMIC_RELAXED);
}

static void copy_up(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    (void)context;
    copy(world.gpu + (guest_addr - GUEST), world.own + (guest_addr - GUEST), size_bytes);
}

static void copy_down(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    (void)context;
    copy(world.own + (guest_addr - GUEST), world.gpu + (guest_addr - GUEST), size_bytes);
}

static void flush(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    (void)context;
    struct trk_transfer drain = {sizeof drain, guest_addr, size_bytes, .range = copy_down};
    if (trk_tracker_drain(world.tracker, &drain) != TRK_OK)
        atomic_fetch_add(&world.failures, 1);
}

static void read_back(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    (void)context;
    struct trk_transfer download = {sizeof download, guest_addr, size_bytes, .clear = true,
                                    .range = copy_down};
    if (trk_tracker_download(world.tracker, &download) != TRK_OK)
        atomic_fetch_add(&world.failures, 1);
}

static void upload(uint32_t page, uint32_t pages, bool written)
{
    struct trk_transfer transfer = {sizeof transfer, GUEST + page * PAGE, pages * PAGE,
                                    .written = written, .range = copy_up};
    cr_assert_eq(trk_tracker_upload(world.tracker, &transfer), TRK_OK);
}

static void count_failure(void *context, const struct trk_failure *failure)
{
    (void)context;
    (void)failure;
    atomic_fetch_add(&world.failures, 1);
}

static unsigned char *map(int fd)
{
    void *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    cr_assert_neq(memory, MAP_FAILED);
    return memory;
}

/* False: this machine lacks the backend. */
static bool world_open(enum backend_choice choice)
{
    int fd = memfd_create("guest", MFD_CLOEXEC);
    cr_assert(fd >= 0 && ftruncate(fd, (off_t)BYTES) == 0);
    world.guest = map(fd);
    world.own = map(fd);
    close(fd);
    world.gpu = calloc(1, BYTES);
    atomic_store(&world.failures, 0);
    world.backend = backend_choice_open(choice, (int64_t)((uintptr_t)world.guest - GUEST));
    if (world.backend == NULL) {
        munmap(world.guest, BYTES);
        munmap(world.own, BYTES);
        free(world.gpu);
        return false;
    }
    cr_assert_eq(trk_backend_attach(world.backend, GUEST, BYTES, NULL), TRK_OK);
    struct trk_tracker_options options = trk_tracker_options_default();
    options.backend = world.backend;
    options.failure = count_failure;
    cr_assert_eq(trk_tracker_create(&world.tracker, &options, NULL), TRK_OK);
    struct trk_resource_layer layer = {.flush = flush, .read_back = read_back};
    cr_assert_eq(trk_tracker_set_resource_layer(world.tracker, &layer), TRK_OK);
    cr_assert_eq(trk_tracker_register(world.tracker, GUEST, BYTES), TRK_OK);
    cr_assert_eq(trk_fault_install(trk_fault_tracker, world.tracker, NULL), TRK_OK);
    return true;
}

static void world_close(void)
{
    cr_assert_eq(trk_fault_uninstall(NULL), TRK_OK);
    cr_assert_eq(trk_tracker_untrack(world.tracker, GUEST, BYTES), TRK_OK);
    trk_tracker_destroy(world.tracker);
    trk_backend_detach(world.backend, GUEST, BYTES);
    trk_backend_destroy(world.backend);
    munmap(world.guest, BYTES);
    munmap(world.own, BYTES);
    free(world.gpu);
}

/* ---- one access to a page in each state ---- */

enum state { CPU, CLEAN, GPU };

struct access_case {
    const char *name;
    enum state before;
    bool store;
    enum state after;
};

static const struct access_case access_cases[] = {
    {"load, CPU", CPU, false, CPU},       {"store, CPU", CPU, true, CPU},
    {"load, CLEAN", CLEAN, false, CLEAN}, {"store, CLEAN", CLEAN, true, CPU},
    {"load, GPU", GPU, false, CLEAN},     {"store, GPU", GPU, true, CPU},
};

static enum state state_of(uint32_t page)
{
    struct trk_page_view view = trk_pages_view(world.tracker, GUEST + page * PAGE);
    return view.cpu_dirty ? CPU : view.gpu_dirty ? GPU : CLEAN;
}

static void access_run(const struct access_case *c, const char *backend, uint32_t page)
{
    volatile unsigned char *byte = world.guest + page * PAGE + 100;
    *byte = 1;
    if (c->before != CPU)
        upload(page, 1, c->before == GPU);
    if (c->before == GPU)
        world.gpu[page * PAGE + 100] = 2;
    unsigned char expected = c->before == GPU ? 2 : 1;
    if (c->store)
        *byte = expected = (unsigned char)(*byte + 2);
    else
        cr_expect_eq(*byte, expected, "%s, %s", backend, c->name);
    cr_expect_eq(state_of(page), c->after, "%s, %s: state %d", backend, c->name, state_of(page));
    cr_expect_eq(world.own[page * PAGE + 100], expected, "%s, %s", backend, c->name);
    cr_expect_eq(state_of(page + 1), CPU, "%s, %s: the page behind", backend, c->name);
    flush(NULL, GUEST + page * PAGE, PAGE);
    cr_assert_eq(trk_tracker_untrack(world.tracker, GUEST + page * PAGE, PAGE), TRK_OK);
}

Test(real, accesses)
{
    FOR_BACKENDS(choice)
    {
        if (!world_open(choice))
            continue;
        for (size_t i = 0; i < sizeof access_cases / sizeof access_cases[0]; i++)
            access_run(&access_cases[i], backend_choice_name(choice), (uint32_t)i * 5);
        cr_expect_eq(atomic_load(&world.failures), 0);
        world_close();
    }
}

/* What the guest's own rights forbid is nobody's to serve: the former handler gets it. */
static atomic_uint chained;

static void open_again(int signal_number, siginfo_t *info, void *context)
{
    (void)signal_number;
    (void)context;
    atomic_fetch_add(&chained, 1);
    uint64_t page = ((uint64_t)(uintptr_t)info->si_addr - (uint64_t)(uintptr_t)world.guest) / PAGE;
    (void)!trk_tracker_set_guest_protection(world.tracker, GUEST + page * PAGE, PAGE,
                                            TRK_RIGHTS_RW);
}

Test(real, rights_of_the_guest_s_own)
{
    struct sigaction action = {.sa_sigaction = open_again, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigemptyset(&action.sa_mask);
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
    FOR_BACKENDS(choice)
    {
        if (!world_open(choice))
            continue;
        static const unsigned rights[] = {TRK_RIGHT_READ, TRK_RIGHTS_NONE,
                                          TRK_RIGHT_READ | TRK_RIGHT_EXEC};
        for (uint32_t i = 0; i < 3; i++) {
            atomic_store(&chained, 0);
            upload(i, 1, false);
            cr_assert_eq(
                trk_tracker_set_guest_protection(world.tracker, GUEST + i * PAGE, PAGE, rights[i]),
                TRK_OK);
            ((volatile unsigned char *)world.guest)[i * PAGE] = 7;
            cr_expect_eq(atomic_load(&chained), 1, "%s: %u", backend_choice_name(choice), i);
            cr_expect_eq(state_of(i), CPU, "the watch was kept, and served the store");
            cr_expect_eq(world.own[i * PAGE], 7);
        }
        world_close();
    }
}

/* ---- threads ---- */

#define STORERS 2u
#define ROUNDS  300u
#define AREA    64u /* pages under fire, over the regions' edge */
#define FIRST   (TRK_REGION_PAGES - AREA / 2)

static atomic_bool stop;

/* A thread's word in a page. */
static uint64_t *word_of(unsigned char *memory, uint32_t page, uint32_t thread)
{
    return (uint64_t *)(void *)(memory + (FIRST + page) * PAGE + thread * 8);
}

/* Stores to its own words, and reads back what it stored last. */
static void *store_away(void *number)
{
    uint32_t thread = (uint32_t)(uintptr_t)number;
    uint64_t last[AREA] = {0}, value = 0;
    uint32_t random = thread + 1;
    if (trk_fault_thread_enter(NULL) != TRK_OK)
        return (void *)1;
    while (!atomic_load(&stop)) {
        random = random * 1664525 + 1013904223;
        uint32_t page = (random >> 16) % AREA;
        if (__atomic_load_n(word_of(world.guest, page, thread), __ATOMIC_RELAXED) != last[page])
            return (void *)2;
        last[page] = ++value;
        __atomic_store_n(word_of(world.guest, page, thread), value, __ATOMIC_RELAXED);
    }
    for (uint32_t page = 0; page < AREA; page++) {
        if (__atomic_load_n(word_of(world.guest, page, thread), __ATOMIC_RELAXED) != last[page])
            return (void *)3;
    }
    return NULL;
}

/* The render thread: uploads, and pages that the GPU takes over and writes. */
static void render(void)
{
    uint32_t random = 77;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        random = random * 1664525 + 1013904223;
        uint32_t page = (random >> 16) % AREA, pages = 1 + (random >> 8) % (AREA - page);
        upload(FIRST + page, pages, round % 3 == 0);
        if (round % 8 == 0)
            flush(NULL, GUEST + (FIRST + page) * PAGE, PAGE);
    }
}

Test(real, no_store_is_lost)
{
    FOR_BACKENDS(choice)
    {
        pthread_t threads[STORERS];
        if (!world_open(choice))
            continue;
        atomic_store(&stop, false);
        for (uint32_t i = 0; i < STORERS; i++)
            cr_assert_eq(pthread_create(&threads[i], NULL, store_away, (void *)(uintptr_t)i), 0);
        render();
        atomic_store(&stop, true);
        for (uint32_t i = 0; i < STORERS; i++) {
            void *result = NULL;
            pthread_join(threads[i], &result);
            cr_expect_null(result, "%s: thread %u: %d", backend_choice_name(choice), i,
                           (int)(intptr_t)result);
        }
        cr_expect_eq(atomic_load(&world.failures), 0);
        flush(NULL, GUEST, BYTES);
        upload(0, PAGES, false);
        cr_expect_eq(memcmp(world.gpu, world.own, BYTES), 0, "%s: the GPU has each store",
                     backend_choice_name(choice));
        world_close();
    }
}
