#include "demo_gpu.h"

#include <string.h>

#include "recorder/capture.h"

#define STAGING_BYTES  (UINT64_C(4) << 20)
#define READBACK_BYTES (UINT64_C(1) << 20)

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
    trk_vk_buffer_destroy(gpu->vk, gpu->readback);
    trk_vk_buffer_destroy(gpu->vk, gpu->staging);
    trk_vk_buffer_destroy(gpu->vk, gpu->mirror);
    trk_vk_close(gpu->vk);
    gpu->vk = NULL;
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
        struct trk_vk_region region = {gpu->staged_bytes, offset, piece};
        memcpy(staging + gpu->staged_bytes, source, piece);
        gpu->status = trk_vk_copy(gpu->vk, gpu->staging, gpu->mirror, &region, &gpu->error);
        gpu->staged_bytes += piece;
        offset += piece;
        source += piece;
        size_bytes -= piece;
    }
}

void demo_gpu_fill(struct demo_gpu *gpu, uint64_t offset, uint64_t size_bytes, uint32_t word)
{
    if (gpu->status == TRK_OK) {
        gpu->status = trk_vk_fill(gpu->vk, gpu->mirror, offset, size_bytes, word, &gpu->error);
    }
}

void demo_gpu_download(struct demo_gpu *gpu, uint64_t offset, uint64_t size_bytes, char *target)
{
    while (size_bytes > 0 && gpu->status == TRK_OK) {
        uint64_t piece = size_bytes < READBACK_BYTES ? size_bytes : READBACK_BYTES;
        struct trk_vk_region region = {offset, 0, piece};
        gpu->status = trk_vk_copy(gpu->vk, gpu->mirror, gpu->readback, &region, &gpu->error);
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
    struct trk_vk_region region = {offset, 0, size_bytes};
    if (gpu->status != TRK_OK || size_bytes > READBACK_BYTES) {
        return;
    }
    gpu->status = trk_vk_copy(gpu->vk, gpu->mirror, gpu->readback, &region, &gpu->error);
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
    struct trk_vk_region region = {offset, gpu->sample_bytes, size_bytes};
    gpu->status = trk_vk_copy(gpu->vk, gpu->mirror, gpu->readback, &region, &gpu->error);
    gpu->sample_bytes += size_bytes;
    return gpu->status == TRK_OK ? (const volatile uint32_t *)(void *)place : NULL;
}
