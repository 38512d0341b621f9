/*
 * Recording from inside the emulator.
 *
 * `trk record` starts the program with a session: a shared memory object whose rings the parent
 * drains. trk_capture_open() joins it; without a session everything below is a cheap no-op. The
 * core's events come through trk_capture_observer(); the annotation calls add what only the
 * emulator knows. Nothing here ever blocks, allocates in a fault path, or fails the caller: when a
 * ring is full the event is dropped and counted.
 *
 * All annotation calls: Allocates: no. Blocks: no. Signal-safe: yes. Threads: any. errno is kept.
 * A thread that never called trk_capture_thread gets a ring, without a name, with its first event.
 * A signal handler may interrupt any of them and record in turn; it must return, though: one that
 * leaves by longjmp from the middle of a call ends the recording of its thread.
 */
#ifndef RECORDER_CAPTURE_H
#define RECORDER_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "track/backend.h"
#include "track/observer.h"
#include "track/policy.h"
#include "track/status.h"

TRK_EXTERN_C_BEGIN

/**
 * Join the session whose descriptor the environment names (TRK_SESSION_FD).
 *
 * @return TRK_OK: recording; TRK_E_UNSUPPORTED: there is no session (no fault); TRK_E_VERSION: the
 *         session is another version's; TRK_E_EXISTS: another program joined it before (the
 *         recording parent counts and tells it); TRK_E_ARGUMENT, TRK_E_SYSTEM: the descriptor is
 * not usable. In every case but TRK_OK the program runs on unrecorded.
 *
 * Allocates: mappings. Blocks: no. Signal-safe: no. Threads: once, before others record.
 */
TRK_MUST_USE enum trk_status trk_capture_open(struct trk_error *error);

/* Whether this process records. */
bool trk_capture_active(void);

/* The observer to give to trackers; emit is NULL when nothing is recorded. */
struct trk_observer trk_capture_observer(void);

/* Say that a tracker exists, before its first operation. */
void trk_capture_tracker(uint32_t tracker_id, const struct trk_policy *policy,
                         enum trk_backend_kind backend);

enum trk_thread_role {
    TRK_ROLE_HOST = 0,
    TRK_ROLE_GUEST = 1,
    TRK_ROLE_GPU = 2,
};

/*
 * Name the calling thread (cut at 31 bytes) and claim its ring ahead of the first event, with its
 * pages made present. A named thread's ring goes back by itself when the thread ends. After
 * trk_capture_thread_end it begins anew, as another stream.
 */
void trk_capture_thread(const char *name, enum trk_thread_role role);

/*
 * The calling thread records no more; its ring goes back once it is drained. An event that comes
 * after all is counted as dropped.
 */
void trk_capture_thread_end(void);

/* Bytes move between guest memory and the GPU's copy. Around the real copy, for each run. */
void trk_capture_copy_begin(enum trk_copy direction, uint64_t guest_addr, uint64_t size_bytes,
                            uint16_t resource);
void trk_capture_copy_end(enum trk_copy direction, uint64_t guest_addr, uint64_t size_bytes,
                          uint16_t resource);

/*
 * The contents of pages that go up, where the recording wants hashes of them (`trk record --payload
 * hash`); else nothing is looked at. Just before the copy, when the tracker has armed the pages, of
 * the guest's bytes; and behind it, of what was copied. Whole pages of the range only.
 */
void trk_capture_pages(enum trk_page_moment moment, uint64_t guest_addr, const void *bytes,
                       uint64_t size_bytes);

/* A draw or dispatch of submission `tick` writes or reads the GPU's copy of these bytes. */
void trk_capture_gpu_write(uint64_t guest_addr, uint32_t size_bytes, uint32_t tick, uint32_t stamp);
void trk_capture_gpu_read(uint64_t guest_addr, uint32_t size_bytes, uint32_t tick);

/* Submission `tick`, and all before it, have run. */
void trk_capture_gpu_complete(uint64_t tick);

/* Address space, for owners that do not tell the tracker itself. rights: TRK_RIGHT_*. */
void trk_capture_guest_protect(uint64_t guest_addr, uint64_t size_bytes, unsigned rights);
/* A view of frame `frame` (number of its first page in the backing object); map_flags TRK_MAP_*. */
void trk_capture_map(uint64_t guest_addr, uint64_t size_bytes, uint32_t frame, unsigned rights,
                     unsigned map_flags);
void trk_capture_unmap(uint64_t guest_addr, uint64_t size_bytes);

/* Somebody asked for an invalidate of exactly this range, with this outcome. */
void trk_capture_invalidate_request(uint64_t guest_addr, uint64_t size_bytes,
                                    enum trk_request_outcome outcome);

/* Frame `number` starts. */
void trk_capture_frame(uint64_t number);

/*
 * Witnesses: a store that certainly happened, and bytes that were certainly seen. A stamp names a
 * content: not 0, and greater for a later store to the same bytes. stamp 0 in a check: the bytes
 * belong to no known stamp (torn, or foreign).
 */
void trk_capture_witness_store(enum trk_agent agent, uint64_t guest_addr, uint32_t size_bytes,
                               uint32_t stamp);
void trk_capture_witness_check(enum trk_agent agent, uint64_t guest_addr, uint32_t size_bytes,
                               uint32_t stamp);

/*
 * Order between threads that the program itself makes (mutexes, barriers, queues): what a thread
 * did before signal(timeline, value) is ordered before what another does after await(timeline,
 * value). Call signal just before the real release and await just after the real acquire. One
 * timeline has one signalling thread at a time and growing values; a number below 2^24 names it.
 */
void trk_capture_signal(uint32_t timeline, uint64_t value);
void trk_capture_await(uint32_t timeline, uint64_t value);

/* A number of the owner's choosing. */
void trk_capture_mark(uint64_t number);

/*
 * Ask a flight recording to write down what it holds (trigger "api"). The events that this thread
 * has emitted are in it; the caller does not wait. Does nothing in other recordings.
 */
void trk_capture_trigger(void);

/* Events this process could not write for want of room, so far. */
uint64_t trk_capture_dropped(void);

TRK_EXTERN_C_END

#endif
