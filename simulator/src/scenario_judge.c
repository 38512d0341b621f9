/*
 * Holding what an operation found against what stands behind its =>.
 *
 * Rules: scenario-format, Operations and fine print 1, 2.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "scenario_run.h"

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
    if (found->has_value)
        return !found->mixed && found->value == number;
    return found->has_number && found->number == number;
}

static bool result_met(struct doing *doing, const struct scenario_result *result)
{
    const struct found *found = &doing->found;
    enum outcome outcome = found->outcome;
    switch (result->kind) {
    case RESULT_NUMBER:
        return outcome != OUTCOME_UNHANDLED && number_met(found, result->number);
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
    case RESULT_NEW:
    case RESULT_SAME:
    case RESULT_NOT:
        return generation_met(doing, result);
    default:
        return false;
    }
}

/* ---- what was found, in words ---------------------------------------------------------------- */

struct words {
    char *out;
    size_t size, used;
};

static void say(struct words *words, const char *format, ...) TRK_PRINTF(2, 3);

static void say(struct words *words, const char *format, ...)
{
    if (words->used >= words->size)
        return;
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(words->out + words->used, words->size - words->used, format, arguments);
    va_end(arguments);
    words->used += length > 0 ? (size_t)length : 0;
}

/* An address by the name of its entry, as a file would write it. */
static void say_address(struct words *words, const struct scenario_run *run, uint64_t guest_addr)
{
    const struct world_entry *entry = world_entry_at(&run->world, guest_addr);
    if (entry == NULL) {
        say(words, "0x%" PRIx64, guest_addr);
        return;
    }
    uint64_t offset = guest_addr - entry->guest_addr;
    say(words, "%s", entry->text->name);
    if (offset >= SCENARIO_PAGE_BYTES)
        say(words, "+%" PRIu64 "P", offset / SCENARIO_PAGE_BYTES);
    if (offset % SCENARIO_PAGE_BYTES != 0)
        say(words, "+%" PRIu64, offset % SCENARIO_PAGE_BYTES);
}

static void say_spans(struct words *words, const struct doing *doing, bool rights)
{
    const struct span_list *list = &doing->found.spans;
    say(words, "[");
    for (size_t i = 0; i < list->count; i++) {
        say(words, "%s", i > 0 ? ", " : "");
        say_address(words, doing_run(doing), list->spans[i].guest_addr);
        say(words, " %" PRIu64 "P", list->spans[i].size_bytes / SCENARIO_PAGE_BYTES);
        if (rights)
            say(words, " %s", scenario_rights_word(list->spans[i].rights));
    }
    say(words, "]");
}

static void say_outcome(struct words *words, const struct doing *doing)
{
    static const char *const outcomes[] = {
        [OUTCOME_OK] = "ok",
        [OUTCOME_DENIED] = "denied",
        [OUTCOME_FAIL] = "fail",
        [OUTCOME_EFAULT] = "efault",
        [OUTCOME_SHORT] = "short",
        [OUTCOME_REJECTED] = "rejected",
        [OUTCOME_UNHANDLED] = "unhandled",
    };
    const struct found *found = &doing->found;
    say(words, "%s", outcomes[found->outcome]);
    if (found->outcome == OUTCOME_SHORT)
        say(words, " %" PRIu64, found->number);
}

static void say_found(struct words *words, const struct doing *doing)
{
    const struct found *found = &doing->found;
    if (found->failure != TRK_OK) {
        say(words, "fatal %s", trk_status_name(found->failure));
        return;
    }
    switch (doing->op->verb) {
    case VERB_PROT:
        say(words, "%s", scenario_rights_word(found->rights));
        return;
    case VERB_CALLS:
        say_spans(words, doing, true);
        return;
    case VERB_UPLOAD:
    case VERB_UPLOAD_AT_END:
    case VERB_DOWNLOAD:
    case VERB_DRAIN:
        say_spans(words, doing, false);
        return;
    case VERB_INVALIDATE:
        say(words, "flush %" PRIu64, found->number);
        return;
    default:
        break;
    }
    bool access = doing->op->verb == VERB_STORE || doing->op->verb == VERB_LOAD;
    if (found->has_value && found->mixed)
        say(words, "bytes that differ");
    else if (found->has_value)
        say(words, "%u", found->value);
    else if (found->has_number && found->outcome == OUTCOME_OK)
        say(words, "%" PRIu64, found->number);
    else if (!access || found->outcome != OUTCOME_OK)
        say_outcome(words, doing);
    if (access)
        say(words, "%s%s, faults %" PRIu64, words->used > 0 ? ", " : "",
            found->faults > 0 ? "handled" : "silent", found->faults);
}

/* ---- judging --------------------------------------------------------------------------------- */

void judge_results(struct doing *doing)
{
    const struct scenario_op *op = doing->op;
    const struct found *found = &doing->found;
    bool met = true, fatal = false;
    for (uint32_t i = 0; i < op->result_count; i++) {
        const struct scenario_result *result = &op->results[i];
        if (result->kind == RESULT_FATAL) {
            fatal = true;
            met &= found->failure == (enum trk_status)result->number;
        } else {
            met &= result_met(doing, result);
        }
    }
    if (met && (fatal || found->failure == TRK_OK))
        return;
    char text[256];
    struct words words = {.out = text, .size = sizeof text};
    say_found(&words, doing);
    run_stop(doing, "mismatch", op->guest_addr != 0 ? op->guest_addr : TRK_NOT_KNOWN,
             "expected %s, found %s", op->results_text, text);
}
