/*
 * The part of the session object that carries the contents of uploaded pages.
 *
 * A thread of the program takes a free slot, copies the page into it and hands it over; the drain
 * takes the bytes and gives the slot back. A table of hashes keeps contents that were handed over
 * before from being handed over again; what it forgets is sent twice, and written once. A slot
 * whose thread dies while it fills it is lost. The object is sparse: what nobody uses takes no
 * memory.
 */
#ifndef RECORDER_SESSION_PAGES_H
#define RECORDER_SESSION_PAGES_H

#include <stdatomic.h>
#include <stdint.h>

#define TRK_SESSION_PAGE_SLOTS 4096u
#define TRK_SESSION_PAGE_BYTES 4096u
#define TRK_SESSION_PAGE_SEEN  65536u

/* FREE -> (program) FILLING -> FULL -> (parent) FREE. */
enum trk_session_page_state {
    TRK_PAGE_SLOT_FREE = 0,
    TRK_PAGE_SLOT_FILLING = 1,
    TRK_PAGE_SLOT_FULL = 2,
};

struct trk_session_pages {
    _Atomic uint32_t states[TRK_SESSION_PAGE_SLOTS];
    _Atomic uint64_t seen[TRK_SESSION_PAGE_SEEN]; /* by the hash's low bits */
    uint8_t bytes[TRK_SESSION_PAGE_SLOTS][TRK_SESSION_PAGE_BYTES];
};

#endif
