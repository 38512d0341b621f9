/*
 * Inside the simulator: who wants to know the pages' states behind each operation of a scenario.
 */
#ifndef SIMULATOR_STATES_SCENARIO_H
#define SIMULATOR_STATES_SCENARIO_H

#include "simulator/states.h"

struct run_thread;
struct scenario_op;

struct states_looker {
    const struct trk_states_listener *listener;
    const struct trk_states_span *spans;
    size_t span_count;
    uint64_t number; /* of the next operation that ends */
    bool over;       /* nobody wants to know any more */
};

/* An operation of a thread's list has ended. */
void states_operation(struct states_looker *looker, const struct run_thread *thread,
                      const struct scenario_op *op);

#endif
