/*
 * Inside the simulator: a run that begins in the middle.
 */
#ifndef SIMULATOR_SNAPSHOT_INTERNAL_H
#define SIMULATOR_SNAPSHOT_INTERNAL_H

#include "run.h"

/* Take over the holds that the trace's snapshot has, if it has one. TRK_E_MEMORY, TRK_E_DAMAGED. */
enum trk_status snapshot_begin(struct run *run);

/* Give a tracker that was just declared its state there. TRK_E_DAMAGED, TRK_E_MEMORY. */
enum trk_status snapshot_declare(struct run *run, uint32_t tracker_id);

#endif
