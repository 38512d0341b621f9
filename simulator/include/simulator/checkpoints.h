/*
 * Checkpoints for a trace that is written again: the state of its trackers where nothing is under
 * way, while the trace is read and re-executed once [F-40].
 */
#ifndef SIMULATOR_CHECKPOINTS_H
#define SIMULATOR_CHECKPOINTS_H

#include "recorder/packing.h"
#include "recorder/trace.h"

TRK_EXTERN_C_BEGIN

struct trk_sim_checkpoints;

/**
 * Begin at the beginning of a trace, which is rewound and must outlive this.
 *
 * @return TRK_OK; TRK_E_UNSUPPORTED: the core in force gives no states; TRK_E_MEMORY; what reading
 *         gives.
 *
 * Allocates: yes. Blocks: no. Signal-safe: no. Threads: one simulation at a time in a process.
 */
TRK_MUST_USE enum trk_status trk_sim_checkpoints_create(struct trk_sim_checkpoints **out,
                                                        struct trk_trace *trace,
                                                        struct trk_error *error);
void trk_sim_checkpoints_destroy(struct trk_sim_checkpoints *checkpoints);

/* Take the trace's next event. TRK_OK, whatever it shows; TRK_E_MEMORY. */
TRK_MUST_USE enum trk_status trk_sim_checkpoints_event(struct trk_sim_checkpoints *checkpoints,
                                                       const struct trk_trace_event *event,
                                                       struct trk_error *error);

/**
 * Pack a checkpoint behind the events that were taken.
 *
 * @param full  Say all, not only what is other than in the one before. The first one always does.
 * @param out   The payload, to be freed; empty unless TRK_OK is given.
 * @return TRK_OK; TRK_E_UNSUPPORTED: none can be made here, since something is under way, or the
 * state is of a kind that is not kept; nor anywhere behind it, if a rule broke or events are
 * missing; TRK_E_MEMORY.
 */
TRK_MUST_USE enum trk_status trk_sim_checkpoints_pack(struct trk_sim_checkpoints *checkpoints,
                                                      bool full, struct trk_packing *out,
                                                      struct trk_error *error);

TRK_EXTERN_C_END

#endif
