/*
 * The second decoder's canonical order: F-27 to F-31 of docs/format.md.
 */
#ifndef TESTS_SECOND_ORDER_H
#define TESTS_SECOND_ORDER_H

#include <stdbool.h>
#include <stddef.h>

#include "second_decoder.h"

void second_order_reset(void);
/* F-37: before the first event a domain was in this hold, or a timeline at this value. */
void second_begin(bool timeline, uint32_t number, uint64_t value);
/* Whether the next event of a stream may be given now. */
bool second_ready(const struct second_event *event);
void second_give(const struct second_event *event, size_t stream);
/* The stream has given all of its events. */
void second_exhausted(size_t stream);

/* second_decoder.c */
bool second_ends_hold(const struct second_event *event);
void second_must(bool good, const char *rule);

#endif
