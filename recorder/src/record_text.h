/* Text from outside. */
#ifndef RECORDER_RECORD_TEXT_H
#define RECORDER_RECORD_TEXT_H

#include <stdbool.h>
#include <stdint.h>

/*
 * For JSON: replace by '?' every byte of a string that is part of no UTF-8 character. Command lines
 * and names may hold any bytes, and may have been cut in the middle of a character.
 */
void trk_record_text_clean(char *text);

/* A decimal number at *at, digits and nothing else; *at moves behind it. False: none fits there. */
bool trk_record_text_number(const char **at, uint64_t *out);

#endif
