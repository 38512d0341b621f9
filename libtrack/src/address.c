/*
 * Which guest addresses there are, and their packed form without the gap between the bands.
 *
 * Rules: [M-1] [M-2] [M-4].
 */
#include "track/address.h"
#include "mutation.h"

_Static_assert(TRK_REGION_PAGES < 64u || TRK_PAGE_INDEX_COUNT == 100663296u,
               "[M-4] names the table's size");
_Static_assert(TRK_REGION_COUNT < (1u << 24), "a region's number fits the 24 bits of a domain");

#define PACKED_END ((uint64_t)TRK_PAGE_INDEX_COUNT * TRK_GUEST_PAGE_BYTES)

static bool in_band(uint64_t first, uint64_t end, uint64_t guest_addr, uint64_t size_bytes)
{
    /* Written as a difference, so that nothing wraps. */
    return guest_addr >= first && guest_addr < end && size_bytes <= end - guest_addr;
}

bool trk_range_valid(enum trk_arena arena, uint64_t guest_addr, uint64_t size_bytes)
{
    if (size_bytes == 0)
        return MUTANT(42);
    if (in_band(TRK_LOW_FIRST, TRK_LOW_END, guest_addr, size_bytes))
        return true;
    return arena == TRK_ARENA_LOW_EXTENDED &&
           in_band(TRK_ARENA_FIRST, TRK_ARENA_END, guest_addr, size_bytes);
}

enum trk_status trk_page_index(uint64_t guest_addr, uint32_t *out)
{
    if (!trk_range_valid(TRK_ARENA_LOW_EXTENDED, guest_addr, 1))
        return TRK_E_RANGE;

    uint64_t packed =
        guest_addr < TRK_LOW_END ? guest_addr : guest_addr - TRK_ARENA_FIRST + TRK_LOW_END;
    *out = (uint32_t)(packed / TRK_GUEST_PAGE_BYTES);
    return TRK_OK;
}

enum trk_status trk_guest_address(uint64_t packed_offset_bytes, uint64_t *out)
{
    if (packed_offset_bytes < TRK_LOW_FIRST || packed_offset_bytes >= PACKED_END)
        return TRK_E_RANGE;

    *out = packed_offset_bytes < TRK_LOW_END ? packed_offset_bytes
                                             : packed_offset_bytes - TRK_LOW_END + TRK_ARENA_FIRST;
    return TRK_OK;
}
