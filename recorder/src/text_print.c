#include "recorder/text.h"

#include <inttypes.h>
#include <string.h>

#include "recover.h"
#include "schema_text.h"
#include "text_form.h"

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

void trk_text_file(FILE *out, const struct trk_format_file *file)
{
    fprintf(out, "trk-text 1\nfile level=%d plain=%d sync=", file->zstd_level,
            (file->optional_features & TRK_FORMAT_FEATURE_SUMMARIES) == 0);
    for (size_t i = 0; i < sizeof file->sync; i++) {
        fprintf(out, "%02x", file->sync[i]);
    }
    fputc('\n', out);
}

static void print_events(FILE *out, const struct trk_format_chunk *chunk,
                         const struct trk_record *records)
{
    fprintf(out, "events stream=%" PRIu32 " shift=%u flags=%u\n", chunk->stream, chunk->clock_shift,
            chunk->flags);
    for (uint32_t i = 0; i < chunk->events; i++) {
        print_event(out, &records[i]);
    }
}

/* This version's own SCHEMA needs no text. */
static enum trk_status print_schema(FILE *out, const uint8_t *payload, size_t size_bytes)
{
    char *own = trk_schema_print(NULL);
    if (own == NULL) {
        return TRK_E_MEMORY;
    }
    fputs("schema", out);
    if (strlen(own) == size_bytes && memcmp(own, payload, size_bytes) == 0) {
        fputc('\n', out);
    } else {
        print_quoted(out, payload, size_bytes);
    }
    trk_schema_free(own);
    return TRK_OK;
}

enum trk_status trk_text_chunk(FILE *out, const struct trk_format_chunk *chunk,
                               const uint8_t *payload, const struct trk_record *records)
{
    switch (chunk->kind) {
    case TRK_FORMAT_EVENTS:
        print_events(out, chunk, records);
        return TRK_OK;
    case TRK_FORMAT_SCHEMA:
        return print_schema(out, payload, chunk->raw_bytes);
    case TRK_FORMAT_HEADER:
        fputs("header", out);
        break;
    case TRK_FORMAT_NOTE:
        fprintf(out, "note stream=%" PRIu32, chunk->stream);
        break;
    case TRK_FORMAT_CHECKPOINT:
        fprintf(out, "checkpoint event=%" PRIu64, chunk->first_ordinal);
        break;
    default:
        fprintf(out, "chunk kind=%u flags=%u stream=%" PRIu32, chunk->kind, chunk->flags,
                chunk->stream);
        break;
    }
    print_quoted(out, payload, chunk->raw_bytes);
    return TRK_OK;
}

void trk_text_end(FILE *out, const struct trk_format_end *end)
{
    fprintf(out, "end status=%" PRId32 " cut=%d\n", end->child_status, end->cut);
}

enum trk_status trk_text_print(const char *path, FILE *out, struct trk_text_result *result,
                               struct trk_error *error)
{
    struct trk_recover_result there;
    enum trk_status status = trk_recover_text(path, out, &there, error);
    *result = (struct trk_text_result){0};
    if (status == TRK_OK) {
        *result = (struct trk_text_result){there.chunks_lost, there.events, there.unknown_left_out,
                                           there.unknown_kind};
    }
    return status;
}
