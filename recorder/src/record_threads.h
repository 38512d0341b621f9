/* Threads of the recorded program that died without a word. */
#ifndef RECORDER_RECORD_THREADS_H
#define RECORDER_RECORD_THREADS_H

#include "record_drain.h"

/*
 * Mark the rings of threads that are no more as ended. The program is looked at afterwards: while
 * it lives nobody else can have had its ids.
 */
void trk_record_threads_end_dead(const struct trk_record_drain *drain);

#endif
