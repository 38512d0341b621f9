/* Copies through staging, one region a piece; and from imported guest memory, likewise. */
#include "replay_internal.h"

static void copy_flush(struct trk_replay *replay, const struct replay_slot *slot, VkBuffer source,
                       VkBuffer target, uint32_t count)
{
    struct trk_gpu *gpu = replay->gpu;
    if (replay->policy.shape == TRK_SHAPE_PER_RANGE) { /* as recorded: a command each */
        for (uint32_t i = 0; i < count; i++) {
            gpu_commands_copy(gpu, &slot->commands, source, target, &replay->copies[i]);
        }
    } else if (count > 0) {
        gpu->api.CmdCopyBuffer(slot->commands.buffer, source, target, count, replay->copies);
    }
}

static void copy_pieces(struct trk_replay *replay, const struct schedule_chunk *chunk,
                        const struct replay_slot *slot, bool up, bool loose)
{
    VkBuffer staging = up ? replay->upload.buffer : replay->readback.buffer;
    uint32_t count = 0;
    for (size_t i = 0; i < chunk->piece_count; i++) {
        const struct schedule_piece *piece = &replay->schedule.pieces[chunk->first_piece + i];
        if (loose && schedule_in_units(piece)) {
            continue;
        }
        uint64_t stage = slot->offset + piece->stage;
        replay->copies[count++] = (VkBufferCopy){
            .srcOffset = up ? stage : piece->offset,
            .dstOffset = up ? piece->offset : stage,
            .size = piece->size_bytes,
        };
    }
    copy_flush(replay, slot, up ? staging : replay->mirror->buffer,
               up ? replay->mirror->buffer : staging, count);
}

void replay_copy_up(struct trk_replay *replay, const struct schedule_chunk *chunk,
                    const struct replay_slot *slot)
{
    copy_pieces(replay, chunk, slot, true, false);
}

void replay_copy_down(struct trk_replay *replay, const struct schedule_chunk *chunk,
                      const struct replay_slot *slot)
{
    copy_pieces(replay, chunk, slot, false, false);
}

void replay_copy_loose(struct trk_replay *replay, const struct schedule_chunk *chunk,
                       const struct replay_slot *slot, bool up)
{
    copy_pieces(replay, chunk, slot, up, true);
}

static enum trk_status copy_able(const struct trk_gpu *gpu, enum trk_policy_queue queue,
                                 struct trk_error *error)
{
    (void)gpu;
    (void)queue;
    (void)error;
    return TRK_OK;
}

const struct replay_path replay_path_copy = {
    .name = "copy",
    .staged = true,
    .mirror = GPU_DEVICE,
    .able = copy_able,
    .up = replay_copy_up,
    .down = replay_copy_down,
};
