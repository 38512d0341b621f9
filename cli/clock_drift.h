/* What the clocks did from the beginning of a recording to its end. */
#ifndef CLI_CLOCK_DRIFT_H
#define CLI_CLOCK_DRIFT_H

#include <stdbool.h>

#include "recorder/trace.h"

struct trk_clock_drift {
    bool known; /* else the file has no clocks of its end, or none of its beginning */
    double seconds;
    double ppm;      /* by which time stamps ran faster than the header's frequency says */
    bool wall_known; /* the wall clock was read at both moments: */
    double wall_ms;  /* by which it went ahead of the time that passed */
};

struct trk_clock_drift trk_clock_drift_of(const struct trk_trace *trace);

#endif
