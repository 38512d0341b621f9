/*
 * Protection backends: how host pages are opened and closed.
 *
 * A backend knows host addresses (guest_addr + host_bias_bytes) and nothing of page states. It is
 * owned by the caller and must outlive every tracker that uses it. The page manager decides which
 * calls are made; backends carry them out one by one.
 */
#ifndef TRACK_BACKEND_H
#define TRACK_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "track/status.h"

TRK_EXTERN_C_BEGIN

enum trk_backend_kind {
    TRK_BACKEND_SIMULATED = 0,
    TRK_BACKEND_MPROTECT = 1,
    TRK_BACKEND_USERFAULTFD = 2,
};

/* As it stands in traces: "simulated", "mprotect", "userfaultfd"; "?" if unknown. */
const char *trk_backend_kind_name(enum trk_backend_kind kind);

struct trk_backend {
    enum trk_backend_kind kind;
    const char *name; /* "simulated", "mprotect", "userfaultfd" */
    int64_t host_bias_bytes;
    /*
     * Give pages the rights TRK_RIGHT_*. Page-aligned, not empty, inside one region. Returns 0 or
     * an errno value; on failure nothing has changed. Runs in the fault handler: no allocation, no
     * lock, errno kept.
     */
    int (*protect)(struct trk_backend *backend, uint64_t guest_addr, uint64_t size_bytes,
                   unsigned rights);
    void (*destroy)(struct trk_backend *backend);
    /*
     * Whether calls stay apart that only pages between them could join, which have the rights
     * already: right where a call costs by its pages (userfaultfd), wrong where a call is dear.
     */
    bool separate_runs;
    /*
     * Say that memory is mapped, or is about to go: whoever maps guest memory calls them. NULL: the
     * backend need not know. Page-aligned; not in the fault handler.
     */
    enum trk_status (*attach)(struct trk_backend *backend, uint64_t guest_addr, uint64_t size_bytes,
                              struct trk_error *error);
    void (*detach)(struct trk_backend *backend, uint64_t guest_addr, uint64_t size_bytes);
    /*
     * The same for memory that others may use meanwhile. attach_closed: a mapping without rights
     * has just been made, in the place of whatever was attached there, and keeps having none.
     * forget: what was attached is unmapped or mapped over; nothing of the host is touched. Not
     * NULL where attach is not.
     */
    enum trk_status (*attach_closed)(struct trk_backend *backend, uint64_t guest_addr,
                                     uint64_t size_bytes, struct trk_error *error);
    void (*forget)(struct trk_backend *backend, uint64_t guest_addr, uint64_t size_bytes);
    struct trk_mappings *mappings; /* NULL: the host has no limit that matters */
};

/* How many mappings of the host the pattern of protections takes, and how many it may take. */
struct trk_mappings {
    int64_t count;   /* places where neighbouring pages of a region differ; kept by page managers */
    int64_t budget;  /* beyond it closing is refused and opening takes whole runs */
    bool loads_only; /* only places count where rights other than to store differ */
    bool warned;
    void (*warn)(void *context, const char *line); /* once, near the budget; NULL: to stderr */
    void *warn_context;
    /* Mappings held in reserve, for openings that the host refuses all the same; NULL: none. */
    unsigned char *reserve;
    uint64_t reserve_out; /* a bit for each piece of it that has been let go */
    int64_t met;          /* the count when the host last refused; else out of reach */
};

/* Tell a backend of memory, where it wants to know. */
TRK_MUST_USE enum trk_status trk_backend_attach(struct trk_backend *backend, uint64_t guest_addr,
                                                uint64_t size_bytes, struct trk_error *error);
void trk_backend_detach(struct trk_backend *backend, uint64_t guest_addr, uint64_t size_bytes);
/* TRK_E_UNSUPPORTED from a backend that can attach open memory only. */
TRK_MUST_USE enum trk_status trk_backend_attach_closed(struct trk_backend *backend,
                                                       uint64_t guest_addr, uint64_t size_bytes,
                                                       struct trk_error *error);
void trk_backend_forget(struct trk_backend *backend, uint64_t guest_addr, uint64_t size_bytes);

/* The bias that this build needs: 0, except under ASan, whose shadow lies over both bands. */
int64_t trk_host_bias_default(void);

/**
 * Create the backend that calls mprotect(2), after a probe: a page is armed, written, and the
 * fault must arrive.
 *
 * The probe installs its own SIGSEGV handler for an instant and puts the former one back; call it
 * while no other thread may fault.
 *
 * @return TRK_OK; TRK_E_MEMORY; TRK_E_UNSUPPORTED when the probe's fault did not arrive.
 *
 * Allocates: yes. Blocks: for another's probe. Signal-safe: no. Threads: any, and none may fault.
 */
TRK_MUST_USE enum trk_status trk_backend_mprotect_create(struct trk_backend **out,
                                                         int64_t host_bias_bytes,
                                                         struct trk_error *error);

/*
 * Let protection patterns take so many mappings, instead of what vm.max_map_count leaves: beyond it
 * closing pages is refused where it takes one more, and a store opens the whole run of CLEAN pages
 * around it. Not for other backends.
 */
void trk_backend_mprotect_budget(struct trk_backend *backend, uint32_t mappings);

/* How the userfaultfd backend closes pages to loads. */
enum trk_guards {
    TRK_GUARDS_AUTO = 0, /* guard pages where the kernel has them for files, else mprotect */
    TRK_GUARDS_OFF = 1,
    TRK_GUARDS_ON = 2, /* or TRK_E_UNSUPPORTED */
};

/**
 * Create the backend that arms pages through userfaultfd's write-protection, after a probe: faults
 * arrive as SIGBUS in the storing thread, and no mapping is split.
 *
 * It works on memory that was attached; what was not gets mprotect. Attach a shared mapping while
 * it is readable and writable and nobody uses it, or closed; detach it before it is unmapped or
 * mapped anew, which opens it, or have it forgotten afterwards.
 * Memory belongs to one userfaultfd only. A child of fork(2) has what was attached without its
 * protection: what it stores there nobody is told of.
 *
 * @return TRK_OK; TRK_E_ARGUMENT; TRK_E_MEMORY; TRK_E_UNSUPPORTED with the reason.
 *
 * Allocates: yes. Blocks: for another's probe. Signal-safe: no. Threads: any, and none may fault.
 */
TRK_MUST_USE enum trk_status trk_backend_userfaultfd_create(struct trk_backend **out,
                                                            int64_t host_bias_bytes,
                                                            enum trk_guards guards,
                                                            struct trk_error *error);

/**
 * Create the backend whose faults are cheapest on this machine: userfaultfd where its probe
 * passes and a short trial (at most 50 ms) with a second thread running finds it no slower than
 * mprotect, else mprotect.
 *
 * @param why  Gets one line that says which and why, cut to why_bytes; NULL: nobody asks.
 *
 * Allocates: yes. Blocks: for the trial, and another's. Signal-safe: no. Threads: any, and none
 * may fault.
 */
TRK_MUST_USE enum trk_status trk_backend_create_best(struct trk_backend **out,
                                                     int64_t host_bias_bytes, char *why,
                                                     size_t why_bytes, struct trk_error *error);

/**
 * Create the backend that touches no memory: every call succeeds unless it was told otherwise.
 *
 * Allocates: yes. Blocks: no. Signal-safe: no. Threads: any.
 */
TRK_MUST_USE enum trk_status trk_backend_simulated_create(struct trk_backend **out,
                                                          struct trk_error *error);

/* Make the nth next call of a simulated backend fail with ENOMEM, once; 0 takes it back. */
void trk_backend_simulated_fail(struct trk_backend *backend, uint32_t nth);

/*
 * What a simulated host says to a call that is not told to fail: 0 or an errno value. Runs under
 * the page manager's lock.
 */
typedef int trk_backend_decide_fn(void *context, uint64_t guest_addr, uint64_t size_bytes,
                                  unsigned rights);

/* Let `decide` answer the calls of a simulated backend; NULL: all succeed. Not while calls may
 * come. */
void trk_backend_simulated_decide(struct trk_backend *backend, trk_backend_decide_fn *decide,
                                  void *context);

/* NULL is accepted. */
void trk_backend_destroy(struct trk_backend *backend);

TRK_EXTERN_C_END

#endif
