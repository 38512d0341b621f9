#include "json_out.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "command.h"
#include "progress.h"
#include "refusal.h"
#include "terminal.h"

/* Above this a double no longer holds every whole number. */
#define EXACT_MOST (UINT64_C(1) << 53)

static void *allocate(size_t size)
{
    void *memory = malloc(size);
    if (!memory) {
        trk_terminal_say(NULL, "out of memory");
        exit(TRK_EXIT_ENVIRONMENT);
    }
    return memory;
}

cJSON *trk_json_out_object(const char *schema)
{
    cJSON_InitHooks(&(cJSON_Hooks){.malloc_fn = allocate, .free_fn = free});
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "schema", schema);
    return object;
}

cJSON *trk_json_out_item(cJSON *list)
{
    cJSON *item = cJSON_CreateObject();
    cJSON_AddItemToArray(list, item);
    return item;
}

/* Length of the well-formed UTF-8 sequence at text, or 0. Surrogates and overlong forms are bad. */
static size_t sequence_length(const unsigned char *text)
{
    size_t length = text[0] < 0x80   ? 1
                    : text[0] < 0xc2 ? 0
                    : text[0] < 0xe0 ? 2
                    : text[0] < 0xf0 ? 3
                    : text[0] < 0xf5 ? 4
                                     : 0;
    for (size_t i = 1; i < length; i++) {
        if ((text[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    if ((text[0] == 0xe0 && text[1] < 0xa0) || (text[0] == 0xed && text[1] > 0x9f) ||
        (text[0] == 0xf0 && text[1] < 0x90) || (text[0] == 0xf4 && text[1] > 0x8f)) {
        return 0;
    }
    return length;
}

void trk_json_out_utf8(const char *text, char *out, size_t size)
{
    static const char replacement[] = "\xef\xbf\xbd";
    const unsigned char *at = (const unsigned char *)text;
    size_t used = 0;
    while (*at) {
        size_t length = sequence_length(at);
        const char *from = length ? (const char *)at : replacement;
        size_t add = length ? length : sizeof replacement - 1;
        if (used + add >= size) {
            break;
        }
        memcpy(out + used, from, add);
        used += add;
        at += length ? length : 1;
    }
    out[used] = 0;
}

void trk_json_out_escaped(FILE *out, const char *text)
{
    for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
        if (*at < 0x20 || *at == 0x7f) {
            fprintf(out, "\\u%04x", *at);
        } else {
            fprintf(out, *at == '"' || *at == '\\' ? "\\%c" : "%c", *at);
        }
    }
}

void trk_json_out_text(cJSON *object, const char *key, const char *text)
{
    if (!text) {
        cJSON_AddNullToObject(object, key);
        return;
    }
    size_t size = strlen(text) * 3 + 1; /* a replacement has three bytes */
    char *clean = allocate(size);
    trk_json_out_utf8(text, clean, size);
    cJSON_AddStringToObject(object, key, clean);
    free(clean);
}

void trk_json_out_number(cJSON *object, const char *key, uint64_t number)
{
    if (number == TRK_NOT_KNOWN) {
        cJSON_AddNullToObject(object, key);
        return;
    }
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, number);
    if (number > EXACT_MOST) {
        cJSON_AddStringToObject(object, key, text);
    } else {
        cJSON_AddRawToObject(object, key, text); /* cJSON itself prints 15 digits only */
    }
}

void trk_json_out_address(cJSON *object, const char *key, uint64_t address)
{
    char text[24];
    snprintf(text, sizeof text, "0x%" PRIx64, address);
    if (address == TRK_NOT_KNOWN) {
        cJSON_AddNullToObject(object, key);
    } else {
        cJSON_AddStringToObject(object, key, text);
    }
}

void trk_json_out_end(cJSON *object, int32_t wait_status)
{
    bool known = wait_status != -1;
    trk_json_out_number(object, "exit_code",
                        known && WIFEXITED(wait_status) ? (uint64_t)WEXITSTATUS(wait_status)
                                                        : TRK_NOT_KNOWN);
    trk_json_out_number(object, "signal",
                        known && WIFSIGNALED(wait_status) ? (uint64_t)WTERMSIG(wait_status)
                                                          : TRK_NOT_KNOWN);
}

void trk_json_out_error(cJSON *object, const struct trk_error *error)
{
    cJSON *detail = cJSON_AddObjectToObject(object, "error");
    cJSON_AddStringToObject(detail, "status", trk_status_name(error->status));
    trk_json_out_text(detail, "text", error->text);
    trk_json_out_number(detail, "file_offset", error->file_offset);
    trk_json_out_number(detail, "event", error->event_number);
}

static void print(cJSON *object, char *text)
{
    trk_refusal_not_needed();
    puts(text);
    cJSON_free(text);
    cJSON_Delete(object);
}

void trk_json_out_print(cJSON *object)
{
    trk_progress_wipe();
    print(object, cJSON_Print(object));
}

void trk_json_out_print_line(cJSON *object)
{
    print(object, cJSON_PrintUnformatted(object));
}
