#include "summary.h"

#include <stdlib.h>

#include "bytes.h"
#include "columns_model.h"
#include "crc32c.h"
#include "format.h"

/* Four numbers of at most 32 bits. */
#define DOMAIN_MAX_BYTES 20u

static int compare(const void *left, const void *right)
{
    uint32_t a = ((const struct trk_summary_domain *)left)->domain;
    uint32_t b = ((const struct trk_summary_domain *)right)->domain;
    return (a > b) - (a < b);
}

static enum trk_status make_room(struct trk_columns *columns, size_t size_bytes)
{
    if (size_bytes <= columns->summary_room) {
        return TRK_OK;
    }
    uint8_t *larger = realloc(columns->summary, size_bytes);
    if (larger == NULL) {
        return TRK_E_MEMORY;
    }
    columns->summary = larger;
    columns->summary_room = size_bytes;
    return TRK_OK;
}

static size_t put(uint8_t *to, const struct trk_summary_domain *domains, uint32_t count)
{
    uint8_t *at = to + TRK_FORMAT_FRAME_PREFIX;
    uint32_t last = 0;
    at = trk_bytes_put_leb(at, count);
    for (uint32_t i = 0; i < count; i++) {
        at = trk_bytes_put_leb(at, domains[i].domain - last);
        at = trk_bytes_put_leb(at, domains[i].first);
        at =
            trk_bytes_put_leb(at, trk_bytes_zigzag((int32_t)(domains[i].ended - domains[i].first)));
        at = trk_bytes_put_leb(at, domains[i].ends);
        last = domains[i].domain;
    }
    size_t size_bytes = (size_t)(at - to) + 4;
    trk_bytes_put32(to, TRK_FORMAT_FRAME_SUMMARY);
    trk_bytes_put32(to + 4, (uint32_t)(size_bytes - TRK_FORMAT_FRAME_PREFIX));
    trk_bytes_put32(at, trk_crc32c_update(0, to, size_bytes - 4));
    return size_bytes;
}

enum trk_status trk_summary_make(struct trk_columns *columns, const uint8_t **frame,
                                 size_t *size_bytes)
{
    const struct trk_columns_model *model = &columns->model;
    uint32_t count = model->used_count;
    *frame = NULL;
    *size_bytes = 0;
    if (count == 0) {
        return TRK_OK;
    }
    /* The list that is sorted stands behind the room for the frame. */
    size_t frame_room =
        (TRK_FORMAT_FRAME_PREFIX + TRK_BYTES_LEB_MAX + (size_t)count * DOMAIN_MAX_BYTES + 4 + 7) &
        ~(size_t)7;
    if (make_room(columns, frame_room + count * sizeof(struct trk_summary_domain)) != TRK_OK) {
        return TRK_E_MEMORY;
    }
    struct trk_summary_domain *domains =
        (struct trk_summary_domain *)(void *)(columns->summary + frame_room);
    for (uint32_t i = 0; i < count; i++) {
        const struct trk_columns_domain *slot = &model->domains[model->used[i]];
        domains[i] =
            (struct trk_summary_domain){slot->domain, slot->first, slot->ended, slot->ends};
    }
    qsort(domains, count, sizeof *domains, compare);
    *size_bytes = put(columns->summary, domains, count);
    *frame = columns->summary;
    return TRK_OK;
}

bool trk_summary_sealed(const uint8_t *frame, size_t size_bytes)
{
    return size_bytes > TRK_FORMAT_FRAME_PREFIX + 4 &&
           trk_bytes_get32(frame) == TRK_FORMAT_FRAME_SUMMARY &&
           trk_bytes_get32(frame + 4) == size_bytes - TRK_FORMAT_FRAME_PREFIX &&
           trk_bytes_get32(frame + size_bytes - 4) == trk_crc32c_update(0, frame, size_bytes - 4);
}

bool trk_summary_begin(struct trk_summary_cursor *cursor, const uint8_t *frame, size_t size_bytes)
{
    *cursor = (struct trk_summary_cursor){.end = frame + size_bytes - 4};
    cursor->at = trk_bytes_get_leb(frame + TRK_FORMAT_FRAME_PREFIX, cursor->end, &cursor->left);
    return cursor->at != NULL;
}

bool trk_summary_next(struct trk_summary_cursor *cursor, struct trk_summary_domain *out)
{
    uint64_t number[4];
    if (cursor->left == 0) {
        return false;
    }
    for (unsigned i = 0; i < 4; i++) {
        const uint8_t *at = trk_bytes_get_leb(cursor->at, cursor->end, &number[i]);
        if (at == NULL || number[i] > UINT32_MAX) {
            return false;
        }
        cursor->at = at;
    }
    cursor->left--;
    cursor->domain += (uint32_t)number[0];
    *out = (struct trk_summary_domain){
        .domain = cursor->domain,
        .first = (uint32_t)number[1],
        .ended = (uint32_t)number[1] + (uint32_t)trk_bytes_unzigzag(number[2]),
        .ends = (uint32_t)number[3],
    };
    return true;
}

bool trk_summary_done(const struct trk_summary_cursor *cursor)
{
    return cursor->left == 0 && cursor->at == cursor->end;
}
