/*
 * The session object: what the recording parent and the recorded program share.
 *
 * One memfd holds a control page, a pool of ring headers, the counts of losses (one a ring, and one
 * for threads without a ring), the rings' records, and contents of pages, in this order. The parent
 * makes it, the program maps it. Both sides run the same build or refuse each other by the version
 * word; nothing of it ever reaches a file.
 *
 * Glossary. *Position*: number of a record in its ring, counted from 0 and never wrapped; position
 * & (ring_records - 1) is its slot. *Use*: the time from a ring's claim by a thread until the
 * parent gives it back; a use is one stream of the trace. Positions and drop counts go on from use
 * to use.
 *
 * Each side takes the other for possibly broken: the parent survives any bytes in here, and the
 * program checks the control page before it believes it.
 */
#ifndef RECORDER_SESSION_LAYOUT_H
#define RECORDER_SESSION_LAYOUT_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "capture_build.h"
#include "recorder/payload.h"
#include "recorder/record_entry.h"
#include "session_pages.h"

#define TRK_SESSION_NAME     "trk-session" /* of its memory, in lists of mappings */
#define TRK_SESSION_VARIABLE "TRK_SESSION_FD"
#define TRK_SESSION_MAGIC    UINT64_C(0x6e6f69737365736b) /* "ksession", little-endian */
#define TRK_SESSION_VERSION  6u

/* Its inode tells whether a process id means the same to two processes. */
#define TRK_SESSION_PID_NAMESPACE "/proc/self/ns/pid"

#define TRK_SESSION_RINGS            64u
#define TRK_SESSION_RING_RECORDS     (128u << 10) /* 4 MiB a thread: 3 ms at 40 M events/s */
#define TRK_SESSION_RING_RECORDS_MIN 128u         /* one page */
#define TRK_SESSION_RING_RECORDS_MAX (4u << 20)   /* 128 MiB a thread */
#define TRK_SESSION_BLOCK_MS_MAX     60000u
#define TRK_SESSION_TRACKERS         16u
#define TRK_SESSION_NAME_WORDS       4u
#define TRK_SESSION_LOSS_KINDS       64u

/* FREE -> (program) SETUP -> LIVE -> ENDED -> (parent, once drained) FREE. */
enum trk_session_ring_state {
    TRK_RING_FREE = 0,
    TRK_RING_SETUP = 1,
    TRK_RING_LIVE = 2,
    TRK_RING_ENDED = 3,
};

struct trk_session_ring {
    /* The thread's line. */
    _Alignas(64) _Atomic uint64_t head; /* first position not yet published */
    _Atomic uint64_t dropped;           /* events that found no room, ever */
    /* The drain's line. */
    _Alignas(64) _Atomic uint64_t tail; /* first position not yet taken */
    /* Seldom written. */
    _Alignas(64) _Atomic uint32_t state;
    uint32_t thread_id;            /* published by state */
    _Atomic uint32_t name_version; /* odd while name and role are being written */
    _Atomic uint32_t role;
    _Atomic uint64_t name[TRK_SESSION_NAME_WORDS]; /* bytes of a string; words to read it safely */
    uint8_t unused[64];
};

/*
 * Losses of one type of event. Counts go on from use to use; the thread writes all of it, the drain
 * reads the count.
 */
struct trk_session_loss {
    _Atomic uint64_t count; /* ever */
    _Atomic uint64_t told;  /* of these, in DROP records */
    _Atomic uint64_t
        first; /* time stamps of the first one that is not told, 0: none, and the last */
    _Atomic uint64_t last;
};

struct trk_session_losses {
    struct trk_session_loss kinds[TRK_SESSION_LOSS_KINDS];
};

/* Where a type is counted; 0 holds those that no other place is for. */
static inline uint32_t trk_session_loss_kind(uint32_t type)
{
    if (type < TRK_SESSION_LOSS_KINDS / 2)
        return type;
    uint32_t annotation = type - TRK_EVENT_FIRST_ANNOTATION;
    return annotation < TRK_SESSION_LOSS_KINDS / 2 ? annotation + TRK_SESSION_LOSS_KINDS / 2 : 0;
}

/* The type that is counted there; TRK_EVENT_NONE: not known. */
static inline uint32_t trk_session_loss_type(uint32_t kind)
{
    return kind < TRK_SESSION_LOSS_KINDS / 2
               ? kind
               : kind - TRK_SESSION_LOSS_KINDS / 2 + TRK_EVENT_FIRST_ANNOTATION;
}

enum trk_session_known {
    TRK_SESSION_KNOWN_NOT = 0,
    TRK_SESSION_KNOWN_CORE = 1,
    TRK_SESSION_KNOWN_FOREIGN = 2, /* recorder/foreign.h */
};

struct trk_session_tracker {
    _Atomic uint64_t policy; /* trk_policy_pack(); 0 of a foreign one: none of the core's */
    _Atomic uint32_t backend;
    _Atomic uint32_t known; /* not 0 once the two above are set */
};

#define TRK_SESSION_ABOUTS            24u
#define TRK_SESSION_ABOUT_KEY_BYTES   24u
#define TRK_SESSION_ABOUT_VALUE_BYTES 96u

/* What the program says of itself: a key and a text, each a string with its end. */
struct trk_session_about {
    _Atomic uint32_t known; /* 1 once it is written */
    _Atomic uint64_t words[(TRK_SESSION_ABOUT_KEY_BYTES + TRK_SESSION_ABOUT_VALUE_BYTES) / 8];
};

struct trk_session_control {
    uint64_t magic;
    uint32_t version;
    uint32_t ring_count;
    uint32_t ring_records; /* a power of two */
    uint32_t block_ms;     /* how long an event may wait for room; 0: not at all */
    uint64_t size_bytes;   /* of the whole object */
    _Atomic uint32_t attached;
    _Atomic uint32_t pid;
    _Atomic uint64_t waits;         /* events that waited for room (block_ms) */
    _Atomic uint64_t pid_namespace; /* inode of the joined process's; written before pid */
    /* Of the joined program, written before pid. */
    _Atomic uint32_t build_id_bytes; /* 0: it has none */
    _Atomic uint64_t build_id[TRK_BUILD_ID_BYTES / 8];
    _Atomic uint32_t refused_joins; /* programs that came after the first */
    _Atomic uint32_t triggers;      /* calls of trk_capture_trigger */
    uint32_t payload;               /* enum trk_record_payload */
    _Atomic uint64_t pages_missed;  /* contents that found no room */
    struct trk_session_tracker trackers[TRK_SESSION_TRACKERS];
    _Atomic uint32_t about_count; /* taken so far; more than there are: the rest was refused */
    struct trk_session_about abouts[TRK_SESSION_ABOUTS];
};

#define TRK_SESSION_CONTROL_BYTES 4096u

_Static_assert(sizeof(struct trk_record) == 32, "records are 32 bytes");
_Static_assert(sizeof(struct trk_session_ring) == 256, "a ring header is four lines");
_Static_assert(sizeof(struct trk_session_control) <= TRK_SESSION_CONTROL_BYTES, "one page");
_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "atomics in shared memory must be lock-free");

/* Where the parts of a mapped session lie. Pages of one ring are not shared with another's. */
static inline uint64_t trk_session_rings_offset(void)
{
    return TRK_SESSION_CONTROL_BYTES;
}

static inline uint64_t trk_session_losses_offset(uint32_t ring_count)
{
    return TRK_SESSION_CONTROL_BYTES + ring_count * sizeof(struct trk_session_ring);
}

static inline uint64_t trk_session_records_offset(uint32_t ring_count)
{
    uint64_t end = trk_session_losses_offset(ring_count) +
                   (ring_count + UINT64_C(1)) * sizeof(struct trk_session_losses);
    return (end + TRK_SESSION_CONTROL_BYTES - 1) & ~(uint64_t)(TRK_SESSION_CONTROL_BYTES - 1);
}

static inline uint64_t trk_session_pages_offset(uint32_t ring_count, uint32_t ring_records)
{
    return trk_session_records_offset(ring_count) +
           (uint64_t)ring_count * ring_records * sizeof(struct trk_record);
}

/* Contents of pages take room only where they are kept. */
static inline uint64_t trk_session_bytes(uint32_t ring_count, uint32_t ring_records,
                                         uint32_t payload)
{
    return trk_session_pages_offset(ring_count, ring_records) +
           (payload == TRK_PAYLOAD_PAGES ? sizeof(struct trk_session_pages) : 0);
}

#endif
