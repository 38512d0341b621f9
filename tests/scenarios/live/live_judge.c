#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "live.h"

static bool spans_equal(const struct scenario_result *result, const struct live_spans *list,
                        bool rights)
{
    if (result->span_count != list->count || list->count > LIVE_SPANS_MOST)
        return false;
    for (uint32_t i = 0; i < list->count; i++) {
        const struct scenario_span *want = &result->spans[i], *got = &list->spans[i];
        if (want->guest_addr != got->guest_addr || want->size_bytes != got->size_bytes ||
            (rights && want->rights != got->rights))
            return false;
    }
    return true;
}

static bool number_met(const struct live_found *found, uint64_t number)
{
    if (found->outcome == LIVE_UNHANDLED)
        return false;
    if (found->has_value)
        return !found->mixed && found->value == number;
    return found->has_number && found->number == number;
}

static bool met(const struct live_found *found, const struct scenario_result *result)
{
    switch (result->kind) {
    case RESULT_NUMBER:
        return number_met(found, result->number);
    case RESULT_OK:
        return found->outcome == LIVE_OK;
    case RESULT_DENIED:
        return found->outcome == LIVE_DENIED;
    case RESULT_FAIL:
        return found->outcome == LIVE_FAIL;
    case RESULT_EFAULT:
        return found->outcome == LIVE_EFAULT;
    case RESULT_SHORT:
        return found->outcome == LIVE_SHORT && found->number == result->number;
    case RESULT_HANDLED:
        return found->outcome != LIVE_UNHANDLED && found->faults > 0;
    case RESULT_UNHANDLED:
        return found->outcome == LIVE_UNHANDLED;
    case RESULT_SILENT:
        return found->faults == 0;
    case RESULT_FAULTS:
        return found->faults == result->number;
    case RESULT_RIGHTS:
        return found->rights == result->number;
    case RESULT_RANGES:
        return spans_equal(result, &found->spans, false);
    case RESULT_CALLS:
        return spans_equal(result, &found->spans, true);
    case RESULT_FLUSH:
        return found->number == result->number;
    case RESULT_FATAL:
        return found->failure == (enum trk_status)result->number;
    default:
        return false;
    }
}

bool live_judge(struct live *live, const struct scenario_op *op)
{
    const struct live_found *found = &live->found;
    for (uint32_t i = 0; i < op->result_count; i++) {
        if (met(found, &op->results[i]))
            continue;
        snprintf(live->text, sizeof live->text,
                 "expected %s, found outcome %d, %s%u, number %" PRIu64 ", faults %" PRIu64
                 ", rights %s, %u ranges, failure %s",
                 op->results_text, (int)found->outcome, found->mixed ? "mixed " : "value ",
                 found->value, found->number, found->faults, scenario_rights_word(found->rights),
                 found->spans.count, trk_status_name(found->failure));
        return false;
    }
    return true;
}
