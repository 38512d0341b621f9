/* What is written by others than copies: guest memory, the GPU's own writes, the start of a pass.
 */
#include <stdlib.h>
#include <string.h>

#include "replay_internal.h"
#include "replayer/content.h"

#define WORD_BYTES 4u
/* Of the upload ring or a buffer like it, for restoring. */
#define RESTORE_BYTES (UINT64_C(16) << 20)
/* A thread's at once. */
#define STRIPE_BYTES (UINT64_C(1) << 20)
/* To wake threads takes longer than as many stores. */
#define STORES_FEW 64u

/* Stores of a group to one stripe of the mirror after the other, each stripe by one thread: so the
 * order of stores to the same bytes stays. */
struct stores {
    const struct trk_plan *plan;
    uint8_t *guest;
    const struct trk_plan_item *items;
    size_t count;
    size_t shares;
};

static void stores_share(void *context, size_t share)
{
    const struct stores *stores = context;
    for (size_t i = 0; i < stores->count; i++) {
        const struct trk_plan_item *item = &stores->items[i];
        uint64_t at = item->offset;
        const uint64_t end = item->offset + item->size_bytes;
        while (at < end) {
            const uint64_t stripe = at / STRIPE_BYTES, border = (stripe + 1) * STRIPE_BYTES;
            const uint64_t stop = border < end ? border : end;
            if (stripe % stores->shares == share) {
                trk_plan_store(stores->plan, item, at, stop - at, stores->guest + at);
            }
            at = stop;
        }
    }
}

void replay_stores(struct trk_replay *replay, const struct trk_plan_group *group)
{
    struct copy_pool *pool = &replay->ground->pool;
    struct stores stores = {
        .plan = replay->plan,
        .guest = replay->guest,
        .items = &replay->plan->stores[group->first_store],
        .count = group->store_count,
        .shares = group->store_count < STORES_FEW ? 1 : pool->threads,
    };
    copy_pool_each(pool, stores.shares, stores_share, &stores);
}

/* Bytes beside whole words: the word is made in a place of its own, and a part of it is copied. */
static void write_edge(struct trk_replay *replay, const struct trk_plan_item *item, uint64_t first,
                       uint64_t end)
{
    struct trk_gpu *gpu = replay->gpu;
    VkBufferCopy copy = {first % WORD_BYTES, first, end - first};
    if (first >= end) {
        return;
    }
    gpu->api.CmdFillBuffer(replay->writes.buffer, replay->scratch.buffer, 0, WORD_BYTES,
                           trk_content_gpu_word(item->content));
    gpu_commands_barrier(gpu, &replay->writes);
    gpu_commands_copy(gpu, &replay->writes, replay->scratch.buffer, replay->mirror->buffer, &copy);
    gpu_commands_barrier(gpu, &replay->writes);
}

/* Whole words of the mirror: by the shader, which alone knows where it writes, or by a fill. */
static void write_words(struct trk_replay *replay, const struct trk_plan_item *item, uint64_t first,
                        uint64_t end)
{
    const uint32_t word = trk_content_gpu_word(item->content);
    if (item->dispatch != 0) {
        const struct fill_range range = {first, end - first, word};
        gpu_commands_barrier(replay->gpu, &replay->writes);
        fill_shader_record(&replay->dispatches, replay->writes.buffer, &range);
        gpu_commands_barrier(replay->gpu, &replay->writes);
    } else {
        replay->gpu->api.CmdFillBuffer(replay->writes.buffer, replay->mirror->buffer, first,
                                       end - first, word);
    }
}

static void write_item(struct trk_replay *replay, const struct trk_plan_item *item)
{
    if (item->image != 0) {
        replay_images_write(replay, item);
        return;
    }
    const uint64_t end = item->offset + item->size_bytes;
    uint64_t first_word = (item->offset + WORD_BYTES - 1) / WORD_BYTES * WORD_BYTES;
    uint64_t end_word = end / WORD_BYTES * WORD_BYTES;
    if (first_word > end) { /* in the middle of one word */
        write_edge(replay, item, item->offset, end);
        return;
    }
    write_edge(replay, item, item->offset, first_word);
    if (first_word < end_word) {
        write_words(replay, item, first_word, end_word);
    }
    write_edge(replay, item, end_word > first_word ? end_word : first_word, end);
}

enum trk_status replay_writes(struct trk_replay *replay, const struct trk_plan_group *group,
                              struct trk_error *error)
{
    enum trk_status status = gpu_commands_begin(replay->gpu, &replay->writes, true, error);
    if (status != TRK_OK) {
        return status;
    }
    gpu_commands_label(replay->gpu, &replay->writes, "trk gpu writes");
    for (size_t i = 0; i < group->item_count; i++) {
        write_item(replay, &replay->plan->items[group->first_item + i]);
    }
    gpu_commands_label_end(replay->gpu, &replay->writes);
    return gpu_commands_submit(replay->gpu, &replay->writes, error);
}

/* ---- the start of a pass --------------------------------------------------------------------- */

static enum trk_status restore_run(struct trk_replay *replay, struct trk_error *error)
{
    enum trk_status status = gpu_commands_submit(replay->gpu, &replay->writes, error);
    return status == TRK_OK ? gpu_wait(replay->gpu, replay->gpu->value, error) : status;
}

/* The device's image, piece by piece. */
static enum trk_status restore_device(struct trk_replay *replay, struct trk_error *error)
{
    struct trk_gpu *gpu = replay->gpu;
    struct gpu_buffer staging = {.size_bytes = 0};
    const uint64_t all = replay->plan->mirror_bytes;
    const uint64_t most = all < RESTORE_BYTES ? all : RESTORE_BYTES;
    enum trk_status status = gpu_buffer_init(gpu, &staging, GPU_UPLOAD, most, error);
    for (uint64_t at = 0; at < all && status == TRK_OK; at += most) {
        VkBufferCopy copy = {0, at, all - at < most ? all - at : most};
        memcpy(staging.host, replay->plan->device_start + at, copy.size);
        status = gpu_commands_begin(gpu, &replay->writes, true, error);
        if (status == TRK_OK) {
            gpu_commands_copy(gpu, &replay->writes, staging.buffer, replay->mirror->buffer, &copy);
            status = restore_run(replay, error);
        }
    }
    gpu_buffer_deinit(gpu, &staging);
    return status;
}

static void restore_stripe(void *context, size_t stripe)
{
    const struct trk_replay *replay = context;
    const uint64_t at = stripe * STRIPE_BYTES, left = replay->plan->mirror_bytes - at;
    const uint64_t size = left < STRIPE_BYTES ? left : STRIPE_BYTES;
    if (replay->plan->guest_start != NULL) {
        memcpy(replay->guest + at, replay->plan->guest_start + at, size);
    } else {
        memset(replay->guest + at, 0, size);
    }
}

static void restore_guest(struct trk_replay *replay)
{
    const uint64_t stripes = (replay->plan->mirror_bytes + STRIPE_BYTES - 1) / STRIPE_BYTES;
    copy_pool_each(&replay->ground->pool, stripes, restore_stripe, replay);
}

static enum trk_status restore_mirror(struct trk_replay *replay, struct trk_error *error)
{
    const struct trk_plan *plan = replay->plan;
    if (plan->guest_start != NULL) {
        restore_guest(replay);
        return restore_device(replay, error);
    }
    restore_guest(replay);
    enum trk_status status = gpu_commands_begin(replay->gpu, &replay->writes, true, error);
    if (status != TRK_OK) {
        return status;
    }
    replay->gpu->api.CmdFillBuffer(replay->writes.buffer, replay->mirror->buffer, 0,
                                   plan->mirror_bytes, 0);
    return restore_run(replay, error);
}

enum trk_status replay_restore(struct trk_replay *replay, struct trk_error *error)
{
    enum trk_status status = gpu_wait(replay->gpu, replay->gpu->value, error);
    if (status == TRK_OK) {
        status = restore_mirror(replay, error);
    }
    if (status != TRK_OK || replay->plan->image_count == 0) {
        return status;
    }
    status = gpu_commands_begin(replay->gpu, &replay->writes, true, error);
    if (status != TRK_OK) {
        return status;
    }
    replay_images_restore(replay);
    return restore_run(replay, error);
}
