#include "merge_parts.h"

#include <stdlib.h>

#include "merge_streams.h"
#include "number.h"
#include "recorder/checkpoint.h"

static const cJSON *first_anchor(const cJSON *header)
{
    const cJSON *clock = cJSON_GetObjectItemCaseSensitive(header, "clock");
    return cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(clock, "anchors"), 0);
}

/* Of one recording: its clock was looked at once when it began; without that all must be the same.
 */
static bool same_recording(const struct trk_trace *a, const struct trk_trace *b)
{
    cJSON *one = cJSON_Parse(trk_trace_header_json(a));
    cJSON *other = cJSON_Parse(trk_trace_header_json(b));
    const cJSON *anchors[2] = {first_anchor(one), first_anchor(other)};
    bool same = anchors[0] && anchors[1] ? cJSON_Compare(anchors[0], anchors[1], true)
                                         : cJSON_Compare(one, other, true);
    cJSON_Delete(one);
    cJSON_Delete(other);
    return same;
}

static bool is_marked(const cJSON *header, const char *key)
{
    return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(header, key));
}

/* [F-14] By a distance of its own: what lay together in two parts does so no longer. */
static bool has_moved(const cJSON *header)
{
    const cJSON *moved = cJSON_GetObjectItemCaseSensitive(header, "moved");
    return is_marked(header, "redacted") &&
           (!cJSON_IsArray(moved) || cJSON_GetArraySize(moved) > 0);
}

static enum trk_status check_part(const struct trk_merge_part *first,
                                  const struct trk_merge_part *part, struct trk_error *error)
{
    const uint8_t *end;
    struct trk_trace_state state = trk_trace_state(part->trace);
    if (state.damaged_chunks > 0) {
        error->file_offset = state.first_damage_offset;
        return trk_error_set(error, TRK_E_DAMAGED, "trk recover makes a whole trace of it first");
    }
    if (is_marked(part->header, "recovered")) {
        return trk_error_set(error, TRK_E_ARGUMENT,
                             "its header was lost: what recording it is of is not known");
    }
    if (has_moved(part->header)) {
        return trk_error_set(error, TRK_E_ARGUMENT,
                             "its addresses were moved: merge the parts first, then redact");
    }
    if (trk_trace_snapshot(part->trace, &end) && !part->before) {
        return trk_error_set(error, TRK_E_ARGUMENT,
                             "it begins with a state of its own and does not say where that is: a "
                             "part that trk trim made, or a redacted dump");
    }
    return same_recording(first->trace, part->trace)
               ? TRK_OK
               : trk_error_set(error, TRK_E_ARGUMENT, "it is of another recording than %.60s",
                               first->path);
}

/* A dump of a flight ring that begins with a state says how many events that is of. */
static void read_header(struct trk_merge_part *part)
{
    part->header = cJSON_Parse(trk_trace_header_json(part->trace));
    const cJSON *flight = cJSON_GetObjectItemCaseSensitive(part->header, "flight");
    part->before = cJSON_GetObjectItemCaseSensitive(flight, "before_state");
    part->forgotten = cJSON_GetObjectItemCaseSensitive(flight, "forgotten_streams");
}

bool trk_merge_part_before(const cJSON *entry, uint32_t *stream_id, uint64_t *events)
{
    const cJSON *stream = cJSON_GetObjectItemCaseSensitive(entry, "stream");
    const cJSON *number = cJSON_GetObjectItemCaseSensitive(entry, "events");
    if (!cJSON_IsNumber(stream) || stream->valuedouble < 0 || stream->valuedouble >= UINT32_MAX ||
        !cJSON_IsString(number) || !trk_number_parse(number->valuestring, events)) {
        return false;
    }
    *stream_id = (uint32_t)stream->valuedouble;
    return true;
}

static void count_before(struct trk_merge_part *part)
{
    const cJSON *entry;
    uint32_t stream_id;
    uint64_t events;
    cJSON_ArrayForEach(entry, part->before)
    {
        if (trk_merge_part_before(entry, &stream_id, &events)) {
            part->before_events += events;
        }
    }
}

/* Read it all: where it is among the others, and whether what it lacks is told by its events. */
static enum trk_status look_through(struct trk_merge_part *part, struct trk_error *error)
{
    struct trk_trace_event event;
    enum trk_status status;
    uint64_t lost = 0;
    bool *begun = calloc(trk_trace_stream_count(part->trace) + 1, sizeof *begun);
    if (!begun) {
        return trk_error_set(error, TRK_E_MEMORY, "out of memory");
    }
    count_before(part);
    part->first_tsc = UINT64_MAX;
    while ((status = trk_trace_next(part->trace, &event, error)) == TRK_OK) {
        const struct trk_record record = {event.tsc, event.event};
        part->first_tsc = event.tsc < part->first_tsc ? event.tsc : part->first_tsc;
        part->last_tsc = event.tsc > part->last_tsc ? event.tsc : part->last_tsc;
        lost += event.event.type == TRK_EVENT_DROP ? event.event.argument : 0;
        if (!begun[event.stream] && trk_merge_streams_forgotten(&record)) {
            part->before_events += event.event.argument;
        }
        begun[event.stream] = begun[event.stream] || trk_merge_streams_opens(&record);
    }
    free(begun);
    if (status != TRK_E_END) {
        return status;
    }
    struct trk_trace_state state = trk_trace_state(part->trace);
    if (state.damaged_chunks > 0 || state.dropped > lost) {
        error->file_offset = state.first_damage_offset;
        return trk_error_set(error, TRK_E_DAMAGED,
                             "%.100s: trk recover makes a whole trace of it "
                             "first",
                             state.damage);
    }
    return trk_trace_rewind(part->trace, error);
}

static int by_begin(const void *left, const void *right)
{
    const struct trk_merge_part *a = left;
    const struct trk_merge_part *b = right;
    int order = (a->before_events > b->before_events) - (a->before_events < b->before_events);
    return order != 0 ? order : (a->last_tsc > b->last_tsc) - (a->last_tsc < b->last_tsc);
}

static bool has_status(const struct trk_merge_part *part)
{
    return trk_trace_state(part->trace).child_status != -1;
}

/* What comes first goes first: then each adds what comes behind. */
static void put_in_order(struct trk_merge_parts *parts)
{
    qsort(parts->list, parts->count, sizeof parts->list[0], by_begin);
    parts->newest = &parts->list[0];
    for (size_t i = 1; i < parts->count; i++) {
        const struct trk_merge_part *part = &parts->list[i];
        bool later = part->last_tsc > parts->newest->last_tsc;
        bool tells = part->last_tsc == parts->newest->last_tsc &&
                     (has_status(part) || !has_status(parts->newest));
        parts->newest = later || tells ? part : parts->newest;
    }
}

enum trk_status trk_merge_parts_open(struct trk_merge_parts *parts,
                                     const struct trk_merge_part **at, struct trk_error *error)
{
    enum trk_status status = TRK_OK;
    for (size_t i = 0; i < parts->count && status == TRK_OK; i++) {
        struct trk_merge_part *part = &parts->list[i];
        *at = part;
        status = trk_input_open_named(&part->input, part->path, error);
        part->trace = part->input.trace;
        if (status == TRK_OK) {
            status = trk_trace_scan(part->trace, error);
        }
        if (status == TRK_OK) {
            read_header(part);
            status = check_part(&parts->list[0], part, error);
        }
        if (status == TRK_OK) {
            status = look_through(part, error);
        }
    }
    if (status == TRK_OK) {
        put_in_order(parts);
    }
    return status;
}

void trk_merge_parts_close(struct trk_merge_parts *parts)
{
    for (size_t i = 0; i < parts->count; i++) {
        trk_input_close(&parts->list[i].input);
        cJSON_Delete(parts->list[i].header);
    }
    free(parts->list);
}
