#include "output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>
#include <zstd.h>

#include "crc32c.h"
#include "index_chunk.h"
#include "totals.h"

struct trk_output {
    int fd;
    enum trk_status failed; /* status of the first failure, given again to all later calls */
    int os_errno;
    ZSTD_CCtx *zstd;
    uint8_t *packed;
    size_t packed_room;
    uint64_t bytes;
    uint32_t chunks;
    struct trk_totals totals;
    const uint8_t *summary; /* of the next chunk */
    size_t summary_bytes;
    uint64_t last_index; /* offset of the newest INDEX chunk; 0: there is none */
    bool plain;          /* no INDEX */
    uint32_t entry_count;
    struct trk_index_entry entries[TRK_FORMAT_INDEX_ENTRIES]; /* that are in no INDEX yet */
    uint8_t sync[TRK_FORMAT_SYNC_BYTES];
};

static enum trk_status fail(struct trk_output *output, enum trk_status status, int os_errno,
                            struct trk_error *error)
{
    output->failed = status;
    output->os_errno = os_errno;
    if (status == TRK_E_SYSTEM) {
        trk_error_set(error, status, "writing the trace failed: %s", strerror(os_errno));
    } else {
        trk_error_set(error, status, "no memory to write the trace");
    }
    if (error != NULL) {
        error->os_errno = os_errno;
        error->file_offset = output->bytes;
    }
    return status;
}

/* All parts, whatever the kernel takes at a time. Moves through `parts`. */
static enum trk_status write_all(struct trk_output *output, struct iovec *parts, int count,
                                 struct trk_error *error)
{
    while (count > 0) {
        ssize_t written = writev(output->fd, parts, count);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            return fail(output, TRK_E_SYSTEM, written < 0 ? errno : EIO, error);
        }
        output->bytes += (uint64_t)written;
        size_t left = (size_t)written;
        for (; count > 0 && left >= parts->iov_len; count--) {
            left -= parts->iov_len;
            parts++;
        }
        if (count > 0) {
            parts->iov_base = (uint8_t *)parts->iov_base + left;
            parts->iov_len -= left;
        }
    }
    return TRK_OK;
}

static enum trk_status make_room(struct trk_output *output, size_t size_bytes)
{
    size_t bound = ZSTD_compressBound(size_bytes);
    if (bound <= output->packed_room) {
        return TRK_OK;
    }
    uint8_t *packed = realloc(output->packed, bound);
    if (packed == NULL) {
        return TRK_E_MEMORY;
    }
    output->packed = packed;
    output->packed_room = bound;
    return TRK_OK;
}

enum trk_status trk_output_create(struct trk_output **out, int fd,
                                  const struct trk_output_options *options, struct trk_error *error)
{
    int zstd_level = options->zstd_level;
    *out = NULL;
    if (zstd_level < ZSTD_minCLevel() || zstd_level > ZSTD_maxCLevel()) {
        return trk_error_set(error, TRK_E_ARGUMENT, "zstd level %d is out of range", zstd_level);
    }
    struct trk_output *output = calloc(1, sizeof *output);
    if (output == NULL) {
        return trk_error_set(error, TRK_E_MEMORY, "no memory to write the trace");
    }
    output->fd = fd;
    output->plain = options->plain;
    memcpy(output->sync, options->sync, TRK_FORMAT_SYNC_BYTES);
    output->zstd = ZSTD_createCCtx();
    if (output->zstd == NULL ||
        ZSTD_isError(ZSTD_CCtx_setParameter(output->zstd, ZSTD_c_compressionLevel, zstd_level)) ||
        ZSTD_isError(ZSTD_CCtx_setParameter(output->zstd, ZSTD_c_contentSizeFlag, 1)) ||
        ZSTD_isError(ZSTD_CCtx_setParameter(output->zstd, ZSTD_c_checksumFlag, 1))) {
        trk_output_destroy(output);
        return trk_error_set(error, TRK_E_MEMORY, "no memory to write the trace");
    }
    struct trk_format_file file = {
        .major = TRK_FORMAT_MAJOR,
        .minor = TRK_FORMAT_MINOR,
        .min_reader_major = TRK_FORMAT_MIN_READER_MAJOR,
        .min_reader_minor = TRK_FORMAT_MIN_READER_MINOR,
        .optional_features = options->plain ? 0 : TRK_FORMAT_FEATURE_SUMMARIES,
        .zstd_level = (int8_t)(zstd_level < INT8_MIN ? 0 : zstd_level),
    };
    memcpy(file.sync, options->sync, TRK_FORMAT_SYNC_BYTES);
    uint8_t head[TRK_FORMAT_FILE_BYTES];
    trk_format_put_file(head, &file);
    struct iovec part = {head, sizeof head};
    enum trk_status status = write_all(output, &part, 1, error);
    if (status != TRK_OK) {
        trk_output_destroy(output);
        return status;
    }
    *out = output;
    return TRK_OK;
}

void trk_output_destroy(struct trk_output *output)
{
    if (output == NULL) {
        return;
    }
    ZSTD_freeCCtx(output->zstd);
    trk_totals_deinit(&output->totals);
    free(output->packed);
    free(output);
}

/* [F-35] Write the chunks that no INDEX has yet. */
static enum trk_status write_index(struct trk_output *output, struct trk_error *error)
{
    if (output->entry_count == 0) {
        return TRK_OK;
    }
    uint8_t payload[TRK_INDEX_CHUNK_BYTES(TRK_FORMAT_INDEX_ENTRIES)];
    struct trk_index_chunk_head head = {output->last_index, output->entry_count};
    trk_index_chunk_put(payload, &head, output->entries);
    output->entry_count = 0;
    output->last_index = output->bytes;
    struct trk_format_chunk chunk = {.kind = TRK_FORMAT_INDEX, .stream = TRK_FORMAT_NO_STREAM};
    return trk_output_chunk(output, &chunk, payload, TRK_INDEX_CHUNK_BYTES(head.count), error);
}

/* Chunks of streams, snapshots, checkpoints and contents go into the next INDEX, which is written
 * when it is full. */
static enum trk_status remember(struct trk_output *output, uint64_t offset,
                                const struct trk_format_chunk *chunk, struct trk_error *error)
{
    if (output->plain || !trk_format_kind_indexed(chunk->kind)) {
        return TRK_OK;
    }
    output->entries[output->entry_count++] = (struct trk_index_entry){offset, *chunk};
    return output->entry_count == TRK_FORMAT_INDEX_ENTRIES ? write_index(output, error) : TRK_OK;
}

enum trk_status trk_output_copy(struct trk_output *output, struct trk_format_chunk *chunk,
                                void *packed, struct trk_error *error)
{
    if (output->failed != TRK_OK) {
        return fail(output, output->failed, output->os_errno, error);
    }
    struct trk_totals_stream none = {.stream_id = TRK_FORMAT_NO_STREAM};
    struct trk_totals_stream *stream = chunk->stream == TRK_FORMAT_NO_STREAM
                                           ? &none
                                           : trk_totals_stream(&output->totals, chunk->stream);
    if (stream == NULL) {
        return fail(output, TRK_E_MEMORY, 0, error);
    }
    chunk->file_chunk = output->chunks;
    chunk->stream_chunk = stream->chunks;
    if (stream != &none) {
        chunk->first_ordinal = stream->events; /* of no stream: what a CHECKPOINT says */
    }
    chunk->summary_bytes = (uint32_t)output->summary_bytes;
    uint64_t offset = output->bytes;
    uint8_t head[TRK_FORMAT_CHUNK_BYTES];
    trk_format_put_chunk(head, output->sync, chunk);
    struct iovec parts[3] = {{head, sizeof head}};
    int count = 1;
    if (output->summary_bytes > 0) {
        parts[count++] =
            (struct iovec){(uint8_t *)(uintptr_t)output->summary, output->summary_bytes};
    }
    parts[count++] = (struct iovec){packed, chunk->packed_bytes};
    output->summary_bytes = 0;
    enum trk_status status = write_all(output, parts, count, error);
    if (status == TRK_OK) {
        output->chunks++;
        stream->chunks++;
        stream->events += chunk->events;
        stream->dropped += chunk->dropped;
        status = remember(output, offset, chunk, error);
    }
    return status;
}

void trk_output_summary(struct trk_output *output, const uint8_t *frame, size_t size_bytes)
{
    output->summary = frame;
    output->summary_bytes = size_bytes;
}

enum trk_status trk_output_chunk(struct trk_output *output, struct trk_format_chunk *chunk,
                                 const void *payload, size_t size_bytes, struct trk_error *error)
{
    if (output->failed != TRK_OK) {
        return fail(output, output->failed, output->os_errno, error);
    }
    if (make_room(output, size_bytes) != TRK_OK) {
        return fail(output, TRK_E_MEMORY, 0, error);
    }
    size_t packed =
        ZSTD_compress2(output->zstd, output->packed, output->packed_room, payload, size_bytes);
    if (ZSTD_isError(packed)) { /* the room suffices, so only memory is left as a reason */
        return fail(output, TRK_E_MEMORY, 0, error);
    }
    chunk->codec = TRK_FORMAT_CODEC_ZSTD;
    chunk->raw_bytes = (uint32_t)size_bytes;
    chunk->packed_bytes = (uint32_t)packed;
    chunk->payload_crc = trk_crc32c_update(0, output->packed, packed);
    return trk_output_copy(output, chunk, output->packed, error);
}

/* [F-16] Child status, number of chunks, and what each stream should have. */
static enum trk_status write_end_chunk(struct trk_output *output, const struct trk_format_end *end,
                                       struct trk_error *error)
{
    size_t size_bytes = trk_totals_size(&output->totals);
    uint8_t *payload = malloc(size_bytes);
    if (payload == NULL) {
        return fail(output, TRK_E_MEMORY, 0, error);
    }
    trk_totals_put(&output->totals, payload, output->chunks + 1, output->last_index, end);
    struct trk_format_chunk chunk = {
        .kind = TRK_FORMAT_END,
        .flags = TRK_FORMAT_FLAG_REQUIRED,
        .stream = TRK_FORMAT_NO_STREAM,
    };
    enum trk_status status = trk_output_chunk(output, &chunk, payload, size_bytes, error);
    free(payload);
    return status;
}

enum trk_status trk_output_end(struct trk_output *output, struct trk_format_end *end,
                               struct trk_error *error)
{
    if (output->failed != TRK_OK) {
        return fail(output, output->failed, output->os_errno, error);
    }
    enum trk_status status = write_index(output, error);
    end->chunk_offset = output->bytes;
    if (status == TRK_OK) {
        status = write_end_chunk(output, end, error);
    }
    if (status != TRK_OK) {
        return status;
    }
    uint8_t mark[TRK_FORMAT_END_BYTES];
    trk_format_put_end(mark, output->sync, end);
    struct iovec part = {mark, sizeof mark};
    return write_all(output, &part, 1, error);
}

uint64_t trk_output_bytes(const struct trk_output *output)
{
    return output->bytes;
}
