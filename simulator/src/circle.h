/*
 * Streams that wait for each other's locks in a circle: the verdict of a deadlock.
 */
#ifndef SIMULATOR_CIRCLE_H
#define SIMULATOR_CIRCLE_H

#include "run.h"

/* What a stream waits for. */
struct waiting {
    const struct domain *lock; /* another stream has it; NULL: the stream waits for none */
    uint64_t event;            /* that began the operation which waits */
    uint16_t op;
};

/* Who knows of a stream's waiting: the core's re-execution, or the log alone. */
typedef struct waiting waiting_of_fn(const struct run *run, uint32_t stream);

/* Find a circle and report it, from its lowest stream on; false: there is none. */
bool circle_tell(struct run *run, waiting_of_fn *waiting_of);

#endif
