/*
 * The payload of an EVENTS chunk: events as columns of small numbers.
 *
 * Works on one chunk at a time, without memory of the one before, so that any chunk decodes alone.
 * Knows neither files nor compression. Rules: [F-18] to [F-26].
 */
#ifndef RECORDER_COLUMNS_H
#define RECORDER_COLUMNS_H

#include <stddef.h>
#include <stdint.h>

#include "recorder/trace.h"
#include "schema.h"

/* Ids of the columns, which stand in a payload in this order [F-19]. */
enum trk_columns_id {
    TRK_COLUMN_TYPE = 1,
    TRK_COLUMN_TIME = 2,
    TRK_COLUMN_DOMAIN = 3,
    TRK_COLUMN_SEQ = 4,
    TRK_COLUMN_PAGE = 5,
    TRK_COLUMN_PAGES = 6,
    TRK_COLUMN_FLAGS = 7,
    TRK_COLUMN_CONTEXT = 8,
    TRK_COLUMN_ADDRESS = 9,
    TRK_COLUMN_SIZE = 10,
    TRK_COLUMN_STAMP = 11,
    TRK_COLUMN_NUMBER = 12,
    TRK_COLUMN_ID = 13,
    TRK_COLUMN_OTHER = 14,
    TRK_COLUMN_HASH = 15,
    TRK_COLUMN_COUNT = 16, /* one more than the last */
};

/* How a column's numbers are written [F-19]. */
enum trk_columns_encoding {
    TRK_ENCODING_BYTES = 1,  /* one byte each */
    TRK_ENCODING_LEB = 2,    /* LEB128 */
    TRK_ENCODING_ZIGZAG = 3, /* LEB128 of the zigzag of the difference to what was expected */
};

/* Working memory of one encoder or decoder. */
struct trk_columns;

/* TRK_OK, TRK_E_MEMORY. A decoder needs none of the encoder's room. */
/* events: the most that a chunk will have, up to TRK_FORMAT_EVENTS_MAX. */
TRK_MUST_USE enum trk_status trk_columns_create_encoder(struct trk_columns **out, size_t events);
TRK_MUST_USE enum trk_status trk_columns_create_decoder(struct trk_columns **out);
void trk_columns_destroy(struct trk_columns *columns);

/**
 * Encode records as a payload, which is the columns' until the next call.
 *
 * @param count        1 to what the encoder was made for.
 * @param clock_shift  Time stamps lose this many low bits.
 * @return its size in bytes.
 *
 * Allocates: no.
 */
size_t trk_columns_encode(struct trk_columns *columns, const struct trk_record *records,
                          size_t count, unsigned clock_shift, const uint8_t **payload);

/* What a payload is decoded with: from its chunk's header. */
struct trk_columns_input {
    const uint8_t *bytes;
    size_t size_bytes;
    size_t count;
    unsigned clock_shift;
    uint64_t first_tsc;
    const struct trk_schema_type *types; /* 256; NULL: those of this version */
};

/**
 * Decode a payload into `out`, which has room for input->count records.
 *
 * @return TRK_OK; TRK_E_DAMAGED: the payload is not one of that many events (out is then
 *         undefined); TRK_E_MEMORY.
 *
 * Allocates: for chunks larger than any before.
 */
TRK_MUST_USE enum trk_status trk_columns_decode(struct trk_columns *columns,
                                                const struct trk_columns_input *input,
                                                struct trk_record *out);

#endif
