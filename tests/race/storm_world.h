/*
 * The world of the storm: guest memory with two views and an alias, a GPU's copy, a tracker.
 */
#ifndef TESTS_STORM_WORLD_H
#define TESTS_STORM_WORLD_H

#include <stdatomic.h>
#include <stdint.h>

#include "backends.h"
#include "track/address.h"
#include "track/fault.h"
#include "track/generations.h"
#include "track/pages.h"
#include "track/tracker.h"

#define STORM_PAGE        TRK_HOST_PAGE_BYTES
#define STORM_PAGES       64u /* that guests touch; a region's edge lies in the middle */
#define STORM_SPARE_PAGES 16u /* behind them: for watches of others */
#define STORM_ALL_PAGES   (STORM_PAGES + STORM_SPARE_PAGES)
#define STORM_BYTES       (STORM_ALL_PAGES * STORM_PAGE)
#define STORM_BASE        (UINT64_C(0x200000000) + TRK_REGION_BYTES - STORM_PAGES / 2 * STORM_PAGE)
#define STORM_OTHER_BASE  (STORM_BASE + 8 * TRK_REGION_BYTES) /* the second view */
#define STORM_SLOT_WORDS  8u                                  /* slots of a page, 64 bytes apart */
#define STORM_GPU_SLOT    7u                                  /* that only the GPU writes */

struct storm {
    struct trk_policy policy;
    struct trk_backend *backend;
    struct trk_tracker *tracker;
    unsigned char *guest, *other; /* where guests touch it */
    unsigned char *alias;         /* where the owner's copies go */
    /* Under the region's lock. */
    unsigned char gpu[STORM_BYTES];
    uint64_t gpu_value[STORM_PAGES]; /* of the GPU's slot: what was written last */
    atomic_ullong faults;
};

extern struct storm storm;

void storm_open(const struct trk_policy *policy, struct trk_backend *backend);
/* Bring all home, so that the alias has everything. */
void storm_settle(void);
void storm_close(void);
/* Each page is in a legal state, its watches explained. */
void storm_check_pages(void);

enum trk_status storm_upload(uint64_t guest_addr, uint64_t size_bytes);
/* The GPU writes its slot of every page of the range, once all locks are held. */
enum trk_status storm_upload_written(uint64_t guest_addr, uint64_t size_bytes);
enum trk_status storm_download(uint64_t guest_addr, uint64_t size_bytes, bool clear);
enum trk_status storm_drain(uint64_t guest_addr, uint64_t size_bytes);
void storm_flush(void *context, uint64_t guest_addr, uint64_t size_bytes);

static inline uint64_t storm_slot(const unsigned char *memory, uint32_t page, uint32_t number)
{
    return (
        (const uint64_t *)(const void *)(memory + page * STORM_PAGE))[number * STORM_SLOT_WORDS];
}

_Noreturn void storm_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
