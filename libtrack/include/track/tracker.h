/*
 * The tracker: who has the current bytes of each page.
 *
 * A page is CPU (guest memory is newest, no watch), CLEAN (both agree, one write watch) or GPU (the
 * GPU's copy is newest, one write and one read watch). Untouched memory is CPU. The operations
 * below move pages between these states and keep the host protection in step, so that the access
 * that would break the knowledge faults. The tracker copies no bytes: its callbacks do.
 *
 * Every operation may be called from any thread and from a fault handler, unless it says
 * otherwise. All ranges are bytes of any alignment, rounded out to tracker pages. Statuses
 * TRK_E_RANGE, TRK_E_REENTRY, TRK_E_CONFLICT and TRK_E_UNTRACK leave everything as it was.
 * TRK_E_WATCH and TRK_E_PROTECT (a further client's watches, or the host, stand in the way of a
 * page) leave the region concerned as it was; regions done before it stay done, and their runs have
 * been reported. Each failure has gone through the failure handler before the status is returned.
 *
 * Rules: [M-2], [M-7] to [M-36], [M-62] [M-63].
 */
#ifndef TRACK_TRACKER_H
#define TRACK_TRACKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "track/backend.h"
#include "track/failure.h"
#include "track/observer.h"
#include "track/policy.h"
#include "track/status.h"

TRK_EXTERN_C_BEGIN

struct trk_tracker;

struct trk_tracker_options {
    size_t size; /* sizeof(struct trk_tracker_options) */
    struct trk_policy policy;
    struct trk_backend *backend;  /* not NULL; outlives the tracker */
    struct trk_observer observer; /* emit NULL: nobody listens */
    trk_failure_fn *failure;      /* NULL: print and abort */
    void *failure_context;
    uint32_t id; /* 0..15; told apart in logs */
};

/* Default policy, no observer, no handler, id 0; the caller sets backend. */
struct trk_tracker_options trk_tracker_options_default(void);

/**
 * Create a tracker. All memory is CPU.
 *
 * @return TRK_OK, TRK_E_ARGUMENT (options not usable), TRK_E_MEMORY.
 *
 * Allocates: yes, address space only; regions come with their first touch. Signal-safe: no.
 */
TRK_MUST_USE enum trk_status trk_tracker_create(struct trk_tracker **out,
                                                const struct trk_tracker_options *options,
                                                struct trk_error *error);

/*
 * Give back the tracker's memory. Live watches fail `watch` first; host protection stays as it is.
 * No other thread may be inside an operation. NULL is accepted.
 */
void trk_tracker_destroy(struct trk_tracker *tracker);

/* Queries. out is set on TRK_OK. is_cpu creates regions up to the first hit; is_gpu none. */
TRK_MUST_USE enum trk_status trk_tracker_is_cpu(struct trk_tracker *tracker, uint64_t guest_addr,
                                                uint64_t size_bytes, bool *out);
TRK_MUST_USE enum trk_status trk_tracker_is_gpu(struct trk_tracker *tracker, uint64_t guest_addr,
                                                uint64_t size_bytes, bool *out);

/* The pages become CPU; TRK_E_CONFLICT when any is GPU. */
TRK_MUST_USE enum trk_status trk_tracker_mark_cpu(struct trk_tracker *tracker, uint64_t guest_addr,
                                                  uint64_t size_bytes);
/* The pages become GPU; TRK_E_CONFLICT when any is CPU (untouched memory too). */
TRK_MUST_USE enum trk_status trk_tracker_mark_gpu(struct trk_tracker *tracker, uint64_t guest_addr,
                                                  uint64_t size_bytes);
/* GPU pages become CLEAN; others stay. */
TRK_MUST_USE enum trk_status trk_tracker_unmark_gpu(struct trk_tracker *tracker,
                                                    uint64_t guest_addr, uint64_t size_bytes);
/* All pages of existing regions become CPU; TRK_E_UNTRACK when any is GPU. */
TRK_MUST_USE enum trk_status trk_tracker_untrack(struct trk_tracker *tracker, uint64_t guest_addr,
                                                 uint64_t size_bytes);

/* A maximal page-aligned run, ascending, inside one region; called under the region's lock. */
typedef void trk_range_fn(void *context, uint64_t guest_addr, uint64_t size_bytes);
typedef void trk_completion_fn(void *context);
/* The flush or read-back of a page-rounded range; called with no lock held. */
typedef void trk_flush_fn(void *context, uint64_t guest_addr, uint64_t size_bytes);

struct trk_transfer {
    size_t size; /* sizeof(struct trk_transfer), or TRK_E_ARGUMENT */
    uint64_t guest_addr;
    uint64_t size_bytes;
    bool written;        /* upload: the GPU will write the range; it becomes GPU as a whole */
    bool clear;          /* download: reported pages become CLEAN afterwards */
    trk_range_fn *range; /* NULL: runs are not reported */
    trk_completion_fn *completion; /* upload only; NULL: none */
    void *context;
};

/**
 * Take the CPU pages of a range for upload: clear, re-protect, then report each run.
 *
 * Re-protection comes before the callback, so that a store during the copy faults and dirties the
 * page again. Not written: a region at a time; the completion runs once, with no lock held, also
 * when nothing was dirty. Written: all region locks ascending and kept; range callbacks, then the
 * completion under all locks, then the whole page-rounded range becomes GPU.
 *
 * @return TRK_OK, TRK_E_ARGUMENT (another size: nothing is done, nor is a failure told),
 *         TRK_E_RANGE, TRK_E_REENTRY, or TRK_E_PROTECT (regions done before stay done).
 *
 * Allocates: first touch of a region. Blocks: on region locks. Signal-safe: yes.
 */
TRK_MUST_USE enum trk_status trk_tracker_upload(struct trk_tracker *tracker,
                                                const struct trk_transfer *upload);

/**
 * Report the GPU pages of a range, which stay closed meanwhile; with `clear` they become CLEAN.
 *
 * Locks one region at a time, or all first, by policy.
 */
TRK_MUST_USE enum trk_status trk_tracker_download(struct trk_tracker *tracker,
                                                  const struct trk_transfer *download);

/* The usual flush: download with clear, and each drained page goes on to CPU in the same hold. */
TRK_MUST_USE enum trk_status trk_tracker_drain(struct trk_tracker *tracker,
                                               const struct trk_transfer *drain);

/**
 * Give a range back to the CPU: what a write fault, or an emulator about to write, does.
 *
 * If any page is GPU the flush runs with no lock held, and the policy says how its work is
 * verified. By `per-region` the flush hands the whole range to the CPU itself, CLEAN pages too: a
 * drain, then mark_cpu. flush NULL counts as a flush that does nothing.
 *
 * @return TRK_OK, TRK_E_RANGE, TRK_E_REENTRY, TRK_E_RETAINED, TRK_E_LIVELOCK, TRK_E_PROTECT.
 *
 * Blocks: on region locks. Signal-safe: as far as the flush is. Rules: [M-28] to [M-33].
 */
TRK_MUST_USE enum trk_status trk_tracker_invalidate(struct trk_tracker *tracker,
                                                    uint64_t guest_addr, uint64_t size_bytes,
                                                    trk_flush_fn *flush, void *context);

/* Say that bytes are, or are no longer, mapped for the GPU: byte-exact; the fault handler asks. */
TRK_MUST_USE enum trk_status trk_tracker_register(struct trk_tracker *tracker, uint64_t guest_addr,
                                                  uint64_t size_bytes);
TRK_MUST_USE enum trk_status trk_tracker_unregister(struct trk_tracker *tracker,
                                                    uint64_t guest_addr, uint64_t size_bytes);

/*
 * Say what the guest's own rights are (TRK_RIGHT_*), also for new mappings; the default is rw. Host
 * protection is never looser. Page-rounded. A page that may be written may be read too: no host
 * tells the two apart.
 */
TRK_MUST_USE enum trk_status trk_tracker_set_guest_protection(struct trk_tracker *tracker,
                                                              uint64_t guest_addr,
                                                              uint64_t size_bytes, unsigned rights);

/* Whoever owns the GPU's copies: what the fault handler calls, with no lock held. */
struct trk_resource_layer {
    trk_flush_fn *flush;     /* before a store: bring GPU bytes home and hand the pages over */
    trk_flush_fn *read_back; /* before a load: bring GPU bytes home, pages become CLEAN */
    void *context;
};

/* Set it before faults may come; not while they do. NULL takes it away. */
TRK_MUST_USE enum trk_status trk_tracker_set_resource_layer(struct trk_tracker *tracker,
                                                            const struct trk_resource_layer *layer);

/**
 * Serve a guest access that faulted: the decision of the fault handler, also for owners that have
 * their own handler.
 *
 * @param guest_addr  The faulting byte.
 * @return UNHANDLED: not ours, the caller chains; SERVED or RETRY: run the access again.
 *
 * Blocks: on region locks and in the resource layer. Signal-safe: as far as the layer is.
 * Rules: [M-55] to [M-59].
 */
enum trk_fault_outcome trk_tracker_fault(struct trk_tracker *tracker, uint64_t guest_addr,
                                         enum trk_access access);

/* Take and release the lock of an address's region by hand. TRK_E_LOCK: recursive, not owner. */
TRK_MUST_USE enum trk_status trk_tracker_lock(struct trk_tracker *tracker, uint64_t guest_addr);
TRK_MUST_USE enum trk_status trk_tracker_unlock(struct trk_tracker *tracker, uint64_t guest_addr);

TRK_EXTERN_C_END

#endif
