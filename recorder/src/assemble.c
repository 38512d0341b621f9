#include "recorder/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "blob_chunk.h"
#include "columns.h"
#include "output.h"
#include "places.h"
#include "recorder/writer.h"
#include "schema_text.h"
#include "summary.h"
#include "text_words.h"

#define LEVEL_DEFAULT 3
#define LEVEL_MOST    22

struct trk_assemble {
    int fd;
    uint64_t line;
    bool versioned, ended, plain, in_events;
    int level;
    uint8_t sync[TRK_FORMAT_SYNC_BYTES];
    bool has_file;
    struct trk_output *output;
    struct trk_columns *columns;
    bool large;                    /* they take a chunk of any size */
    struct trk_format_chunk chunk; /* of events, while their lines come */
    struct trk_record *records;
    uint64_t *ordinals; /* of the streams that events were of, by their place below */
    uint32_t *streams;
    size_t stream_count;
    struct trk_digest digest;
    uint8_t *frame; /* of the last BLOB */
    struct trk_error *error;
};

enum trk_status trk_assemble_create(struct trk_assemble **out, int fd)
{
    struct trk_assemble *assemble = calloc(1, sizeof *assemble);
    *out = assemble;
    if (assemble == NULL) {
        return TRK_E_MEMORY;
    }
    assemble->fd = fd;
    assemble->records = malloc(TRK_FORMAT_EVENTS_MAX * sizeof *assemble->records);
    assemble->ordinals = calloc(TRK_FORMAT_STREAMS_MAX, sizeof *assemble->ordinals);
    assemble->streams = calloc(TRK_FORMAT_STREAMS_MAX, sizeof *assemble->streams);
    if (assemble->records == NULL || assemble->ordinals == NULL || assemble->streams == NULL ||
        trk_columns_create_encoder(&assemble->columns, TRK_CHUNK_EVENTS) != TRK_OK) {
        trk_assemble_destroy(assemble);
        *out = NULL;
        return TRK_E_MEMORY;
    }
    return TRK_OK;
}

void trk_assemble_destroy(struct trk_assemble *assemble)
{
    if (assemble == NULL) {
        return;
    }
    trk_output_destroy(assemble->output);
    trk_columns_destroy(assemble->columns);
    free(assemble->records);
    free(assemble->ordinals);
    free(assemble->streams);
    free(assemble->frame);
    free(assemble);
}

static enum trk_status refuse(const struct trk_assemble *assemble, const char *why)
{
    return trk_error_set(assemble->error, TRK_E_ARGUMENT, "line %" PRIu64 ": %s", assemble->line,
                         why);
}

/* ---- chunks ---------------------------------------------------------------------------------- */

/* The place of the next event in a stream; NULL: one stream too many. */
static uint64_t *ordinal_of(struct trk_assemble *assemble, uint32_t stream)
{
    for (size_t i = assemble->stream_count; i > 0; i--) {
        if (assemble->streams[i - 1] == stream) {
            return &assemble->ordinals[i - 1];
        }
    }
    if (assemble->stream_count == TRK_FORMAT_STREAMS_MAX) {
        return NULL;
    }
    assemble->streams[assemble->stream_count] = stream;
    return &assemble->ordinals[assemble->stream_count++];
}

/* Chunks of trk pack are larger than most. */
static bool make_encoder(struct trk_assemble *assemble)
{
    if (assemble->chunk.events <= TRK_CHUNK_EVENTS || assemble->large) {
        return true;
    }
    struct trk_columns *larger;
    if (trk_columns_create_encoder(&larger, TRK_FORMAT_EVENTS_MAX) != TRK_OK) {
        return false;
    }
    trk_columns_destroy(assemble->columns);
    assemble->columns = larger;
    assemble->large = true;
    return true;
}

/* Write the events whose lines have come. */
static enum trk_status write_events(struct trk_assemble *assemble)
{
    struct trk_format_chunk *chunk = &assemble->chunk;
    bool any = assemble->in_events && chunk->events > 0;
    assemble->in_events = false;
    if (!any) {
        return TRK_OK;
    }
    uint64_t *ordinal = ordinal_of(assemble, chunk->stream);
    if (ordinal == NULL) {
        return refuse(assemble, "more streams than a trace has");
    }
    for (uint32_t i = 0; i < chunk->events; i++) {
        struct trk_record *record = &assemble->records[i];
        record->tsc = record->tsc >> chunk->clock_shift << chunk->clock_shift;
        chunk->dropped += record->event.type == TRK_EVENT_DROP ? record->event.argument : 0;
        trk_digest_add(&assemble->digest, chunk->stream, (*ordinal)++, record);
    }
    chunk->first_tsc = assemble->records[0].tsc;
    chunk->last_tsc = assemble->records[chunk->events - 1].tsc;
    chunk->places = trk_places_of(assemble->records, chunk->events);
    const uint8_t *payload, *summary = NULL;
    size_t summary_bytes = 0;
    if (!make_encoder(assemble)) {
        return trk_error_set(assemble->error, TRK_E_MEMORY, "no memory to assemble the trace");
    }
    size_t size_bytes = trk_columns_encode(assemble->columns, assemble->records, chunk->events,
                                           chunk->clock_shift, &payload);
    if (size_bytes > TRK_FORMAT_RAW_MAX) {
        return refuse(assemble, "more events than a chunk takes");
    }
    if (!assemble->plain &&
        trk_summary_make(assemble->columns, &summary, &summary_bytes) != TRK_OK) {
        return trk_error_set(assemble->error, TRK_E_MEMORY, "no memory to assemble the trace");
    }
    trk_output_summary(assemble->output, summary, summary_bytes);
    return trk_output_chunk(assemble->output, chunk, payload, size_bytes, assemble->error);
}

static enum trk_status take_file(struct trk_assemble *assemble, struct trk_text_words *words)
{
    int64_t level;
    uint64_t plain;
    bool good = trk_text_take_signed(words, "level", -127, LEVEL_MOST, &level) &&
                trk_text_take(words, "plain", 1, &plain) && words->count == 1 &&
                strcmp(words->key[0], "sync") == 0 &&
                strlen(words->value[0]) == 2 * sizeof assemble->sync;
    for (size_t i = 0; good && i < sizeof assemble->sync; i++) {
        int high = trk_text_hex(words->value[0][2 * i]),
            low = trk_text_hex(words->value[0][2 * i + 1]);
        good = high >= 0 && low >= 0;
        assemble->sync[i] = (uint8_t)(good ? high * 16 + low : 0);
    }
    if (!good || assemble->has_file || !assemble->versioned) {
        return refuse(assemble, "expected once: file level=N plain=0 sync=HEX");
    }
    assemble->has_file = true;
    assemble->plain = plain != 0;
    assemble->level = level != 0 ? (int)level : LEVEL_DEFAULT;
    return TRK_OK;
}

static enum trk_status take_header(struct trk_assemble *assemble, struct trk_text_words *words)
{
    if (!assemble->has_file || assemble->output != NULL || words->count > 0 ||
        words->text == NULL || words->text_bytes == 0 ||
        memchr(words->text, '\0', words->text_bytes) != NULL ||
        words->text_bytes > TRK_FORMAT_JSON_MAX) {
        return refuse(assemble, "expected behind file, once: header \"JSON\"");
    }
    struct trk_output_options options = {assemble->level, assemble->plain, assemble->sync};
    enum trk_status status =
        trk_output_create(&assemble->output, assemble->fd, &options, assemble->error);
    struct trk_format_chunk chunk = {
        .kind = TRK_FORMAT_HEADER,
        .flags = TRK_FORMAT_FLAG_REQUIRED,
        .stream = TRK_FORMAT_NO_STREAM,
    };
    return status != TRK_OK ? status
                            : trk_output_chunk(assemble->output, &chunk, words->text,
                                               words->text_bytes, assemble->error);
}

static enum trk_status take_schema(struct trk_assemble *assemble, struct trk_text_words *words)
{
    struct trk_format_chunk chunk = {.kind = TRK_FORMAT_SCHEMA, .stream = TRK_FORMAT_NO_STREAM};
    if (words->count > 0 || words->text_bytes > TRK_FORMAT_JSON_MAX) {
        return refuse(assemble, "expected schema or schema \"JSON\"");
    }
    if (words->text != NULL) {
        return trk_output_chunk(assemble->output, &chunk, words->text, words->text_bytes,
                                assemble->error);
    }
    char *own = trk_schema_print(NULL);
    if (own == NULL) {
        return trk_error_set(assemble->error, TRK_E_MEMORY, "no memory to assemble the trace");
    }
    enum trk_status status =
        trk_output_chunk(assemble->output, &chunk, own, strlen(own), assemble->error);
    trk_schema_free(own);
    return status;
}

static enum trk_status take_note(struct trk_assemble *assemble, struct trk_text_words *words)
{
    uint64_t stream;
    if (!trk_text_take(words, "stream", TRK_FORMAT_NO_STREAM - 1, &stream) || words->count > 0 ||
        words->text == NULL || words->text_bytes > TRK_FORMAT_JSON_MAX) {
        return refuse(assemble, "expected note stream=N \"JSON\"");
    }
    if (ordinal_of(assemble, (uint32_t)stream) == NULL) {
        return refuse(assemble, "more streams than a trace has");
    }
    struct trk_format_chunk chunk = {.kind = TRK_FORMAT_NOTE, .stream = (uint32_t)stream};
    return trk_output_chunk(assemble->output, &chunk, words->text, words->text_bytes,
                            assemble->error);
}

/* [F-39] The frame with the hashes of the pages is made anew; false without memory. */
static bool make_frame(struct trk_assemble *assemble, const struct trk_text_words *words)
{
    uint32_t pages = (uint32_t)(words->text_bytes / TRK_FORMAT_BLOB_BYTES);
    uint8_t *frame = realloc(assemble->frame, TRK_BLOB_FRAME_BYTES(pages));
    if (frame == NULL) {
        return false;
    }
    assemble->frame = frame;
    trk_blob_chunk_frame(frame, (const uint8_t *)words->text, pages);
    trk_output_summary(assemble->output, frame, TRK_BLOB_FRAME_BYTES(pages));
    return true;
}

/* Whether a kind stands in the text as its bytes. */
static bool is_other(uint64_t kind, size_t size_bytes)
{
    if (kind == TRK_FORMAT_BLOB) {
        return size_bytes > 0 && size_bytes <= TRK_FORMAT_BLOB_MAX &&
               size_bytes % TRK_FORMAT_BLOB_BYTES == 0;
    }
    return (!trk_format_kind_known((uint8_t)kind) || kind == TRK_FORMAT_SNAPSHOT) &&
           size_bytes <= TRK_FORMAT_RAW_MAX;
}

/* A chunk of a kind that this version does not know, or whose bytes are all there is to say. */
static enum trk_status take_other(struct trk_assemble *assemble, struct trk_text_words *words)
{
    uint64_t kind, flags, stream;
    if (!trk_text_take(words, "kind", UINT8_MAX, &kind) ||
        !trk_text_take(words, "flags", UINT8_MAX, &flags) ||
        !trk_text_take(words, "stream", UINT32_MAX, &stream) || words->count > 0 ||
        words->text == NULL || !is_other(kind, words->text_bytes)) {
        return refuse(assemble, "expected chunk kind=N flags=N stream=N \"BYTES\"");
    }
    if (kind == TRK_FORMAT_BLOB && !make_frame(assemble, words)) {
        return trk_error_set(assemble->error, TRK_E_MEMORY, "no memory to assemble the trace");
    }
    struct trk_format_chunk chunk = {
        .kind = (uint8_t)kind, .flags = (uint8_t)flags, .stream = (uint32_t)stream};
    return trk_output_chunk(assemble->output, &chunk, words->text, words->text_bytes,
                            assemble->error);
}

/* [F-40] */
static enum trk_status take_checkpoint(struct trk_assemble *assemble, struct trk_text_words *words)
{
    uint64_t event;
    if (!trk_text_take(words, "event", UINT64_MAX, &event) || words->count > 0 ||
        words->text == NULL || words->text_bytes > TRK_FORMAT_RAW_MAX) {
        return refuse(assemble, "expected checkpoint event=N \"BYTES\"");
    }
    struct trk_format_chunk chunk = {
        .kind = TRK_FORMAT_CHECKPOINT, .stream = TRK_FORMAT_NO_STREAM, .first_ordinal = event};
    return trk_output_chunk(assemble->output, &chunk, words->text, words->text_bytes,
                            assemble->error);
}

static enum trk_status take_events(struct trk_assemble *assemble, struct trk_text_words *words)
{
    uint64_t stream, shift, flags;
    if (!trk_text_take(words, "stream", TRK_FORMAT_NO_STREAM - 1, &stream) ||
        !trk_text_take(words, "shift", TRK_FORMAT_SHIFT_MAX, &shift) ||
        !trk_text_take(words, "flags", UINT8_MAX, &flags) || words->count > 0 ||
        words->text != NULL) {
        return refuse(assemble, "expected events stream=N shift=N flags=N");
    }
    assemble->in_events = true;
    assemble->chunk = (struct trk_format_chunk){
        .kind = TRK_FORMAT_EVENTS,
        .flags = (uint8_t)flags,
        .stream = (uint32_t)stream,
        .clock_shift = (uint8_t)shift,
    };
    return TRK_OK;
}

static enum trk_status take_end(struct trk_assemble *assemble, struct trk_text_words *words)
{
    int64_t child;
    uint64_t is_cut;
    if (!trk_text_take_signed(words, "status", INT32_MIN, INT32_MAX, &child) ||
        !trk_text_take(words, "cut", 1, &is_cut) || words->count > 0 || words->text != NULL) {
        return refuse(assemble, "expected end status=N cut=0");
    }
    assemble->ended = true;
    struct trk_format_end end = {.child_status = (int32_t)child, .cut = is_cut != 0};
    return trk_output_end(assemble->output, &end, assemble->error);
}

/* ---- events ---------------------------------------------------------------------------------- */

static bool parse_type(const char *name, uint8_t *out)
{
    uint64_t number;
    if (strncmp(name, "type-", 5) == 0) {
        bool good = trk_text_number(name + 5, UINT8_MAX, &number);
        *out = (uint8_t)number;
        return good;
    }
    for (unsigned id = 1; id < 256; id++) {
        if (trk_schema_table[id].known && strcmp(trk_event_type_name((uint8_t)id), name) == 0) {
            *out = (uint8_t)id;
            return true;
        }
    }
    return false;
}

static enum trk_status take_event(struct trk_assemble *assemble, char *line)
{
    char *name = line + strcspn(line, " ");
    struct trk_text_words words;
    struct trk_record record = {0};
    uint64_t flags = 0, context = 0, domain = 0, seq = 0, page = 0, pages = 0;
    bool good =
        assemble->in_events && assemble->chunk.events < TRK_FORMAT_EVENTS_MAX && *name != '\0';
    if (good) {
        *name++ = '\0';
        good = trk_text_number(line, UINT64_MAX, &record.tsc) && trk_text_cut(name, &words) &&
               parse_type(name, &record.event.type) && words.text == NULL &&
               trk_text_take(&words, "flags", UINT8_MAX, &flags) &&
               trk_text_take(&words, "context", UINT16_MAX, &context) &&
               trk_text_take(&words, "domain", UINT32_MAX, &domain) &&
               trk_text_take(&words, "seq", UINT32_MAX, &seq) &&
               trk_text_take(&words, "page", UINT16_MAX, &page) &&
               trk_text_take(&words, "pages", UINT16_MAX, &pages) &&
               trk_text_take(&words, "argument", UINT64_MAX, &record.event.argument) &&
               words.count == 0;
    }
    if (!good) {
        return refuse(assemble, "expected behind events: TIME TYPE FIELD=NUMBER ...");
    }
    record.event.flags = (uint8_t)flags;
    record.event.context = (uint16_t)context;
    record.event.domain = (uint32_t)domain;
    record.event.seq = (uint32_t)seq;
    record.event.page = (uint16_t)page;
    record.event.pages = (uint16_t)pages;
    assemble->records[assemble->chunk.events++] = record;
    return TRK_OK;
}

static enum trk_status take_chunk(struct trk_assemble *assemble, struct trk_text_words *words)
{
    static const struct {
        const char *word;
        enum trk_status (*take)(struct trk_assemble *assemble, struct trk_text_words *words);
    } kinds[] = {
        {"events", take_events}, {"note", take_note}, {"schema", take_schema},
        {"chunk", take_other},   {"end", take_end},   {"checkpoint", take_checkpoint},
    };
    if (strcmp(words->first, "file") == 0) {
        return take_file(assemble, words);
    }
    if (strcmp(words->first, "header") == 0) {
        return take_header(assemble, words);
    }
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(words->first, kinds[i].word) == 0) {
            return assemble->output != NULL ? kinds[i].take(assemble, words)
                                            : refuse(assemble, "file and header come first");
        }
    }
    return refuse(assemble,
                  "expected file, header, schema, note, events, checkpoint, chunk or end");
}

enum trk_status trk_assemble_line(struct trk_assemble *assemble, char *line,
                                  struct trk_error *error)
{
    assemble->error = error;
    assemble->line++;
    if (line[0] == '#' || line[0] == '\0') {
        return TRK_OK;
    }
    if (assemble->ended) {
        return refuse(assemble, "something stands behind the end");
    }
    if (line[0] >= '0' && line[0] <= '9') {
        return take_event(assemble, line);
    }
    if (!assemble->versioned) {
        assemble->versioned = strcmp(line, "trk-text 1") == 0;
        return assemble->versioned ? TRK_OK : refuse(assemble, "expected trk-text 1");
    }
    enum trk_status status = write_events(assemble);
    struct trk_text_words words;
    if (status == TRK_OK) {
        status = trk_text_cut(line, &words)
                     ? take_chunk(assemble, &words)
                     : refuse(assemble, "expected KEY=VALUE and a quoted text last");
    }
    return status;
}

enum trk_status trk_assemble_finish(struct trk_assemble *assemble, struct trk_digest *digest,
                                    bool *ended, struct trk_error *error)
{
    assemble->error = error;
    if (assemble->output == NULL) {
        return trk_error_set(error, TRK_E_INCOMPLETE, "the text has no file and no header");
    }
    enum trk_status status = write_events(assemble);
    *digest = assemble->digest;
    *ended = assemble->ended;
    return status;
}
