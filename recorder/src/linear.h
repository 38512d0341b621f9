/*
 * The canonical linear order of the events of several streams.
 *
 * Knows no file: the reader offers each stream's next event, asks which stream goes first, takes
 * that event and offers the stream's next. Rules: [F-27] to [F-31] in docs/format.md.
 */
#ifndef RECORDER_LINEAR_H
#define RECORDER_LINEAR_H

#include <stdbool.h>
#include <stddef.h>

#include "recorder/record_entry.h"
#include "schema.h"
#include "track/status.h"

struct trk_linear;

/* types: 256, the caller's; NULL: those of this version. TRK_OK, TRK_E_MEMORY. */
TRK_MUST_USE enum trk_status trk_linear_create(struct trk_linear **out, size_t streams,
                                               const struct trk_schema_type *types);
void trk_linear_destroy(struct trk_linear *linear);

/*
 * Before the first event: hold `value` of a domain has been, or a timeline has reached `value`.
 * TRK_OK, TRK_E_MEMORY.
 */
TRK_MUST_USE enum trk_status trk_linear_begin(struct trk_linear *linear, bool timeline,
                                              uint32_t number, uint64_t value);

/* The stream's next event is known only by its time stamp; it is asked for when its turn comes. */
void trk_linear_expect(struct trk_linear *linear, size_t stream, uint64_t tsc);

/**
 * The stream's next event. It stays the caller's only during the call.
 *
 * @return TRK_OK, TRK_E_MEMORY.
 */
TRK_MUST_USE enum trk_status trk_linear_offer(struct trk_linear *linear, size_t stream,
                                              const struct trk_record *record);

/* The stream has no more events: what it held counts as released. */
void trk_linear_exhaust(struct trk_linear *linear, size_t stream);

enum trk_linear_turn {
    TRK_LINEAR_TAKE, /* the offered event of `stream` is the next in order and counts as taken */
    TRK_LINEAR_LOAD, /* offer the event that was expected of `stream`, then ask again */
    TRK_LINEAR_DONE, /* all streams are exhausted */
};

enum trk_linear_turn trk_linear_next(struct trk_linear *linear, size_t *stream);

/* Events taken so far although what had to come before them never came. */
uint64_t trk_linear_gaps(const struct trk_linear *linear);

/* Holds that are missing and no gap: an ended stream's last, which it did not come to note. */
uint64_t trk_linear_unwritten(const struct trk_linear *linear);

#endif
