/*
 * Strict numbers: the whole text is the number, or it is refused.
 *
 * Decimal, or hexadecimal after 0x. No sign, no blanks, no digits that would overflow.
 */
#ifndef CLI_NUMBER_H
#define CLI_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether text is a number; out is set only then. */
bool trk_number_parse(const char *text, uint64_t *out);

/* Likewise for the first length bytes of text. */
bool trk_number_parse_part(const char *text, size_t length, uint64_t *out);

/* A number of bytes: a suffix K, M or G stands for 2^10, 2^20, 2^30. */
bool trk_number_parse_size(const char *text, uint64_t *out);

#endif
