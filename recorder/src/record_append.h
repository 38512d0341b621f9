/* What an event costs its thread: for an estimate of what a recording costs the program. */
#ifndef RECORDER_RECORD_APPEND_H
#define RECORDER_RECORD_APPEND_H

/* Nanoseconds an append on this machine, by a fraction of a millisecond of trying; 0: not known. */
double trk_record_append_ns(void);

#endif
