#include "demo_gpu.h"

#include <string.h>

#include "recorder/capture.h"

#define STAGING_BYTES  (UINT64_C(4) << 20)
#define READBACK_BYTES (UINT64_C(1) << 20)
#define FILLED_BYTES   4096u

enum trk_status demo_gpu_open(struct demo_gpu *gpu, uint32_t device, uint64_t size_bytes,
                              struct trk_error *error)
{
    enum trk_status status = trk_vk_open(&gpu->vk, device, error);
    if (status != TRK_OK) {
        return status;
    }
    status = trk_vk_buffer_create(gpu->vk, &gpu->mirror, TRK_VK_DEVICE_LOCAL, size_bytes, error);
    if (status == TRK_OK) {
        status = trk_vk_buffer_create(gpu->vk, &gpu->staging, TRK_VK_UPLOAD, STAGING_BYTES, error);
    }
    if (status == TRK_OK) {
        status =
            trk_vk_buffer_create(gpu->vk, &gpu->readback, TRK_VK_READBACK, READBACK_BYTES, error);
    }
    if (status != TRK_OK) {
        demo_gpu_close(gpu);
    }
    return status;
}

void demo_gpu_close(struct demo_gpu *gpu)
{
    if (gpu->vk == NULL) {
        return;
    }
    if (gpu->ticks > 0) {
        /* A lost device has nothing pending either. */
        (void)!trk_vk_wait(gpu->vk, gpu->ticks, NULL);
    }
    for (uint32_t i = 0; i < gpu->image_count; i++) {
        trk_vk_image_destroy(gpu->vk, gpu->images[i].image);
    }
    trk_vk_buffer_destroy(gpu->vk, gpu->filled);
    trk_vk_buffer_destroy(gpu->vk, gpu->readback);
    trk_vk_buffer_destroy(gpu->vk, gpu->staging);
    trk_vk_buffer_destroy(gpu->vk, gpu->mirror);
    trk_vk_close(gpu->vk);
    gpu->vk = NULL;
}

enum trk_status demo_gpu_image(struct demo_gpu *gpu, uint64_t offset, uint64_t size_bytes,
                               struct trk_error *error)
{
    struct demo_gpu_image *image = &gpu->images[gpu->image_count];
    enum trk_status status = TRK_OK;
    if (gpu->filled == NULL) {
        status =
            trk_vk_buffer_create(gpu->vk, &gpu->filled, TRK_VK_DEVICE_LOCAL, FILLED_BYTES, error);
    }
    if (status == TRK_OK) {
        status = trk_vk_image_create(gpu->vk, &image->image, DEMO_IMAGE_WIDTH,
                                     (uint32_t)(size_bytes / DEMO_ROW_BYTES), error);
    }
    if (status == TRK_OK) {
        image->offset = offset;
        image->size_bytes = size_bytes;
        gpu->image_count++;
    }
    return status;
}

const struct demo_gpu_image *demo_gpu_image_at(const struct demo_gpu *gpu, uint64_t offset)
{
    for (uint32_t i = 0; i < gpu->image_count; i++) {
        if (offset - gpu->images[i].offset < gpu->images[i].size_bytes) {
            return &gpu->images[i];
        }
    }
    return NULL;
}

enum trk_status demo_gpu_shader(struct demo_gpu *gpu, struct trk_error *error)
{
    return trk_vk_shader_open(gpu->vk, gpu->mirror, error);
}

/* Bytes of the GPU's copy and of a buffer: no run of pages goes into an image or out of it. */
struct gpu_piece {
    struct trk_vk_buffer *buffer;
    uint64_t buffer_offset, offset, size_bytes;
};

static void gpu_copy(struct demo_gpu *gpu, const struct gpu_piece *piece, bool up)
{
    const struct demo_gpu_image *image = demo_gpu_image_at(gpu, piece->offset);
    if (image == NULL) {
        const struct trk_vk_region region = {up ? piece->buffer_offset : piece->offset,
                                             up ? piece->offset : piece->buffer_offset,
                                             piece->size_bytes};
        gpu->status = trk_vk_copy(gpu->vk, up ? piece->buffer : gpu->mirror,
                                  up ? gpu->mirror : piece->buffer, &region, &gpu->error);
        return;
    }
    const struct trk_vk_image_copy copy = {
        .buffer = piece->buffer,
        .image = image->image,
        .buffer_offset = piece->buffer_offset,
        .first_row = (uint32_t)((piece->offset - image->offset) / DEMO_ROW_BYTES),
        .rows = (uint32_t)(piece->size_bytes / DEMO_ROW_BYTES),
    };
    gpu->status = up ? trk_vk_image_upload(gpu->vk, &copy, &gpu->error)
                     : trk_vk_image_download(gpu->vk, &copy, &gpu->error);
}

uint32_t demo_gpu_tick(const struct demo_gpu *gpu)
{
    return (uint32_t)(gpu->ticks + 1);
}

void demo_gpu_upload(struct demo_gpu *gpu, uint64_t offset, uint64_t size_bytes, const char *source)
{
    char *staging = trk_vk_buffer_host(gpu->staging);
    while (size_bytes > 0 && gpu->status == TRK_OK) {
        if (gpu->staged_bytes == STAGING_BYTES) {
            demo_gpu_run(gpu);
            continue;
        }
        uint64_t room = STAGING_BYTES - gpu->staged_bytes;
        uint64_t piece = size_bytes < room ? size_bytes : room;
        const struct gpu_piece part = {gpu->staging, gpu->staged_bytes, offset, piece};
        memcpy(staging + gpu->staged_bytes, source, piece);
        gpu_copy(gpu, &part, true);
        gpu->staged_bytes += piece;
        offset += piece;
        source += piece;
        size_bytes -= piece;
    }
}

void demo_gpu_fill(struct demo_gpu *gpu, uint64_t offset, uint64_t size_bytes, uint32_t word)
{
    const bool image = demo_gpu_image_at(gpu, offset) != NULL;
    if (gpu->status == TRK_OK) {
        gpu->status = trk_vk_fill(gpu->vk, image ? gpu->filled : gpu->mirror, image ? 0 : offset,
                                  size_bytes, word, &gpu->error);
    }
    if (gpu->status == TRK_OK && image) {
        const struct gpu_piece part = {gpu->filled, 0, offset, size_bytes};
        gpu_copy(gpu, &part, true);
    }
}

void demo_gpu_dispatch(struct demo_gpu *gpu, uint64_t offset, uint64_t size_bytes, uint32_t word)
{
    if (gpu->status == TRK_OK) {
        gpu->status = trk_vk_dispatch(gpu->vk, offset, size_bytes, word, &gpu->error);
    }
}

void demo_gpu_download(struct demo_gpu *gpu, uint64_t offset, uint64_t size_bytes, char *target)
{
    while (size_bytes > 0 && gpu->status == TRK_OK) {
        uint64_t piece = size_bytes < READBACK_BYTES ? size_bytes : READBACK_BYTES;
        const struct gpu_piece part = {gpu->readback, 0, offset, piece};
        gpu_copy(gpu, &part, false);
        demo_gpu_run(gpu);
        if (gpu->status == TRK_OK) {
            memcpy(target, trk_vk_buffer_host(gpu->readback), piece);
        }
        offset += piece;
        target += piece;
        size_bytes -= piece;
    }
}

void demo_gpu_download_early(struct demo_gpu *gpu, uint64_t offset, uint64_t size_bytes,
                             char *target)
{
    const struct gpu_piece part = {gpu->readback, 0, offset, size_bytes};
    if (gpu->status != TRK_OK || size_bytes > READBACK_BYTES) {
        return;
    }
    gpu_copy(gpu, &part, false);
    if (gpu->status == TRK_OK) {
        memcpy(target, trk_vk_buffer_host(gpu->readback), size_bytes);
    }
}

void demo_gpu_run(struct demo_gpu *gpu)
{
    uint64_t tick = 0;
    if (gpu->status == TRK_OK) {
        gpu->status = trk_vk_submit(gpu->vk, &tick, &gpu->error);
    }
    if (gpu->status == TRK_OK) {
        gpu->ticks = tick;
        gpu->status = trk_vk_wait(gpu->vk, tick, &gpu->error);
    }
    if (gpu->status == TRK_OK) {
        trk_capture_gpu_complete(tick);
    }
    gpu->staged_bytes = 0;
    gpu->sample_bytes = 0;
}

const volatile uint32_t *demo_gpu_sample(struct demo_gpu *gpu, uint64_t offset, uint64_t size_bytes)
{
    if (gpu->status != TRK_OK || size_bytes > READBACK_BYTES - gpu->sample_bytes) {
        return NULL;
    }
    char *place = (char *)trk_vk_buffer_host(gpu->readback) + gpu->sample_bytes;
    const struct gpu_piece part = {gpu->readback, gpu->sample_bytes, offset, size_bytes};
    gpu_copy(gpu, &part, false);
    gpu->sample_bytes += size_bytes;
    return gpu->status == TRK_OK ? (const volatile uint32_t *)(void *)place : NULL;
}
