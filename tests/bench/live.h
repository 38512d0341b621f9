/*
 * What is measured inside a recorded program: real faults, and appends to a ring.
 *
 * Runs in a child of the benchmark that `trk_record_command` started, so that the same process can
 * alternate between variants with and without the recorder. The parent drains meanwhile, as it
 * does in use.
 */
#ifndef TRK_BENCH_LIVE_H
#define TRK_BENCH_LIVE_H

#include "samples.h"
#include "singles.h"
#include "track/event.h"

/* ns an append: observer's emit against a bare append of the same 32 bytes with rdtsc. */
struct bench_appends {
    struct bench_spread recorder_ns, bare_ns, ratio;
    double p99_ns; /* of groups of 64 */
};

/* Under a millisecond a batch: seldom interrupted by the scheduler. */
#define BENCH_FAULT_PAGES 128u
#define BENCH_FAULT_BYTES ((uint64_t)BENCH_FAULT_PAGES * 4096u)

/* Somebody else's BENCH_FAULT_BYTES that first stores to pages of fault, too. */
struct bench_peer {
    unsigned char *host;
    int (*arm)(void *context); /* makes them fault again: 0 */
    void *context;
};

struct bench_faults {
    /* ns a fault: first store to an armed page until the store has retired. */
    struct bench_spread bare_ns, tracker_ns, recorder_ns, peer_ns;
    struct bench_spread tracker_ratio;       /* with tracker / bare */
    struct bench_spread recorder_ratio;      /* with tracker and recorder / with tracker */
    struct bench_spread recorder_bare_ratio; /* with tracker and recorder / bare */
    struct bench_spread peer_ratio;          /* the peer's / bare */
    struct bench_spread bare_arm_ns, recorder_arm_ns,
        peer_arm_ns; /* of the processor, a page, to arm all */
    uint64_t faults; /* of each variant */
};

/* What the child sends to its parent, as it stands in memory, through a pipe. */
struct bench_live {
    struct bench_faults faults;
    struct bench_appends append;
    struct bench_singles singles;
    struct bench_spread two_threads; /* appends a second of two threads / of one */
    uint64_t two_dropped;            /* by the recorder, while these were measured */
    uint64_t dropped;                /* in all the rest; 0 or the figures do not count */
};

/*
 * Both give 0, or 1 after a line on stderr. peer: NULL for none; whoever takes its faults was
 * installed before.
 */
int bench_faults(unsigned rounds, const struct bench_peer *peer, struct bench_faults *out);
int bench_append(unsigned rounds, struct bench_live *out);
/* ns of an annotation in a process that is not recorded. */
void bench_hook(unsigned rounds, struct bench_spread *out);
/* These events, again and again, in the recorded process. Likewise. */
int bench_append_events(const struct trk_event *events, size_t count, unsigned rounds,
                        struct bench_appends *out);

#endif
