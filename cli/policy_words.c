#include "policy_words.h"

#include <stdio.h>
#include <string.h>

#include "number.h"

#define WORD_BYTES 64u

static bool read_invalidate(const char *value, struct trk_policy *out)
{
    for (int i = TRK_INVALIDATE_VERIFY; i <= TRK_INVALIDATE_PER_REGION; i++) {
        if (strcmp(value, trk_invalidate_policy_name((enum trk_invalidate_policy)i)) == 0) {
            out->invalidate = (enum trk_invalidate_policy)i;
            return true;
        }
    }
    return false;
}

static bool read_download(const char *value, struct trk_policy *out)
{
    for (int i = TRK_DOWNLOAD_PER_REGION; i <= TRK_DOWNLOAD_ALL_REGIONS; i++) {
        if (strcmp(value, trk_download_policy_name((enum trk_download_policy)i)) == 0) {
            out->download = (enum trk_download_policy)i;
            return true;
        }
    }
    return false;
}

static bool read_arena(const char *value, struct trk_policy *out)
{
    for (int i = TRK_ARENA_LOW_EXTENDED; i <= TRK_ARENA_LOW; i++) {
        if (strcmp(value, trk_arena_name((enum trk_arena)i)) == 0) {
            out->arena = (enum trk_arena)i;
            return true;
        }
    }
    return false;
}

static bool read_number(const char *value, uint32_t *out)
{
    uint64_t number = 0;
    bool good = trk_number_parse(value, &number) && number <= UINT32_MAX;
    *out = (uint32_t)number;
    return good;
}

static bool read_pair(const char *key, const char *value, struct trk_policy *out)
{
    if (strcmp(key, "invalidate") == 0) {
        return read_invalidate(value, out);
    }
    if (strcmp(key, "download") == 0) {
        return read_download(value, out);
    }
    if (strcmp(key, "arena") == 0) {
        return read_arena(value, out);
    }
    if (strcmp(key, "fault_width") == 0) {
        return read_number(value, &out->fault_width_bytes);
    }
    if (strcmp(key, "page_size") == 0) {
        return read_number(value, &out->page_size_bytes);
    }
    out->generations = strcmp(value, "true") == 0;
    return strcmp(key, "generations") == 0 && (out->generations || strcmp(value, "false") == 0);
}

enum trk_status trk_policy_words_read(const char *text, struct trk_policy *out,
                                      struct trk_error *error)
{
    const char *at = text;
    for (bool first = true, last = false; !last; first = false) {
        char word[WORD_BYTES];
        size_t length = strcspn(at, ",");
        bool good = length < sizeof word;
        snprintf(word, sizeof word, "%.*s", (int)(good ? length : sizeof word - 1), at);
        last = at[length] == '\0';
        at += length + 1;
        char *equals = strchr(word, '=');
        if (good && first) {
            good = trk_policy_preset(word, out) == TRK_OK;
        } else if (good && equals != NULL) {
            *equals = '\0';
            good = read_pair(word, equals + 1, out) && trk_policy_check(out) == TRK_OK;
            *equals = '=';
        } else {
            good = false;
        }
        if (!good) {
            return trk_error_set(error, TRK_E_ARGUMENT, "'%.60s' is %s", word,
                                 first ? "none of default, strict, kyty-2026-08"
                                       : "no key=value of a policy");
        }
    }
    return TRK_OK;
}
