/*
 * Why bytes were missed, in words.
 */
#ifndef SIMULATOR_CAUSE_H
#define SIMULATOR_CAUSE_H

#include "finding.h"

/* Roles of a story's steps. */
#define ROLE_LAST_WRITER "last writer"
#define ROLE_AT_FAULT    "event at fault"
#define ROLE_VISIBLE     "visible here"

/*
 * Constants. In missing and passes, {store}, {copy}, {clean}, {read} and {at} stand for
 * the numbers of steps of the story.
 */
struct cause_words {
    const char *detail;
    const char *missing;
    const char *passes;
};

const struct cause_words *cause_words(enum cause cause);

/* The numbers of the steps, from 1; 0: there is no such step. */
struct cause_steps {
    size_t store, copy, clean, read, at;
};

#define CAUSE_TEXT_BYTES 192

/* Fill a template in: "(3)" for the third step, nothing where there is no such step. */
void cause_fill(const char *form, const struct cause_steps *steps, char text[CAUSE_TEXT_BYTES]);

#endif
