#include "text_words.h"

#include <string.h>

int trk_text_hex(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Undo print_quoted, in place. False: no closing mark, or something behind it. */
static bool unquote(char *at, struct trk_text_words *words)
{
    uint8_t *to = (uint8_t *)at;
    words->text = to;
    for (at++; *at != '"'; at++) {
        if (*at == '\0') {
            return false;
        }
        if (*at != '\\') {
            *to++ = (uint8_t)*at;
        } else if (at[1] == '"' || at[1] == '\\') {
            *to++ = (uint8_t) * ++at;
        } else if (at[1] == 'x' && trk_text_hex(at[2]) >= 0 && trk_text_hex(at[3]) >= 0) {
            *to++ = (uint8_t)(trk_text_hex(at[2]) * 16 + trk_text_hex(at[3]));
            at += 3;
        } else {
            return false;
        }
    }
    words->text_bytes = (size_t)(to - words->text);
    return at[1] == '\0';
}

bool trk_text_cut(char *line, struct trk_text_words *words)
{
    *words = (struct trk_text_words){.first = line};
    char *at = line + strcspn(line, " ");
    while (*at != '\0') {
        *at++ = '\0';
        if (*at == '"') {
            return unquote(at, words);
        }
        size_t length = strcspn(at, " =");
        if (length == 0 || at[length] != '=' || words->count == TRK_TEXT_KEYS_MAX) {
            return false;
        }
        words->key[words->count] = at;
        at[length] = '\0';
        at += length + 1;
        words->value[words->count++] = at;
        at += strcspn(at, " ");
    }
    return true;
}

bool trk_text_number(const char *text, uint64_t most, uint64_t *out)
{
    unsigned base = strncmp(text, "0x", 2) == 0 ? 16 : 10;
    const char *at = base == 16 ? text + 2 : text;
    uint64_t sum = 0;
    if (*at == '\0') {
        return false;
    }
    for (; *at != '\0'; at++) {
        int digit = trk_text_hex(*at);
        if (digit < 0 || digit >= (int)base || sum > (UINT64_MAX - (unsigned)digit) / base) {
            return false;
        }
        sum = sum * base + (unsigned)digit;
    }
    *out = sum;
    return sum <= most;
}

bool trk_text_take(struct trk_text_words *words, const char *key, uint64_t most, uint64_t *out)
{
    *out = 0;
    for (size_t i = 0; i < words->count; i++) {
        if (strcmp(words->key[i], key) == 0) {
            bool good = trk_text_number(words->value[i], most, out);
            words->count--;
            words->key[i] = words->key[words->count];
            words->value[i] = words->value[words->count];
            return good;
        }
    }
    return true;
}

bool trk_text_take_signed(struct trk_text_words *words, const char *key, int64_t least,
                          int64_t most, int64_t *out)
{
    *out = 0;
    for (size_t i = 0; i < words->count; i++) {
        if (strcmp(words->key[i], key) == 0 && words->value[i][0] == '-') {
            uint64_t number;
            words->value[i]++;
            bool good = trk_text_take(words, key, (uint64_t)-least, &number);
            *out = -(int64_t)number;
            return good;
        }
    }
    uint64_t number;
    bool good = trk_text_take(words, key, (uint64_t)most, &number);
    *out = (int64_t)number;
    return good;
}
