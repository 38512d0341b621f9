/* Holding a verdict against a file's expectation. */
#ifndef SIMULATOR_SCENARIO_EXPECT_H
#define SIMULATOR_SCENARIO_EXPECT_H

#include "scenario_program.h"

/* The expectation in words, cut to size. */
void scenario_expect_words(const struct scenario_expect *expect, char *out, size_t size);

/* The verdicts of the format, numbered; a word that is none has the last one's number. */
#define SCENARIO_VERDICTS 20u

uint32_t scenario_verdict_number(const char *word);
const char *scenario_verdict_word(uint32_t number);

#endif
