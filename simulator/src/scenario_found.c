/*
 * Holding what an operation found against what stands behind its =>.
 *
 * Rules: scenario-format, Operations and fine print 1, 2.
 */
#include "scenario_found.h"

void found_value(struct found *found, uint8_t value)
{
    found->mixed |= found->has_value && found->value != value;
    found->has_value = true;
    found->value = value;
}

static bool spans_equal(const struct scenario_result *result, const struct span_list *list,
                        bool rights)
{
    if (result->span_count != list->count)
        return false;
    for (size_t i = 0; i < list->count; i++) {
        const struct scenario_span *want = &result->spans[i], *got = &list->spans[i];
        if (want->guest_addr != got->guest_addr || want->size_bytes != got->size_bytes ||
            (rights && want->rights != got->rights))
            return false;
    }
    return true;
}

/* A number is what the bytes hold, or an answer or a count. */
static bool number_met(const struct found *found, uint64_t number)
{
    if (found->outcome == OUTCOME_UNHANDLED)
        return false;
    if (found->has_value)
        return !found->mixed && found->value == number;
    return found->has_number && found->number == number;
}

bool found_meets(const struct found *found, const struct scenario_result *result)
{
    enum outcome outcome = found->outcome;
    switch (result->kind) {
    case RESULT_NUMBER:
        return number_met(found, result->number);
    case RESULT_OK:
        return outcome == OUTCOME_OK;
    case RESULT_DENIED:
        return outcome == OUTCOME_DENIED;
    case RESULT_FAIL:
        return outcome == OUTCOME_FAIL;
    case RESULT_EFAULT:
        return outcome == OUTCOME_EFAULT;
    case RESULT_SHORT:
        return outcome == OUTCOME_SHORT && found->number == result->number;
    case RESULT_REJECTED:
        return outcome == OUTCOME_REJECTED;
    case RESULT_HANDLED:
        return outcome != OUTCOME_UNHANDLED && found->faults > 0;
    case RESULT_UNHANDLED:
        return outcome == OUTCOME_UNHANDLED;
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

const char *found_outcome_word(enum outcome outcome)
{
    static const char *const words[] = {
        [OUTCOME_OK] = "ok",
        [OUTCOME_DENIED] = "denied",
        [OUTCOME_FAIL] = "fail",
        [OUTCOME_EFAULT] = "efault",
        [OUTCOME_SHORT] = "short",
        [OUTCOME_REJECTED] = "rejected",
        [OUTCOME_UNHANDLED] = "unhandled",
    };
    return words[outcome];
}
