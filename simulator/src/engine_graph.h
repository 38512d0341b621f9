/*
 * The graph of a search over states, and the cheapest way through it.
 *
 * A node is a state with a choice, or one in which all threads have ended. An edge is the step that
 * was chosen and those behind it that nobody had to choose. The cheapest schedule to an outcome has
 * the fewest preemptions (a thread goes on though the last one could), then the fewest steps.
 */
#ifndef SIMULATOR_ENGINE_GRAPH_H
#define SIMULATOR_ENGINE_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine.h"

#define ENGINE_GRAPH_START UINT32_MAX
#define ENGINE_GRAPH_CAME  64u /* outcomes are below */

struct engine_edge {
    uint32_t from;  /* ENGINE_GRAPH_START: the beginning, with no choice */
    uint32_t to;    /* a node; a leaf if `came` says so */
    uint32_t steps; /* in it */
    uint8_t thread; /* chosen */
    uint8_t last;   /* that took the last step */
    uint8_t came;   /* of a leaf, plus 1; 0: `to` is a node */
};

struct engine_node {
    uint64_t enabled; /* threads, as bits */
    uint8_t came;     /* all threads have ended: what it came to, plus 1 */
};

struct engine_graph {
    struct engine_edge *edges;
    size_t edge_count, edge_capacity;
    struct engine_node *nodes;
    size_t node_count, node_capacity;
    bool no_memory;
};

/* Notes of a search; NULL is accepted. */
void engine_graph_node(struct engine_graph *graph, uint32_t number, const uint8_t *enabled,
                       uint32_t count);
void engine_graph_edge(struct engine_graph *graph, const struct engine_edge *edge, uint32_t to);
void engine_graph_leaf(struct engine_graph *graph, const struct engine_edge *edge, uint32_t came);
void engine_graph_end(struct engine_graph *graph, uint32_t number, uint32_t came);

/* The cheapest schedule of an outcome. */
struct engine_way {
    bool there;
    uint32_t preemptions;
    uint64_t steps;
    uint8_t *choices; /* the thread at each choice; freed by the caller */
    size_t count;
};

/* Fill ways[came] for each outcome; false: no memory, and nothing to free. */
bool engine_graph_ways(struct engine_graph *graph, uint32_t threads,
                       struct engine_way ways[ENGINE_GRAPH_CAME]);

/* Sort the edges by where they begin, and give the first one of each node, freed by the caller:
 * node_count + 2 numbers; NULL: no memory. */
size_t *engine_graph_index(struct engine_graph *graph);

/* How many schedules come to each outcome, of a search that was whole; false: no memory. */
bool engine_graph_counts(struct engine_graph *graph, schedule_count counts[ENGINE_GRAPH_CAME]);

void engine_graph_deinit(struct engine_graph *graph);

#endif
