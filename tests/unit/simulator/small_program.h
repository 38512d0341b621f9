/*
 * Programs for the engines alone: threads that take locks in a round and count behind each.
 *
 * Steps are: thread start; then, in each round, for each lock: take it and count, give it back.
 */
#ifndef TESTS_SMALL_PROGRAM_H
#define TESTS_SMALL_PROGRAM_H

#include "engine.h"

#define SMALL_THREADS 4u
#define SMALL_LOCKS   4u

/* What a thread does from one step to the next. */
enum small_verb {
    SMALL_START,
    SMALL_LOCK, /* take a lock, and count under it */
    SMALL_UNLOCK,
    SMALL_READ, /* of a word that nothing guards */
    SMALL_WRITE,
    SMALL_CHECK,  /* break a rule if the word is what one says */
    SMALL_SIGNAL, /* of the event with the word's number */
    SMALL_AWAIT,
    SMALL_END,
};

struct small_step {
    uint8_t verb, which, value;
};

#define SMALL_STEPS 64u

/* All that changes. */
struct small_state {
    uint8_t at[SMALL_THREADS];
    uint8_t owner[SMALL_LOCKS]; /* thread + 1 */
    uint8_t word[SMALL_LOCKS];
    bool set[SMALL_LOCKS];
    bool broken, deadlock;
};

struct small_program {
    struct small_step steps[SMALL_THREADS][SMALL_STEPS];
    uint32_t threads;
    struct small_state state;
    uint64_t ends[3]; /* whole, broken, deadlock */
};

/* Two threads, two locks in one order, k rounds. */
void small_two_locks(struct small_program *small, uint32_t rounds);
/* The program for an engine. */
struct engine_program small_engine(struct small_program *small);

#endif
