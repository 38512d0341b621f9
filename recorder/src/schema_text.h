/*
 * The SCHEMA chunk: the table of types and columns as JSON, for readers that are older [F-36].
 */
#ifndef RECORDER_SCHEMA_TEXT_H
#define RECORDER_SCHEMA_TEXT_H

#include <stddef.h>

#include "schema.h"
#include "track/status.h"

#define TRK_SCHEMA_NAME_BYTES 32u

/*
 * The table of this version; NULL without memory. Freed with trk_schema_free. newer: 256 texts, of
 * types that this version does not know, each as a file describes it; NULL: there are none.
 */
char *trk_schema_print(char *const *newer);
void trk_schema_free(char *text);
/* A copy that is freed likewise; NULL without memory. */
char *trk_schema_copy(const char *text);

/* A table that starts as trk_schema_table and takes in what a file adds. */
struct trk_schema {
    struct trk_schema_type *types;        /* 256 */
    char (*names)[TRK_SCHEMA_NAME_BYTES]; /* 256; "" where this version has the name */
    char **texts; /* 256, each freed with trk_schema_free; NULL: nobody writes the types again */
};

/* Whether two descriptions of a type say the same. */
bool trk_schema_same(const char *a, const char *b);

/**
 * Take in the types that this version does not know. They may be in a hold and never end one.
 *
 * @return TRK_OK; TRK_E_DAMAGED: not readable, nothing is taken; TRK_E_MEMORY; TRK_E_VERSION: a
 * type that this version knows has another shape there, or one has a shape that it cannot read.
 */
TRK_MUST_USE enum trk_status trk_schema_parse(const char *text, size_t size_bytes,
                                              struct trk_schema *schema);

#endif
