#include "number.h"

#include <string.h>

static int digit_of(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    if (c >= 'a' && c <= 'f') {
        return c - 'a' + 10;
    }
    if (c >= 'A' && c <= 'F') {
        return c - 'A' + 10;
    }
    return 16;
}

bool trk_number_parse_part(const char *text, size_t length, uint64_t *out)
{
    unsigned base = 10;
    size_t at = 0;
    if (length > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
        base = 16;
        at = 2;
    }
    if (at == length) {
        return false;
    }
    uint64_t value = 0;
    for (; at < length; at++) {
        unsigned digit = (unsigned)digit_of(text[at]);
        if (digit >= base || value > (UINT64_MAX - digit) / base) {
            return false;
        }
        value = value * base + digit;
    }
    *out = value;
    return true;
}

bool trk_number_parse(const char *text, uint64_t *out)
{
    return trk_number_parse_part(text, strlen(text), out);
}

bool trk_number_parse_size(const char *text, uint64_t *out)
{
    size_t length = strlen(text);
    unsigned shift = 0;
    if (length > 0) {
        char last = text[length - 1];
        shift = last == 'K' ? 10 : last == 'M' ? 20 : last == 'G' ? 30 : 0;
    }
    uint64_t value;
    if (!trk_number_parse_part(text, shift ? length - 1 : length, &value) ||
        value > UINT64_MAX >> shift) {
        return false;
    }
    *out = value << shift;
    return true;
}
