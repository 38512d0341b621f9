/*
 * The oracle of traces alone: event by event, whose newer bytes were missed or lost.
 *
 * For who carries out what a trace says and wants to know what should have come of it. Nothing is
 * re-executed. Unlike trk_sim_trace it goes on behind a finding; a store that was missed is found
 * again at each read that misses it. Where a trace has losses, nothing rests on nothing having
 * happened: less is found, never something false.
 */
#ifndef SIMULATOR_ORACLE_H
#define SIMULATOR_ORACLE_H

#include <stdbool.h>
#include <stdint.h>

#include "recorder/trace.h"
#include "simulator/sim.h"

TRK_EXTERN_C_BEGIN

struct trk_oracle;

struct trk_oracle_finding {
    bool found;
    enum trk_verdict_kind verdict;
    enum trk_status failure_class; /* of a fatal one, and of a livelock */
    uint64_t event_at;             /* that broke the rule */
    uint64_t event_visible;        /* the read or the loss */
    uint64_t guest_addr, size_bytes;
    uint64_t store_event; /* of the bytes that should be there; TRK_NOT_KNOWN: of none */
    bool by_gpu;          /* that store was the GPU's */
    bool in_gpu_copy;     /* they should be in the GPU's copy; else in guest memory */
};

/**
 * Begin to judge a trace that was scanned.
 *
 * @return TRK_OK; TRK_E_UNSUPPORTED: too many threads; TRK_E_MEMORY.
 *
 * Allocates: yes. Blocks: no. Signal-safe: no. Threads: one oracle, one thread.
 */
TRK_MUST_USE enum trk_status
trk_oracle_create(struct trk_oracle **out, const struct trk_trace *trace, struct trk_error *error);
void trk_oracle_destroy(struct trk_oracle *oracle);

/* Take the next event of the trace; finding->found says whether something is wrong with it. */
TRK_MUST_USE enum trk_status trk_oracle_take(struct trk_oracle *oracle,
                                             const struct trk_trace_event *event,
                                             struct trk_oracle_finding *finding,
                                             struct trk_error *error);

/* After the last event: a store that nobody was told of, and that nothing has excused since. */
void trk_oracle_end(struct trk_oracle *oracle, struct trk_oracle_finding *finding);

/* Whose bytes one side has, as far as that is sure. */
struct trk_oracle_current {
    uint64_t size_bytes;  /* this is so of so many bytes from the address on, at least 1 */
    uint64_t store_event; /* of the newest store; TRK_NOT_KNOWN: no store is sure to be there */
    uint32_t stamp;       /* that store's, 0: none */
    bool by_gpu;          /* it was the GPU's */
};

/*
 * What is at an address after the events that were taken. Sure is only what no copy under way at
 * the time of the store, and no event that is missing, could have made otherwise. A copy of older
 * bytes over the newest store changes nothing here: hold its stamp against what was seen there.
 *
 * Allocates: no. Blocks: no. Threads: as the oracle.
 */
void trk_oracle_current(const struct trk_oracle *oracle, uint64_t guest_addr, bool in_gpu_copy,
                        struct trk_oracle_current *out);

TRK_EXTERN_C_END

#endif
