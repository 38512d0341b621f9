/* The two images of a plan, once for all its replays on a device. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "replay_internal.h"

/* Host memory that can be imported: aligned as the device wants it, its size too. */
static enum trk_status ground_map(struct replay_ground *ground, const struct trk_gpu *gpu,
                                  struct trk_error *error)
{
    uint64_t align = gpu->limits.import_alignment;
    align = align > TRK_PLAN_PAGE_BYTES ? align : TRK_PLAN_PAGE_BYTES;
    const uint64_t size = (ground->plan->mirror_bytes + align - 1) / align * align;
    /* More than is needed, so that an aligned part is in it; the rest is given back. */
    uint8_t *all = mmap(NULL, size + align, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED) {
        return trk_error_set(error, TRK_E_MEMORY, "no memory for %llu MiB of guest memory",
                             (unsigned long long)(size >> 20));
    }
    uint64_t skip = (align - (uint64_t)(uintptr_t)all % align) % align;
    if (skip > 0) {
        munmap(all, skip);
    }
    munmap(all + skip + size, align - skip);
    ground->guest = all + skip;
    ground->guest_bytes = size;
    /* Pages are copied out of it in any order: with small ones each would miss the TLB. A wish. */
    (void)madvise(ground->guest, size, MADV_HUGEPAGE);
    return TRK_OK;
}

/* Threads for what is not measured: one a processor. */
static enum trk_status ground_threads(struct replay_ground *ground, struct trk_error *error)
{
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    const long threads = processors < 1 ? 1 : processors;
    ground->pool_made = true;
    return copy_pool_init(&ground->pool,
                          threads < (long)TRK_POLICY_THREADS_MAX ? (uint32_t)threads
                                                                 : TRK_POLICY_THREADS_MAX,
                          0, error);
}

static struct replay_ground *ground_find(struct trk_gpu *gpu, const struct trk_plan *plan)
{
    struct replay_ground *ground = gpu->grounds;
    while (ground != NULL && ground->plan != plan) {
        ground = ground->next;
    }
    return ground;
}

enum trk_status replay_ground_take(struct trk_replay *replay, struct trk_error *error)
{
    struct trk_gpu *gpu = replay->gpu;
    struct replay_ground *ground = ground_find(gpu, replay->plan);
    enum trk_status status = TRK_OK;
    if (ground == NULL) {
        ground = calloc(1, sizeof *ground);
        if (ground == NULL) {
            return trk_error_set(error, TRK_E_MEMORY, "no memory for a replay");
        }
        ground->plan = replay->plan;
        ground->next = gpu->grounds;
        gpu->grounds = ground;
        replay->ground = ground;
        ground->users = 1;
        status = ground_map(ground, gpu, error);
        if (status == TRK_OK) {
            status = ground_threads(ground, error);
        }
    } else {
        replay->ground = ground;
        ground->users++;
    }
    bool direct = replay->path->mirror == GPU_DIRECT;
    struct gpu_buffer *mirror = direct ? &ground->mapped : &ground->mirror;
    if (status == TRK_OK && mirror->buffer == VK_NULL_HANDLE) {
        status =
            gpu_buffer_init(gpu, mirror, replay->path->mirror, replay->plan->mirror_bytes, error);
    }
    if (status == TRK_OK && replay->path->imported && ground->imported.buffer == VK_NULL_HANDLE) {
        status =
            gpu_buffer_import(gpu, &ground->imported, ground->guest, ground->guest_bytes, error);
    }
    if (status == TRK_OK) {
        status = replay_images_open(replay, error);
    }
    replay->guest = ground->guest;
    replay->mirror = mirror;
    return status;
}

void replay_ground_give(struct trk_replay *replay)
{
    struct trk_gpu *gpu = replay->gpu;
    struct replay_ground *ground = replay->ground;
    if (ground == NULL || --ground->users > 0) {
        return;
    }
    struct replay_ground **link = &gpu->grounds;
    while (*link != ground) {
        link = &(*link)->next;
    }
    *link = ground->next;
    replay_images_close(gpu, ground);
    if (ground->pool_made) {
        copy_pool_deinit(&ground->pool);
    }
    gpu_buffer_deinit(gpu, &ground->imported);
    gpu_buffer_deinit(gpu, &ground->mirror);
    gpu_buffer_deinit(gpu, &ground->mapped);
    if (ground->guest != NULL) {
        munmap(ground->guest, ground->guest_bytes);
    }
    free(ground);
}
