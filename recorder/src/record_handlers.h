/*
 * Which signals the recorded program takes, as the kernel has it.
 *
 * A tracker of pages lives by the signals of its faults: which ones it takes, and which ones
 * something else in the program has taken, is the first thing to know where a store was not seen.
 */
#ifndef RECORDER_RECORD_HANDLERS_H
#define RECORDER_RECORD_HANDLERS_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A bit a signal, that of the first one the lowest. */
struct trk_record_handlers {
    bool known;
    uint64_t caught;
    uint64_t ignored;
};

/* Look at a process. What was known of it stays where that cannot be read any more. */
void trk_record_handlers_look(struct trk_record_handlers *handlers, pid_t pid);

/* Add "signals" to an object: `caught` and `ignored`, lists of names, or null. */
void trk_record_handlers_print(const struct trk_record_handlers *handlers, cJSON *object);

#endif
