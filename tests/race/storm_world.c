/*
 * The world of the storm.
 *
 * Transfers go through the first view only: two owners of one frame would have to agree on who
 * uploads. The second view is the guests' alone; its pages are closed by the first one's watches.
 */
#define _GNU_SOURCE
#include "storm_world.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct storm storm;

void storm_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    fflush(NULL);
    _exit(1); /* other threads are still at work */
}

/* ---- copies, all under region locks ---- */

static void copy_up(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    (void)context;
    uint64_t offset = guest_addr - STORM_BASE;
    memcpy(storm.gpu + offset, storm.alias + offset, size_bytes);
}

static void copy_down(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    (void)context;
    uint64_t offset = guest_addr - STORM_BASE;
    memcpy(storm.alias + offset, storm.gpu + offset, size_bytes);
}

/* The range of a written upload. */
struct written {
    uint64_t guest_addr, size_bytes;
};

static void gpu_write(void *context)
{
    const struct written *written = context;
    uint64_t unit = storm.policy.page_size_bytes;
    uint64_t first = written->guest_addr / unit * unit;
    uint64_t end = (written->guest_addr + written->size_bytes + unit - 1) / unit * unit;
    for (uint64_t at = first; at < end; at += STORM_PAGE) {
        uint64_t page = (at - STORM_BASE) / STORM_PAGE;
        if (page >= STORM_PAGES)
            continue; /* a tracker page that reaches into the spare ones */
        storm.gpu_value[page]++;
        memcpy(storm.gpu + page * STORM_PAGE + STORM_GPU_SLOT * STORM_SLOT_WORDS * 8,
               &storm.gpu_value[page], 8);
    }
}

static struct trk_transfer request(uint64_t guest_addr, uint64_t size_bytes, trk_range_fn *range)
{
    return (struct trk_transfer){.size = sizeof(struct trk_transfer),
                                 .guest_addr = guest_addr,
                                 .size_bytes = size_bytes,
                                 .range = range};
}

enum trk_status storm_upload(uint64_t guest_addr, uint64_t size_bytes)
{
    struct trk_transfer upload = request(guest_addr, size_bytes, copy_up);
    return trk_tracker_upload(storm.tracker, &upload);
}

enum trk_status storm_upload_written(uint64_t guest_addr, uint64_t size_bytes)
{
    struct written written = {guest_addr, size_bytes};
    struct trk_transfer upload = request(guest_addr, size_bytes, copy_up);
    upload.written = true;
    upload.completion = gpu_write;
    upload.context = &written;
    return trk_tracker_upload(storm.tracker, &upload);
}

enum trk_status storm_download(uint64_t guest_addr, uint64_t size_bytes, bool clear)
{
    struct trk_transfer download = request(guest_addr, size_bytes, copy_down);
    download.clear = clear;
    return trk_tracker_download(storm.tracker, &download);
}

enum trk_status storm_drain(uint64_t guest_addr, uint64_t size_bytes)
{
    struct trk_transfer drain = request(guest_addr, size_bytes, copy_down);
    return trk_tracker_drain(storm.tracker, &drain);
}

/* The second view never holds GPU pages: what is flushed is always the first one's. */
void storm_flush(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    (void)context;
    if (storm_drain(guest_addr, size_bytes) != TRK_OK)
        storm_fail("a flush's drain was refused");
}

static void read_back(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    (void)context;
    if (storm_download(guest_addr, size_bytes, true) != TRK_OK)
        storm_fail("a read-back's download was refused");
}

static enum trk_fault_outcome on_fault(void *tracker, uint64_t host_addr, enum trk_access access)
{
    atomic_fetch_add_explicit(&storm.faults, 1, memory_order_relaxed);
    return trk_fault_tracker(tracker, host_addr, access);
}

/* What may fail here is for the caller to say; what may never fail anywhere ends the storm. */
static void on_failure(void *context, const struct trk_failure *failure)
{
    (void)context;
    bool expected = failure->failure_class == TRK_E_CONFLICT ||
                    failure->failure_class == TRK_E_UNTRACK ||
                    failure->failure_class == TRK_E_LIVELOCK;
    if (!expected)
        storm_fail("%s in operation %u at %llx +%llx (invalidate %s, pages of %u, backend %s)",
                   failure->text, failure->op, (unsigned long long)failure->guest_addr,
                   (unsigned long long)failure->size_bytes,
                   trk_invalidate_policy_name(storm.policy.invalidate),
                   storm.policy.page_size_bytes, storm.backend->name);
}

/* ---- life ---- */

static unsigned char *map(int fd, uint64_t guest_addr)
{
    void *wanted = NULL;
    int flags = MAP_SHARED;
    if (guest_addr != 0) {
        wanted = (void *)(uintptr_t)(guest_addr + (uint64_t)storm.backend->host_bias_bytes);
        flags |= MAP_FIXED_NOREPLACE;
    }
    void *mapped = mmap(wanted, STORM_BYTES, PROT_READ | PROT_WRITE, flags, fd, 0);
    if (mapped == MAP_FAILED || (wanted != NULL && mapped != wanted))
        storm_fail("guest memory cannot be mapped at %llx", (unsigned long long)guest_addr);
    if (guest_addr != 0 &&
        trk_backend_attach(storm.backend, guest_addr, STORM_BYTES, NULL) != TRK_OK)
        storm_fail("the backend does not take guest memory");
    return mapped;
}

void storm_open(const struct trk_policy *policy, struct trk_backend *backend)
{
    unsigned long long faults = atomic_load(&storm.faults);
    memset(&storm, 0, sizeof storm);
    atomic_store(&storm.faults, faults);
    storm.policy = *policy;
    storm.backend = backend;
    int fd = memfd_create("guest", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, (off_t)STORM_BYTES) != 0)
        storm_fail("no guest memory");
    storm.guest = map(fd, STORM_BASE);
    storm.other = map(fd, STORM_OTHER_BASE);
    storm.alias = map(fd, 0);
    close(fd);

    struct trk_tracker_options options = trk_tracker_options_default();
    options.policy = *policy;
    options.backend = backend;
    options.failure = on_failure;
    struct trk_resource_layer layer = {.flush = storm_flush, .read_back = read_back};
    uint64_t bytes = STORM_PAGES * STORM_PAGE;
    if (trk_tracker_create(&storm.tracker, &options, NULL) != TRK_OK ||
        trk_tracker_set_resource_layer(storm.tracker, &layer) != TRK_OK ||
        trk_tracker_register(storm.tracker, STORM_BASE, bytes) != TRK_OK ||
        trk_tracker_register(storm.tracker, STORM_OTHER_BASE, bytes) != TRK_OK ||
        trk_tracker_join_views(storm.tracker, STORM_BASE, STORM_OTHER_BASE, STORM_BYTES) !=
            TRK_OK ||
        trk_fault_install(on_fault, storm.tracker, NULL) != TRK_OK)
        storm_fail("the world does not open");
}

void storm_settle(void)
{
    if (storm_drain(STORM_BASE, STORM_BYTES) != TRK_OK ||
        trk_tracker_untrack(storm.tracker, STORM_BASE, STORM_BYTES) != TRK_OK)
        storm_fail("pages cannot be brought home");
    if (trk_pages_live_watches(storm.tracker) != 0)
        storm_fail("watches are left");
}

void storm_close(void)
{
    if (trk_fault_uninstall(NULL) != TRK_OK)
        storm_fail("the handler stays");
    trk_tracker_destroy(storm.tracker);
    trk_backend_detach(storm.backend, STORM_BASE, STORM_BYTES);
    trk_backend_detach(storm.backend, STORM_OTHER_BASE, STORM_BYTES);
    munmap(storm.guest, STORM_BYTES);
    munmap(storm.other, STORM_BYTES);
    munmap(storm.alias, STORM_BYTES);
}

static struct trk_page_view look(uint64_t guest_addr)
{
    struct trk_page_view view = trk_pages_view(storm.tracker, guest_addr);
    bool legal = !(view.cpu_dirty && view.gpu_dirty) && view.writable == view.cpu_dirty &&
                 view.readable == !view.gpu_dirty && view.write_watches == !view.cpu_dirty &&
                 view.read_watch == view.gpu_dirty;
    if (!legal)
        storm_fail("page at %llx: cpu %d gpu %d watches %u/%d", (unsigned long long)guest_addr,
                   view.cpu_dirty, view.gpu_dirty, view.write_watches, view.read_watch);
    return view;
}

void storm_check_pages(void)
{
    for (uint64_t offset = 0; offset < STORM_BYTES; offset += STORM_PAGE) {
        struct trk_page_view one = look(STORM_BASE + offset);
        struct trk_page_view two = look(STORM_OTHER_BASE + offset);
        bool shared = offset < STORM_PAGES * STORM_PAGE; /* both registered */
        bool closed = one.gpu_dirty, armed = one.armed || (shared && two.armed);
        unsigned asked = closed                    ? TRK_RIGHTS_NONE
                         : !one.cpu_dirty || armed ? TRK_RIGHT_READ
                                                   : TRK_RIGHTS_RW;
        if (one.host_rights != asked || (shared && two.host_rights != asked))
            storm_fail("page %llu: host %x and %x, not %x",
                       (unsigned long long)(offset / STORM_PAGE), one.host_rights, two.host_rights,
                       asked);
    }
}
