/*
 * What leaves the core, and what an emulator adds: the event vocabulary.
 *
 * One event is 24 bytes of plain data. The core hands each to its observer; the recorder puts a
 * time stamp before it and writes it down; the simulator re-executes the commands among them and
 * compares the rest. Ids are append-only.
 *
 * ## Domains and holds
 *
 * A domain is what one lock orders. Every acquisition of a domain's lock is a *hold* and has a
 * number, 1 for the first; it is counted under the lock. Events that happen in a hold carry domain
 * and seq. The last event of a hold is emitted just *after* the lock was released (so that whoever
 * re-executes the log finds the lock free), and is the one for which trk_event_ends_hold() holds.
 * Order between threads is: all events of hold n of a domain come before all of hold n + 1.
 *
 * - region domain: LOCK .. UNLOCK, with RANGE between; STATE behind some LOCKs.
 * - generations' domain (one a tracker, region number 0): LOCK .. UNLOCK, with holds of the page
 *   manager between; UNLOCK counts the guest pages that were registered, advanced or dropped.
 * - page-manager domain: one or more PROTECT, the last with TRK_EVENT_HOLD_END, or a single WATCH
 *   when no host call was needed, STATE before them in some; FAULT is a hold of its own (the look
 * at rights and protection).
 * - owner's domain: a lock of a foreign tracker (FOREIGN), LOCK .. UNLOCK; LOCKS says what it
 * covers.
 * - Regions of which pages are shared between views have one page-manager domain together, with the
 *   region number TRK_DOMAIN_SHARED; a PROTECT says in argument which region it is about. Joining
 *   and leaving views is LOCK .. UNLOCK of it, with the PROTECT between.
 *
 * ## Commands and outcomes
 *
 * Commands are what a thread of the owner did: OP_BEGIN, FAULT, MASK, OPERAND and all annotations
 * (ids from 64 on). Everything else is an outcome: it follows from the commands and the order of
 * holds, and the core produces it again under re-execution. After a callback event (RANGE,
 * CALLBACK) the commands of that thread belong to the callback, until the thread's next outcome.
 */
#ifndef TRACK_EVENT_H
#define TRACK_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "track/event_values.h"
#include "track/macros.h"

TRK_EXTERN_C_BEGIN

struct trk_event {
    uint64_t argument;
    uint32_t seq;     /* hold number; with domain the 64-bit size where the type says "size" */
    uint32_t domain;  /* trk_domain(); see seq */
    uint16_t page;    /* page within the region, 0..1023 */
    uint16_t pages;   /* number of pages, 0..1024 (UNLOCK: of changes, 0..2048) */
    uint8_t type;     /* enum trk_event_type */
    uint8_t flags;    /* per type */
    uint16_t context; /* per type */
};

/* Layout of the fields by type, where they differ from the names above. */
enum trk_event_type {
    TRK_EVENT_NONE = 0,
    /*
     * OP_BEGIN: a public operation starts. argument guest_addr, size (seq, domain), context the
     * enum trk_op, flags TRK_OP_* bits, page the tracker's id; pages the rights (guest_protect),
     * or, of a foreign tracker's, the enum trk_origin.
     */
    TRK_EVENT_OP_BEGIN = 1,
    /* LOCK: a region's lock, or the generations', was taken. domain, seq. */
    TRK_EVENT_LOCK = 2,
    /*
     * UNLOCK: released. domain, seq; pages how many changes of page state this hold made, 0..2048:
     * a page may move twice, CPU to CLEAN to GPU.
     */
    TRK_EVENT_UNLOCK = 3,
    /* RANGE: a run of pages is handed to the range callback. domain, seq, page, pages. */
    TRK_EVENT_RANGE = 4,
    /*
     * PROTECT: one host protection call. domain, seq (page manager), page, pages, flags the new
     * rights (TRK_RIGHT_*), TRK_EVENT_FAILED when the host refused, TRK_EVENT_HOLD_END. argument
     * the region's first address in the domain of shared regions, else 0.
     */
    TRK_EVENT_PROTECT = 5,
    /* WATCH: a page-manager hold without a host call. pages how many counts changed. Ends it. */
    TRK_EVENT_WATCH = 6,
    /* CALLBACK: entered with no lock held (or all, for a written upload). context trk_callback. */
    TRK_EVENT_CALLBACK = 7,
    /* OP_END: context the op, flags the enum trk_status, argument the result (see enum trk_op). */
    TRK_EVENT_OP_END = 8,
    /*
     * FAULT: a guest access faulted; begins the operation TRK_OP_FAULT, which OP_END ends. argument
     * the faulting byte's guest_addr, flags the enum trk_access, context the enum trk_fault_look,
     * page, domain and seq of the page-manager hold that looked. Ends that hold. pages how many GPU
     * pages come home at once because the host's mappings are used up; else 0.
     */
    TRK_EVENT_FAULT = 9,
    /* FAIL: fail-fast. argument guest_addr, size (seq, domain), context trk_status, flags trk_op.
     */
    TRK_EVENT_FAIL = 10,
    /*
     * MASK: one nonzero 64-page word of the mask of the watch_mask or unwatch_mask whose OP_BEGIN
     * follows. argument the bits, page the word's number 0..15.
     */
    TRK_EVENT_MASK = 11,
    /*
     * OPERAND: what the operation whose OP_BEGIN follows needs beside its range. argument the value
     * (join_views: the other view's guest_addr).
     */
    TRK_EVENT_OPERAND = 12,
    /*
     * STATE: what the domain's lock protects, as a hash, at the beginning of every 256th hold of a
     * region, or of its own page manager if watches or rights change in it. domain, seq, argument
     * the hash. Who re-executes the log must have the same bits. Compared between runs of one
     * version only.
     */
    TRK_EVENT_STATE = 13,

    /* Annotations: what an emulator says of itself (recorder/capture.h). */
    /* TRACKER: a tracker object exists. argument trk_policy_pack(), page its id, context backend.
     */
    TRK_EVENT_TRACKER = 64,
    /* COPY_BEGIN, COPY_END: bytes move. argument guest_addr, size, context trk_copy, page the
     * resource's number (0 = none given). */
    TRK_EVENT_COPY_BEGIN = 65,
    TRK_EVENT_COPY_END = 66,
    /* GPU_WRITE, GPU_READ: a draw or dispatch. argument guest_addr, seq size (32 bit), domain the
     * stamp (0 = not known), page | pages << 16 the low 32 bits of the tick it runs in. */
    TRK_EVENT_GPU_WRITE = 67,
    TRK_EVENT_GPU_READ = 68,
    /* GPU_COMPLETE: the tick in argument, and all before it, have run. */
    TRK_EVENT_GPU_COMPLETE = 69,
    /* GUEST_PROTECT: the guest changed rights. argument guest_addr, size, context rights. */
    TRK_EVENT_GUEST_PROTECT = 70,
    /* MAP, UNMAP: argument guest_addr, size, page | pages << 16 the frame, context rights, flags
     * TRK_MAP_* bits. */
    TRK_EVENT_MAP = 71,
    TRK_EVENT_UNMAP = 72,
    /* INVALIDATE_REQUEST: asked range (argument, size), context enum trk_request_outcome. */
    TRK_EVENT_INVALIDATE_REQUEST = 73,
    /* FRAME: frame number in argument starts. */
    TRK_EVENT_FRAME = 74,
    /* WITNESS_STORE, WITNESS_CHECK: argument guest_addr, seq size (32 bit), domain the stamp that
     * was stored or seen (0 = bytes of no known stamp), flags enum trk_agent. */
    TRK_EVENT_WITNESS_STORE = 75,
    TRK_EVENT_WITNESS_CHECK = 76,
    /* SIGNAL, AWAIT: order edges on timelines. domain the timeline's number, argument its value. */
    TRK_EVENT_SIGNAL = 77,
    TRK_EVENT_AWAIT = 78,
    /*
     * DROP: events were lost before this one; argument how many, context their type, NONE where
     * that is not known. The event's time is that of the first of them, size (seq, domain) the
     * clock's ticks from there to the last; where it is not known, the time of a neighbour in the
     * stream, and size 0. Written by the drain, and by who makes one trace of another.
     */
    TRK_EVENT_DROP = 79,
    /* MARK: a number of the owner's choosing, for finding a place again. argument. */
    TRK_EVENT_MARK = 80,
    /*
     * PAGE: the content of a page that is uploaded, as a hash. argument the page's guest_addr, seq
     * and domain the low and high half of the hash, flags the enum trk_page_moment.
     */
    TRK_EVENT_PAGE = 81,

    /* What only a foreign tracker says, which is not the core's (recorder/foreign.h). */
    /*
     * FOREIGN: a foreign tracker exists. argument trk_policy_pack() of the policy it follows in
     * all, 0: none of the core's; size the bytes of its page, page its id, context backend, flags
     * TRK_NOTES_* bits.
     */
    TRK_EVENT_FOREIGN = 82,
    /*
     * LOCKS: what the locks of tracker `page` cover. argument the first byte that lock 0 covers,
     * size the bytes that each covers (0: everything), context the enum trk_lock_kind.
     */
    TRK_EVENT_LOCKS = 83,
    /*
     * HOST_PROTECT: a host protection call by tracker `page`. argument guest_addr, size, flags the
     * new rights (TRK_RIGHT_*), TRK_EVENT_FAILED when the host refused, context its errno. With
     * TRK_EVENT_HAS_FORMER also the rights before, from bit TRK_EVENT_FORMER_SHIFT on. Of a tracker
     * of the core's only calls that were refused, just before their PROTECT.
     */
    TRK_EVENT_HOST_PROTECT = 84,
    /* HANDED: a run of pages goes to its callback. argument guest_addr, size, page the tracker. */
    TRK_EVENT_HANDED = 85,
    /* DECISION: what the handler is about to do, or an upload about a clean page. argument the
     * faulting byte or the page, page the tracker, context the enum trk_decision. */
    TRK_EVENT_DECISION = 86,
    /* ACCESS: bytes were written or read by somebody, contents not known. argument guest_addr,
     * size, flags enum trk_agent, context enum trk_access. */
    TRK_EVENT_ACCESS = 87,
    /* OBJECT: an object of the owner's lies over these bytes. argument guest_addr, size, page its
     * number, context the enum trk_object_change. */
    TRK_EVENT_OBJECT = 88,
    /*
     * LABEL: twenty bytes of a text, in argument, seq, domain, page and pages, lowest first, 0
     * behind its end. context the object it names, 0: this place. flags the number of the piece,
     * with TRK_LABEL_LAST in the last.
     */
    TRK_EVENT_LABEL = 89,

    /*
     * IMAGE: the GPU's side of the copy under way, between its COPY_BEGIN and COPY_END, is an
     * image. argument the guest_addr of its first texel, size the bytes of all its rows in guest
     * memory, page the texels of a row, pages the rows, flags the bytes of a texel, context its
     * number as the copy's resource (0 = none given).
     */
    TRK_EVENT_IMAGE = 90,
    /*
     * DISPATCH: a compute dispatch. argument how many of the next GPU_WRITE and GPU_READ of this
     * thread are its own, page | pages << 16 the low 32 bits of the tick it runs in, context the
     * number of its shader (0 = none given).
     */
    TRK_EVENT_DISPATCH = 91,
    /*
     * FAULT_AT: where the access was made of which this thread's next event, a FAULT, tells.
     * argument the pc, seq and domain the low and high half of the stack pointer, page | pages <<
     * 16 the kernel's id of the thread that faulted (0: this one), flags the enum
     * trk_access_source, context the bytes of the access. 0: not known.
     */
    TRK_EVENT_FAULT_AT = 92,
    /*
     * SHARED: a lock of a foreign tracker was taken together with others (flags 0), or given back
     * so (flags 1). page | pages << 16 its number, context the tracker, argument the newest hold of
     * its own that the lock had had then, 0: not known. Orders nothing.
     */
    TRK_EVENT_SHARED = 93,
    /*
     * RESULT: what became of this thread's newest ACCESS, COPY_END, MAP or UNMAP. argument the
     * bytes asked for, size those that were done, flags the enum trk_result_of, context the errno.
     */
    TRK_EVENT_RESULT = 94,
    /*
     * OBJECT_DETAIL: more of the OBJECT before it in this thread. argument a number that no other
     * object ever has, size the bytes that are watched for it, page its number, context the enum
     * trk_object_reason.
     */
    TRK_EVENT_OBJECT_DETAIL = 95,
};

#define TRK_EVENT_FIRST_ANNOTATION 64

/* Bits in flags of PROTECT. */
#define TRK_EVENT_FAILED   0x40u
#define TRK_EVENT_HOLD_END 0x80u
/* Bits in flags of HOST_PROTECT, beside the new rights and TRK_EVENT_FAILED. */
#define TRK_EVENT_FORMER_SHIFT 3
#define TRK_EVENT_HAS_FORMER   0x80u

/* Host and guest rights. Write without read does not exist on x86-64. */
#define TRK_RIGHT_READ  1u
#define TRK_RIGHT_WRITE 2u
#define TRK_RIGHT_EXEC  4u
#define TRK_RIGHTS_NONE 0u
#define TRK_RIGHTS_RW   (TRK_RIGHT_READ | TRK_RIGHT_WRITE)

/* Operations; in brackets what OP_END's argument holds. */
enum trk_op {
    TRK_OP_NONE = 0,
    TRK_OP_IS_CPU = 1, /* [0 or 1] */
    TRK_OP_IS_GPU = 2, /* [0 or 1] */
    TRK_OP_MARK_CPU = 3,
    TRK_OP_MARK_GPU = 4,
    TRK_OP_UNMARK_GPU = 5,
    TRK_OP_UNTRACK = 6,
    TRK_OP_UPLOAD = 7,      /* [ranges reported] */
    TRK_OP_DOWNLOAD = 8,    /* [ranges reported] */
    TRK_OP_DRAIN = 9,       /* [ranges reported] */
    TRK_OP_INVALIDATE = 10, /* [times the flush was called] */
    TRK_OP_REGISTER = 11,
    TRK_OP_UNREGISTER = 12,
    TRK_OP_GUEST_PROTECT = 13,
    TRK_OP_RESOURCE_LAYER = 14,
    TRK_OP_WATCH = 15,
    TRK_OP_UNWATCH = 16,
    TRK_OP_WATCH_MASK = 17,
    TRK_OP_UNWATCH_MASK = 18,
    TRK_OP_FAULT = 19, /* [enum trk_fault_outcome] */
    TRK_OP_LOCK = 20,
    TRK_OP_UNLOCK = 21,
    TRK_OP_JOIN_VIEWS = 22, /* OPERAND: the other view's guest_addr */
    TRK_OP_LEAVE_VIEW = 23,
    TRK_OP_GEN_TRACK = 24, /* [the fold; 0: nothing is tracked] */
    TRK_OP_GEN_QUERY = 25, /* [the fold; 0: a page is not registered] */
    TRK_OP_GEN_NOTIFY = 26,
    TRK_OP_GEN_MAP = 27,   /* OPERAND: the physical offset [1: the view was kept] */
    TRK_OP_HLE_WRITE = 28, /* [1: written, 0: denied] */
    TRK_OP_COUNT = 29,
};

#define TRK_OP_FLAG_WRITTEN 1u /* upload */
#define TRK_OP_FLAG_CLEAR   2u /* download */
#define TRK_OP_FLAG_READ    4u /* watch_mask, unwatch_mask: read watches, else write watches */
#define TRK_OP_FLAG_FLUSH                                                                          \
    8u /* invalidate: a flush callback was given; resource_layer: likewise                         \
        */
#define TRK_OP_FLAG_READ_BACK 16u /* resource_layer: a read-back callback was given */

enum trk_callback {
    TRK_CALLBACK_COMPLETION = 1,
    TRK_CALLBACK_FLUSH = 2,
    TRK_CALLBACK_READ_BACK = 3,
    TRK_CALLBACK_WRITE = 4, /* hle_write: the owner's own write */
};

enum trk_access {
    TRK_ACCESS_READ = 0,
    TRK_ACCESS_WRITE = 1,
    TRK_ACCESS_EXECUTE = 2,
};

/* What the first look of the fault handler found. */
enum trk_fault_look {
    TRK_LOOK_CLOSED = 0,    /* the host page is closed and the guest's rights allow: go on */
    TRK_LOOK_PERMITTED = 1, /* the host page permits the access now: retry */
    TRK_LOOK_FORBIDDEN = 2, /* the guest's own rights forbid the access */
    TRK_LOOK_UNKNOWN = 3,   /* no region: not ours */
};

enum trk_fault_outcome {
    TRK_FAULT_UNHANDLED = 0,
    TRK_FAULT_SERVED = 1, /* state changed; run the access again */
    TRK_FAULT_RETRY = 2,  /* another thread had served it; run the access again */
};

enum trk_copy {
    TRK_COPY_UP = 0,   /* guest memory to the GPU's copy */
    TRK_COPY_DOWN = 1, /* the GPU's copy to guest memory */
};

/* Classes of lock domains, in lock order. */
enum trk_domain_class {
    TRK_DOMAIN_REGION = 1,
    TRK_DOMAIN_GENERATIONS = 2,
    TRK_DOMAIN_PAGES = 3,
    TRK_DOMAIN_ADDRESS_SPACE = 4,
    TRK_DOMAIN_OWNER = 5, /* a lock of a foreign tracker; the number is its owner's */
};

/* The number that stands for all regions with pages that are shared between views. */
#define TRK_DOMAIN_SHARED 0xffffffu

/* A domain is a class (4 bits), a tracker's id (4 bits) and a region's number (24 bits). */
static inline uint32_t trk_domain(enum trk_domain_class domain_class, uint32_t tracker_id,
                                  uint32_t region)
{
    return ((uint32_t)domain_class << 28) | (tracker_id << 24) | region;
}

static inline enum trk_domain_class trk_domain_class(uint32_t domain)
{
    return (enum trk_domain_class)(domain >> 28);
}

static inline uint32_t trk_domain_tracker(uint32_t domain)
{
    return (domain >> 24) & 15u;
}

static inline uint32_t trk_domain_region(uint32_t domain)
{
    return domain & 0xffffffu;
}

/* The 64-bit size of the types that say "size", and setting it. */
static inline uint64_t trk_event_size(const struct trk_event *event)
{
    return (uint64_t)event->domain << 32 | event->seq;
}

static inline void trk_event_set_size(struct trk_event *event, uint64_t size_bytes)
{
    event->seq = (uint32_t)size_bytes;
    event->domain = (uint32_t)(size_bytes >> 32);
}

/* An event of a type, all else 0. */
static inline struct trk_event trk_event_of(enum trk_event_type type, uint64_t argument)
{
    struct trk_event event = {argument, 0, 0, 0, 0, (uint8_t)type, 0, 0};
    return event;
}

/* The 32-bit number kept in page and pages: a frame or a tick. */
static inline uint32_t trk_event_number32(const struct trk_event *event)
{
    return (uint32_t)event->pages << 16 | event->page;
}

/*
 * Whether the GPU, which has come to the tick `done` (0: nothing said so yet), has run one with
 * these low 32 bits. Nothing is in flight for 2^31 ticks.
 */
static inline bool trk_tick_has_run(uint32_t tick, uint64_t done)
{
    return done != 0 && (uint32_t)done - tick <= INT32_MAX;
}

static inline void trk_event_set_number32(struct trk_event *event, uint32_t number)
{
    event->page = (uint16_t)number;
    event->pages = (uint16_t)(number >> 16);
}

static inline bool trk_event_is_command(const struct trk_event *event)
{
    return event->type == TRK_EVENT_OP_BEGIN || event->type == TRK_EVENT_FAULT ||
           event->type == TRK_EVENT_MASK || event->type == TRK_EVENT_OPERAND ||
           event->type >= TRK_EVENT_FIRST_ANNOTATION;
}

/* Whether domain and seq name a hold. A FAULT over no live region (TRK_LOOK_UNKNOWN) is in none:
 * its domain has the tracker's id and class 0. */
static inline bool trk_event_in_hold(const struct trk_event *event)
{
    return (event->type >= TRK_EVENT_LOCK && event->type <= TRK_EVENT_WATCH) ||
           event->type == TRK_EVENT_STATE ||
           (event->type == TRK_EVENT_FAULT && event->domain >> 28 != 0);
}

/* Whether the hold ends with this event. */
static inline bool trk_event_ends_hold(const struct trk_event *event)
{
    return event->type == TRK_EVENT_UNLOCK || event->type == TRK_EVENT_WATCH ||
           (event->type == TRK_EVENT_FAULT && event->domain >> 28 != 0) ||
           (event->type == TRK_EVENT_PROTECT && (event->flags & TRK_EVENT_HOLD_END));
}

/**
 * Names as they stand in dumps and reports ("lock", "upload", "completion" ...); "?" if unknown.
 *
 * Allocates: no. Blocks: no. Signal-safe: yes. Threads: any.
 */
const char *trk_event_type_name(uint8_t type);
const char *trk_op_name(uint16_t op);

TRK_EXTERN_C_END

#endif
