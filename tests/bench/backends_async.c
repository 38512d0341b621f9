/*
 * The kernel's asynchronous mode. A harvest is measured beside the call that it is made of.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "backends.h"
#include "kernel_abi.h"
#include "track/harvest.h"

#define GUEST      UINT64_C(0x400000000)
#define STORES     512u
#define DIRTY_EACH 100u /* 1 % */
#define SCAN_RUNS  65536u

static uint64_t bytes;
static unsigned char *memory;
static struct kernel_page_region *runs;

/* One page in a hundred, so that no two touch. */
static void make_dirty(void)
{
    for (uint64_t at = 0; at < bytes; at += DIRTY_EACH * PAGE_BYTES)
        ((volatile unsigned char *)memory)[at]++;
}

static int bare_scan(int pagemap)
{
    struct kernel_pagemap_scan scan = {
        .size = sizeof scan,
        .flags = KERNEL_SCAN_WP_MATCHING | KERNEL_SCAN_CHECK_ASYNC,
        .start = (uint64_t)(uintptr_t)memory,
        .end = (uint64_t)(uintptr_t)memory + bytes,
        .vec = (uint64_t)(uintptr_t)runs,
        .vec_len = SCAN_RUNS,
        .category_mask = KERNEL_PAGE_IS_WRITTEN,
        .return_mask = KERNEL_PAGE_IS_WRITTEN,
    };
    return ioctl(pagemap, KERNEL_PAGEMAP_SCAN, &scan) < 0;
}

static int measure(struct trk_harvest *harvest, int pagemap, unsigned rounds,
                   struct backend_async *out)
{
    uint64_t pages = 0;
    struct trk_transfer all = {.size = sizeof all, .guest_addr = GUEST, .size_bytes = bytes};
    int failed = trk_harvest_take(harvest, &all, NULL) != TRK_OK;
    for (unsigned round = 0; round < rounds && !failed; round++) {
        uint64_t begun = bench_now_ns();
        for (uint32_t i = 0; i < STORES; i++)
            ((volatile unsigned char *)memory)[(uint64_t)i * PAGE_BYTES] = 1;
        uint64_t stored = bench_now_ns();
        failed |= trk_harvest_take(harvest, &all, NULL) != TRK_OK;
        make_dirty();
        uint64_t dirty = bench_now_ns();
        failed |= trk_harvest_take(harvest, &all, &pages) != TRK_OK;
        uint64_t taken = bench_now_ns();
        make_dirty();
        uint64_t again = bench_now_ns();
        failed |= bare_scan(pagemap);
        uint64_t scanned = bench_now_ns();
        bench_samples_add(&out->store_ns, (double)(stored - begun) / STORES);
        bench_samples_add(&out->harvest_us, (double)(taken - dirty) / 1000);
        bench_samples_add(&out->scan_us, (double)(scanned - again) / 1000);
    }
    return failed;
}

int backend_async(unsigned rounds, uint32_t megabytes, struct backend_async *out)
{
    struct trk_harvest *harvest = NULL;
    struct trk_error error;
    bytes = (uint64_t)megabytes << 20;
    int fd = memfd_create("bench", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, (off_t)bytes) != 0)
        return 1;
    memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
    close(fd);
    runs = malloc(SCAN_RUNS * sizeof *runs);
    if (memory == MAP_FAILED || runs == NULL)
        return 1;
    enum trk_status status =
        trk_harvest_create(&harvest, (int64_t)((uintptr_t)memory - GUEST), &error);
    if (status == TRK_OK)
        status = trk_harvest_attach(harvest, GUEST, bytes, &error);
    if (status != TRK_OK)
        fprintf(stderr, "left out: %s\n", error.text);
    int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    int failed = pagemap < 0;
    if (status == TRK_OK && !failed)
        failed = measure(harvest, pagemap, rounds, out);
    close(pagemap);
    trk_harvest_destroy(harvest);
    munmap(memory, bytes);
    free(runs);
    return failed || (status != TRK_OK && status != TRK_E_UNSUPPORTED);
}
