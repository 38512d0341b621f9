/* Guest memory itself is the source, and the target of read-backs: the host copies nothing. */
#include "replay_internal.h"

static void import_pieces(struct trk_replay *replay, const struct schedule_chunk *chunk,
                          const struct replay_slot *slot)
{
    struct trk_gpu *gpu = replay->gpu;
    for (size_t i = 0; i < chunk->piece_count; i++) {
        const struct schedule_piece *piece = &replay->schedule.pieces[chunk->first_piece + i];
        replay->copies[i] = (VkBufferCopy){
            .srcOffset = piece->offset, .dstOffset = piece->offset, .size = piece->size_bytes};
        if (replay->policy.shape == TRK_SHAPE_PER_RANGE) {
            gpu_commands_copy(gpu, &slot->commands, replay->ground->imported.buffer,
                              replay->mirror->buffer, &replay->copies[i]);
        }
    }
    if (replay->policy.shape != TRK_SHAPE_PER_RANGE) {
        gpu->api.CmdCopyBuffer(slot->commands.buffer, replay->ground->imported.buffer,
                               replay->mirror->buffer, (uint32_t)chunk->piece_count,
                               replay->copies);
    }
}

/* Only what was asked for: the gaps' bytes in guest memory may be newer. */
static void import_parts(struct trk_replay *replay, const struct schedule_chunk *chunk,
                         const struct replay_slot *slot)
{
    for (size_t i = 0; i < chunk->part_count; i++) {
        const struct schedule_piece *part = &replay->schedule.parts[chunk->first_part + i];
        VkBufferCopy copy = {
            .srcOffset = part->offset, .dstOffset = part->offset, .size = part->size_bytes};
        gpu_commands_copy(replay->gpu, &slot->commands, replay->mirror->buffer,
                          replay->ground->imported.buffer, &copy);
    }
}

static enum trk_status import_able(const struct trk_gpu *gpu, enum trk_policy_queue queue,
                                   struct trk_error *error)
{
    (void)queue;
    return gpu->info.import
               ? TRK_OK
               : trk_error_set(error, TRK_E_UNSUPPORTED, "%.60s has no VK_EXT_external_memory_host",
                               gpu->info.device_name);
}

const struct replay_path replay_path_import = {
    .name = "import",
    .up_in_place = true,
    .down_in_place = true,
    .imported = true,
    .mirror = GPU_DEVICE,
    .able = import_able,
    .up = import_pieces,
    .down = import_parts,
};
