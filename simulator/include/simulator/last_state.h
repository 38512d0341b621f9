/*
 * The state of a trace's trackers at the last place where it can be kept: for a recording that goes
 * on, of which the trace is what came so far.
 */
#ifndef SIMULATOR_LAST_STATE_H
#define SIMULATOR_LAST_STATE_H

#include "recorder/record.h"

TRK_EXTERN_C_BEGIN

/**
 * A trk_record_state_fn. The place is where no operation, hold or copy is open and the order of all
 * events before it is certain.
 *
 * @return TRK_OK; TRK_E_UNSUPPORTED: no such place, or the state there is of a kind that is not
 * kept (generations, shared views); TRK_E_INCOMPLETE: events are missing, a rule broke, or there is
 * a tracker that is not ours: error says which; what reading gives.
 *
 * Allocates: yes. Blocks: no. Signal-safe: no. Threads: one simulation at a time in a process.
 */
TRK_MUST_USE enum trk_status trk_sim_last_state(struct trk_trace *trace, uint64_t ticks,
                                                struct trk_record_state *out,
                                                struct trk_error *error);

TRK_EXTERN_C_END

#endif
