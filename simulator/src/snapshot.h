/*
 * Inside the simulator: a run that begins in the middle.
 */
#ifndef SIMULATOR_SNAPSHOT_INTERNAL_H
#define SIMULATOR_SNAPSHOT_INTERNAL_H

#include "recorder/packing.h"
#include "run.h"
#include "track/image.h"

/* Take over the holds that the trace's snapshot has, if it has one. TRK_E_MEMORY, TRK_E_DAMAGED. */
enum trk_status snapshot_begin(struct run *run);

/* A region's state as [F-37] has it. */
void snapshot_pack_region(struct trk_packing *out, const struct trk_image *image);
/* Which callbacks a tracker's resource layer has, likewise. */
unsigned snapshot_layer_bits(const struct trk_tracker *tracker);
/* Keep the greatest value of each timeline, under its number + 1. TRK_E_MEMORY. */
enum trk_status snapshot_note_signal(struct domains *timelines, const struct trk_event *event);

/* Likewise what was signalled before the trace, by its snapshot. TRK_E_MEMORY. */
enum trk_status snapshot_take_timelines(const struct trk_trace *trace, struct domains *timelines);

/* Give a tracker that was just declared its state there. TRK_E_DAMAGED, TRK_E_MEMORY. */
enum trk_status snapshot_declare(struct run *run, uint32_t tracker_id);

#endif
