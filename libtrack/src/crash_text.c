#include "crash_text.h"

#include <errno.h>
#include <unistd.h>

static void add_byte(struct crash_text *text, char byte)
{
    if (text->used < sizeof text->bytes)
        text->bytes[text->used++] = byte;
}

void trk_crash_text_add(struct crash_text *text, const char *words)
{
    for (; *words != '\0'; words++)
        add_byte(text, *words);
}

static void add_number(struct crash_text *text, uint64_t number, unsigned base, unsigned digits)
{
    char reversed[24];
    unsigned count = 0;
    do {
        reversed[count++] = "0123456789abcdef"[number % base];
        number /= base;
    } while (number != 0);
    while (count < digits && count < sizeof reversed)
        reversed[count++] = '0';
    while (count > 0)
        add_byte(text, reversed[--count]);
}

void trk_crash_text_hex(struct crash_text *text, uint64_t number, unsigned digits)
{
    add_number(text, number, 16, digits);
}

void trk_crash_text_decimal(struct crash_text *text, int64_t number)
{
    if (number < 0)
        add_byte(text, '-');
    add_number(text, number < 0 ? 0 - (uint64_t)number : (uint64_t)number, 10, 0);
}

void trk_crash_text_write(struct crash_text *text, int fd)
{
    const char *bytes = text->bytes;
    size_t left = text->used;
    while (left > 0) {
        ssize_t written = write(fd, bytes, left);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            break; /* nobody reads: the signal still tells */
        bytes += written;
        left -= (size_t)written;
    }
    text->used = 0;
}
