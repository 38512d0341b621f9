/*
 * A trace as text and back: chunk by chunk, so that nothing but compression is added on the way.
 *
 * What this version's writer made comes back byte for byte where the same zstd is at hand. Lines:
 * docs/cli.md, "Text form".
 */
#ifndef RECORDER_TEXT_H
#define RECORDER_TEXT_H

#include <stdio.h>

#include "recorder/digest.h"

TRK_EXTERN_C_BEGIN

/* What a text holds of a trace. */
struct trk_text_result {
    uint64_t damaged_chunks; /* or missing, as far as known */
    uint64_t events;         /* without the marks of losses */
    uint64_t left_out; /* chunks of unknown kinds, of another codec or with a frame of theirs */
    uint8_t left_kind; /* of the first of them */
};

/**
 * Print a trace in the file's order. Damaged chunks are left out, with a comment in their place,
 * marks of losses where events are missing, and an end that says that the trace is cut: what is
 * assembled of the text is no more whole than the trace was.
 *
 * @return TRK_OK, whatever the damage; what opening gives; TRK_E_VERSION; TRK_E_MEMORY;
 *         TRK_E_SYSTEM. What `out` could not take is the caller's to find out.
 *
 * Allocates: yes. Blocks: reads and writes. Signal-safe: no. Threads: any.
 */
TRK_MUST_USE enum trk_status trk_text_print(const char *path, FILE *out,
                                            struct trk_text_result *result,
                                            struct trk_error *error);

struct trk_assemble;

/* Longer lines are refused: a payload of a megabyte, each byte written as four. */
#define TRK_TEXT_LINE_MAX (5u << 20)

/**
 * Begin a trace from text, on a descriptor that stays the caller's.
 *
 * @return TRK_OK, TRK_E_MEMORY.
 *
 * Allocates: yes. Signal-safe: no. Threads: one assembly, one thread.
 */
TRK_MUST_USE enum trk_status trk_assemble_create(struct trk_assemble **out, int fd);
void trk_assemble_destroy(struct trk_assemble *assemble);

/**
 * Take one line, without its newline; the line is changed.
 *
 * @return TRK_OK; TRK_E_ARGUMENT: it is no line of a trace's text, or not at this place;
 *         TRK_E_MEMORY; TRK_E_SYSTEM.
 */
TRK_MUST_USE enum trk_status trk_assemble_line(struct trk_assemble *assemble, char *line,
                                               struct trk_error *error);

/**
 * Write what is left.
 *
 * @param digest  Of all events, for trk_trace_verify.
 * @param ended   Whether the text had an end: without, neither has the trace.
 * @return as trk_assemble_line; TRK_E_INCOMPLETE: the text has no file and header.
 */
TRK_MUST_USE enum trk_status trk_assemble_finish(struct trk_assemble *assemble,
                                                 struct trk_digest *digest, bool *ended,
                                                 struct trk_error *error);

TRK_EXTERN_C_END

#endif
