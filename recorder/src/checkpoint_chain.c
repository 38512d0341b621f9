#include "checkpoint_chain.h"

#include "recorder/checkpoint.h"

void trk_checkpoint_chain_missing(struct trk_checkpoint_chain *chain, uint64_t chunks)
{
    chain->unseen += chunks;
}

static void explain_one(struct trk_checkpoint_chain *chain)
{
    chain->unseen -= chain->unseen > 0;
}

void trk_checkpoint_chain_gap(struct trk_checkpoint_chain *chain,
                              const struct trk_index_stream *stream, uint64_t ordinal)
{
    /* What a checkpoint has told of before was missing before it. */
    uint64_t known = stream->next_ordinal;
    known = stream->settled > known ? stream->settled : known;
    if (ordinal > known) {
        explain_one(chain);
    }
}

enum trk_status trk_checkpoint_chain_take(struct trk_checkpoint_chain *chain,
                                          struct trk_index *index, const uint8_t *payload,
                                          size_t size_bytes)
{
    struct trk_checkpoint_state state;
    enum trk_status status =
        payload != NULL ? trk_checkpoint_look(payload, size_bytes, &state) : TRK_E_DAMAGED;
    if (status != TRK_OK) {
        chain->sound = false;
        return status;
    }
    for (size_t i = 0; i < state.stream_count; i++) {
        uint64_t ordinal = state.streams[i].ordinal;
        struct trk_index_stream *stream = trk_index_find(index, state.streams[i].stream_id);
        if (stream != NULL) {
            trk_checkpoint_chain_gap(chain, stream, ordinal);
            stream->settled = ordinal;
        } else if (ordinal > 0) {
            explain_one(chain);
        }
    }
    trk_checkpoint_state_deinit(&state);
    bool full = (payload[0] & TRK_CHECKPOINT_FULL) != 0;
    chain->sound = full || (chain->sound && chain->unseen == 0);
    chain->unseen = 0;
    return chain->sound ? TRK_OK : TRK_E_END;
}

enum trk_status trk_index_checkpoint(struct trk_index *index, uint64_t offset,
                                     const struct trk_format_chunk *chunk, const uint8_t *payload)
{
    bool undamaged = index->state.damaged_chunks == 0;
    enum trk_status status =
        trk_checkpoint_chain_take(&index->checkpoints.chain, index, payload, chunk->raw_bytes);
    if (status == TRK_OK) {
        status = trk_checkpoint_list_add(&index->checkpoints, offset, chunk->first_ordinal);
    } else if (undamaged && status != TRK_E_MEMORY) { /* else it, or what it needs, is told of */
        index->state.damaged_chunks++;
        trk_index_damage(index, offset, "the checkpoint of chunk %u is not readable",
                         chunk->file_chunk);
    }
    return status == TRK_E_MEMORY ? status : TRK_OK;
}
