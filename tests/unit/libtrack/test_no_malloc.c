/*
 * Goal: once a tracker exists, no operation and no fault calls malloc: any of them may run in a
 * fault handler that interrupted malloc itself.
 * Method: this program's malloc and its kin count while they are forbidden; every operation runs,
 * on touched and untouched regions, with real faults among them. Sanitizers bring their own malloc,
 * so their builds skip this.
 *
 * Rules: [M-26].
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "track/fault.h"
#include "track/generations.h"
#include "track/hle.h"
#include "track/pages.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)

int main(void)
{
    puts("skipped: the sanitizer has its own malloc");
    return 0;
}

#else

#define BASE   UINT64_C(0x200000000)
#define PAGE   TRK_HOST_PAGE_BYTES
#define MAPPED (4 * TRK_REGION_BYTES)

/* glibc's own, behind the names that this program takes over. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void __libc_free(void *memory);

static volatile bool forbidden;
static volatile unsigned calls;

void *malloc(size_t size)
{
    calls += forbidden;
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    calls += forbidden;
    return __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
    calls += forbidden;
    return __libc_realloc(memory, size);
}

void free(void *memory)
{
    calls += forbidden;
    __libc_free(memory);
}

static struct trk_tracker *tracker;
static unsigned failures;

static void check(enum trk_status status, const char *what)
{
    if (status != TRK_OK) {
        fprintf(stderr, "%s gives %s\n", what, trk_status_name(status));
        failures++;
    }
}

static void on_flush(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    struct trk_transfer drain = {
        .size = sizeof drain, .guest_addr = guest_addr, .size_bytes = size_bytes};
    (void)context;
    check(trk_tracker_drain(tracker, &drain), "drain");
}

static void transfers(uint64_t at)
{
    struct trk_transfer request = {
        .size = sizeof request, .guest_addr = at, .size_bytes = 3 * PAGE, .clear = true};
    check(trk_tracker_upload(tracker, &request), "upload");
    request.written = true;
    check(trk_tracker_upload(tracker, &request), "written upload");
    check(trk_tracker_download(tracker, &request), "download");
    check(trk_tracker_mark_gpu(tracker, at, PAGE), "mark_gpu");
    check(trk_tracker_unmark_gpu(tracker, at, PAGE), "unmark_gpu");
    check(trk_tracker_mark_gpu(tracker, at, PAGE), "mark_gpu");
    check(trk_tracker_invalidate(tracker, at, 2 * PAGE, on_flush, NULL), "invalidate");
    check(trk_tracker_untrack(tracker, at, 3 * PAGE), "untrack");
}

static void page_manager(uint64_t at)
{
    uint64_t base = at / TRK_REGION_BYTES * TRK_REGION_BYTES;
    uint64_t mask[TRK_REGION_WORDS] = {[7] = 0x55};
    check(trk_pages_watch(tracker, at, 5), "watch");
    check(trk_pages_unwatch(tracker, at, 5), "unwatch");
    check(trk_pages_watch_mask(tracker, base, mask, true), "watch_mask");
    check(trk_pages_unwatch_mask(tracker, base, mask, true), "unwatch_mask");
    check(trk_tracker_set_guest_protection(tracker, at, PAGE, TRK_RIGHT_READ), "rights");
    check(trk_tracker_set_guest_protection(tracker, at, PAGE, TRK_RIGHTS_RW), "rights");
    /* Enough pieces that the table of registered bytes grows. */
    for (uint64_t i = 0; i < 100; i++)
        check(trk_tracker_register(tracker, at + 32 * i, 8), "register");
    check(trk_tracker_unregister(tracker, at, 4), "unregister");
}

static void faults(uint64_t at)
{
    struct trk_transfer request = {
        .size = sizeof request, .guest_addr = at, .size_bytes = PAGE, .written = true};
    check(trk_tracker_register(tracker, at, PAGE), "register");
    check(trk_tracker_upload(tracker, &request), "written upload");
    volatile unsigned char *byte = (volatile unsigned char *)(uintptr_t)(at + 9);
    *byte = 1;
    if (*byte != 1)
        failures++;
}

static void on_bytes(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    (void)context;
    memset((void *)(uintptr_t)guest_addr, 2, size_bytes);
}

static void generations(uint64_t at)
{
    struct trk_hle_write write = {
        .size = sizeof write, .guest_addr = at, .size_bytes = PAGE, .write = on_bytes};
    uint64_t sum = 0, after = 0;
    bool written = false, kept = false;
    check(trk_generations_track(tracker, at, PAGE, &sum), "track");
    *(volatile unsigned char *)(uintptr_t)(at + 9) = 1;
    check(trk_generations_query(tracker, at, PAGE, &after), "query");
    check(trk_tracker_hle_write(tracker, &write, &written), "hle_write");
    failures += sum == 0 || after == sum || !written;
    /* Enough views that their table grows. */
    for (uint64_t i = 0; i < 100; i++) {
        struct trk_generations_view view = {at + i * PAGE, PAGE, i, TRK_RIGHTS_RW};
        check(trk_generations_map(tracker, &view, &kept), "map");
    }
}

int main(void)
{
    struct trk_backend *backend = NULL;
    struct trk_error error;
    void *memory = mmap((void *)(uintptr_t)BASE, MAPPED, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    struct trk_tracker_options options = trk_tracker_options_default();
    struct trk_resource_layer layer = {.flush = on_flush, .read_back = on_flush};
    if (memory == MAP_FAILED || trk_backend_mprotect_create(&backend, 0, &error) != TRK_OK) {
        fprintf(stderr, "no memory at its guest address\n");
        return 1;
    }
    options.backend = backend;
    options.policy.generations = true;
    check(trk_tracker_create(&tracker, &options, &error), "create");
    check(trk_tracker_set_resource_layer(tracker, &layer), "layer");
    check(trk_fault_install(trk_fault_tracker, tracker, &error), "install");
    check(trk_fault_thread_enter(&error), "enter");

    forbidden = true;
    for (uint64_t region = 0; region < 3; region++) {
        transfers(BASE + region * TRK_REGION_BYTES + TRK_REGION_BYTES - PAGE);
        page_manager(BASE + region * TRK_REGION_BYTES + 64 * PAGE);
        faults(BASE + region * TRK_REGION_BYTES + 99 * PAGE);
        generations(BASE + region * TRK_REGION_BYTES + 256 * PAGE);
    }
    forbidden = false;

    check(trk_fault_uninstall(&error), "uninstall");
    trk_fault_thread_leave();
    trk_tracker_destroy(tracker);
    trk_backend_destroy(backend);
    printf("%u calls of malloc and its kin, %u failures\n", calls, failures);
    return calls != 0 || failures != 0;
}

#endif
