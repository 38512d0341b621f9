/*
 * What an operation of a scenario found, to be held against what stands behind its =>.
 */
#ifndef SIMULATOR_SCENARIO_FOUND_H
#define SIMULATOR_SCENARIO_FOUND_H

#include "scenario_program.h"
#include "track/status.h"

/* A list that may grow, in memory of whoever has it. */
struct span_list {
    struct scenario_span *spans;
    size_t count, capacity;
};

enum outcome {
    OUTCOME_OK,
    OUTCOME_DENIED,
    OUTCOME_FAIL,
    OUTCOME_EFAULT,
    OUTCOME_SHORT,
    OUTCOME_REJECTED,
    OUTCOME_UNHANDLED,
};

struct found {
    enum outcome outcome;
    bool has_value, mixed; /* bytes were read; not all alike */
    uint8_t value;
    bool has_number;
    uint64_t number; /* an answer, a count, bytes of a short transfer, a generation */
    uint64_t faults;
    unsigned rights;
    struct span_list spans;
    enum trk_status failure; /* the first fail-fast; TRK_OK: none */
};

/* Bytes were read: their value, if all are alike. */
void found_value(struct found *found, uint8_t value);

/* Whether a result is met; not one of generations, whose names only a run knows. */
bool found_meets(const struct found *found, const struct scenario_result *result);

/* An outcome as the format writes it. */
const char *found_outcome_word(enum outcome outcome);

#endif
