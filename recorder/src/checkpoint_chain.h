/*
 * Going over the checkpoints of a file of which parts may be lost: one that is not full says
 * nothing when one is lost that it builds on [F-40].
 */
#ifndef RECORDER_CHECKPOINT_CHAIN_H
#define RECORDER_CHECKPOINT_CHAIN_H

#include "checkpoint_list.h"
#include "index.h"

/* So many chunks are missing, nobody knows of which kind. */
void trk_checkpoint_chain_missing(struct trk_checkpoint_chain *chain, uint64_t chunks);

/* A stream goes on at an ordinal: what is missing before it was in one of these chunks at least. */
void trk_checkpoint_chain_gap(struct trk_checkpoint_chain *chain,
                              const struct trk_index_stream *stream, uint64_t ordinal);

/**
 * The next CHECKPOINT.
 *
 * @param payload  NULL: it is damaged.
 * @return TRK_OK: it can be used; TRK_E_END: not without what is lost; TRK_E_DAMAGED: it is not
 *         one; TRK_E_MEMORY.
 */
TRK_MUST_USE enum trk_status trk_checkpoint_chain_take(struct trk_checkpoint_chain *chain,
                                                       struct trk_index *index,
                                                       const uint8_t *payload, size_t size_bytes);

#endif
