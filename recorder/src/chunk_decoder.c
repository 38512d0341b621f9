#include "chunk_decoder.h"

#include <stdlib.h>
#include <string.h>

#include "chunk_events.h"

enum trk_status trk_chunk_decoder_init(struct trk_chunk_decoder *decoder,
                                       const struct trk_source *source, const uint8_t *sync)
{
    memcpy(decoder->types, trk_schema_table, sizeof decoder->types);
    decoder->records = malloc(TRK_FORMAT_EVENTS_MAX * sizeof *decoder->records);
    if (decoder->records == NULL || trk_unpack_init(&decoder->unpack, source, sync) != TRK_OK) {
        return TRK_E_MEMORY;
    }
    return trk_columns_create_decoder(&decoder->columns);
}

void trk_chunk_decoder_deinit(struct trk_chunk_decoder *decoder)
{
    trk_columns_destroy(decoder->columns);
    trk_unpack_deinit(&decoder->unpack);
    free(decoder->records);
}

enum trk_status trk_chunk_decoder_events(struct trk_chunk_decoder *decoder, uint64_t offset,
                                         const struct trk_format_chunk *chunk,
                                         struct trk_error *error)
{
    const struct trk_chunk_reader reader = {&decoder->unpack, decoder->columns, decoder->types,
                                            NULL};
    return trk_chunk_events(&reader, offset, chunk, decoder->records, error);
}

enum trk_status trk_chunk_decoder_schema(struct trk_chunk_decoder *decoder,
                                         const struct trk_format_chunk *chunk)
{
    struct trk_schema schema = {decoder->types, decoder->names, NULL};
    return trk_schema_parse((const char *)decoder->unpack.raw, chunk->raw_bytes, &schema);
}
