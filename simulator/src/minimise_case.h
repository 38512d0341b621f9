/*
 * A scenario that can be changed: what minimising works on.
 *
 * Glossary
 *   case    a scenario's operations in one list, each with its thread and the one that it is nested
 *           in; and its memory
 *   gone    taken out; what is nested in it is out with it
 *   order   the case's operations may be run in one order, which it holds (recorded), in every
 *           order (explored), or as the file says (given)
 *
 * A case is copied as a whole: what its operations point at lives as long as the scenario that it
 * was made of.
 */
#ifndef SIMULATOR_MINIMISE_CASE_H
#define SIMULATOR_MINIMISE_CASE_H

#include <cjson/cJSON.h>

#include "scenario_program.h"

#define CASE_LABEL_BYTES 48u
#define CASE_TAIL_BYTES  64u

enum case_order {
    CASE_RECORDED,
    CASE_EXPLORED,
    CASE_GIVEN,
};

struct case_op {
    enum scenario_verb verb;
    uint32_t thread;
    uint32_t parent; /* place of what it is nested in; SCENARIO_NONE: none */
    uint32_t name;   /* signal, await */
    uint64_t order;  /* place in the recorded order */
    bool gone;
    bool ranged; /* an address and a size, and then the tail; else text */
    bool braces; /* also when nothing is nested */
    uint64_t guest_addr, size_bytes;
    char tail[CASE_TAIL_BYTES];
    char label[CASE_LABEL_BYTES];
    bool labelled;             /* by the file */
    const char *text, *result; /* as written; result NULL: none */
};

struct case_entry {
    struct scenario_entry entry;
    bool gone;
};

/* Views of the same bytes that a case may get in addition. */
#define CASE_ENTRIES_ADDED 1u

struct mini_case {
    const struct trk_scenario *scenario;
    const cJSON *json; /* of the file */
    struct case_op *ops;
    uint32_t count, capacity;
    struct case_entry *entries;
    uint32_t entry_count;
    enum case_order order;
    bool renamed; /* events have short names */
};

/*
 * Make a case of a scenario; both it and its JSON must outlive all copies.
 *
 * @param recorded  Labels are e and a number, and those numbers are the order.
 */
enum trk_status case_create(struct mini_case *out, const struct trk_scenario *scenario,
                            const cJSON *json, bool recorded);
/* Put a copy into one that is empty, or a copy itself. */
enum trk_status case_copy(struct mini_case *to, const struct mini_case *from);
void case_destroy(struct mini_case *mini);

bool case_live(const struct mini_case *mini, uint32_t op);
/* Whether something is in it that counts: all but signals and awaits. */
bool case_counts(const struct case_op *op);
/* The place of the live operation with a label; SCENARIO_NONE: none. */
uint32_t case_find(const struct mini_case *mini, const char *label);

struct case_size {
    uint32_t threads, operations, pages; /* init and finally do not count */
};
struct case_size case_size_of(const struct mini_case *mini);

/* Put a new operation before the one at a place, in its thread and braces. */
enum trk_status case_insert(struct mini_case *mini, uint32_t at, enum scenario_verb verb);

/* How the file is written. */
struct case_writing {
    bool final;           /* labels and names for people; the expectation is "ok" */
    const char *name;     /* of a final one */
    const char *sentence; /* of a final one */
};

/* The case as a scenario file; free it. NULL: no memory. */
char *case_write(const struct mini_case *mini, const struct case_writing *writing);

#endif
