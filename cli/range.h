/*
 * Which events are meant: the ranges of the command line.
 *
 *     10        event 10              10-20     events 10 to 20, both included
 *     10-       from event 10 on      10-20/2   every second of them
 *     frame:5-9   what happens in frames 5 to 9 (also frame:5, frame:5-, with /STEP)
 *     region:0x200000000   what is about the 4 MiB region around that guest address
 *     time:1.2s-1.5s   by the time since the first event; s, ms, us or ns (also time:5ms-)
 *     @FILE     events by number, a range of the first kinds a line; # begins a comment
 *
 * Events, frames and steps are whole numbers; numbering starts at 0. Anything else is refused.
 */
#ifndef CLI_RANGE_H
#define CLI_RANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "recorder/trace.h"

enum trk_range_kind {
    TRK_RANGE_EVENTS = 0,
    TRK_RANGE_FRAMES,
    TRK_RANGE_REGION,
    TRK_RANGE_TIME,
    TRK_RANGE_SET,
};

/* A range of numbers. */
struct trk_range_span {
    uint64_t first, last, step;
};

struct trk_range {
    enum trk_range_kind kind;
    uint64_t first; /* event, frame, nanosecond, or the region's first guest address */
    uint64_t last;  /* included; UINT64_MAX: open */
    uint64_t step;
    struct trk_range_span *set; /* of @FILE */
    size_t set_count;
    const struct trk_trace *trace; /* for a region, the caller's to set: describes newer types */
    double ticks_a_microsecond;    /* for time: the caller's to set; 0: not known */
    uint64_t first_tsc;            /* of event 0; TRK_NOT_KNOWN before it was asked about */
    bool in_frame;                 /* a frame has begun: */
    uint64_t frame;                /* the one that the events asked about are in */
    uint64_t closest_frame;        /* of those that were asked about and are not in it */
    /* Likewise; UINT64_MAX: there was none. */
    uint64_t last_event, last_tsc, closest_region;
};

/* Everything. */
struct trk_range trk_range_all(void);

/*
 * TRK_OK, or TRK_E_ARGUMENT with what would have been understood; TRK_E_SYSTEM and TRK_E_MEMORY for
 * @FILE. After TRK_OK trk_range_free gives back what a set takes.
 */
TRK_MUST_USE enum trk_status trk_range_parse(const char *text, struct trk_range *out,
                                             struct trk_error *error);

void trk_range_free(struct trk_range *range);

/* Whether an event is in the range. Events must be asked about in order, all from the first. */
bool trk_range_has(struct trk_range *range, const struct trk_trace_event *event);

/* Whether no event after this one can be in the range. */
bool trk_range_ends_at(const struct trk_range *range, const struct trk_trace_event *event);

/*
 * Make one piece of it: a list without gaps becomes the range of events that it is. TRK_E_ARGUMENT:
 * there are gaps, and the text says where.
 */
TRK_MUST_USE enum trk_status trk_range_join(struct trk_range *range, struct trk_error *error);

#define TRK_RANGE_CLOSEST_BYTES 96u
/* Of a range that nothing was in, once all events were asked about: what there is instead. */
void trk_range_closest(const struct trk_range *range, char out[TRK_RANGE_CLOSEST_BYTES]);

#endif
