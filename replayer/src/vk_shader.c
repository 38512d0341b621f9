/* Filling by a compute shader, as a guest's dispatch does it. */
#include "vk_internal.h"

#define WORD_BYTES 4u
/* As much as any device may ask of where a window begins. */
#define WINDOW_ROUND (UINT64_C(1) << 16)

enum trk_status trk_vk_shader_open(struct trk_vk *vk, struct trk_vk_buffer *target,
                                   struct trk_error *error)
{
    const struct fill_target fill = {
        .api = &vk->api,
        .device = vk->device,
        .buffer = target->buffer,
        .size_bytes = target->size_bytes,
        .window_bytes = vk->storage_range / WINDOW_ROUND * WINDOW_ROUND,
    };
    if (!vk->computes || fill.window_bytes == 0) {
        return trk_error_set(error, TRK_E_UNSUPPORTED, "%.80s runs no compute shader on its queue",
                             vk->info.device_name);
    }
    if (vk->shader.api != NULL) {
        return trk_error_set(error, TRK_E_EXISTS, "there is a fill shader already");
    }
    vk->shader_target = target;
    return fill_shader_open(&vk->shader, &fill, error);
}

enum trk_status trk_vk_dispatch(struct trk_vk *vk, uint64_t offset, uint64_t size_bytes,
                                uint32_t word, struct trk_error *error)
{
    const struct trk_vk_buffer *target = vk->shader_target;
    if (target == NULL || offset % WORD_BYTES != 0 || size_bytes % WORD_BYTES != 0 ||
        size_bytes == 0 || offset > target->size_bytes ||
        size_bytes > target->size_bytes - offset) {
        return trk_error_set(error, TRK_E_ARGUMENT,
                             "a dispatch is not aligned to 4 bytes or leaves its Vulkan buffer");
    }
    enum trk_status status = trk_vk_commands_open(vk, error);
    if (status != TRK_OK) {
        return status;
    }
    /* All that it sees it could write: nothing but its code says where it does. */
    const struct trk_vk_access access = {target, 0, target->size_bytes, true};
    const struct fill_range range = {offset, size_bytes, word};
    trk_vk_commands_note(vk, &access, 1);
    fill_shader_record(&vk->shader, trk_vk_commands_buffer(vk), &range);
    return TRK_OK;
}
