/* What a failure does when the tracker's owner installed no handler. Internal to libtrack. */
#ifndef TRACK_FAILURE_DEFAULT_H
#define TRACK_FAILURE_DEFAULT_H

#include <stdnoreturn.h>

#include "track/failure.h"

/*
 * Write the line and a stack to stderr and abort. Signal-safe once trk_failure_default_prepare has
 * run, which lets the unwinder load what it needs; call that when a tracker is created.
 */
noreturn void trk_failure_default(const struct trk_failure *failure);
void trk_failure_default_prepare(void);

#endif
