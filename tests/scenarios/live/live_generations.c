/* Verbs of generations, and their results. */
#include "live.h"
#include "track/generations.h"

/* Whether bytes of the range are in no entry at all: of such the tracker was told nothing. */
static bool leaves_memory(struct live *live, const struct scenario_op *op)
{
    for (uint64_t done = 0; done < op->size_bytes;) {
        uint64_t at = op->guest_addr + done;
        const struct live_entry *entry = live_entry_at(live, at, 1);
        if (entry == NULL)
            return true;
        done += entry->text->guest_addr + entry->text->size_bytes - at;
    }
    return false;
}

static enum trk_status track(struct live *live, const struct scenario_op *op, uint64_t *sum)
{
    if (live->scenario->policy.core.generations && leaves_memory(live, op))
        return TRK_E_ARGUMENT;
    return trk_generations_track(live->tracker, op->guest_addr, op->size_bytes, sum);
}

enum trk_status live_gen(struct live *live, const struct scenario_op *op)
{
    uint64_t sum = 0;
    enum trk_status status;
    if (op->verb == VERB_GEN_HLE)
        return trk_generations_notify(live->tracker, op->guest_addr, op->size_bytes);
    if (op->verb == VERB_GEN_TRACK)
        status = track(live, op, &sum);
    else
        status = trk_generations_query(live->tracker, op->guest_addr, op->size_bytes, &sum);
    if (status == TRK_E_ARGUMENT)
        live->found.outcome = OUTCOME_FAIL;
    live->found.has_number = status == TRK_OK;
    live->found.number = sum;
    return status;
}

bool live_generation_met(struct live *live, const struct scenario_result *result)
{
    const struct found *found = &live->found;
    struct live_generation *named = &live->generations[result->number];
    bool known_before = named->known;
    if (!found->has_number || found->outcome != OUTCOME_OK)
        return false;
    if (result->kind == RESULT_SAME)
        return known_before && found->number == named->sum;
    if (result->kind == RESULT_NOT) /* 0 is not it either */
        return known_before && found->number != named->sum;
    *named = (struct live_generation){true, found->number};
    return found->number != 0;
}
