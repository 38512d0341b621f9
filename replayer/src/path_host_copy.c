/* The driver's own host copies, of images (VK_EXT_host_image_copy). */
#include "replay_internal.h"

static enum trk_status host_copy_able(const struct trk_gpu *gpu, enum trk_policy_queue queue,
                                      struct trk_error *error)
{
    (void)queue;
    if (!gpu->info.host_copy) {
        return trk_error_set(error, TRK_E_UNSUPPORTED, "%.60s has no VK_EXT_host_image_copy",
                             gpu->info.device_name);
    }
    return trk_error_set(error, TRK_E_UNSUPPORTED,
                         "host-copy is for images, and the trace copies none");
}

const struct replay_path replay_path_host_copy = {
    .name = "host-copy",
    .mirror = GPU_DEVICE,
    .able = host_copy_able,
    .down = replay_copy_down,
};
