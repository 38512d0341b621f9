/*
 * A tracker as a plug-in: what `trk sim --core X.so` and `trk core-check X.so` load.
 *
 * A shared object gives one function, trk_core_plugin(). It gets a table of what the host does for
 * it and gives a table of what its tracker can do. The host runs traces and scenario files against
 * that instead of its own core: it carries the operations out, plays the guest, the GPU and the
 * kernel, and judges what comes out. No library of ours is linked, and
 * core_plugin.hpp makes a table out of a C++ class.
 *
 * Glossary
 *   page      4 KiB of the host, or the tracker's own larger page, a multiple of that
 *   run       a maximal range of neighbouring pages that an iterator reports
 *   owner     of a tracker: whoever created it, here the host
 *   thread    a simulated one: many run on one thread of the process, one at a time
 *
 * How the host's threads run. Each simulated thread has a stack of 512 KiB and is switched away
 * from in functions of the host only. A tracker that takes all its locks through the host
 * (TRK_CORE_LOCKS) is tried inside its operations: before each lock, around each host call, before
 * callbacks. All others are tried operation by operation: nothing else enters the tracker while one
 * is inside it, and reports say so. thread_local variables are shared by all simulated threads;
 * host->self() tells them apart.
 *
 * Where the host tries many orders it starts again from the beginning each time: it creates a new
 * tracker and does the same operations, so the same calls have to give the same answers. A tracker
 * whose threads stand in the middle of operations then is not destroyed, but forgotten. Only a
 * tracker that gives its state as bytes (trk_core_state) is taken back without that.
 *
 * A crash, an endless loop or exit() of a plug-in ends its process, which is not the host's: that
 * becomes a part of the report.
 *
 * All addresses are guest addresses, all sizes bytes. Ranges have any alignment unless said
 * otherwise. Each struct begins with its size: a reader looks at no field behind that.
 */
#ifndef SIMULATOR_CORE_PLUGIN_H
#define SIMULATOR_CORE_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "track/macros.h"

TRK_EXTERN_C_BEGIN

/* Raised by every change that an older host or plug-in cannot live with. */
#define TRK_CORE_ABI 1u

/* What trk_core_plugin() is called in the shared object. */
#define TRK_CORE_SYMBOL "trk_core_plugin"

/* What an operation came to. Values below 16 are refusals of the model: tell them by fail(), too,
 * and leave everything as it was. */
enum trk_core_status {
    TRK_CORE_OK = 0,
    TRK_CORE_RANGE = 1,        /* empty, wraps, or outside the tracked addresses */
    TRK_CORE_REENTRY = 2,      /* called from inside an upload callback of this tracker */
    TRK_CORE_CONFLICT = 3,     /* CPU and GPU would both own a page */
    TRK_CORE_RETAINED = 4,     /* a page stayed the GPU's through an invalidate's flush */
    TRK_CORE_UNTRACK = 5,      /* untrack over a page of the GPU's */
    TRK_CORE_LOCK = 6,         /* recursive, or given back by who has it not */
    TRK_CORE_WATCH = 7,        /* a watch count would leave its bounds */
    TRK_CORE_PROTECT = 8,      /* the host refused a protection call */
    TRK_CORE_LIVELOCK = 9,     /* no progress */
    TRK_CORE_ARGUMENT = 16,    /* not usable */
    TRK_CORE_MEMORY = 17,      /* out of memory */
    TRK_CORE_UNSUPPORTED = 19, /* not there: this policy, this range */
};

/* Rights of a page, bits. */
enum trk_core_right {
    TRK_CORE_READ = 1,
    TRK_CORE_WRITE = 2,
    TRK_CORE_EXECUTE = 4,
};

/* What became of a fault. */
enum trk_core_fault {
    TRK_CORE_UNHANDLED = 0, /* not the tracker's */
    TRK_CORE_SERVED = 1,    /* run the access again */
    TRK_CORE_RETRY = 2,     /* the same; nothing had to be done */
};

/* Where trackers differ; docs/model.md says what the values mean. */
struct trk_core_policy {
    size_t size;
    uint32_t invalidate; /* 0 verify, 1 strict, 2 per region */
    uint32_t download;   /* 0 a region at a time, 1 all regions first */
    uint32_t arena;      /* 0 low and extended addresses, 1 low ones only */
    uint32_t fault_width_bytes;
    uint32_t page_size_bytes;
    uint32_t generations; /* 1: generations of 16 KiB pages are wanted */
};

/* ---- what the host does ---------------------------------------------------------------------- */

/*
 * For the whole plug-in. The pointer given to trk_core_plugin() stays good.
 *
 * A lock is a word of the plug-in's, 0 when free. Taking it: call lock(&word), which comes back
 * when the word is 0, and write self() into it at once. Giving it back: call unlock(&word), then
 * write 0; a word that is 0 already is told of as a fault of the plug-in.
 */
struct trk_core_host {
    size_t size;
    uint32_t abi; /* TRK_CORE_ABI of the host */
    void (*lock)(const uint32_t *word);
    void (*unlock)(const uint32_t *word);
    /* Others may run now, if the tracker is tried inside its operations. */
    void (*yield)(void);
    /* The running thread's number, from 1. */
    uint32_t (*self)(void);
    /* For trackers with trk_core_state, about memory that threads share: a word is about to be
     * read (0) or changed (1) under its lock, read (2) or set for good (3) without one; a region's
     * watches are about to change, or are looked at without a lock. Others need not call them. */
    void (*word)(const void *word, uint32_t access);
    void (*pages)(const void *region, bool change);
    /* The tracker itself is at fault, and of this run nothing counts; the text goes into the
     * report. Not there in hosts whose size ends before it. */
    void (*complain)(const char *text);
};

struct trk_event;    /* track/event.h */
struct trk_mappings; /* track/backend.h */

/* Of one tracker. The struct stays good until the tracker is destroyed. */
struct trk_core_owner {
    size_t size;
    void *context; /* given to all of these */
    /* One host protection call, of whole 4 KiB pages: 0, or an errno value and nothing changed. */
    int (*protect)(void *context, uint64_t guest_addr, uint64_t size_bytes, uint32_t rights);
    /* An operation is refused (below 16). May not come back: hold nothing that must be given back.
     */
    void (*fail)(void *context, uint32_t status, uint64_t guest_addr, const char *text);
    /* For fault(), with no lock held. Bring the range's GPU bytes home and hand the pages to the
     * CPU (before a store), or leave them clean (before a load): the host downloads. */
    void (*flush)(void *context, uint64_t guest_addr, uint64_t size_bytes);
    void (*read_back)(void *context, uint64_t guest_addr, uint64_t size_bytes);
    /* For trackers with TRK_CORE_EVENTS: an event, and that a lock is about to be waited for. */
    void (*event)(void *context, const struct trk_event *event);
    void (*wait)(void *context, uint32_t domain);
    uint32_t number;    /* of the tracker, in events */
    bool counts_faults; /* the owner looks for livelocks of faults itself */
    bool separate_runs; /* protection calls of unlike pages are not joined */
    /* For trackers with TRK_CORE_EVENTS: the recorded host's limits, NULL: none. */
    struct trk_mappings *mappings;
};

/* ---- what the tracker can do ----------------------------------------------------------------- */

typedef void trk_core_range_fn(void *context, uint64_t guest_addr, uint64_t size_bytes);
typedef void trk_core_done_fn(void *context);

struct trk_core_transfer {
    size_t size;
    uint64_t guest_addr;
    uint64_t size_bytes;
    bool written;             /* upload: the pages become the GPU's as a whole */
    bool clear;               /* download: reported pages become clean */
    trk_core_range_fn *range; /* NULL: nobody wants the runs */
    trk_core_done_fn *done;   /* upload: once, after the last run, unless refused; NULL: nothing */
    void *context;
};

/* All that the tracker knows of one page. */
struct trk_core_page {
    bool cpu_dirty; /* guest memory is newer: not watched */
    bool gpu_dirty; /* the GPU's copy is newer */
    bool registered;
    bool armed; /* generations wait for the next store */
    uint32_t write_watches;
    uint32_t read_watches;
    uint32_t guest_rights;
    uint32_t host_rights; /* what the host was last told; told otherwise: a fault of the plug-in */
};

/* A tracker's state as bytes, so that it can be put back; and names for its locks and words. The
 * functions are those of track/sim_build.h, which says what each does. */
struct trk_core_state {
    size_t size;
    uint32_t (*lock_kind)(const void *tracker, const uint32_t *word, uint32_t *region);
    bool (*pages_held)(const void *tracker, uint32_t region);
    bool (*watches_over)(const void *tracker, uint32_t region, uint32_t word);
    uint64_t (*word_name)(const void *tracker, const void *word);
    bool (*word_held)(const void *tracker, const void *word, uint32_t thread);
    bool (*pages_owned)(const void *tracker, const void *region, uint32_t thread);
    uint64_t (*lock_digest)(const void *tracker, const uint32_t *word, const uint32_t *regions,
                            size_t count);
    uint64_t (*live_digest)(const void *tracker, const uint32_t *regions, size_t count);
    bool (*ready)(void *tracker);
    void (*pieces)(void *tracker, const uint32_t *regions, size_t count,
                   void (*piece)(void *context, void *memory, size_t size_bytes), void *context);
    void (*forget)(void *tracker, const uint32_t *regions, size_t count);
    void *(*restore_begin)(void *tracker);
    void (*restore_end)(void *tracker, void *begun);
    /* Whether a region was met by an operation, for re-executing traces; set_met changes that. */
    bool (*met)(const void *tracker, uint64_t guest_addr);
    void (*set_met)(void *tracker, uint64_t guest_addr, bool met);
};

/* Bits of trk_core_table.features. */
enum trk_core_feature {
    TRK_CORE_LOCKS = 1,  /* all locks are taken through the host, or there are none */
    TRK_CORE_EVENTS = 2, /* everything is told by owner->event as libtrack does */
    /* Pages of the GPU's stay open to loads: its owner brings the bytes home where the guest may
     * look at them. So an open page is no fault; a load that sees old bytes still is. core-check
     * leaves out the cases in which a load has to fault. */
    TRK_CORE_OPEN_LOADS = 4,
    /* Each page has a lock of its own: operations on unlike pages never wait for each other, and a
     * page's protection is changed under its lock. So that some wait is not asked of it; with
     * TRK_CORE_LOCKS, one that does otherwise is told as a fault of the plug-in. */
    TRK_CORE_PAGE_LOCKS = 8,
    /* Watches of clients are counted apart from the tracker's own, and cannot take that one. */
    TRK_CORE_OWN_WATCHES = 16,
};

/* What a tracker's memory of a simulated thread may take. */
#define TRK_CORE_THREAD_BYTES 128u

/*
 * The operations. Those without "optional" must be there; an optional one may be NULL, which means
 * that the tracker has no such thing: cases that need it are left out, unless a way around is
 * given here. Operations may be called from inside callbacks, as an emulator would.
 */
struct trk_core_table {
    size_t size;
    uint32_t abi;      /* TRK_CORE_ABI */
    uint32_t features; /* enum trk_core_feature */
    const char *name;  /* a word, for reports; not NULL */
    const char *build; /* what tells builds apart; not NULL */

    /* A tracker in which all memory is the CPU's. TRK_CORE_UNSUPPORTED: not with this policy; then
     * cases with that policy are left out. */
    enum trk_core_status (*create)(void **out, const struct trk_core_policy *policy,
                                   const struct trk_core_owner *owner);
    void (*destroy)(void *tracker);
    /* A page as it is now. The host looks whenever it wants to, also inside callbacks of the
     * tracker: takes no lock (nothing else runs meanwhile), calls nobody, changes nothing. */
    void (*page)(void *tracker, uint64_t guest_addr, struct trk_core_page *out);
    /* A guest access faulted at this byte, of registered memory. */
    enum trk_core_fault (*fault)(void *tracker, uint64_t guest_addr, bool store);

    /* Take the range's CPU pages: clear, close, report each run, then done(). */
    enum trk_core_status (*upload)(void *tracker, const struct trk_core_transfer *upload);
    /* Report the range's GPU pages, which stay closed meanwhile. */
    enum trk_core_status (*download)(void *tracker, const struct trk_core_transfer *download);
    /* Give a range to the CPU; flush, with no lock held, when a page is the GPU's. */
    enum trk_core_status (*invalidate)(void *tracker, uint64_t guest_addr, uint64_t size_bytes,
                                       trk_core_range_fn *flush, void *context);

    /* Optional. Download with clear, and each page goes on to the CPU. NULL: the host downloads
     * with clear and marks the reported runs as the CPU's; needs mark_cpu. */
    enum trk_core_status (*drain)(void *tracker, const struct trk_core_transfer *drain);
    /* Optional: whether a page of the range is the CPU's, the GPU's. */
    enum trk_core_status (*is_cpu)(void *tracker, uint64_t guest_addr, uint64_t size_bytes,
                                   bool *out);
    enum trk_core_status (*is_gpu)(void *tracker, uint64_t guest_addr, uint64_t size_bytes,
                                   bool *out);
    /* Optional: changes of page states. */
    enum trk_core_status (*mark_cpu)(void *tracker, uint64_t guest_addr, uint64_t size_bytes);
    enum trk_core_status (*mark_gpu)(void *tracker, uint64_t guest_addr, uint64_t size_bytes);
    enum trk_core_status (*unmark_gpu)(void *tracker, uint64_t guest_addr, uint64_t size_bytes);
    enum trk_core_status (*untrack)(void *tracker, uint64_t guest_addr, uint64_t size_bytes);
    /* Optional: bytes are, or are no longer, mapped for the GPU. NULL: all that the host registers
     * is taken as told; faults elsewhere never come. */
    enum trk_core_status (*register_bytes)(void *tracker, uint64_t guest_addr, uint64_t size_bytes);
    enum trk_core_status (*unregister_bytes)(void *tracker, uint64_t guest_addr,
                                             uint64_t size_bytes);
    /* Optional: the guest's own rights. NULL: cases with other rights than rw are left out. */
    enum trk_core_status (*guest_rights)(void *tracker, uint64_t guest_addr, uint64_t size_bytes,
                                         uint32_t rights);
    /* Optional: the lock of an address by hand. */
    enum trk_core_status (*lock)(void *tracker, uint64_t guest_addr);
    enum trk_core_status (*unlock)(void *tracker, uint64_t guest_addr);
    /* Optional: watches of further clients, on ranges or on a mask of 1024 pages of 4 KiB. */
    enum trk_core_status (*watch)(void *tracker, uint64_t guest_addr, uint64_t size_bytes,
                                  bool add);
    enum trk_core_status (*watch_mask)(void *tracker, uint64_t base, const uint64_t mask[16],
                                       bool read, bool add);
    /* Optional: ranges show the same bytes; a range does no longer. */
    enum trk_core_status (*join_views)(void *tracker, uint64_t guest_addr, uint64_t other_addr,
                                       uint64_t size_bytes);
    enum trk_core_status (*leave_view)(void *tracker, uint64_t guest_addr, uint64_t size_bytes);
    /* Optional: the emulator's own checked write: range is called once and writes, unless the
     * guest's own rights deny it. NULL: the host invalidates and writes. */
    enum trk_core_status (*hle_write)(void *tracker, const struct trk_core_transfer *write,
                                      bool *written);
    /* Optional: generations. */
    enum trk_core_status (*gen_track)(void *tracker, uint64_t guest_addr, uint64_t size_bytes,
                                      uint64_t *out);
    enum trk_core_status (*gen_query)(void *tracker, uint64_t guest_addr, uint64_t size_bytes,
                                      uint64_t *out);
    enum trk_core_status (*gen_notify)(void *tracker, uint64_t guest_addr, uint64_t size_bytes);
    enum trk_core_status (*gen_map)(void *tracker, uint64_t guest_addr, uint64_t size_bytes,
                                    uint64_t physical_offset, uint32_t rights);
    /* Optional: which of the owner's flush and read_back there are from now on. NULL, or not
     * called: both. */
    void (*layer)(void *tracker, bool flush, bool read_back);
    /* Optional: how many watches there are in all. */
    uint64_t (*live_watches)(void *tracker);
    /* Optional: the process acts as this thread from now on; memory is TRK_CORE_THREAD_BYTES of the
     * thread's, zeroed before the first time. NULL: as nobody's. */
    void (*thread)(void *memory, uint32_t number);
    /* Optional: a digest of all that the tracker knows, equal only where everything to come is
     * equal. With it known states are searched once when orders are tried. */
    uint64_t (*digest)(void *tracker);
    /* Optional; see there. */
    const struct trk_core_state *state;
};

/**
 * Give the plug-in's table; it stays good.
 *
 * @return NULL: not with this host.
 *
 * Threads: called once, before anything else.
 */
typedef const struct trk_core_table *trk_core_plugin_fn(const struct trk_core_host *host);

/* The function itself: what the plug-in defines, and the host never links. */
#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
const struct trk_core_table *
trk_core_plugin(const struct trk_core_host *host);

TRK_EXTERN_C_END

#endif
