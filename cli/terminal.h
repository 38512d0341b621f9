/*
 * What people see: colours, messages, text from files made harmless.
 *
 * Results go to standard output, talk to standard error. A reader that goes away early (`| head`)
 * is no error: the program ends quietly. Any other failure to write is one.
 */
#ifndef CLI_TERMINAL_H
#define CLI_TERMINAL_H

#include <stdio.h>

#include "options.h"

enum trk_terminal_tone {
    TRK_TONE_PLAIN = 0,
    TRK_TONE_GOOD,
    TRK_TONE_BAD,
    TRK_TONE_DOUBT,
};

/* Prepare standard output: buffering, and a broken pipe that is reported instead of deadly. The
 * programs that we start still get the default. Once, before any output. */
void trk_terminal_open(void);

/* Decide on colour: --color, NO_COLOR, TERM=dumb, and whether standard output is a terminal. */
void trk_terminal_set_color(const struct trk_options *options);

/* Print a word on standard output in a tone. */
void trk_terminal_word(enum trk_terminal_tone tone, const char *word);

/* Print text that came from a file: control characters become \xNN, nothing moves the cursor. */
void trk_terminal_text(FILE *out, const char *text);

/* Print a path as a word of a command line that a shell takes as that path: quoted where it must
 * be, control characters as the escapes of $'...'. */
void trk_terminal_quote(FILE *out, const char *path);

/* "trk sim: message" on standard error. command NULL: "trk: message". */
void trk_terminal_say(const char *command, const char *format, ...) TRK_PRINTF(2, 3);

/* Whether one of some options (as in trk_options_asked) stands on the command line; said, with why
 * it must not: "does not go with --print". */
bool trk_terminal_refuse(const struct trk_options *options, const char *const *names,
                         const char *why);

/* Say an error with the place it names (file offset, event), and give its exit code. subject, for
 * instance a path, may be NULL. */
int trk_terminal_error(const char *command, const char *subject, const struct trk_error *error);

/* The exit code that a status stands for. */
int trk_terminal_exit_code(const struct trk_error *error);

/* Whether standard output still takes bytes; false as soon as a write has failed. */
bool trk_terminal_alive(void);

/* Write out what standard output still holds, so that talk on standard error comes behind it. */
void trk_terminal_flush(void);

/* The exit code is another program's own: it stays, whatever becomes of standard output. */
void trk_terminal_keep_code(void);

/* Flush standard output and give the program's exit code, given the one of the command. */
int trk_terminal_close(int exit_code);

#endif
