/*
 * What `trk diff` prints.
 */
#ifndef CLI_DIFF_PRINT_H
#define CLI_DIFF_PRINT_H

#include "input.h"
#include "policy_diff.h"
#include "scenario_diff.h"
#include "trace_diff.h"

#define TRK_DIFF_SCHEMA "trk-diff/1"

/* Lanes that are told of; the others are counted. */
#define TRK_DIFF_TOLD 16u

/* What an event says, in a line of at most so many bytes with its end. */
#define TRK_DIFF_TEXT_BYTES 240u
void trk_diff_describe(const struct trk_event *event, char out[TRK_DIFF_TEXT_BYTES]);

/* Two traces that were compared. */
struct trk_diff_said {
    struct trk_input *inputs;     /* 2 */
    const struct trk_look *looks; /* 2 */
    const struct trk_diff *diff;
    bool places_unknown; /* where the memory of one lies is not known: pages were not judged */
};

/* An exit code: whether they differ, are the same, or are the same as far as they go. */
int trk_diff_verdict(const struct trk_diff_said *said);

/* Both are read once more, for what their events say. TRK_OK, or as trk_trace_next. */
TRK_MUST_USE enum trk_status trk_diff_print(const struct trk_diff_said *said, bool json,
                                            struct trk_error *error);

/* names: of the two sides. */
void trk_diff_print_scenarios(const struct trk_scenario_diff *diff, const char *const names[2],
                              bool json);

/* A trace under two policies. */
struct trk_diff_policies {
    const struct trk_input *input;
    const char *names[2]; /* of the policies */
    const struct trk_policy_diff *diff;
    const struct trk_scenario_diff *window; /* in which threads meet; NULL: there is none */
    bool complete;
};

void trk_diff_print_policies(const struct trk_diff_policies *said, bool json);

#endif
