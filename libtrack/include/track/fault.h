/*
 * The process's fault handler: SIGSEGV, SIGBUS and SIGILL, on an alternate stack, chained.
 *
 * SIGILL: an instruction that the emulator knows (track/emulate.h) is carried out. The others: it
 * decodes who faulted where and how, and asks one owner function. What is left takes the course of
 * the previous disposition. It neither allocates nor locks; errno and the signal mask come back as
 * they were.
 *
 * A child of fork(2) touches no guest memory: a lock of the tracker's may have been taken at that
 * moment by a thread that the child does not have, and its fault would wait for it for ever.
 *
 * Rules: [M-51] [M-52] [M-53] [M-54].
 */
#ifndef TRACK_FAULT_H
#define TRACK_FAULT_H

#include <stdbool.h>
#include <stdint.h>

#include "track/tracker.h"

TRK_EXTERN_C_BEGIN

/*
 * Serve a fault at a host address, or decline it with TRK_FAULT_UNHANDLED. It may also leave by
 * siglongjmp, while no call of a tracker is under way in it.
 */
typedef enum trk_fault_outcome trk_fault_fn(void *context, uint64_t host_addr,
                                            enum trk_access access);

/**
 * Install the handler, once in a process.
 *
 * @return TRK_OK (also for the same owner and context again), TRK_E_EXISTS when another owner is
 *         installed, TRK_E_SYSTEM.
 *
 * Allocates: no. Signal-safe: no. Threads: any.
 */
TRK_MUST_USE enum trk_status trk_fault_install(trk_fault_fn *owner, void *context,
                                               struct trk_error *error);

/**
 * Say whether the handler still has its signals: libraries that are loaded later may take them.
 *
 * A handler on top of ours is no harm if it hands on what it does not know, on an alternate stack;
 * a default action is. One that keeps the signal blocked while it hands on is allowed for from the
 * first call that sees it: before that, an owner's callback that faults itself ends the process.
 *
 * @return TRK_OK; TRK_E_EXISTS, and error names the signal and the module whose handler stands in
 *         our place; TRK_E_ARGUMENT when nothing is installed; TRK_E_SYSTEM.
 *
 * Allocates: no. Blocks: on the dynamic linker's lock. Signal-safe: no. Threads: any.
 */
TRK_MUST_USE enum trk_status trk_fault_check(struct trk_error *error);

/* Put the previous handlers back. TRK_E_EXISTS when somebody installed over ours (left alone). */
TRK_MUST_USE enum trk_status trk_fault_uninstall(struct trk_error *error);

/* An owner for the common case: context is the tracker; takes the backend's bias off. */
enum trk_fault_outcome trk_fault_tracker(void *tracker, uint64_t host_addr, enum trk_access access);

/**
 * Give the calling thread an alternate signal stack (at least 64 KiB, page-aligned, more where
 * AT_MINSIGSTKSZ asks for it), so that a fault in a watched stack page can be served, and open
 * SIGSEGV, SIGBUS and SIGILL for it.
 *
 * A thread that blocks one of these later ends the process with its next fault: the kernel asks no
 * handler then.
 * The previous alternate stack is put back by trk_fault_thread_leave.
 *
 * @return TRK_OK (also when the thread has one of ours already), TRK_E_SYSTEM, TRK_E_MEMORY.
 *
 * Allocates: a mapping. Signal-safe: no. Threads: each for itself.
 */
TRK_MUST_USE enum trk_status trk_fault_thread_enter(struct trk_error *error);
void trk_fault_thread_leave(void);

TRK_EXTERN_C_END

#endif
