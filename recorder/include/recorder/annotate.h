/*
 * Annotations: what an emulator says of itself, beside what its tracker does.
 *
 * Each call fills one event as track/event.h lays it out. What all of them promise stands in
 * recorder/capture.h.
 */
#ifndef RECORDER_ANNOTATE_H
#define RECORDER_ANNOTATE_H

#include "recorder/capture.h"

TRK_EXTERN_C_BEGIN

/* The common form: an address, and a size of 64 bits. */
static inline struct trk_event trk_capture_ranged(enum trk_event_type type, uint64_t guest_addr,
                                                  uint64_t size_bytes)
{
    struct trk_event event = trk_event_of(type, guest_addr);
    trk_event_set_size(&event, size_bytes);
    return event;
}

/* Bytes move between guest memory and the GPU's copy. Around the real copy, for each run. */
static inline void trk_capture_copy(enum trk_event_type type, enum trk_copy direction,
                                    uint64_t guest_addr, uint64_t size_bytes, uint16_t resource)
{
    struct trk_event event = trk_capture_ranged(type, guest_addr, size_bytes);
    event.page = resource;
    event.context = (uint16_t)direction;
    trk_capture_event(&event);
}

static inline void trk_capture_copy_begin(enum trk_copy direction, uint64_t guest_addr,
                                          uint64_t size_bytes, uint16_t resource)
{
    if (trk_capture_listens())
        trk_capture_copy(TRK_EVENT_COPY_BEGIN, direction, guest_addr, size_bytes, resource);
}

static inline void trk_capture_copy_end(enum trk_copy direction, uint64_t guest_addr,
                                        uint64_t size_bytes, uint16_t resource)
{
    if (trk_capture_listens())
        trk_capture_copy(TRK_EVENT_COPY_END, direction, guest_addr, size_bytes, resource);
}

/*
 * The copy that has begun, and not ended, on this thread is between guest memory and an image
 * there. Linear rows, the first texel at guest_addr, size_bytes all rows; resource as given to the
 * copy.
 */
struct trk_capture_image {
    uint64_t guest_addr, size_bytes;
    uint16_t width, height; /* texels of a row, rows */
    uint8_t texel_bytes;
    uint16_t resource;
};

static inline void trk_capture_copy_image(const struct trk_capture_image *image)
{
    if (trk_capture_listens()) {
        struct trk_event event =
            trk_capture_ranged(TRK_EVENT_IMAGE, image->guest_addr, image->size_bytes);
        event.page = image->width;
        event.pages = image->height;
        event.flags = image->texel_bytes;
        event.context = image->resource;
        trk_capture_event(&event);
    }
}

/*
 * The contents of pages that go up, where the recording wants hashes of them (`trk record --payload
 * hash`); else nothing is looked at. Just before the copy, when the tracker has armed the pages, of
 * the guest's bytes; and behind it, of what was copied. Whole pages of the range only.
 */
void trk_capture_pages(enum trk_page_moment moment, uint64_t guest_addr, const void *bytes,
                       uint64_t size_bytes);

/* A draw or dispatch of submission `tick` writes or reads the GPU's copy of these bytes. */
static inline void trk_capture_gpu_write(uint64_t guest_addr, uint32_t size_bytes, uint32_t tick,
                                         uint32_t stamp)
{
    if (trk_capture_listens()) {
        struct trk_event event = trk_event_of(TRK_EVENT_GPU_WRITE, guest_addr);
        event.seq = size_bytes;
        event.domain = stamp;
        trk_event_set_number32(&event, tick);
        trk_capture_event(&event);
    }
}

static inline void trk_capture_gpu_read(uint64_t guest_addr, uint32_t size_bytes, uint32_t tick)
{
    if (trk_capture_listens()) {
        struct trk_event event = trk_event_of(TRK_EVENT_GPU_READ, guest_addr);
        event.seq = size_bytes;
        trk_event_set_number32(&event, tick);
        trk_capture_event(&event);
    }
}

/*
 * A compute dispatch of submission `tick`: the next `accesses` calls of the two above, on this
 * thread, say what it writes and reads. shader: a number of the owner's, 0: none.
 */
static inline void trk_capture_dispatch(uint32_t accesses, uint32_t tick, uint16_t shader)
{
    if (trk_capture_listens()) {
        struct trk_event event = trk_event_of(TRK_EVENT_DISPATCH, accesses);
        event.context = shader;
        trk_event_set_number32(&event, tick);
        trk_capture_event(&event);
    }
}

/* An event with nothing but a number. */
static inline void trk_capture_number(enum trk_event_type type, uint64_t number)
{
    if (trk_capture_listens()) {
        struct trk_event event = trk_event_of(type, number);
        trk_capture_event(&event);
    }
}

/* Submission `tick`, and all before it, have run. */
static inline void trk_capture_gpu_complete(uint64_t tick)
{
    trk_capture_number(TRK_EVENT_GPU_COMPLETE, tick);
}

/* Address space, for owners that do not tell the tracker itself. rights: TRK_RIGHT_*. */
static inline void trk_capture_guest_protect(uint64_t guest_addr, uint64_t size_bytes,
                                             unsigned rights)
{
    if (trk_capture_listens()) {
        struct trk_event event =
            trk_capture_ranged(TRK_EVENT_GUEST_PROTECT, guest_addr, size_bytes);
        event.context = (uint16_t)rights;
        trk_capture_event(&event);
    }
}

/* A view of frame `frame` (number of its first page in the backing object); map_flags TRK_MAP_*. */
static inline void trk_capture_map(uint64_t guest_addr, uint64_t size_bytes, uint32_t frame,
                                   unsigned rights, unsigned map_flags)
{
    if (trk_capture_listens()) {
        struct trk_event event = trk_capture_ranged(TRK_EVENT_MAP, guest_addr, size_bytes);
        event.flags = (uint8_t)map_flags;
        event.context = (uint16_t)rights;
        trk_event_set_number32(&event, frame);
        trk_capture_event(&event);
    }
}

static inline void trk_capture_unmap(uint64_t guest_addr, uint64_t size_bytes)
{
    if (trk_capture_listens()) {
        struct trk_event event = trk_capture_ranged(TRK_EVENT_UNMAP, guest_addr, size_bytes);
        trk_capture_event(&event);
    }
}

/* Somebody asked for an invalidate of exactly this range, with this outcome. */
static inline void trk_capture_invalidate_request(uint64_t guest_addr, uint64_t size_bytes,
                                                  enum trk_request_outcome outcome)
{
    if (trk_capture_listens()) {
        struct trk_event event =
            trk_capture_ranged(TRK_EVENT_INVALIDATE_REQUEST, guest_addr, size_bytes);
        event.context = (uint16_t)outcome;
        trk_capture_event(&event);
    }
}

/* Frame `number` starts. */
static inline void trk_capture_frame(uint64_t number)
{
    if (trk_capture_listens()) {
        struct trk_event event = trk_event_of(TRK_EVENT_FRAME, number);
        if (TRK_LOAD_RELAXED(&trk_capture_trusts_less) != 0)
            trk_capture_trust_frame(number);
        trk_capture_event(&event);
    }
}

/*
 * Witnesses: a store that certainly happened, and bytes that were certainly seen. A stamp names a
 * content: not 0, and greater for a later store to the same bytes. stamp 0 in a check: the bytes
 * belong to no known stamp (torn, or foreign).
 */
static inline void trk_capture_witness(enum trk_event_type type, enum trk_agent agent,
                                       uint64_t guest_addr, uint32_t size_bytes, uint32_t stamp)
{
    struct trk_event event = trk_event_of(type, guest_addr);
    event.seq = size_bytes;
    event.domain = stamp;
    event.flags = (uint8_t)agent;
    trk_capture_event(&event);
}

static inline void trk_capture_witness_store(enum trk_agent agent, uint64_t guest_addr,
                                             uint32_t size_bytes, uint32_t stamp)
{
    if (trk_capture_listens())
        trk_capture_witness(TRK_EVENT_WITNESS_STORE, agent, guest_addr, size_bytes, stamp);
}

static inline void trk_capture_witness_check(enum trk_agent agent, uint64_t guest_addr,
                                             uint32_t size_bytes, uint32_t stamp)
{
    if (trk_capture_listens())
        trk_capture_witness(TRK_EVENT_WITNESS_CHECK, agent, guest_addr, size_bytes, stamp);
}

/*
 * Somebody writes or reads bytes that nobody can put a stamp on: the kernel in a system call,
 * another process, a device. Just after a write, just before a read.
 */
static inline void trk_capture_access(enum trk_agent agent, enum trk_access access,
                                      uint64_t guest_addr, uint64_t size_bytes)
{
    if (trk_capture_listens()) {
        struct trk_event event = trk_capture_ranged(TRK_EVENT_ACCESS, guest_addr, size_bytes);
        event.flags = (uint8_t)agent;
        event.context = (uint16_t)access;
        trk_capture_event(&event);
    }
}

/*
 * An object of the owner's (a buffer, an image) lies over these bytes from now on, or no more. The
 * number is the owner's, and the one that trk_capture_copy_begin takes as resource; not 0.
 */
static inline void trk_capture_object(enum trk_object_change change, uint16_t object,
                                      uint64_t guest_addr, uint64_t size_bytes)
{
    if (trk_capture_listens()) {
        struct trk_event event = trk_capture_ranged(TRK_EVENT_OBJECT, guest_addr, size_bytes);
        event.page = object;
        event.context = (uint16_t)change;
        trk_capture_event(&event);
    }
}

/*
 * More of the change of an object that was just noted: a number that is no other object's, ever;
 * how many of its bytes are watched; and why it was changed or is gone.
 */
static inline void trk_capture_object_detail(uint16_t object, uint64_t serial,
                                             uint64_t watched_bytes, enum trk_object_reason reason)
{
    if (trk_capture_listens()) {
        struct trk_event event = trk_capture_ranged(TRK_EVENT_OBJECT_DETAIL, serial, watched_bytes);
        event.page = object;
        event.context = (uint16_t)reason;
        trk_capture_event(&event);
    }
}

/*
 * What became of the access, copy or mapping that this thread noted last: the bytes that were asked
 * for, those that were done, and 0 or the errno.
 */
static inline void trk_capture_result(enum trk_result_of of, uint64_t asked_bytes,
                                      uint64_t done_bytes, int os_errno)
{
    if (trk_capture_listens()) {
        struct trk_event event = trk_capture_ranged(TRK_EVENT_RESULT, asked_bytes, done_bytes);
        event.flags = (uint8_t)of;
        event.context = (uint16_t)os_errno;
        trk_capture_event(&event);
    }
}

/* A text for an object, or, with object 0, for this place. Cut at TRK_LABEL_BYTES_MAX bytes. */
TRK_SELDOM_CALLED void trk_capture_label_text(uint16_t object, const char *text);
static inline void trk_capture_label(uint16_t object, const char *text)
{
    if (trk_capture_listens())
        trk_capture_label_text(object, text);
}

/*
 * Order between threads that the program itself makes (mutexes, barriers, queues): what a thread
 * did before signal(timeline, value) is ordered before what another does after await(timeline,
 * value). Call signal just before the real release and await just after the real acquire. One
 * timeline has one signalling thread at a time and growing values; a number below 2^24 names it.
 */
static inline void trk_capture_edge(enum trk_event_type type, uint32_t timeline, uint64_t value)
{
    struct trk_event event = trk_event_of(type, value);
    event.domain = timeline;
    trk_capture_event(&event);
}

static inline void trk_capture_signal(uint32_t timeline, uint64_t value)
{
    if (trk_capture_listens())
        trk_capture_edge(TRK_EVENT_SIGNAL, timeline, value);
}

static inline void trk_capture_await(uint32_t timeline, uint64_t value)
{
    if (trk_capture_listens())
        trk_capture_edge(TRK_EVENT_AWAIT, timeline, value);
}

/* A number of the owner's choosing. */
static inline void trk_capture_mark(uint64_t number)
{
    trk_capture_number(TRK_EVENT_MARK, number);
}

TRK_EXTERN_C_END

#endif
