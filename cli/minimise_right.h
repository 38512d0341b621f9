/*
 * Asking another trk, whose core is right, whether a candidate holds there.
 */
#ifndef CLI_MINIMISE_RIGHT_H
#define CLI_MINIMISE_RIGHT_H

#include <stdbool.h>

#include "scratch.h"

struct trk_minimise_right {
    const char *program;
    struct trk_scratch folder;
    bool failed; /* it could not be asked */
};

/* An exit code: whether the program is there, and there is room for a file. Said why not. */
int trk_minimise_right_open(struct trk_minimise_right *right, const char *program);
/* Run `PROGRAM sim` on a scenario file's text; true: it ended with 0. */
bool trk_minimise_right_ask(struct trk_minimise_right *right, const char *script);
/* Also of one that is all zeros. */
void trk_minimise_right_close(struct trk_minimise_right *right);

#endif
