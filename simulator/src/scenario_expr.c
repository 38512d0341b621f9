/*
 * Words, numbers, units and expressions of scenario files.
 *
 * Rules: scenario-format, Expressions.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "scenario_text.h"
#include "track/event.h"

static const struct unit {
    const char *word;
    uint64_t bytes;
} units[] = {
    {"P", UINT64_C(4096)},      {"G", UINT64_C(16384)},   {"R", UINT64_C(4) << 20},
    {"K", UINT64_C(1) << 10},   {"M", UINT64_C(1) << 20}, {"GiB", UINT64_C(1) << 30},
    {"TiB", UINT64_C(1) << 40},
};

static bool is_digit(char letter)
{
    return letter >= '0' && letter <= '9';
}

static bool is_letter(char letter)
{
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || letter == '_';
}

static int hex_digit(char letter)
{
    if (is_digit(letter))
        return letter - '0';
    if (letter >= 'a' && letter <= 'f')
        return letter - 'a' + 10;
    if (letter >= 'A' && letter <= 'F')
        return letter - 'A' + 10;
    return -1;
}

bool scenario_text_fail(struct scenario_text *text, const char *at, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text->fault->text, sizeof text->fault->text, format, arguments);
    va_end(arguments);
    if (text->number != 0)
        snprintf(text->fault->where, sizeof text->fault->where, "%s, operation %u", text->where,
                 text->number);
    else
        snprintf(text->fault->where, sizeof text->fault->where, "%s", text->where);
    text->fault->column = (uint32_t)(at - text->start) + 1;
    return false;
}

bool scenario_fault(struct trk_scenario_fault *fault, const char *where, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(fault->text, sizeof fault->text, format, arguments);
    va_end(arguments);
    snprintf(fault->where, sizeof fault->where, "%s", where);
    fault->column = 0;
    return false;
}

void scenario_text_blanks(struct scenario_text *text)
{
    while (*text->at == ' ')
        text->at++;
}

size_t scenario_text_word(const struct scenario_text *text)
{
    const char *end = text->at;
    while (is_letter(*end) || is_digit(*end) || (*end == '-' && end > text->at))
        end++;
    return (size_t)(end - text->at);
}

bool scenario_text_take(struct scenario_text *text, const char *word)
{
    size_t length = scenario_text_word(text);
    if (length != strlen(word) || memcmp(text->at, word, length) != 0)
        return false;
    text->at += length;
    scenario_text_blanks(text);
    return true;
}

bool scenario_text_mark(struct scenario_text *text, char mark)
{
    if (*text->at != mark)
        return false;
    text->at++;
    scenario_text_blanks(text);
    return true;
}

bool scenario_text_between(struct scenario_text *text, char separator, char end)
{
    const char *at = text->at;
    if (!scenario_text_mark(text, separator))
        return *text->at == end ||
               scenario_text_fail(text, at, "expected %c or %c", separator, end);
    return *text->at != end ||
           scenario_text_fail(text, at, "nothing stands behind this %c", separator);
}

/* The digits of a number, without a look at what follows. */
static bool digits(struct scenario_text *text, uint64_t *out)
{
    const char *first = text->at;
    unsigned base = 10;
    if (first[0] == '0' && (first[1] == 'x' || first[1] == 'X')) {
        base = 16;
        text->at += 2;
    }
    const char *begun = text->at;
    uint64_t number = 0;
    for (;; text->at++) {
        int digit = hex_digit(*text->at);
        if (digit < 0 || digit >= (int)base)
            break;
        if (__builtin_mul_overflow(number, base, &number) ||
            __builtin_add_overflow(number, (uint64_t)digit, &number))
            return scenario_text_fail(text, first, "a number of more than 64 bits");
    }
    if (text->at == begun)
        return scenario_text_fail(text, first, "expected a number");
    *out = number;
    return true;
}

bool scenario_text_number(struct scenario_text *text, uint64_t *out)
{
    const char *first = text->at;
    if (!digits(text, out))
        return false;
    if (is_letter(*text->at) || is_digit(*text->at))
        return scenario_text_fail(text, first, "expected a number");
    scenario_text_blanks(text);
    return true;
}

static size_t name_length(const char *at)
{
    size_t length = 0;
    while (is_letter(at[length]) || (length > 0 && is_digit(at[length])))
        length++;
    return length;
}

static const struct unit *unit_find(const char *word, size_t length)
{
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strlen(units[i].word) == length && memcmp(units[i].word, word, length) == 0)
            return &units[i];
    return NULL;
}

bool scenario_is_unit(const char *word, size_t length)
{
    return unit_find(word, length) != NULL;
}

static const struct scenario_entry *entry_find(const struct trk_scenario *scenario,
                                               const char *word, size_t length)
{
    uint32_t number = scenario_index_find(&scenario->entry_index, word, length);
    return number != SCENARIO_INDEX_NONE ? &scenario->entries[number] : NULL;
}

/* A number with or without a unit, a unit alone, or the base of a memory entry. */
static bool term(struct scenario_text *text, uint64_t *out)
{
    const char *first = text->at;
    *out = 1;
    bool number = is_digit(*first);
    if (number && !digits(text, out))
        return false;
    const char *word = text->at;
    size_t length = name_length(word);
    if (length == 0) {
        if (number)
            return true;
        return scenario_text_fail(text, first, "expected a number, a unit or a name under memory");
    }
    text->at += length;
    const struct unit *unit = unit_find(word, length);
    if (unit != NULL) {
        if (__builtin_mul_overflow(*out, unit->bytes, out))
            return scenario_text_fail(text, first, "a number of more than 64 bits");
        return true;
    }
    if (number)
        return scenario_text_fail(text, word, "unknown unit '%.*s' (P, G, R, K, M, GiB, TiB)",
                                  (int)length, word);
    const struct scenario_entry *entry = entry_find(text->scenario, word, length);
    if (entry == NULL)
        return scenario_text_fail(text, word, "'%.*s' is no name under memory", (int)length, word);
    *out = entry->guest_addr;
    return true;
}

bool scenario_text_expression(struct scenario_text *text, uint64_t *out)
{
    const char *first = text->at;
    if (!term(text, out))
        return false;
    while (*text->at == '+' || *text->at == '-') {
        bool add = *text->at == '+';
        text->at++;
        uint64_t other;
        if (!term(text, &other))
            return false;
        if (add ? __builtin_add_overflow(*out, other, out)
                : __builtin_sub_overflow(*out, other, out))
            return scenario_text_fail(text, first, "the expression leaves 64 bits");
    }
    scenario_text_blanks(text);
    return true;
}

bool scenario_text_entry(struct scenario_text *text, uint32_t *out)
{
    size_t length = name_length(text->at);
    const struct scenario_entry *entry = entry_find(text->scenario, text->at, length);
    if (length == 0 || entry == NULL)
        return scenario_text_fail(text, text->at, "expected a name under memory");
    *out = (uint32_t)(entry - text->scenario->entries);
    text->at += length;
    scenario_text_blanks(text);
    return true;
}

bool scenario_text_name(struct scenario_text *text, uint32_t *out)
{
    struct trk_scenario *scenario = text->scenario;
    size_t length = scenario_text_word(text);
    if (length == 0)
        return scenario_text_fail(text, text->at, "expected a name");
    const char *word = text->at;
    text->at += length;
    scenario_text_blanks(text);
    *out = scenario_index_find(&scenario->name_index, word, length);
    if (*out != SCENARIO_INDEX_NONE)
        return true;
    if (scenario->name_count == TRK_SCENARIO_NAMES)
        return scenario_text_fail(text, word, "more than %u names", TRK_SCENARIO_NAMES);
    size_t capacity = scenario->name_capacity;
    const char **names = scenario_pool_grow(&scenario->pool, scenario->names, scenario->name_count,
                                            &capacity, sizeof *names);
    char *name = scenario_pool_text(&scenario->pool, word, length);
    if (names == NULL || name == NULL ||
        !scenario_index_add(&scenario->name_index, &scenario->pool, name, scenario->name_count)) {
        text->no_memory = true;
        return false;
    }
    scenario->names = names;
    scenario->name_capacity = (uint32_t)capacity;
    *out = scenario->name_count++;
    names[*out] = name;
    return true;
}

static const struct {
    const char *word;
    unsigned rights;
} rights_words[] = {
    {"none", TRK_RIGHTS_NONE},
    {"r", TRK_RIGHT_READ},
    {"rw", TRK_RIGHTS_RW},
    {"rx", TRK_RIGHT_READ | TRK_RIGHT_EXEC},
};

bool scenario_text_rights(struct scenario_text *text, unsigned *out)
{
    for (size_t i = 0; i < sizeof rights_words / sizeof rights_words[0]; i++) {
        if (scenario_text_take(text, rights_words[i].word)) {
            *out = rights_words[i].rights;
            return true;
        }
    }
    return scenario_text_fail(text, text->at, "expected none, r, rw or rx");
}

const char *scenario_rights_word(unsigned rights)
{
    for (size_t i = 0; i < sizeof rights_words / sizeof rights_words[0]; i++)
        if (rights_words[i].rights == rights)
            return rights_words[i].word;
    return "rwx";
}
