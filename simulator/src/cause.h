/*
 * Why bytes were missed, in words.
 */
#ifndef SIMULATOR_CAUSE_H
#define SIMULATOR_CAUSE_H

#include "finding.h"

/*
 * Constants. In missing and passes, {store}, {copy}, {clean}, {read}, {protect} and {at} stand for
 * the numbers of steps of the story.
 */
struct cause_words {
    const char *detail;
    const char *missing;
    const char *passes;
};

const struct cause_words *cause_words(enum cause cause);

#endif
