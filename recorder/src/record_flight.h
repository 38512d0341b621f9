/* The flight recorder: the ring, its triggers, and its dumps one after the other. */
#ifndef RECORDER_RECORD_FLIGHT_H
#define RECORDER_RECORD_FLIGHT_H

#include "record_internal.h"

/* TRK_E_ARGUMENT: triggers or path are unusable; TRK_E_EXISTS: the first dump's file is there. */
TRK_MUST_USE enum trk_status trk_record_flight_init(struct recording *recording);
void trk_record_flight_deinit(struct recording *recording);

/* Once a turn, after the rings were drained: looks for triggers, starts and ends dumps. */
void trk_record_flight_turn(struct recording *recording);

/*
 * Everything has been drained: the triggers of the end, the last dumps, what was never met. The
 * ring's status; where that is well, the one of the first dump that failed.
 */
TRK_MUST_USE enum trk_status trk_record_flight_end(struct recording *recording);

/* A snapshot is wanted; the answer goes to the control FIFO once it is made. */
void trk_record_flight_snapshot(struct recording *recording);

/* Whether the signal for a dump is a trigger. */
bool trk_record_flight_heeds_signal(const struct recording *recording);

/* What the ring has forgotten, dumps and states; some words. */
void trk_record_flight_status(const struct recording *recording, char *out, size_t size);

#endif
