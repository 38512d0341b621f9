/*
 * Goal: what a script cannot say of generations: the owner's copy, calls from callbacks, arguments,
 * the first guest page of all, and real stores through the process's fault handler.
 * Method: named tests; real memory with the mprotect backend for the last.
 */
#define _GNU_SOURCE
#include <criterion/criterion.h>
#include <string.h>
#include <sys/mman.h>

#include "track/fault.h"
#include "track/generations.h"
#include "track/hle.h"
#include "track/pages.h"

#define BASE UINT64_C(0x200010000)
#define PAGE TRK_HOST_PAGE_BYTES
#define SIZE (4 * TRK_GUEST_PAGE_BYTES)

static struct trk_backend *backend;
static struct trk_tracker *tracker;
static struct trk_failure failure;

static void on_failure(void *context, const struct trk_failure *given)
{
    (void)context;
    failure = *given;
}

static void open_with(struct trk_backend *chosen, bool generations)
{
    backend = chosen;
    struct trk_tracker_options options = trk_tracker_options_default();
    options.backend = backend;
    options.policy.generations = generations;
    options.failure = on_failure;
    failure = (struct trk_failure){0};
    cr_assert_eq(trk_tracker_create(&tracker, &options, NULL), TRK_OK);
}

static void open_simulated(bool generations)
{
    struct trk_backend *simulated;
    cr_assert_eq(trk_backend_simulated_create(&simulated, NULL), TRK_OK);
    open_with(simulated, generations);
}

static void close_all(void)
{
    trk_tracker_destroy(tracker);
    trk_backend_destroy(backend);
}

static uint64_t sum_of(uint64_t guest_addr, uint64_t size_bytes)
{
    uint64_t sum = 1;
    cr_assert_eq(trk_generations_query(tracker, guest_addr, size_bytes, &sum), TRK_OK);
    return sum;
}

/* ---- the owner's copy ------------------------------------------------------------------------ */

struct copy_case {
    const char *name;
    bool generations;
    uint64_t size_bytes;
    enum trk_access disturb; /* EXECUTE: nothing */
    bool cacheable;
};

static const struct copy_case copy_cases[] = {
    {"held still", true, SIZE, TRK_ACCESS_EXECUTE, true},
    {"stored to meanwhile", true, SIZE, TRK_ACCESS_WRITE, false},
    {"switched off", false, SIZE, TRK_ACCESS_EXECUTE, false},
    {"empty", true, 0, TRK_ACCESS_EXECUTE, false},
};

struct copying {
    const struct copy_case *now;
    int calls;
};

static void on_copy(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    struct copying *copying = context;
    copying->calls++;
    cr_expect_eq(guest_addr, BASE);
    cr_expect_eq(size_bytes, copying->now->size_bytes);
    if (copying->now->disturb == TRK_ACCESS_WRITE)
        cr_expect_eq(trk_tracker_fault(tracker, BASE + SIZE - 1, TRK_ACCESS_WRITE),
                     TRK_FAULT_SERVED);
}

Test(generations_calls, copy)
{
    for (size_t i = 0; i < sizeof copy_cases / sizeof copy_cases[0]; i++) {
        struct copying copying = {&copy_cases[i], 0};
        open_simulated(copying.now->generations);
        struct trk_generations_copy copy = {.size = sizeof copy,
                                            .guest_addr = BASE,
                                            .size_bytes = copying.now->size_bytes,
                                            .copy = on_copy,
                                            .context = &copying};
        cr_expect_eq(trk_generations_copy(tracker, &copy), TRK_OK, "%s", copying.now->name);
        cr_expect_eq(copying.calls, 1, "%s", copying.now->name);
        cr_expect_eq(copy.cacheable, copying.now->cacheable, "%s", copying.now->name);
        if (copying.now->cacheable)
            cr_expect_eq(copy.generation, sum_of(BASE, SIZE), "%s", copying.now->name);
        close_all();
    }
}

Test(generations_calls, copy_of_what_cannot_be_tracked)
{
    struct copying copying = {&copy_cases[0], 0};
    open_simulated(true);
    struct trk_generations_copy copy = {.size = sizeof copy,
                                        .guest_addr = BASE,
                                        .size_bytes = SIZE,
                                        .copy = on_copy,
                                        .context = &copying};
    cr_assert_eq(trk_tracker_set_guest_protection(tracker, BASE, PAGE, TRK_RIGHTS_NONE), TRK_OK);
    cr_expect_eq(trk_generations_copy(tracker, &copy), TRK_E_ARGUMENT);
    copy.size--;
    cr_assert_eq(trk_tracker_set_guest_protection(tracker, BASE, PAGE, TRK_RIGHTS_RW), TRK_OK);
    cr_expect_eq(trk_generations_copy(tracker, &copy), TRK_E_ARGUMENT);
    copy.size++;
    copy.copy = NULL;
    cr_expect_eq(trk_generations_copy(tracker, &copy), TRK_E_ARGUMENT);
    cr_expect_eq(copying.calls, 0);
    cr_expect_eq(failure.failure_class, TRK_OK, "no failure of the model");
    close_all();
}

/* ---- callbacks and arguments ----------------------------------------------------------------- */

static void on_completion(void *context)
{
    (void)context;
    uint64_t sum = 1;
    bool written = true;
    struct trk_hle_write write = {
        .size = sizeof write, .guest_addr = BASE, .size_bytes = 8, .write = on_copy};
    struct trk_generations_view view = {BASE, PAGE, 0, TRK_RIGHTS_RW};
    cr_expect_eq(trk_generations_track(tracker, BASE, 1, &sum), TRK_E_REENTRY);
    cr_expect_eq(sum, 0);
    cr_expect_eq(trk_generations_query(tracker, BASE, 1, &sum), TRK_E_REENTRY);
    cr_expect_eq(trk_generations_notify(tracker, BASE, 1), TRK_E_REENTRY);
    cr_expect_eq(trk_generations_map(tracker, &view, NULL), TRK_E_REENTRY);
    cr_expect_eq(failure.op, TRK_OP_GEN_MAP);
    cr_expect_eq(trk_tracker_hle_write(tracker, &write, &written), TRK_E_REENTRY);
    cr_expect_not(written);
}

Test(generations_calls, upload_callbacks_are_refused)
{
    open_simulated(true);
    struct trk_transfer upload = {
        .size = sizeof upload, .guest_addr = BASE, .size_bytes = PAGE, .completion = on_completion};
    cr_assert_eq(trk_tracker_upload(tracker, &upload), TRK_OK);
    cr_expect_eq(failure.failure_class, TRK_E_REENTRY);
    cr_expect_eq(sum_of(BASE, 1), 0);
    cr_assert_eq(trk_tracker_untrack(tracker, BASE, PAGE), TRK_OK);
    close_all();
}

static void on_range(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    (void)size_bytes;
    uint64_t *sum = context;
    cr_expect_eq(trk_generations_track(tracker, guest_addr, PAGE, sum), TRK_OK);
    cr_expect_neq(*sum, 0);
}

/* The order of locks is regions, then generations: a download's callback may ask. */
Test(generations_calls, under_a_regions_lock)
{
    open_simulated(true);
    uint64_t sum = 0;
    struct trk_transfer upload = {
        .size = sizeof upload, .guest_addr = BASE, .size_bytes = PAGE, .written = true};
    cr_assert_eq(trk_tracker_upload(tracker, &upload), TRK_OK);
    struct trk_transfer drain = {.size = sizeof drain,
                                 .guest_addr = BASE,
                                 .size_bytes = PAGE,
                                 .range = on_range,
                                 .context = &sum};
    cr_assert_eq(trk_tracker_drain(tracker, &drain), TRK_OK);
    cr_expect_eq(sum_of(BASE, PAGE), sum);
    cr_expect_eq(trk_pages_view(tracker, BASE).host_rights, TRK_RIGHT_READ);
    close_all();
}

/* The first generation that a tracker gives is 1 for any page. */
Test(generations_calls, sums_are_of_pages_and_generations)
{
    static const uint64_t places[] = {BASE, BASE, BASE + TRK_GUEST_PAGE_BYTES};
    uint64_t sums[3] = {0};
    for (int i = 0; i < 3; i++) {
        open_simulated(true);
        cr_assert_eq(trk_generations_track(tracker, places[i], 1, &sums[i]), TRK_OK);
        close_all();
    }
    cr_expect_eq(sums[0], sums[1]);
    cr_expect_neq(sums[0], sums[2]);
}

static int lowest(void *context, uint64_t guest_addr, uint64_t size_bytes, unsigned rights)
{
    (void)size_bytes;
    (void)rights;
    uint64_t *seen = context;
    *seen = guest_addr < *seen ? guest_addr : *seen;
    return 0;
}

Test(generations_calls, page_zero_is_never_armed)
{
    open_simulated(true);
    uint64_t sum = 0, seen = UINT64_MAX;
    trk_backend_simulated_decide(backend, lowest, &seen);
    cr_assert_eq(trk_generations_track(tracker, PAGE, PAGE, &sum), TRK_OK);
    cr_expect_neq(sum, 0);
    cr_expect_eq(trk_pages_view(tracker, PAGE).host_rights, TRK_RIGHT_READ);
    cr_expect_eq(seen, PAGE);
    cr_assert_eq(trk_generations_track(tracker, TRK_ARENA_FIRST, PAGE, &sum), TRK_OK);
    cr_assert_eq(trk_generations_track(tracker, TRK_ARENA_END - 1, 1, &sum), TRK_OK);
    cr_assert_eq(trk_generations_track(tracker, TRK_LOW_END - 1, 1, &sum), TRK_OK);
    cr_expect_eq(trk_pages_view(tracker, TRK_ARENA_END - 1).host_rights, TRK_RIGHT_READ);
    close_all();
}

/* The host refuses to open one page of an armed run, as Linux does at its limit of mappings. */
Test(generations_calls, out_of_mappings)
{
    struct trk_mappings mappings = {.budget = INT64_MAX};
    open_simulated(true);
    uint64_t all = 0, apart = 0, last = 0;
    cr_assert_eq(trk_generations_track(tracker, BASE, SIZE - TRK_GUEST_PAGE_BYTES, &all), TRK_OK);
    cr_assert_eq(trk_generations_track(tracker, BASE + SIZE, 1, &apart), TRK_OK);
    last = sum_of(BASE + SIZE - 2 * TRK_GUEST_PAGE_BYTES, 1);
    trk_backend_simulated_fail(backend, 1);
    cr_expect_eq(trk_tracker_fault(tracker, BASE, TRK_ACCESS_WRITE), TRK_FAULT_UNHANDLED);
    cr_expect_eq(failure.failure_class, TRK_E_PROTECT);
    cr_expect_eq(sum_of(BASE, SIZE - TRK_GUEST_PAGE_BYTES), all);
    backend->mappings = &mappings; /* now the host is known to have a limit */
    trk_backend_simulated_fail(backend, 1);
    cr_expect_eq(trk_tracker_fault(tracker, BASE + PAGE, TRK_ACCESS_WRITE), TRK_FAULT_SERVED);
    cr_expect_neq(sum_of(BASE, 1), 0);
    cr_expect_neq(sum_of(BASE + SIZE - 2 * TRK_GUEST_PAGE_BYTES, 1), last, "let go beside it");
    cr_expect_not(trk_pages_view(tracker, BASE + SIZE - 2 * TRK_GUEST_PAGE_BYTES).armed);
    cr_expect_eq(sum_of(BASE + SIZE, 1), apart, "not armed beside it");
    cr_expect(trk_pages_view(tracker, BASE + SIZE).armed);
    backend->mappings = NULL;
    close_all();
}

Test(generations_calls, arguments)
{
    open_simulated(true);
    bool written = true;
    struct trk_hle_write write = {.size = sizeof write, .guest_addr = BASE, .size_bytes = 8};
    cr_expect_eq(trk_tracker_hle_write(tracker, &write, &written), TRK_E_ARGUMENT);
    cr_expect_not(written);
    write.write = on_copy;
    write.size++;
    cr_expect_eq(trk_tracker_hle_write(tracker, &write, &written), TRK_E_ARGUMENT);
    struct trk_generations_view view = {BASE, PAGE, 0, 8};
    cr_expect_eq(trk_generations_map(tracker, &view, NULL), TRK_E_ARGUMENT);
    close_all();
}

/* ---- real stores ----------------------------------------------------------------------------- */

static volatile unsigned char *memory;

static void write_bytes(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    (void)context;
    memset((void *)(uintptr_t)(memory + (guest_addr - BASE)), 9, size_bytes);
}

Test(generations_calls, real_stores)
{
    struct trk_backend *mprotecting;
    cr_assert_eq(trk_backend_mprotect_create(&mprotecting, trk_host_bias_default(), NULL), TRK_OK);
    open_with(mprotecting, true);
    void *wanted = (void *)(uintptr_t)(BASE + (uint64_t)mprotecting->host_bias_bytes);
    memory = mmap(wanted, SIZE, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    cr_assert_eq((void *)(uintptr_t)memory, wanted);
    cr_assert_eq(trk_fault_install(trk_fault_tracker, tracker, NULL), TRK_OK);
    uint64_t first = 0;
    cr_assert_eq(trk_generations_track(tracker, BASE, SIZE, &first), TRK_OK);
    cr_expect_eq(memory[5], 0);
    cr_expect_eq(sum_of(BASE, SIZE), first);
    memory[TRK_GUEST_PAGE_BYTES + 7] = 3; /* a fault */
    uint64_t second = sum_of(BASE, SIZE);
    cr_expect_neq(second, first);
    memory[TRK_GUEST_PAGE_BYTES + PAGE] = 4; /* none */
    cr_expect_eq(sum_of(BASE, SIZE), second);
    cr_expect_eq(sum_of(BASE, 1) != 0 && memory[TRK_GUEST_PAGE_BYTES + 7] == 3, true);
    struct trk_hle_write write = {
        .size = sizeof write, .guest_addr = BASE, .size_bytes = SIZE, .write = write_bytes};
    bool written = false;
    cr_assert_eq(trk_tracker_hle_write(tracker, &write, &written), TRK_OK);
    cr_expect(written);
    cr_expect_eq(memory[SIZE - 1], 9);
    cr_expect_neq(sum_of(BASE, SIZE), second);
    cr_assert_eq(trk_fault_uninstall(NULL), TRK_OK);
    munmap(wanted, SIZE);
    close_all();
}
