/*
 * Bytes that look wrong in a frame, as words: frame:N,range:A+S.
 */
#ifndef CLI_SYMPTOM_TEXT_H
#define CLI_SYMPTOM_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "simulator/symptom.h"

/* Fill the frame and the range's bytes; false: they are none, and that is said. */
bool trk_symptom_text_read(const char *text, uint64_t *frame, struct trk_symptom_range *range);

#endif
