/*
 * Goal: a ring never loses an event without counting it, never shows one that is not filled, and
 * keeps order, also when signal handlers append in the middle of an append.
 *
 * Method: rings in plain memory; the test is the drain. Interruptions are made in two ways: one
 * instruction after the other (the processor's single-step trap appends from its handler, at each
 * instruction of an append in turn), and by a real timer at any moment.
 */
#define _GNU_SOURCE /* REG_EFL and friends */
#include "ring.h"

#include <signal.h>
#include <string.h>
#include <sys/time.h>

#include <criterion/criterion.h>

#define SMALL 128u

/* A sanitizer makes an append many times longer, and no instruction of its own matters. */
#if defined(__SANITIZE_ADDRESS__)
#define STEP_STRIDE 13u
#else
#define STEP_STRIDE 1u
#endif

static struct trk_session_ring shared;
static struct trk_session_losses losses;
static struct trk_record slots[1u << 16];
static struct trk_ring ring;

static void start(uint64_t capacity, uint64_t position)
{
    memset(&shared, 0, sizeof(shared));
    memset(&losses, 0, sizeof(losses));
    memset(slots, 0, capacity * sizeof(slots[0]));
    atomic_store(&shared.head, position);
    atomic_store(&shared.tail, position);
    trk_ring_init(&ring, &(struct trk_ring_place){&shared, &losses, slots, capacity});
}

static void append(uint8_t type, uint64_t argument)
{
    struct trk_event event = {.argument = argument, .type = type};
    trk_ring_append(&ring, &event);
}

static uint64_t held(void)
{
    return atomic_load(&shared.head) - atomic_load(&shared.tail);
}

static const struct trk_record *at(uint64_t position)
{
    return &slots[position & (ring.capacity - 1)];
}

static void take(uint64_t count)
{
    atomic_store(&shared.tail, atomic_load(&shared.tail) + count);
}

Test(ring, keeps_order_over_the_wrap)
{
    static const uint64_t starts[] = {
        0, 1, SMALL - 1, SMALL, UINT64_C(1) << 32, (UINT64_C(1) << 40) - 3};
    for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); ++i) {
        start(SMALL, starts[i]);
        uint64_t next = 0;
        for (uint64_t n = 0; n < 1000; ++n) {
            append(TRK_EVENT_LOCK, n);
            if (held() < 100)
                continue;
            for (uint64_t p = atomic_load(&shared.tail); p < atomic_load(&shared.head); ++p)
                cr_assert_eq(at(p)->event.argument, next++);
            take(held());
        }
        cr_assert_eq(next + held(), 1000);
        cr_assert_eq(atomic_load(&shared.dropped), 0);
    }
}

Test(ring, fills_to_the_brim_with_state_and_to_seven_eighths_with_observations)
{
    static const struct {
        const char *name;
        uint8_t type;
        uint64_t room;
    } cases[] = {
        {"core outcome", TRK_EVENT_LOCK, SMALL},
        {"core command", TRK_EVENT_OP_BEGIN, SMALL},
        {"fault", TRK_EVENT_FAULT, SMALL},
        {"tracker", TRK_EVENT_TRACKER, SMALL},
        {"map", TRK_EVENT_MAP, SMALL},
        {"guest protect", TRK_EVENT_GUEST_PROTECT, SMALL},
        {"signal", TRK_EVENT_SIGNAL, SMALL},
        {"await", TRK_EVENT_AWAIT, SMALL},
        {"mark", TRK_EVENT_MARK, SMALL - SMALL / 8},
        {"frame", TRK_EVENT_FRAME, SMALL - SMALL / 8},
        {"copy", TRK_EVENT_COPY_BEGIN, SMALL - SMALL / 8},
        {"witness", TRK_EVENT_WITNESS_STORE, SMALL - SMALL / 8},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        start(SMALL, 77);
        for (uint64_t n = 0; n < 1000; ++n)
            append(cases[i].type, n);
        cr_assert_eq(held(), cases[i].room, "%s: %llu held", cases[i].name,
                     (unsigned long long)held());
        cr_assert_eq(atomic_load(&shared.dropped), 1000 - cases[i].room, "%s", cases[i].name);
    }
}

/* What the drain makes of DROP records: losses by the absolute count of each type. */
static uint64_t losses_told(uint64_t *events)
{
    uint64_t told[TRK_SESSION_LOSS_KINDS] = {0};
    uint64_t sum = 0;
    *events = 0;
    for (uint64_t p = atomic_load(&shared.tail); p < atomic_load(&shared.head); ++p) {
        const struct trk_event *event = &at(p)->event;
        uint32_t kind = trk_session_loss_kind(event->context);
        if (event->type != TRK_EVENT_DROP)
            *events += 1;
        else if (event->argument > told[kind])
            told[kind] = event->argument;
    }
    for (uint32_t kind = 0; kind < TRK_SESSION_LOSS_KINDS; ++kind)
        sum += told[kind];
    return sum;
}

Test(ring, tells_a_loss_before_the_next_record)
{
    start(SMALL, 0);
    for (uint64_t n = 0; n < SMALL + 5; ++n)
        append(TRK_EVENT_LOCK, n);
    take(1);
    append(TRK_EVENT_LOCK, 1000); /* one free slot: no room for the DROP and the event */
    cr_assert_eq(atomic_load(&shared.dropped), 6);
    cr_assert_eq(held(), SMALL - 1, "a DROP alone only takes room away");
    take(9);
    append(TRK_EVENT_LOCK, 1001);
    append(TRK_EVENT_LOCK, 1002);
    uint64_t head = atomic_load(&shared.head);
    cr_assert_eq(at(head - 3)->event.type, TRK_EVENT_DROP);
    cr_assert_eq(at(head - 3)->event.argument, 6);
    cr_assert_eq(at(head - 3)->event.context, TRK_EVENT_LOCK);
    cr_assert_geq(at(head - 3)->tsc, at(head - 4)->tsc);
    cr_assert_gt(trk_event_size(&at(head - 3)->event), 0, "from the first to the last loss");
    cr_assert_lt(at(head - 3)->tsc + trk_event_size(&at(head - 3)->event), at(head - 2)->tsc);
    cr_assert_eq(at(head - 2)->event.argument, 1001);
    cr_assert_eq(at(head - 1)->event.argument, 1002);
}

Test(ring, tells_each_type_by_itself)
{
    static const struct {
        uint8_t type;
        uint64_t count;
    } cases[] = {{TRK_EVENT_LOCK, 3},
                 {TRK_EVENT_FAULT, 1},
                 {TRK_EVENT_MARK, 7},
                 {TRK_EVENT_SIGNAL, 2},
                 {63, 4},
                 {200, 5}};
    enum { CASES = sizeof(cases) / sizeof(cases[0]) };
    start(SMALL, 0);
    for (uint64_t round = 0; round < 2; ++round) {
        while (held() < SMALL)
            append(TRK_EVENT_LOCK, 0);
        for (size_t i = 0; i < CASES; ++i) {
            for (uint64_t n = 0; n < cases[i].count; ++n)
                append(cases[i].type, n);
        }
        take(SMALL);
        append(TRK_EVENT_LOCK, 77);
        uint64_t seen = 0;
        for (uint64_t p = atomic_load(&shared.tail); p < atomic_load(&shared.head) - 1; ++p) {
            cr_assert_eq(at(p)->event.type, TRK_EVENT_DROP);
            for (size_t i = 0; i < CASES - 2; ++i) {
                if (at(p)->event.context != cases[i].type)
                    continue;
                ++seen;
                cr_assert_eq(at(p)->event.argument, (round + 1) * cases[i].count);
            }
            if (at(p)->event.context == TRK_EVENT_NONE) /* the two that are no types */
                cr_assert_eq(at(p)->event.argument, (round + 1) * 9);
        }
        cr_assert_eq(seen, CASES - 2);
        cr_assert_eq(held(), CASES);
        cr_assert_eq(at(atomic_load(&shared.head) - 1)->event.argument, 77);
        take(held());
    }
}

Test(ring, observations_that_find_no_room_do_not_eat_the_reserve)
{
    start(SMALL, 0);
    for (uint64_t n = 0; n < 100000; ++n)
        append(TRK_EVENT_MARK, n);
    cr_assert_eq(held(), SMALL - SMALL / 8);
    for (uint64_t n = 0; n < SMALL / 8 - 1; ++n)
        append(TRK_EVENT_LOCK, n);
    cr_assert_eq(held(), SMALL);
    uint64_t events = 0;
    cr_assert_eq(losses_told(&events), 100000 - (SMALL - SMALL / 8));
    cr_assert_eq(events, SMALL - 1);
}

/* Whatever was appended is in the ring or counted, in order, and the ring is at rest. */
static void check_whole(uint64_t attempts, const char *what, uint64_t step)
{
    uint64_t events = 0;
    uint64_t told = losses_told(&events);
    uint64_t dropped = atomic_load(&shared.dropped);
    cr_assert_eq(events + dropped, attempts, "%s, step %llu: %llu kept, %llu lost of %llu", what,
                 (unsigned long long)step, (unsigned long long)events, (unsigned long long)dropped,
                 (unsigned long long)attempts);
    cr_assert_leq(told, dropped, "%s, step %llu: tells more than was lost", what,
                  (unsigned long long)step);
    cr_assert_eq(atomic_load(&shared.head), ring.reserved, "%s, step %llu: not published", what,
                 (unsigned long long)step);
    cr_assert_eq(ring.depth, 0, "%s, step %llu", what, (unsigned long long)step);
    cr_assert_leq(held(), ring.capacity, "%s, step %llu: over the brim", what,
                  (unsigned long long)step);
    uint64_t stamp = 0;
    for (uint64_t p = atomic_load(&shared.tail); p < atomic_load(&shared.head); ++p) {
        cr_assert_neq(at(p)->event.type, TRK_EVENT_NONE, "%s, step %llu: hole", what,
                      (unsigned long long)step);
        if (at(p)->event.type == TRK_EVENT_DROP) /* its time is that of the first loss */
            continue;
        cr_assert_geq(at(p)->tsc, stamp, "%s, step %llu: stamps run backwards", what,
                      (unsigned long long)step);
        stamp = at(p)->tsc;
    }
}

#if defined(__x86_64__)

static uint64_t taken_events; /* of the handler's drain, DROP records left out */

static void take_all(void)
{
    uint64_t head = atomic_load(&shared.head);
    for (uint64_t p = atomic_load(&shared.tail); p < head; ++p)
        taken_events += at(p)->event.type != TRK_EVENT_DROP;
    take(head - atomic_load(&shared.tail));
}

static volatile uint64_t steps;
static volatile uint64_t step_to_append_at;
static volatile uint64_t appends_a_step;
static volatile bool handler_takes; /* the drain comes meanwhile, too */
static volatile bool saw_unfilled;

static void on_step(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)info;
    steps = steps + 1;
    if (steps != step_to_append_at)
        return;
    for (uint64_t i = 0; i < appends_a_step; ++i)
        append(TRK_EVENT_LOCK, 500 + i);
    for (uint64_t p = atomic_load(&shared.tail); p < atomic_load(&shared.head); ++p)
        saw_unfilled = saw_unfilled || at(p)->event.type == TRK_EVENT_NONE;
    if (handler_takes)
        take_all();
    ucontext_t *interrupted = context;
    interrupted->uc_mcontext.gregs[REG_EFL] &= ~0x100; /* the rest may run at full speed */
}

static void __attribute__((noinline)) append_stepwise(uint64_t argument)
{
    steps = 0;
    __asm__ volatile("pushfq\n\torq $0x100, (%%rsp)\n\tpopfq" : : : "memory", "cc");
    append(TRK_EVENT_LOCK, argument);
    __asm__ volatile("pushfq\n\tandq $~0x100, (%%rsp)\n\tpopfq" : : : "memory", "cc");
}

struct step_case {
    const char *name;
    uint64_t before; /* events that are in the ring already */
    uint64_t taken;  /* of these, by the drain */
    uint64_t nested; /* events that the handler appends */
    bool takes;      /* the handler takes all that is published afterwards */
    uint64_t lost;   /* at most */
};

/* One append, interrupted at its instruction number `step`; false when it has fewer. */
static bool interrupt_at(const struct step_case *which, uint64_t step)
{
    start(SMALL, 3);
    step_to_append_at = 0;
    for (uint64_t n = 0; n < which->before; ++n)
        append(TRK_EVENT_LOCK, n);
    take(which->taken);
    taken_events = 0;
    saw_unfilled = false;
    appends_a_step = which->nested;
    handler_takes = which->takes;
    step_to_append_at = step;
    append_stepwise(400);
    uint64_t nested = steps == step ? which->nested : 0;
    cr_assert_not(saw_unfilled, "%s, step %llu: published before it was filled", which->name,
                  (unsigned long long)step);
    cr_assert_leq(atomic_load(&shared.dropped), which->lost, "%s, step %llu: lost for nothing",
                  which->name, (unsigned long long)step);
    check_whole(which->before - which->taken + 1 + nested - taken_events, which->name, step);
    return steps == step;
}

Test(ring, bears_an_interruption_at_every_instruction)
{
    static const struct step_case cases[] = {
        {"empty ring", 0, 0, 1, false, 0},
        {"three nested", 0, 0, 3, false, 0},
        {"last slot", SMALL - 1, 0, 1, false, 1},
        {"last two slots", SMALL - 2, 0, 1, false, 0},
        {"full ring", SMALL, 0, 2, false, 3},
        {"full ring with room again", SMALL, 50, 2, false, 0},
        {"full ring with room again, drained meanwhile", SMALL, SMALL, 2, true, 0},
        {"loss to tell", SMALL + 7, 50, 1, false, 7},
        {"loss to tell, drained meanwhile", SMALL + 7, 50, 1, true, 7},
        {"loss to tell, room for two", SMALL + 7, 2, 1, false, 9},
        {"loss to tell, room for three", SMALL + 7, 3, 2, false, 10},
        {"nested fills the ring", SMALL + 3, 10, 20, false, 30},
    };
    struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
    sigaction(SIGTRAP, &action, NULL);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        uint64_t step = 1;
        while (interrupt_at(&cases[i], step))
            step += STEP_STRIDE;
        cr_assert_gt(step, 20, "%s: only %llu instructions were stepped", cases[i].name,
                     (unsigned long long)step);
    }
}

#endif

static volatile uint64_t timer_appends;
static volatile uint64_t timer_inside; /* of these, in the middle of an append */

static void on_timer(int number)
{
    (void)number;
    timer_inside = timer_inside + (ring.depth > 0);
    for (int i = 0; i < 3; ++i) {
        append(TRK_EVENT_UNLOCK, timer_appends);
        timer_appends = timer_appends + 1;
    }
}

/* Check and take what is published; each side's numbers must go on without holes. */
static void drain_storm(uint64_t *next_own, uint64_t *next_timer)
{
    uint64_t head = atomic_load(&shared.head);
    for (uint64_t p = atomic_load(&shared.tail); p < head; ++p) {
        uint64_t *next = at(p)->event.type == TRK_EVENT_LOCK ? next_own : next_timer;
        cr_assert_eq(at(p)->event.argument, *next);
        *next += 1;
    }
    atomic_store(&shared.tail, head);
}

Test(ring, bears_a_storm_of_timer_signals)
{
    start(1u << 16, 0);
    struct sigaction action = {.sa_handler = on_timer, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &action, NULL);
    struct itimerval often = {{0, 100}, {0, 100}};
    setitimer(ITIMER_REAL, &often, NULL);
    uint64_t next_own = 0;
    uint64_t next_timer = 0;
    uint64_t own = 0;
    while (own < 4000000 && timer_inside < 50) {
        append(TRK_EVENT_LOCK, own++);
        if (own % 16384 == 0)
            drain_storm(&next_own, &next_timer);
    }
    setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 0}}, NULL);
    drain_storm(&next_own, &next_timer);
    cr_assert_eq(atomic_load(&shared.dropped), 0);
    cr_assert_eq(next_own, own);
    cr_assert_eq(next_timer, timer_appends);
    cr_assert_gt(timer_appends, 0);
}
