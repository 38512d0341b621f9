/* Text put together without stdio, for the crash report. Internal to libtrack; signal-safe. */
#ifndef TRACK_CRASH_TEXT_H
#define TRACK_CRASH_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* A whole report has about 5 KiB; what does not fit is cut. */
#define CRASH_TEXT_BYTES 16384u

struct crash_text {
    size_t used;
    char bytes[CRASH_TEXT_BYTES];
};

void trk_crash_text_add(struct crash_text *text, const char *words);
/* Hexadecimal without a prefix, with leading zeros up to that many digits; 0: none. */
void trk_crash_text_hex(struct crash_text *text, uint64_t number, unsigned digits);
void trk_crash_text_decimal(struct crash_text *text, int64_t number);
/* Write it all out and empty it. errno may change. */
void trk_crash_text_write(struct crash_text *text, int fd);

#endif
