/*
 * Every class of schedules of a program: dynamic partial order reduction with source sets and sleep
 * sets.
 *
 * A schedule is run; where two of its steps depend on each other and nothing else orders them (a
 * race), another schedule is needed in which the second comes first. It begins before the first
 * one, with some thread that can start what is to come earlier. Threads whose next step has been
 * tried at a state sleep behind their siblings until a step comes that depends on theirs.
 *
 * What a step waited for cannot be turned around: a lock was taken because it had been given back.
 * The race is then with the step that began the hold: nothing of it need have happened. Steps that
 * end the program depend on all others, which need not have happened either; a state before one is
 * therefore searched with all threads.
 *
 * Going back puts a kept state back; nothing is known of states otherwise.
 */
#include <stdlib.h>
#include <string.h>

#include "engine.h"

/* A step of the schedule under way, and the state before it. */
struct event {
    uint32_t thread;
    uint32_t number; /* of the thread's steps, from 1 */
    uint32_t before; /* the thread's event before this one, plus 1; 0: none */
    uint32_t *clock; /* of each thread, how many steps are ordered before this one, with it */
    struct footprint footprint;
    /* The state before; threads as bits. */
    uint64_t enabled, backtrack, done, sleep;
    struct footprint *next; /* of each thread done or asleep: its next step here */
    uint8_t first;          /* of those that can run: the usual one */
    void *slot;
};

struct search {
    const struct engine_program *program;
    struct engine_result *result;
    struct event *events;
    size_t count, capacity;
    uint32_t last[ENGINE_THREADS]; /* newest event of each thread, plus 1 */
    bool no_memory;
};

static uint64_t bit_of(uint32_t thread)
{
    return UINT64_C(1) << thread;
}

/* ---- events ---------------------------------------------------------------------------------- */

static bool event_init(const struct search *search, struct event *event)
{
    uint32_t threads = search->program->threads;
    event->clock = calloc(threads, sizeof *event->clock);
    event->next = calloc(threads, sizeof *event->next);
    event->slot = calloc(1, search->program->state_bytes);
    return event->clock != NULL && event->next != NULL && event->slot != NULL;
}

/* The event behind the newest, whose state before is where the program is. */
static struct event *event_next(struct search *search)
{
    if (search->count == search->capacity) {
        size_t capacity = search->capacity == 0 ? 64 : search->capacity * 2;
        struct event *events = realloc(search->events, capacity * sizeof *events);
        search->no_memory |= events == NULL;
        if (events == NULL)
            return NULL;
        memset(events + search->capacity, 0, (capacity - search->capacity) * sizeof *events);
        search->events = events;
        search->capacity = capacity;
    }
    struct event *event = &search->events[search->count];
    if (event->slot == NULL && !event_init(search, event)) {
        search->no_memory = true;
        return NULL;
    }
    return event;
}

static bool depend(const struct search *search, const struct footprint *a,
                   const struct footprint *b)
{
    return footprint_depend(a, b, search->program->words);
}

/* ---- races ----------------------------------------------------------------------------------- */

static void join(const struct search *search, uint32_t *into, const uint32_t *from)
{
    for (uint32_t i = 0; i < search->program->threads; i++)
        if (from[i] > into[i])
            into[i] = from[i];
}

/*
 * Threads that can begin, before event `first`, what is not ordered behind it: the steps up to
 * `end`, and then one of `thread` whose clock is given.
 */
static uint64_t initials(const struct search *search, size_t first, size_t end, uint32_t thread,
                         const uint32_t *clock)
{
    const struct event *origin = &search->events[first];
    uint32_t least[ENGINE_THREADS] = {0}; /* of each thread met, its first step there */
    uint64_t met = 0, found = 0;
    for (size_t i = first + 1; i <= end; i++) {
        const struct event *event = i < end ? &search->events[i] : NULL;
        uint32_t its = event != NULL ? event->thread : thread;
        const uint32_t *known = event != NULL ? event->clock : clock;
        if (event != NULL && known[origin->thread] >= origin->number)
            continue;
        if (met & bit_of(its))
            continue;
        bool initial = true;
        for (uint64_t rest = met; initial && rest != 0; rest &= rest - 1) {
            uint32_t other = (uint32_t)__builtin_ctzll(rest);
            initial = known[other] < least[other];
        }
        if (initial)
            found |= bit_of(its);
        met |= bit_of(its);
        least[its] = event != NULL ? event->number : UINT32_MAX;
    }
    return found;
}

/* Event `first` races with a step of `thread` behind event `end` - 1: see that it is turned. */
static void turn(struct search *search, size_t first, size_t end, uint32_t thread,
                 const uint32_t *clock)
{
    struct event *event = &search->events[first];
    uint64_t may = initials(search, first, end, thread, clock);
    if (may & (event->backtrack | event->sleep))
        return;
    may &= event->enabled;
    if (may & bit_of(thread))
        event->backtrack |= bit_of(thread);
    else if (may != 0)
        event->backtrack |= may & -may;
    else
        event->backtrack |= event->enabled;
}

/* What stands between a step and its need. */
struct forced {
    size_t from, to; /* events + 1 of the thread that held the lock; 0: none */
    uint32_t thread;
};

/* The last hold of a lock, if it was another thread's. */
static struct forced forced_hold(const struct search *search, uint32_t bit, uint32_t thread)
{
    size_t from = search->count;
    while (from > 0 && !footprint_has(search->events[from - 1].footprint.take, bit))
        from--;
    if (from == 0 || search->events[from - 1].thread == thread)
        return (struct forced){0};
    uint32_t holder = search->events[from - 1].thread;
    size_t to = search->count;
    while (search->events[to - 1].thread != holder ||
           !footprint_has(search->events[to - 1].footprint.write, bit))
        to--;
    return (struct forced){from, to, holder};
}

static struct forced forced_of(const struct search *search, const struct footprint *footprint,
                               uint32_t thread)
{
    struct forced forced = {0};
    uint32_t bit = footprint->need_bit;
    if (footprint->need == NEED_LOCK)
        return forced_hold(search, bit, thread);
    if (footprint->need == NEED_NOTHING)
        return forced;
    for (size_t i = search->count; i > 0; i--) {
        const struct event *event = &search->events[i - 1];
        const struct footprint *its = &event->footprint;
        if (footprint->need == NEED_OPENED && its->opens && its->open_bit == bit)
            return (struct forced){.to = i, .thread = event->thread};
        if (footprint->need == NEED_CHANGE && event->thread == thread)
            break;
        if (footprint->need == NEED_CHANGE && footprint_has(its->read, bit))
            forced = (struct forced){.to = i, .thread = event->thread};
    }
    return forced;
}

/* Of the threads but one, those of whose steps the newest is not known yet. */
static uint64_t not_known(const struct search *search, uint32_t thread, const uint32_t *clock)
{
    uint64_t open = 0;
    for (uint32_t i = 0; i < search->program->threads; i++)
        if (i != thread && search->last[i] > 0 &&
            search->events[search->last[i] - 1].number > clock[i])
            open |= bit_of(i);
    return open;
}

/*
 * Whether the hold that a step had to wait for is ordered before it by anything but its lock: by
 * steps of others that the step depends on. Such a step races with it, and is turned first; but not
 * one that the hold's end itself comes behind: its race is the hold's.
 */
static bool hold_ordered(const struct search *search, const struct forced *forced,
                         const struct footprint *footprint, uint32_t thread, uint32_t *clock)
{
    const struct event *began = &search->events[forced->from - 1];
    const uint32_t *ended = search->events[forced->to - 1].clock;
    uint64_t open = not_known(search, thread, clock);
    for (size_t i = search->count; i > 0 && open != 0; i--) {
        const struct event *event = &search->events[i - 1];
        /* What comes before a step that is known is known. */
        if (event->number <= clock[event->thread] || event->number <= ended[event->thread])
            open &= ~bit_of(event->thread);
        if (!(open & bit_of(event->thread)) ||
            (event->thread == forced->thread && i >= forced->from))
            continue;
        if (depend(search, &event->footprint, footprint))
            join(search, clock, event->clock);
    }
    return clock[began->thread] >= began->number;
}

/*
 * A step of `thread` comes behind the newest event: fill its clock, and turn its races. pending: it
 * cannot come, for another thread has what it needs.
 */
static void order(struct search *search, uint32_t thread, const struct footprint *footprint,
                  uint32_t *clock, bool pending)
{
    uint32_t threads = search->program->threads;
    size_t end = search->count;
    uint32_t other[ENGINE_THREADS];
    memset(clock, 0, threads * sizeof *clock);
    if (search->last[thread] > 0)
        memcpy(clock, search->events[search->last[thread] - 1].clock, threads * sizeof *clock);
    struct forced forced = forced_of(search, footprint, thread);
    if (pending && forced.from == 0)
        return;
    /* A hold that is one step gives way as a whole. */
    if (forced.from != 0 && forced.from == forced.to && !pending)
        forced = (struct forced){0};
    bool turn_hold = false;
    if (forced.from != 0) {
        memcpy(other, clock, threads * sizeof *other);
        turn_hold = !hold_ordered(search, &forced, footprint, thread, other);
    }
    if (forced.to != 0)
        join(search, clock, search->events[forced.to - 1].clock);
    uint64_t open = pending ? 0 : not_known(search, thread, clock);
    for (size_t i = end; i > 0 && open != 0; i--) {
        const struct event *event = &search->events[i - 1];
        if (event->number <= clock[event->thread])
            open &= ~bit_of(event->thread);
        if (!(open & bit_of(event->thread)) || !depend(search, &event->footprint, footprint))
            continue;
        if (!event->footprint.all && !footprint->all)
            turn(search, i - 1, end, thread, clock);
        join(search, clock, event->clock);
    }
    if (turn_hold)
        turn(search, forced.from - 1, end, thread, clock);
}

/* ---- the search ------------------------------------------------------------------------------ */

/* Let a thread of the newest state run: its event stands, and the state behind it is the newest. */
static bool take(struct search *search, uint32_t thread)
{
    const struct engine_program *program = search->program;
    struct event *event = &search->events[search->count];
    struct footprint *footprint = &event->footprint;
    memset(footprint, 0, sizeof *footprint);
    program->step(program->context, thread, thread == event->first, footprint);
    search->result->steps++;
    event->thread = thread;
    event->next[thread] = *footprint;
    if (footprint->all || footprint->stops)
        event->backtrack |= event->enabled;
    order(search, thread, footprint, event->clock, false);
    event->number = ++event->clock[thread];
    uint64_t asleep = (event->sleep | event->done) & ~bit_of(thread);
    event->done |= bit_of(thread);
    event->before = search->last[thread];
    search->last[thread] = (uint32_t)++search->count;
    const struct footprint *next = event->next;
    struct event *behind = event_next(search); /* may move the events */
    if (behind == NULL)
        return false;
    event = &search->events[search->count - 1];
    behind->sleep = 0;
    for (; asleep != 0; asleep &= asleep - 1) {
        uint32_t other = (uint32_t)__builtin_ctzll(asleep);
        if (depend(search, &next[other], &event->footprint))
            continue;
        behind->sleep |= bit_of(other);
        behind->next[other] = next[other];
    }
    return true;
}

/*
 * The steps that never come, for the program is over, or all that can run sleep: threads that stand
 * before locks. Who had them last may have given them back in the last step, too late for anybody.
 */
static void order_pending(struct search *search)
{
    const struct engine_program *program = search->program;
    uint32_t clock[ENGINE_THREADS];
    for (uint32_t thread = 0; program->waits != NULL && thread < program->threads; thread++) {
        struct footprint footprint = {0};
        if (program->waits(program->context, thread, &footprint))
            order(search, thread, &footprint, clock, true);
    }
}

/* Run on from the newest state until the program is over, or all that can run sleep. */
static enum trk_status run_on(struct search *search)
{
    const struct engine_program *program = search->program;
    for (;;) {
        struct event *event = &search->events[search->count];
        enum engine_phase phase = program->phase(program->context);
        uint8_t threads[ENGINE_THREADS];
        uint32_t count = phase == ENGINE_GOING ? program->enabled(program->context, threads) : 0;
        if (count == 0) {
            order_pending(search);
            if (phase == ENGINE_GOING)
                program->deadlock(program->context);
            search->result->schedules++;
            return program->end(program->context, NULL);
        }
        event->enabled = event->backtrack = event->done = 0;
        event->first = threads[0];
        uint32_t chosen = count;
        for (uint32_t i = 0; i < count; i++) {
            event->enabled |= bit_of(threads[i]);
            if (chosen == count && !(event->sleep & bit_of(threads[i])))
                chosen = i;
        }
        if (chosen == count) {
            order_pending(search);
            search->result->cut++;
            return TRK_OK;
        }
        event->backtrack = bit_of(threads[chosen]);
        if (count > 1 &&
            !(program->save(program->context, event->slot) && engine_keep(program, event->slot)))
            search->no_memory = true;
        if (search->no_memory || !take(search, threads[chosen]))
            return TRK_E_MEMORY;
    }
}

/* Go back to the newest state with threads left to try, and let one run; false: there is none. */
static bool back(struct search *search)
{
    const struct engine_program *program = search->program;
    while (search->count > 0) {
        struct event *event = &search->events[--search->count];
        search->last[event->thread] = event->before;
        uint64_t left = event->backtrack & ~(event->done | event->sleep);
        if (left == 0)
            continue;
        program->restore(program->context, event->slot);
        uint32_t next = (uint32_t)__builtin_ctzll(left);
        search->no_memory |= !take(search, next);
        return true;
    }
    return false;
}

/* The part of the tree of choices that is behind the search. */
static uint32_t covered_percent(const struct search *search)
{
    uint64_t covered = 0, part = UINT64_C(1) << 40;
    for (size_t i = 0; i < search->count && part > 0; i++) {
        const struct event *event = &search->events[i];
        uint64_t tried = (uint64_t)__builtin_popcountll(event->done & ~event->sleep);
        uint64_t all =
            (uint64_t)__builtin_popcountll((event->backtrack | event->done) & ~event->sleep);
        if (all == 0)
            continue;
        covered += part / all * (tried > 0 ? tried - 1 : 0);
        part /= all;
    }
    return (uint32_t)(covered * 100 >> 40);
}

enum trk_status engine_dpor(const struct engine_program *program,
                            const struct engine_limits *limits, struct engine_result *result)
{
    struct search search = {.program = program, .result = result};
    *result = (struct engine_result){0};
    enum trk_status status = event_next(&search) != NULL ? TRK_OK : TRK_E_MEMORY;
    bool more = status == TRK_OK;
    while (more) {
        status = run_on(&search);
        if (status != TRK_OK)
            break;
        bool leaves = !engine_goes_on(&limits->leave);
        bool enough = leaves || result->schedules >= limits->most;
        more = back(&search);
        result->stopped_early = enough && more;
        result->left = leaves && more;
        if (result->stopped_early)
            result->covered_percent = covered_percent(&search);
        more = more && !enough;
        if (search.no_memory)
            status = TRK_E_MEMORY;
        if (status != TRK_OK)
            break;
    }
    for (size_t i = 0; i < search.capacity; i++) {
        struct event *event = &search.events[i];
        if (event->slot != NULL)
            program->drop(program->context, event->slot);
        free(event->slot);
        free(event->clock);
        free(event->next);
    }
    free(search.events);
    return status;
}
