/*
 * What a trace holds: its chunks of events, its streams, and what is damaged or lost.
 *
 * A container that trk_scan_run fills; it reads nothing itself.
 */
#ifndef RECORDER_INDEX_H
#define RECORDER_INDEX_H

#include "blob_list.h"
#include "checkpoint_list.h"
#include "format.h"
#include "holds.h"
#include "recorder/trace.h"

#define TRK_INDEX_NONE UINT32_MAX

/* An EVENTS chunk whose checksums were right. */
struct trk_index_chunk {
    uint64_t offset;
    uint64_t first_tsc, last_tsc;
    uint64_t first_ordinal;
    uint64_t dropped;
    uint32_t stream; /* index */
    uint32_t events;
    uint32_t next; /* of the same stream, or TRK_INDEX_NONE */
    uint32_t bad;  /* it did not decode */
    uint32_t file_chunk;
    uint32_t places; /* as in struct trk_format_chunk */
};

struct trk_index_stream {
    struct trk_trace_stream note;
    uint64_t next_ordinal; /* of the stream's next event */
    uint64_t settled;      /* what the last checkpoint has said that it is */
    uint64_t total;        /* events that it should have, by END; 0: that has not said */
    uint32_t first_chunk, last_chunk;
};

struct trk_index {
    struct trk_index_chunk *chunks; /* in the file's order */
    size_t chunk_count, chunk_room;
    struct trk_index_stream *streams; /* in order of first appearance */
    size_t stream_count, stream_room;
    unsigned clock_shift; /* least of all chunks; by trk_quick_run 0 */
    size_t last_found;    /* most chunks are of a stream near the one before */
    uint32_t at_chunk;    /* number in the file of what is looked at, for what damage is told */
    trk_trace_damage_fn *on_damage; /* NULL: nobody asks */
    void *damage_context;
    uint8_t *snapshot; /* payload of the SNAPSHOT before all events; NULL: there is none */
    size_t snapshot_bytes;
    uint64_t snapshot_offset; /* of its chunk */
    uint32_t snapshot_chunk;  /* its number in the file */
    struct trk_blob_list blobs;
    struct trk_checkpoint_list checkpoints;
    struct trk_holds holds; /* from the summaries */
    bool all_summarised;    /* no summary was damaged or not looked at */
    struct trk_trace_state state;
};

void trk_index_init(struct trk_index *index);
void trk_index_deinit(struct trk_index *index);

/* Find a stream by its id in the file, or add it. TRK_E_MEMORY; TRK_E_DAMAGED: one too many. */
TRK_MUST_USE enum trk_status trk_index_stream(struct trk_index *index, uint32_t stream_id,
                                              struct trk_index_stream **out);

/* Find a stream by its id; NULL when it has not appeared. */
struct trk_index_stream *trk_index_find(struct trk_index *index, uint32_t stream_id);

/* [F-15] A NOTE of a stream, if it has appeared, is damaged: whom it is of is not known any more.
 */
void trk_index_lose_note(struct trk_index *index, uint32_t stream_id);

/* Add an EVENTS chunk to its stream. TRK_E_MEMORY; TRK_E_DAMAGED: one too many. */
TRK_MUST_USE enum trk_status trk_index_add(struct trk_index *index, struct trk_index_stream *stream,
                                           uint64_t offset, const struct trk_format_chunk *chunk);

/* Note damage at a file offset, and tell who asked. The first is kept, with its text. */
void trk_index_damage(struct trk_index *index, uint64_t offset, const char *format, ...)
    TRK_PRINTF(3, 4);

/* Keep a copy of a SNAPSHOT's payload, if it is the first and no events were before. TRK_E_MEMORY.
 */
TRK_MUST_USE enum trk_status trk_index_snapshot(struct trk_index *index, uint64_t offset,
                                                const struct trk_format_chunk *chunk,
                                                const uint8_t *payload);

/* [F-40] Take in a CHECKPOINT; without a payload it is damaged, which is told already.
 * TRK_E_MEMORY. */
TRK_MUST_USE enum trk_status trk_index_checkpoint(struct trk_index *index, uint64_t offset,
                                                  const struct trk_format_chunk *chunk,
                                                  const uint8_t *payload);

/* Count a chunk of a kind that is not known [F-9]. */
void trk_index_pass_over(struct trk_index *index, uint8_t kind);

/* Count events that are lost. */
void trk_index_lose(struct trk_index *index, struct trk_index_stream *stream, uint64_t events);

#endif
