/*
 * What a foreign tracker notes, on a tape: tracker 2, at TAPE_A.
 */
#ifndef FOREIGN_TAPE_H
#define FOREIGN_TAPE_H

#include "verdict_case.h"

#define FOREIGN    2u
#define PAGE_BYTES UINT64_C(16384)
#define NOTES_ALL  (TRK_NOTES_LOCKS | TRK_NOTES_PROTECTION | TRK_NOTES_HANDED)

static inline void put(struct tape *tape, uint8_t type, uint64_t guest_addr, uint64_t size_bytes,
                       struct trk_event rest)
{
    rest.type = type;
    rest.argument = guest_addr;
    trk_event_set_size(&rest, size_bytes);
    tape_put(tape, &rest);
}

static inline void declare(struct tape *tape, unsigned notes)
{
    put(tape, TRK_EVENT_FOREIGN, 0, PAGE_BYTES,
        (struct trk_event){
            .page = FOREIGN, .flags = (uint8_t)notes, .context = TRK_BACKEND_MPROTECT});
}

static inline void begin(struct tape *tape, enum trk_op op, uint64_t guest_addr,
                         uint64_t size_bytes)
{
    uint8_t flags = op == TRK_OP_DOWNLOAD ? TRK_OP_FLAG_CLEAR : 0;
    put(tape, TRK_EVENT_OP_BEGIN, guest_addr, size_bytes,
        (struct trk_event){.page = FOREIGN, .context = (uint16_t)op, .flags = flags});
}

static inline void end_with(struct tape *tape, enum trk_op op, enum trk_status status,
                            uint64_t value)
{
    tape_put(tape, &(struct trk_event){.type = TRK_EVENT_OP_END,
                                       .argument = value,
                                       .context = (uint16_t)op,
                                       .flags = (uint8_t)status});
}

static inline void whole(struct tape *tape, enum trk_op op, uint64_t size_bytes)
{
    begin(tape, op, TAPE_A, size_bytes);
    end_with(tape, op, TRK_OK, 0);
}

static inline void hand(struct tape *tape, uint64_t guest_addr, uint64_t size_bytes)
{
    put(tape, TRK_EVENT_HANDED, guest_addr, size_bytes, (struct trk_event){.page = FOREIGN});
}

static inline void handing(struct tape *tape, enum trk_op op, uint64_t size_bytes)
{
    begin(tape, op, TAPE_A, size_bytes);
    hand(tape, TAPE_A, size_bytes);
    end_with(tape, op, TRK_OK, 1);
}

#endif
