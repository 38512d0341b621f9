/* What events say whose types a file describes, for those who have the description alone [F-36]. */
#ifndef RECORDER_TYPE_FIELDS_H
#define RECORDER_TYPE_FIELDS_H

#include "recorder/event_text.h"
#include "schema_text.h"

/* As trk_trace_event_fields; type: what the file says of the event's type. */
size_t trk_schema_event_fields(const struct trk_schema_type *type, const struct trk_event *event,
                               struct trk_event_field out[TRK_EVENT_FIELDS_MOST]);

#endif
