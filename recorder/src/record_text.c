/* UTF-8, as far as JSON needs it: the form is checked, and the ranges that have no character. */
#include "record_text.h"

#include <stddef.h>

/* Bytes of the character that starts here; 0 when none does. */
static size_t character_length(const unsigned char *bytes)
{
    if (bytes[0] < 0x80)
        return 1;
    size_t length = bytes[0] >= 0xf0 ? 4 : bytes[0] >= 0xe0 ? 3 : 2;
    if (bytes[0] < 0xc2 || bytes[0] > 0xf4)
        return 0; /* a continuation, an overlong form, or beyond the last plane */
    uint32_t code = bytes[0] & (0x7fu >> length);
    for (size_t i = 1; i < length; ++i) {
        if ((bytes[i] & 0xc0u) != 0x80) /* the end of the string, too */
            return 0;
        code = code << 6 | (bytes[i] & 0x3fu);
    }
    bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
    bool surrogate = code >= 0xd800 && code < 0xe000;
    return overlong || surrogate || code > 0x10ffff ? 0 : length;
}

void trk_record_text_clean(char *text)
{
    unsigned char *byte = (unsigned char *)text;
    while (*byte) {
        size_t length = character_length(byte);
        if (length == 0) {
            *byte = '?';
            length = 1;
        }
        byte += length;
    }
}

bool trk_record_text_number(const char **at, uint64_t *out)
{
    const char *digit = *at;
    uint64_t number = 0;
    for (; *digit >= '0' && *digit <= '9'; ++digit) {
        uint64_t value = (uint64_t)(*digit - '0');
        if (number > (UINT64_MAX - value) / 10)
            return false;
        number = number * 10 + value;
    }
    bool any = digit != *at;
    *at = digit;
    *out = number;
    return any;
}
