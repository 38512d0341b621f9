/*
 * Policies: presets, check, one-word form, and the words of the scenario format.
 */
#include "track/policy.h"

#include <string.h>

/*
 * The word: invalidate in bits 0..3, download 4..7, arena 8..11, fault width 12..19, page size in
 * 16-byte units 20..35 (65536 itself would not fit 16 bits), generations 36, all else 0. Zero is no
 * policy.
 */
#define DOWNLOAD_SHIFT    4
#define ARENA_SHIFT       8
#define FAULT_WIDTH_SHIFT 12
#define PAGE_SIZE_SHIFT   20
#define GENERATIONS_SHIFT 36
#define PAGE_SIZE_UNIT    16u

enum trk_status trk_policy_preset(const char *name, struct trk_policy *out)
{
    struct trk_policy policy = {
        .invalidate = TRK_INVALIDATE_VERIFY,
        .download = TRK_DOWNLOAD_PER_REGION,
        .arena = TRK_ARENA_LOW_EXTENDED,
        .fault_width_bytes = 1,
        .page_size_bytes = 4096,
    };

    if (strcmp(name, "default") == 0) {
        /* As above. */
    } else if (strcmp(name, "strict") == 0) {
        policy.invalidate = TRK_INVALIDATE_STRICT;
    } else if (strcmp(name, "kyty-2026-08") == 0) {
        policy.invalidate = TRK_INVALIDATE_PER_REGION;
        policy.download = TRK_DOWNLOAD_ALL_REGIONS;
        policy.arena = TRK_ARENA_LOW;
        policy.fault_width_bytes = 8;
    } else {
        return TRK_E_ARGUMENT;
    }

    *out = policy;
    return TRK_OK;
}

enum trk_status trk_policy_check(const struct trk_policy *policy)
{
    /* Through unsigned: the values may come from a file, and an enum may be signed or not. */
    bool known = (unsigned)policy->invalidate <= TRK_INVALIDATE_PER_REGION &&
                 (unsigned)policy->download <= TRK_DOWNLOAD_ALL_REGIONS &&
                 (unsigned)policy->arena <= TRK_ARENA_LOW;
    bool width = policy->fault_width_bytes == 1 || policy->fault_width_bytes == 8;
    bool page = policy->page_size_bytes == 4096 || policy->page_size_bytes == 16384 ||
                policy->page_size_bytes == 65536;
    return known && width && page ? TRK_OK : TRK_E_ARGUMENT;
}

uint64_t trk_policy_pack(const struct trk_policy *policy)
{
    return (uint64_t)policy->invalidate | (uint64_t)policy->download << DOWNLOAD_SHIFT |
           (uint64_t)policy->arena << ARENA_SHIFT |
           (uint64_t)policy->fault_width_bytes << FAULT_WIDTH_SHIFT |
           (uint64_t)(policy->page_size_bytes / PAGE_SIZE_UNIT) << PAGE_SIZE_SHIFT |
           (uint64_t)policy->generations << GENERATIONS_SHIFT;
}

enum trk_status trk_policy_unpack(uint64_t word, struct trk_policy *out)
{
    struct trk_policy policy = {
        .invalidate = (enum trk_invalidate_policy)(word & 15u),
        .download = (enum trk_download_policy)(word >> DOWNLOAD_SHIFT & 15u),
        .arena = (enum trk_arena)(word >> ARENA_SHIFT & 15u),
        .fault_width_bytes = (uint32_t)(word >> FAULT_WIDTH_SHIFT & 0xffu),
        .page_size_bytes = (uint32_t)(word >> PAGE_SIZE_SHIFT & 0xffffu) * PAGE_SIZE_UNIT,
        .generations = word >> GENERATIONS_SHIFT & 1u,
    };

    /* Packing again finds bits that belong to no field. */
    if (trk_policy_check(&policy) != TRK_OK || trk_policy_pack(&policy) != word)
        return TRK_E_ARGUMENT;
    *out = policy;
    return TRK_OK;
}

const char *trk_invalidate_policy_name(enum trk_invalidate_policy value)
{
    switch (value) {
    case TRK_INVALIDATE_VERIFY:
        return "verify";
    case TRK_INVALIDATE_STRICT:
        return "strict";
    case TRK_INVALIDATE_PER_REGION:
        return "per-region";
    }
    return "?";
}

const char *trk_download_policy_name(enum trk_download_policy value)
{
    switch (value) {
    case TRK_DOWNLOAD_PER_REGION:
        return "per-region";
    case TRK_DOWNLOAD_ALL_REGIONS:
        return "all-regions";
    }
    return "?";
}

const char *trk_arena_name(enum trk_arena value)
{
    switch (value) {
    case TRK_ARENA_LOW_EXTENDED:
        return "low+extended";
    case TRK_ARENA_LOW:
        return "low";
    }
    return "?";
}
