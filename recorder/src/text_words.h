/*
 * A line of a trace's text, cut into its words.
 */
#ifndef RECORDER_TEXT_WORDS_H
#define RECORDER_TEXT_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* More keys than any line has. */
#define TRK_TEXT_KEYS_MAX 8

/* A word, keys with values, a text between quotation marks: places in the line, which is changed.
 */
struct trk_text_words {
    char *first;
    size_t count;
    char *key[TRK_TEXT_KEYS_MAX];
    char *value[TRK_TEXT_KEYS_MAX];
    uint8_t *text; /* NULL: none */
    size_t text_bytes;
};

/* Cut a line. False: it is not of that form. */
bool trk_text_cut(char *line, struct trk_text_words *words);

/* A number without sign, decimal or hexadecimal after 0x, nothing else; at most `most`. */
bool trk_text_number(const char *text, uint64_t most, uint64_t *out);

/* A key's number; 0 when it is absent. The key is taken out, so that those left over are seen. */
bool trk_text_take(struct trk_text_words *words, const char *key, uint64_t most, uint64_t *out);
bool trk_text_take_signed(struct trk_text_words *words, const char *key, int64_t least,
                          int64_t most, int64_t *out);

/* The value of a lower-case hexadecimal digit; -1: it is none. */
int trk_text_hex(char c);

#endif
