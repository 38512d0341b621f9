/*
 * Judging an operation by what stands behind its =>, and what it found in words.
 *
 * Rules: scenario-format, Operations and fine print 1, 2.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "scenario_run.h"

static bool result_met(struct doing *doing, const struct scenario_result *result)
{
    bool generation =
        result->kind == RESULT_NEW || result->kind == RESULT_SAME || result->kind == RESULT_NOT;
    return generation ? generation_met(doing, result) : found_meets(&doing->found, result);
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
    const struct found *found = &doing->found;
    say(words, "%s", found_outcome_word(found->outcome));
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
        fatal |= result->kind == RESULT_FATAL;
        met &= result_met(doing, result);
    }
    if (met && (fatal || found->failure == TRK_OK))
        return;
    char text[256];
    struct words words = {.out = text, .size = sizeof text};
    say_found(&words, doing);
    run_stop(doing, "mismatch", op->guest_addr != 0 ? op->guest_addr : TRK_NOT_KNOWN,
             "expected %s, found %s", op->results_text, text);
}
