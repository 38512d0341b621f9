/*
 * Three mixes of events.
 *
 * Real memory and real faults where the mix has any; what happens is the same in every run, but for
 * the order in which threads come to it.
 */
#define _GNU_SOURCE /* MAP_FIXED_NOREPLACE */
#include "mix_programs.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>

#include "recorder/capture.h"
#include "track/address.h"
#include "track/fault.h"

#define THREADS      4u
#define WINDOW_FIRST UINT64_C(0x200000000)
#define PAGE_BYTES   UINT64_C(4096)
/* Of the faults. */
#define FAULT_PAGES  64u
#define FAULT_ROUNDS 150u
/* Of the uploads: a range of four regions a call. */
#define UPLOAD_BYTES  (UINT64_C(64) << 20)
#define UPLOAD_STEP   (UINT64_C(16) << 20)
#define UPLOAD_FRAMES 60u
#define UPLOAD_STORES 164u /* a hundredth of the pages */
#define IMAGE_BYTES   (UINT64_C(256) << 10)
#define IMAGES        8u
/* Of the annotations. */
#define NOTE_ROUNDS 6000u

struct program {
    struct trk_backend *backend;
    struct trk_tracker *tracker;
    pthread_mutex_t mutex;
    uint64_t turns; /* of the mutex */
};

static struct program program = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static int fail(const char *what)
{
    fprintf(stderr, "mix: %s\n", what);
    return 1;
}

static bool map(uint64_t guest_addr, uint64_t size_bytes)
{
    void *wanted = (void *)(uintptr_t)guest_addr;
    return mmap(wanted, size_bytes, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == wanted &&
           trk_tracker_register(program.tracker, guest_addr, size_bytes) == TRK_OK;
}

static int set_up(void)
{
    struct trk_error error;
    struct trk_tracker_options options = trk_tracker_options_default();
    if (trk_backend_mprotect_create(&program.backend, 0, &error) != TRK_OK) {
        return fail(error.text);
    }
    options.backend = program.backend;
    options.observer = trk_capture_observer();
    if (trk_tracker_create(&program.tracker, &options, &error) != TRK_OK ||
        trk_fault_install(trk_fault_tracker, program.tracker, &error) != TRK_OK) {
        return fail(error.text);
    }
    trk_capture_tracker(options.id, &options.policy, program.backend->kind);
    return 0;
}

/* Run on THREADS threads, each with its number. */
static int run_threads(void *(*body)(void *))
{
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++) {
        if (pthread_create(&threads[i], NULL, body, (void *)i) != 0) {
            return fail("no thread");
        }
    }
    int failed = 0;
    for (unsigned i = 0; i < THREADS; i++) {
        void *result = NULL;
        pthread_join(threads[i], &result);
        failed |= result != NULL;
    }
    return failed;
}

static bool upload(uint64_t guest_addr, uint64_t size_bytes, bool written)
{
    struct trk_transfer transfer = {.size = sizeof transfer,
                                    .guest_addr = guest_addr,
                                    .size_bytes = size_bytes,
                                    .written = written};
    return trk_tracker_upload(program.tracker, &transfer) == TRK_OK;
}

/* ---- faults: each thread stores to the pages of its window, in a new order each time ------------
 */

static void shuffle(uint8_t *order, uint64_t *dice)
{
    for (unsigned i = 0; i < FAULT_PAGES; i++) {
        unsigned other = (unsigned)(next_random(dice) % (i + 1));
        order[i] = order[other];
        order[other] = (uint8_t)i;
    }
}

static void *fault_body(void *number)
{
    static char failed;
    uint64_t guest_addr = WINDOW_FIRST + (uintptr_t)number * TRK_REGION_BYTES;
    uint64_t dice = (uintptr_t)number + 1;
    uint8_t order[FAULT_PAGES];
    if (trk_fault_thread_enter(NULL) != TRK_OK) {
        return &failed;
    }
    trk_capture_thread("storing", TRK_ROLE_GUEST);
    bool good = true;
    for (unsigned round = 0; round < FAULT_ROUNDS && good; round++) {
        good = upload(guest_addr, FAULT_PAGES * PAGE_BYTES, false);
        shuffle(order, &dice);
        for (unsigned i = 0; i < FAULT_PAGES && good; i++) {
            *(volatile unsigned char *)(uintptr_t)(guest_addr + order[i] * PAGE_BYTES) = 1;
        }
    }
    trk_capture_thread_end();
    trk_fault_thread_leave();
    return good ? NULL : &failed;
}

static int run_faults(void)
{
    for (uint64_t i = 0; i < THREADS; i++) {
        if (!map(WINDOW_FIRST + i * TRK_REGION_BYTES, FAULT_PAGES * PAGE_BYTES)) {
            return fail("no window");
        }
    }
    return run_threads(fault_body);
}

/* ---- uploads: few stores, told of without a fault, and wide ranges that look for them -----------
 */

static bool upload_frame(uint64_t *dice)
{
    bool good = true;
    for (unsigned i = 0; i < UPLOAD_STORES && good; i++) {
        uint64_t at = next_random(dice) % (UPLOAD_BYTES - 4096);
        good = trk_tracker_invalidate(program.tracker, WINDOW_FIRST + at, 1 + at % 4096, NULL,
                                      NULL) == TRK_OK;
    }
    for (uint64_t at = 0; at < UPLOAD_BYTES && good; at += UPLOAD_STEP) {
        good = upload(WINDOW_FIRST + at, UPLOAD_STEP, false);
    }
    for (unsigned i = 0; i < IMAGES && good; i++) {
        uint64_t image =
            WINDOW_FIRST + next_random(dice) % (UPLOAD_BYTES / IMAGE_BYTES) * IMAGE_BYTES;
        struct trk_transfer download = {
            .size = sizeof download, .guest_addr = image, .size_bytes = IMAGE_BYTES, .clear = true};
        good = upload(image, IMAGE_BYTES, true) &&
               trk_tracker_download(program.tracker, &download) == TRK_OK;
    }
    return good;
}

static int run_uploads(void)
{
    uint64_t dice = 1;
    bool good = map(WINDOW_FIRST, UPLOAD_BYTES);
    trk_capture_thread("render", TRK_ROLE_HOST);
    for (unsigned frame = 0; frame < UPLOAD_FRAMES && good; frame++) {
        trk_capture_frame(frame);
        good = upload_frame(&dice);
    }
    trk_capture_thread_end();
    return good ? 0 : fail("an operation was refused");
}

/* ---- annotations: threads that share a region and a mutex, and tell of all they do --------------
 */

static void note_order(void)
{
    pthread_mutex_lock(&program.mutex);
    if (program.turns > 0) { /* nobody signals before the first turn */
        trk_capture_await(1, program.turns);
    }
    trk_capture_signal(1, ++program.turns);
    pthread_mutex_unlock(&program.mutex);
}

static void *note_body(void *number)
{
    static char failed;
    uint64_t dice = (uintptr_t)number + 1;
    trk_capture_thread("telling", TRK_ROLE_GUEST);
    bool good = true;
    for (uint32_t round = 0; round < NOTE_ROUNDS && good; round++) {
        uint64_t guest_addr = WINDOW_FIRST + (next_random(&dice) % 512) * PAGE_BYTES;
        uint32_t stamp = round * THREADS + (uint32_t)(uintptr_t)number + 1;
        bool dirty;
        trk_capture_witness_store(TRK_AGENT_HLE, guest_addr + 64 * (uintptr_t)number, 64, stamp);
        good = trk_tracker_is_cpu(program.tracker, guest_addr, PAGE_BYTES, &dirty) == TRK_OK;
        trk_capture_copy_begin(TRK_COPY_UP, guest_addr, PAGE_BYTES, (uint16_t)(stamp % 512));
        trk_capture_copy_end(TRK_COPY_UP, guest_addr, PAGE_BYTES, (uint16_t)(stamp % 512));
        trk_capture_gpu_read(guest_addr, 256, round);
        trk_capture_witness_check(TRK_AGENT_HLE, guest_addr + 64 * (uintptr_t)number, 64, stamp);
        note_order();
    }
    trk_capture_thread_end();
    return good ? NULL : &failed;
}

static int run_annotations(void)
{
    if (!map(WINDOW_FIRST, TRK_REGION_BYTES)) {
        return fail("no window");
    }
    return run_threads(note_body);
}

/* ---- the list -----------------------------------------------------------------------------------
 */

static int faults(void)
{
    return set_up() || run_faults();
}

static int uploads(void)
{
    return set_up() || run_uploads();
}

static int annotations(void)
{
    return set_up() || run_annotations();
}

const struct bench_mix bench_mixes[] = {
    {"faults", "four threads that store to armed pages in random order", faults},
    {"uploads", "uploads of 16 MiB with one page in a hundred dirty, and images there and back",
     uploads},
    {"annotations", "four threads on one region and one mutex, each step annotated", annotations},
    {NULL, NULL, NULL},
};
