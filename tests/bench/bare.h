/*
 * The bare replay loop: the least that a re-execution of a trace can do.
 *
 * A minimal tracker, two page sets, two sets of rights and two hold numbers a region, takes what
 * each record says: an operation and its range are kept a thread, and done to the sets of each
 * region of which a hold says that it changed something; protections and hold numbers are stored.
 * Annotations are passed over. Nothing is compared, ordered or checked: a bound, not a simulator.
 */
#ifndef TRK_BENCH_BARE_H
#define TRK_BENCH_BARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "track/event.h"

/* 32 bytes, as a record has; in canonical order. */
struct bare_record {
    uint32_t stream;
    struct trk_event event;
};

struct bare;

/* For traces of at most 1024 threads; NULL: no memory. */
struct bare *bare_create(void);
void bare_destroy(struct bare *bare);

/* Each page is the CPU's, nobody is in an operation. */
void bare_reset(struct bare *bare);

/* What was answered to queries in passing, so that asking is not optimised away. */
uint64_t bare_replay(struct bare *bare, const struct bare_record *records, size_t count);

/*
 * The same loop, which now counts where the tracker is not as the trace says: holds that changed
 * another number of pages, and queries with another answer. The state is reset before.
 */
uint64_t bare_wrong(struct bare *bare, const struct bare_record *records, size_t count);

/* A record needed memory that there was not; or more threads or nesting than there is room for. */
bool bare_failed(const struct bare *bare);

#endif
