/*
 * A scenario file as a program: what the parser makes and the runner reads.
 *
 * Glossary
 *   operation  one verb with its arguments, its nested operations and its results
 *   result     what stands behind =>; several are separated by commas and must all be met
 *   thread     a list of operations; init and finally are threads too, first and last
 *   entry      a named range under `memory`
 *   name       of an event, a mutex or a generation; numbered over the whole file
 *
 * Everything lies in the program's own pool and lives as long as it.
 */
#ifndef SIMULATOR_SCENARIO_PROGRAM_H
#define SIMULATOR_SCENARIO_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scenario_index.h"
#include "scenario_pool.h"
#include "simulator/scenario.h"
#include "track/policy.h"

#define SCENARIO_PAGE_BYTES UINT64_C(4096)
#define SCENARIO_NONE       UINT32_MAX

enum scenario_verb {
    VERB_STORE,
    VERB_LOAD,
    VERB_HLE_WRITE,
    VERB_RAW_WRITE,
    VERB_SYS_READ,
    VERB_SYS_WRITE,
    VERB_MAP,
    VERB_UNMAP,
    VERB_GUEST_PROTECT,
    VERB_COMMIT,
    VERB_RESERVE,
    VERB_SPARSE_READ,
    VERB_PROT,
    VERB_IS_CPU,
    VERB_IS_GPU,
    VERB_MARK_CPU,
    VERB_MARK_GPU,
    VERB_UNMARK_GPU,
    VERB_UNTRACK,
    VERB_UPLOAD,
    VERB_UPLOAD_AT_END,
    VERB_IN_RANGE,
    VERB_DOWNLOAD,
    VERB_INVALIDATE,
    VERB_DRAIN,
    VERB_WATCH,
    VERB_UNWATCH,
    VERB_WATCH_MASK,
    VERB_UNWATCH_MASK,
    VERB_CALLS,
    VERB_LOCK,
    VERB_UNLOCK,
    VERB_COPY_UP,
    VERB_COPY_DOWN,
    VERB_HOST_PROTECT,
    VERB_GPU_READ,
    VERB_GPU_WRITE,
    VERB_SIGNAL,
    VERB_AWAIT,
    VERB_ACQUIRE,
    VERB_RELEASE,
    VERB_FRAME,
    VERB_REPEAT,
    VERB_GEN_TRACK,
    VERB_GEN,
    VERB_GEN_HLE,
    VERB_GEN_REMAP,
    VERB_INJECT,
    VERB_COUNT,
};

enum scenario_inject {
    INJECT_PROTECT_FAIL,
    INJECT_SKIP_REARM,
    INJECT_DROP_FLUSH,
    INJECT_DROP_COPY,
    INJECT_LOSE_FAULT,
    INJECT_DELAY_GPU,
    INJECT_COUNT,
};

enum scenario_result_kind {
    RESULT_NUMBER, /* a byte's value, an answer, a count */
    RESULT_OK,
    RESULT_DENIED,
    RESULT_FAIL,
    RESULT_EFAULT,
    RESULT_SHORT,
    RESULT_REJECTED,
    RESULT_HANDLED,
    RESULT_UNHANDLED,
    RESULT_SILENT,
    RESULT_FAULTS,
    RESULT_RIGHTS,
    RESULT_RANGES,
    RESULT_CALLS,
    RESULT_FLUSH,
    RESULT_FATAL,
    RESULT_NEW,
    RESULT_SAME,
    RESULT_NOT,
};

#define RESULT_BIT(kind) (1u << (kind))

/* A range that an iterator reported, or a host call. */
struct scenario_span {
    uint64_t guest_addr, size_bytes;
    unsigned rights; /* of a call */
};

struct scenario_result {
    enum scenario_result_kind kind;
    uint64_t number; /* also the rights, a failure's class, a name's number */
    const struct scenario_span *spans;
    uint32_t span_count;
};

struct scenario_op {
    enum scenario_verb verb;
    uint32_t number;   /* in its thread's list, 1-based; nested ones have their outermost's */
    uint32_t column;   /* where it starts in that text, 1-based */
    const char *label; /* NULL: none */
    const char *text;  /* as written, without label, braces and results */
    uint64_t guest_addr, size_bytes;
    uint64_t value;  /* VALUE, N of repeat and protect-fail, offset of gen_remap */
    unsigned rights; /* PROT */
    uint32_t name;   /* of events, mutexes */
    uint32_t entry;  /* of map, gen_remap */
    enum scenario_inject inject;
    bool written, clear, read_watch, has_offset, has_rights;
    uint64_t *mask; /* watch_mask: TRK_REGION_WORDS words */
    bool has_nested;
    const struct scenario_op *nested;
    uint32_t nested_count;
    const char *results_text; /* as written; NULL: no => */
    const struct scenario_result *results;
    uint32_t result_count;
};

struct scenario_thread_text {
    const char *name;
    const char *kind; /* "guest", "host", "gpu" */
    const struct scenario_op *ops;
    uint32_t op_count;
};

struct scenario_entry {
    const char *name;
    uint64_t guest_addr, size_bytes;
    unsigned rights;
    uint32_t alias_of; /* SCENARIO_NONE: none */
    bool gpu, reserved, mapped, is_private;
};

struct scenario_policy {
    struct trk_policy core;
    uint64_t max_mappings; /* 0: no limit */
    uint32_t line_bytes;
};

enum scenario_schedule_kind {
    SCHEDULE_IN_ORDER,
    SCHEDULE_LIST,
    SCHEDULE_EXPLORE,
    SCHEDULE_RANDOM,
    SCHEDULE_PCT,
};

struct scenario_step {
    uint32_t thread;
    const char *label; /* NULL: to the next scheduling point */
};

struct scenario_schedule {
    enum scenario_schedule_kind kind;
    const struct scenario_step *steps;
    uint32_t step_count;
    uint64_t seed, runs, depth;
};

struct scenario_expect {
    const char *verdicts[24];
    uint32_t verdict_count; /* 1, or a set */
    bool some;              /* at least one schedule, and all others ok */
    bool set;               /* given as a set */
    uint64_t schedules;     /* upper bound; 0: none */
    const char *at;         /* NULL: anywhere */
};

struct trk_scenario {
    struct scenario_pool pool;
    const char *name;
    struct scenario_policy policy;
    struct scenario_entry *entries;
    uint32_t entry_count;
    struct scenario_index entry_index;    /* by name */
    struct scenario_thread_text *threads; /* init first, finally last */
    uint32_t thread_count;
    const char **names; /* of events, mutexes, generations */
    uint32_t name_count, name_capacity;
    struct scenario_index name_index;
    struct scenario_schedule schedule;
    struct scenario_expect expect;
    char needs[128];
    uint32_t hash; /* of all that the file says, but for `about` */
};

static inline bool scenario_expects(const struct scenario_op *op, enum scenario_result_kind kind)
{
    for (uint32_t i = 0; i < op->result_count; i++)
        if (op->results[i].kind == kind)
            return true;
    return false;
}

/* Regions that a program may reach which is run in several schedules. */
#define SCENARIO_REACH_MOST 1024u

/* scenario_reach.c: the regions that it can touch, ascending; false: there are more than that. */
bool scenario_reach(const struct trk_scenario *scenario, uint32_t *regions, size_t *count);

/* "none", "r", "rw", "rx" (and "rwx", which no file can ask for). */
const char *scenario_rights_word(unsigned rights);
/* The verb's word. */
const char *scenario_verb_word(enum scenario_verb verb);
/* Whether its first arguments are an address and a size. */
bool scenario_verb_ranged(enum scenario_verb verb);

#endif
