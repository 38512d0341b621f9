/* Where the checkpoints of a file are, and the one that was gone to. */
#ifndef RECORDER_CHECKPOINT_LIST_H
#define RECORDER_CHECKPOINT_LIST_H

#include "recorder/packing.h"
#include "recorder/trace.h"

struct trk_checkpoint_place {
    uint64_t offset;
    uint64_t event_number; /* as its header says */
};

/* [F-40] Whether one that is not full can be used: what it builds on is there. */
struct trk_checkpoint_chain {
    bool sound;      /* a full one was there, and none behind it is lost */
    uint64_t unseen; /* chunks behind the last one that are lost and may be of any kind */
};

struct trk_checkpoint_list {
    struct trk_checkpoint_place *places;
    size_t count, room;
    struct trk_checkpoint_chain chain;
};

void trk_checkpoint_list_deinit(struct trk_checkpoint_list *list);
/* Note a CHECKPOINT. TRK_E_MEMORY; TRK_E_DAMAGED: one too many. */
TRK_MUST_USE enum trk_status trk_checkpoint_list_add(struct trk_checkpoint_list *list,
                                                     uint64_t offset, uint64_t event_number);

/* A stream at a checkpoint. */
struct trk_checkpoint_stream {
    uint32_t stream_id;
    uint64_t ordinal; /* of its next event */
};

/* All that is known at a checkpoint. */
struct trk_checkpoint_state {
    struct trk_checkpoint_stream *streams;
    size_t stream_count;
    struct trk_packing snapshot; /* as [F-37] */
    struct trk_trace_event *prologue;
    size_t prologue_count;
};

void trk_checkpoint_state_deinit(struct trk_checkpoint_state *state);

/* Take apart a payload alone: its streams, without a prologue or a snapshot that are whole. The
 * state is the caller's to free. TRK_E_DAMAGED: it is not one; TRK_E_MEMORY. */
TRK_MUST_USE enum trk_status trk_checkpoint_look(const uint8_t *bytes, size_t size_bytes,
                                                 struct trk_checkpoint_state *out);

/* Read one's payload; the bytes are the caller's to free. TRK_E_DAMAGED, TRK_E_MEMORY,
 * TRK_E_SYSTEM.
 */
TRK_MUST_USE enum trk_status trk_checkpoint_read(struct trk_trace *trace, size_t index,
                                                 uint8_t **bytes, size_t *size_bytes,
                                                 struct trk_error *error);

/* Put a checkpoint together. TRK_E_DAMAGED: not readable; TRK_E_MEMORY, TRK_E_SYSTEM. */
TRK_MUST_USE enum trk_status trk_checkpoint_load(struct trk_trace *trace, size_t index,
                                                 struct trk_checkpoint_state *out,
                                                 struct trk_error *error);

#endif
