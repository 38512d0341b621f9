/*
 * Scenario files: small programs for the simulator that say themselves what must come out.
 *
 * A scenario is loaded whole and checked whole: an unknown key, verb, name or value is an error
 * with its place, and nothing is run. Running it drives the same tracker core as a live emulator
 * under a simulated host, follows every byte through guest memory and the GPU's copy, and ends in
 * one verdict, which is held against the file's expectation.
 *
 * Deterministic: the same file gives the same report, byte for byte.
 *
 * Rules: scenario-format 1.
 */
#ifndef SIMULATOR_SCENARIO_H
#define SIMULATOR_SCENARIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "track/policy.h"
#include "track/status.h"

TRK_EXTERN_C_BEGIN

/* Named maxima of what is read from a file. */
#define TRK_SCENARIO_FILE_BYTES (UINT64_C(16) << 20)
#define TRK_SCENARIO_THREADS    64u                 /* init and finally not counted */
#define TRK_SCENARIO_PAGES      (UINT64_C(1) << 20) /* of 4 KiB, in all memory entries */
#define TRK_SCENARIO_NESTING    16u
#define TRK_SCENARIO_REPEATS    UINT64_C(1000000)
#define TRK_SCENARIO_ENTRIES    4096u  /* under memory */
#define TRK_SCENARIO_NAMES      65536u /* of events, mutexes and generations */
/* All that a schedule does: a step an operation, a page of memory and a region in its range. */
#define TRK_SCENARIO_STEPS (UINT64_C(1) << 24)

struct trk_scenario;

/* Why a file is no scenario. */
struct trk_scenario_fault {
    char where[128]; /* "threads.main, operation 3", "memory.A.size", "line 4"; "" the whole file */
    uint32_t column; /* 1-based, in the operation's or expression's text; 0: none */
    char text[256];  /* what is wrong there, and what was expected */
};

/* How many of all schedules end in a verdict. */
struct trk_scenario_share {
    char verdict[32];
    char schedules[40]; /* in decimal */
};

/* More verdicts than a program can come to. */
#define TRK_SCENARIO_SHARES 20u

struct trk_scenario_report {
    bool held;          /* the expectation is met */
    bool undecided;     /* it is not, only because not every schedule was tried */
    char verdict[32];   /* a word of the format */
    char expected[128]; /* the expectation, in words */
    char text[512];     /* one line: what broke; "" for ok */
    /* The operation of the verdict; thread is "" where there is none. */
    char thread[64];
    uint32_t operation; /* 1-based, in the thread's list */
    uint32_t column;    /* where it starts in that text, 1-based: nested ones are further right */
    char label[64];
    char operation_text[160];
    uint64_t guest_addr; /* first byte concerned; TRK_NOT_KNOWN: none */
    /* What was done. */
    uint64_t schedules, operations, faults, host_calls;
    bool differ;    /* both engines explored, whole, and found other verdicts */
    uint64_t steps; /* from one scheduling point of a thread to its next; init and finally apart */
    char schedule[512]; /* of the verdict, for trk_scenario_replay; "" one that the file gives */
    /* In it: how often a thread went on though the last one could have. Of all schedules that break
     * the verdict's rule, when all were explored, it has the fewest, and of those the fewest steps.
     */
    uint64_t preemptions;
    char interleavings[40]; /* exploring: all schedules there are, in decimal; "" not known */
    uint64_t states;        /* exploring: with a choice, or at the end; 0: not known */
    uint64_t classes;       /* exploring: of schedules; 0: not known */
    bool fell_back; /* exploring: there are more things to wait for than dpor can tell apart, so
                       that states were searched instead */
    uint64_t covered_percent; /* exploring that stopped early: about how much was seen */
    /* Exploring: of all schedules, those that end in another verdict than "ok". */
    char failing[40];         /* in decimal; "" not known */
    uint64_t failing_percent; /* failing is not known: about; TRK_NOT_KNOWN: not either */
    /* failing is known: of each verdict that is met, "ok" too, in the format's order. */
    uint32_t share_count;
    struct trk_scenario_share shares[TRK_SCENARIO_SHARES];
};

/* How a file that asks for every schedule is explored. */
enum trk_scenario_engine {
    TRK_SCENARIO_HASHED, /* states are searched once each */
    TRK_SCENARIO_DPOR,   /* one schedule of each class is run, and no state is known */
    TRK_SCENARIO_BOTH,   /* both, and they must come to the same verdicts */
};

/* What is asked for beside what the file says; all 0 but the size: nothing. */
struct trk_scenario_options {
    size_t size; /* of this struct */
    enum trk_scenario_engine engine;
    uint64_t walks; /* of a file with many schedules run so many by a uniform walk; 0: its own */
    uint64_t seed;  /* of them */
    uint64_t steps; /* of a schedule: one that has not ended by then is a livelock; 0: no bound */
    uint64_t schedules; /* to explore, where the file asks for that; 0: as the format says */
};

/**
 * Read a scenario out of memory and check all of it.
 *
 * @param json  size_bytes of UTF-8; need not end in a NUL.
 * @return TRK_OK; TRK_E_ARGUMENT with fault filled when it is no scenario; TRK_E_MEMORY.
 *
 * Allocates: yes. Blocks: no. Signal-safe: no. Threads: any.
 */
TRK_MUST_USE enum trk_status trk_scenario_parse(struct trk_scenario **out, const char *json,
                                                size_t size_bytes,
                                                struct trk_scenario_fault *fault);

/**
 * Read a scenario out of a file: trk_scenario_parse of what it holds.
 *
 * @return Also TRK_E_SYSTEM when it cannot be read; fault says why.
 */
TRK_MUST_USE enum trk_status trk_scenario_load(struct trk_scenario **out, const char *path,
                                               struct trk_scenario_fault *fault);

/* NULL is accepted. */
void trk_scenario_destroy(struct trk_scenario *scenario);

/* Whether a text is a verdict that a scenario may expect. */
bool trk_scenario_verdict_is_name(const char *text);
/* Whether it is one that a trace or a scenario may come to: a core gives failures of any class. */
bool trk_scenario_verdict_may_come(const char *text);

/* The file's name; lives as long as the scenario. */
const char *trk_scenario_name(const struct trk_scenario *scenario);

/* The policy that its tracker has; lives as long as the scenario. */
const struct trk_policy *trk_scenario_policy(const struct trk_scenario *scenario);

/* What the scenario needs that this build cannot do yet, in words; NULL: nothing. */
const char *trk_scenario_needs(const struct trk_scenario *scenario);

/**
 * Run a scenario and hold its verdict against its expectation.
 *
 * @return TRK_OK: report says what came out (a broken rule is no error). TRK_E_UNSUPPORTED:
 *         trk_scenario_needs() is not NULL. TRK_E_MEMORY, TRK_E_SYSTEM.
 *
 * Allocates: yes. Blocks: no. Signal-safe: no. Threads: one call at a time in a process.
 */
TRK_MUST_USE enum trk_status trk_scenario_run(const struct trk_scenario *scenario,
                                              struct trk_scenario_report *report);

/**
 * The same, another way.
 *
 * @return Also TRK_E_ARGUMENT when options have another size. With both engines, verdicts that
 *         differ are no error: the report does not hold, and says which they are.
 *
 * Allocates: yes. Blocks: no. Signal-safe: no. Threads: one call at a time in a process.
 */
TRK_MUST_USE enum trk_status trk_scenario_run_with(const struct trk_scenario *scenario,
                                                   const struct trk_scenario_options *options,
                                                   struct trk_scenario_report *report);

/**
 * Run one schedule that a report gave, and hold it against the expectation: any verdict that the
 * file allows will do.
 *
 * @param schedule  "trk1:...". One that was made with another build of the core is tried too.
 * @return As trk_scenario_run; TRK_E_ARGUMENT with fault filled when it is no schedule of this
 *         scenario, or leads elsewhere than it did.
 *
 * Allocates: yes. Blocks: no. Signal-safe: no. Threads: one call at a time in a process.
 */
TRK_MUST_USE enum trk_status trk_scenario_replay(const struct trk_scenario *scenario,
                                                 const char *schedule,
                                                 struct trk_scenario_report *report,
                                                 struct trk_scenario_fault *fault);

/* A step of a schedule: the operation that it is in, or begins. */
struct trk_scenario_step {
    char thread[64];
    uint32_t operation; /* 1-based, in the thread's list; 0: none */
    char operation_text[160];
};

/* A schedule that passes, one swap of neighbours away from one that breaks a rule. */
struct trk_scenario_passing {
    bool there;
    struct trk_scenario_step first, then; /* in this order it passes */
    char schedule[512];                   /* for trk_scenario_replay */
};

/**
 * Look for a passing schedule beside one that a report gave.
 *
 * @param out  there is false when no swap of neighbours lets it pass.
 * @return As trk_scenario_replay.
 *
 * Allocates: yes. Blocks: no. Signal-safe: no. Threads: one call at a time in a process.
 */
TRK_MUST_USE enum trk_status trk_scenario_nearest(const struct trk_scenario *scenario,
                                                  const char *schedule,
                                                  struct trk_scenario_passing *out,
                                                  struct trk_scenario_fault *fault);

TRK_EXTERN_C_END

#endif
