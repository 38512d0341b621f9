/*
 * Inside the simulator: a plug-in as a core.
 *
 * Glossary
 *   table    what the plug-in gave (simulator/core_plugin.h)
 *   foreign  a plug-in that tells no events: what the host wants to know of an operation is seen by
 *            looking at pages before and after it
 */
#ifndef SIMULATOR_CORE_PLUGIN_INSIDE_H
#define SIMULATOR_CORE_PLUGIN_INSIDE_H

#include "core.h"
#include "simulator/core_plugin.h"

struct core_span {
    uint64_t guest_addr, size_bytes;
};

/* What the host was last told of pages of 4 KiB; of so many. */
#define CORE_TOLD_SLOTS 512u
#define CORE_TOLD_MOST  384u

struct core_told {
    size_t count; /* CORE_TOLD_MOST: there may be more */
    struct {
        uint64_t page; /* number; 0: free */
        uint32_t rights;
    } slots[CORE_TOLD_SLOTS];
};

/* A plug-in's tracker: what the rest of the simulator calls a struct trk_tracker. */
struct core_tracker {
    void *its;
    struct trk_core_owner owner;
    struct trk_tracker_options options;
    struct trk_resource_layer layer;
    struct core_span *registered; /* foreign: faults elsewhere are nobody's */
    size_t registered_count;
    /* Foreign: operations that are under way, and that have begun; what the host was told. */
    uint32_t under_way;
    uint64_t begun;
    struct core_told told;
};

/* The plug-in in force; NULL: none. */
extern const struct trk_core_table *core_table;

static inline struct core_tracker *core_tracker_of(struct trk_tracker *tracker)
{
    return (struct core_tracker *)(void *)tracker;
}

static inline void *core_its(const struct trk_tracker *tracker)
{
    return ((const struct core_tracker *)(const void *)tracker)->its;
}

static inline bool core_foreign(void)
{
    return core_table != NULL && !(core_table->features & TRK_CORE_EVENTS);
}

/* core_plugin_life.c: a status that is none is as good as "unsupported". What is no refusal of the
 * model is a complaint about the plug-in. */
enum trk_status core_status_of(enum trk_core_status status);

/* ---- core_plugin_life.c ---------------------------------------------------------------------- */

enum trk_status core_plugin_create(struct trk_tracker **out,
                                   const struct trk_tracker_options *options,
                                   struct trk_error *error);
void core_plugin_destroy(struct trk_tracker *tracker);
/* What a tracker calls its owner's flush by; the context is the struct core_tracker. */
void core_plugin_flush(void *context, uint64_t guest_addr, uint64_t size_bytes);

/* ---- core_plugin_transfer.c ------------------------------------------------------------------ */

enum trk_status core_plugin_upload(struct trk_tracker *tracker, const struct trk_transfer *asked);
enum trk_status core_plugin_download(struct trk_tracker *tracker, const struct trk_transfer *asked);
enum trk_status core_plugin_drain(struct trk_tracker *tracker, const struct trk_transfer *asked);

/* ---- core_plugin.c, core_plugin_insides.c ---------------------------------------------------- */

extern const struct core_calls core_plugin_calls;
extern const struct core_insides core_plugin_insides;
/* The tracker is not destroyed with its owner: threads stand inside it. */
void core_plugin_abandon(struct trk_tracker *tracker);
/* The number of the thread that acts. */
uint32_t core_plugin_self(void);
/* A new one in its place, as it was at its creation. */
enum trk_status core_plugin_renew(struct trk_tracker *tracker);
/* core_plugin_host.c: what the plug-in may call. */
extern const struct trk_core_host core_plugin_host;
/* The plug-in's page() is asked; whatever calls the host meanwhile is none. */
void core_page_of(void *its, uint64_t guest_addr, struct trk_core_page *out);
/* Whether it is: what was called, in words, is told of, and must not be done. */
bool core_page_calls(const char *what);

/* ---- core_plugin_locks.c: what it says of its locks ------------------------------------------ */

/* No lock is held: a new tracker. */
void core_locks_forget(void);
/* Around the host's functions for locks: before it may wait, behind that, before it is free. */
void core_locks_wanted(const uint32_t *word);
void core_locks_taken(const uint32_t *word);
void core_locks_given(const uint32_t *word);
/* It changes a page's protection. */
void core_locks_protect(uint64_t guest_addr);

/* ---- core_plugin_look.c: a foreign operation ------------------------------------------------- */

/* Ranges over more regions are looked at in the first of them. */
#define CORE_LOOK_REGIONS 64u

/* An operation under way: what its pages looked like before. */
struct core_look {
    struct trk_tracker *tracker;
    enum trk_op op;
    uint64_t first, end; /* rounded to pages; the same: the range is none */
    uint32_t region, region_count;
    uint64_t begun; /* of the tracker's operations, this one the last; 0: others were under way */
    uint64_t before[CORE_LOOK_REGIONS]; /* a digest of its pages in each */
};

/* Around each call that may change something. Nothing where the plug-in tells events. */
void core_look_begin(struct core_look *look, struct trk_tracker *tracker, enum trk_op op,
                     uint64_t guest_addr, uint64_t size_bytes);
void core_look_end(const struct core_look *look);
/* The host was told of a page's rights; a new tracker. */
void core_look_told(struct core_tracker *tracker, uint64_t guest_addr, uint64_t size_bytes,
                    uint32_t rights);
void core_look_anew(struct core_tracker *tracker);

#endif
