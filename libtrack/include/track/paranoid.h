/*
 * Paranoid mode: find stores that nobody saw.
 *
 * The tracker calls a page clean when the GPU's copy is current and the next store would fault.
 * This holds a hash of the bytes of clean pages against them again at uploads, changes of the
 * guest's rights, draws and the ends of frames: where they differ while the page is still clean,
 * somebody wrote past the tracker, through a view that it does not know, from the kernel, or to a
 * page that is open in spite of its watch. It tells that somebody did, not who.
 *
 * It listens to the tracker as its observer and hands all events on. Only a sample of the pages is
 * looked at each time, another one each frame, so that all have their turn. What is said is
 * certain; what is not seen is not: two stores that cancel out, a store to a page whose turn has
 * not come before its next upload, and a page that an operation is about at the time.
 */
#ifndef TRACK_PARANOID_H
#define TRACK_PARANOID_H

#include <stddef.h>
#include <stdint.h>

#include "track/tracker.h"

TRK_EXTERN_C_BEGIN

struct trk_paranoid;

enum trk_paranoid_moment {
    TRK_PARANOID_UPLOAD = 0,  /* an upload of the page begins, has taken its bytes, or ends */
    TRK_PARANOID_DRAW = 1,    /* the GPU is about to read the page */
    TRK_PARANOID_FRAME = 2,   /* a frame has ended */
    TRK_PARANOID_PROTECT = 3, /* the guest's rights to the page are about to change */
};

struct trk_paranoid_finding {
    uint64_t guest_addr; /* of the page */
    uint64_t known_hash; /* of its bytes when it was clean and as the tracker thinks they are */
    uint64_t seen_hash;
    enum trk_paranoid_moment moment;
};

/* The bytes of a page, readable whatever the tracker has closed; NULL: cannot be had. */
typedef const void *trk_paranoid_bytes_fn(void *context, uint64_t page_addr);
/* Called on the thread that looked, with no lock held. Each difference is told once. */
typedef void trk_paranoid_finding_fn(void *context, const struct trk_paranoid_finding *finding);

/* Nanoseconds from any moment on. */
typedef uint64_t trk_paranoid_clock_fn(void);

struct trk_paranoid_options {
    size_t size;                  /* sizeof(struct trk_paranoid_options) */
    uint32_t one_in;              /* of so many pages one is looked at each time; 1: all */
    struct trk_observer observer; /* gets every event too */
    trk_paranoid_bytes_fn *bytes;
    trk_paranoid_finding_fn *finding;
    void *context;                 /* of both */
    trk_paranoid_clock_fn *now_ns; /* NULL: the cost is not measured */
};

struct trk_paranoid_counts {
    uint64_t compared; /* pages whose bytes were held against a known hash */
    uint64_t learned;  /* pages that a hash was taken of */
    uint64_t findings;
    uint64_t ns; /* spent with all that, by the owner's clock */
};

/**
 * Create; the tracker comes later, because it wants this one's observer.
 *
 * @return TRK_OK, TRK_E_ARGUMENT (options not usable), TRK_E_MEMORY.
 *
 * Allocates: yes. Signal-safe: no. Threads: any.
 */
TRK_MUST_USE enum trk_status trk_paranoid_create(struct trk_paranoid **out,
                                                 const struct trk_paranoid_options *options,
                                                 struct trk_error *error);

/* After the tracker. NULL is accepted. */
void trk_paranoid_destroy(struct trk_paranoid *paranoid);

/* The observer that the tracker is to have. Signal-safe, as observers are, but for uploads
 * and changes of the guest's rights. */
struct trk_observer trk_paranoid_observer(struct trk_paranoid *paranoid);

/* Whose pages they are. Before the first event; once. */
void trk_paranoid_watch(struct trk_paranoid *paranoid, const struct trk_tracker *tracker);

/*
 * The GPU is about to read these bytes; a frame has ended. Normal context, no operation of the
 * tracker in progress on this thread. Allocate: 8 KiB for a region's first page. Threads: any.
 */
void trk_paranoid_draw(struct trk_paranoid *paranoid, uint64_t guest_addr, uint64_t size_bytes);
void trk_paranoid_frame(struct trk_paranoid *paranoid);

struct trk_paranoid_counts trk_paranoid_counts(const struct trk_paranoid *paranoid);

TRK_EXTERN_C_END

#endif
