/*
 * Writing a report: its one line, its steps, its sentences.
 */
#ifndef SIMULATOR_STORY_H
#define SIMULATOR_STORY_H

#include <inttypes.h>

#include "run.h"

/* First byte and size of a range, as every line of a report has them. */
#define STORY_SPAN "%#" PRIx64 " +%#" PRIx64

struct story_name {
    char text[32];
};

struct story_name story_stream(const struct run *run, uint32_t index);

/* enum trk_callback, or 0 for a range's, in a word. */
const char *story_callback(unsigned callback);

/* A step, kept ascending by event; nothing for TRK_NOT_KNOWN, or where the story is full. */
void story_add(struct run *run, uint64_t event, uint32_t stream, const char *format, ...)
    TRK_PRINTF(4, 5);
/* A role for the step of an event; one that has a role gets this one, too. */
void story_role(struct run *run, uint64_t event, const char *role);
/* The number of an event's step, from 1; 0: it has none. */
size_t story_step(const struct run *run, uint64_t event);

void story_set(struct run *run, enum trk_verdict_kind kind, uint64_t event_at, uint32_t stream_at,
               uint64_t event_visible);
void story_range(struct run *run, uint64_t guest_addr, uint64_t size_bytes);
void story_text(struct run *run, const char *format, ...) TRK_PRINTF(2, 3);
void story_detail(struct run *run, const char *detail);

#endif
