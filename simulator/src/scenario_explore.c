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

#include "scenario_schedule.h"

/* ---- states that were met -------------------------------------------------------------------- */

struct met_state {
    uint64_t hash; /* 0: free */
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
    struct snapshot snapshot;
    uint64_t hash;
    size_t path_count;
    uint32_t enabled[TRK_SCENARIO_THREADS];
    uint32_t count, next;
    schedule_count schedules; /* behind the threads before next */
};

struct search {
    struct driver *driver;
    struct met met;
    struct node *nodes;
    size_t count, capacity, made; /* nodes[made..] have no snapshot yet */
    uint64_t most;
    bool plain; /* no state is known */
    bool stacks;
    bool no_memory;
};

/* Where the path goes on from a state. */
enum step_end {
    STEP_CHOICE, /* a new state with several threads: the newest node */
    STEP_OVER,   /* the schedule has ended */
    STEP_KNOWN,  /* a state that was met before */
};

static schedule_count sum(schedule_count a, schedule_count b)
{
    schedule_count most = ~(schedule_count)0;
    return a > most - b ? most : a + b;
}

static struct node *node_push(struct search *search)
{
    if (search->count == search->capacity) {
        size_t capacity = search->capacity == 0 ? 64 : search->capacity * 2;
        struct node *nodes = realloc(search->nodes, capacity * sizeof *nodes);
        if (nodes == NULL)
            return NULL;
        memset(nodes + search->capacity, 0, (capacity - search->capacity) * sizeof *nodes);
        search->nodes = nodes;
        search->capacity = capacity;
    }
    struct node *node = &search->nodes[search->count++];
    if (search->made < search->count)
        search->made = search->count;
    node->next = node->count = 0;
    node->schedules = 0;
    return node;
}

/* The usual thread goes first: schedules with few changes of threads are seen first. */
static void usual_first(struct node *node, uint32_t usual)
{
    uint32_t place = 0;
    while (node->enabled[place] != usual)
        place++;
    memmove(&node->enabled[1], &node->enabled[0], place * sizeof node->enabled[0]);
    node->enabled[0] = usual;
}

/* Note the state that the run is in; known: it was met before, with so many schedules behind it. */
static bool node_meet(struct search *search, struct node *node, schedule_count *known)
{
    struct met *met = &search->met;
    snapshot_save(&node->snapshot, search->driver->run);
    node->hash = snapshot_hash(&node->snapshot, search->stacks);
    if (search->plain)
        node->hash = met->count + 1;
    node->hash += node->hash == 0;
    search->no_memory |= node->snapshot.no_memory;
    if (met->count * 2 >= met->capacity && !met_grow(met))
        search->no_memory = true;
    if (search->no_memory)
        return false;
    struct met_state *state = met_place(met, node->hash);
    *known = state->schedules;
    if (state->hash != 0)
        return true;
    state->hash = node->hash;
    met->count++;
    return false;
}

/* Go on until there is a choice, or the schedule ends. */
static enum step_end advance(struct search *search, schedule_count *schedules)
{
    struct driver *driver = search->driver;
    struct scenario_run *run = driver->run;
    *schedules = 1;
    while (!run->stopped && run_trouble(run) == TRK_OK) {
        struct node *node = node_push(search);
        search->no_memory |= node == NULL;
        if (node == NULL)
            return STEP_OVER;
        node->count = driver_enabled(driver, node->enabled);
        node->path_count = driver->path.count;
        bool done = driver_done(driver);
        if (node->count == 1 || (node->count == 0 && !done)) {
            search->count--;
            if (node->count == 1)
                driver_step(driver, node->enabled[0], true);
            else
                run_deadlock(run, 1, driver->end);
            continue;
        }
        if (!done)
            usual_first(node, driver_usual(driver, node->enabled, node->count));
        bool known = node_meet(search, node, schedules);
        if (search->no_memory) {
            search->count--;
            return STEP_OVER;
        }
        if (!known && !done)
            return STEP_CHOICE;
        search->count--;
        if (known)
            return STEP_KNOWN;
        *schedules = met_place(&search->met, node->hash)->schedules = 1;
        return STEP_OVER;
    }
    return STEP_OVER;
}

/* The search behind the newest node is over. */
static void node_pop(struct search *search, schedule_count *total)
{
    struct node *node = &search->nodes[--search->count];
    met_place(&search->met, node->hash)->schedules = node->schedules;
    if (search->count > 0) {
        struct node *outer = &search->nodes[search->count - 1];
        outer->schedules = sum(outer->schedules, node->schedules);
    } else {
        *total = node->schedules;
    }
}

/* Go back to the newest node that has threads left, and let the next one run; false: none has. */
static bool back(struct search *search, schedule_count *total)
{
    while (search->count > 0) {
        struct node *node = &search->nodes[search->count - 1];
        if (node->next == node->count) {
            node_pop(search, total);
            continue;
        }
        if (node->next > 0)
            driver_back(search->driver, node->path_count, &node->snapshot);
        driver_step(search->driver, node->enabled[node->next], node->next == 0);
        node->next++;
        return true;
    }
    return false;
}

static enum trk_status search_run(struct search *search, schedule_count *total)
{
    struct driver *driver = search->driver;
    bool more = true;
    while (more) {
        schedule_count schedules = 0;
        enum step_end end = advance(search, &schedules);
        if (search->no_memory)
            return TRK_E_MEMORY;
        if (end == STEP_OVER) {
            enum trk_status status = driver_finish(driver);
            if (status != TRK_OK)
                return status;
        } else if (end == STEP_KNOWN) {
            driver->tally->schedules++;
        }
        if (end != STEP_CHOICE && search->count > 0)
            search->nodes[search->count - 1].schedules =
                sum(search->nodes[search->count - 1].schedules, schedules);
        else if (end != STEP_CHOICE)
            *total = schedules;
        if (driver->tally->schedules >= search->most) {
            driver->tally->stopped_early = search->count > 0;
            *total = 0;
            return TRK_OK;
        }
        more = back(search, total);
    }
    return TRK_OK;
}

enum trk_status schedule_explore(struct driver *driver, const struct schedule_request *request,
                                 schedule_count *total)
{
    struct search search = {.driver = driver,
                            .plain = request->plain,
                            .stacks = request->stacks,
                            .most = request->most};
    *total = 0;
    enum trk_status status = driver_prime(driver);
    if (status == TRK_OK)
        status = search_run(&search, total);
    for (size_t i = 0; i < search.made; i++)
        snapshot_deinit(&search.nodes[i].snapshot);
    free(search.nodes);
    free(search.met.states);
    return status;
}
