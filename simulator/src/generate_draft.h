/*
 * Inside the generator: a scenario under way, and what is known of its memory.
 *
 * Glossary
 *   draft   the file as far as it is written
 *   entry   a range under `memory`
 *   unit    neighbouring pages of an entry with one owner: the least multiple of 16 KiB and of the
 *           tracker's page, so that neither pages nor generations of two owners meet
 *   owner   the thread that alone touches a unit; NOBODY: it is shared
 *   known   all pages of a range are the thread's own: what the tracker answers is certain
 *   alone   nobody else runs, so all is known (init, or a program of one thread)
 *   page    of the tracker, policy.page_bytes each
 *   lot     16 KiB, what generations count
 *
 * The model of a page is the tracker's table of states (M-rules of docs/model.md): it says what
 * must come out, and shares nothing with the core.
 */
#ifndef SIMULATOR_GENERATE_DRAFT_H
#define SIMULATOR_GENERATE_DRAFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "simulator/generate.h"
#include "track/macros.h"

#define HOST_PAGE_BYTES UINT64_C(4096)
#define LOT_BYTES       UINT64_C(16384)
#define REGION_BYTES    (UINT64_C(4) << 20)
#define LOW_END         (UINT64_C(1) << 40)
#define ARENA           UINT64_C(0x080000000000)
#define ARENA_END       (ARENA + (UINT64_C(512) << 30))

#define ENTRIES_MOST 8u
#define PAGES_MOST   32u /* of an entry */
#define EVENTS_MOST  16u
/* An invalidate goes eight rounds; each takes one that it lost a race to. */
#define SHARED_GPU_MOST 7u

#define NOBODY 0u

#define RIGHT_READ  1u
#define RIGHT_WRITE 2u
#define RIGHT_EXEC  4u
#define RIGHTS_RW   (RIGHT_READ | RIGHT_WRITE)

enum feature {
    FEATURE_THREADS,     /* more than one */
    FEATURE_SHARING,     /* pages that several threads touch */
    FEATURE_GPU,         /* writes of the GPU */
    FEATURE_SYNC,        /* events, mutexes, frames */
    FEATURE_LOCKS,       /* region locks by hand */
    FEATURE_NESTED,      /* operations inside others */
    FEATURE_MARKS,       /* mark, unmark, untrack */
    FEATURE_HLE,         /* the emulator's writes */
    FEATURE_KERNEL,      /* the kernel's accesses, raw and sparse ones */
    FEATURE_PROTECT,     /* guest rights */
    FEATURE_MAP,         /* map, unmap, reserve, commit */
    FEATURE_ALIAS,       /* a second view */
    FEATURE_GENERATIONS, /* of 16 KiB */
    FEATURE_WATCH,       /* the page manager directly */
    FEATURE_EDGES,       /* borders of regions, words and bands; ranges that are refused */
    FEATURE_WIDE,        /* ranges over regions that nobody has met */
    FEATURE_POLICY,      /* policies other than the default */
    FEATURE_PAGES,       /* larger pages and granules */
    FEATURE_FAULTS,      /* injected ones */
    FEATURE_DELAY,       /* GPU work that completes late */
    FEATURE_COUNT,
};

enum space {
    SPACE_MAPPED,
    SPACE_HOLE,
    SPACE_RESERVED,
};

struct draft_page {
    bool cpu, gpu;   /* neither: CLEAN */
    uint8_t watches; /* write watches beside the tracker's */
    bool read_watch; /* beside the tracker's */
    uint8_t rights;  /* the guest's */
    enum space space;
    uint32_t owner;
};

struct draft_lot {
    bool known, armed;
    uint32_t generation; /* a name for it: counts up over the draft */
    uint32_t named;      /* the generation that a name was given last; 0: none */
};

struct draft_entry {
    char name;
    uint64_t guest_addr;
    uint32_t page_count;
    bool mapped_later; /* it is for map and unmap */
    bool plain;        /* the GPU does not know it */
    char alias;        /* the name of a second view; 0: none */
    uint64_t alias_addr;
    struct draft_page pages[PAGES_MOST];
    struct draft_lot lots[PAGES_MOST * 4];
};

enum rounds {
    INVALIDATE_VERIFY,
    INVALIDATE_STRICT,
    INVALIDATE_PER_REGION,
};

struct draft_policy {
    enum rounds invalidate;
    bool all_regions, low, generations;
    uint32_t fault_width, line_bytes;
    uint64_t page_bytes;
    const char *preset; /* NULL: none */
};

/* A range of guest memory that a thread may touch. */
struct span {
    uint64_t guest_addr, size_bytes;
    bool known;
};

struct draft {
    uint64_t random;
    uint32_t features; /* that this seed takes */
    bool small;        /* to be explored */
    bool careless;     /* owners count for nothing, and results are left out */
    size_t op_begin;   /* where the operation under way begins */
    struct draft_policy policy;
    struct draft_entry entries[ENTRIES_MOST];
    uint32_t entry_count;
    uint32_t threads;
    uint32_t thread; /* whose operations are written now: 1..; alone: of all */
    bool alone;
    uint32_t events, events_before; /* signalled; by the threads before this one */
    uint32_t shared_gpu;            /* GPU writes to shared pages up to now */
    uint32_t generations;           /* given up to now */
    uint32_t operations;            /* in the list under way */
    bool in_mutex;
    char *text;
    size_t used, capacity;
    bool no_memory;
};

/* ---- generate_draft.c ------------------------------------------------------------------------ */

uint32_t draft_below(struct draft *draft, uint32_t bound);
/* One in so many. */
static inline bool draft_one_in(struct draft *draft, uint32_t count)
{
    return draft_below(draft, count) == 0;
}
static inline bool draft_has(const struct draft *draft, enum feature feature)
{
    return draft->features >> feature & 1;
}

/* Add words to the file. */
void draft_say(struct draft *draft, const char *format, ...) TRK_PRINTF(2, 3);
/* Begin the next operation of the list; the words that follow are its own. */
void draft_begin(struct draft *draft);
void draft_end(struct draft *draft);
/* A whole operation in one. */
void draft_op(struct draft *draft, const char *format, ...) TRK_PRINTF(2, 3);
/* "A+2P+8 64", with whole pages in P. */
void draft_say_span(struct draft *draft, struct span span);
void draft_say_addr(struct draft *draft, uint64_t guest_addr);
/* A whole operation on a range; rest: whatever stands behind that. */
void draft_op_on(struct draft *draft, const char *word, struct span span, const char *rest);

/* ---- generate_memory.c ----------------------------------------------------------------------- */

void memory_make(struct draft *draft);
void memory_say(struct draft *draft);

/* A range that the thread may touch: whole pages or some bytes. False: there is none such. */
struct wish {
    bool known;  /* only of the thread's own */
    bool plain;  /* memory that the GPU does not know, too */
    bool bytes;  /* a few bytes, as an access has them */
    bool inside; /* in one region */
    bool whole;  /* pages only */
    bool lots;   /* whole lots */
};
bool memory_pick(struct draft *draft, struct wish wish, struct span *out);
/* From one entry into another, over whatever lies between. */
bool memory_pick_wide(struct draft *draft, struct span *out);
/* The same bytes in the entry's second view, now and then. */
struct span memory_view(struct draft *draft, struct span span);
struct span memory_whole(const struct draft *draft, const struct draft_entry *entry);
struct draft_entry *memory_entry_at(struct draft *draft, uint64_t guest_addr);
uint64_t memory_entry_end(const struct draft *draft, const struct draft_entry *entry);

/* ---- generate_model.c ------------------------------------------------------------------------ */

/* The pages of a range, rounded out, in ascending order; what lies in no entry is passed over. */
struct page_walk {
    struct draft *draft;
    uint64_t at, end;
    struct draft_entry *entry;
    struct draft_page *page;
    uint64_t guest_addr; /* of the page */
};
struct page_walk model_walk(struct draft *draft, struct span span);
bool model_next(struct page_walk *walk);

/* The operation that asks for a page's rights on the host, and its answer. */
void model_op_prot(struct draft *draft, uint64_t guest_addr);
bool model_any(struct draft *draft, struct span span, bool gpu); /* any GPU page; or any CPU page */
void model_to_cpu(struct draft *draft, struct span span);
/* Every page of one kind becomes CLEAN (or CPU): to_cpu says which. */
void model_leave_gpu(struct draft *draft, struct span span, bool to_cpu);
void model_upload(struct draft *draft, struct span span, bool written);
/* How often the flush is called. */
uint32_t model_invalidate(struct draft *draft, struct span span);

struct access_found {
    uint32_t faults;
    bool unhandled, endless; /* endless: a watch would keep it faulting */
};
struct access_found model_access(struct draft *draft, struct span span, bool store);
/* The emulator's write; false: denied. */
bool model_hle(struct draft *draft, struct span span);
/* Bytes that the kernel gets at before the first page without the right. */
uint64_t model_kernel(struct draft *draft, struct span span, unsigned right);
void model_forget_lots(struct draft *draft, struct span span);
struct draft_lot *model_lot(struct draft *draft, uint64_t guest_addr);
/* It is written: another generation, and open. */
void model_lot_moves(struct draft *draft, struct draft_lot *lot);

/* " => [A 1P, ...]": the pages that are CPU, or GPU, as an iterator reports them. */
void model_say_ranges(struct draft *draft, struct span span, bool gpu);
uint32_t model_count_ranges(struct draft *draft, struct span span, bool gpu);

/* ---- the steps: generate_shared.c, generate_own.c, generate_space.c, generate_fault.c -------- */

/* One step of a thread, of one operation or a few that belong together. */
void step_any(struct draft *draft);

typedef void step_fn(struct draft *draft);
step_fn step_access, step_hle, step_upload, step_draw, step_download, step_drain, step_invalidate,
    step_query, step_retake, step_sparse, step_nested, step_sync, step_lock, step_refused,
    step_wide;
step_fn step_mark, step_untrack, step_unmark, step_gpu, step_kernel, step_at_end, step_prot,
    step_watch, step_watch_mask, step_watch_full;
step_fn step_protect, step_map, step_gen_track, step_gen, step_gen_hle, step_gen_moves;
step_fn step_protect_fail, step_drop_flush, step_lose_fault, step_drop_copy, step_delay;

#endif
