/*
 * A trace as a program: what its threads did to a few neighbouring pages.
 *
 * Glossary
 *   focus   the pages that a projection keeps; everything else is left out
 *   item    one step of a thread that concerns the focus: an operation of a scenario, or the
 *           opening or closing one around nested ones
 *   quiet   nothing that concerns the focus is under way in any thread; a window may begin there
 *   silent  what stands inside an operation that a scenario carries out by itself (the flush of a
 *           fault, the copies of a drain): it is not an item
 *   asked   a thread that does another's flush for it, because that one asked and waits
 *
 * The events go through the projection in canonical order, beside their re-execution, which says in
 * which state each page is and which events are ordered before which.
 */
#ifndef SIMULATOR_EXPLORE_ITEMS_H
#define SIMULATOR_EXPLORE_ITEMS_H

#include "run.h"
#include "scenario_program.h"

#define EXPLORE_PAGES_MOST  UINT32_C(16)
#define EXPLORE_ITEMS_MOST  (UINT32_C(1) << 18)  /* of one focus */
#define EXPLORE_CLOCK_MOST  (UINT64_C(32) << 20) /* numbers in the clocks of one focus */
#define EXPLORE_NEST_MOST   16u
#define EXPLORE_VIEWS_MOST  64u
#define EXPLORE_ASKING_MOST 64u

enum item_kind {
    ITEM_LEAF,
    ITEM_OPEN, /* with nested operations until its ITEM_CLOSE */
    ITEM_CLOSE,
    ITEM_COPIED,  /* the bytes of a range were copied by an operation; no operation itself */
    ITEM_BARRIER, /* what no scenario can say: a window ends before it and begins behind it */
};

struct item {
    uint64_t event; /* that began it */
    uint64_t last;  /* that ended it; of ITEM_OPEN the one that began it */
    uint64_t guest_addr, size_bytes;
    uint64_t mask;   /* watch_mask: pages of the focus */
    size_t clock;    /* place in the projection's clocks: what is ordered before it */
    uint64_t forgot; /* order among events before this one may be missing; 0: none is */
    uint32_t stream;
    uint32_t outer; /* the ITEM_OPEN around it, and of ITEM_CLOSE its own; SCENARIO_NONE */
    uint32_t start; /* state of the pages before it, where it is quiet; else SCENARIO_NONE */
    uint32_t tick;  /* of GPU work; 0: not known */
    uint32_t stamp; /* stored, or seen by a read; 0: not known */
    uint32_t drops; /* of its reported ranges, so many were not copied */
    unsigned rights;
    enum scenario_verb verb;
    uint8_t kind;
    bool in_range;       /* in the range callback of what is around it */
    bool conditional;    /* ITEM_OPEN: what is nested runs only if something is there to flush */
    bool flushed;        /* conditional: it ran, and what it did is nested */
    bool no_flush;       /* the flush of its fault brought nothing home */
    bool no_copy_braces; /* an invalidate without a flush: braces stay empty */
    bool removed;
    bool delayed; /* work of the GPU that was copied from before it had run */
    bool shared;  /* the pages are shown in other tracked places, too */
    bool late;    /* a store that a copy has seen already */
    bool written, clear, read_watch;
    bool faulted; /* an access */
    bool idle;    /* a transfer that reported nothing, and changed nothing */
};

/* What init must reach: a page of the focus. */
struct page_start {
    bool cpu_dirty, gpu_dirty, registered, armed;
    uint8_t write_watches, rights;
    bool read_watch;
};

struct start {
    struct page_start pages[EXPLORE_PAGES_MOST];
};

/* A public operation or fault under way, of any range. */
struct frame {
    uint64_t event;
    uint64_t fault_addr;
    uint32_t item;   /* its leaf or opening; SCENARIO_NONE */
    uint32_t ranges; /* of the focus, reported; and copied in their callbacks, and later */
    uint32_t copied, copied_late;
    uint64_t to_copy_bytes; /* of the newest range */
    uint16_t op;
    uint8_t access, callback; /* enum trk_callback; 0: none yet */
    bool concerns, silent, in_range;
    bool asked, brought_home; /* its flush asked another thread; something came home */
};

/* An access that faulted and has not been witnessed yet. */
struct pending {
    bool on;
    uint8_t access;
    uint32_t item; /* stands where the access began */
    uint64_t guest_addr;
};

/* What took a page from the CPU last: an event of a stream; 0 : nothing yet. */
struct taking {
    uint64_t event;
    uint32_t stream;
};

/* One stream's part of a projection. */
struct lane {
    struct frame frames[EXPLORE_NEST_MOST];
    uint32_t depth;
    struct pending pending;
    uint64_t mask[TRK_REGION_WORDS];
    uint64_t operand;
    size_t clock;          /* of its newest item; SIZE_MAX: none */
    uint32_t delayed_tick; /* of its GPU work that was copied from too early; 0: none */
    bool held;             /* a region lock of the focus, by hand */
};

/* A view of a frame that nobody tracks: stores through it are stores past the tracker. */
struct side_view {
    uint64_t guest_addr, size_bytes, target_addr;
};

/* Inside a flush a thread signalled that it wants one, and waits. */
struct asking {
    uint32_t stream, timeline;
    uint64_t value;
    uint32_t server; /* the stream that has seen it; SCENARIO_NONE: none yet */
    uint32_t since;  /* items of the server from there on may answer it */
};

struct projection {
    struct run *run;
    uint64_t first_addr, end_addr; /* the focus */
    uint32_t page_count;
    uint32_t tracker; /* whose operations; SCENARIO_NONE until the first */
    uint32_t stream_count;
    struct lane *lanes;
    struct taking taken[EXPLORE_PAGES_MOST];
    uint32_t open; /* things under way that concern the focus */
    struct item *items;
    uint32_t count, capacity;
    uint64_t *clocks;
    size_t clock_count, clock_capacity;
    struct start *starts;
    uint32_t start_count, start_capacity;
    uint32_t quiet_start; /* the state now, when it is quiet; SCENARIO_NONE: not looked at */
    struct side_view views[EXPLORE_VIEWS_MOST];
    uint32_t view_count;
    uint64_t frame_first; /* frame of the first page of the focus */
    bool frames_known;
    struct asking asking[EXPLORE_ASKING_MOST];
    uint32_t asking_count;
    uint64_t completed; /* the newest tick that has run */
    bool shared;        /* pages of the focus have other tracked views */
    uint32_t kept;      /* items that were left when some were forgotten last */
    bool full;          /* items were left out behind some event */
    bool no_memory;
};

/* ---- explore_items.c ------------------------------------------------------------------------- */

enum trk_status projection_init(struct projection *projection, struct run *run, uint64_t guest_addr,
                                uint32_t pages);
void projection_deinit(struct projection *projection);

/* Take an event that the run has just executed. */
void projection_take(struct projection *projection, const struct trk_trace_event *event);
/* No more events: what is under way ends here. */
void projection_end(struct projection *projection);

/* A new item of the stream; NULL: none is taken any more. */
struct item *projection_add(struct projection *projection, uint32_t stream, uint64_t event,
                            enum item_kind kind, enum scenario_verb verb);
/* The part of a range inside the focus; false: none. */
bool projection_clip(const struct projection *projection, uint64_t *guest_addr,
                     uint64_t *size_bytes);
/* What is ordered before an item: of each stream 1 + the newest such event, 0 for none. */
const uint64_t *projection_clock(const struct projection *projection, const struct item *item);

/* Whether the operations are a foreign tracker's, and a plug-in is in force that may try them. */
bool projection_foreign(const struct projection *projection);
/* Whether it has items, and the state of its pages is certain before none of them. */
bool projection_unsettled(const struct projection *projection);

/* ---- explore_forget.c ------------------------------------------------------------------------ */

/* What a window is for that begins shortly before an event and has another one in it. */
struct forgetting {
    uint64_t before; /* what is over before it goes */
    uint64_t keep;   /* looks before this one go, and transfers that change nothing */
};

/* Where nothing is under way, forget what is not needed; now is the event just taken. */
void projection_forget(struct projection *projection, const struct forgetting *forgetting,
                       uint64_t now);

/* ---- explore_accesses.c ---------------------------------------------------------------------- */

/* A witness, a piece of GPU work, a copy. */
void projection_access(struct projection *projection, const struct trk_trace_event *event);
void projection_copy(struct projection *projection, const struct trk_trace_event *event);
void projection_copied(struct projection *projection, const struct trk_trace_event *event);
void projection_completed(struct projection *projection, const struct trk_trace_event *event);
void projection_map(struct projection *projection, const struct trk_trace_event *event);
/* The access that faulted is over without a witness: it was one of a byte. */
void projection_settle(struct projection *projection, uint32_t stream);

/* ---- explore_operations.c -------------------------------------------------------------------- */

/* Events of operations: they begin, report, call back, end. */
void projection_operation(struct projection *projection, const struct trk_trace_event *event);
/* Whether a page is the CPU's; before the tracker is known it is. */
bool projection_page_is_cpu(const struct projection *projection, uint64_t guest_addr);
/* The innermost frame; NULL: none. */
struct frame *projection_frame(struct projection *projection, uint32_t stream);

/* ---- explore_asking.c ------------------------------------------------------------------------ */

/* SIGNAL and AWAIT: inside a flush another thread is asked to do it. */
void projection_asks(struct projection *projection, const struct trk_trace_event *event);

#endif
