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

#include "engine.h"
#include "engine_graph.h"
#include "scenario_expect.h"
#include "scenario_run.h"

struct path_step {
    uint8_t thread;
    uint8_t label; /* place_of() where the thread stood before it */
    bool usual;    /* the thread that would run if nobody chose: the last one, or else the first */
    bool preempts; /* another thread than the last one, which could have gone on */
};

struct path {
    struct path_step *steps;
    size_t count, capacity;
};

/* ---- scenario_repro.c ------------------------------------------------------------------------ */

/*
 * A schedule in a line: trk1:CORE:SCENARIO:STEPS, hashes of what it was made with, and in base 32
 * for each step that is not the usual one how many usual ones come before it, its thread, a check
 * of where threads stood in all of them, and where this one stood; at the end a check of the steps.
 */
void repro_write(const struct path *path, const struct trk_scenario *scenario, char *out,
                 size_t size);

struct repro_turn {
    uint64_t usual;
    uint32_t thread;
    uint8_t check, place;
};

struct repro {
    struct repro_turn *turns;
    size_t count;
    bool same_core;
};

/* Read a line; false with fault filled: it is none, or one of another scenario. */
bool repro_read(struct repro *repro, const char *text, const struct trk_scenario *scenario,
                struct trk_scenario_fault *fault);
void repro_deinit(struct repro *repro);
/* The check goes on over one step more. */
uint8_t repro_check(uint8_t check, uint8_t label);

/* ---- scenario_place.c ------------------------------------------------------------------------ */

#define PLACE_BYTES 32u

/* Where a thread stands, in a byte: the kind of its point and the low bits of a number. */
uint8_t place_of(const struct run_thread *thread);
/* In words: "lock r3", "protect p5", "operation 4"; numbers modulo 32. */
void place_words(uint8_t place, char out[PLACE_BYTES]);

/* ---- scenario_tally.c ------------------------------------------------------------------------ */

/* Of the schedules of one verdict that were run, the one with the fewest preemptions, then steps.
 */
struct tally_shown {
    bool there;
    uint64_t cost;
    struct trk_scenario_report report;
};

struct tally {
    const struct trk_scenario *scenario;
    uint64_t schedules;
    bool stopped_early;       /* there were more */
    uint32_t covered_percent; /* then: about how much was seen */
    const char *covered_how;
    uint32_t came;      /* the last schedule: its verdict and whether it was misplaced */
    bool single;        /* some schedules of many: no verdict must come */
    uint32_t seen;      /* bits: verdicts, by their place in the format's list */
    uint32_t misplaced; /* of those, seen at another operation than the one that the file names */
    struct tally_shown *shown, *misplaced_shown; /* of each verdict */
};

enum trk_status tally_init(struct tally *tally, const struct trk_scenario *scenario);
void tally_deinit(struct tally *tally);
/* What was counted stays in a run's report; the rest is another schedule's. */
void tally_begin(struct trk_scenario_report *report);
/* A schedule has ended as the run's report says. */
void tally_add(struct tally *tally, const struct scenario_run *run, const struct path *path);
/* Whether the schedule kept of an outcome (tally.came) has cost more than this. */
bool tally_cheaper(const struct tally *tally, uint32_t came, uint64_t cost);
/* Fill the report: whether the expectation is met, and the schedule that shows why. */
void tally_report(const struct tally *tally, struct trk_scenario_report *report);

/* Fill the report's shares: how many of all schedules come to what. */
void tally_shares(const schedule_count came[ENGINE_GRAPH_CAME], struct trk_scenario_report *report);

/* In decimal digits. */
void schedule_count_text(schedule_count count, char *out, size_t size);

/* ---- scenario_snapshot.c --------------------------------------------------------------------- */

struct snapshot {
    unsigned char *bytes;
    size_t size, capacity;
    size_t without_stacks; /* the stacks lie behind this many */
    bool no_memory;
};

/* Keep all that a run is between two steps; the threads' stacks, too. */
void snapshot_save(struct snapshot *snapshot, struct scenario_run *run);
/* In two parts: by the first alone it can be known again, with the second it can be put back. */
void snapshot_save_state(struct snapshot *snapshot, struct scenario_run *run);
void snapshot_save_stacks(struct snapshot *snapshot, struct scenario_run *run);
/* With the stacks, or with the digests alone. */
uint64_t snapshot_hash(const struct snapshot *snapshot, bool stacks);
void snapshot_restore(const struct snapshot *snapshot, struct scenario_run *run);
void snapshot_deinit(struct snapshot *snapshot);

/* ---- scenario_schedule.c --------------------------------------------------------------------- */

/* A run whose threads stand before their first operations, and where its schedules are told. */
struct driver {
    struct scenario_run *run;
    struct tally *tally;
    struct path path;
    uint32_t end;          /* threads [1, end) */
    uint64_t steps_most;   /* of a schedule; 0: no bound */
    struct snapshot start; /* before any thread has run; without core_ways.returns before init */
};

/* Run one step of a thread; usual as in the path. */
void driver_step(struct driver *driver, uint32_t thread, bool usual);
/* The usual thread of those that can run. */
uint32_t driver_usual(const struct driver *driver, const uint32_t *threads, uint32_t count);
/* Threads that can run, or else those that stand back; ascending. How many. */
uint32_t driver_enabled(const struct driver *driver, uint32_t *threads);
/* Whether a thread is among them. */
bool driver_can(const struct driver *driver, uint32_t thread);
/* Whether all threads have ended. */
bool driver_done(const struct driver *driver);
/* The threads of driver_enabled() while the schedule goes on; 0: it is over. Where threads are left
 * and none can go on, deadlock is the verdict. */
uint32_t driver_choices(struct driver *driver, uint32_t *threads);
/* Keep the state, and let all threads go to their first operation. */
enum trk_status driver_prime(struct driver *driver);
/* Go back to where the path was when it had so many steps; the state there, if it was kept. */
void driver_back(struct driver *driver, size_t path_count, const struct snapshot *there);
/* From the start again: these threads where there is a choice, and behind them the usual ones. */
enum trk_status driver_follow(struct driver *driver, const uint8_t *choices, size_t count);
/* The schedule is over: finally, and the verdict. */
enum trk_status driver_finish(struct driver *driver);

/* ---- scenario_nearest.c ---------------------------------------------------------------------- */

/* A passing schedule beside the one that the driver has just run. */
enum trk_status schedule_nearest(struct driver *driver, struct trk_scenario_passing *out);

struct driver_order {
    const uint8_t *threads;
    size_t count;
    size_t go_on; /* behind so many steps the last one's thread goes on as far as it can; 0: none */
};

/* Run an order of threads from the start, as far as it goes, then the usual ones; the verdict. */
enum trk_status driver_order(struct driver *driver, const struct driver_order *order,
                             uint32_t *verdict);

/* ---- scenario_replay.c ----------------------------------------------------------------------- */

/*
 * The steps of a line, then the usual ones.
 *
 * @return TRK_E_ARGUMENT with fault filled: it leads elsewhere, and where.
 */
enum trk_status schedule_replay(struct driver *driver, const struct repro *repro,
                                struct trk_scenario_fault *fault);

/* ---- scenario_random.c ----------------------------------------------------------------------- */

/* As many schedules as the file asks for, or until nobody wants more. */
enum trk_status schedule_random(struct driver *driver, const struct engine_leave *leave);

/*
 * Schedules by a walk that is uniform over them, as far as threads do not wait: a thread goes on
 * with a chance as large as the share of steps that it has left.
 */
enum trk_status schedule_walk(struct driver *driver, uint64_t runs, uint64_t seed);

/* What a search came to; 0: not known. */
struct explored {
    schedule_count interleavings; /* all schedules that there are */
    uint64_t states;              /* with a choice, or at the end */
    uint64_t classes;             /* of schedules */
    bool fell_back;               /* asked for classes, and had no room for them */
    bool counted;                 /* how many schedules come to each outcome (tally.came) */
    schedule_count came[ENGINE_GRAPH_CAME];
    uint32_t failing_percent; /* stopped early: about how many are not ok */
};

/* What is asked beside what the file asks; all 0: nothing. */
struct schedule_request {
    const struct repro *repro;            /* this schedule alone: schedule_line() */
    struct trk_scenario_passing *passing; /* and one beside it; NULL: not wanted */
    /* Behind a schedule that has a step, with the driver at its end; NULL: nothing. */
    enum trk_status (*then)(struct driver *driver, void *context);
    void *then_context;
    struct scenario_tape *tape;       /* note what is done to its page; one schedule only */
    struct states_looker *looker;     /* told of operations; one schedule only; NULL: nobody */
    struct trk_scenario_fault *fault; /* why it does not fit */
    uint64_t most;                    /* schedules to explore; 0: as many as the format says */
    struct engine_leave leave;        /* of them, and of random ones */
    uint64_t steps_most;              /* of a schedule; 0: no bound */
    bool plain;                       /* explore every schedule, though it leads to known states */
    bool stacks;                      /* know states by the stacks, too */
    uint64_t walks, seed;             /* so many schedules by a uniform walk; 0: as the file says */
    bool dpor;                        /* explore a schedule of each class, and know no states */
    /* Out. */
    uint32_t seen; /* verdicts, as in the tally */
    bool stopped_early;
    struct explored explored;
};

enum trk_status schedule_scenario(const struct trk_scenario *scenario,
                                  struct schedule_request *request,
                                  struct trk_scenario_report *report);

/* The schedule of a line alone; request->fault must be there. TRK_E_ARGUMENT: it is no line of this
 * scenario, or it leads elsewhere. */
enum trk_status schedule_line(const struct trk_scenario *scenario, const char *line,
                              struct schedule_request *request, struct trk_scenario_report *report);

/* ---- scenario_explore.c ---------------------------------------------------------------------- */

/* Every schedule, or one of each class, up to a number. */
enum trk_status schedule_explore(struct driver *driver, const struct schedule_request *request,
                                 struct explored *explored);

/* Every schedule of the rest, from where the driver stands; the driver's tally has what came. */
enum trk_status schedule_rest(struct driver *driver, uint64_t most, bool *stopped_early);

#endif
