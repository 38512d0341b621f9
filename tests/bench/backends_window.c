#define _GNU_SOURCE
#include "backends.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "track/fault.h"

#define WINDOW_FIRST UINT64_C(0x200000000)
#define WINDOW_STEP  UINT64_C(0x10000000)

struct backend_window backend_windows[BACKEND_VARIANTS];

/* One handler, a tracker a window. */
static enum trk_fault_outcome owner(void *context, uint64_t host_addr, enum trk_access access)
{
    (void)context;
    for (unsigned i = 0; i < BACKEND_VARIANTS; i++) {
        const struct backend_window *window = &backend_windows[i];
        if (window->tracker != NULL && host_addr - (uint64_t)(uintptr_t)window->host < WINDOW_BYTES)
            return trk_fault_tracker(window->tracker, host_addr, access);
    }
    return TRK_FAULT_UNHANDLED;
}

static int window_map(struct backend_window *window, unsigned variant)
{
    int fd = memfd_create("bench", MFD_CLOEXEC);
    window->guest_addr = WINDOW_FIRST + variant * WINDOW_STEP;
    void *host = MAP_FAILED;
    if (fd >= 0 && ftruncate(fd, (off_t)WINDOW_BYTES) == 0)
        host = mmap((void *)(uintptr_t)window->guest_addr, WINDOW_BYTES, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_POPULATE | MAP_FIXED_NOREPLACE, fd, 0);
    if (fd >= 0)
        close(fd);
    if (host == MAP_FAILED) {
        perror("guest memory");
        return 1;
    }
    window->host = host;
    memset(host, 1, WINDOW_BYTES);
    return 0;
}

static enum trk_status create(struct trk_backend **out, unsigned variant, struct trk_error *error)
{
    if (variant == BY_MPROTECT)
        return trk_backend_mprotect_create(out, 0, error);
    return trk_backend_userfaultfd_create(
        out, 0, variant == BY_GUARDS ? TRK_GUARDS_ON : TRK_GUARDS_OFF, error);
}

static int window_track(struct backend_window *window, unsigned variant)
{
    struct trk_error error;
    enum trk_status status = create(&window->backend, variant, &error);
    if (status == TRK_E_UNSUPPORTED && variant != BY_MPROTECT) {
        fprintf(stderr, "left out: %s\n", error.text);
        return 0;
    }
    struct trk_tracker_options options = trk_tracker_options_default();
    options.backend = window->backend;
    options.id = variant;
    if (status != TRK_OK ||
        trk_backend_attach(window->backend, window->guest_addr, WINDOW_BYTES, &error) != TRK_OK ||
        trk_tracker_create(&window->tracker, &options, &error) != TRK_OK) {
        fprintf(stderr, "set-up: %s\n", error.text);
        return 1;
    }
    return trk_tracker_register(window->tracker, window->guest_addr, WINDOW_BYTES) != TRK_OK;
}

int backend_windows_open(void)
{
    for (unsigned i = 0; i < BACKEND_VARIANTS; i++) {
        if (window_map(&backend_windows[i], i) || window_track(&backend_windows[i], i))
            return 1;
    }
    return trk_fault_install(owner, NULL, NULL) != TRK_OK || trk_fault_thread_enter(NULL) != TRK_OK;
}

int backend_windows_close(void)
{
    trk_fault_thread_leave();
    if (trk_fault_uninstall(NULL) != TRK_OK)
        return 1;
    for (unsigned i = 0; i < BACKEND_VARIANTS; i++) {
        struct backend_window *window = &backend_windows[i];
        if (window->backend == NULL)
            continue;
        trk_tracker_destroy(window->tracker);
        trk_backend_detach(window->backend, window->guest_addr, WINDOW_BYTES);
        trk_backend_destroy(window->backend);
    }
    return 0;
}

int backend_upload(const struct backend_window *window, uint32_t page, uint32_t pages, bool written)
{
    struct trk_transfer upload = {
        .size = sizeof upload,
        .guest_addr = window->guest_addr + (uint64_t)page * PAGE_BYTES,
        .size_bytes = (uint64_t)pages * PAGE_BYTES,
        .written = written,
    };
    return trk_tracker_upload(window->tracker, &upload) != TRK_OK;
}

int backend_download(const struct backend_window *window, uint32_t page, uint32_t pages)
{
    struct trk_transfer download = {
        .size = sizeof download,
        .guest_addr = window->guest_addr + (uint64_t)page * PAGE_BYTES,
        .size_bytes = (uint64_t)pages * PAGE_BYTES,
        .clear = true,
    };
    return trk_tracker_download(window->tracker, &download) != TRK_OK;
}

int backend_untrack(const struct backend_window *window)
{
    return trk_tracker_untrack(window->tracker, window->guest_addr, WINDOW_BYTES) != TRK_OK;
}

void backend_stores(const struct backend_window *window, uint32_t pages, uint32_t count,
                    bool scattered)
{
    /* An odd multiplier meets each of 2^n pages once. */
    uint32_t step = scattered ? 2731 : 1;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = i * step % pages;
        ((volatile unsigned char *)window->host)[(size_t)at * PAGE_BYTES] = (unsigned char)i;
    }
}

uint32_t backend_mappings(void)
{
    uint32_t lines = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    for (int c = 0; maps != NULL && (c = fgetc(maps)) != EOF;)
        lines += c == '\n';
    if (maps != NULL)
        fclose(maps);
    return lines;
}
