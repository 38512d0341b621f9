#include "record_pages.h"

#include <string.h>

#include "recorder/blobs.h"

#define SCARCE_SLOTS (TRK_SESSION_PAGE_SLOTS / 8)

/* The bytes are copied first: the program may write over them while they are looked at. */
static void take_page(struct trk_record_drain *drain, uint32_t slot, struct trk_error *error)
{
    uint8_t page[TRK_SESSION_PAGE_BYTES];
    memcpy(page, drain->session->pages->bytes[slot], sizeof page);
    if (drain->status == TRK_OK && drain->writer)
        drain->status = trk_writer_blob(drain->writer, page, error);
}

bool trk_record_pages_take(struct trk_record_drain *drain, struct trk_error *error)
{
    struct trk_session_pages *pages = drain->session->pages;
    uint32_t held = 0;
    for (uint32_t i = 0; drain->keeps_pages && i < TRK_SESSION_PAGE_SLOTS; ++i) {
        uint32_t state = atomic_load_explicit(&pages->states[i], memory_order_acquire);
        if (state != TRK_PAGE_SLOT_FULL)
            continue;
        held += 1;
        if (drain->page_taken[i])
            continue;
        take_page(drain, i, error);
        if (drain->book)
            drain->page_taken[i] = true;
        else
            atomic_store_explicit(&pages->states[i], TRK_PAGE_SLOT_FREE, memory_order_release);
    }
    drain->behind = drain->behind || (drain->book && held >= SCARCE_SLOTS);
    return held >= SCARCE_SLOTS;
}

void trk_record_pages_settle(struct trk_record_drain *drain)
{
    for (uint32_t i = 0; drain->keeps_pages && i < TRK_SESSION_PAGE_SLOTS; ++i) {
        if (drain->page_taken[i])
            atomic_store_explicit(&drain->session->pages->states[i], TRK_PAGE_SLOT_FREE,
                                  memory_order_release);
        drain->page_taken[i] = false;
    }
}
