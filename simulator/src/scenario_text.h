/*
 * Reading the small language of operations and expressions, with the place of each fault.
 *
 * All functions give false after they have filled the reader's fault; nothing is guessed.
 */
#ifndef SIMULATOR_SCENARIO_TEXT_H
#define SIMULATOR_SCENARIO_TEXT_H

#include "scenario_program.h"
#include "track/macros.h"

/* One text (an operation line, an expression) and where it stands in the file. */
struct scenario_text {
    struct trk_scenario *scenario;
    struct trk_scenario_fault *fault;
    const char *where;
    const char *start, *at;
    uint32_t number; /* of an operation in its list */
    bool no_memory;
};

/* Note a fault at a place in the text; gives false. */
bool scenario_text_fail(struct scenario_text *text, const char *at, const char *format, ...)
    TRK_PRINTF(3, 4);
/* Note a fault without a column. */
bool scenario_fault(struct trk_scenario_fault *fault, const char *where, const char *format, ...)
    TRK_PRINTF(3, 4);

void scenario_text_blanks(struct scenario_text *text);
/* The length of the word at the cursor: letters, digits, _ and -; 0: none. */
size_t scenario_text_word(const struct scenario_text *text);
/* Whether the word at the cursor is this one; steps over it then. */
bool scenario_text_take(struct scenario_text *text, const char *word);
/* Whether the next character is this one; steps over it then. */
bool scenario_text_mark(struct scenario_text *text, char mark);
/* Behind an item of a list: a separator with another item behind it, or else the list's end. */
bool scenario_text_between(struct scenario_text *text, char separator, char end);

/* A number, decimal or 0x. */
bool scenario_text_number(struct scenario_text *text, uint64_t *out);
/* An expression of numbers, units and names of memory; no blanks in it. */
bool scenario_text_expression(struct scenario_text *text, uint64_t *out);
/* The memory entry named by the word at the cursor. */
bool scenario_text_entry(struct scenario_text *text, uint32_t *out);
/* The number of the event, mutex or generation named by the word at the cursor. */
bool scenario_text_name(struct scenario_text *text, uint32_t *out);
/* none, r, rw or rx. */
bool scenario_text_rights(struct scenario_text *text, unsigned *out);

/* Whether a word is a unit, which therefore names no memory. */
bool scenario_is_unit(const char *word, size_t length);

/* What stands behind =>, as the verb allows. */
bool scenario_results_parse(struct scenario_text *text, struct scenario_op *op, uint32_t allowed);

/* One operation line. Nested ones are parsed with it. */
bool scenario_op_parse(struct scenario_text *text, struct scenario_op *out);

#endif
