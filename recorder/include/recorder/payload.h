/* What a recording keeps of the bytes that are uploaded. */
#ifndef RECORDER_PAYLOAD_H
#define RECORDER_PAYLOAD_H

#include "track/macros.h"

TRK_EXTERN_C_BEGIN

enum trk_record_payload {
    TRK_PAYLOAD_NONE = 0,
    TRK_PAYLOAD_HASH = 1, /* a hash of each uploaded page, at arming and at the copy's end */
    /* And its content, each once a file (recorder/blobs.h). Not with flight_bytes or count_only. */
    TRK_PAYLOAD_PAGES = 2,
};

TRK_EXTERN_C_END

#endif
