/* The graph of a search, and Dijkstra's way through it. */
#include "engine_graph.h"

#include <stdlib.h>
#include <string.h>

/* ---- notes ----------------------------------------------------------------------------------- */

static void *room(void *array, size_t count, size_t *capacity, size_t element_bytes)
{
    if (count < *capacity)
        return array;
    size_t more = *capacity == 0 ? 256 : *capacity * 2;
    void *larger = realloc(array, more * element_bytes);
    if (larger != NULL)
        *capacity = more;
    return larger;
}

void engine_graph_node(struct engine_graph *graph, uint32_t number, const uint8_t *enabled,
                       uint32_t count)
{
    if (graph == NULL || graph->no_memory)
        return;
    struct engine_node *nodes =
        room(graph->nodes, graph->node_count, &graph->node_capacity, sizeof *nodes);
    graph->no_memory |= nodes == NULL;
    if (nodes == NULL)
        return;
    graph->nodes = nodes;
    struct engine_node node = {0};
    for (uint32_t i = 0; i < count; i++)
        node.enabled |= UINT64_C(1) << enabled[i];
    nodes[number] = node; /* numbers come ascending */
    graph->node_count++;
}

static void edge_add(struct engine_graph *graph, struct engine_edge edge)
{
    struct engine_edge *edges =
        room(graph->edges, graph->edge_count, &graph->edge_capacity, sizeof *edges);
    graph->no_memory |= edges == NULL;
    if (edges == NULL)
        return;
    graph->edges = edges;
    edges[graph->edge_count++] = edge;
}

void engine_graph_edge(struct engine_graph *graph, const struct engine_edge *edge, uint32_t to)
{
    if (graph == NULL || graph->no_memory)
        return;
    struct engine_edge whole = *edge;
    whole.to = to;
    edge_add(graph, whole);
}

void engine_graph_leaf(struct engine_graph *graph, const struct engine_edge *edge, uint32_t came)
{
    if (graph == NULL || graph->no_memory || came + 1 > ENGINE_GRAPH_CAME)
        return;
    struct engine_edge whole = *edge;
    whole.came = (uint8_t)(came + 1);
    edge_add(graph, whole);
}

void engine_graph_end(struct engine_graph *graph, uint32_t number, uint32_t came)
{
    if (graph != NULL && !graph->no_memory && came + 1 <= ENGINE_GRAPH_CAME)
        graph->nodes[number].came = (uint8_t)(came + 1);
}

void engine_graph_deinit(struct engine_graph *graph)
{
    free(graph->edges);
    free(graph->nodes);
}

/* ---- the cheapest ways ----------------------------------------------------------------------- */

/* Where a schedule is: a node, and the thread that ran last, for it is preempted or not. */
struct place {
    uint64_t cost; /* preemptions << 32 | steps; UINT64_MAX: not reached */
    uint32_t edge; /* that leads here */
    uint32_t before;
};

struct heap_entry {
    uint64_t cost;
    uint32_t place;
};

struct walk {
    struct engine_graph *graph;
    uint32_t lasts; /* threads, and none before the first step */
    size_t *first;  /* of each node's edges; node_count + 1 */
    struct place *places;
    struct heap_entry *heap;
    size_t heap_count, heap_capacity;
    bool no_memory;
};

#define NO_PLACE UINT32_MAX

static bool entry_before(struct heap_entry a, struct heap_entry b)
{
    return a.cost != b.cost ? a.cost < b.cost : a.place < b.place;
}

static void heap_push(struct walk *walk, struct heap_entry entry)
{
    struct heap_entry *heap =
        room(walk->heap, walk->heap_count, &walk->heap_capacity, sizeof *heap);
    walk->no_memory |= heap == NULL;
    if (heap == NULL)
        return;
    walk->heap = heap;
    size_t at = walk->heap_count++;
    for (; at > 0 && entry_before(entry, heap[(at - 1) / 2]); at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = entry;
}

static struct heap_entry heap_pop(struct walk *walk)
{
    struct heap_entry *heap = walk->heap;
    struct heap_entry top = heap[0], moved = heap[--walk->heap_count];
    size_t at = 0;
    for (size_t child = 1; child < walk->heap_count; child = 2 * at + 1) {
        if (child + 1 < walk->heap_count && entry_before(heap[child + 1], heap[child]))
            child++;
        if (!entry_before(heap[child], moved))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moved;
    return top;
}

static bool walk_init(struct walk *walk)
{
    struct engine_graph *graph = walk->graph;
    size_t places = graph->node_count * walk->lasts;
    walk->first = engine_graph_index(graph);
    walk->places = malloc((places + 1) * sizeof *walk->places);
    if (walk->first == NULL || walk->places == NULL)
        return false;
    for (size_t i = 0; i < places; i++)
        walk->places[i] = (struct place){.cost = UINT64_MAX};
    return true;
}

/* The cheapest place, or leaf, of each outcome. */
struct best {
    uint64_t cost;
    uint32_t place; /* an end, or before the leaf's edge */
    uint32_t leaf;  /* UINT32_MAX: none */
};

static void best_note(struct best *best, uint8_t came, struct best found)
{
    if (came != 0 && found.cost < best[came - 1].cost)
        best[came - 1] = found;
}

static void walk_edge(struct walk *walk, struct best *best, uint32_t number, uint32_t before,
                      uint64_t cost)
{
    const struct engine_edge *edge = &walk->graph->edges[number];
    cost += edge->steps;
    if (edge->came != 0) {
        best_note(best, edge->came, (struct best){cost, before, number});
        return;
    }
    uint32_t last = edge->steps > 0 ? edge->last : walk->lasts - 1;
    uint32_t at = edge->to * walk->lasts + last;
    if (cost >= walk->places[at].cost)
        return;
    walk->places[at] = (struct place){cost, number, before};
    best_note(best, walk->graph->nodes[edge->to].came, (struct best){cost, at, UINT32_MAX});
    heap_push(walk, (struct heap_entry){cost, at});
}

static void walk_run(struct walk *walk, struct best *best)
{
    struct engine_graph *graph = walk->graph;
    for (size_t i = graph->edge_count; i > 0 && graph->edges[i - 1].from == ENGINE_GRAPH_START; i--)
        walk_edge(walk, best, (uint32_t)(i - 1), NO_PLACE, 0);
    while (walk->heap_count > 0 && !walk->no_memory) {
        struct heap_entry entry = heap_pop(walk);
        if (entry.cost != walk->places[entry.place].cost)
            continue;
        uint32_t node = entry.place / walk->lasts, last = entry.place % walk->lasts;
        bool could = last + 1 < walk->lasts && (graph->nodes[node].enabled >> last & 1);
        for (size_t i = walk->first[node]; i < walk->first[node + 1]; i++) {
            bool preempts = could && graph->edges[i].thread != last;
            walk_edge(walk, best, (uint32_t)i, entry.place,
                      entry.cost + ((uint64_t)preempts << 32));
        }
    }
}

static bool way_of(const struct walk *walk, const struct best *best, struct engine_way *way)
{
    size_t count =
        best->leaf != UINT32_MAX && walk->graph->edges[best->leaf].from != ENGINE_GRAPH_START;
    for (uint32_t at = best->place; at != NO_PLACE; at = walk->places[at].before)
        count += walk->graph->edges[walk->places[at].edge].from != ENGINE_GRAPH_START;
    uint8_t *choices = malloc(count + 1);
    if (choices == NULL)
        return false;
    *way = (struct engine_way){.there = true,
                               .preemptions = (uint32_t)(best->cost >> 32),
                               .steps = (uint32_t)best->cost,
                               .choices = choices,
                               .count = count};
    if (best->leaf != UINT32_MAX && walk->graph->edges[best->leaf].from != ENGINE_GRAPH_START)
        choices[--count] = walk->graph->edges[best->leaf].thread;
    for (uint32_t at = best->place; at != NO_PLACE; at = walk->places[at].before)
        if (walk->graph->edges[walk->places[at].edge].from != ENGINE_GRAPH_START)
            choices[--count] = walk->graph->edges[walk->places[at].edge].thread;
    return true;
}

bool engine_graph_ways(struct engine_graph *graph, uint32_t threads,
                       struct engine_way ways[ENGINE_GRAPH_CAME])
{
    struct walk walk = {.graph = graph, .lasts = threads + 1};
    struct best best[ENGINE_GRAPH_CAME];
    memset(ways, 0, ENGINE_GRAPH_CAME * sizeof *ways);
    for (uint32_t i = 0; i < ENGINE_GRAPH_CAME; i++)
        best[i] = (struct best){UINT64_MAX, NO_PLACE, UINT32_MAX};
    bool done = !graph->no_memory && (uint64_t)graph->node_count * (threads + 1) < NO_PLACE &&
                walk_init(&walk);
    if (done)
        walk_run(&walk, best);
    done = done && !walk.no_memory;
    for (uint32_t i = 0; done && i < ENGINE_GRAPH_CAME; i++)
        if (best[i].cost != UINT64_MAX)
            done = way_of(&walk, &best[i], &ways[i]);
    for (uint32_t i = 0; !done && i < ENGINE_GRAPH_CAME; i++) {
        free(ways[i].choices);
        ways[i] = (struct engine_way){0};
    }
    free(walk.first);
    free(walk.places);
    free(walk.heap);
    return done;
}
