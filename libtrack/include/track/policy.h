/*
 * Policies: the points where trackers of real emulators differ, chosen when a tracker is created.
 *
 * Keys and values are those of the scenario format; the trace header and the TRACKER event carry
 * them.
 */
#ifndef TRACK_POLICY_H
#define TRACK_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "track/address.h"

TRK_EXTERN_C_BEGIN

enum trk_invalidate_policy {
    TRK_INVALIDATE_VERIFY = 0,
    TRK_INVALIDATE_STRICT = 1,
    TRK_INVALIDATE_PER_REGION = 2,
};

enum trk_download_policy {
    TRK_DOWNLOAD_PER_REGION = 0,
    TRK_DOWNLOAD_ALL_REGIONS = 1,
};

struct trk_policy {
    enum trk_invalidate_policy invalidate;
    enum trk_download_policy download;
    enum trk_arena arena;
    uint32_t fault_width_bytes; /* 1 or 8: bytes that a fault is taken to touch */
    uint32_t page_size_bytes;   /* tracker page: 4096, 16384 or 65536 */
    bool generations;           /* 16 KiB pages have generations too: track/generations.h */
};

/**
 * Fill a policy from a preset's name: "default", "strict" or "kyty-2026-08".
 *
 * @return TRK_OK, or TRK_E_ARGUMENT for another name (out untouched).
 *
 * Allocates: no. Blocks: no. Signal-safe: yes. Threads: any.
 */
TRK_MUST_USE enum trk_status trk_policy_preset(const char *name, struct trk_policy *out);

/**
 * Say whether every field holds a legal value.
 *
 * @return TRK_OK or TRK_E_ARGUMENT.
 *
 * Allocates: no. Blocks: no. Signal-safe: yes. Threads: any.
 */
TRK_MUST_USE enum trk_status trk_policy_check(const struct trk_policy *policy);

/**
 * Put a policy into one 64-bit word and take it out again: the argument of the TRACKER event.
 *
 * unpack gives TRK_E_ARGUMENT for a word that pack never makes.
 *
 * Allocates: no. Blocks: no. Signal-safe: yes. Threads: any.
 */
uint64_t trk_policy_pack(const struct trk_policy *policy);
TRK_MUST_USE enum trk_status trk_policy_unpack(uint64_t word, struct trk_policy *out);

/* The word for a key's value, as the scenario format spells it ("verify", "per-region" ...). */
const char *trk_invalidate_policy_name(enum trk_invalidate_policy value);
const char *trk_download_policy_name(enum trk_download_policy value);
const char *trk_arena_name(enum trk_arena value);

TRK_EXTERN_C_END

#endif
