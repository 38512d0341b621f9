/*
 * Whether there is memory for what a trace asks for, before it is taken: the system gives more than
 * it has, and ends whoever uses it.
 */
#ifndef MEMORY_LEFT_H
#define MEMORY_LEFT_H

#include <stdint.h>

#include "track/status.h"

/* TRK_E_MEMORY: `what` takes more than the machine, or a limit of the process, has left. */
TRK_MUST_USE enum trk_status memory_left_for(uint64_t bytes, const char *what,
                                             struct trk_error *error);

#endif
