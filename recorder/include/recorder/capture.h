/*
 * Recording from inside the emulator: the session and its threads.
 *
 * `trk record` starts the program with a session: a shared memory object whose rings the parent
 * drains. trk_capture_open() joins it; without a session everything below is a cheap no-op. The
 * core's events come through trk_capture_observer(); the annotation calls (recorder/annotate.h) add
 * what only the emulator knows, and the calls of recorder/foreign.h say what a tracker does that is
 * not the core's. Nothing here ever blocks, allocates in a fault path, or fails the caller: when a
 * ring is full the event is dropped and counted.
 *
 * All calls that note something: Allocates: no. Blocks: no. Signal-safe: yes, on an alternate stack
 * too. Threads: any, whatever locks they hold. errno is kept. While nothing is recorded they are
 * one branch. A thread that never called trk_capture_thread gets a ring, without a name, with its
 * first event. A signal handler may interrupt any of them and record in turn; it must return,
 * though: one that leaves by longjmp from the middle of a call ends the recording of its thread.
 */
#ifndef RECORDER_CAPTURE_H
#define RECORDER_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "track/backend.h"
#include "track/event.h"
#include "track/macros.h"
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
 * Makes present what a thread's first events touch, which takes some tenths of a millisecond: so it
 * does not matter whether the first one is in a fault's handler.
 *
 * Allocates: mappings. Blocks: no. Signal-safe: no. Threads: once, before others record.
 */
TRK_MUST_USE enum trk_status trk_capture_open(struct trk_error *error);

/* Whether this process records. */
bool trk_capture_active(void);

/*
 * Whether there may be somebody to tell: the branch before every note. Set when a session is
 * joined, so that what it lets through may still fall on deaf ears.
 */
extern TRK_HIDDEN uint32_t trk_capture_joined;
static inline bool trk_capture_listens(void)
{
    return TRK_UNLIKELY(TRK_LOAD_RELAXED(&trk_capture_joined) != 0);
}

/* Note one event, as track/event.h lays it out. Cold to its callers: most run unrecorded. */
TRK_SELDOM_CALLED void trk_capture_event(const struct trk_event *event);

/* The observer to give to trackers; emit is NULL when nothing is recorded. */
struct trk_observer trk_capture_observer(void);

/* Say that a tracker exists, before its first operation. */
void trk_capture_tracker(uint32_t tracker_id, const struct trk_policy *policy,
                         enum trk_backend_kind backend);

/*
 * Say something of this program that only it knows, such as its Vulkan device, for the trace's
 * header (`about`): a key, cut at 23 bytes, and a text, cut at 95. Before the first event and
 * before the first tracker is declared: the header is written when a tracker is there, or a tenth
 * of a second after the first event without one, or sooner when much comes. What is said later is
 * in dumps of a flight recording only, and trk record says that it is lost. Of a key that is said
 * again the last counts; 24 are taken, those of the backend among them. Signal-safe: no.
 */
void trk_capture_about(const char *key, const char *text);

/*
 * The same of a backend: whether its self-test passed, where it puts guest memory, and what it asks
 * of its owner (keys that begin with "backend_").
 */
void trk_capture_about_backend(const struct trk_backend *backend);

enum trk_thread_role {
    TRK_ROLE_HOST = 0,
    TRK_ROLE_GUEST = 1,
    TRK_ROLE_GPU = 2,
    TRK_ROLE_DRIVER = 3, /* the graphics driver's own */
    TRK_ROLE_TOOL = 4,   /* of something that only watches: its faults are not the program's */
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

/*
 * Ask a flight recording to write down what it holds (trigger "api"). The events that this thread
 * has emitted are in it; the caller does not wait. Does nothing in other recordings.
 */
void trk_capture_trigger(void);

/* Events this process could not write for want of room, so far. */
uint64_t trk_capture_dropped(void);

TRK_EXTERN_C_END

#include "recorder/trust.h"

#include "recorder/annotate.h"

#endif
