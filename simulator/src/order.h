/*
 * What is ordered before what: vector clocks over the streams of a trace.
 *
 * An event is named by its stream and number; numbers grow along a stream, so that a clock is one
 * number a stream: everything of that stream up to it is ordered before. Edges come from the
 * signals that the program recorded. The locks inside the tracker give none: they order nothing
 * for plain accesses.
 *
 * Rules: scenario-format, Order.
 */
#ifndef SIMULATOR_ORDER_H
#define SIMULATOR_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "track/status.h"

/* Bounds on what a file can ask for. An edge that no longer fits is left out: that proves less to
 * who asks what is ordered; who asks what is not, asks order_forgot, too. */
#define ORDER_STREAMS_MAX    1024u
#define ORDER_TIMELINES_MAX  4096u
#define ORDER_SIGNALS_KEPT   4096u /* of a timeline: the newest */
#define ORDER_KEPT_BYTES_MAX (UINT64_C(64) << 20)

struct order;

/* An order over `streams` streams, at most ORDER_STREAMS_MAX. Allocates. */
TRK_MUST_USE enum trk_status order_create(struct order **out, uint32_t streams);
void order_destroy(struct order *order);

/* The stream releases on a timeline, or acquires what was released with a value up to this. */
TRK_MUST_USE enum trk_status order_signal(struct order *order, uint32_t stream, uint64_t number,
                                          uint32_t timeline, uint64_t value);
void order_await(struct order *order, uint32_t stream, uint32_t timeline, uint64_t value);

/* Whether event (stream, number) is ordered before what stream `reader` does now. */
bool order_before(const struct order *order, uint32_t stream, uint64_t number, uint32_t reader);

/*
 * 1 + the newest signal that was left out though some await may have come behind it, 0: none. Of
 * events after it nothing is missing; among events before it there may be more order than is known.
 */
uint64_t order_forgot(const struct order *order);

/* All of it: of each stream 1 + the newest event known to be ordered before what reader does now.
 */
void order_clock(const struct order *order, uint32_t reader, uint64_t *out);

#endif
