/*
 * Taking a scenario out of JSON: what the two halves of the parser share.
 *
 * Every function gives false after the reader's fault is filled, or no_memory is set.
 */
#ifndef SIMULATOR_SCENARIO_JSON_H
#define SIMULATOR_SCENARIO_JSON_H

#include <cjson/cJSON.h>

#include "scenario_text.h"

struct scenario_json {
    struct trk_scenario *scenario;
    struct trk_scenario_fault *fault;
    bool no_memory;
    uint64_t pages; /* in all memory entries */
    uint64_t steps; /* of the operations so far */
};

/* Whether an object has known keys only, and none twice. known ends with NULL. */
bool scenario_json_keys(struct scenario_json *json, const cJSON *object, const char *where,
                        const char *const *known);
/* The value of a key as an integer from least to most. */
bool scenario_json_number(struct scenario_json *json, const cJSON *item, const char *where,
                          uint64_t most, uint64_t *out);
/* A copy of a string value. */
bool scenario_json_text(struct scenario_json *json, const cJSON *item, const char *where,
                        const char **out);
bool scenario_json_bool(struct scenario_json *json, const cJSON *item, const char *where,
                        bool *out);

/* The parts of a file, in this order. */
bool scenario_json_memory(struct scenario_json *json, const cJSON *item);
bool scenario_json_threads(struct scenario_json *json, const cJSON *root);
bool scenario_json_schedule(struct scenario_json *json, const cJSON *item);
bool scenario_json_expect(struct scenario_json *json, const cJSON *item);

#endif
