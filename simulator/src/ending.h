/*
 * How the recorded program went on behind the last event of a trace.
 */
#ifndef SIMULATOR_ENDING_H
#define SIMULATOR_ENDING_H

#include "recorder/trace.h"

enum ending {
    ENDING_OPEN,   /* not known; it did go on, behind a part of a trace or the dump of a flight */
    ENDING_KILLED, /* not at all: it was ended in the midst of something */
    ENDING_OWN,    /* it had come to its end, and left nothing to be done */
};

enum ending ending_of(const struct trk_trace *trace);

#endif
