/*
 * The guard of a recording: a process that continues it when the recording parent is killed.
 *
 * It sleeps until a pipe to the parent closes. When the parent said farewell before, it ends.
 * Otherwise it copies what the file holds into a new one, goes on with the rings where the parent's
 * book ends, and puts the new file in the place of the old one when the program has ended.
 */
#ifndef RECORDER_RECORD_GUARD_H
#define RECORDER_RECORD_GUARD_H

#include "record_internal.h"

/* Before the command is started. TRK_E_ARGUMENT, TRK_E_MEMORY, TRK_E_SYSTEM: there is none. */
TRK_MUST_USE enum trk_status trk_record_guard_start(struct recording *recording);

/* The recording has ended as it should, or was not begun: the guard is not needed any more. */
void trk_record_guard_dismiss(struct recording *recording);

#endif
