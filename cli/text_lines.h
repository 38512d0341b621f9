/*
 * A file of short lines, from anybody.
 */
#ifndef CLI_TEXT_LINES_H
#define CLI_TEXT_LINES_H

#include <stdint.h>
#include <stdio.h>

#define TRK_TEXT_LINE_BYTES 256u
#define TRK_TEXT_LINES_MOST (UINT64_C(1) << 22)

/* Begun with a file, all else 0. */
struct trk_text_lines {
    FILE *file;
    uint64_t number; /* of the line, from 1 */
    const char *why; /* why the line is none; NULL: it is one, or the file has ended */
    char text[TRK_TEXT_LINE_BYTES];
};

/*
 * The next line, without its end; the lines' own, to be changed freely. NULL: there is none: it
 * holds a NUL, is longer than 255 bytes, or one too many (why says which), or the file has ended or
 * cannot be read (ferror).
 */
char *trk_text_lines_next(struct trk_text_lines *lines);

#endif
