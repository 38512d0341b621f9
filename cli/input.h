/*
 * The trace that a command works on.
 *
 * A path, `-` for standard input, or, when none is given, the latest in the trace directory. What
 * cannot be read twice (a pipe) is first copied to a temporary file that has no name any more.
 */
#ifndef CLI_INPUT_H
#define CLI_INPUT_H

#include <limits.h>

#include "options.h"
#include "recorder/trace.h"

/* So much of a pipe is looked at before the rest is copied: the file header. */
#define TRK_INPUT_HEAD_BYTES 64u

/* Why a named pipe is refused by a command that takes none. */
#define TRK_INPUT_NAMED_PIPE "is a named pipe, which can be read once; name a file, or - for a pipe"

struct trk_input {
    struct trk_trace *trace;
    char path[PATH_MAX]; /* as given, for messages */
    uint64_t bytes;      /* of the file */
    int fd;              /* the temporary file; -1 if there is none */
};

/**
 * Open the command's first operand and read all chunk headers.
 *
 * @return An exit code: TRK_EXIT_OK, or what to end with after the message that was printed. With
 *         --json an object of the given schema with "error" went to standard output too.
 */
int trk_input_open(struct trk_input *out, const struct trk_options *options, const char *schema);

/* Likewise, by the file's index where it has one (trk_trace_scan_quick). */
int trk_input_open_quick(struct trk_input *out, const struct trk_options *options,
                         const char *schema);

/* A trace by its name (NULL: the latest), of which only the header is read. Close it in any case.
 */
TRK_MUST_USE enum trk_status trk_input_open_named(struct trk_input *out, const char *name,
                                                  struct trk_error *error);

/*
 * As trk_input_fail, for what a trace lacks: says first where the trace is damaged, and then does
 * not take it for wrong usage.
 */
int trk_input_fail_lacks(const struct trk_input *input, const struct trk_options *options,
                         const char *schema, const struct trk_error *error);

/* Say in JSON, with --json, why the trace cannot be worked on any further. */
void trk_input_print_refusal(const struct trk_input *input, const struct trk_options *options,
                             const char *schema, const struct trk_error *error);

/* Say why the trace cannot be worked on any further, in JSON too with --json. The exit code. */
int trk_input_fail(const struct trk_input *input, const struct trk_options *options,
                   const char *schema, const struct trk_error *error);

/* Say on standard error what the trace lacks, and give TRK_EXIT_DAMAGED; TRK_EXIT_OK if nothing. */
int trk_input_report(const struct trk_input *input, const struct trk_options *options);

/*
 * Whether a path names a pipe that has a name: opening it waits until somebody writes. The pipes of
 * a shell's <(...) and of standard input have none.
 */
bool trk_input_is_named_pipe(const char *path);

void trk_input_close(struct trk_input *input);

#endif
