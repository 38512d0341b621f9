/*
 * Engines: every schedule of a program, of whatever kind.
 *
 * A program is a few threads that take steps; an engine chooses who goes on. What a step touched is
 * its footprint; two steps depend on each other when one writes what the other touches. Steps that
 * do not depend on each other come to the same in both orders.
 *
 * Glossary
 *   schedule  a choice of threads from the beginning to the end
 *   class     schedules that differ in the order of independent neighbours only
 *   over      the program can take no step any more: all threads have ended, or a rule broke
 *   object    what a footprint tells apart: a lock, a word of state, a page; a bit of it
 *   hold      the steps of a thread from taking a lock to giving it back
 */
#ifndef SIMULATOR_ENGINE_H
#define SIMULATOR_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "footprint.h"
#include "track/status.h"

typedef unsigned __int128 schedule_count; /* stops at its largest */

#define ENGINE_THREADS 64u

enum engine_phase {
    ENGINE_GOING,
    ENGINE_ENDED, /* all threads have ended */
    ENGINE_BROKEN,
};

/* A program's threads are [0, threads). */
struct engine_program {
    void *context;
    uint32_t threads;
    uint32_t words;     /* of footprints that it uses */
    size_t state_bytes; /* of a slot that a state is kept in, zeroed before its first use */
    enum engine_phase (*phase)(void *context);
    /* Threads that can run, the one that would if nobody chose first. How many; 0: a deadlock. */
    uint32_t (*enabled)(void *context, uint8_t *threads);
    /* usual: the one that would run if nobody chose. footprint: to be added to; NULL: not wanted.
     */
    void (*step)(void *context, uint32_t thread, bool usual, struct footprint *footprint);
    /* Nobody can run: the program is over after this. */
    void (*deadlock)(void *context);
    /* The lock that a thread waits for, or stands before; false: none. */
    bool (*waits)(void *context, uint32_t thread, struct footprint *footprint);
    bool (*save)(void *context, void *slot); /* what hash wants of a state; false: no memory */
    /* The rest, right behind save: the state will be put back. NULL: save has it all. */
    bool (*keep)(void *context, void *slot);
    uint64_t (*hash)(void *context, const void *slot);
    void (*restore)(void *context, const void *slot);
    void (*drop)(void *context, void *slot);
    /* The program is over, or is left for a known state: judge the schedule. Gives what it came to,
     * as a small number, in *came; may be NULL. */
    enum trk_status (*end)(void *context, uint32_t *came);
};

/* Asked behind each schedule: false ends the search. NULL: it goes on. */
struct engine_leave {
    bool (*go_on)(void *context);
    void *context;
};

struct engine_limits {
    uint64_t most; /* schedules */
    struct engine_leave leave;
    bool plain;                 /* hashed: no state is known again */
    struct engine_graph *graph; /* hashed: note all steps there; NULL: not wanted */
};

struct engine_result {
    uint64_t schedules; /* run; hashed: to the end, or to a known state */
    uint64_t states;    /* hashed: of choices and ends that were met */
    uint64_t cut;       /* dpor: schedules left, since all behind them had been seen */
    uint64_t steps;
    bool stopped_early;
    bool left;                    /* stopped early, for nobody wanted more: nothing is estimated */
    uint32_t covered_percent;     /* stopped early: about how much was seen, see the engines */
    schedule_count interleavings; /* hashed: all there are; 0: not known */
};

/*
 * A search over states: each is searched once, whatever way leads to it. covered_percent: of the
 * states that random schedules come by, how many the search has met (capture and recapture).
 *
 * @return TRK_OK; TRK_E_MEMORY; what the program's end gave.
 */
enum trk_status engine_hashed(const struct engine_program *program,
                              const struct engine_limits *limits, struct engine_result *result);

/*
 * One schedule of each class: source sets and sleep sets. Knows no states. covered_percent: the
 * part of the tree of choices that lies behind the search, if what branches alike is alike (Knuth).
 *
 * @return As engine_hashed.
 */
enum trk_status engine_dpor(const struct engine_program *program,
                            const struct engine_limits *limits, struct engine_result *result);

/*
 * Random schedules, from the program's state on, which must have a choice: each time one of those
 * that can run, all alike in chance.
 *
 * @return As engine_hashed.
 */
enum trk_status engine_random(const struct engine_program *program, uint64_t runs, uint64_t seed,
                              struct engine_result *result);

/*
 * About which part of all schedules ends in other outcomes than those in `fine` (bits), in per
 * cent, from the program's state on: random schedules, each weighted by how many choices it had
 * where it chose (Knuth's estimate of leaves). They are judged by the program's end.
 *
 * @return As engine_hashed.
 */
enum trk_status engine_share(const struct engine_program *program, uint64_t runs, uint64_t fine,
                             uint32_t *percent);

/* A state that was just saved will be put back; false: no memory. */
static inline bool engine_keep(const struct engine_program *program, void *slot)
{
    return program->keep == NULL || program->keep(program->context, slot);
}

static inline bool engine_goes_on(const struct engine_leave *leave)
{
    return leave->go_on == NULL || leave->go_on(leave->context);
}

static inline schedule_count engine_sum(schedule_count a, schedule_count b)
{
    schedule_count most = ~(schedule_count)0;
    return a > most - b ? most : a + b;
}

#endif
