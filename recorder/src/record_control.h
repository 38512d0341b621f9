/* The recording's end of its control FIFOs. */
#ifndef RECORDER_RECORD_CONTROL_H
#define RECORDER_RECORD_CONTROL_H

#include <stdbool.h>

#include "recorder/control.h"

struct trk_record_control {
    int commands; /* -1: there is none */
    int answers;
    char folder[128];
    char line[TRK_CONTROL_LINE];
    size_t used;
    bool long_one; /* what comes is the rest of a line that is too long */
};

/* Make folder and FIFOs. Where that cannot be done the recording goes on, without control. */
void trk_record_control_init(struct trk_record_control *out);
void trk_record_control_deinit(struct trk_record_control *control);

/* The next command, if one came; the control's until the next call. */
const char *trk_record_control_next(struct trk_record_control *control);
void trk_record_control_answer(const struct trk_record_control *control, const char *text);

#endif
