/*
 * The chunks of a trace, each read alone: for who wants some of the events and not their order.
 *
 * What an index says of a chunk is known without reading it; its lock domains are, from its
 * summary, without decompressing it. Reading chunks does not disturb trk_trace_next. After a scan.
 */
#ifndef RECORDER_CHUNKS_H
#define RECORDER_CHUNKS_H

#include "recorder/trace.h"

TRK_EXTERN_C_BEGIN

#define TRK_TRACE_NO_CHUNK UINT32_MAX

/* A chunk of events. */
struct trk_trace_chunk {
    uint64_t file_offset;
    uint64_t first_ordinal; /* place of its first event in its stream */
    uint64_t first_tsc, last_tsc;
    uint32_t stream; /* index */
    uint32_t events;
    uint32_t next; /* index of the stream's next chunk, or TRK_TRACE_NO_CHUNK */
};

/* How many a trace has, in the file's order. */
size_t trk_trace_chunk_count(const struct trk_trace *trace);

/* index: below trk_trace_chunk_count. */
struct trk_trace_chunk trk_trace_chunk(const struct trk_trace *trace, size_t index);

/* The first chunk of a stream, or TRK_TRACE_NO_CHUNK. */
uint32_t trk_trace_first_chunk(const struct trk_trace *trace, size_t stream);

/**
 * Decode the events of a chunk, in their thread's order.
 *
 * @param records  Has room for the chunk's events.
 * @return TRK_OK; TRK_E_DAMAGED: it is not readable, its events are counted as lost and the state
 *         says so; TRK_E_MEMORY; TRK_E_SYSTEM.
 */
TRK_MUST_USE enum trk_status trk_trace_chunk_read(struct trk_trace *trace, size_t index,
                                                  struct trk_record *records,
                                                  struct trk_error *error);

/* A lock domain that events of a chunk are in. */
struct trk_trace_domain {
    uint32_t domain;
    uint32_t holds; /* how many end there */
};

/* Room for them, used again from chunk to chunk; zero-initialised is empty. */
struct trk_trace_domains {
    struct trk_trace_domain *at;
    size_t count, room;
};

void trk_trace_domains_deinit(struct trk_trace_domains *domains);

/**
 * The domains of all events of a chunk that are in a hold, ascending, from its summary; for a FAULT
 * of no region its tracker's number in class 0.
 *
 * @return TRK_OK; TRK_E_UNSUPPORTED: it cannot be told without decoding the chunk; TRK_E_MEMORY;
 *         TRK_E_SYSTEM.
 */
TRK_MUST_USE enum trk_status trk_trace_chunk_domains(struct trk_trace *trace, size_t index,
                                                     struct trk_trace_domains *out,
                                                     struct trk_error *error);

/**
 * Whether an event of a chunk that is in no hold may be about bytes of the region of an address. By
 * the file's index, which costs nothing; true where that does not tell.
 */
bool trk_trace_chunk_may_have(const struct trk_trace *trace, size_t index, uint64_t guest_addr);

/* How many bytes of the file were read since it was opened; what was read twice counts twice. */
uint64_t trk_trace_bytes_read(const struct trk_trace *trace);

TRK_EXTERN_C_END

#endif
