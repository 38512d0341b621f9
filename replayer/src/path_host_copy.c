/* Images are copied by the host (VK_EXT_host_image_copy), without staging; buffers as in copy. */
#include "replay_internal.h"

static enum trk_status host_copy_able(const struct trk_gpu *gpu, enum trk_policy_queue queue,
                                      struct trk_error *error)
{
    (void)queue;
    return gpu->info.host_copy
               ? TRK_OK
               : trk_error_set(error, TRK_E_UNSUPPORTED, "%.60s has no VK_EXT_host_image_copy",
                               gpu->info.device_name);
}

const struct replay_path replay_path_host_copy = {
    .name = "host-copy",
    .staged = true,
    .host_images = true,
    .mirror = GPU_DEVICE,
    .able = host_copy_able,
    .up = replay_copy_up,
    .down = replay_copy_down,
};
