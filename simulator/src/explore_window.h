/*
 * Windows of a projection: a few items of several threads, the state that they begin in, and what
 * is ordered among them.
 *
 * Glossary
 *   window  items [first, end) of a projection; it begins where all is quiet
 *   newer   bytes whose newest contents only one side has when the window begins
 *   edge    an order that the program made: item `to` came after item `from` of another thread
 */
#ifndef SIMULATOR_EXPLORE_WINDOW_H
#define SIMULATOR_EXPLORE_WINDOW_H

#include "explore_items.h"

#define WINDOW_NEWER_MOST 256u
#define WINDOW_ITEMS_MOST 4096u

struct newer {
    uint64_t guest_addr, size_bytes;
    uint32_t item; /* that wrote them */
    bool gpu;
};

struct edge {
    uint32_t from, to;
};

struct window {
    const struct projection *projection;
    uint32_t first, end;
    uint32_t steps; /* operations that stand in no other */
    struct newer newer[WINDOW_NEWER_MOST];
    uint32_t newer_count;
    struct edge *edges;
    uint32_t edge_count;
    uint32_t streams[TRK_SCENARIO_THREADS]; /* that do something, ascending */
    uint32_t stream_count;
    bool unsayable; /* an edge begins where it may never be reached, edges may be missing, or there
                       are other views */
};

/* What is cut out of a projection, one window after the other. */
struct cutter {
    const struct projection *projection;
    uint32_t at;       /* where the next window may begin */
    uint32_t told;     /* items that `writer` knows */
    uint32_t *writer;  /* of each byte of the focus: 1 + the item whose bytes one side lacks */
    uint64_t from, to; /* events */
    uint32_t steps_most;
};

enum trk_status cutter_init(struct cutter *cutter, const struct projection *projection,
                            uint64_t from, uint64_t to, uint32_t steps_most);
void cutter_deinit(struct cutter *cutter);

/* The next window in which more than one thread does something; TRK_E_END: there is none. */
enum trk_status cutter_next(struct cutter *cutter, struct window *window);
void window_deinit(struct window *window);

/* Whether an item is an operation of the scenario, or the end of one. */
bool window_says(const struct projection *projection, uint32_t item);

/* explore_edges.c: find the edges. */
enum trk_status window_order(struct window *window);
/* The place of a stream among the window's, which it must be one of. */
uint32_t window_thread(const struct window *window, uint32_t stream);

/* explore_script.c */

enum script_kind {
    SCRIPT_EXPLORE,  /* as asked */
    SCRIPT_RECORDED, /* the recorded order */
    SCRIPT_CHECKED,  /* as asked, and reads must see what they saw */
    SCRIPT_SHAPE,    /* without numbers of events: equal for windows that do the same */
};

struct script_request {
    enum script_kind kind;
    enum scenario_schedule_kind schedule; /* EXPLORE, RANDOM, PCT */
    uint64_t seed, runs, depth;
    uint32_t seen; /* verdicts that must come, as in a tally; 0: ok */
};

/* The window as a scenario file; free it. NULL: no memory, or no scenario can say it. */
char *window_script(const struct window *window, const struct script_request *request);

#endif
