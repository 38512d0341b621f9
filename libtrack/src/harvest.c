/*
 * Asynchronous write-protection and PAGEMAP_SCAN.
 *
 * Rules: [M-48].
 */
#define _GNU_SOURCE
#include "track/harvest.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "backend_host.h"
#include "kernel_abi.h"
#include "track/address.h"

/* Runs that one call of the kernel's can report; then it is called again. */
#define RUNS_A_CALL 512u

struct trk_harvest {
    int64_t host_bias_bytes;
    int uffd, pagemap;
    struct kernel_page_region runs[RUNS_A_CALL];
};

static struct host_range host_of(const struct trk_harvest *harvest, uint64_t guest_addr,
                                 uint64_t size_bytes)
{
    return (struct host_range){(uintptr_t)(guest_addr + (uint64_t)harvest->host_bias_bytes),
                               (size_t)size_bytes};
}

static bool whole_pages(uint64_t guest_addr, uint64_t size_bytes)
{
    return guest_addr % TRK_HOST_PAGE_BYTES == 0 && size_bytes % TRK_HOST_PAGE_BYTES == 0 &&
           trk_range_valid(TRK_ARENA_LOW_EXTENDED, guest_addr, size_bytes);
}

enum trk_status trk_harvest_attach(struct trk_harvest *harvest, uint64_t guest_addr,
                                   uint64_t size_bytes, struct trk_error *error)
{
    if (!whole_pages(guest_addr, size_bytes))
        return trk_error_set(error, TRK_E_ARGUMENT, "harvest: no pages of the guest's");
    struct host_range range = host_of(harvest, guest_addr, size_bytes);
    int refused = trk_host_uffd_register(harvest->uffd, range);
    if (refused == 0) {
        refused = trk_host_uffd_protect(harvest->uffd, range, true);
        if (refused != 0)
            (void)trk_host_uffd_unregister(harvest->uffd, range);
    }
    if (refused == 0)
        return TRK_OK;
    return trk_error_set_errno(error, refused == EBUSY ? TRK_E_EXISTS : TRK_E_SYSTEM, refused,
                               "harvest: cannot attach memory at 0x%llx",
                               (unsigned long long)guest_addr);
}

void trk_harvest_detach(struct trk_harvest *harvest, uint64_t guest_addr, uint64_t size_bytes)
{
    (void)trk_host_uffd_unregister(harvest->uffd, host_of(harvest, guest_addr, size_bytes));
}

/* Runs that touch are one, also over the edge of two calls. */
struct report {
    trk_range_fn *range;
    void *context;
    uint64_t guest_addr, size_bytes; /* not yet told; 0: none */
    uint64_t pages;
};

static void report_flush(struct report *report)
{
    if (report->size_bytes != 0 && report->range != NULL)
        report->range(report->context, report->guest_addr, report->size_bytes);
    report->pages += report->size_bytes / TRK_HOST_PAGE_BYTES;
    report->size_bytes = 0;
}

static void report_add(struct report *report, uint64_t guest_addr, uint64_t size_bytes)
{
    if (report->size_bytes != 0 && report->guest_addr + report->size_bytes == guest_addr) {
        report->size_bytes += size_bytes;
        return;
    }
    report_flush(report);
    report->guest_addr = guest_addr;
    report->size_bytes = size_bytes;
}

enum trk_status trk_harvest_take(struct trk_harvest *harvest, const struct trk_transfer *what,
                                 uint64_t *out_pages)
{
    if (!whole_pages(what->guest_addr, what->size_bytes))
        return TRK_E_ARGUMENT;
    struct host_range host = host_of(harvest, what->guest_addr, what->size_bytes);
    struct report report = {.range = what->range, .context = what->context};
    struct kernel_pagemap_scan scan = {
        .size = sizeof scan,
        .flags = KERNEL_SCAN_WP_MATCHING | KERNEL_SCAN_CHECK_ASYNC,
        .start = host.first,
        .end = host.first + host.size_bytes,
        .vec = (uint64_t)(uintptr_t)harvest->runs,
        .vec_len = RUNS_A_CALL,
        .category_mask = KERNEL_PAGE_IS_WRITTEN,
        .return_mask = KERNEL_PAGE_IS_WRITTEN,
    };
    enum trk_status status = TRK_OK;
    while (status == TRK_OK && scan.start < scan.end) {
        int found = ioctl(harvest->pagemap, KERNEL_PAGEMAP_SCAN, &scan);
        if (found < 0 && errno == EINTR)
            continue;
        status = found < 0 ? TRK_E_SYSTEM : TRK_OK;
        for (int i = 0; i < found; i++)
            report_add(&report, harvest->runs[i].start - (uint64_t)harvest->host_bias_bytes,
                       harvest->runs[i].end - harvest->runs[i].start);
        scan.start = scan.walk_end;
    }
    report_flush(&report);
    if (out_pages != NULL)
        *out_pages = report.pages;
    return status;
}

/* A page is armed, written, found once and then not any more; one that nobody touched is never. */
static bool works(struct trk_harvest *harvest)
{
    size_t bytes = 2 * TRK_HOST_PAGE_BYTES;
    int fd = memfd_create("trk-probe", MFD_CLOEXEC);
    void *memory = MAP_FAILED;
    if (fd >= 0 && ftruncate(fd, (off_t)bytes) == 0)
        memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0)
        close(fd);
    if (memory == MAP_FAILED)
        return false;
    int64_t former_bias = harvest->host_bias_bytes;
    uint64_t guest_addr = TRK_LOW_FIRST, first = 0, second = 0;
    struct trk_transfer what = {.size = sizeof what, .guest_addr = guest_addr, .size_bytes = bytes};
    harvest->host_bias_bytes = (int64_t)((uintptr_t)memory - guest_addr);
    bool worked = trk_harvest_attach(harvest, guest_addr, bytes, NULL) == TRK_OK;
    if (worked)
        ((volatile unsigned char *)memory)[TRK_HOST_PAGE_BYTES] = 1;
    worked = worked && trk_harvest_take(harvest, &what, &first) == TRK_OK &&
             trk_harvest_take(harvest, &what, &second) == TRK_OK;
    munmap(memory, bytes);
    harvest->host_bias_bytes = former_bias;
    return worked && first == 1 && second == 0;
}

enum trk_status trk_harvest_create(struct trk_harvest **out, int64_t host_bias_bytes,
                                   struct trk_error *error)
{
    if (host_bias_bytes % (int64_t)TRK_HOST_PAGE_BYTES != 0)
        return trk_error_set(error, TRK_E_ARGUMENT, "host bias is no multiple of a page");
    struct trk_harvest *harvest = calloc(1, sizeof *harvest);
    if (harvest == NULL)
        return trk_error_set(error, TRK_E_MEMORY, "no memory for a harvest");
    harvest->host_bias_bytes = host_bias_bytes;
    harvest->pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    harvest->uffd = trk_host_uffd_open(UFFD_FEATURE_WP_HUGETLBFS_SHMEM |
                                       KERNEL_UFFD_WP_UNPOPULATED | KERNEL_UFFD_WP_ASYNC);
    if (harvest->uffd >= 0 && harvest->pagemap >= 0 && works(harvest)) {
        *out = harvest;
        return TRK_OK;
    }
    trk_harvest_destroy(harvest);
    return trk_error_set(error, TRK_E_UNSUPPORTED,
                         "harvest: the kernel has no asynchronous write-protection (Linux 6.7)");
}

void trk_harvest_destroy(struct trk_harvest *harvest)
{
    if (harvest == NULL)
        return;
    if (harvest->uffd >= 0)
        close(harvest->uffd);
    if (harvest->pagemap >= 0)
        close(harvest->pagemap);
    free(harvest);
}
