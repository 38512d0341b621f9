/*
 * The frames of a .trk file: file header, chunk header, end mark; limits and constants.
 *
 * Encodes and decodes the fixed-width parts, nothing else: no file access, no compression, no
 * columns. Numbered rules [F-n]: docs/format.md.
 *
 * Glossary. frame: what zstd's tools see as one unit. chunk: a chunk header frame and the payload
 * frame behind it. stream: one thread's events in order. ordinal: an event's place in its stream.
 */
#ifndef RECORDER_FORMAT_H
#define RECORDER_FORMAT_H

#include <stdbool.h>
#include <stdint.h>

#include "track/status.h"

/* Version that is written, and the oldest reader that understands it [F-4]. */
#define TRK_FORMAT_MAJOR            1u
#define TRK_FORMAT_MINOR            2u
#define TRK_FORMAT_MIN_READER_MAJOR 0u
#define TRK_FORMAT_MIN_READER_MINOR 2u
/* Feature bits this reader knows; it refuses a file that requires another one [F-5]. */
#define TRK_FORMAT_KNOWN_FEATURES 0u

/* Optional features [F-5]. */
#define TRK_FORMAT_FEATURE_SUMMARIES                                                               \
    1u /* every EVENTS chunk that touches a domain has a summary                                   \
        */

/* Skippable frames: one fixed magic for each of the four, out of zstd's sixteen [F-2]. */
#define TRK_FORMAT_FRAME_FILE    0x184D2A54u
#define TRK_FORMAT_FRAME_CHUNK   0x184D2A55u
#define TRK_FORMAT_FRAME_END     0x184D2A56u
#define TRK_FORMAT_FRAME_SUMMARY 0x184D2A57u

#define TRK_FORMAT_FILE_BYTES  64u
#define TRK_FORMAT_CHUNK_BYTES 96u
#define TRK_FORMAT_END_BYTES   32u
#define TRK_FORMAT_SYNC_BYTES  16u
/* Payload of END: a fixed part, as much again for each stream, and where the last INDEX is [F-16].
 */
#define TRK_FORMAT_TOTALS_BYTES        16u
#define TRK_FORMAT_TOTALS_STREAM_BYTES 24u
#define TRK_FORMAT_TOTALS_TAIL_BYTES   8u
/* Payload of INDEX: a fixed part, and an entry for each chunk [F-35]. */
#define TRK_FORMAT_INDEX_BYTES       16u
#define TRK_FORMAT_INDEX_ENTRY_BYTES 56u
#define TRK_FORMAT_INDEX_ENTRIES     64u /* the writer puts so many in one */
/* Flags in the fixed part. */
#define TRK_FORMAT_TOTALS_CUT 1u /* the recording was cut off: what came behind is not known */
/* Where the sync marker stands in a chunk header. */
#define TRK_FORMAT_CHUNK_SYNC_AT 8u

/* A zstd skippable frame begins with its magic and the size of what follows. */
#define TRK_FORMAT_FRAME_PREFIX 8u

enum trk_format_kind {
    TRK_FORMAT_HEADER = 1,     /* JSON: what the recording is of; the first chunk */
    TRK_FORMAT_EVENTS = 2,     /* columns */
    TRK_FORMAT_NOTE = 3,       /* JSON: a stream's name, role and thread */
    TRK_FORMAT_END = 4,        /* totals; the last chunk */
    TRK_FORMAT_SCHEMA = 5,     /* JSON: the types of events and how their columns are read */
    TRK_FORMAT_INDEX = 6,      /* where the chunks before it are */
    TRK_FORMAT_SNAPSHOT = 7,   /* the state that the events behind it begin with */
    TRK_FORMAT_BLOB = 8,       /* contents of pages */
    TRK_FORMAT_CHECKPOINT = 9, /* the state in the middle */
};

enum trk_format_codec {
    TRK_FORMAT_CODEC_ZSTD = 1, /* one zstd frame with content size and checksum */
};

/* A reader that does not know a kind with this flag refuses the file; others it skips [F-9]. */
#define TRK_FORMAT_FLAG_REQUIRED 1u

/* HEADER and END belong to no stream. */
#define TRK_FORMAT_NO_STREAM UINT32_MAX

/*
 * Limits of what a reader accepts [F-3]. They bound its memory whatever a file says, and stand well
 * above what the writer makes (8192 events a chunk).
 */
#define TRK_FORMAT_JSON_MAX    (1u << 20) /* HEADER, SCHEMA and NOTE, bytes */
#define TRK_FORMAT_SUMMARY_MAX (4u << 20) /* summary, its frame included */
#define TRK_FORMAT_EVENTS_MAX  (1u << 17) /* events a chunk */
#define TRK_FORMAT_RAW_MAX     (1u << 23) /* payload, uncompressed: 64 bytes an event */
#define TRK_FORMAT_PACKED_MAX  (9u << 20) /* payload, compressed: the worst case of RAW_MAX */
#define TRK_FORMAT_STREAMS_MAX 4096u      /* streams a file */
#define TRK_FORMAT_CHUNKS_MAX  (1u << 22) /* chunks a file */
#define TRK_FORMAT_SHIFT_MAX   31u        /* clock shift */
#define TRK_FORMAT_BLOB_MAX    (1u << 20) /* BLOB, bytes uncompressed */
#define TRK_FORMAT_BLOBS_MAX   (1u << 22) /* contents of pages a file */

/* Of each page in a BLOB [F-39]. */
#define TRK_FORMAT_BLOB_BYTES 4096u

struct trk_format_file {
    uint16_t major, minor;
    uint16_t min_reader_major, min_reader_minor;
    uint64_t required_features, optional_features;
    int8_t zstd_level; /* what the writer compressed with; 0: not said */
    uint8_t sync[TRK_FORMAT_SYNC_BYTES];
};

struct trk_format_chunk {
    uint8_t kind; /* enum trk_format_kind, or unknown */
    uint8_t codec;
    uint8_t flags;
    uint8_t clock_shift;
    uint32_t stream;
    uint32_t stream_chunk; /* number of this chunk among its stream's, from 0 */
    uint32_t events;
    uint64_t first_ordinal;
    uint64_t first_tsc, last_tsc;
    uint64_t dropped; /* sum of the DROP events in it */
    uint32_t raw_bytes, packed_bytes;
    uint32_t file_chunk; /* number among all chunks of the file, from 0 */
    uint32_t payload_crc;
    uint32_t summary_bytes; /* of the frame between header and payload; 0: there is none [F-34] */
    uint32_t places;        /* of EVENTS; in INDEX only, 0: not said [F-42] */
};

struct trk_format_end {
    uint64_t chunk_offset; /* of the END chunk */
    int32_t child_status;
    bool cut; /* TRK_FORMAT_TOTALS_CUT; in the END chunk only */
};

/* Whether this reader knows a kind of chunk [F-9]. */
bool trk_format_kind_known(uint8_t kind);
/* Whether an INDEX names chunks of a kind [F-35]. */
bool trk_format_kind_indexed(uint8_t kind);

/* From a chunk's header to its payload, and to the next chunk. */
static inline uint64_t trk_format_payload_at(const struct trk_format_chunk *chunk)
{
    return TRK_FORMAT_CHUNK_BYTES + (uint64_t)chunk->summary_bytes;
}

static inline uint64_t trk_format_chunk_span(const struct trk_format_chunk *chunk)
{
    return trk_format_payload_at(chunk) + chunk->packed_bytes;
}

/* Write the frame into `to`, which has room for it. */
void trk_format_put_file(uint8_t *to, const struct trk_format_file *file);
void trk_format_put_chunk(uint8_t *to, const uint8_t *sync, const struct trk_format_chunk *chunk);
void trk_format_put_end(uint8_t *to, const uint8_t *sync, const struct trk_format_end *end);

/**
 * Read the file header.
 *
 * @return TRK_OK; TRK_E_DAMAGED: not a trace, or damaged; TRK_E_VERSION: needs a newer reader.
 */
TRK_MUST_USE enum trk_status trk_format_get_file(const uint8_t *from, struct trk_format_file *file,
                                                 struct trk_error *error);

/**
 * Read a chunk header.
 *
 * @return whether it is one of this file, undamaged, and within the limits.
 */
bool trk_format_get_chunk(const uint8_t *from, const uint8_t *sync, struct trk_format_chunk *chunk);

/* Read the end mark; whether it is one of this file and undamaged. */
bool trk_format_get_end(const uint8_t *from, const uint8_t *sync, struct trk_format_end *end);

#endif
