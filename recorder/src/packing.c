#include "recorder/packing.h"

#include <stdlib.h>
#include <string.h>

#include "bytes.h"

void trk_packing_bytes(struct trk_packing *packing, const void *bytes, size_t size_bytes)
{
    if (packing->size_bytes + size_bytes > packing->room_bytes) {
        size_t room = 2 * packing->room_bytes + size_bytes + 64;
        uint8_t *larger = realloc(packing->bytes, room);
        if (larger == NULL) {
            packing->failed = true;
            return;
        }
        packing->bytes = larger;
        packing->room_bytes = room;
    }
    if (size_bytes > 0) {
        memcpy(packing->bytes + packing->size_bytes, bytes, size_bytes);
        packing->size_bytes += size_bytes;
    }
}

void trk_packing_number(struct trk_packing *packing, uint64_t number)
{
    uint8_t bytes[TRK_BYTES_LEB_MAX];
    trk_packing_bytes(packing, bytes, (size_t)(trk_bytes_put_leb(bytes, number) - bytes));
}

uint64_t trk_unpacking_number(struct trk_unpacking *unpacking, uint64_t most)
{
    uint64_t number = 0;
    const uint8_t *at =
        unpacking->failed ? NULL : trk_bytes_get_leb(unpacking->at, unpacking->end, &number);
    if (at == NULL || number > most) {
        unpacking->failed = true;
        return 0;
    }
    unpacking->at = at;
    return number;
}

const uint8_t *trk_unpacking_bytes(struct trk_unpacking *unpacking, size_t size_bytes)
{
    if (unpacking->failed || size_bytes > (size_t)(unpacking->end - unpacking->at)) {
        unpacking->failed = true;
        return NULL;
    }
    unpacking->at += size_bytes;
    return unpacking->at - size_bytes;
}
