/*
 * Goal: the engines find every schedule, and one of each class.
 * Method: programs for the engines alone: two threads and two locks, whose counts are known; small
 * ones made from seeds, of which all schedules are run one by one: their ends, and the classes that
 * they fall into, are what the engines must find.
 * Again: TRK_SEED and TRK_PROGRAMS in the environment.
 */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "chance.h"
#include "engine_graph.h"
#include "environment.h"
#include "small_program.h"

static const struct engine_limits no_limits = {.most = UINT64_MAX};

/* ---- known counts ---------------------------------------------------------------------------- */

struct two_locks_case {
    const char *name;
    uint32_t rounds;
    uint64_t interleavings, states, classes;
};

static const struct two_locks_case two_locks[] = {
    {"one round", 1, 64, 20, 4},
    {"two rounds", 2, 3416, 58, 26},
    {"three rounds", 3, 190568, 116, 192},
    {"four rounds", 4, 10928984, 194, 1500},
    {"five rounds", 5, 638786976, 292, 12092},
};

Test(engines, two_locks)
{
    for (size_t i = 0; i < sizeof two_locks / sizeof two_locks[0]; i++) {
        const struct two_locks_case *its = &two_locks[i];
        struct small_program small;
        struct engine_program program;
        struct engine_result result;
        small_two_locks(&small, its->rounds);
        program = small_engine(&small);
        cr_assert_eq(engine_hashed(&program, &no_limits, &result), TRK_OK);
        cr_expect_eq(result.interleavings, its->interleavings, "%s", its->name);
        cr_expect_eq(result.states, its->states, "%s: %" PRIu64, its->name, result.states);
        small_two_locks(&small, its->rounds);
        cr_assert_eq(engine_dpor(&program, &no_limits, &result), TRK_OK);
        cr_expect_eq(result.schedules, its->classes, "%s: %" PRIu64, its->name, result.schedules);
        cr_expect_eq(result.cut, 0, "%s", its->name);
    }
}

/* Locks taken in both orders. Both threads have one lock in 2 schedules; with both locks a thread
 * lets the other take its first one before or after it gives the second back: 2, for either. */
static void make_inversion(struct small_program *small)
{
    static const struct small_step steps[2][5] = {
        {{SMALL_LOCK, 0, 0},
         {SMALL_LOCK, 1, 0},
         {SMALL_UNLOCK, 1, 0},
         {SMALL_UNLOCK, 0, 0},
         {SMALL_END, 0, 0}},
        {{SMALL_LOCK, 1, 0},
         {SMALL_LOCK, 0, 0},
         {SMALL_UNLOCK, 0, 0},
         {SMALL_UNLOCK, 1, 0},
         {SMALL_END, 0, 0}},
    };
    memset(small, 0, sizeof *small);
    small->threads = 2;
    for (uint32_t thread = 0; thread < 2; thread++)
        memcpy(small->steps[thread], steps[thread], sizeof steps[thread]);
}

Test(engines, counts_of_endings)
{
    struct small_program small;
    struct engine_graph graph = {0};
    struct engine_limits limits = {.most = UINT64_MAX, .graph = &graph};
    struct engine_result result;
    schedule_count counts[ENGINE_GRAPH_CAME];
    make_inversion(&small);
    struct engine_program program = small_engine(&small);
    cr_assert_eq(engine_hashed(&program, &limits, &result), TRK_OK);
    cr_assert(engine_graph_counts(&graph, counts));
    cr_expect_eq(result.interleavings, 6);
    cr_expect_eq(counts[0], 4);
    cr_expect_eq(counts[1], 0);
    cr_expect_eq(counts[2], 2);
    engine_graph_deinit(&graph);
}

/* Of 6 schedules 2 are deadlocks, each chosen with a chance of 1/4 and weighted with 4. */
Test(engines, estimates_the_share_of_endings)
{
    struct small_program small;
    uint32_t percent = 0;
    make_inversion(&small);
    struct engine_program program = small_engine(&small);
    cr_assert_eq(engine_share(&program, 1000, 1, &percent), TRK_OK);
    cr_expect(percent >= 28 && percent <= 38, "%u %%", percent);
    make_inversion(&small);
    cr_assert_eq(engine_share(&program, 1000, 1 | 4, &percent), TRK_OK);
    cr_expect_eq(percent, 0);
}

Test(engines, stops_early)
{
    struct small_program small;
    struct engine_limits limits = {.most = 10};
    struct engine_result result;
    small_two_locks(&small, 3);
    struct engine_program program = small_engine(&small);
    cr_assert_eq(engine_dpor(&program, &limits, &result), TRK_OK);
    cr_expect_eq(result.schedules, 10);
    cr_expect(result.stopped_early);
    small_two_locks(&small, 3);
    cr_assert_eq(engine_hashed(&program, &limits, &result), TRK_OK);
    cr_expect_eq(result.schedules, 10);
    cr_expect(result.stopped_early);
    cr_expect_eq(result.interleavings, 0);
}

/* ---- all schedules, one by one --------------------------------------------------------------- */

#define STEPS_MOST   32u
#define CLASSES_MOST 8192u
#define ALL_MOST     200000u

struct taken {
    uint32_t thread, number;
    struct footprint footprint;
    uint32_t clock[SMALL_THREADS];
};

struct all {
    struct small_program *small;
    struct engine_program program;
    struct taken taken[STEPS_MOST];
    uint64_t classes[CLASSES_MOST];
    uint64_t count, class_count;
    bool whole[3];        /* ends that were seen */
    uint64_t ends[3];     /* schedules that come to them */
    uint64_t cheapest[3]; /* preemptions << 32 | steps; UINT64_MAX: none */
};

static uint64_t mix(uint64_t digest, uint64_t value)
{
    digest = (digest ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return digest ^ digest >> 29;
}

/* What is the same for all schedules of a class: each step with what is ordered before it. */
static void note_class(struct all *all, uint32_t depth)
{
    uint64_t sum = depth;
    for (uint32_t i = 0; i < depth; i++) {
        const struct taken *taken = &all->taken[i];
        uint64_t digest = mix(taken->thread, taken->number);
        for (uint32_t t = 0; t < SMALL_THREADS; t++)
            digest = mix(digest, taken->clock[t]);
        sum += digest;
    }
    for (uint64_t i = 0; i < all->class_count; i++)
        if (all->classes[i] == sum)
            return;
    cr_assert_lt(all->class_count, CLASSES_MOST);
    all->classes[all->class_count++] = sum;
}

static void set_clock(struct all *all, uint32_t depth)
{
    struct taken *taken = &all->taken[depth];
    memset(taken->clock, 0, sizeof taken->clock);
    taken->number = 1;
    for (uint32_t i = 0; i < depth; i++) {
        const struct taken *other = &all->taken[i];
        taken->number += other->thread == taken->thread;
        if (other->thread != taken->thread &&
            !footprint_depend(&other->footprint, &taken->footprint, 1))
            continue;
        for (uint32_t t = 0; t < SMALL_THREADS; t++)
            if (other->clock[t] > taken->clock[t])
                taken->clock[t] = other->clock[t];
    }
    taken->clock[taken->thread] = taken->number;
}

/* The last step's thread could have gone on, and another one does. */
static uint64_t preempts(struct all *all, uint32_t depth, const uint8_t *threads, uint32_t count,
                         uint32_t chosen)
{
    for (uint32_t i = 0; depth > 0 && i < count; i++)
        if (threads[i] == all->taken[depth - 1].thread)
            return chosen != threads[i];
    return 0;
}

static void run_all(struct all *all, uint32_t depth, uint64_t preemptions)
{
    struct engine_program *program = &all->program;
    uint8_t threads[ENGINE_THREADS];
    uint32_t count = 0;
    if (program->phase(all->small) == ENGINE_GOING)
        count = program->enabled(all->small, threads);
    if (count == 0) {
        uint32_t came;
        if (program->phase(all->small) == ENGINE_GOING)
            program->deadlock(all->small);
        (void)program->end(all->small, &came);
        all->whole[came] = true;
        all->ends[came]++;
        uint64_t cost = preemptions << 32 | depth;
        all->cheapest[came] = cost < all->cheapest[came] ? cost : all->cheapest[came];
        all->count++;
        note_class(all, depth);
        return;
    }
    struct small_state state = all->small->state;
    for (uint32_t i = 0; i < count && all->count < ALL_MOST; i++) {
        struct taken *taken = &all->taken[depth];
        *taken = (struct taken){.thread = threads[i]};
        program->step(all->small, threads[i], i == 0, &taken->footprint);
        set_clock(all, depth);
        run_all(all, depth + 1, preemptions + preempts(all, depth, threads, count, threads[i]));
        all->small->state = state;
    }
}

/* ---- programs from seeds --------------------------------------------------------------------- */

static uint32_t below(uint64_t *random, uint32_t bound)
{
    return (uint32_t)(trk_chance_next(random) % bound);
}

/* A few steps of a thread; locks are taken in any order and are given back, mostly. */
static void make_thread(struct small_program *small, uint32_t thread, uint64_t *random, bool rules)
{
    struct small_step *step = small->steps[thread];
    uint8_t held[SMALL_LOCKS];
    uint32_t held_count = 0, count = 2 + below(random, small->threads == 2 ? 5 : 3);
    for (uint32_t i = 0; i < count; i++) {
        uint8_t which = (uint8_t)below(random, 2);
        uint32_t kind = below(random, rules ? 12 : 9);
        bool own = held_count > 0 && (held[0] == which || (held_count > 1 && held[1] == which));
        if (kind < 4 && !own && held_count < 2) {
            *step++ = (struct small_step){SMALL_LOCK, which, 0};
            held[held_count++] = which;
        } else if (kind < 5 && held_count > 0) {
            *step++ = (struct small_step){SMALL_UNLOCK, held[--held_count], 0};
        } else if (kind < 7) {
            *step++ = (struct small_step){SMALL_READ, which, 0};
        } else if (kind < 9) {
            *step++ = (struct small_step){SMALL_WRITE, which, (uint8_t)(1 + below(random, 3))};
        } else if (kind == 9) {
            *step++ = (struct small_step){SMALL_CHECK, which, (uint8_t)(1 + below(random, 3))};
        } else {
            *step++ = (struct small_step){kind == 10 ? SMALL_SIGNAL : SMALL_AWAIT, which, 0};
        }
    }
    while (held_count > 0 && below(random, 8) > 0)
        *step++ = (struct small_step){SMALL_UNLOCK, held[--held_count], 0};
    *step = (struct small_step){SMALL_END, 0, 0};
}

static void make_program(struct small_program *small, uint64_t seed, bool rules)
{
    uint64_t random = seed;
    memset(small, 0, sizeof *small);
    small->threads = 2 + below(&random, 2);
    for (uint32_t thread = 0; thread < small->threads; thread++)
        make_thread(small, thread, &random, rules);
}

/* The cheapest schedule of each end is what the graph gives, and it leads there. */
static void expect_ways(struct all *all, struct engine_graph *graph, uint64_t seed, bool rules)
{
    struct small_program *small = all->small;
    struct engine_way ways[ENGINE_GRAPH_CAME];
    cr_assert(engine_graph_ways(graph, small->threads, ways));
    for (uint32_t came = 0; came < 3; came++) {
        const struct engine_way *way = &ways[came];
        cr_expect_eq(way->there, all->whole[came], "TRK_SEED=%" PRIu64, seed);
        if (!way->there)
            continue;
        cr_expect_eq((uint64_t)way->preemptions << 32 | way->steps, all->cheapest[came],
                     "TRK_SEED=%" PRIu64 ": end %u", seed, came);
        make_program(small, seed, rules);
        uint8_t threads[ENGINE_THREADS];
        size_t next = 0;
        while (all->program.phase(small) == ENGINE_GOING) {
            uint32_t count = all->program.enabled(small, threads);
            if (count == 0)
                all->program.deadlock(small);
            else
                all->program.step(small, count > 1 ? way->choices[next++] : threads[0], true, NULL);
        }
        uint32_t led;
        (void)all->program.end(small, &led);
        cr_expect_eq(next, way->count, "TRK_SEED=%" PRIu64, seed);
        cr_expect_eq(led, came, "TRK_SEED=%" PRIu64, seed);
        free(way->choices);
    }
}

static void expect_counts(const struct all *all, struct engine_graph *graph, uint64_t seed)
{
    schedule_count counts[ENGINE_GRAPH_CAME];
    cr_assert(engine_graph_counts(graph, counts));
    for (uint32_t came = 0; came < ENGINE_GRAPH_CAME; came++)
        cr_expect_eq(counts[came], came < 3 ? all->ends[came] : 0, "TRK_SEED=%" PRIu64 ": end %u",
                     seed, came);
}

static void expect_ends(const struct small_program *small, const struct all *all, const char *name,
                        uint64_t seed)
{
    for (uint32_t i = 0; i < 3; i++)
        cr_expect_eq(small->ends[i] > 0, all->whole[i], "TRK_SEED=%" PRIu64 ": %s, end %u", seed,
                     name, i);
}

/* rules: threads may also break one, or wait for events; then a class is not what it was. */
static void check(uint64_t seed, bool rules)
{
    static struct all all;
    struct small_program small;
    struct engine_result result;
    make_program(&small, seed, rules);
    memset(&all, 0, sizeof all);
    all.small = &small;
    all.program = small_engine(&small);
    memset(all.cheapest, 0xff, sizeof all.cheapest);
    run_all(&all, 0, 0);
    if (all.count >= ALL_MOST)
        return;
    make_program(&small, seed, rules);
    struct engine_graph graph = {0};
    struct engine_limits with_graph = {.most = UINT64_MAX, .graph = &graph};
    cr_assert_eq(engine_hashed(&all.program, &with_graph, &result), TRK_OK);
    cr_expect_eq(result.interleavings, all.count, "TRK_SEED=%" PRIu64, seed);
    expect_ends(&small, &all, "hashed", seed);
    expect_counts(&all, &graph, seed);
    expect_ways(&all, &graph, seed, rules);
    expect_counts(&all, &graph, seed);
    engine_graph_deinit(&graph);
    make_program(&small, seed, rules);
    cr_assert_eq(engine_dpor(&all.program, &no_limits, &result), TRK_OK);
    expect_ends(&small, &all, "dpor", seed);
    if (!all.whole[1])
        cr_expect_eq(result.schedules, all.class_count,
                     "TRK_SEED=%" PRIu64 ": %" PRIu64 " classes, %" PRIu64 " found", seed,
                     all.class_count, result.schedules);
}

Test(engines, find_every_class)
{
    uint64_t seed = environment_number("TRK_SEED", 1),
             programs = environment_number("TRK_PROGRAMS", 300);
    for (uint64_t i = 0; i < programs; i++) {
        check(seed + i, false);
        check(seed + i, true);
    }
}
