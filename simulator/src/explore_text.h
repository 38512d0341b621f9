/*
 * Text that grows, for writing operations of a scenario.
 */
#ifndef SIMULATOR_EXPLORE_TEXT_H
#define SIMULATOR_EXPLORE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "track/macros.h"

struct growing {
    char *text; /* NULL: empty, or no memory */
    size_t size, capacity;
    bool no_memory;
};

void growing_add(struct growing *growing, const char *format, ...) TRK_PRINTF(2, 3);
/* Forget the text, keep the memory. */
void growing_clear(struct growing *growing);
void growing_deinit(struct growing *growing);

#endif
