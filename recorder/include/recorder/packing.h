/*
 * Numbers and bytes one behind the other, as SNAPSHOT chunks hold them: LEB128, and plain bytes.
 *
 * Writing remembers a want of memory, and reading that something was not there: who packs or
 * unpacks asks once, at the end.
 */
#ifndef RECORDER_PACKING_H
#define RECORDER_PACKING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "track/macros.h"

TRK_EXTERN_C_BEGIN

/* Zero-initialised is empty; bytes is to be freed. */
struct trk_packing {
    uint8_t *bytes;
    size_t size_bytes, room_bytes;
    bool failed; /* no memory: what is there is not all */
};

void trk_packing_number(struct trk_packing *packing, uint64_t number);
void trk_packing_bytes(struct trk_packing *packing, const void *bytes, size_t size_bytes);

struct trk_unpacking {
    const uint8_t *at, *end;
    bool failed; /* something was not there, or was above its limit */
};

/* 0 when it fails. */
uint64_t trk_unpacking_number(struct trk_unpacking *unpacking, uint64_t most);
/* So many bytes, in place; NULL when it fails. */
const uint8_t *trk_unpacking_bytes(struct trk_unpacking *unpacking, size_t size_bytes);

TRK_EXTERN_C_END

#endif
