/*
 * A case of a verdict: a program that is recorded on a tape, and what must be said of it.
 */
#ifndef VERDICT_CASE_H
#define VERDICT_CASE_H

#include "tape.h"

struct verdict_case {
    const char *name;
    void (*record)(struct tape *tape);
    const char *verdict;
    uint8_t type_at; /* of the event at fault; 0: none */
    const char *detail;
};

/* Record, simulate twice, compare with the case and with each other; expectations only. */
void verdict_case_judge(const struct verdict_case *one);
/* The same on a tape of another policy than the default (tape_create). */
void verdict_case_judge_with(const char *policy, const struct verdict_case *one);

#endif
