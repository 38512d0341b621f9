#include "note.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *trk_trace_role_name(uint32_t role)
{
    static const char *const names[] = {"host", "guest", "gpu", "driver", "tool"};
    return role < sizeof names / sizeof names[0] ? names[role] : "?";
}

/* As text: JSON readers keep numbers as doubles. */
static bool add_u64(cJSON *object, const char *key, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, value);
    return cJSON_AddStringToObject(object, key, text) != NULL;
}

static bool add_clocks(cJSON *note, const struct trk_trace_anchor *clocks)
{
    if (clocks->ticks == 0)
        return true;
    cJSON *object = cJSON_AddObjectToObject(note, "clocks");
    return add_u64(object, "ticks", clocks->ticks) &&
           add_u64(object, "monotonic_raw_ns", clocks->monotonic_raw_ns) &&
           (clocks->realtime_ns == 0 || add_u64(object, "realtime_ns", clocks->realtime_ns));
}

/* What both have is then as the first had it. */
static void move_members(cJSON *from, cJSON *to)
{
    while (from != NULL && from->child != NULL) {
        cJSON *item = cJSON_DetachItemViaPointer(from, from->child);
        cJSON_DeleteItemFromObjectCaseSensitive(to, item->string);
        /* It keeps its own name, which is a copy. */
        cJSON_AddItemToObject(to, item->string, item);
    }
}

char *trk_note_print(const struct trk_trace_stream *stream)
{
    cJSON *note = cJSON_CreateObject();
    char *text = NULL;
    char name[sizeof stream->name];
    memcpy(name, stream->name, sizeof name);
    name[sizeof name - 1] = '\0';
    cJSON *more = stream->more != NULL ? cJSON_Parse(stream->more) : NULL;
    if (cJSON_AddNumberToObject(note, "tid", stream->thread_id) != NULL &&
        cJSON_AddNumberToObject(note, "role", stream->role) != NULL &&
        cJSON_AddStringToObject(note, "name", name) != NULL && add_clocks(note, &stream->clocks) &&
        (stream->more == NULL || more != NULL)) {
        cJSON *clocks = cJSON_GetObjectItemCaseSensitive(note, "clocks");
        cJSON *newer = cJSON_GetObjectItemCaseSensitive(more, "clocks");
        if (clocks != NULL && cJSON_IsObject(newer)) {
            move_members(newer, clocks);
            cJSON_DeleteItemFromObjectCaseSensitive(more, "clocks");
        }
        move_members(more, note);
        text = cJSON_PrintUnformatted(note);
    }
    cJSON_Delete(more);
    cJSON_Delete(note);
    return text;
}

void trk_note_free(char *text)
{
    cJSON_free(text);
}

/* Whole numbers of 32 bits only: a double takes any of them exactly. */
static void take_number(const cJSON *note, const char *key, uint32_t *out)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(note, key);
    if (cJSON_IsNumber(item) && item->valuedouble >= 0 && item->valuedouble <= UINT32_MAX) {
        *out = (uint32_t)item->valuedouble;
    }
}

/* 20 digits at most, and nothing else; 0 otherwise. */
static uint64_t take_u64(const cJSON *object, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    uint64_t sum = 0;
    for (const char *at = cJSON_IsString(item) ? item->valuestring : ""; *at != '\0'; at++) {
        uint64_t digit = (uint64_t)(unsigned char)*at - '0';
        if (digit > 9 || sum > (UINT64_MAX - digit) / 10) {
            return 0;
        }
        sum = sum * 10 + digit;
    }
    return sum;
}

/*
 * What is kept of the clocks in stream->clocks goes; what a newer version says beside it stays, and
 * all of them where they are not said in a way that this version understands.
 */
static void take_clocks(cJSON *note, const struct trk_trace_stream *stream)
{
    static const char *const keys[] = {"ticks", "monotonic_raw_ns", "realtime_ns"};
    cJSON *clocks = cJSON_GetObjectItemCaseSensitive(note, "clocks");
    if (!cJSON_IsObject(clocks) || (stream->clocks.ticks == 0 && clocks->child != NULL)) {
        return;
    }
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const cJSON *item = cJSON_GetObjectItemCaseSensitive(clocks, keys[i]);
        if (cJSON_IsString(item) &&
            (take_u64(clocks, keys[i]) != 0 || strcmp(item->valuestring, "0") == 0)) {
            cJSON_DeleteItemFromObjectCaseSensitive(clocks, keys[i]);
        }
    }
    if (clocks->child == NULL) {
        cJSON_DeleteItemFromObjectCaseSensitive(note, "clocks");
    }
}

/* [F-15] [F-41] What a newer version says; a later NOTE replaces what an earlier one said. */
static bool take_more(cJSON *note, struct trk_trace_stream *stream)
{
    cJSON_DeleteItemFromObjectCaseSensitive(note, "tid");
    cJSON_DeleteItemFromObjectCaseSensitive(note, "role");
    cJSON_DeleteItemFromObjectCaseSensitive(note, "name");
    take_clocks(note, stream);
    if (note->child == NULL) {
        return true;
    }
    cJSON *all = stream->more != NULL ? cJSON_Parse(stream->more) : cJSON_CreateObject();
    move_members(note, all);
    char *text = cJSON_PrintUnformatted(all);
    cJSON_Delete(all);
    if (text != NULL) {
        trk_note_free_more(stream);
        stream->more = text;
    }
    return text != NULL;
}

void trk_note_free_more(struct trk_trace_stream *stream)
{
    cJSON_free(stream->more);
    stream->more = NULL;
}

bool trk_note_copy(struct trk_trace_stream *stream, const struct trk_trace_stream *from)
{
    size_t size_bytes = from->more != NULL ? strlen(from->more) + 1 : 0;
    char *copy = from->more != NULL ? cJSON_malloc(size_bytes) : NULL;
    if (copy != NULL) {
        memcpy(copy, from->more, size_bytes);
    }
    trk_note_free_more(stream);
    stream->more = copy;
    stream->thread_id = from->thread_id;
    stream->role = from->role;
    memcpy(stream->name, from->name, sizeof stream->name);
    stream->clocks = from->clocks;
    return copy != NULL || from->more == NULL;
}

bool trk_note_same(const struct trk_trace_stream *a, const struct trk_trace_stream *b)
{
    if (a->thread_id != b->thread_id || a->role != b->role ||
        strncmp(a->name, b->name, sizeof a->name) != 0 || a->clocks.ticks != b->clocks.ticks) {
        return false;
    }
    return a->more == NULL || b->more == NULL ? a->more == b->more : strcmp(a->more, b->more) == 0;
}

bool trk_note_parse(const char *text, size_t size_bytes, struct trk_trace_stream *stream)
{
    cJSON *note = cJSON_ParseWithLength(text, size_bytes);
    if (!cJSON_IsObject(note)) {
        cJSON_Delete(note);
        return false;
    }
    take_number(note, "tid", &stream->thread_id);
    take_number(note, "role", &stream->role);
    const cJSON *clocks = cJSON_GetObjectItemCaseSensitive(note, "clocks");
    if (cJSON_IsObject(clocks)) {
        stream->clocks =
            (struct trk_trace_anchor){.ticks = take_u64(clocks, "ticks"),
                                      .monotonic_raw_ns = take_u64(clocks, "monotonic_raw_ns"),
                                      .realtime_ns = take_u64(clocks, "realtime_ns")};
    }
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(note, "name");
    if (cJSON_IsString(name)) {
        strncpy(stream->name, name->valuestring, sizeof stream->name - 1);
        stream->name[sizeof stream->name - 1] = '\0';
    }
    bool taken = take_more(note, stream);
    cJSON_Delete(note);
    return taken;
}
