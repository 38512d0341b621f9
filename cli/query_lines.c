#include "query_lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum within {
    WITHIN_NOTHING = 0,
    WITHIN_QUOTES, /* up to the mark that began them; twice the mark is two of them */
    WITHIN_LINE,   /* a comment to the end of the line */
    WITHIN_BLOCK,  /* a comment to the next star and slash */
};

struct trk_query_lines {
    FILE *from;
    bool prompts;
    bool line_begins;
    enum within within;
    int mark;        /* that ends the quotes */
    bool substance;  /* something that is no comment and no space has come */
    size_t block_at; /* where the inside of a comment begins */
    size_t size;
    char text[TRK_QUERY_STATEMENT_BYTES_MOST + 1];
};

struct trk_query_lines *trk_query_lines_create(FILE *from, bool prompts)
{
    struct trk_query_lines *lines = malloc(sizeof *lines);
    if (lines != NULL) {
        lines->from = from;
        lines->prompts = prompts;
        lines->line_begins = true;
    }
    return lines;
}

void trk_query_lines_destroy(struct trk_query_lines *lines)
{
    free(lines);
}

static void begin(struct trk_query_lines *lines)
{
    lines->within = WITHIN_NOTHING;
    lines->substance = false;
    lines->size = 0;
}

/* The next byte, with the prompt before it if it is the first of a line. */
static int next_byte(struct trk_query_lines *lines)
{
    if (lines->line_begins && lines->prompts) {
        fputs(lines->substance ? "...> " : "trk> ", stderr);
    }
    int byte = getc(lines->from);
    lines->line_begins = byte == '\n';
    return byte;
}

/* Whether the next byte is this one; it stays the next. */
static bool followed_by(const struct trk_query_lines *lines, int wanted)
{
    int byte = getc(lines->from);
    if (byte != EOF) {
        (void)ungetc(byte, lines->from);
    }
    return byte == wanted;
}

/* A byte that stands outside of quotes and comments. */
static void take_plain(struct trk_query_lines *lines, int byte)
{
    if (byte == '-' && followed_by(lines, '-')) {
        lines->within = WITHIN_LINE;
    } else if (byte == '/' && followed_by(lines, '*')) {
        lines->within = WITHIN_BLOCK;
        lines->text[lines->size++] = (char)next_byte(lines);
        lines->block_at = lines->size; /* that star ends no comment */
    } else if (strchr("'\"`[", byte) != NULL) {
        lines->within = WITHIN_QUOTES;
        lines->mark = byte == '[' ? ']' : byte;
        lines->substance = true;
    } else if (strchr(" \t\r\n\f;", byte) == NULL) {
        lines->substance = true;
    }
}

static void take(struct trk_query_lines *lines, int byte)
{
    lines->text[lines->size++] = (char)byte;
    switch (lines->within) {
    case WITHIN_NOTHING:
        take_plain(lines, byte);
        break;
    case WITHIN_QUOTES:
        lines->within = byte == lines->mark ? WITHIN_NOTHING : WITHIN_QUOTES;
        break;
    case WITHIN_LINE:
        lines->within = byte == '\n' ? WITHIN_NOTHING : WITHIN_LINE;
        break;
    case WITHIN_BLOCK:
        if (byte == '/' && lines->size >= lines->block_at + 2 &&
            lines->text[lines->size - 2] == '*') {
            lines->within = WITHIN_NOTHING;
        }
        break;
    }
}

static enum trk_query_line ended(const struct trk_query_lines *lines, const char **text)
{
    if (lines->prompts) {
        fputc('\n', stderr);
    }
    if (ferror(lines->from)) {
        *text = strerror(errno);
        return TRK_QUERY_LINE_BAD;
    }
    *text = "the last statement does not end with ;";
    return lines->substance || lines->within > WITHIN_LINE ? TRK_QUERY_LINE_BAD
                                                           : TRK_QUERY_LINE_END;
}

enum trk_query_line trk_query_lines_next(struct trk_query_lines *lines, const char **text)
{
    begin(lines);
    for (;;) {
        int byte = next_byte(lines);
        if (byte == EOF) {
            return ended(lines, text);
        }
        if (byte == '\0') {
            *text = "it is no text";
            return TRK_QUERY_LINE_BAD;
        }
        if (lines->size + 2 > TRK_QUERY_STATEMENT_BYTES_MOST) {
            *text = "more than a megabyte is no statement";
            return TRK_QUERY_LINE_BAD;
        }
        bool ends = byte == ';' && lines->within == WITHIN_NOTHING;
        take(lines, byte);
        if (ends && lines->substance) {
            lines->text[lines->size] = '\0';
            *text = lines->text;
            return TRK_QUERY_LINE_STATEMENT;
        }
        if (ends) {
            begin(lines); /* there is nothing in it */
        }
    }
}
