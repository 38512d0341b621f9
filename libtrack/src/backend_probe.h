/*
 * Trying a backend out before it is relied on. Internal to libtrack.
 */
#ifndef TRACK_BACKEND_PROBE_H
#define TRACK_BACKEND_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "track/backend.h"

/* Where the memory that is tried out lies for the backend: its bias is changed for the time. */
#define PROBE_GUEST_ADDR UINT64_C(0x10000)

struct probe {
    struct trk_backend *backend;
    unsigned char *memory; /* PROBE_GUEST_ADDR under the backend's present bias */
    uint64_t size_bytes;
    int64_t former_bias;
    int64_t round_ns; /* what the body took, where it measures that */
};

/*
 * Shared memory for a try, attached; the backend's bias is another until the end. Whoever runs a
 * try owns SIGSEGV and SIGBUS meanwhile: runs wait for each other, and no other thread may fault.
 */
enum trk_status trk_probe_begin(struct probe *probe, struct trk_backend *backend, uint64_t pages,
                                struct trk_error *error);
void trk_probe_end(struct probe *probe);

/*
 * Give the probe's handler to the process, run `body`, put the former handlers back. The handler
 * opens the faulting page for everything; a fault elsewhere, or one page's second in a row, ends
 * the body: false.
 */
bool trk_probe_run(struct probe *probe, bool (*body)(struct probe *probe));
/* Faults since the last call, from within the body. */
unsigned trk_probe_faults(void);

/* Arm, write, close, read: whether each fault arrives and no byte is lost. */
bool trk_probe_works(struct trk_backend *backend, struct trk_error *error);

#endif
