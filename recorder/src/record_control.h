/* The recording's end of its control FIFOs. */
#ifndef RECORDER_RECORD_CONTROL_H
#define RECORDER_RECORD_CONTROL_H

#include <stdbool.h>

#include "recorder/control.h"

#define TRK_RECORD_CONTROL_WHO 48u /* bytes of "#NUMBER ", its end included */
/* Most that a line of a FIFO holds, its end included. */
#define TRK_RECORD_CONTROL_LINE (TRK_CONTROL_LINE + TRK_RECORD_CONTROL_WHO)
/* More cannot wait: a dump that is written, one that is due, one that fired and one wanted. */
#define TRK_RECORD_CONTROL_LATER 4u

struct trk_record_control {
    int commands; /* -1: there is none */
    int answers;
    char folder[128];
    char line[TRK_RECORD_CONTROL_LINE];
    size_t used;
    bool long_one;                    /* what comes is the rest of a line that is too long */
    bool asked;                       /* the last command has no answer yet */
    char who[TRK_RECORD_CONTROL_WHO]; /* gave the last command: "#NUMBER ", or nothing */
    /* Those whose answer comes later, the first to come first. */
    char later[TRK_RECORD_CONTROL_LATER][TRK_RECORD_CONTROL_WHO];
    size_t later_count;
};

/* Make folder and FIFOs. Where that cannot be done a recording can go on, without control. */
TRK_MUST_USE enum trk_status trk_record_control_init(struct trk_record_control *out,
                                                     struct trk_error *error);
void trk_record_control_deinit(struct trk_record_control *control);

/* The next command, if one came, without its number; the control's until the next call. If the one
 * before has no answer yet, that comes later. */
const char *trk_record_control_next(struct trk_record_control *control);
/* Answer the last command; if that has its answer, the first of those whose answer comes later. */
void trk_record_control_answer(struct trk_record_control *control, const char *text);

#endif
