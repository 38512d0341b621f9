/*
 * A scenario file on real memory: the live core, host protection by mprotect, faults by the kernel.
 *
 * The same parsed program as the simulator runs, without its host, its schedules and its oracle.
 * What those are needed for is left out, with the reason; the rest must give the same results and
 * the same verdict.
 */
#ifndef TESTS_SCENARIOS_LIVE_H
#define TESTS_SCENARIOS_LIVE_H

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scenario_found.h"
#include "track/tracker.h"

#define LIVE_ENTRIES_MOST 16u
#define LIVE_SPANS_MOST   64u
#define LIVE_FAILS_MOST   16u

struct live_entry {
    const struct scenario_entry *text;
    unsigned char *host;    /* the guest's view */
    unsigned char *backing; /* the emulator's alias of the same bytes: always open */
    unsigned char *gpu;     /* the GPU's copy; a view has that of its original */
    int fd;                 /* the memory object, while memory is made */
};

struct live_spans {
    struct scenario_span spans[LIVE_SPANS_MOST];
    uint32_t count; /* may be more than are kept */
};

/* What a sum of generations was when it got its name. */
struct live_generation {
    bool known;
    uint64_t sum;
};

/* The fault that the core is serving. */
struct live_service {
    bool under_way;
    enum trk_access access;
};

struct live {
    struct trk_backend backend; /* first: counts the calls of the one below */
    struct trk_backend *host;
    struct trk_tracker *tracker;
    const struct trk_scenario *scenario;
    struct live_entry entries[LIVE_ENTRIES_MOST];
    uint32_t entry_count;
    struct live_spans calls;             /* since the last `calls` */
    bool quiet;                          /* calls of the setting up are nobody's */
    uint64_t fails[LIVE_FAILS_MOST];     /* how many calls from now each is refused at; 0: none */
    struct live_generation *generations; /* by name */
    struct found found;                  /* by the operation under way */
    struct live_spans spans;             /* what found has of them */
    struct live_service service;
    /* An access under way, and where to go on when nobody takes its fault. */
    volatile bool accessing;
    sigjmp_buf unhandled;
    /* The verdict; "" while there is none. */
    char verdict[32], text[256];
    const struct scenario_op *at;
};

/* ---- live_world.c ---- */

/* "" when the file can be run here, else why not. */
const char *live_left_out(const struct trk_scenario *scenario);
/* Make memory, backend, tracker and handler; false: this machine cannot, `text` says why. */
bool live_open(struct live *live, const struct trk_scenario *scenario);
void live_close(struct live *live);
/* A thread begins: calls and injected refusals are each thread's own. */
void live_thread_begin(struct live *live);
/* inject protect-fail: the call that is so many from now is refused; false: too many wait. */
bool live_refuse_call(struct live *live, uint64_t calls);
/* The entry that holds the whole range, or NULL. */
struct live_entry *live_entry_at(struct live *live, uint64_t guest_addr, uint64_t size_bytes);
/* What the kernel lets through on a page, from its own table of mappings; TRK_RIGHT_*. */
unsigned live_rights(const struct live *live, uint64_t guest_addr);
/* protection-loose: the first page that lets through more than it may; 0: none. */
uint64_t live_loose_page(struct live *live);
/* watch-leak: the first page with watches that its state does not explain; 0: none. */
uint64_t live_leaking_page(struct live *live);

/* ---- live_access.c ---- */

/* The fault handler's owner; context is the run. */
enum trk_fault_outcome live_fault(void *context, uint64_t host_addr, enum trk_access access);
void live_store(struct live *live, const struct scenario_op *op);
void live_load(struct live *live, const struct scenario_op *op);
void live_sys_read(struct live *live, const struct scenario_op *op);
void live_sys_write(struct live *live, const struct scenario_op *op);
/* Whether a store can be made by one instruction here. */
bool live_store_possible(const struct scenario_op *op);
/* Look at bytes: all alike, or not. */
void live_look(struct live *live, const unsigned char *bytes, uint64_t size_bytes);

/* ---- live_run.c ---- */

/* Whether the verb can be run. */
bool live_knows(enum scenario_verb verb);
/* Run one operation and hold it against its results; sets the verdict when a rule breaks. */
void live_op(struct live *live, const struct scenario_op *op);
/* The usual flush and read-back of the resource layer. */
void live_flush(void *context, uint64_t guest_addr, uint64_t size_bytes);
void live_read_back(void *context, uint64_t guest_addr, uint64_t size_bytes);
void live_failure(void *context, const struct trk_failure *failure);
void live_span_add(struct live_spans *spans, struct scenario_span span);

/* ---- live_generations.c ---- */

/* gen_track, gen, gen_hle. */
enum trk_status live_gen(struct live *live, const struct scenario_op *op);
/* Whether a result of generations is met; a new name is kept. */
bool live_generation_met(struct live *live, const struct scenario_result *result);

/* ---- live_judge.c ---- */

/* Whether the results are met; else `text` says what was expected and what was found. */
bool live_judge(struct live *live, const struct scenario_op *op);

#endif
