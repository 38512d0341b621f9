/* How many ways lead through the graph of a search. */
#include <stdlib.h>
#include <string.h>

#include "engine_graph.h"

static int by_from(const void *a, const void *b)
{
    const struct engine_edge *one = a, *other = b;
    if (one->from != other->from)
        return one->from < other->from ? -1 : 1;
    return (int)one->thread - (int)other->thread;
}

size_t *engine_graph_index(struct engine_graph *graph)
{
    size_t *first = calloc(graph->node_count + 2, sizeof *first);
    if (first == NULL)
        return NULL;
    if (graph->edge_count > 0)
        qsort(graph->edges, graph->edge_count, sizeof *graph->edges, by_from);
    for (size_t i = 0; i < graph->edge_count; i++)
        if (graph->edges[i].from != ENGINE_GRAPH_START)
            first[graph->edges[i].from + 1]++;
    for (size_t i = 0; i < graph->node_count; i++)
        first[i + 1] += first[i];
    return first;
}

/* A node is ready when all edges to it were followed: then all ways to it are known. */
struct tide {
    const struct engine_graph *graph;
    const size_t *first;
    uint32_t *open;       /* of each node, edges to it that were not followed */
    schedule_count *ways; /* that lead to it */
    uint32_t *ready;
    size_t ready_count;
    schedule_count *counts;
};

static void count_edge(struct tide *tide, const struct engine_edge *edge, schedule_count ways)
{
    if (edge->came != 0) {
        tide->counts[edge->came - 1] = engine_sum(tide->counts[edge->came - 1], ways);
        return;
    }
    tide->ways[edge->to] = engine_sum(tide->ways[edge->to], ways);
    if (--tide->open[edge->to] == 0)
        tide->ready[tide->ready_count++] = edge->to;
}

static void count_all(struct tide *tide)
{
    const struct engine_graph *graph = tide->graph;
    for (size_t i = 0; i < graph->edge_count; i++)
        if (graph->edges[i].came == 0)
            tide->open[graph->edges[i].to]++;
    for (size_t i = graph->edge_count; i > 0 && graph->edges[i - 1].from == ENGINE_GRAPH_START; i--)
        count_edge(tide, &graph->edges[i - 1], 1);
    for (size_t next = 0; next < tide->ready_count; next++) {
        uint32_t node = tide->ready[next], came = graph->nodes[node].came;
        if (came != 0)
            tide->counts[came - 1] = engine_sum(tide->counts[came - 1], tide->ways[node]);
        for (size_t i = tide->first[node]; i < tide->first[node + 1]; i++)
            count_edge(tide, &graph->edges[i], tide->ways[node]);
    }
}

bool engine_graph_counts(struct engine_graph *graph, schedule_count counts[ENGINE_GRAPH_CAME])
{
    size_t nodes = graph->node_count + 1;
    memset(counts, 0, ENGINE_GRAPH_CAME * sizeof *counts);
    if (graph->no_memory)
        return false;
    size_t *first = engine_graph_index(graph);
    struct tide tide = {.graph = graph,
                        .first = first,
                        .open = calloc(nodes, sizeof *tide.open),
                        .ways = calloc(nodes, sizeof *tide.ways),
                        .ready = calloc(nodes, sizeof *tide.ready),
                        .counts = counts};
    bool done = first != NULL && tide.open != NULL && tide.ways != NULL && tide.ready != NULL;
    if (done)
        count_all(&tide);
    free(first);
    free(tide.open);
    free(tide.ways);
    free(tide.ready);
    return done;
}
