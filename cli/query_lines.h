/*
 * Statements of SQL, one after the other, out of lines: each ends with a semicolon.
 *
 * A semicolon in quotes or in a comment ends nothing. Where people type, a prompt on standard error
 * says whether a statement has begun.
 */
#ifndef CLI_QUERY_LINES_H
#define CLI_QUERY_LINES_H

#include <stdbool.h>
#include <stdio.h>

/* A statement of more bytes is none. */
#define TRK_QUERY_STATEMENT_BYTES_MOST (1u << 20)

struct trk_query_lines;

/* prompts: say where a line begins. NULL: no memory. */
struct trk_query_lines *trk_query_lines_create(FILE *from, bool prompts);
void trk_query_lines_destroy(struct trk_query_lines *lines);

enum trk_query_line {
    TRK_QUERY_LINE_STATEMENT, /* here it is */
    TRK_QUERY_LINE_END,       /* there are no more */
    TRK_QUERY_LINE_BAD,       /* no statement comes of this, and why is said instead */
};

/* The next one, without what has nothing in it; *text is the lines' until the next call. */
enum trk_query_line trk_query_lines_next(struct trk_query_lines *lines, const char **text);

#endif
