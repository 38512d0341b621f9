/*
 * What fields of annotations hold: the words of an emulator, and of a tracker that is not the
 * core's.
 *
 * Values are append-only, as the ids of events are (track/event.h, which includes this).
 */
#ifndef TRACK_EVENT_VALUES_H
#define TRACK_EVENT_VALUES_H

#include "track/macros.h"

TRK_EXTERN_C_BEGIN

/* Who wrote or read; all but the GPU do it to guest memory. */
enum trk_agent {
    TRK_AGENT_CPU = 0, /* a thread of the guest, by native accesses */
    TRK_AGENT_GPU = 1,
    TRK_AGENT_HLE = 2,     /* the emulator on the guest's behalf */
    TRK_AGENT_KERNEL = 3,  /* the kernel, by a system call */
    TRK_AGENT_FOREIGN = 4, /* another process, or a device that is not the GPU */
};

enum trk_page_moment {
    TRK_PAGE_ARMED = 0,  /* it was armed, and the copy is about to begin */
    TRK_PAGE_COPIED = 1, /* the copy has ended: what it holds */
};

enum trk_request_outcome {
    TRK_REQUEST_DONE = 0,
    TRK_REQUEST_IGNORED = 1,
    TRK_REQUEST_FAILED = 2,
};

/* What a foreign tracker notes, and what it is: what is not noted cannot be judged. */
#define TRK_NOTES_LOCKS      1u /* LOCK and UNLOCK of each of its locks */
#define TRK_NOTES_PROTECTION 2u /* HOST_PROTECT of each call */
#define TRK_NOTES_HANDED     4u /* HANDED of each run */
#define TRK_NOTES_LOADS      8u /* pages that are the GPU's are closed to loads, too */

/* What one lock covers. */
enum trk_lock_kind {
    TRK_LOCK_TRACKER = 0, /* everything */
    TRK_LOCK_REGION = 1,
    TRK_LOCK_WORD = 2, /* the pages of one word of a bit set */
    TRK_LOCK_PAGE = 3,
};

/* What brought an operation of a foreign tracker about. */
enum trk_origin {
    TRK_ORIGIN_NOT_SAID = 0,
    TRK_ORIGIN_FAULT = 1,
    TRK_ORIGIN_HLE = 2, /* the emulator on the guest's behalf */
    TRK_ORIGIN_KERNEL = 3,
    TRK_ORIGIN_GPU = 4,     /* a command of the GPU */
    TRK_ORIGIN_MAPPING = 5, /* memory was mapped, unmapped or protected */
    TRK_ORIGIN_FOREIGN = 6, /* another process or device */
};

/* What a handler does about a fault, or an upload about a clean page. */
enum trk_decision {
    TRK_DECISION_NOT_OURS = 0,
    TRK_DECISION_RETRY = 1,     /* the page is open by now */
    TRK_DECISION_OPEN = 2,      /* the page becomes the CPU's */
    TRK_DECISION_FLUSH = 3,     /* likewise, when the GPU's bytes are home */
    TRK_DECISION_READ_BACK = 4, /* the GPU's bytes come home */
    TRK_DECISION_SKIP = 5,      /* a clean page is not copied (recorder/trust.h) */
    TRK_DECISION_DISTRUST = 6,  /* it is copied as if it were dirty */
};

enum trk_object_change {
    TRK_OBJECT_CREATED = 0,
    TRK_OBJECT_CHANGED = 1, /* it lies elsewhere */
    TRK_OBJECT_DESTROYED = 2,
};

/* Why an object was changed or is gone. */
enum trk_object_reason {
    TRK_REASON_NOT_SAID = 0,
    TRK_REASON_ASKED = 1,    /* the guest, or its API, asked for it */
    TRK_REASON_EVICTED = 2,  /* a cache wanted its room */
    TRK_REASON_OVERLAP = 3,  /* another object lies over its bytes */
    TRK_REASON_STALE = 4,    /* its bytes have changed */
    TRK_REASON_UNMAPPED = 5, /* its memory is gone */
    TRK_REASON_SHUTDOWN = 6,
};

/* How it is known whether a fault was a load or a store. */
enum trk_access_source {
    TRK_SOURCE_NOT_SAID = 0,
    TRK_SOURCE_PROCESSOR = 1,   /* the processor's word */
    TRK_SOURCE_INSTRUCTION = 2, /* the instruction was decoded */
    TRK_SOURCE_PROTECTION = 3,  /* it follows from what the page forbade */
    TRK_SOURCE_KERNEL = 4,      /* the kernel's message to a handler thread */
};

/* What a RESULT is of. */
enum trk_result_of {
    TRK_RESULT_OF_ACCESS = 0,
    TRK_RESULT_OF_COPY = 1,
    TRK_RESULT_OF_MAP = 2, /* MAP or UNMAP */
};

#define TRK_LABEL_PIECE_BYTES 20u
#define TRK_LABEL_BYTES_MAX   60u
#define TRK_LABEL_LAST        0x80u

#define TRK_MAP_ALIAS     1u /* a further view of a frame that is mapped already */
#define TRK_MAP_UNTRACKED 2u /* a view that nobody registers: stores through it are silent */

TRK_EXTERN_C_END

#endif
