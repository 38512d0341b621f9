/*
 * Backends beside each other: windows of guest memory, each with a tracker over one backend.
 */
#ifndef TRK_BENCH_BACKENDS_H
#define TRK_BENCH_BACKENDS_H

#include <stdint.h>

#include "samples.h"
#include "track/backend.h"
#include "track/tracker.h"

#define PAGE_BYTES   4096u
#define WINDOW_PAGES 4096u /* 16 MiB, four regions */
#define WINDOW_BYTES ((uint64_t)WINDOW_PAGES * PAGE_BYTES)

enum backend_variant { BY_MPROTECT, BY_GUARDS, BY_UFFD, BACKEND_VARIANTS };

struct backend_window {
    uint64_t guest_addr;
    unsigned char *host;
    struct trk_backend *backend; /* NULL: not on this machine */
    struct trk_tracker *tracker;
};

extern struct backend_window backend_windows[BACKEND_VARIANTS];

/* 0, or 1 and a line on stderr. Where userfaultfd is lacking its windows have no backend. */
int backend_windows_open(void);
int backend_windows_close(void);

/* The window's pages [page, page + pages) become CLEAN, or with `written` GPU; or CPU again. */
int backend_upload(const struct backend_window *window, uint32_t page, uint32_t pages,
                   bool written);
int backend_download(const struct backend_window *window, uint32_t page, uint32_t pages);
int backend_untrack(const struct backend_window *window);

/* One first store to each of `count` of the first `pages` pages: ascending, or jumping. */
void backend_stores(const struct backend_window *window, uint32_t pages, uint32_t count,
                    bool scattered);

/* Mappings of this process. */
uint32_t backend_mappings(void);

/* What the kernel's asynchronous mode costs, where it has one: a store, and a harvest of 1 % of
 * `megabytes` beside a bare scan of the same. */
struct backend_async {
    struct bench_samples store_ns, harvest_us, scan_us;
};
int backend_async(unsigned rounds, uint32_t megabytes, struct backend_async *out);

#endif
