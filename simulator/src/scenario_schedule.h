/*
 * Schedules of one program: which thread runs when, and what came out of all of them.
 *
 * Glossary
 *   step   what a thread does from one scheduling point to the next
 *   path   the threads of a schedule's steps, in order
 *   tally  the verdicts of all schedules that were run
 */
#ifndef SIMULATOR_SCENARIO_SCHEDULE_H
#define SIMULATOR_SCENARIO_SCHEDULE_H

#include "scenario_expect.h"
#include "scenario_run.h"

typedef unsigned __int128 schedule_count; /* stops at its largest */

struct path {
    uint8_t *threads;
    size_t count, capacity;
};

/* ---- scenario_tally.c ------------------------------------------------------------------------ */

struct tally {
    const struct trk_scenario *scenario;
    uint64_t schedules;
    bool stopped_early; /* there were more */
    uint32_t seen;      /* bits: verdicts, by their place in the format's list */
    uint32_t misplaced; /* of those, seen at another operation than the one that the file names */
    struct trk_scenario_report *first; /* of each verdict: the first schedule, misplaced or not */
    struct trk_scenario_report *first_misplaced;
};

enum trk_status tally_init(struct tally *tally, const struct trk_scenario *scenario);
void tally_deinit(struct tally *tally);
/* A schedule has ended as the run's report says. */
void tally_add(struct tally *tally, const struct scenario_run *run, const struct path *path);
/* Fill the report: whether the expectation is met, and the schedule that shows why. */
void tally_report(const struct tally *tally, struct trk_scenario_report *report);

/* In decimal digits. */
void schedule_count_text(schedule_count count, char *out, size_t size);

/* ---- scenario_snapshot.c --------------------------------------------------------------------- */

struct snapshot {
    unsigned char *bytes;
    size_t size, capacity;
    bool no_memory;
};

/* Keep all that a run is between two steps; the threads' stacks, too. */
void snapshot_save(struct snapshot *snapshot, struct scenario_run *run);
uint64_t snapshot_hash(const struct snapshot *snapshot);
void snapshot_restore(const struct snapshot *snapshot, struct scenario_run *run);
void snapshot_deinit(struct snapshot *snapshot);

/* ---- scenario_schedule.c --------------------------------------------------------------------- */

/* A run whose threads stand before their first operations, and where its schedules are told. */
struct driver {
    struct scenario_run *run;
    struct tally *tally;
    struct path path;
    uint32_t end; /* threads [1, end) */
};

/* Run one step of a thread. */
void driver_step(struct driver *driver, uint32_t thread);
/* Threads that can run, or else those that stand back; ascending. How many. */
uint32_t driver_enabled(const struct driver *driver, uint32_t *threads);
/* Whether all threads have ended. */
bool driver_done(const struct driver *driver);
/* Let all threads go to their first operation. */
void driver_prime(struct driver *driver);
/* The schedule is over: finally, and the verdict. */
enum trk_status driver_finish(struct driver *driver);

/* ---- scenario_explore.c ---------------------------------------------------------------------- */

/* Every schedule, up to a number; total: how many there are, 0 when that is not known. */
enum trk_status schedule_explore(struct driver *driver, uint64_t most, schedule_count *total);

#endif
