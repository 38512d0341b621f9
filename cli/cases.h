/*
 * The scenario files inside the program, by name: those of tests/scenarios.
 *
 * Made by cases.cmake, in the order of their names.
 */
#ifndef CLI_CASES_H
#define CLI_CASES_H

#include <stddef.h>

struct trk_case {
    const char *name; /* "handed/core/NAME.json" */
    const unsigned char *json, *end;
};

extern const struct trk_case trk_cases[];
extern const size_t trk_case_count;

#endif
