/*
 * How fast a device's clocks run at the moment, where its driver's management library says so.
 *
 * Knows NVIDIA's (libnvidia-ml.so.1), which is loaded at run time.
 */
#ifndef REPLAYER_GPU_CLOCK_H
#define REPLAYER_GPU_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "track/macros.h"

TRK_EXTERN_C_BEGIN

struct trk_gpu_clock {
    uint32_t core_mhz, memory_mhz;
    uint32_t temperature_celsius;
};

/**
 * Read the clocks of the first device that has this name.
 *
 * @return False: no library, no such device, or it does not say. *out is zeros then.
 *
 * Allocates: the library does. Blocks: on the driver. Signal-safe: no. Threads: any.
 */
bool trk_gpu_clock_read(struct trk_gpu_clock *out, const char *device_name);

TRK_EXTERN_C_END

#endif
