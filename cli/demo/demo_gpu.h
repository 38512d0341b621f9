/*
 * The GPU's copy of guest memory, and the ways to and from it.
 *
 * One device-local buffer mirrors the whole memfd, byte for byte. Copies go through a staging and a
 * readback buffer. Work is recorded until demo_gpu_run; the first Vulkan error is kept, and from
 * then on nothing more is asked of the device.
 */
#ifndef DEMO_GPU_H
#define DEMO_GPU_H

#include "replayer/vk.h"

struct demo_gpu {
    struct trk_vk *vk;
    struct trk_vk_buffer *mirror, *staging, *readback;
    uint64_t staged_bytes; /* of the staging buffer, until the next run */
    uint64_t sample_bytes; /* of the readback buffer, likewise */
    uint64_t ticks;        /* submissions so far */
    enum trk_status status;
    struct trk_error error;
};

/* *gpu must be zero. On failure nothing is open. */
enum trk_status demo_gpu_open(struct demo_gpu *gpu, uint32_t device, uint64_t size_bytes,
                              struct trk_error *error);
void demo_gpu_close(struct demo_gpu *gpu);

/* The number of the submission that what is recorded now will run in. */
uint32_t demo_gpu_tick(const struct demo_gpu *gpu);

/* Take bytes for the mirror: they are read before this returns. */
void demo_gpu_upload(struct demo_gpu *gpu, uint64_t offset, uint64_t size_bytes,
                     const char *source);
void demo_gpu_fill(struct demo_gpu *gpu, uint64_t offset, uint64_t size_bytes, uint32_t word);

/* Run everything recorded and bring bytes of the mirror to `target`. */
void demo_gpu_download(struct demo_gpu *gpu, uint64_t offset, uint64_t size_bytes, char *target);

/*
 * The same as an emulator does it that does not wait: what the readback buffer holds now is taken,
 * the copy into it runs with the next demo_gpu_run. At most what the buffer holds.
 */
void demo_gpu_download_early(struct demo_gpu *gpu, uint64_t offset, uint64_t size_bytes,
                             char *target);

/* Submit what is recorded and wait for it. */
void demo_gpu_run(struct demo_gpu *gpu);

/*
 * Record a copy of a few bytes of the mirror to be looked at after the next demo_gpu_run. Gives the
 * place where they will be, NULL when there is no room before it.
 */
const volatile uint32_t *demo_gpu_sample(struct demo_gpu *gpu, uint64_t offset,
                                         uint64_t size_bytes);

#endif
