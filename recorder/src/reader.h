/*
 * Inside the reader: an open trace.
 */
#ifndef RECORDER_READER_H
#define RECORDER_READER_H

#include "columns.h"
#include "index.h"
#include "linear.h"
#include "scan.h"
#include "source.h"
#include "unpack.h"

/* Where reading stands in a stream. */
struct trk_cursor {
    struct trk_record *records; /* the chunk's, when it is decoded */
    uint32_t chunk;             /* index of the current chunk, or TRK_INDEX_NONE */
    uint32_t next;              /* record in it */
};

struct trk_trace {
    struct trk_source source;
    uint64_t bytes_read; /* of source */
    struct trk_unpack unpack;
    struct trk_index index;
    struct trk_columns *columns;
    struct trk_linear *linear; /* NULL until the first event is asked for */
    struct trk_cursor *cursors;
    uint64_t decoded_bytes;
    uint64_t number;                        /* of the next event */
    uint64_t expected;                      /* events that are readable, when reading began */
    struct trk_checkpoint_state checkpoint; /* that was gone to */
    uint64_t *begin;  /* ordinals of the streams there; NULL: at the beginning */
    uint64_t *before; /* how many events they have before; part of the same memory */
    uint64_t first_chunk_offset;
    struct trk_format_file file;
    struct trk_schema_type types[256];
    char type_names[256][TRK_SCHEMA_NAME_BYTES]; /* of those that SCHEMA added */
    char *type_texts[256];                       /* and of all of each */
    bool scanned;
    bool judged;            /* required types that are not known here are refused [F-36] */
    enum trk_status failed; /* reading stopped in the middle: given again until rewound */
    const volatile sig_atomic_t *stop; /* NULL: nobody asks to */
    struct trk_trace_watch watch;
    char *header_json;
    bool header_lost; /* [F-14] it is what a repair put in its place */
};

/* Forget how far reading has come. reader.c */
void trk_reader_stop(struct trk_trace *trace);

/*
 * Decode a chunk of the index into room for its events. TRK_E_DAMAGED, TRK_E_INCOMPLETE: it is not
 * what it was; TRK_E_MEMORY; TRK_E_SYSTEM. reader.c
 */
TRK_MUST_USE enum trk_status trk_reader_decode(struct trk_trace *trace, uint32_t chunk,
                                               struct trk_record *records, struct trk_error *error);

/* Count the events of a chunk that does not decode as lost, once. reader.c */
void trk_reader_lose_chunk(struct trk_trace *trace, uint32_t chunk);

#endif
