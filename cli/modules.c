#include "modules.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

static bool read_address(const cJSON *object, const char *key, uint64_t *out)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
    char *end = NULL;
    *out = text != NULL ? strtoull(text, &end, 0) : 0;
    return text != NULL && end != text && *end == '\0';
}

static bool read_module(const cJSON *item, struct trk_module *out)
{
    const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(item, "name"));
    if (name == NULL || !read_address(item, "base", &out->base_addr) ||
        !read_address(item, "first", &out->first_addr) ||
        !read_address(item, "end", &out->end_addr)) {
        return false;
    }
    size_t length = 0;
    for (; length < sizeof out->name - 1 && name[length] != '\0'; length++) {
        const char c = name[length];
        const bool plain = c > ' ' && c <= '~' && c != '"' && c != '\\';
        out->name[length] = plain ? c : '?';
    }
    out->name[length] = '\0';
    return true;
}

void trk_modules_init(struct trk_modules *out, const char *header_json)
{
    cJSON *header = cJSON_Parse(header_json);
    const cJSON *mappings = cJSON_GetObjectItemCaseSensitive(header, "mappings");
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(mappings, "modules");
    int most = cJSON_IsArray(list) ? cJSON_GetArraySize(list) : 0;
    *out = (struct trk_modules){.at = calloc((size_t)most + 1, sizeof *out->at)};
    const cJSON *item;
    cJSON_ArrayForEach(item, list)
    {
        if (out->at != NULL && read_module(item, &out->at[out->count])) {
            out->count++;
        }
    }
    cJSON_Delete(header);
}

void trk_modules_deinit(struct trk_modules *modules)
{
    free(modules->at);
    *modules = (struct trk_modules){.count = 0};
}

const char *trk_modules_find(const struct trk_modules *modules, uint64_t pc,
                             char out[TRK_MODULE_TEXT_BYTES])
{
    out[0] = '\0';
    for (size_t i = 0; i < modules->count && out[0] == '\0'; i++) {
        const struct trk_module *module = &modules->at[i];
        if (pc >= module->first_addr && pc < module->end_addr) {
            snprintf(out, TRK_MODULE_TEXT_BYTES, "%s+0x%" PRIx64, module->name,
                     pc - module->base_addr);
        }
    }
    return out;
}

size_t trk_modules_field(const struct trk_modules *modules, const struct trk_event *event,
                         struct trk_event_field fields[TRK_EVENT_FIELDS_MOST], size_t count,
                         char out[TRK_MODULE_TEXT_BYTES])
{
    bool named = event->type == TRK_EVENT_FAULT_AT && count < TRK_EVENT_FIELDS_MOST &&
                 trk_modules_find(modules, event->argument, out)[0] != '\0';
    if (named) {
        fields[count] = (struct trk_event_field){.key = "at", .kind = TRK_FIELD_WORD, .word = out};
    }
    return count + (named ? 1 : 0);
}
