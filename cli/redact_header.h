/* What stays of a HEADER's JSON when a trace is redacted. */
#ifndef CLI_REDACT_HEADER_H
#define CLI_REDACT_HEADER_H

#include <cjson/cJSON.h>

/* Take out all that is not known to be harmless. */
void trk_redact_prune(cJSON *header);

#endif
