/*
 * Statuses and error details of every trk library.
 *
 * The first nine are the classes of fail-fast of the tracker's model; the rest are faults of the
 * world: files, memory, the host. A rule of the model that a *trace* breaks is no status but a
 * verdict of the simulator.
 */
#ifndef TRACK_STATUS_H
#define TRACK_STATUS_H

#include <stdint.h>

#include "track/macros.h"

TRK_EXTERN_C_BEGIN

enum trk_status {
    TRK_OK = 0,
    /* Classes of fail-fast [M-62]. */
    TRK_E_RANGE = 1,    /* a range is empty, wraps or leaves the address bands */
    TRK_E_REENTRY = 2,  /* called from inside this tracker's own upload callback */
    TRK_E_CONFLICT = 3, /* CPU and GPU would both own a page */
    TRK_E_RETAINED = 4, /* a page stayed GPU-owned through the flush of an invalidate */
    TRK_E_UNTRACK = 5,  /* untrack over a GPU-owned page */
    TRK_E_LOCK = 6,     /* recursive lock, or unlock by a thread that does not hold it */
    TRK_E_WATCH = 7,    /* a watch count would leave its bounds */
    TRK_E_PROTECT = 8,  /* the host refused a protection call */
    TRK_E_LIVELOCK = 9, /* no progress: 8 equal faults, or 8 rounds of one invalidate */
    /* Faults of the world. */
    TRK_E_ARGUMENT = 16,    /* a value given by the caller or a user is not usable */
    TRK_E_MEMORY = 17,      /* out of memory */
    TRK_E_SYSTEM = 18,      /* a system call failed; os_errno says why */
    TRK_E_UNSUPPORTED = 19, /* this machine or this build lacks it */
    TRK_E_EXISTS = 20,      /* would overwrite what is there */
    TRK_E_DAMAGED = 21,     /* a file's bytes are not what was written */
    TRK_E_INCOMPLETE = 22,  /* a file ends before its end mark, or events were lost */
    TRK_E_VERSION = 23,     /* a file needs a newer reader */
    TRK_E_END = 24,         /* nothing more to read; no fault */
};

/*
 * Detail of a failure, owned by the caller and always optional (NULL is accepted everywhere).
 * Plain data: no allocation, usable in a signal handler. A field that does not apply holds
 * TRK_NOT_KNOWN.
 */
#define TRK_NOT_KNOWN UINT64_MAX

struct trk_error {
    enum trk_status status;
    int os_errno;          /* 0 when no system call is to blame */
    uint64_t file_offset;  /* bytes from the start of the file */
    uint64_t event_number; /* 0-based, in the trace's canonical order */
    char text[128];        /* one line, no newline, always terminated */
};

/**
 * Give the word for a status, as it stands in verdicts and messages ("range", "damaged" ...).
 *
 * @return A constant string; "unknown" for a value outside the enumeration.
 *
 * Allocates: no. Blocks: no. Signal-safe: yes. Threads: any.
 */
const char *trk_status_name(enum trk_status status);

/**
 * Fill an error and give its status back, so that a failing function ends in one line.
 *
 * file_offset and event_number become TRK_NOT_KNOWN, os_errno 0; the caller sets them afterwards
 * where they apply.
 *
 * Allocates: no. Blocks: no. Signal-safe: no (formats through vsnprintf). Threads: any.
 */
enum trk_status trk_error_set(struct trk_error *error, enum trk_status status, const char *format,
                              ...) TRK_PRINTF(3, 4);

/**
 * The same for a failed system call: os_errno is kept, and the text ends with what it means (alone
 * where the format gives nothing).
 *
 * Allocates: no. Blocks: no. Signal-safe: no. Threads: any.
 */
enum trk_status trk_error_set_errno(struct trk_error *error, enum trk_status status, int os_errno,
                                    const char *format, ...) TRK_PRINTF(4, 5);

TRK_EXTERN_C_END

#endif
