/*
 * The simulated host's memory: entries, their pages, the frames behind them.
 *
 * A page of an entry is a hole, reserved, or mapped: then it shows a frame, has the guest's own
 * rights and those that the host was last told. A frame has guest memory's bytes and the GPU's
 * copy, once, whatever the number of pages that show it.
 *
 * Rules: scenario-format, Keys (memory), fine print 4, 10, 13.
 */
#ifndef SIMULATOR_SCENARIO_WORLD_H
#define SIMULATOR_SCENARIO_WORLD_H

#include "scenario_oracle.h"
#include "scenario_program.h"
#include "scenario_touched.h"

enum page_state {
    PAGE_HOLE,
    PAGE_RESERVED,
    PAGE_MAPPED,
};

struct world_page {
    struct frame *frame; /* mapped */
    uint8_t state;       /* enum page_state */
    uint8_t guest_rights, host_rights;
};

/* A page of a memory object, and the frame that was last seen there. */
struct world_object_page {
    uint64_t key; /* its number */
    struct frame *frame;
};

struct world_entry {
    const struct scenario_entry *text;
    uint64_t guest_addr, end_addr;
    uint32_t root; /* the entry whose memory object this one shows; its own number if no view */
    uint32_t page_count;
    struct world_page *pages;
    /* The view in force: page i shows page i + offset of the object. */
    uint64_t offset_pages;
    unsigned view_rights;
    bool mixed; /* a part of the view has got other rights, or was unmapped */
    /* The memory object, of roots only: its first page_count pages, and what lies behind them. */
    struct world_object_page *object;
    struct world_object_page *far;
    size_t far_count, far_capacity;
};

struct world {
    struct scenario_pool *pool;
    struct touched *touched;     /* the pages' memory; NULL: nobody wants to know what changes */
    struct world_entry *entries; /* as in the file */
    uint32_t *order;             /* ascending by address */
    uint32_t entry_count;
    bool no_memory;
};

/*
 * All entries, with mapped pages where the file says so; nothing is told to any tracker. Pages and
 * what they show come from `pages`, whose changes are announced; entries change without a word.
 */
bool world_init(struct world *world, struct scenario_pool *pool, struct scenario_pool *pages,
                const struct trk_scenario *scenario);

/* Before a page is changed from outside. */
static inline void world_touch(const struct world *world, const struct world_page *page)
{
    touched_note(world->touched, page, sizeof *page);
}

/* The entry, and the page, that an address lies in; NULL: none. */
struct world_entry *world_entry_at(const struct world *world, uint64_t guest_addr);
struct world_page *world_page_at(const struct world *world, uint64_t guest_addr);

/* Pages of a range that lie in entries, ascending; with the part of each that lies in the range. */
struct world_walk {
    const struct world *world;
    uint64_t at, end;
    /* After world_next. */
    struct world_entry *entry;
    struct world_page *page;
    uint64_t guest_addr; /* of the part */
    struct oracle_part part;
};

struct world_walk world_walk(const struct world *world, uint64_t guest_addr, uint64_t size_bytes);
/* The next page; false: there is none. */
bool world_next(struct world_walk *walk);
/* The next mapped page. */
bool world_next_mapped(struct world_walk *walk);

/* Whether all pages that the range touches lie in entries and are in the state. */
bool world_all(const struct world *world, uint64_t guest_addr, uint64_t size_bytes,
               enum page_state state);

/*
 * Show a frame in a page: the one that another view of the same memory shows; else, to come back to
 * old bytes, the one that was there before; else a fresh one.
 */
void world_show(struct world *world, struct world_entry *entry, struct world_page *page, bool old);
/* Take the page's frame away. */
void world_hide(const struct world *world, struct world_page *page, enum page_state state);

/* The other pages that are mapped, known to the GPU, and show the frame of one page. */
struct world_views {
    const struct world *world;
    const struct world_entry *entry;
    uint64_t key; /* page of the memory object */
    uint32_t next;
};

/* guest_addr lies in an entry. */
struct world_views world_views(const struct world *world, uint64_t guest_addr);
/* The next one's first address, in the order of the file; 0: there is none. */
uint64_t world_views_next(struct world_views *views);

/* How many host mappings there would be with these rights on the range's mapped pages. */
uint64_t world_mappings(const struct world *world, uint64_t guest_addr, uint64_t size_bytes,
                        unsigned rights);

#endif
