/* Reading the contents of pages. */
#include "blob_list.h"

#include <stdlib.h>
#include <string.h>

#include "blob_chunk.h"
#include "reader.h"
#include "recorder/blobs.h"
#include "recorder/page_hash.h"

_Static_assert(TRK_BLOB_BYTES == TRK_FORMAT_BLOB_BYTES, "one size");

void trk_blob_list_deinit(struct trk_blob_list *list)
{
    for (size_t i = 0; i < TRK_BLOB_CACHED; i++) {
        free(list->cached[i].bytes);
    }
    free(list->offsets);
    free(list->entries);
    *list = (struct trk_blob_list){.loaded = false};
}

enum trk_status trk_blob_list_add(struct trk_blob_list *list, uint64_t offset)
{
    if (list->chunk_count == TRK_FORMAT_CHUNKS_MAX) {
        return TRK_E_DAMAGED;
    }
    if (list->chunk_count == list->chunk_room) {
        size_t room = list->chunk_room == 0 ? 64 : 2 * list->chunk_room;
        uint64_t *offsets = realloc(list->offsets, room * sizeof *offsets);
        if (offsets == NULL) {
            return TRK_E_MEMORY;
        }
        list->offsets = offsets;
        list->chunk_room = room;
    }
    list->offsets[list->chunk_count++] = offset;
    return TRK_OK;
}

static enum trk_status no_memory(struct trk_error *error)
{
    return trk_error_set(error, TRK_E_MEMORY, "no memory for the pages of the trace");
}

static enum trk_status add_entries(struct trk_blob_list *list, const uint8_t *frame, uint32_t chunk,
                                   uint32_t pages)
{
    if (list->entry_count + pages > TRK_FORMAT_BLOBS_MAX) {
        return TRK_OK; /* [F-3] what is past the limit is not there */
    }
    if (list->entry_count + pages > list->entry_room) {
        size_t room = 2 * (list->entry_count + pages);
        struct trk_blob_entry *entries = realloc(list->entries, room * sizeof *entries);
        if (entries == NULL) {
            return TRK_E_MEMORY;
        }
        list->entries = entries;
        list->entry_room = room;
    }
    for (uint32_t i = 0; i < pages; i++) {
        list->entries[list->entry_count++] =
            (struct trk_blob_entry){trk_blob_chunk_hash(frame, i), chunk, i};
    }
    return TRK_OK;
}

/* Take the hashes of a chunk: from its frame, or where that is damaged from its pages. */
static enum trk_status load_chunk(struct trk_trace *trace, uint32_t number, struct trk_error *error)
{
    struct trk_unpack *unpack = &trace->unpack;
    struct trk_blob_list *list = &trace->index.blobs;
    uint64_t offset = list->offsets[number];
    struct trk_format_chunk chunk;
    enum trk_status status = trk_unpack_header(unpack, offset, &chunk, error);
    uint32_t pages = status == TRK_OK ? trk_blob_chunk_pages(&chunk) : 0;
    if (status == TRK_OK && (chunk.kind != TRK_FORMAT_BLOB || pages == 0)) {
        status = TRK_E_DAMAGED; /* the file was rewritten since the scan */
    }
    if (status != TRK_OK) {
        return status;
    }
    status = trk_unpack_summary(unpack, offset, &chunk, error);
    if (status == TRK_OK && trk_blob_chunk_sealed(unpack->body, chunk.summary_bytes, pages)) {
        return add_entries(list, unpack->body, number, pages);
    }
    if (status == TRK_OK) {
        status = trk_unpack_payload(unpack, offset, &chunk, error);
    }
    if (status != TRK_OK) {
        return status;
    }
    uint8_t *frame = malloc(TRK_BLOB_FRAME_BYTES(pages));
    if (frame == NULL) {
        return TRK_E_MEMORY;
    }
    trk_blob_chunk_frame(frame, unpack->raw, pages);
    status = add_entries(list, frame, number, pages);
    free(frame);
    return status;
}

/* Equal hashes: the one that stands first in the file. */
static int compare(const void *left, const void *right)
{
    const struct trk_blob_entry *a = left;
    const struct trk_blob_entry *b = right;
    if (a->hash != b->hash) {
        return a->hash < b->hash ? -1 : 1;
    }
    if (a->chunk != b->chunk) {
        return a->chunk < b->chunk ? -1 : 1;
    }
    return (a->place > b->place) - (a->place < b->place);
}

static enum trk_status load(struct trk_trace *trace, struct trk_error *error)
{
    struct trk_blob_list *list = &trace->index.blobs;
    enum trk_status status = trk_trace_scan(trace, error);
    if (status != TRK_OK || list->loaded) {
        return status;
    }
    list->entry_count = 0;
    for (size_t i = 0; i < list->chunk_count && status == TRK_OK; i++) {
        status = load_chunk(trace, (uint32_t)i, error);
        status = trk_unpack_is_damage(status) ? TRK_OK : status;
    }
    if (status != TRK_OK) {
        return status == TRK_E_MEMORY ? no_memory(error) : status;
    }
    if (list->entry_count > 0) {
        qsort(list->entries, list->entry_count, sizeof list->entries[0], compare);
    }
    size_t kept = 0; /* a content that is there twice counts once */
    for (size_t i = 0; i < list->entry_count; i++) {
        if (kept == 0 || list->entries[kept - 1].hash != list->entries[i].hash) {
            list->entries[kept++] = list->entries[i];
        }
    }
    list->entry_count = kept;
    list->loaded = true;
    return TRK_OK;
}

static const struct trk_blob_entry *find(const struct trk_blob_list *list, uint64_t hash)
{
    size_t first = 0;
    size_t end = list->entry_count;
    while (first < end) {
        size_t middle = first + (end - first) / 2;
        if (list->entries[middle].hash < hash) {
            first = middle + 1;
        } else {
            end = middle;
        }
    }
    return first < list->entry_count && list->entries[first].hash == hash ? &list->entries[first]
                                                                          : NULL;
}

/* Unpack a chunk over the one that was not asked for longest. */
static enum trk_status bring(struct trk_trace *trace, uint32_t number, struct trk_blob_cached **out,
                             struct trk_error *error)
{
    struct trk_blob_list *list = &trace->index.blobs;
    struct trk_blob_cached *cached = &list->cached[0];
    for (size_t i = 0; i < TRK_BLOB_CACHED; i++) {
        struct trk_blob_cached *each = &list->cached[i];
        if (each->bytes != NULL && each->chunk == number) {
            *out = each;
            return TRK_OK;
        }
        cached = each->used < cached->used ? each : cached;
    }
    struct trk_format_chunk chunk;
    enum trk_status status =
        trk_unpack_header(&trace->unpack, list->offsets[number], &chunk, error);
    if (status == TRK_OK) {
        status = trk_unpack_payload(&trace->unpack, list->offsets[number], &chunk, error);
    }
    if (status != TRK_OK) {
        return status;
    }
    uint8_t *bytes = malloc((size_t)chunk.raw_bytes + 1);
    if (bytes == NULL) {
        return TRK_E_MEMORY;
    }
    memcpy(bytes, trace->unpack.raw, chunk.raw_bytes);
    free(cached->bytes);
    *cached = (struct trk_blob_cached){.bytes = bytes, .chunk = number};
    *out = cached;
    return TRK_OK;
}

enum trk_status trk_trace_blob(struct trk_trace *trace, uint64_t hash, const void **bytes,
                               struct trk_error *error)
{
    struct trk_blob_list *list = &trace->index.blobs;
    *bytes = NULL;
    enum trk_status status = load(trace, error);
    const struct trk_blob_entry *entry = status == TRK_OK ? find(list, hash) : NULL;
    if (status != TRK_OK || entry == NULL) {
        return status != TRK_OK ? status : TRK_E_END;
    }
    struct trk_blob_cached *cached = NULL;
    status = bring(trace, entry->chunk, &cached, error);
    if (status == TRK_E_MEMORY) {
        return no_memory(error);
    }
    const uint8_t *page =
        status == TRK_OK ? cached->bytes + (size_t)entry->place * TRK_BLOB_BYTES : NULL;
    if (trk_unpack_is_damage(status) ||
        (page != NULL && trk_page_hash(page, TRK_BLOB_BYTES) != hash)) {
        trk_error_set(error, TRK_E_DAMAGED, "the pages of a chunk are damaged");
        if (error != NULL) {
            error->file_offset = list->offsets[entry->chunk];
        }
        return TRK_E_DAMAGED;
    }
    if (status == TRK_OK) {
        cached->used = ++list->asked;
        *bytes = page;
    }
    return status;
}

enum trk_status trk_trace_blob_known(struct trk_trace *trace, uint64_t hash,
                                     struct trk_error *error)
{
    enum trk_status status = load(trace, error);
    if (status == TRK_OK && find(&trace->index.blobs, hash) == NULL) {
        status = TRK_E_END;
    }
    return status;
}

enum trk_status trk_trace_blob_count(struct trk_trace *trace, uint64_t *count,
                                     struct trk_error *error)
{
    enum trk_status status = load(trace, error);
    *count = status == TRK_OK ? trace->index.blobs.entry_count : 0;
    return status;
}

enum trk_status trk_writer_copy_blobs(struct trk_writer *writer, struct trk_trace *trace,
                                      trk_blob_wanted_fn *wanted, void *context,
                                      struct trk_error *error)
{
    struct trk_blob_list *list = &trace->index.blobs;
    enum trk_status status = trk_trace_scan(trace, error);
    for (size_t i = 0; i < list->chunk_count && status == TRK_OK; i++) {
        struct trk_format_chunk chunk;
        status = trk_unpack_header(&trace->unpack, list->offsets[i], &chunk, error);
        if (status == TRK_OK) {
            status = trk_unpack_payload(&trace->unpack, list->offsets[i], &chunk, error);
        }
        if (trk_unpack_is_damage(status)) {
            status = TRK_OK;
            continue;
        }
        uint32_t pages = status == TRK_OK ? trk_blob_chunk_pages(&chunk) : 0;
        for (uint32_t page = 0; page < pages && status == TRK_OK; page++) {
            const uint8_t *bytes = trace->unpack.raw + (size_t)page * TRK_BLOB_BYTES;
            if (wanted == NULL || wanted(context, trk_page_hash(bytes, TRK_BLOB_BYTES))) {
                status = trk_writer_blob(writer, bytes, error);
            }
        }
    }
    return status;
}
