/*
 * Trying the orders of windows, and keeping what was found.
 */
#ifndef SIMULATOR_EXPLORE_SEARCH_H
#define SIMULATOR_EXPLORE_SEARCH_H

#include "explore_judge.h"
#include "explore_window.h"
#include "simulator/explore.h"

typedef unsigned __int128 order_count; /* stops at its largest */

/*
 * An order in a line: the window, and the schedule in it.
 *
 *     trkw1:PAGE+PAGES:EVENT+STEPS:CORE:SCENARIO:STEPS
 *
 * PAGE is the number of the first page, hexadecimal; EVENT the window's first; the rest as in the
 * line of a scenario.
 */
struct line {
    uint64_t page_addr, from;
    uint32_t pages, steps;
    char schedule[640]; /* trk1:... */
};

bool line_read(struct line *line, const char *text);
void line_write(char *out, size_t size, const struct window *window, const char *schedule,
                const char *hash);

/* Shapes of windows that were explored already: hashes, a table that grows. */
struct shapes {
    uint64_t *slots;
    size_t count, capacity;
};

struct search_state {
    const struct trk_explore_options *options;
    struct trk_explore_report *report;
    struct shapes shapes;
    order_count orders;
    uint64_t script_schedules; /* of the window that the script is of */
    bool orders_known;
    bool whole; /* nothing was left out */
    bool ended; /* nobody wants more */
    bool shown; /* a window's recorded order breaks a rule */
};

void search_init(struct search_state *state, const struct trk_explore_options *options,
                 struct trk_explore_report *report);
/* Finish the report. */
void search_end(struct search_state *state);

/* Whether more is wanted; asked before each window and behind each order. */
bool search_goes_on(void *state);

enum trk_status search_window(struct search_state *state, const struct window *window);
enum trk_status search_replay(struct search_state *state, const struct window *window,
                              const struct line *line, struct trk_error *error);

#endif
