/*
 * Verbs of generations: gen_track, gen, gen_hle.
 *
 * Rules: scenario-format, Generations and fine print 14.
 */
#include "footprint.h"
#include "scenario_run.h"
#include "track/generations.h"

/* Whether bytes of the range are in no entry at all: of such the tracker was told nothing. */
static bool leaves_memory(struct doing *doing)
{
    const struct scenario_op *op = doing->op;
    struct world_walk walk = world_walk(&doing_run(doing)->world, op->guest_addr, op->size_bytes);
    for (uint64_t at = op->guest_addr; at < walk.end; at = walk.at)
        if (!world_next(&walk) || walk.guest_addr != at)
            return true;
    return false;
}

void verb_gen_track(struct doing *doing)
{
    const struct scenario_op *op = doing->op;
    uint64_t sum = 0;
    if (doing_run(doing)->scenario->policy.core.generations && leaves_memory(doing)) {
        doing->found.outcome = OUTCOME_FAIL;
        return;
    }
    enum trk_status status =
        core_sim->gen_track(doing_run(doing)->tracker, op->guest_addr, op->size_bytes, &sum);
    if (status == TRK_E_ARGUMENT)
        doing->found.outcome = OUTCOME_FAIL;
    else
        run_status(doing, status);
    doing->found.has_number = status == TRK_OK;
    doing->found.number = sum;
}

void verb_gen(struct doing *doing)
{
    const struct scenario_op *op = doing->op;
    uint64_t sum = 0;
    enum trk_status status =
        core_sim->gen_query(doing_run(doing)->tracker, op->guest_addr, op->size_bytes, &sum);
    run_status(doing, status);
    doing->found.has_number = status == TRK_OK;
    doing->found.number = sum;
}

void verb_gen_hle(struct doing *doing)
{
    const struct scenario_op *op = doing->op;
    run_status(doing,
               core_sim->gen_notify(doing_run(doing)->tracker, op->guest_addr, op->size_bytes));
}

bool generation_met(struct doing *doing, const struct scenario_result *result)
{
    const struct found *found = &doing->found;
    struct run_generation *known = &doing_run(doing)->generations[result->number];
    bool known_before = known->known;
    if (result->kind == RESULT_NEW)
        footprint_writes(OBJECT_GENERATION, result->number);
    else
        footprint_reads(OBJECT_GENERATION, result->number);
    if (!found->has_number || found->outcome != OUTCOME_OK)
        return false;
    switch (result->kind) {
    case RESULT_NEW:
        known->known = true;
        known->sum = found->number;
        return found->number != 0;
    case RESULT_SAME:
        return known_before && found->number == known->sum;
    default: /* not: 0 is not it either */
        return known_before && found->number != known->sum;
    }
}
