/*
 * Goal: a signal inside a signal inside an append costs no event, shows none that is not filled and
 * leaves the ring at rest.
 *
 * Method: the single-step trap of the processor, twice: the append is interrupted at one of its
 * instructions by a handler that appends, and that append at one of its own by another one. Pairs
 * of instructions are gone through with strides that have no common divisor.
 */
#define _GNU_SOURCE /* REG_EFL */
#include "ring.h"

#include <signal.h>
#include <string.h>
#include <ucontext.h>

#include <criterion/criterion.h>

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

#define RECORDS      128u
#define OUTER_STRIDE 11u
#define INNER_STRIDE 5u
#define STEP_FLAG    0x100

static struct trk_session_ring shared;
static struct trk_session_losses losses;
static struct trk_record slots[RECORDS];
static struct trk_ring ring;

/* Where the two interruptions come; levels: 0 nothing is interrupted, 1 the append, 2 both. */
static volatile uint64_t steps[2];
static volatile uint64_t wanted[2];
static volatile int level;
static volatile bool saw_unfilled;

static void append(uint64_t argument)
{
    struct trk_event event = {.argument = argument, .type = TRK_EVENT_LOCK};
    trk_ring_append(&ring, &event);
}

static void __attribute__((noinline)) append_stepwise(uint64_t argument)
{
    __asm__ volatile("pushfq\n\torq $0x100, (%%rsp)\n\tpopfq" : : : "memory", "cc");
    append(argument);
    __asm__ volatile("pushfq\n\tandq $~0x100, (%%rsp)\n\tpopfq" : : : "memory", "cc");
}

static void look_for_unfilled(void)
{
    for (uint64_t p = atomic_load(&shared.tail); p < atomic_load(&shared.head); ++p)
        saw_unfilled = saw_unfilled || slots[p & (RECORDS - 1)].event.type == TRK_EVENT_NONE;
}

static void on_step(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)info;
    int now = level;
    steps[now] = steps[now] + 1;
    if (steps[now] != wanted[now])
        return;
    ucontext_t *interrupted = context;
    interrupted->uc_mcontext.gregs[REG_EFL] &= ~STEP_FLAG; /* once is enough at this level */
    if (now == 0) {
        level = 1;
        append_stepwise(200);
        level = 0;
    } else {
        append(300);
        append(301);
    }
    look_for_unfilled();
}

static const struct nested_case {
    const char *name;
    uint64_t before; /* events in the ring */
    uint64_t taken;  /* of these, by the drain */
} cases[] = {
    {"empty ring", 0, 0},
    {"last three slots", RECORDS - 3, 0},
    {"full ring", RECORDS, 0},
    {"losses to tell", RECORDS + 5, 40},
    {"losses to tell, little room", RECORDS + 5, 4},
};

#define WHERE "%s, instructions %llu and %llu: %s"

/* Everything appended is in the ring or counted, type by type. */
static void check(const struct nested_case *which, uint64_t appended)
{
    uint64_t kept = 0;
    uint64_t told = 0;
    for (uint64_t p = atomic_load(&shared.tail); p < atomic_load(&shared.head); ++p) {
        const struct trk_event *event = &slots[p & (RECORDS - 1)].event;
        kept += event->type == TRK_EVENT_LOCK;
        if (event->type == TRK_EVENT_DROP && event->argument > told)
            told = event->argument;
    }
    uint64_t lost = atomic_load(&losses.kinds[TRK_EVENT_LOCK].count);
    unsigned long long outer = wanted[0], inner = wanted[1];
    cr_assert_not(saw_unfilled, WHERE, which->name, outer, inner, "published before it was filled");
    cr_assert_eq(kept + which->taken + lost, appended, WHERE, which->name, outer, inner,
                 "an event is neither kept nor counted");
    cr_assert_eq(lost, atomic_load(&shared.dropped), WHERE, which->name, outer, inner,
                 "two counts");
    cr_assert_leq(told, lost, WHERE, which->name, outer, inner, "tells more than was lost");
    cr_assert_eq(atomic_load(&shared.head), ring.reserved, WHERE, which->name, outer, inner,
                 "not published");
    cr_assert_eq(ring.depth, 0, WHERE, which->name, outer, inner, "not at rest");
}

/* False when the outer or the inner append has fewer instructions. */
static bool interrupt_at(const struct nested_case *which, uint64_t outer, uint64_t inner)
{
    memset(&shared, 0, sizeof(shared));
    memset(&losses, 0, sizeof(losses));
    memset(slots, 0, sizeof(slots));
    trk_ring_init(&ring, &(struct trk_ring_place){&shared, &losses, slots, RECORDS});
    for (uint64_t n = 0; n < which->before; ++n)
        append(n);
    atomic_store(&shared.tail, which->taken);
    saw_unfilled = false;
    level = 0;
    wanted[0] = outer;
    wanted[1] = inner;
    steps[0] = steps[1] = 0;
    append_stepwise(100);
    bool came = steps[0] == outer && steps[1] == inner;
    check(which, which->before + 1 + (steps[0] == outer ? 1 : 0) + (came ? 2 : 0));
    return came;
}

Test(nested, bears_a_signal_inside_a_signal_at_every_instruction)
{
    struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO | SA_NODEFER};
    sigaction(SIGTRAP, &action, NULL);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        uint64_t pairs = 0;
        uint64_t outer = 1;
        uint64_t inner;
        do {
            inner = 1 + outer % INNER_STRIDE;
            while (interrupt_at(&cases[i], outer, inner)) {
                ++pairs;
                inner += INNER_STRIDE;
            }
            outer += OUTER_STRIDE;
        } while (steps[0] == outer - OUTER_STRIDE);
        cr_assert_gt(pairs, 30, "%s: only %llu pairs", cases[i].name, (unsigned long long)pairs);
    }
}

#else

Test(nested, needs_the_single_step_trap_of_x86_64, .disabled = true)
{
}

#endif
