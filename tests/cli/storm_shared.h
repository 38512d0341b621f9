/* What the storm test's driver and target share through a file. */
#ifndef TESTS_STORM_SHARED_H
#define TESTS_STORM_SHARED_H

#include <stdatomic.h>
#include <stdint.h>

#define STORM_THREADS 8u
#define STORM_TYPES   256u

/* How many events of each type the target has handed to the recorder. */
struct storm_shared {
    _Atomic uint64_t emitted[STORM_TYPES];
    _Atomic uint64_t in_handlers; /* of these, by signal handlers that interrupted something */
};

#endif
