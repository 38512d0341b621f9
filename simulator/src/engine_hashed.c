/*
 * Every schedule of a program: a search over states.
 *
 * Where more than one thread can run the state is kept and its hash is noted. A state that was met
 * before has been searched, or is being so, whatever way led to it: what comes behind is the same.
 * Programs are finite and their states never come again on one path, so the number of schedules
 * behind each state is known when its search ends, and with it the number of all.
 */
#include <stdlib.h>
#include <string.h>

#include "chance.h"
#include "engine.h"
#include "engine_graph.h"

/* ---- states that were met -------------------------------------------------------------------- */

struct met_state {
    uint64_t hash; /* 0: free */
    uint32_t number;
    schedule_count schedules;
};

struct met {
    struct met_state *states;
    size_t count, capacity; /* a power of two */
};

static struct met_state *met_place(const struct met *met, uint64_t hash)
{
    size_t place = (size_t)hash & (met->capacity - 1);
    while (met->states[place].hash != 0 && met->states[place].hash != hash)
        place = (place + 1) & (met->capacity - 1);
    return &met->states[place];
}

static bool met_grow(struct met *met)
{
    struct met larger = {.capacity = met->capacity == 0 ? 4096 : met->capacity * 2,
                         .count = met->count};
    larger.states = calloc(larger.capacity, sizeof *larger.states);
    if (larger.states == NULL)
        return false;
    for (size_t i = 0; i < met->capacity; i++)
        if (met->states[i].hash != 0)
            *met_place(&larger, met->states[i].hash) = met->states[i];
    free(met->states);
    *met = larger;
    return true;
}

/* ---- the search ------------------------------------------------------------------------------ */

/* A state on the path whose search is under way. */
struct node {
    void *slot;
    uint64_t hash;
    uint32_t number;
    uint8_t enabled[ENGINE_THREADS];
    uint32_t count, next;
    schedule_count schedules; /* behind the threads before next */
};

struct search {
    const struct engine_program *program;
    const struct engine_limits *limits;
    struct engine_result *result;
    struct met met;
    struct node *nodes;
    size_t count, capacity;
    struct engine_edge edge; /* from the newest node to where the run is */
    bool no_memory;
};

/* Where the path goes on from a state. */
enum step_end {
    STEP_CHOICE, /* a new state with several threads: the newest node */
    STEP_OVER,   /* the schedule has ended */
    STEP_KNOWN,  /* a state that was met before */
};

static bool nodes_grow(struct search *search)
{
    size_t capacity = search->capacity == 0 ? 64 : search->capacity * 2;
    struct node *nodes = realloc(search->nodes, capacity * sizeof *nodes);
    if (nodes == NULL)
        return false;
    memset(nodes + search->capacity, 0, (capacity - search->capacity) * sizeof *nodes);
    search->nodes = nodes;
    search->capacity = capacity;
    return true;
}

static struct node *node_push(struct search *search)
{
    if (search->count == search->capacity && !nodes_grow(search))
        return NULL;
    struct node *node = &search->nodes[search->count];
    if (node->slot == NULL)
        node->slot = calloc(1, search->program->state_bytes);
    if (node->slot == NULL)
        return NULL;
    search->count++;
    node->next = node->count = 0;
    node->schedules = 0;
    return node;
}

static void take_step(struct search *search, uint32_t thread, bool usual)
{
    search->result->steps++;
    search->edge.steps++;
    search->edge.last = (uint8_t)thread;
    search->program->step(search->program->context, thread, usual, NULL);
}

/* Note the state that the run is in; known: it was met before, with so many schedules behind it. */
static bool node_meet(struct search *search, struct node *node, schedule_count *known)
{
    const struct engine_program *program = search->program;
    struct met *met = &search->met;
    search->no_memory |= !program->save(program->context, node->slot);
    node->hash =
        search->limits->plain ? met->count + 1 : program->hash(program->context, node->slot);
    node->hash += node->hash == 0;
    if (met->count * 2 >= met->capacity && !met_grow(met))
        search->no_memory = true;
    if (search->no_memory)
        return false;
    struct met_state *state = met_place(met, node->hash);
    *known = state->schedules;
    bool there = state->hash != 0;
    if (!there) {
        state->hash = node->hash;
        state->number = (uint32_t)met->count++;
        engine_graph_node(search->limits->graph, state->number, node->enabled, node->count);
    }
    node->number = state->number;
    engine_graph_edge(search->limits->graph, &search->edge, node->number);
    return there;
}

/* The program is over, in a state that is no node unless all threads have ended. */
static enum trk_status finish(struct search *search, const struct node *ended)
{
    const struct engine_program *program = search->program;
    uint32_t came = 0;
    enum trk_status status = program->end(program->context, &came);
    if (ended != NULL)
        engine_graph_end(search->limits->graph, ended->number, came);
    else
        engine_graph_leaf(search->limits->graph, &search->edge, came);
    search->result->schedules++;
    return status;
}

/* Go on until there is a choice, or the schedule ends. */
static enum step_end advance(struct search *search, schedule_count *schedules,
                             enum trk_status *status)
{
    const struct engine_program *program = search->program;
    enum engine_phase phase;
    *schedules = 1;
    while ((phase = program->phase(program->context)) != ENGINE_BROKEN) {
        struct node *node = node_push(search);
        search->no_memory |= node == NULL;
        if (node == NULL)
            return STEP_OVER;
        node->count = program->enabled(program->context, node->enabled);
        bool ended = phase == ENGINE_ENDED;
        if (node->count == 1 || (node->count == 0 && !ended)) {
            search->count--;
            if (node->count == 1)
                take_step(search, node->enabled[0], true);
            else
                program->deadlock(program->context);
            continue;
        }
        bool known = node_meet(search, node, schedules);
        /* Most states are known, and need not be kept. */
        search->no_memory |= !known && !ended && !engine_keep(program, node->slot);
        if (search->no_memory) {
            search->count--;
            return STEP_OVER;
        }
        if (!known && !ended)
            return STEP_CHOICE;
        search->count--;
        if (known) {
            search->result->schedules++;
            return STEP_KNOWN;
        }
        *schedules = met_place(&search->met, node->hash)->schedules = 1;
        *status = finish(search, node);
        return STEP_OVER;
    }
    *status = finish(search, NULL);
    return STEP_OVER;
}

/* The search behind the newest node is over. */
static void node_pop(struct search *search)
{
    struct node *node = &search->nodes[--search->count];
    met_place(&search->met, node->hash)->schedules = node->schedules;
    if (search->count > 0) {
        struct node *outer = &search->nodes[search->count - 1];
        outer->schedules = engine_sum(outer->schedules, node->schedules);
    } else {
        search->result->interleavings = node->schedules;
    }
}

/* Go back to the newest node that has threads left, and let the next one run; false: none has. */
static bool back(struct search *search)
{
    const struct engine_program *program = search->program;
    while (search->count > 0) {
        struct node *node = &search->nodes[search->count - 1];
        if (node->next == node->count) {
            node_pop(search);
            continue;
        }
        if (node->next > 0)
            program->restore(program->context, node->slot);
        uint32_t thread = node->enabled[node->next];
        search->edge = (struct engine_edge){.from = node->number, .thread = (uint8_t)thread};
        take_step(search, thread, node->next == 0);
        node->next++;
        return true;
    }
    return false;
}

static enum trk_status search_run(struct search *search)
{
    struct engine_result *result = search->result;
    bool more = true;
    while (more) {
        schedule_count schedules = 0;
        enum trk_status status = TRK_OK;
        enum step_end end = advance(search, &schedules, &status);
        if (search->no_memory)
            return TRK_E_MEMORY;
        if (status != TRK_OK)
            return status;
        if (end != STEP_CHOICE && search->count > 0)
            search->nodes[search->count - 1].schedules =
                engine_sum(search->nodes[search->count - 1].schedules, schedules);
        else if (end != STEP_CHOICE)
            result->interleavings = schedules;
        bool enough = result->schedules >= search->limits->most;
        bool leaves = end != STEP_CHOICE && !enough && !engine_goes_on(&search->limits->leave);
        if (enough || leaves) {
            result->stopped_early = search->count > 0;
            result->left = leaves && search->count > 0;
            if (result->stopped_early)
                result->interleavings = 0;
            return TRK_OK;
        }
        more = back(search);
    }
    return TRK_OK;
}

/* ---- how much was seen ----------------------------------------------------------------------- */

#define WALKS      200u
#define WALK_STEPS 100000u

/* Random schedules from the first choice on: of the states with a choice, how many were met. */
static bool recapture(struct search *search)
{
    const struct engine_program *program = search->program;
    uint8_t threads[ENGINE_THREADS];
    uint64_t random = 1, seen = 0, met = 0; /* always the same schedules */
    void *slot = calloc(1, program->state_bytes);
    bool done = slot != NULL && search->nodes != NULL;
    for (uint32_t walk = 0; done && walk < WALKS; walk++) {
        program->restore(program->context, search->nodes[0].slot);
        for (uint32_t i = 0; done && i < WALK_STEPS; i++) {
            enum engine_phase phase = program->phase(program->context);
            uint32_t count =
                phase == ENGINE_GOING ? program->enabled(program->context, threads) : 0;
            if (count == 0)
                break;
            if (count > 1) {
                done = program->save(program->context, slot);
                uint64_t hash = program->hash(program->context, slot);
                seen++;
                met += met_place(&search->met, hash + (hash == 0))->hash != 0;
            }
            program->step(program->context, threads[random_below(&random, count)], false, NULL);
        }
    }
    if (slot != NULL)
        program->drop(program->context, slot);
    free(slot);
    search->result->covered_percent = seen > 0 ? (uint32_t)(met * 100 / seen) : 100;
    return done;
}

enum trk_status engine_hashed(const struct engine_program *program,
                              const struct engine_limits *limits, struct engine_result *result)
{
    struct search search = {.program = program, .limits = limits, .result = result};
    *result = (struct engine_result){0};
    search.edge.from = ENGINE_GRAPH_START;
    enum trk_status status = search_run(&search);
    result->states = search.met.count;
    bool estimates = result->stopped_early && !result->left && !limits->plain;
    if (status == TRK_OK && estimates && !recapture(&search))
        status = TRK_E_MEMORY;
    for (size_t i = 0; i < search.capacity; i++) {
        if (search.nodes[i].slot != NULL)
            program->drop(program->context, search.nodes[i].slot);
        free(search.nodes[i].slot);
    }
    free(search.nodes);
    free(search.met.states);
    return status;
}
