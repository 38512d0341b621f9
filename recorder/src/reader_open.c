/* Opening a trace, and what is known of it without its events. */
#include "reader.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "quick.h"
#include "schema_text.h"

static enum trk_status no_memory(struct trk_error *error)
{
    return trk_error_set(error, TRK_E_MEMORY, "no memory to read the trace");
}

static enum trk_status fail_at(struct trk_error *error, enum trk_status status, uint64_t offset,
                               const char *text)
{
    trk_error_set(error, status, "%s", text);
    if (error != NULL) {
        error->file_offset = offset;
    }
    return status;
}

/* ---- opening --------------------------------------------------------------------------------- */

/* A file too short for its header: is it the beginning of one? */
static bool begins_like_a_trace(const uint8_t *bytes, size_t got)
{
    uint8_t model[TRK_FORMAT_FILE_BYTES];
    trk_format_put_file(model, &(struct trk_format_file){.major = 0});
    size_t fixed = TRK_FORMAT_FRAME_PREFIX + 8; /* prefix and magic */
    return memcmp(bytes, model, got < fixed ? got : fixed) == 0;
}

static enum trk_status read_file_header(struct trk_trace *trace, struct trk_format_file *file,
                                        struct trk_error *error)
{
    uint8_t bytes[TRK_FORMAT_FILE_BYTES] = {0};
    struct trk_source_part part = {.to = bytes, .size_bytes = sizeof bytes};
    enum trk_status status = trk_source_read(&trace->source, &part, error);
    if (status != TRK_OK) {
        return status;
    }
    if (part.got < sizeof bytes) {
        return begins_like_a_trace(bytes, part.got)
                   ? fail_at(error, TRK_E_INCOMPLETE, part.got, "the file ends inside its header")
                   : fail_at(error, TRK_E_DAMAGED, 0, "this is no .trk file");
    }
    status = trk_format_get_file(bytes, file, error);
    if (status != TRK_OK && error != NULL) {
        error->file_offset = 0;
    }
    return status;
}

/* [F-14] Of its own a header that was lost has only that mark. */
static bool is_lost(const char *header_json)
{
    if (strstr(header_json, "recovered") == NULL) {
        return false;
    }
    cJSON *header = cJSON_Parse(header_json);
    bool lost = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(header, "recovered"));
    cJSON_Delete(header);
    return lost;
}

/* [F-14] The first chunk says what the recording is of; without it nothing is to be made of it. */
static enum trk_status read_header_chunk(struct trk_trace *trace, struct trk_error *error)
{
    static const uint64_t offset = TRK_FORMAT_FILE_BYTES;
    struct trk_format_chunk chunk;
    enum trk_status status = trk_unpack_header(&trace->unpack, offset, &chunk, error);
    if (status == TRK_OK && chunk.kind == TRK_FORMAT_HEADER &&
        chunk.codec != TRK_FORMAT_CODEC_ZSTD) {
        return fail_at(error, TRK_E_VERSION, offset, "the HEADER chunk needs a newer reader");
    }
    if (status == TRK_OK) {
        status = chunk.kind == TRK_FORMAT_HEADER && chunk.file_chunk == 0
                     ? trk_unpack_payload(&trace->unpack, offset, &chunk, error)
                     : TRK_E_DAMAGED;
    }
    if (status == TRK_E_INCOMPLETE) {
        return fail_at(error, status, offset, "the file ends inside its HEADER chunk");
    }
    if (status == TRK_E_DAMAGED || (status == TRK_OK && chunk.raw_bytes > 0 &&
                                    memchr(trace->unpack.raw, '\0', chunk.raw_bytes) != NULL)) {
        return fail_at(error, TRK_E_DAMAGED, offset, "the HEADER chunk is damaged");
    }
    if (status != TRK_OK) {
        return status;
    }
    trace->header_json = malloc((size_t)chunk.raw_bytes + 1);
    if (trace->header_json == NULL) {
        return no_memory(error);
    }
    memcpy(trace->header_json, trace->unpack.raw, chunk.raw_bytes);
    trace->header_json[chunk.raw_bytes] = '\0';
    trace->header_lost = is_lost(trace->header_json);
    trace->first_chunk_offset = offset + trk_format_chunk_span(&chunk);
    return TRK_OK;
}

/* Takes over the source of `trace`, whatever comes of it. */
static enum trk_status open_source(struct trk_trace **out, struct trk_trace *trace,
                                   struct trk_error *error)
{
    trace->source.read_bytes = &trace->bytes_read;
    trk_index_init(&trace->index);
    memcpy(trace->types, trk_schema_table, sizeof trace->types);
    enum trk_status status = read_file_header(trace, &trace->file, error);
    if (status == TRK_OK) {
        status = trk_unpack_init(&trace->unpack, &trace->source, trace->file.sync);
        status = status == TRK_OK ? trk_columns_create_decoder(&trace->columns) : status;
        status = status != TRK_OK ? no_memory(error) : status;
    }
    if (status == TRK_OK) {
        status = read_header_chunk(trace, error);
    }
    if (status != TRK_OK) {
        trk_trace_close(trace);
        return status;
    }
    *out = trace;
    return TRK_OK;
}

enum trk_status trk_trace_open(struct trk_trace **out, const char *path, struct trk_error *error)
{
    *out = NULL;
    struct trk_trace *trace = calloc(1, sizeof *trace);
    if (trace == NULL) {
        return no_memory(error);
    }
    enum trk_status status = trk_source_open(&trace->source, path, error);
    if (status != TRK_OK) {
        free(trace);
        return status;
    }
    return open_source(out, trace, error);
}

enum trk_status trk_trace_open_bytes(struct trk_trace **out, const void *bytes, size_t size_bytes,
                                     struct trk_error *error)
{
    *out = NULL;
    struct trk_trace *trace = calloc(1, sizeof *trace);
    if (trace == NULL) {
        return no_memory(error);
    }
    trk_source_open_bytes(&trace->source, bytes, size_bytes);
    return open_source(out, trace, error);
}

void trk_trace_close(struct trk_trace *trace)
{
    if (trace == NULL) {
        return;
    }
    trk_reader_stop(trace);
    trk_checkpoint_state_deinit(&trace->checkpoint);
    free(trace->begin);
    trk_index_deinit(&trace->index);
    trk_columns_destroy(trace->columns);
    trk_unpack_deinit(&trace->unpack);
    trk_source_close(&trace->source);
    for (size_t i = 0; i < sizeof trace->type_texts / sizeof trace->type_texts[0]; i++) {
        trk_schema_free(trace->type_texts[i]);
    }
    free(trace->header_json);
    free(trace);
}

/* ---- what is known --------------------------------------------------------------------------- */

const char *trk_trace_header_json(const struct trk_trace *trace)
{
    return trace->header_json;
}

unsigned trk_trace_clock_shift(const struct trk_trace *trace)
{
    return trace->index.chunk_count > 0 ? trace->index.clock_shift : 0;
}

const uint8_t *trk_trace_snapshot(const struct trk_trace *trace, const uint8_t **end)
{
    const struct trk_packing *there = &trace->checkpoint.snapshot;
    const uint8_t *snapshot = trace->begin != NULL ? there->bytes : trace->index.snapshot;
    size_t size_bytes = trace->begin != NULL ? there->size_bytes : trace->index.snapshot_bytes;
    *end = snapshot != NULL ? snapshot + size_bytes : NULL;
    return snapshot;
}

void trk_trace_marker(const struct trk_trace *trace, uint8_t out[16])
{
    memcpy(out, trace->file.sync, TRK_FORMAT_SYNC_BYTES);
}

size_t trk_trace_stream_count(const struct trk_trace *trace)
{
    return trace->index.stream_count;
}

const struct trk_trace_stream *trk_trace_stream(const struct trk_trace *trace, size_t index)
{
    assert(index < trace->index.stream_count);
    return &trace->index.streams[index].note;
}

void trk_trace_on_damage(struct trk_trace *trace, trk_trace_damage_fn *fn, void *context)
{
    trace->index.on_damage = fn;
    trace->index.damage_context = context;
}

void trk_trace_on_progress(struct trk_trace *trace, struct trk_trace_watch watch)
{
    trace->watch = watch;
}

void trk_scan_tell(const struct trk_trace_watch *watch, bool scanning, uint64_t done,
                   uint64_t total)
{
    if (watch->fn != NULL) {
        watch->fn(watch->context, &(struct trk_trace_progress){scanning, done, total});
    }
}

/* Forget a scan that failed. Who wants to be told of damage is not forgotten. */
static struct trk_scan_target scan_anew(struct trk_trace *trace)
{
    trk_trace_damage_fn *on_damage = trace->index.on_damage;
    void *context = trace->index.damage_context;
    trk_index_deinit(&trace->index);
    trk_trace_on_damage(trace, on_damage, context);
    return (struct trk_scan_target){
        .unpack = &trace->unpack,
        .index = &trace->index,
        .schema = {trace->types, trace->type_names, trace->type_texts},
        .watch = trace->watch,
    };
}

enum trk_status trk_trace_scan_quick(struct trk_trace *trace, struct trk_error *error)
{
    if (trace->scanned) {
        return TRK_OK;
    }
    struct trk_scan_target target = scan_anew(trace);
    enum trk_status status = trk_quick_run(&target, trace->first_chunk_offset, error);
    if (status == TRK_E_END) {
        return trk_trace_scan(trace, error);
    }
    trace->scanned = status == TRK_OK;
    return status;
}

enum trk_status trk_trace_scan(struct trk_trace *trace, struct trk_error *error)
{
    if (trace->scanned) {
        return TRK_OK;
    }
    struct trk_scan_target target = scan_anew(trace);
    struct trk_scan_from from = {trace->first_chunk_offset, 1, 0}; /* HEADER was 0 */
    enum trk_status status = trk_scan_run(&target, &from, error);
    trace->scanned = status == TRK_OK;
    return status;
}

static int compare_gaps(const void *left, const void *right)
{
    uint32_t a = ((const struct trk_trace_gap *)left)->domain;
    uint32_t b = ((const struct trk_trace_gap *)right)->domain;
    return (a > b) - (a < b);
}

enum trk_status trk_trace_gaps(const struct trk_trace *trace, struct trk_trace_gap **out,
                               size_t *count)
{
    const struct trk_holds *holds = &trace->index.holds;
    *out = NULL;
    *count = 0;
    bool promised = (trace->file.optional_features & TRK_FORMAT_FEATURE_SUMMARIES) != 0;
    if (!trace->scanned || !promised || !trace->index.all_summarised) {
        return TRK_E_UNSUPPORTED;
    }
    struct trk_trace_gap *gaps = malloc((holds->count + 1) * sizeof *gaps);
    if (gaps == NULL) {
        return TRK_E_MEMORY;
    }
    for (size_t i = 0; i < holds->slot_count; i++) {
        uint64_t missing = trk_holds_missing(&holds->slots[i]);
        if (holds->slots[i].domain != 0 && missing > 0) {
            gaps[(*count)++] = (struct trk_trace_gap){holds->slots[i].domain, missing};
        }
    }
    qsort(gaps, *count, sizeof *gaps, compare_gaps);
    if (*count == 0) {
        free(gaps);
        gaps = NULL;
    }
    *out = gaps;
    return TRK_OK;
}

bool trk_trace_type(const struct trk_trace *trace, uint8_t id, struct trk_trace_type *out)
{
    const struct trk_schema_type *type = &trace->types[id];
    bool added = !trk_schema_table[id].known;
    *out = (struct trk_trace_type){
        .name = added && type->known ? trace->type_names[id] : trk_event_type_name(id),
        .known = !added,
        .required = type->required,
        .open = trk_schema_open(type),
    };
    return type->known;
}

enum trk_status trk_trace_add_types(struct trk_trace *trace, const struct trk_trace *from,
                                    struct trk_error *error)
{
    for (size_t id = 0; id < sizeof trace->type_texts / sizeof trace->type_texts[0]; id++) {
        const char *text = from->type_texts[id];
        char **to = &trace->type_texts[id];
        if (text == NULL) {
            continue;
        }
        if (*to != NULL && !trk_schema_same(*to, text)) {
            return trk_error_set(error, TRK_E_ARGUMENT,
                                 "it describes events of type %zu (%.32s) in another way", id,
                                 from->type_names[id]);
        }
        if (*to == NULL) {
            *to = trk_schema_copy(text);
            if (*to == NULL) {
                return no_memory(error);
            }
            trace->types[id] = from->types[id];
            memcpy(trace->type_names[id], from->type_names[id], sizeof trace->type_names[id]);
        }
    }
    return TRK_OK;
}

/* [F-14] [F-33] */
struct trk_trace_state trk_trace_state(const struct trk_trace *trace)
{
    struct trk_trace_state state = trace->index.state;
    state.whole = trace->scanned && state.ended && !state.cut && state.dropped == 0 &&
                  state.damaged_chunks == 0 && state.first_damage_offset == TRK_NOT_KNOWN;
    state.header_lost = trace->header_lost;
    state.complete = state.whole && !state.header_lost;
    state.order_gaps = trace->linear != NULL ? trk_linear_gaps(trace->linear) : 0;
    state.unwritten_holds = trace->linear != NULL ? trk_linear_unwritten(trace->linear) : 0;
    return state;
}
