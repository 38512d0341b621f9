/*
 * The GPU's copy of guest memory, and the ways to and from it.
 *
 * One device-local buffer mirrors the whole memfd, byte for byte; where an image was opened over a
 * part of it, that part is in the image instead. Copies go through a staging and a readback buffer.
 * Work is recorded until demo_gpu_run; the first Vulkan error is kept, and from then on nothing
 * more is asked of the device.
 */
#ifndef DEMO_GPU_H
#define DEMO_GPU_H

#include "replayer/vk.h"

#define DEMO_IMAGES_MAX  2u
#define DEMO_IMAGE_WIDTH 64u /* texels of 4 bytes: a slot is four rows */
#define DEMO_TEXEL_BYTES 4u
#define DEMO_ROW_BYTES   (DEMO_IMAGE_WIDTH * DEMO_TEXEL_BYTES)

/* A part of the memfd that is an image on the device. */
struct demo_gpu_image {
    uint64_t offset, size_bytes; /* whole rows */
    struct trk_vk_image *image;
};

struct demo_gpu {
    struct trk_vk *vk;
    struct trk_vk_buffer *mirror, *staging, *readback;
    struct trk_vk_buffer *filled; /* for fills of images; NULL: there are none */
    struct demo_gpu_image images[DEMO_IMAGES_MAX];
    uint32_t image_count;
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

/* From now on this part, in which nothing is yet, is an image. Fills of it are a page at most. */
enum trk_status demo_gpu_image(struct demo_gpu *gpu, uint64_t offset, uint64_t size_bytes,
                               struct trk_error *error);
/* The image that holds the byte at `offset`; NULL: the mirror does. */
const struct demo_gpu_image *demo_gpu_image_at(const struct demo_gpu *gpu, uint64_t offset);
/* Make a compute shader, for demo_gpu_dispatch. */
enum trk_status demo_gpu_shader(struct demo_gpu *gpu, struct trk_error *error);

/* The number of the submission that what is recorded now will run in. */
uint32_t demo_gpu_tick(const struct demo_gpu *gpu);

/* Take bytes for the mirror: they are read before this returns. */
void demo_gpu_upload(struct demo_gpu *gpu, uint64_t offset, uint64_t size_bytes,
                     const char *source);
void demo_gpu_fill(struct demo_gpu *gpu, uint64_t offset, uint64_t size_bytes, uint32_t word);
/* The same, of the mirror alone, by a compute shader. */
void demo_gpu_dispatch(struct demo_gpu *gpu, uint64_t offset, uint64_t size_bytes, uint32_t word);

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
