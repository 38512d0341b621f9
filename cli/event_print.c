/* Printing the fields of events, and finding addresses in them. */
#include "event_print.h"

#include <inttypes.h>
#include <string.h>

#include "json_out.h"
#include "terminal.h"
#include "track/address.h"

void trk_event_text_thread(const char *name, uint32_t stream, char *out, size_t size)
{
    if (name && name[0]) {
        trk_json_out_utf8(name, out, size);
    } else {
        snprintf(out, size, "stream-%" PRIu32, stream);
    }
}

void trk_event_text_line(FILE *out, const char *thread, const char *type,
                         const struct trk_event_field *fields, size_t count)
{
    size_t length = strlen(thread);
    trk_terminal_text(out, thread);
    fprintf(out, "%*s %-18s", length < 12 ? (int)(12 - length) : 0, "", type);
    trk_event_text_print(out, fields, count);
    fputc('\n', out);
}

void trk_event_text_print(FILE *out, const struct trk_event_field *fields, size_t count)
{
    for (const struct trk_event_field *at = fields; at < fields + count; at++) {
        switch (at->kind) {
        case TRK_FIELD_NUMBER:
            fprintf(out, " %s=%" PRIu64, at->key, at->number);
            break;
        case TRK_FIELD_ADDRESS:
            fprintf(out, " %s=0x%" PRIx64, at->key, at->number);
            break;
        case TRK_FIELD_WORD:
            fprintf(out, " %s=%s", at->key, at->word);
            break;
        case TRK_FIELD_TEXT:
            fprintf(out, " %s=", at->key);
            trk_terminal_text(out, at->text);
            break;
        case TRK_FIELD_FLAG:
            fprintf(out, " %s", at->key);
            break;
        }
    }
}

/* The inside of a JSON string. */
static void print_json_text(FILE *out, const char *text)
{
    char clean[3 * TRK_LABEL_PIECE_BYTES + 1];
    trk_json_out_utf8(text, clean, sizeof clean);
    trk_json_out_escaped(out, clean);
}

void trk_event_text_print_json(FILE *out, const struct trk_event_field *fields, size_t count)
{
    for (const struct trk_event_field *at = fields; at < fields + count; at++) {
        switch (at->kind) {
        case TRK_FIELD_NUMBER: /* above 2^53 a string, as everywhere in our JSON */
            fprintf(out,
                    at->number > UINT64_C(1) << 53 ? ",\"%s\":\"%" PRIu64 "\"" : ",\"%s\":%" PRIu64,
                    at->key, at->number);
            break;
        case TRK_FIELD_ADDRESS:
            fprintf(out, ",\"%s\":\"0x%" PRIx64 "\"", at->key, at->number);
            break;
        case TRK_FIELD_WORD:
            fprintf(out, ",\"%s\":\"%s\"", at->key, at->word);
            break;
        case TRK_FIELD_TEXT:
            fprintf(out, ",\"%s\":\"", at->key);
            print_json_text(out, at->text);
            fputc('"', out);
            break;
        case TRK_FIELD_FLAG:
            fprintf(out, ",\"%s\":true", at->key);
            break;
        }
    }
}

bool trk_event_text_touches(const struct trk_trace *trace, const struct trk_event *event,
                            uint64_t first, uint64_t size_bytes, uint64_t *at)
{
    struct trk_event_field fields[TRK_EVENT_FIELDS_MOST];
    size_t count =
        trace ? trk_trace_event_fields(trace, event, fields) : trk_event_text_fields(event, fields);
    uint64_t begin = TRK_NOT_KNOWN;
    uint64_t size = 1;
    for (size_t i = 0; i < count; i++) {
        if (fields[i].kind == TRK_FIELD_ADDRESS && strcmp(fields[i].key, "guest_addr") == 0) {
            begin = fields[i].number;
        } else if (strcmp(fields[i].key, "region") == 0 && begin == TRK_NOT_KNOWN) {
            begin = fields[i].number;
            size = TRK_REGION_BYTES;
        } else if (strcmp(fields[i].key, "size") == 0) {
            size = fields[i].number;
        } else if (strcmp(fields[i].key, "pages") == 0) {
            size = fields[i].number * TRK_HOST_PAGE_BYTES;
        }
    }
    *at = begin;
    return begin != TRK_NOT_KNOWN && (begin - first < size_bytes || first - begin < size);
}
