/* Contents of pages that the trace recorded: found by their hashes, kept once each. */
#include "plan_internal.h"

#include <stdlib.h>
#include <string.h>

#include "recorder/blobs.h"
#include "replayer/content.h"

_Static_assert(TRK_BLOB_BYTES == TRK_PLAN_PAGE_BYTES, "a content is a page");

/* Hashes that were asked for; open addressing, never more than half full. */
struct known {
    uint64_t hash;
    uint32_t page; /* as in an item */
    bool asked;
};

struct reading {
    struct trk_plan *plan;
    struct trk_trace *trace;
    struct known *known;
    size_t known_mask; /* their number, a power of two, less one */
    uint8_t *pages;
    size_t capacity;
};

static struct known *known_place(const struct reading *reading, uint64_t hash)
{
    size_t at = (size_t)(hash ^ hash >> 29) & reading->known_mask;
    while (reading->known[at].asked && reading->known[at].hash != hash) {
        at = (at + 1) & reading->known_mask;
    }
    return &reading->known[at];
}

static enum trk_status page_read(struct reading *reading, struct known *known,
                                 struct trk_error *error)
{
    struct trk_plan *plan = reading->plan;
    const void *bytes = NULL;
    enum trk_status status = trk_trace_blob(reading->trace, known->hash, &bytes, error);
    if (status == TRK_E_END || status == TRK_E_DAMAGED) { /* its bytes are made up, then */
        plan->pages_damaged += status == TRK_E_DAMAGED;
        return TRK_OK;
    }
    if (status != TRK_OK) {
        return status;
    }
    void *pages = plan->page_count < UINT32_MAX ? plan_grow(reading->pages, plan->page_count,
                                                            &reading->capacity, TRK_PLAN_PAGE_BYTES)
                                                : NULL;
    if (pages == NULL) {
        return trk_error_set(error, TRK_E_MEMORY, "no memory for the trace's pages");
    }
    reading->pages = pages;
    memcpy(reading->pages + plan->page_count * TRK_PLAN_PAGE_BYTES, bytes, TRK_PLAN_PAGE_BYTES);
    known->page = (uint32_t)++plan->page_count;
    return TRK_OK;
}

static enum trk_status pages_read(struct reading *reading, struct plan_raws *raws,
                                  uint32_t end_frame, struct trk_error *error)
{
    for (size_t i = 0; i < raws->count; i++) {
        struct plan_raw *raw = &raws->all[i];
        if (!raw->hashed || raw->frame >= end_frame ||
            raw->item.size_bytes != TRK_PLAN_PAGE_BYTES) {
            continue;
        }
        struct known *known = known_place(reading, raw->item.content);
        if (!known->asked) {
            *known = (struct known){.hash = raw->item.content, .asked = true};
            enum trk_status status = page_read(reading, known, error);
            if (status != TRK_OK) {
                return status;
            }
        }
        raw->item.page = known->page;
    }
    return TRK_OK;
}

enum trk_status plan_pages(struct trk_plan *plan, struct plan_raws *raws, uint32_t end_frame,
                           struct trk_trace *trace, struct trk_error *error)
{
    struct reading reading = {.plan = plan, .trace = trace};
    uint64_t count = 0;
    size_t hashed = 0, room = 2;
    enum trk_status status = trk_trace_blob_count(trace, &count, error);
    if (status != TRK_OK || count == 0) {
        return status;
    }
    for (size_t i = 0; i < raws->count; i++) {
        hashed += raws->all[i].hashed;
    }
    while (room < 2 * hashed) {
        room *= 2;
    }
    reading.known_mask = room - 1;
    reading.known = calloc(room, sizeof *reading.known);
    if (reading.known == NULL) {
        return trk_error_set(error, TRK_E_MEMORY, "no memory for the trace's pages");
    }
    status = pages_read(&reading, raws, end_frame, error);
    plan->pages = reading.pages;
    free(reading.known);
    return status;
}

void trk_plan_store(const struct trk_plan *plan, const struct trk_plan_item *item, uint64_t at,
                    uint64_t size_bytes, void *out)
{
    if (item->page == 0) {
        trk_content_store(out, at, size_bytes, item->content);
        return;
    }
    const uint8_t *page = plan->pages + (size_t)(item->page - 1) * TRK_PLAN_PAGE_BYTES;
    memcpy(out, page + (at - item->offset), size_bytes);
}
