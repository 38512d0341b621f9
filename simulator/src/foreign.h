/*
 * Trackers that are not the core's: what the log proves of their pages and rights.
 *
 * Nothing of their own code can be run again, so each page is known by the states that it may be
 * in: whatever an operation leaves, where no other was under way on the page, and any state where
 * one was. What holds for every tracker is judged then: an upload hands over each page that is the
 * CPU's, a clearing download each that is the GPU's, a question is answered as the page stands, and
 * a page that is not the CPU's is closed to stores. What is not certain is counted as unknown.
 */
#ifndef SIMULATOR_FOREIGN_H
#define SIMULATOR_FOREIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "foreign_pages.h"
#include "foreign_runs.h"
#include "recorder/trace.h"

#define FOREIGN_TRACKERS 16u
#define FOREIGN_DEPTH    8u /* operations inside each other; deeper ones are not followed */

struct run;
struct foreign_core;

struct foreign_tracker {
    bool declared;
    unsigned notes; /* TRK_NOTES_* */
    uint64_t page_bytes;
    uint64_t policy;           /* that it follows, packed; 0: none */
    struct foreign_core *core; /* that does the same; NULL: there is none */
};

struct foreign_operation {
    uint64_t event;
    uint64_t guest_addr, size_bytes;
    uint8_t op, flags, access, tracker;
};

/* Of one stream. A bit an operation, innermost lowest, whether it is a foreign tracker's. */
struct foreign_stream {
    uint64_t owned;
    uint32_t depth; /* of foreign operations */
    struct foreign_operation operations[FOREIGN_DEPTH];
    struct foreign_runs handed[FOREIGN_DEPTH]; /* by them */
};

/* How much of something could be judged. */
struct foreign_count {
    uint64_t judged, unknown;
};

struct foreign {
    uint32_t declared; /* a bit a tracker */
    struct foreign_tracker trackers[FOREIGN_TRACKERS];
    struct foreign_stream *streams; /* made with the first tracker */
    uint32_t stream_count;
    struct foreign_pages pages;
    struct foreign_runs joined; /* of the operation that ends */
    bool limited; /* a range, or all of them, had too many pages: nothing is certain any more */
    struct foreign_count states, rights, core;
    uint64_t holds;
    const char *core_why; /* why a plug-in's core was not run; NULL: nothing is known */
    bool broken_states, broken_rights, broken_locks, broken_core;
};

void foreign_deinit(struct foreign *foreign);

/*
 * Whether an event is a foreign tracker's, and so none of the core's; keeps the books of
 * operations. Once an event.
 */
bool foreign_owns(struct foreign *foreign, const struct trk_trace_event *event);

/* Take a foreign tracker's event; run->stopped or run->failure may be set. */
void foreign_take(struct run *run, const struct trk_trace_event *event);

/* Why no operation was run again on a core beside a tracker. */
const char *foreign_core_why(const struct run *run);

/* What could be judged, into the report. */
void foreign_report(struct run *run);

#endif
