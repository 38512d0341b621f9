/*
 * The state of a trace's trackers at one of its events, by re-executing it up to there.
 *
 * A trace that begins with such a snapshot can be re-executed without what was before it.
 */
#ifndef SIMULATOR_SNAPSHOT_H
#define SIMULATOR_SNAPSHOT_H

#include "recorder/packing.h"
#include "recorder/trace.h"

TRK_EXTERN_C_BEGIN

/**
 * Re-execute a trace up to an event, which is not run, and pack the state before it.
 *
 * @param event_number  No operation, hold or copy may be open there.
 * @param out           The payload of a SNAPSHOT chunk, to be freed; empty unless TRK_OK is given.
 * @return TRK_OK; TRK_E_UNSUPPORTED: a rule broke before, or the state is of a kind that is not
 *         kept (generations, shared views): error says which; what reading gives.
 *
 * Allocates: yes. Blocks: no. Signal-safe: no. Threads: one call at a time in a process.
 */
TRK_MUST_USE enum trk_status trk_sim_snapshot(struct trk_trace *trace, uint64_t event_number,
                                              struct trk_packing *out, struct trk_error *error);

/* The number that a region gets; its order among the others must stay. */
typedef uint32_t trk_sim_move_fn(void *context, uint32_t region);

/**
 * The same state with other regions: for who moves the addresses of a trace.
 *
 * @param snapshot, end  A SNAPSHOT chunk's payload.
 * @param move           Called for each region that is named, which may be more than once.
 * @param out            As of trk_sim_snapshot.
 * @return TRK_OK, TRK_E_DAMAGED, TRK_E_MEMORY.
 *
 * Allocates: yes. Blocks: no. Signal-safe: no. Threads: any.
 */
TRK_MUST_USE enum trk_status trk_sim_snapshot_move(const uint8_t *snapshot, const uint8_t *end,
                                                   trk_sim_move_fn *move, void *context,
                                                   struct trk_packing *out,
                                                   struct trk_error *error);

TRK_EXTERN_C_END

#endif
