#include "trace_pair.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "recorder/chunks.h"

#define NONE UINT32_MAX

/* ---- of one recording ------------------------------------------------------------------------ */

/* The processor's clock when the recording began. */
static const char *begin_ticks(const cJSON *header)
{
    const cJSON *clock = cJSON_GetObjectItemCaseSensitive(header, "clock");
    const cJSON *anchors = cJSON_GetObjectItemCaseSensitive(clock, "anchors");
    return cJSON_GetStringValue(
        cJSON_GetObjectItemCaseSensitive(cJSON_GetArrayItem(anchors, 0), "ticks"));
}

static bool of_one_recording(const struct trk_trace *const traces[2])
{
    static const uint8_t fixed[16] = {0}; /* nobody's */
    cJSON *headers[2];
    const char *ticks[2];
    uint8_t markers[2][16];
    for (int i = 0; i < 2; i++) {
        headers[i] = cJSON_Parse(trk_trace_header_json(traces[i]));
        ticks[i] = begin_ticks(headers[i]);
        trk_trace_marker(traces[i], markers[i]);
    }
    bool marked = memcmp(markers[0], markers[1], sizeof fixed) == 0 &&
                  memcmp(markers[0], fixed, sizeof fixed) != 0;
    bool recovered = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(headers[0], "recovered")) ||
                     cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(headers[1], "recovered"));
    /* A header that says no time is one that was lost, or the same on both sides. */
    bool same = ticks[0] != NULL && ticks[1] != NULL
                    ? strcmp(ticks[0], ticks[1]) == 0
                    : marked && (recovered || cJSON_Compare(headers[0], headers[1], true));
    cJSON_Delete(headers[0]);
    cJSON_Delete(headers[1]);
    return same;
}

enum trk_look_part trk_pair_part(const struct trk_trace *const traces[2], int side)
{
    const uint8_t *end;
    cJSON *header = cJSON_Parse(trk_trace_header_json(traces[side]));
    const cJSON *of = cJSON_GetObjectItemCaseSensitive(header, "part");
    /* A header that was lost cannot say that it is of a region's part. */
    bool lost = of == NULL && cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(header, "recovered"));
    const char *word = cJSON_GetStringValue(of);
    bool sparse = lost || (word != NULL && strcmp(word, "region") == 0);
    bool part = trk_trace_snapshot(traces[side], &end) != NULL || of != NULL ||
                cJSON_HasObjectItem(header, "flight");
    cJSON_Delete(header);
    /* A part of the beginning that does not say so ends as no program did. */
    const struct trk_trace_state state = trk_trace_state(traces[side]);
    const struct trk_trace_state other = trk_trace_state(traces[1 - side]);
    part = part || (of_one_recording(traces) && state.ended && other.ended && !state.cut &&
                    state.child_status == -1 && other.child_status != -1);
    return sparse ? TRK_LOOK_SPARSE : part ? TRK_LOOK_PART : TRK_LOOK_ALL;
}

/* ---- whether ordinals are the same ----------------------------------------------------------- */

static uint32_t stream_of(const struct trk_look *look, uint32_t stream_id)
{
    for (size_t i = 0; i < look->stream_count; i++)
        if (look->streams[i].stream_id == stream_id)
            return (uint32_t)i;
    return NONE;
}

static bool same_chunk(const struct trk_trace_chunk *a, const struct trk_trace_chunk *b)
{
    return a->first_ordinal == b->first_ordinal && a->events == b->events &&
           a->first_tsc == b->first_tsc && a->last_tsc == b->last_tsc;
}

/* Whether chunks of two streams that have an ordinal in common are the same, and the others in
 * their order. */
static bool stream_aligns(const struct trk_trace *const traces[2], const uint32_t streams[2])
{
    uint32_t at[2];
    for (int i = 0; i < 2; i++)
        at[i] = trk_trace_first_chunk(traces[i], streams[i]);
    while (at[0] != TRK_TRACE_NO_CHUNK && at[1] != TRK_TRACE_NO_CHUNK) {
        const struct trk_trace_chunk a = trk_trace_chunk(traces[0], at[0]);
        const struct trk_trace_chunk b = trk_trace_chunk(traces[1], at[1]);
        bool a_first = a.first_ordinal + a.events <= b.first_ordinal;
        bool b_first = b.first_ordinal + b.events <= a.first_ordinal;
        bool later = a_first ? a.last_tsc > b.first_tsc : b_first && b.last_tsc > a.first_tsc;
        if (later || (!a_first && !b_first && !same_chunk(&a, &b)))
            return false;
        at[0] = b_first ? at[0] : a.next;
        at[1] = a_first ? at[1] : b.next;
    }
    return true;
}

/* Whether a stream has an ordinal, asked for in their order. chunk: the one to begin with. */
static bool has_ordinal(const struct trk_trace *trace, uint32_t *chunk, uint64_t ordinal)
{
    while (*chunk != TRK_TRACE_NO_CHUNK) {
        const struct trk_trace_chunk at = trk_trace_chunk(trace, *chunk);
        if (ordinal < at.first_ordinal + at.events)
            return at.first_ordinal <= ordinal;
        *chunk = at.next;
    }
    return false;
}

/* Whether what one side is told to have lost (DROP) is told in the other at the same place, as far
 * as that is there: else the events DROP stand in place of others, and ordinals say nothing. */
static bool drops_align(const struct trk_look_stream *one, const struct trk_look_stream *other,
                        const struct trk_trace *trace, uint32_t stream)
{
    uint32_t chunk = trk_trace_first_chunk(trace, stream); /* of the other */
    uint32_t told = 0;
    for (uint32_t i = 0; i < one->count; i++) {
        const struct trk_loss *loss = &one->losses[i];
        if (!loss->told)
            continue;
        while (told < other->count &&
               (!other->losses[told].told || other->losses[told].first < loss->first))
            told++;
        const bool same = told < other->count && other->losses[told].first == loss->first;
        const bool end = loss->last_tsc == UINT64_MAX;
        if (!same && has_ordinal(trace, &chunk, loss->last) &&
            (end || has_ordinal(trace, &chunk, loss->first)))
            return false;
    }
    return true;
}

static bool aligns(const struct trk_trace *const traces[2], const struct trk_look looks[2])
{
    for (size_t i = 0; i < looks[0].stream_count; i++) {
        const uint32_t streams[2] = {(uint32_t)i,
                                     stream_of(&looks[1], looks[0].streams[i].stream_id)};
        if (streams[1] == NONE)
            continue;
        const struct trk_look_stream *a = &looks[0].streams[i], *b = &looks[1].streams[streams[1]];
        if (!stream_aligns(traces, streams) || !drops_align(a, b, traces[1], streams[1]) ||
            !drops_align(b, a, traces[0], streams[0]))
            return false;
    }
    return true;
}

/* ---- threads --------------------------------------------------------------------------------- */

static bool has_name(const struct trk_pair *pair, uint32_t count, const char *name)
{
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(pair->threads[i].name, name) == 0)
            return true;
    return false;
}

/* Threads are known by their names, or by their numbers; of two alike the second one by both. */
static void name_thread(struct trk_pair *pair, uint32_t thread, uint32_t number, const char *given)
{
    char name[32];
    snprintf(name, sizeof name, "%s", given);
    if (name[0] == '\0' || has_name(pair, thread, name))
        snprintf(pair->threads[thread].name, sizeof name, "%.18s #%" PRIu32, given, number);
    else
        memcpy(pair->threads[thread].name, name, sizeof name);
}

/* Of one recording: streams of one number are one thread, by the name of who is more whole. */
static void pair_by_number(struct trk_pair *pair, const struct trk_look looks[2])
{
    int better = looks[0].lacks_threads && !looks[1].lacks_threads ? 1 : 0;
    for (int i = 0; i < 2; i++) {
        const struct trk_look *look = &looks[i == 0 ? better : 1 - better];
        const struct trk_look *other = &looks[i == 0 ? 1 - better : better];
        for (size_t k = 0; k < look->stream_count; k++) {
            const struct trk_look_stream *stream = &look->streams[k];
            uint32_t there = stream_of(other, stream->stream_id);
            uint32_t *of = &pair->thread_of[look == &looks[0] ? 0 : 1][k];
            if (i == 1 && there != NONE) {
                *of = pair->thread_of[other == &looks[0] ? 0 : 1][there];
                continue;
            }
            *of = pair->thread_count++;
            pair->threads[*of].stream_id = stream->stream_id;
            bool known = stream->name[0] != '\0' || there == NONE;
            name_thread(pair, *of, *of, known ? stream->name : other->streams[there].name);
        }
    }
}

/* Else each side has its own; the names say which are the same. */
static void name_apart(struct trk_pair *pair, const struct trk_look looks[2])
{
    for (int side = 0; side < 2; side++) {
        struct trk_pair own = {.threads = pair->threads + pair->thread_count};
        for (size_t k = 0; k < looks[side].stream_count; k++) {
            name_thread(&own, (uint32_t)k, (uint32_t)k, looks[side].streams[k].name);
            pair->thread_of[side][k] = pair->thread_count + (uint32_t)k;
        }
        pair->thread_count += (uint32_t)looks[side].stream_count;
    }
}

/* ---- what is not judged ---------------------------------------------------------------------- */

static enum trk_status hide(struct trk_pair_thread *thread, uint64_t first, uint64_t last)
{
    if (thread->count == thread->capacity) {
        uint32_t capacity = thread->capacity == 0 ? 8 : thread->capacity * 2;
        struct trk_span *spans =
            capacity == 0 ? NULL : realloc(thread->spans, capacity * sizeof *spans);
        if (spans == NULL)
            return TRK_E_MEMORY;
        thread->spans = spans;
        thread->capacity = capacity;
    }
    thread->spans[thread->count++] = (struct trk_span){first, last};
    return TRK_OK;
}

static int by_first(const void *a, const void *b)
{
    const struct trk_span *one = a, *other = b;
    return one->first < other->first ? -1 : one->first > other->first;
}

static void join_spans(struct trk_pair_thread *thread)
{
    uint32_t kept = 0;
    if (thread->count == 0)
        return;
    qsort(thread->spans, thread->count, sizeof *thread->spans, by_first);
    for (uint32_t i = 1; i < thread->count; i++) {
        struct trk_span *last = &thread->spans[kept];
        if (thread->spans[i].first > last->last)
            thread->spans[++kept] = thread->spans[i];
        else if (thread->spans[i].last > last->last)
            last->last = thread->spans[i].last;
    }
    thread->count = kept + 1;
}

static enum trk_status hide_losses(struct trk_pair *pair, struct trk_pair_thread *thread,
                                   const struct trk_look *look)
{
    uint32_t at = stream_of(look, thread->stream_id);
    if (at == NONE)
        return look->lacks_threads ? hide(thread, 0, UINT64_MAX) : TRK_OK;
    enum trk_status status = TRK_OK;
    for (uint32_t i = 0; status == TRK_OK && i < look->streams[at].count; i++) {
        const struct trk_loss *loss = &look->streams[at].losses[i];
        if (pair->time)
            status = hide(thread, loss->first_tsc, loss->last_tsc);
        else if (loss->first <= loss->last)
            status = hide(thread, loss->first, loss->last);
    }
    return status;
}

/* ---- all of it ------------------------------------------------------------------------------- */

enum trk_status trk_pair_make(struct trk_pair *out, const struct trk_trace *const traces[2],
                              const struct trk_look looks[2])
{
    *out = (struct trk_pair){.kin = of_one_recording(traces)};
    out->threads = calloc(looks[0].stream_count + looks[1].stream_count + 1, sizeof *out->threads);
    for (int side = 0; side < 2; side++)
        out->thread_of[side] = calloc(looks[side].stream_count + 1, sizeof *out->thread_of[side]);
    if (out->threads == NULL || out->thread_of[0] == NULL || out->thread_of[1] == NULL)
        return TRK_E_MEMORY;
    if (!out->kin) {
        name_apart(out, looks);
        return TRK_OK;
    }
    pair_by_number(out, looks);
    out->time = !aligns(traces, looks);
    /* Of a region's events others are between; two copies of one such part have the same. */
    int sparse = (looks[0].part == TRK_LOOK_SPARSE) + (looks[1].part == TRK_LOOK_SPARSE);
    out->hides = sparse == 0 || (sparse == 2 && !out->time);
    enum trk_status status = TRK_OK;
    for (uint32_t i = 0; out->hides && status == TRK_OK && i < out->thread_count; i++) {
        for (int side = 0; status == TRK_OK && side < 2; side++)
            status = hide_losses(out, &out->threads[i], &looks[side]);
        join_spans(&out->threads[i]);
    }
    return status;
}

void trk_pair_free(struct trk_pair *pair)
{
    for (uint32_t i = 0; pair->threads != NULL && i < pair->thread_count; i++)
        free(pair->threads[i].spans);
    free(pair->threads);
    free(pair->thread_of[0]);
    free(pair->thread_of[1]);
}

bool trk_pair_hides(const struct trk_pair *pair, uint32_t at, uint64_t ordinal, uint64_t tsc)
{
    const struct trk_pair_thread *thread = &pair->threads[at];
    const uint64_t place = pair->time ? tsc : ordinal;
    uint32_t low = 0, high = thread->count; /* the spans that begin at or before the place */
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (thread->spans[middle].first <= place)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && place <= thread->spans[low - 1].last;
}
