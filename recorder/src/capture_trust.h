/* The limit of trust in the environment. Internal to trk_capture. */
#ifndef RECORDER_CAPTURE_TRUST_H
#define RECORDER_CAPTURE_TRUST_H

#include "recorder/capture.h"

struct trk_trust_limit {
    bool keyed; /* by frame, page and ordinal; else by number */
    uint64_t number, frame, page_addr;
    uint32_t ordinal;
};

/* "N" or "FRAME:PAGE:ORDINAL"; false: neither. */
bool trk_trust_limit_read(const char *text, struct trk_trust_limit *out);

/* Read TRK_TRUST_LIMIT, before anything is recorded. TRK_E_ARGUMENT: it is no limit. */
TRK_MUST_USE enum trk_status trk_capture_trust_open(struct trk_error *error);
/* The session is joined: from now on it counts. */
void trk_capture_trust_begin(void);

#endif
