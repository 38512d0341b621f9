/* The lines of a trace's text, which docs/cli.md describes. */
#ifndef RECORDER_TEXT_FORM_H
#define RECORDER_TEXT_FORM_H

#include <stdio.h>

#include "format.h"
#include "recorder/chunks.h"
#include "totals.h"

/* The first two. */
void trk_text_file(FILE *out, const struct trk_format_file *file);

/*
 * A chunk of any kind but INDEX and END: of EVENTS its records, of the others the payload of
 * chunk->raw_bytes. TRK_OK, TRK_E_MEMORY.
 */
TRK_MUST_USE enum trk_status trk_text_chunk(FILE *out, const struct trk_format_chunk *chunk,
                                            const uint8_t *payload,
                                            const struct trk_record *records);

/* The last one. */
void trk_text_end(FILE *out, const struct trk_format_end *end);

#endif
