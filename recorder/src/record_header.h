/* The HEADER of a recorded trace: under what circumstances it came to be. */
#ifndef RECORDER_RECORD_HEADER_H
#define RECORDER_RECORD_HEADER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <cjson/cJSON.h>

#include "flight.h"
#include "record_handlers.h"
#include "record_session.h"
#include "recorder/record.h"
#include "recorder/trace.h"

/* Why a dump of the flight ring was made. */
struct trk_record_header_dump {
    const char *trigger;
    uint32_t number;    /* from 1 */
    uint64_t ticks;     /* when the trigger fired */
    uint64_t forgotten; /* events that the ring no longer had */
    bool by_event;      /* an event fired it */
    bool has_event;     /* that is in the dump */
    const char *note;   /* of the trigger; "": there is nothing to say */
    const struct trk_flight_view *view;
};

struct trk_record_header {
    const struct trk_record_session *session;
    const struct trk_record_options *options;
    const struct trk_record_header_dump *dump; /* NULL: the trace is no dump */
    pid_t child_pid;
    bool attached;
    struct trk_record_handlers handlers; /* of the program */
    const cJSON *mappings;               /* likewise; NULL: nobody could look */
    double append_ns;                    /* what an event costs its thread; 0: not known */
    struct trk_trace_anchor anchors[2];  /* at least 10 ms apart, for a frequency */
};

/* Look at the clocks, as close together as they can be had. */
struct trk_trace_anchor trk_record_header_anchor(void);

/* How many things the program has said of itself so far. */
uint32_t trk_record_header_abouts(const struct trk_session_control *control);

/* The JSON text, the caller's to free(); NULL without memory. */
char *trk_record_header_json(const struct trk_record_header *header);

#endif
