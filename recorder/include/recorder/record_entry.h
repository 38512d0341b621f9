/* One event with its time stamp: what a thread's ring holds, and what the format encodes. */
#ifndef RECORDER_RECORD_ENTRY_H
#define RECORDER_RECORD_ENTRY_H

#include <stdint.h>

#include "track/event.h"

TRK_EXTERN_C_BEGIN

struct trk_record {
    uint64_t tsc; /* the processor's time stamp counter */
    struct trk_event event;
};

TRK_EXTERN_C_END

#endif
