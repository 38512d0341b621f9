/*
 * The program's side of the contents of pages.
 *
 * The hash is taken of the copy: the guest may store to the page meanwhile, and the event must name
 * the bytes that are kept. Without a free slot nothing waits: the hash is written all the same.
 */
#include "capture_emit.h"
#include "recorder/page_hash.h"
#include "session_layout.h"

/* So many slots are tried: when as many in a row are taken, so are most. */
#define TRIES 16u

static _Atomic uint32_t next_slot; /* where the next look begins */

static uint32_t claim_slot(struct trk_session_pages *pages)
{
    uint32_t first = atomic_fetch_add_explicit(&next_slot, 1, memory_order_relaxed);
    for (uint32_t i = 0; i < TRIES; ++i) {
        uint32_t slot = (first + i) % TRK_SESSION_PAGE_SLOTS;
        uint32_t state = TRK_PAGE_SLOT_FREE;
        if (atomic_compare_exchange_strong_explicit(&pages->states[slot], &state,
                                                    TRK_PAGE_SLOT_FILLING, memory_order_acquire,
                                                    memory_order_relaxed))
            return slot;
    }
    return TRK_SESSION_PAGE_SLOTS;
}

uint64_t trk_capture_keep_page(struct trk_session_control *control, struct trk_session_pages *pages,
                               const void *bytes)
{
    uint32_t slot = claim_slot(pages);
    if (slot == TRK_SESSION_PAGE_SLOTS) {
        atomic_fetch_add_explicit(&control->pages_missed, 1, memory_order_relaxed);
        return trk_page_hash(bytes, TRK_SESSION_PAGE_BYTES);
    }
    memcpy(pages->bytes[slot], bytes, TRK_SESSION_PAGE_BYTES);
    uint64_t hash = trk_page_hash(pages->bytes[slot], TRK_SESSION_PAGE_BYTES);
    _Atomic uint64_t *seen = &pages->seen[hash % TRK_SESSION_PAGE_SEEN];
    if (hash != 0 && atomic_load_explicit(seen, memory_order_relaxed) == hash) {
        atomic_store_explicit(&pages->states[slot], TRK_PAGE_SLOT_FREE, memory_order_release);
        return hash;
    }
    atomic_store_explicit(&pages->states[slot], TRK_PAGE_SLOT_FULL, memory_order_release);
    atomic_store_explicit(seen, hash, memory_order_relaxed);
    return hash;
}
