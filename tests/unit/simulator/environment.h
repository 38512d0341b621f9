/* Numbers that a test is asked for in the environment: which programs, and how many. */
#ifndef TESTS_ENVIRONMENT_H
#define TESTS_ENVIRONMENT_H

#include <stdint.h>
#include <stdlib.h>

static inline uint64_t environment_number(const char *name, uint64_t otherwise)
{
    const char *value = getenv(name);
    return value != NULL ? strtoull(value, NULL, 10) : otherwise;
}

#endif
