/* How recovery begins: the file's marker and level, and its HEADER. */
#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "recover.h"
#include "text_form.h"

/* The search for a first chunk header, where the file header does not give the marker. */
#define WINDOW_BYTES 65536u

/* zstd's, where the file header does not say how its chunks were compressed; and its highest. */
#define LEVEL_DEFAULT 3
#define LEVEL_MOST    22

enum trk_status trk_recover_no_memory(const struct trk_recover *recover)
{
    return trk_error_set(recover->error, TRK_E_MEMORY, "no memory to recover the trace");
}

/* Take the marker from the first chunk header anywhere that is right in itself. */
static enum trk_status find_marker(struct trk_recover *recover, uint8_t *sync)
{
    uint8_t *window = malloc(WINDOW_BYTES);
    if (window == NULL) {
        return trk_recover_no_memory(recover);
    }
    enum trk_status status = TRK_E_DAMAGED;
    for (uint64_t at = 0; trk_unpack_is_damage(status);
         at += WINDOW_BYTES - TRK_FORMAT_CHUNK_BYTES) {
        struct trk_source_part part = {.offset = at, .to = window, .size_bytes = WINDOW_BYTES};
        enum trk_status read = trk_source_read(&recover->source, &part, recover->error);
        if (read != TRK_OK || part.got < TRK_FORMAT_CHUNK_BYTES) {
            status = read != TRK_OK ? read : status;
            break;
        }
        for (size_t i = 0; i + TRK_FORMAT_CHUNK_BYTES <= part.got && trk_unpack_is_damage(status);
             i++) {
            struct trk_format_chunk chunk;
            const uint8_t *marker = window + i + TRK_FORMAT_CHUNK_SYNC_AT;
            if (trk_bytes_get32(window + i) == TRK_FORMAT_FRAME_CHUNK &&
                trk_format_get_chunk(window + i, marker, &chunk)) {
                memcpy(sync, marker, TRK_FORMAT_SYNC_BYTES);
                status = TRK_OK;
            }
        }
    }
    free(window);
    if (status == TRK_E_DAMAGED) {
        trk_error_set(recover->error, status, "no part of a .trk file is in it");
    }
    return status;
}

static enum trk_status read_file(struct trk_recover *recover, struct trk_format_file *file)
{
    enum trk_status status = trk_unpack_file(&recover->source, file, recover->error);
    if (!trk_unpack_is_damage(status)) {
        return status;
    }
    *file = (struct trk_format_file){.optional_features = TRK_FORMAT_FEATURE_SUMMARIES};
    return find_marker(recover, file->sync);
}

/* HEADER, or a short one where it is damaged. */
static enum trk_status take_header(struct trk_recover *recover)
{
    struct trk_format_chunk chunk;
    enum trk_status status =
        trk_unpack_header(&recover->decoder.unpack, TRK_FORMAT_FILE_BYTES, &chunk, recover->error);
    bool found = status == TRK_OK && chunk.kind == TRK_FORMAT_HEADER && chunk.file_chunk == 0 &&
                 chunk.codec == TRK_FORMAT_CODEC_ZSTD;
    if (found) {
        status = trk_unpack_payload(&recover->decoder.unpack, TRK_FORMAT_FILE_BYTES, &chunk,
                                    recover->error);
    }
    if (status != TRK_OK && !trk_unpack_is_damage(status)) {
        return status;
    }
    recover->next_file_chunk = 1;
    recover->offset = TRK_FORMAT_FILE_BYTES;
    if (found) {
        recover->offset += trk_format_chunk_span(&chunk);
    }
    bool text = found && status == TRK_OK && chunk.raw_bytes > 0 &&
                memchr(recover->decoder.unpack.raw, '\0', chunk.raw_bytes) == NULL;
    if (text) {
        return trk_recover_copy(recover, &chunk);
    }
    recover->result->chunks_lost++;
    return trk_recover_header(recover);
}

/* Where the output goes to. */
static enum trk_status open_output(struct trk_recover *recover, int fd,
                                   const struct trk_format_file *file)
{
    if (recover->text != NULL) {
        trk_text_file(recover->text, file);
        return TRK_OK;
    }
    bool usable = file->zstd_level != 0 && file->zstd_level <= LEVEL_MOST;
    struct trk_output_options options = {.zstd_level = usable ? file->zstd_level : LEVEL_DEFAULT,
                                         .sync = file->sync};
    return trk_output_create(&recover->output, fd, &options, recover->error);
}

enum trk_status trk_recover_begin(struct trk_recover *recover, int fd)
{
    struct trk_format_file file;
    enum trk_status status = read_file(recover, &file);
    if (status != TRK_OK) {
        return status;
    }
    recover->streams = calloc(TRK_FORMAT_STREAMS_MAX, sizeof *recover->streams);
    if (recover->streams == NULL ||
        trk_chunk_decoder_init(&recover->decoder, &recover->source, file.sync) != TRK_OK ||
        trk_columns_create_encoder(&recover->encoder, 1) != TRK_OK) {
        return trk_recover_no_memory(recover);
    }
    status = open_output(recover, fd, &file);
    return status == TRK_OK ? take_header(recover) : status;
}
