#include "note.h"

#include <cjson/cJSON.h>
#include <string.h>

char *trk_note_print(const struct trk_trace_stream *stream)
{
    cJSON *note = cJSON_CreateObject();
    char *text = NULL;
    char name[sizeof stream->name];
    memcpy(name, stream->name, sizeof name);
    name[sizeof name - 1] = '\0';
    if (cJSON_AddNumberToObject(note, "tid", stream->thread_id) != NULL &&
        cJSON_AddNumberToObject(note, "role", stream->role) != NULL &&
        cJSON_AddStringToObject(note, "name", name) != NULL) {
        text = cJSON_PrintUnformatted(note);
    }
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

bool trk_note_parse(const char *text, size_t size_bytes, struct trk_trace_stream *stream)
{
    cJSON *note = cJSON_ParseWithLength(text, size_bytes);
    if (!cJSON_IsObject(note)) {
        cJSON_Delete(note);
        return false;
    }
    take_number(note, "tid", &stream->thread_id);
    take_number(note, "role", &stream->role);
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(note, "name");
    if (cJSON_IsString(name)) {
        strncpy(stream->name, name->valuestring, sizeof stream->name - 1);
        stream->name[sizeof stream->name - 1] = '\0';
    }
    cJSON_Delete(note);
    return true;
}
