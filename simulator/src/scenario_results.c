/*
 * What stands behind =>: parsing it.
 *
 * Rules: scenario-format, Operations.
 */
#include <stdio.h>
#include <string.h>

#include "scenario_text.h"
#include "track/status.h"

static const struct {
    const char *word;
    enum scenario_result_kind kind;
    char argument; /* 0: none, 'N' a number, 'n' a name */
} words[] = {
    {"ok", RESULT_OK, 0},           {"denied", RESULT_DENIED, 0},
    {"fail", RESULT_FAIL, 0},       {"efault", RESULT_EFAULT, 0},
    {"short", RESULT_SHORT, 'N'},   {"rejected", RESULT_REJECTED, 0},
    {"handled", RESULT_HANDLED, 0}, {"unhandled", RESULT_UNHANDLED, 0},
    {"silent", RESULT_SILENT, 0},   {"faults", RESULT_FAULTS, 'N'},
    {"flush", RESULT_FLUSH, 'N'},   {"new", RESULT_NEW, 'n'},
    {"same", RESULT_SAME, 'n'},     {"not", RESULT_NOT, 'n'},
};

/* [A 1P, A+2P 1P]: ranges; with rights behind each size: calls. */
static bool list_parse(struct scenario_text *text, struct scenario_result *result, bool calls)
{
    struct scenario_span *spans = NULL;
    size_t count = 0, capacity = 0;
    result->kind = calls ? RESULT_CALLS : RESULT_RANGES;
    while (!scenario_text_mark(text, ']')) {
        spans = scenario_pool_grow(&text->scenario->pool, spans, count, &capacity, sizeof *spans);
        if (spans == NULL) {
            text->no_memory = true;
            return false;
        }
        struct scenario_span *span = &spans[count++];
        *span = (struct scenario_span){0};
        if (!scenario_text_expression(text, &span->guest_addr) ||
            !scenario_text_expression(text, &span->size_bytes) ||
            (calls && !scenario_text_rights(text, &span->rights)))
            return false;
        if (!scenario_text_between(text, ',', ']'))
            return false;
    }
    result->spans = spans;
    result->span_count = (uint32_t)count;
    return true;
}

static bool fatal_parse(struct scenario_text *text, struct scenario_result *result)
{
    result->kind = RESULT_FATAL;
    for (int failure = TRK_E_RANGE; failure <= TRK_E_LIVELOCK; failure++) {
        if (scenario_text_take(text, trk_status_name((enum trk_status)failure))) {
            result->number = (uint64_t)failure;
            return true;
        }
    }
    return scenario_text_fail(text, text->at,
                              "expected a class: range, reentry, conflict, retained, untrack, "
                              "lock, watch, protect or livelock");
}

/* The largest number that an operation can find: an answer, a byte, a count of calls. */
static uint64_t number_most(enum scenario_verb verb)
{
    switch (verb) {
    case VERB_GEN_TRACK:
    case VERB_GEN:
        return 0;
    case VERB_IS_CPU:
    case VERB_IS_GPU:
        return 1;
    case VERB_CALLS:
        return UINT64_MAX;
    default:
        return UINT8_MAX;
    }
}

static bool number_parse(struct scenario_text *text, struct scenario_result *result,
                         enum scenario_verb verb)
{
    const char *at = text->at;
    result->kind = RESULT_NUMBER;
    if (!scenario_text_number(text, &result->number))
        return false;
    return result->number <= number_most(verb) ||
           scenario_text_fail(text, at, "%s never gives this number", scenario_verb_word(verb));
}

static bool result_parse(struct scenario_text *text, struct scenario_result *result,
                         enum scenario_verb verb, uint32_t allowed)
{
    if (*text->at == '[' && (allowed & (RESULT_BIT(RESULT_RANGES) | RESULT_BIT(RESULT_CALLS)))) {
        scenario_text_mark(text, '[');
        return list_parse(text, result, allowed & RESULT_BIT(RESULT_CALLS));
    }
    if (*text->at >= '0' && *text->at <= '9' && (allowed & RESULT_BIT(RESULT_NUMBER)))
        return number_parse(text, result, verb);
    if (allowed & RESULT_BIT(RESULT_RIGHTS)) {
        unsigned rights;
        result->kind = RESULT_RIGHTS;
        if (!scenario_text_rights(text, &rights))
            return false;
        result->number = rights;
        return true;
    }
    if (scenario_text_take(text, "fatal"))
        return fatal_parse(text, result);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (!scenario_text_take(text, words[i].word))
            continue;
        result->kind = words[i].kind;
        if (words[i].argument == 'N')
            return scenario_text_number(text, &result->number);
        uint32_t name = 0;
        if (words[i].argument == 'n' && !scenario_text_name(text, &name))
            return false;
        result->number = name;
        return true;
    }
    return scenario_text_fail(text, text->at, "expected a result");
}

bool scenario_results_parse(struct scenario_text *text, struct scenario_op *op, uint32_t allowed)
{
    struct scenario_result *results = NULL;
    size_t count = 0, capacity = 0;
    do {
        const char *at = text->at;
        results =
            scenario_pool_grow(&text->scenario->pool, results, count, &capacity, sizeof *results);
        if (results == NULL) {
            text->no_memory = true;
            return false;
        }
        struct scenario_result *result = &results[count++];
        *result = (struct scenario_result){0};
        if (!result_parse(text, result, op->verb, allowed))
            return false;
        if (!(allowed & RESULT_BIT(result->kind)))
            return scenario_text_fail(text, at, "%s has no such result",
                                      scenario_verb_word(op->verb));
    } while (scenario_text_mark(text, ','));
    op->results = results;
    op->result_count = (uint32_t)count;
    return true;
}
