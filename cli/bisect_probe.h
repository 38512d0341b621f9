/*
 * Bisecting: a row of moments or decisions, good at its beginning, and the first that is bad.
 */
#ifndef CLI_BISECT_PROBE_H
#define CLI_BISECT_PROBE_H

#include "input.h"
#include "options.h"
#include "scratch.h"

#define TRK_BISECT_SCHEMA         "trk-bisect/1"
#define TRK_BISECT_LIVE_SCHEMA    "trk-bisect-live/1"
#define TRK_BISECT_RUN_SCHEMA     "trk-bisect-run/1"
#define TRK_BISECT_SYMPTOM_SCHEMA "trk-bisect-symptom/1"
#define TRK_BISECT_CANNOT         125 /* git's exit code of a test that cannot tell */

enum trk_bisect_answer {
    TRK_BISECT_GOOD,
    TRK_BISECT_BAD,
    TRK_BISECT_SKIP,   /* this one cannot be tested */
    TRK_BISECT_FLAPS,  /* asked twice, it gave two answers */
    TRK_BISECT_FAILED, /* the search ends; it was said why */
};

struct trk_bisect {
    uint64_t good, bad; /* known so; good < bad */
    uint64_t probes;    /* until now */
    uint64_t skipped;
    bool gave_up; /* SKIP: not all that is left was asked about */
    /* Whether it is good up to `at`, good < at < bad. */
    enum trk_bisect_answer (*ask)(void *context, uint64_t at);
    void *context;
};

/* So many that cannot be tested are asked about in a row, the middle and what lies around it. */
#define TRK_BISECT_SKIPS_MOST 256u

/*
 * Halve until bad is good + 1. GOOD: so it is. SKIP: what is left between cannot be tested. Else
 * what the last answer was.
 */
enum trk_bisect_answer trk_bisect_search(struct trk_bisect *bisect);

/* Run a command, its standard output going to standard error; its wait status, or -1, said. */
int trk_bisect_spawn(const char *const *argv);

/* The way from a wait status to an answer, as git has it. A signal is bad. */
enum trk_bisect_answer trk_bisect_answer_of(int wait_status);

/*
 * Likewise of a command that looks at a trace: 3 is the word of trk's own commands for what they
 * cannot tell of it, and no answer either.
 */
enum trk_bisect_answer trk_bisect_verdict_of(int wait_status);

/* What each mode does: an exit code. */
int trk_bisect_trace(const struct trk_options *options);
int trk_bisect_symptom(const struct trk_options *options);
int trk_bisect_run(const struct trk_options *options);
int trk_bisect_live(const struct trk_options *options);
int trk_bisect_git(const struct trk_options *options);
int trk_bisect_cores(const struct trk_options *options);
int trk_bisect_hashes(const struct trk_options *options);

#endif
