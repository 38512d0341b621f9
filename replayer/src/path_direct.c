/* The host writes the device's memory: no staging, no commands. Read-backs are copies. */
#include "replay_internal.h"

static enum trk_status direct_able(const struct trk_gpu *gpu, enum trk_policy_queue queue,
                                   struct trk_error *error)
{
    (void)queue;
    return gpu->info.direct
               ? TRK_OK
               : trk_error_set(error, TRK_E_UNSUPPORTED,
                               "%.60s has no memory of its own that the host can write",
                               gpu->info.device_name);
}

const struct replay_path replay_path_direct = {
    .name = "direct",
    .up_in_place = true,
    .mirror = GPU_DIRECT,
    .able = direct_able,
    .down = replay_copy_down,
};
