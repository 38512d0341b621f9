/* Holding a verdict against a file's expectation. */
#ifndef SIMULATOR_SCENARIO_EXPECT_H
#define SIMULATOR_SCENARIO_EXPECT_H

#include "scenario_program.h"

/* The expectation in words, cut to size. */
void scenario_expect_words(const struct scenario_expect *expect, char *out, size_t size);

/* Whether one schedule's verdict meets it; at says whether it stood at the operation named. */
bool scenario_expect_holds(const struct scenario_expect *expect, const char *verdict, bool at);

#endif
