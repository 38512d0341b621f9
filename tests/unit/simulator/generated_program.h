/* Small scenarios from a seed, for tests that compare one way of exploring with another. */
#ifndef TESTS_GENERATED_PROGRAM_H
#define TESTS_GENERATED_PROGRAM_H

#include <stddef.h>
#include <stdint.h>

struct generated {
    char bytes[4096]; /* JSON */
    size_t used;
    uint64_t random;
};

/* Two or three threads of a few operations each, to be explored. The same seed, the same text. */
void generated_program(struct generated *text, uint64_t seed);

#endif
