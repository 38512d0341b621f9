/*
 * Two pages of guest memory with real protection and real faults, over a backend of this machine.
 *
 * The tracker's flush and read-back copy the GPU's bytes home. One in a process, for one thread.
 */
#ifndef TESTS_LIVE_MEMORY_H
#define TESTS_LIVE_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "backends.h"
#include "track/address.h"
#include "track/tracker.h"

#define LIVE_PAGE  TRK_HOST_PAGE_BYTES
#define LIVE_GUEST UINT64_C(0x200000000)
#define LIVE_PAGES 2u
#define LIVE_BYTES (LIVE_PAGES * LIVE_PAGE)

enum live_state { LIVE_CPU, LIVE_CLEAN, LIVE_GPU };
extern const char *const live_state_names[];

struct live_memory {
    unsigned char *guest, *backing; /* the guest's view, and one that is never closed */
    unsigned char gpu[LIVE_BYTES];  /* the GPU's copy */
    struct trk_backend *backend;
    struct trk_tracker *tracker;
    unsigned failures;
};
extern struct live_memory live_memory;

/* False: the machine has no such backend, which was said. `rights` are the guest's. */
bool live_memory_open(enum backend_choice choice, unsigned rights);
void live_memory_close(void);

/* The pages hold `bytes`, each with whoever its state says; the other copy of a GPU page is old. */
void live_memory_set(const enum live_state *states, const unsigned char *bytes);
enum live_state live_memory_state(uint32_t page);
/* All pages are the CPU's, with their bytes. */
void live_memory_home(void);

#endif
