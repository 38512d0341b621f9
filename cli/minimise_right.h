/*
 * Asking another trk, whose core is right, whether a candidate holds there.
 */
#ifndef CLI_MINIMISE_RIGHT_H
#define CLI_MINIMISE_RIGHT_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "scratch.h"

struct trk_minimise_right {
    const char *program;
    struct trk_scratch folder;
    const volatile sig_atomic_t *stop; /* not 0: no answer is waited for any more */
    uint64_t until_ns;                 /* nor from this time on (trk_clock_ns()); 0: never */
    bool ended;                        /* one was not waited for */
    bool failed; /* it could not be asked, or said nothing of the first case */
    bool blind;  /* failed: it does not tell a case that holds from one that does not */
    uint64_t asked, unjudged;
    int said; /* the last exit code that was no answer; -1: there was none */
};

/* An exit code: whether the program is there, and there is room for a file. Said why not. What is
 * set of stop and until_ns stays. */
int trk_minimise_right_open(struct trk_minimise_right *right, const char *program);
/* Run `PROGRAM sim` on a scenario file's text; true: it ended with 0. It answers with 0 and 1; how
 * else it may end says nothing of the case. */
bool trk_minimise_right_ask(struct trk_minimise_right *right, const char *script);
/* Say what it said nothing of. An exit code. */
int trk_minimise_right_report(const struct trk_minimise_right *right);
/* Also of one that is all zeros. */
void trk_minimise_right_close(struct trk_minimise_right *right);

#endif
