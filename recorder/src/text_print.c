#include "recorder/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "chunk_decoder.h"

struct print {
    struct trk_source source;
    struct trk_chunk_decoder decoder;
    FILE *out;
    struct trk_text_result *result;
    struct trk_error *error;
    uint64_t offset;
};

/* Bytes between quotation marks; what is not plain ASCII as \xNN. */
static void print_quoted(FILE *out, const uint8_t *bytes, size_t size_bytes)
{
    fputs(" \"", out);
    for (size_t i = 0; i < size_bytes; i++) {
        if (bytes[i] == '"' || bytes[i] == '\\') {
            fprintf(out, "\\%c", bytes[i]);
        } else if (bytes[i] >= 0x20 && bytes[i] < 0x7f) {
            fputc(bytes[i], out);
        } else {
            fprintf(out, "\\x%02x", bytes[i]);
        }
    }
    fputs("\"\n", out);
}

static void print_event(FILE *out, const struct trk_record *record)
{
    const struct trk_event *event = &record->event;
    fprintf(out, "%" PRIu64 " ", record->tsc);
    if (trk_schema_table[event->type].known) {
        fputs(trk_event_type_name(event->type), out);
    } else {
        fprintf(out, "type-%u", event->type);
    }
    const struct {
        const char *key;
        uint64_t value;
        bool hexadecimal;
    } fields[] = {
        {"flags", event->flags, true},       {"context", event->context, false},
        {"domain", event->domain, true},     {"seq", event->seq, false},
        {"page", event->page, false},        {"pages", event->pages, false},
        {"argument", event->argument, true},
    };
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        if (fields[i].value != 0) {
            fprintf(out, fields[i].hexadecimal ? " %s=0x%" PRIx64 : " %s=%" PRIu64, fields[i].key,
                    fields[i].value);
        }
    }
    fputc('\n', out);
}

static void print_file(FILE *out, const struct trk_format_file *file)
{
    fprintf(out, "trk-text 1\nfile level=%d plain=%d sync=", file->zstd_level,
            (file->optional_features & TRK_FORMAT_FEATURE_SUMMARIES) == 0);
    for (size_t i = 0; i < sizeof file->sync; i++) {
        fprintf(out, "%02x", file->sync[i]);
    }
    fputc('\n', out);
}

static enum trk_status print_events(struct print *print, const struct trk_format_chunk *chunk)
{
    enum trk_status status =
        trk_chunk_decoder_events(&print->decoder, print->offset, chunk, print->error);
    if (status != TRK_OK) {
        return status;
    }
    fprintf(print->out, "events stream=%" PRIu32 " shift=%u flags=%u\n", chunk->stream,
            chunk->clock_shift, chunk->flags);
    for (uint32_t i = 0; i < chunk->events; i++) {
        print_event(print->out, &print->decoder.records[i]);
    }
    print->result->events += chunk->events;
    return TRK_OK;
}

/* This version's own SCHEMA needs no text. */
static enum trk_status print_schema(struct print *print, const struct trk_format_chunk *chunk)
{
    const uint8_t *raw = print->decoder.unpack.raw;
    char *own = trk_schema_print(NULL);
    if (own == NULL) {
        return TRK_E_MEMORY;
    }
    fputs("schema", print->out);
    if (strlen(own) == chunk->raw_bytes && memcmp(own, raw, chunk->raw_bytes) == 0) {
        fputc('\n', print->out);
    } else {
        print_quoted(print->out, raw, chunk->raw_bytes);
    }
    trk_schema_free(own);
    return trk_chunk_decoder_schema(&print->decoder, chunk);
}

static enum trk_status print_end(struct print *print, const struct trk_format_chunk *chunk)
{
    const uint8_t *raw = print->decoder.unpack.raw;
    if (chunk->raw_bytes < TRK_FORMAT_TOTALS_BYTES) {
        return TRK_E_DAMAGED;
    }
    fprintf(print->out, "end status=%" PRId32 " cut=%u\n", (int32_t)trk_bytes_get32(raw),
            trk_bytes_get32(raw + 12) & TRK_FORMAT_TOTALS_CUT);
    print->result->ended = true;
    return TRK_OK;
}

static enum trk_status print_chunk(struct print *print, const struct trk_format_chunk *chunk)
{
    if (chunk->kind == TRK_FORMAT_EVENTS) {
        return chunk->events > 0 ? print_events(print, chunk) : TRK_OK;
    }
    enum trk_status status =
        trk_unpack_payload(&print->decoder.unpack, print->offset, chunk, print->error);
    if (status != TRK_OK) {
        return status;
    }
    switch (chunk->kind) {
    case TRK_FORMAT_HEADER:
        fputs("header", print->out);
        print_quoted(print->out, print->decoder.unpack.raw, chunk->raw_bytes);
        return TRK_OK;
    case TRK_FORMAT_NOTE:
        fprintf(print->out, "note stream=%" PRIu32, chunk->stream);
        print_quoted(print->out, print->decoder.unpack.raw, chunk->raw_bytes);
        return TRK_OK;
    case TRK_FORMAT_SCHEMA:
        return print_schema(print, chunk);
    case TRK_FORMAT_INDEX: /* made anew by itself */
        return TRK_OK;
    case TRK_FORMAT_END:
        return print_end(print, chunk);
    case TRK_FORMAT_CHECKPOINT:
        fprintf(print->out, "checkpoint event=%" PRIu64, chunk->first_ordinal);
        print_quoted(print->out, print->decoder.unpack.raw, chunk->raw_bytes);
        return TRK_OK;
    default:
        fprintf(print->out, "chunk kind=%u flags=%u stream=%" PRIu32, chunk->kind, chunk->flags,
                chunk->stream);
        print_quoted(print->out, print->decoder.unpack.raw, chunk->raw_bytes);
        return TRK_OK;
    }
}

static enum trk_status print_all(struct print *print)
{
    enum trk_status status = TRK_OK;
    while (status == TRK_OK && print->offset < print->source.size_bytes) {
        struct trk_format_chunk chunk;
        struct trk_format_end end;
        status = trk_unpack_header(&print->decoder.unpack, print->offset, &chunk, print->error);
        if (status == TRK_OK) {
            status = print_chunk(print, &chunk);
            print->result->chunks++;
            if (trk_unpack_is_damage(status)) {
                print->result->damaged_chunks++;
                fprintf(print->out, "# chunk %" PRIu32 " at byte %" PRIu64 " is damaged\n",
                        chunk.file_chunk, print->offset);
                status = TRK_OK;
            }
            print->offset += trk_format_chunk_span(&chunk);
            continue;
        }
        if (!trk_unpack_is_damage(status)) {
            return status;
        }
        status = trk_unpack_end(&print->decoder.unpack, print->offset, &end, print->error);
        if (status == TRK_OK) {
            break;
        }
        if (status == TRK_E_END) {
            print->result->damaged_chunks++;
            fprintf(print->out, "# a chunk header at byte %" PRIu64 " is damaged\n", print->offset);
            status = trk_unpack_find(&print->decoder.unpack, print->offset + 1, &print->offset,
                                     print->error);
        }
    }
    return status == TRK_E_END ? TRK_OK : status;
}

static enum trk_status start(struct print *print)
{
    struct trk_format_file file;
    enum trk_status status = trk_unpack_file(&print->source, &file, print->error);
    if (status != TRK_OK) {
        return status;
    }
    if (trk_chunk_decoder_init(&print->decoder, &print->source, file.sync) != TRK_OK) {
        return trk_error_set(print->error, TRK_E_MEMORY, "no memory to read the trace");
    }
    print->offset = TRK_FORMAT_FILE_BYTES;
    print_file(print->out, &file);
    return TRK_OK;
}

enum trk_status trk_text_print(const char *path, FILE *out, struct trk_text_result *result,
                               struct trk_error *error)
{
    *result = (struct trk_text_result){0};
    struct print *print = calloc(1, sizeof *print);
    if (print == NULL) {
        return trk_error_set(error, TRK_E_MEMORY, "no memory to read the trace");
    }
    print->out = out;
    print->result = result;
    print->error = error;
    enum trk_status status = trk_source_open(&print->source, path, error);
    if (status == TRK_OK) {
        status = start(print);
        if (status == TRK_OK) {
            status = print_all(print);
        }
        trk_chunk_decoder_deinit(&print->decoder);
        trk_source_close(&print->source);
    }
    free(print);
    return status;
}
