/*
 * All that it takes to decode a file's events, for those who go over it once, chunk by chunk: the
 * types that the file describes itself are taken in on the way.
 */
#ifndef RECORDER_CHUNK_DECODER_H
#define RECORDER_CHUNK_DECODER_H

#include "columns.h"
#include "schema_text.h"
#include "unpack.h"

struct trk_chunk_decoder {
    struct trk_unpack unpack;
    struct trk_columns *columns;
    struct trk_record *records; /* of one chunk, the largest there may be */
    struct trk_schema_type types[256];
    char names[256][TRK_SCHEMA_NAME_BYTES];
};

/* The decoder is all zeros. TRK_OK, TRK_E_MEMORY; trk_chunk_decoder_deinit in any case. */
TRK_MUST_USE enum trk_status trk_chunk_decoder_init(struct trk_chunk_decoder *decoder,
                                                    const struct trk_source *source,
                                                    const uint8_t *sync);
/* One that is all zeros may be given, too. */
void trk_chunk_decoder_deinit(struct trk_chunk_decoder *decoder);

/* The EVENTS chunk at an offset, whose header this is, into `records`: as trk_chunk_events. */
TRK_MUST_USE enum trk_status trk_chunk_decoder_events(struct trk_chunk_decoder *decoder,
                                                      uint64_t offset,
                                                      const struct trk_format_chunk *chunk,
                                                      struct trk_error *error);

/* The SCHEMA chunk whose payload is in unpack.raw: as trk_schema_parse. */
TRK_MUST_USE enum trk_status trk_chunk_decoder_schema(struct trk_chunk_decoder *decoder,
                                                      const struct trk_format_chunk *chunk);

#endif
