/*
 * Guest addresses: the two bands, ranges, packed indices.
 *
 * A guest address is a uint64_t named guest_addr. What a host pointer would be is
 * guest_addr + host_bias_bytes of the protection backend, and nothing but the backend adds it.
 * This header does not know what is mapped.
 *
 * Rules: [M-1] [M-2] [M-4].
 */
#ifndef TRACK_ADDRESS_H
#define TRACK_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "track/status.h"

TRK_EXTERN_C_BEGIN

#define TRK_HOST_PAGE_BYTES  UINT64_C(4096)
#define TRK_GUEST_PAGE_BYTES UINT64_C(16384)
/* Of TRK_HOST_PAGE_BYTES each. Tests build the simulated core with fewer: edges are everywhere
 * then. */
#ifndef TRK_REGION_PAGES
#define TRK_REGION_PAGES 1024u
#endif
#define TRK_REGION_BYTES (TRK_HOST_PAGE_BYTES * TRK_REGION_PAGES)
#define TRK_REGION_WORDS ((TRK_REGION_PAGES + 63u) / 64u)

#define TRK_LOW_FIRST   TRK_HOST_PAGE_BYTES /* page 0 is never valid */
#define TRK_ARENA_FIRST UINT64_C(0x080000000000)
#if TRK_REGION_PAGES >= 64u
#define TRK_LOW_END   (UINT64_C(1) << 40)
#define TRK_ARENA_END (TRK_ARENA_FIRST + (UINT64_C(512) << 30))
#else /* very small regions keep their numbers below 2^24 */
#define TRK_LOW_END   (UINT64_C(1) << 34)
#define TRK_ARENA_END (TRK_ARENA_FIRST + (UINT64_C(1) << 34))
#endif

/* Regions are numbered without the gap between the bands: low first, then the arena. */
#define TRK_REGION_COUNT                                                                           \
    ((uint32_t)((TRK_LOW_END + (TRK_ARENA_END - TRK_ARENA_FIRST)) / TRK_REGION_BYTES))
/* Entries of the packed 16 KiB index, for owners that keep tables of guest pages. */
#define TRK_PAGE_INDEX_COUNT ((uint32_t)((TRK_LOW_END + (TRK_ARENA_END - TRK_ARENA_FIRST)) >> 14))

/* Which addresses are valid: a policy. */
enum trk_arena {
    TRK_ARENA_LOW_EXTENDED = 0,
    TRK_ARENA_LOW = 1,
};

/**
 * Say whether a range is valid: not empty, not wrapping, wholly inside one band.
 *
 * Allocates: no. Blocks: no. Signal-safe: yes. Threads: any. Rules: [M-4].
 */
bool trk_range_valid(enum trk_arena arena, uint64_t guest_addr, uint64_t size_bytes);

/**
 * Give the packed index of the 16 KiB guest page that holds an address.
 *
 * @param out  Set on TRK_OK only; below TRK_PAGE_INDEX_COUNT.
 * @return TRK_OK, or TRK_E_RANGE when the address lies in no band.
 *
 * Allocates: no. Blocks: no. Signal-safe: yes. Threads: any. Rules: [M-4].
 */
TRK_MUST_USE enum trk_status trk_page_index(uint64_t guest_addr, uint32_t *out);

/**
 * Give the guest address of a packed byte offset: the inverse of the packing.
 *
 * @return TRK_OK, or TRK_E_RANGE when the offset lies in page 0 or behind the last band.
 *
 * Allocates: no. Blocks: no. Signal-safe: yes. Threads: any. Rules: [M-4].
 */
TRK_MUST_USE enum trk_status trk_guest_address(uint64_t packed_offset_bytes, uint64_t *out);

/* The region number of a valid address, and a region's first address. */
static inline uint32_t trk_region_index(uint64_t guest_addr)
{
    uint64_t packed =
        guest_addr < TRK_LOW_END ? guest_addr : guest_addr - TRK_ARENA_FIRST + TRK_LOW_END;
    return (uint32_t)(packed / TRK_REGION_BYTES);
}

static inline uint64_t trk_region_address(uint32_t region)
{
    uint64_t packed = (uint64_t)region * TRK_REGION_BYTES;
    return packed < TRK_LOW_END ? packed : packed - TRK_LOW_END + TRK_ARENA_FIRST;
}

TRK_EXTERN_C_END

#endif
