#include <inttypes.h>
#include <stdio.h>

#include "live.h"

static bool met(struct live *live, const struct scenario_result *result)
{
    switch (result->kind) {
    case RESULT_NEW:
    case RESULT_SAME:
    case RESULT_NOT:
        return live_generation_met(live, result);
    default:
        return found_meets(&live->found, result);
    }
}

bool live_judge(struct live *live, const struct scenario_op *op)
{
    const struct found *found = &live->found;
    for (uint32_t i = 0; i < op->result_count; i++) {
        if (met(live, &op->results[i]))
            continue;
        snprintf(live->text, sizeof live->text,
                 "expected %s, found %s, %s%u, number %" PRIu64 ", faults %" PRIu64
                 ", rights %s, %u ranges, failure %s",
                 op->results_text, found_outcome_word(found->outcome),
                 found->mixed ? "mixed " : "value ", found->value, found->number, found->faults,
                 scenario_rights_word(found->rights),
                 found->spans.count > 0 ? live->spans.count : 0, trk_status_name(found->failure));
        return false;
    }
    return true;
}
