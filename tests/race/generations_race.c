/*
 * Goal: whoever keeps a copy under a sum never believes in old bytes: when the sum is still the
 * same, every store that had retired before the question is in the copy. And events order all
 * holds. Method: real memory and real faults, with threads that store, that write as the emulator
 * and that take rights away and give them back, against threads that copy and ask; then random
 * operations on a host that remembers. TRK_STEPS and TRK_SEED make it longer or other.
 *
 * Rules: [M-67] [M-71].
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "race_support.h"
#include "track/fault.h"
#include "track/generations.h"
#include "track/hle.h"

#define PAGES       3u /* guest pages that are fought over */
#define MEMORY_SIZE (PAGES * TRK_GUEST_PAGE_BYTES)
#define OWNERS      2u
#define STORERS     2u
#define WRITER      (OWNERS + STORERS)
#define GUEST       (WRITER + 1)
#define THREADS     (GUEST + 1)

static uint32_t steps_a_thread;
static uint64_t seed;

static void must(enum trk_status status, const char *what)
{
    if (status != TRK_OK)
        race_fail("%s gives %s", what, trk_status_name(status));
}

/* ---- real memory ----------------------------------------------------------------------------- */

static struct trk_tracker *tracker;
static unsigned char *memory;
/* Per thread and guest page: the value whose store has retired. */
static uint64_t retired[THREADS][PAGES];
static uint64_t hits, copies;

/* A thread's word in a guest page: each in a page of its own. */
static uint64_t *slot(uint32_t thread, uint32_t page)
{
    return (uint64_t *)(void *)(memory + page * TRK_GUEST_PAGE_BYTES +
                                (thread % 4) * TRK_HOST_PAGE_BYTES + thread * 64);
}

static void store(uint32_t thread, uint32_t page, uint64_t value)
{
    __atomic_store_n(slot(thread, page), value, __ATOMIC_RELAXED);
    __atomic_store_n(&retired[thread][page], value, __ATOMIC_RELEASE);
}

/* All go on until so many copies were made: without stores there would be few. */
static bool over(void)
{
    return __atomic_load_n(&copies, __ATOMIC_RELAXED) >= steps_a_thread;
}

static void storer(struct race_thread *thread)
{
    for (uint64_t i = 1; !over(); i++)
        store(thread->number, race_random(thread, PAGES), i);
}

struct writing {
    uint32_t thread, page;
    uint64_t value;
};

static void on_write(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    const struct writing *writing = context;
    (void)guest_addr;
    (void)size_bytes;
    store(writing->thread, writing->page, writing->value);
}

static void writer(struct race_thread *thread)
{
    for (uint64_t i = 1; !over(); i++) {
        struct writing writing = {thread->number, race_random(thread, PAGES), i};
        struct trk_hle_write write = {
            .size = sizeof write,
            .guest_addr = RACE_BASE + writing.page * TRK_GUEST_PAGE_BYTES,
            .size_bytes = TRK_GUEST_PAGE_BYTES,
            .write = on_write,
            .context = &writing,
        };
        bool written = false;
        must(trk_tracker_hle_write(tracker, &write, &written), "hle_write");
        if (!written)
            race_fail("a write was denied");
    }
}

static void guest(struct race_thread *thread)
{
    while (!over()) {
        must(trk_tracker_set_guest_protection(
                 tracker, RACE_BASE + race_random(thread, PAGES) * TRK_GUEST_PAGE_BYTES,
                 TRK_HOST_PAGE_BYTES, TRK_RIGHTS_RW),
             "guest rights");
        sched_yield(); /* what it forgets is not found good */
    }
}

struct cached {
    uint64_t sum; /* 0: nothing is kept */
    uint64_t values[THREADS];
    uint32_t page;
};

static void on_copy(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    struct cached *cached = context;
    (void)guest_addr;
    (void)size_bytes;
    for (uint32_t i = 0; i < THREADS; i++)
        cached->values[i] = __atomic_load_n(slot(i, cached->page), __ATOMIC_RELAXED);
}

/* Whether the kept copy is still good; if the tracker says so, it must be. */
static bool ask(const struct cached *cached)
{
    uint64_t before[THREADS], sum = 0;
    for (uint32_t i = 0; i < THREADS; i++)
        before[i] = __atomic_load_n(&retired[i][cached->page], __ATOMIC_ACQUIRE);
    must(trk_generations_query(tracker, RACE_BASE + cached->page * TRK_GUEST_PAGE_BYTES,
                               TRK_GUEST_PAGE_BYTES, &sum),
         "query");
    if (cached->sum == 0 || sum != cached->sum)
        return false;
    for (uint32_t i = 0; i < THREADS; i++) {
        if (cached->values[i] < before[i])
            race_fail("guest page %u: the copy has %llu of thread %u, which had stored %llu",
                      cached->page, (unsigned long long)cached->values[i], i,
                      (unsigned long long)before[i]);
    }
    return true;
}

static void owner(struct race_thread *thread)
{
    struct cached kept[PAGES];
    memset(kept, 0, sizeof kept);
    while (!over()) {
        struct cached *cached = &kept[race_random(thread, PAGES)];
        cached->page = (uint32_t)(cached - kept);
        if (ask(cached)) {
            __atomic_fetch_add(&hits, 1, __ATOMIC_RELAXED);
            sched_yield(); /* nothing is new before somebody has stored */
            continue;
        }
        struct trk_generations_copy copy = {
            .size = sizeof copy,
            .guest_addr = RACE_BASE + cached->page * TRK_GUEST_PAGE_BYTES,
            .size_bytes = TRK_GUEST_PAGE_BYTES,
            .copy = on_copy,
            .context = cached,
        };
        must(trk_generations_copy(tracker, &copy), "copy");
        cached->sum = copy.cacheable ? copy.generation : 0;
        __atomic_fetch_add(&copies, 1, __ATOMIC_RELAXED);
    }
}

static void real_body(struct race_thread *thread)
{
    thread->random += seed * 1000003;
    if (thread->number < OWNERS) {
        owner(thread);
        return;
    }
    if (thread->number < WRITER)
        storer(thread);
    else if (thread->number == WRITER)
        writer(thread);
    else
        guest(thread);
}

static void on_failure(void *context, const struct trk_failure *failure)
{
    (void)context;
    race_fail("failure: %s", failure->text);
}

static void run_real(struct race *race)
{
    struct trk_backend *backend;
    must(trk_backend_mprotect_create(&backend, trk_host_bias_default(), NULL), "the backend");
    struct trk_tracker_options options = trk_tracker_options_default();
    options.backend = backend;
    options.policy.generations = true;
    options.failure = on_failure;
    must(trk_tracker_create(&tracker, &options, NULL), "the tracker");
    void *wanted = (void *)(uintptr_t)(RACE_BASE + (uint64_t)backend->host_bias_bytes);
    memory = mmap(wanted, MEMORY_SIZE, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (memory != wanted)
        race_fail("no memory where the guest has it");
    must(trk_fault_install(trk_fault_tracker, tracker, NULL), "the fault handler");
    /* One of the pages is the GPU's business too: a store is served by both trackers. */
    must(trk_tracker_register(tracker, RACE_BASE, TRK_GUEST_PAGE_BYTES), "registration");
    race_run(race, THREADS, real_body);
    must(trk_fault_uninstall(NULL), "the fault handler");
    munmap(memory, MEMORY_SIZE);
    trk_tracker_destroy(tracker);
    trk_backend_destroy(backend);
}

/* ---- a host that remembers ------------------------------------------------------------------- */

static void told(struct race_thread *thread, enum trk_status status)
{
    (void)thread;
    if (status != TRK_OK && status != TRK_E_ARGUMENT)
        race_fail("an operation gives %s", trk_status_name(status));
}

static void no_write(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    struct race_thread *thread = context;
    (void)size_bytes;
    (void)trk_tracker_fault(thread->race->tracker, guest_addr, TRK_ACCESS_WRITE);
}

static void one_step(struct race_thread *thread)
{
    struct trk_tracker *raced = thread->race->tracker;
    uint64_t addr = RACE_BASE + TRK_REGION_BYTES - 2 * TRK_GUEST_PAGE_BYTES +
                    race_random(thread, 3 * TRK_GUEST_PAGE_BYTES);
    uint64_t size = 1 + race_random(thread, 2 * TRK_GUEST_PAGE_BYTES), sum;
    struct trk_transfer upload = {
        .size = sizeof upload, .guest_addr = addr, .size_bytes = size, .written = false};
    struct trk_hle_write write = {.size = sizeof write,
                                  .guest_addr = addr,
                                  .size_bytes = size,
                                  .write = no_write,
                                  .context = thread};
    struct trk_generations_view view = {addr & ~(TRK_HOST_PAGE_BYTES - 1), TRK_HOST_PAGE_BYTES,
                                        race_random(thread, 2), TRK_RIGHTS_RW};
    bool answer;
    switch (race_random(thread, 12)) {
    case 0:
        told(thread, trk_tracker_set_guest_protection(raced, addr, 1, TRK_RIGHTS_RW));
        break;
    case 1:
        told(thread, trk_generations_notify(raced, addr, size));
        break;
    case 2:
        told(thread, trk_tracker_hle_write(raced, &write, &answer));
        break;
    case 3:
        told(thread, trk_generations_map(raced, &view, &answer));
        break;
    case 4:
        told(thread, trk_tracker_upload(raced, &upload));
        break;
    case 5:
        told(thread, trk_tracker_set_guest_protection(raced, addr, 1, TRK_RIGHT_READ));
        break;
    case 6:
    case 7:
        told(thread, trk_generations_query(raced, addr, size, &sum));
        break;
    case 8:
    case 9:
        (void)trk_tracker_fault(raced, addr, TRK_ACCESS_WRITE);
        break;
    default:
        told(thread, trk_generations_track(raced, addr, size, &sum));
    }
}

static void remembered_body(struct race_thread *thread)
{
    thread->random += seed * 1000003;
    must(trk_tracker_register(thread->race->tracker, RACE_BASE, TRK_REGION_BYTES), "registration");
    for (uint32_t i = 0; i < steps_a_thread; i++)
        one_step(thread);
}

static void run_remembered(struct race *race)
{
    struct trk_policy policy;
    must(trk_policy_preset("default", &policy), "the policy");
    policy.generations = true;
    race_open_policy(race, &policy);
    race_run(race, 4, remembered_body);
    race_check_pages(race);
    race_close(race);
}

int main(void)
{
    const char *steps = getenv("TRK_STEPS"), *seed_text = getenv("TRK_SEED");
    steps_a_thread = (uint32_t)((steps != NULL ? strtoull(steps, NULL, 0) : 10000) / THREADS);
    seed = seed_text != NULL ? strtoull(seed_text, NULL, 0) : 1;
    struct race *race = calloc(1, sizeof *race);
    run_real(race);
    run_remembered(race);
    free(race);
    printf("%u steps a thread, %llu copies, %llu kept ones found good, seed %llu\n", steps_a_thread,
           (unsigned long long)copies, (unsigned long long)hits, (unsigned long long)seed);
    return 0;
}
