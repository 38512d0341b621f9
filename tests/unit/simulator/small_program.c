#include "small_program.h"

#include <string.h>
#include <xxhash.h>

void small_two_locks(struct small_program *small, uint32_t rounds)
{
    memset(small, 0, sizeof *small);
    small->threads = 2;
    for (uint32_t thread = 0; thread < 2; thread++) {
        struct small_step *step = small->steps[thread];
        *step++ = (struct small_step){SMALL_START, 0, 0};
        for (uint32_t round = 0; round < rounds; round++) {
            for (uint8_t lock = 0; lock < 2; lock++) {
                *step++ = (struct small_step){SMALL_LOCK, lock, 0};
                *step++ = (struct small_step){SMALL_UNLOCK, lock, 0};
            }
        }
        *step = (struct small_step){SMALL_END, 0, 0};
    }
}

static const struct small_step *next_of(const struct small_program *small, uint32_t thread)
{
    return &small->steps[thread][small->state.at[thread]];
}

static enum engine_phase phase(void *context)
{
    const struct small_program *small = context;
    if (small->state.broken || small->state.deadlock)
        return ENGINE_BROKEN;
    for (uint32_t i = 0; i < small->threads; i++)
        if (next_of(small, i)->verb != SMALL_END)
            return ENGINE_GOING;
    return ENGINE_ENDED;
}

static bool can(const struct small_program *small, uint32_t thread)
{
    const struct small_step *step = next_of(small, thread);
    if (step->verb == SMALL_LOCK)
        return small->state.owner[step->which] == 0;
    if (step->verb == SMALL_AWAIT)
        return small->state.set[step->which];
    return step->verb != SMALL_END;
}

static uint32_t enabled(void *context, uint8_t *threads)
{
    const struct small_program *small = context;
    uint32_t count = 0;
    for (uint32_t i = 0; i < small->threads; i++)
        if (can(small, i))
            threads[count++] = (uint8_t)i;
    return count;
}

/* Bits of footprints: locks, words, events. */
static void note(struct footprint *footprint, uint32_t bit, bool write)
{
    if (footprint != NULL)
        footprint_bit(write ? footprint->write : footprint->read, bit);
}

static void need(struct footprint *footprint, enum footprint_need kind, uint32_t bit)
{
    if (footprint == NULL)
        return;
    footprint->need = (uint8_t)kind;
    footprint->need_bit = (uint16_t)bit;
}

static void step(void *context, uint32_t thread, bool usual, struct footprint *footprint)
{
    struct small_program *small = context;
    struct small_state *state = &small->state;
    const struct small_step *its = next_of(small, thread);
    uint32_t lock = its->which, word = SMALL_LOCKS + its->which;
    uint32_t event = 2 * SMALL_LOCKS + its->which;
    (void)usual;
    state->at[thread]++;
    switch (its->verb) {
    case SMALL_LOCK:
        state->owner[lock] = (uint8_t)(thread + 1);
        state->word[lock]++;
        need(footprint, NEED_LOCK, lock);
        note(footprint, lock, true);
        note(footprint, word, true);
        if (footprint != NULL)
            footprint_bit(footprint->take, lock);
        break;
    case SMALL_UNLOCK:
        state->owner[lock] = 0;
        note(footprint, lock, true);
        break;
    case SMALL_READ:
        note(footprint, word, false);
        break;
    case SMALL_WRITE:
        state->word[its->which] = its->value;
        note(footprint, word, true);
        break;
    case SMALL_CHECK:
        state->broken = state->word[its->which] == its->value;
        note(footprint, word, false);
        if (footprint != NULL)
            footprint->stops = state->broken;
        break;
    case SMALL_SIGNAL:
        note(footprint, event, true);
        if (footprint != NULL && !state->set[its->which]) {
            footprint->opens = true;
            footprint->open_bit = (uint16_t)event;
        }
        state->set[its->which] = true;
        break;
    case SMALL_AWAIT:
        need(footprint, NEED_OPENED, event);
        note(footprint, event, false);
        break;
    default:
        break;
    }
}

static void deadlock(void *context)
{
    ((struct small_program *)context)->state.deadlock = true;
}

static bool waits(void *context, uint32_t thread, struct footprint *footprint)
{
    const struct small_program *small = context;
    const struct small_step *its = next_of(small, thread);
    if (its->verb != SMALL_LOCK)
        return false;
    need(footprint, NEED_LOCK, its->which);
    note(footprint, its->which, true);
    return true;
}

static bool save(void *context, void *slot)
{
    memcpy(slot, &((struct small_program *)context)->state, sizeof(struct small_state));
    return true;
}

static uint64_t hash(void *context, const void *slot)
{
    (void)context;
    return XXH3_64bits(slot, sizeof(struct small_state));
}

static void restore(void *context, const void *slot)
{
    memcpy(&((struct small_program *)context)->state, slot, sizeof(struct small_state));
}

static void drop(void *context, void *slot)
{
    (void)context;
    (void)slot;
}

static enum trk_status end(void *context, uint32_t *came)
{
    struct small_program *small = context;
    uint32_t how = small->state.broken ? 1 : small->state.deadlock ? 2 : 0;
    small->ends[how]++;
    if (came != NULL)
        *came = how;
    return TRK_OK;
}

struct engine_program small_engine(struct small_program *small)
{
    return (struct engine_program){
        .context = small,
        .threads = small->threads,
        .words = 1,
        .state_bytes = sizeof(struct small_state),
        .phase = phase,
        .enabled = enabled,
        .step = step,
        .deadlock = deadlock,
        .waits = waits,
        .save = save,
        .hash = hash,
        .restore = restore,
        .drop = drop,
        .end = end,
    };
}
