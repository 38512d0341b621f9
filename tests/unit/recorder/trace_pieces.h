/* A trace file as its frames, to be changed, dropped, repeated and put together again. */
#ifndef TESTS_TRACE_PIECES_H
#define TESTS_TRACE_PIECES_H

#include "format.h"
#include "trace_support.h"

#define PIECES_MAX 32

/* [0] the file header, then chunks, last the end mark. */
struct pieces {
    uint8_t *bytes[PIECES_MAX];
    size_t size_bytes[PIECES_MAX];
    size_t count;
    uint8_t sync[TRK_FORMAT_SYNC_BYTES];
};

/* The pieces of the model: two streams, 5 and 6, with one event a chunk, MARKs 'a' to 'd'. */
enum model_piece {
    FILE_PIECE,
    HEADER_PIECE,
    NOTE_5,
    NOTE_6,
    EVENT_A,
    EVENT_B,
    EVENT_C,
    EVENT_D,
    END_CHUNK,
    END_MARK,
    ALL_PIECES
};

struct pieces pieces_model(void);
struct pieces pieces_of(const struct trace_file *file);
void pieces_free(struct pieces *pieces);

void pieces_drop(struct pieces *pieces, size_t at);
void pieces_insert(struct pieces *pieces, size_t at, const void *bytes, size_t size_bytes);
void pieces_swap(struct pieces *pieces, size_t a, size_t b);

/* The header of a chunk, and writing it back with right checksums. */
struct trk_format_chunk pieces_chunk(const struct pieces *pieces, size_t at);
void pieces_reseal(struct pieces *pieces, size_t at, const struct trk_format_chunk *chunk);

/* The whole file; the caller's to free. */
uint8_t *pieces_join(const struct pieces *pieces, size_t *size_bytes);

#endif
