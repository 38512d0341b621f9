/*
 * What a program is told of a command that could not do its work.
 *
 * With --json a command that ends otherwise than well prints an object, whatever it was that ended
 * it. Most print their own. Where one has printed none, what was said to people becomes one: its
 * schema, path, "complete": false and "error".
 */
#ifndef CLI_REFUSAL_H
#define CLI_REFUSAL_H

#include "options.h"
#include "track/status.h"

/* From now on, of a command whose arguments or settings could not be meant. */
void trk_refusal_expect(const struct trk_command *command, char *const *arguments);

/* From now on, of a command that runs: if it was asked for JSON. */
void trk_refusal_expect_of(const struct trk_options *options);

/* The schema, where a command has several; the path, where it is no operand. They must last. */
void trk_refusal_schema(const char *schema);
void trk_refusal_path(const char *path);

/* What was said to people: the first error counts, else the last line. */
void trk_refusal_note_error(const char *subject, const struct trk_error *error);
void trk_refusal_note_line(const char *line);

/* Standard output has what was asked for, or got something else: nothing is to be printed behind
 * it. */
void trk_refusal_not_needed(void);

/* At the end of the program, with its exit code. */
void trk_refusal_print(int code);

#endif
