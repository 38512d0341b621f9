/*
 * Writing a .trk file: forward only, so that pipes and sockets work.
 *
 * The caller gives the header once, then names streams and appends their records in order, and
 * ends the file. Each stream fills its own chunks; a chunk is written when it has
 * TRK_CHUNK_EVENTS records or trk_writer_flush asks. Format: docs/format.md.
 */
#ifndef RECORDER_WRITER_H
#define RECORDER_WRITER_H

#include "recorder/trace.h"

TRK_EXTERN_C_BEGIN

#define TRK_CHUNK_EVENTS 8192u

struct trk_writer;

struct trk_writer_options {
    size_t size;             /* sizeof(struct trk_writer_options) */
    int zstd_level;          /* default 3 */
    uint32_t chunk_events;   /* events a chunk, 1 to 131072; default TRK_CHUNK_EVENTS */
    unsigned clock_shift;    /* time stamps lose this many low bits; default 5 */
    bool plain;              /* only what must be: no SCHEMA, no INDEX, no summaries */
    uint8_t sync_marker[16]; /* random, or fixed for tests */
    /* A scanned trace that is written again: what it says of types that this version does not know
     * is said again; NULL: there is none. For trk_writer_create alone. */
    const struct trk_trace *types_of;
};

struct trk_writer_options trk_writer_options_default(void);

/**
 * Start a file on a descriptor (which stays the caller's): writes the file header and HEADER.
 *
 * @param header_json  Stored as it is, at most 1 MiB.
 * @return TRK_OK, TRK_E_ARGUMENT, TRK_E_MEMORY, TRK_E_SYSTEM (os_errno).
 */
TRK_MUST_USE enum trk_status trk_writer_create(struct trk_writer **out, int fd,
                                               const struct trk_writer_options *options,
                                               const char *header_json, struct trk_error *error);

/* Name a stream before its first record; again when its name or role became known later. What a
 * newer version says of it is written too. */
TRK_MUST_USE enum trk_status trk_writer_stream(struct trk_writer *writer,
                                               const struct trk_trace_stream *stream,
                                               struct trk_error *error);

/*
 * Append records of a stream; DROP events among them stand for losses, as track/event.h says.
 * dropped: events of no known type lost just before the first of them.
 */
TRK_MUST_USE enum trk_status trk_writer_append(struct trk_writer *writer, uint32_t stream_id,
                                               const struct trk_record *records, size_t count,
                                               uint64_t dropped, struct trk_error *error);

/* Write out the open chunk of a stream, where it has one, or of every stream. */
TRK_MUST_USE enum trk_status trk_writer_flush_stream(struct trk_writer *writer, uint32_t stream_id,
                                                     struct trk_error *error);
TRK_MUST_USE enum trk_status trk_writer_flush(struct trk_writer *writer, struct trk_error *error);

/* Say what state the events begin with: a SNAPSHOT's payload, before the first of them. */
TRK_MUST_USE enum trk_status trk_writer_snapshot(struct trk_writer *writer, const void *payload,
                                                 size_t size_bytes, struct trk_error *error);

/* Say at the end that the recording was cut off before its own: for who writes a trace again. */
void trk_writer_cut(struct trk_writer *writer);

/* Flush, write END with the recorded program's wait status (-1: none). The writer is used up. */
TRK_MUST_USE enum trk_status trk_writer_end(struct trk_writer *writer, int32_t child_status,
                                            struct trk_error *error);

/* Free without END, if trk_writer_end was not called. NULL is accepted. */
void trk_writer_destroy(struct trk_writer *writer);

/* Bytes written so far. */
uint64_t trk_writer_bytes(const struct trk_writer *writer);

/* Events written so far, without the DROP events that tell of losses. */
uint64_t trk_writer_events(const struct trk_writer *writer);

/* The losses that they tell of: so many events are missing. */
uint64_t trk_writer_dropped(const struct trk_writer *writer);

TRK_EXTERN_C_END

#endif
