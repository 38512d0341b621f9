/*
 * What a run did to one page, noted for a story.
 *
 * A run has a tape only when a schedule is run again to be told of; nothing that decides the run
 * looks at it.
 */
#ifndef SIMULATOR_SCENARIO_TAPE_H
#define SIMULATOR_SCENARIO_TAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SCENARIO_TAPE_NOTES 64u /* the newest are kept */

struct doing;
struct scenario_op;
struct scenario_run;
struct run_thread;

enum tape_kind {
    TAPE_STORE,     /* to guest memory */
    TAPE_GPU_WRITE, /* to the GPU's copy */
    TAPE_GPU_LATE,  /* work that will write there is asked for, and waits */
    TAPE_COPY_UP,
    TAPE_COPY_DOWN,
    TAPE_LEFT_UP, /* a range was reported, its copy was dropped */
    TAPE_LEFT_DOWN,
    TAPE_FAULT,
    TAPE_RIGHTS, /* of the host, by a protection call */
    TAPE_READ,   /* of the verdict */
    TAPE_END,    /* no note of a run: the verdict's operation, told by the story itself */
};

/* Of a page, by the core's word; as in said.h. */
struct tape_note {
    enum tape_kind kind;
    uint32_t thread;
    const struct scenario_op *op; /* innermost; NULL: none */
    uint64_t guest_addr, size_bytes;
    unsigned rights;  /* TAPE_RIGHTS */
    uint8_t state;    /* enum said_state, before it */
    bool after_fault; /* the operation has faulted */
};

struct scenario_tape {
    uint64_t focus; /* an address of the page */
    size_t count;   /* of all; note i is at i % SCENARIO_TAPE_NOTES */
    struct tape_note notes[SCENARIO_TAPE_NOTES];
    const struct scenario_op *newer, *seen; /* of the verdict: writes; NULL: none */
};

/* Note what concerns the page of the focus, through any view. No tape: nothing. */
void tape_note(struct scenario_run *run, const struct run_thread *thread, enum tape_kind kind,
               uint64_t guest_addr, uint64_t size_bytes);
void tape_rights(struct scenario_run *run, const struct run_thread *thread, uint64_t guest_addr,
                 uint64_t size_bytes, unsigned rights);
/* The writes of a finding, by their numbers in the oracle. */
void tape_finding(struct scenario_run *run, uint32_t newer, uint32_t seen);

#endif
