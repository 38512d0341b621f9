#include "blob_batch.h"

#include <stdlib.h>
#include <string.h>

#include "blob_chunk.h"
#include "recorder/page_hash.h"

#define FIRST_SLOTS 1024u

struct trk_blob_batch {
    uint64_t *slots; /* hashes of what the file has, by their low bits; 0: free */
    size_t slot_count;
    size_t used;    /* slots */
    bool has_zero;  /* the hash that looks like a free slot */
    uint32_t pages; /* gathered */
    uint8_t frame[TRK_BLOB_FRAME_BYTES(TRK_BLOB_BATCH_PAGES)];
    uint8_t bytes[TRK_BLOB_BATCH_PAGES * TRK_FORMAT_BLOB_BYTES];
};

struct trk_blob_batch *trk_blob_batch_create(void)
{
    struct trk_blob_batch *batch = calloc(1, sizeof *batch);
    uint64_t *slots = calloc(FIRST_SLOTS, sizeof *slots);
    if (batch == NULL || slots == NULL) {
        free(batch);
        free(slots);
        return NULL;
    }
    batch->slots = slots;
    batch->slot_count = FIRST_SLOTS;
    return batch;
}

void trk_blob_batch_destroy(struct trk_blob_batch *batch)
{
    if (batch != NULL) {
        free(batch->slots);
        free(batch);
    }
}

/* The hash's own slot, or the free one where it belongs. */
static uint64_t *find(const struct trk_blob_batch *batch, uint64_t hash)
{
    size_t at = (size_t)hash & (batch->slot_count - 1);
    while (batch->slots[at] != 0 && batch->slots[at] != hash) {
        at = (at + 1) & (batch->slot_count - 1);
    }
    return &batch->slots[at];
}

static enum trk_status grow(struct trk_blob_batch *batch)
{
    struct trk_blob_batch larger = {.slot_count = 2 * batch->slot_count};
    if (2 * (batch->used + 1) <= batch->slot_count) {
        return TRK_OK;
    }
    larger.slots = calloc(larger.slot_count, sizeof *larger.slots);
    if (larger.slots == NULL) {
        return TRK_E_MEMORY;
    }
    for (size_t i = 0; i < batch->slot_count; i++) {
        if (batch->slots[i] != 0) {
            *find(&larger, batch->slots[i]) = batch->slots[i];
        }
    }
    free(batch->slots);
    batch->slots = larger.slots;
    batch->slot_count = larger.slot_count;
    return TRK_OK;
}

/* Note a hash; whether it is new. */
static enum trk_status note(struct trk_blob_batch *batch, uint64_t hash, bool *is_new)
{
    if (hash == 0) {
        *is_new = !batch->has_zero;
        batch->has_zero = true;
        return TRK_OK;
    }
    *is_new = *find(batch, hash) == 0;
    if (!*is_new) {
        return TRK_OK;
    }
    if (grow(batch) != TRK_OK) {
        return TRK_E_MEMORY;
    }
    *find(batch, hash) = hash;
    batch->used++;
    return TRK_OK;
}

enum trk_status trk_blob_batch_add(struct trk_blob_batch *batch, struct trk_output *output,
                                   const void *bytes, struct trk_error *error)
{
    bool is_new = false;
    if (trk_blob_batch_count(batch) == TRK_FORMAT_BLOBS_MAX) {
        return TRK_OK;
    }
    if (note(batch, trk_page_hash(bytes, TRK_FORMAT_BLOB_BYTES), &is_new) != TRK_OK) {
        return trk_error_set(error, TRK_E_MEMORY, "no memory to write the trace");
    }
    if (!is_new) {
        return TRK_OK;
    }
    memcpy(batch->bytes + (size_t)batch->pages * TRK_FORMAT_BLOB_BYTES, bytes,
           TRK_FORMAT_BLOB_BYTES);
    batch->pages++;
    return batch->pages == TRK_BLOB_BATCH_PAGES ? trk_blob_batch_flush(batch, output, error)
                                                : TRK_OK;
}

enum trk_status trk_blob_batch_flush(struct trk_blob_batch *batch, struct trk_output *output,
                                     struct trk_error *error)
{
    struct trk_format_chunk chunk = {.kind = TRK_FORMAT_BLOB, .stream = TRK_FORMAT_NO_STREAM};
    uint32_t pages = batch->pages;
    if (pages == 0) {
        return TRK_OK;
    }
    batch->pages = 0;
    trk_blob_chunk_frame(batch->frame, batch->bytes, pages);
    trk_output_summary(output, batch->frame, TRK_BLOB_FRAME_BYTES(pages));
    return trk_output_chunk(output, &chunk, batch->bytes, (size_t)pages * TRK_FORMAT_BLOB_BYTES,
                            error);
}

uint64_t trk_blob_batch_count(const struct trk_blob_batch *batch)
{
    return batch->used + batch->has_zero;
}
