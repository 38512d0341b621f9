/* Parts of the mirror that are images: their copies, their contents, what the GPU writes there. */
#include <stdlib.h>

#include "replay_internal.h"
#include "replayer/content.h"

#define WORD_BYTES 4u

/* Images that the host can copy may be laid out in another way: other paths have their own. */
enum trk_status replay_images_open(struct trk_replay *replay, struct trk_error *error)
{
    struct replay_ground *ground = replay->ground;
    const struct trk_plan *plan = replay->plan;
    const bool host = replay->path->host_images;
    struct gpu_image **images = host ? &ground->host_images : &ground->images;
    enum trk_status status = TRK_OK;
    bool made = *images != NULL || plan->image_count == 0;
    if (!made) {
        *images = calloc(plan->image_count, sizeof **images);
        if (*images == NULL) {
            return trk_error_set(error, TRK_E_MEMORY, "no memory for %zu images",
                                 plan->image_count);
        }
    }
    for (size_t i = 0; !made && i < plan->image_count && status == TRK_OK; i++) {
        struct gpu_image *image = &(*images)[i];
        image->width = plan->images[i].width;
        image->height = plan->images[i].height;
        image->texel_bytes = plan->images[i].texel_bytes;
        image->host_copied = host;
        status = gpu_image_init(replay->gpu, image, error);
    }
    replay->images = *images;
    return status;
}

static void images_free(struct trk_gpu *gpu, struct gpu_image **images, size_t count)
{
    for (size_t i = 0; *images != NULL && i < count; i++) {
        gpu_image_deinit(gpu, &(*images)[i]);
    }
    free(*images);
    *images = NULL;
}

void replay_images_close(struct trk_gpu *gpu, struct replay_ground *ground)
{
    images_free(gpu, &ground->images, ground->plan->image_count);
    images_free(gpu, &ground->host_images, ground->plan->image_count);
}

/* What was submitted has run, and the host may look at it. */
static enum trk_status images_settle(struct trk_replay *replay, struct trk_error *error)
{
    struct trk_gpu *gpu = replay->gpu;
    if (replay->settled == gpu->value) {
        return TRK_OK;
    }
    enum trk_status status = gpu_commands_begin(gpu, &replay->writes, true, error);
    if (status == TRK_OK) {
        gpu_commands_for_host(gpu, &replay->writes);
        status = gpu_commands_submit(gpu, &replay->writes, error);
    }
    if (status == TRK_OK) {
        status = gpu_wait(gpu, gpu->value, error);
    }
    replay->settled = gpu->value;
    return status;
}

enum trk_status replay_images_host(struct trk_replay *replay, const struct schedule_chunk *chunk,
                                   bool up, struct trk_error *error)
{
    enum trk_status status = images_settle(replay, error);
    for (size_t i = 0; i < chunk->piece_count && status == TRK_OK; i++) {
        const struct schedule_piece *piece = &replay->schedule.pieces[chunk->first_piece + i];
        const struct gpu_image_span span = {
            .offset = piece->offset - replay->plan->images[piece->image - 1].offset,
            .size_bytes = piece->size_bytes,
            .host = replay->guest + piece->offset,
        };
        status =
            gpu_image_host_copy(replay->gpu, &replay->images[piece->image - 1], &span, up, error);
    }
    return status;
}

static void images_copy(struct trk_replay *replay, const struct schedule_chunk *chunk,
                        const struct replay_slot *slot, bool up)
{
    VkBuffer buffer = up ? replay->upload.buffer : replay->readback.buffer;
    uint64_t begin = slot->offset;
    if (replay->path->imported) {
        buffer = replay->ground->imported.buffer;
        begin = 0;
    }
    for (size_t i = 0; i < chunk->piece_count; i++) {
        const struct schedule_piece *piece = &replay->schedule.pieces[chunk->first_piece + i];
        const struct gpu_image_span span = {
            .offset = piece->offset - replay->plan->images[piece->image - 1].offset,
            .size_bytes = piece->size_bytes,
            .buffer = buffer,
            .buffer_offset = begin + piece->stage,
        };
        gpu_image_copy(replay->gpu, &slot->commands, &replay->images[piece->image - 1], &span, up);
    }
}

void replay_images_up(struct trk_replay *replay, const struct schedule_chunk *chunk,
                      const struct replay_slot *slot)
{
    images_copy(replay, chunk, slot, true);
}

void replay_images_down(struct trk_replay *replay, const struct schedule_chunk *chunk,
                        const struct replay_slot *slot)
{
    images_copy(replay, chunk, slot, false);
}

uint64_t replay_images_scratch(const struct trk_plan *plan)
{
    uint64_t most = 0;
    for (size_t i = 0; i < plan->item_count; i++) {
        const struct trk_plan_item *item = &plan->items[i];
        bool write = item->kind == TRK_PLAN_GPU_WRITE && item->image != 0;
        most = write && item->size_bytes > most ? item->size_bytes : most;
    }
    return (most / WORD_BYTES + 2) * WORD_BYTES; /* it may begin inside of a word */
}

/* Words are made in a place of their own: no fill knows an image. */
void replay_images_write(struct trk_replay *replay, const struct trk_plan_item *item)
{
    struct trk_gpu *gpu = replay->gpu;
    const uint64_t skip = item->offset % WORD_BYTES;
    const struct gpu_image_span span = {
        .offset = item->offset - replay->plan->images[item->image - 1].offset,
        .size_bytes = item->size_bytes,
        .buffer = replay->scratch.buffer,
        .buffer_offset = skip,
    };
    const uint64_t words = (skip + item->size_bytes + WORD_BYTES - 1) / WORD_BYTES;
    gpu->api.CmdFillBuffer(replay->writes.buffer, replay->scratch.buffer, 0, words * WORD_BYTES,
                           trk_content_gpu_word(item->content));
    gpu_commands_barrier(gpu, &replay->writes);
    gpu_image_copy(gpu, &replay->writes, &replay->images[item->image - 1], &span, true);
    gpu_commands_barrier(gpu, &replay->writes);
}

/* What the mirror holds in their places; commands are open, and behind what wrote it. */
void replay_images_restore(struct trk_replay *replay)
{
    for (size_t i = 0; i < replay->plan->image_count; i++) {
        const struct trk_plan_image *image = &replay->plan->images[i];
        const struct gpu_image_span span = {0, image->size_bytes, replay->mirror->buffer,
                                            image->offset, NULL};
        gpu_image_prepare(replay->gpu, &replay->writes, &replay->images[i]);
        gpu_image_copy(replay->gpu, &replay->writes, &replay->images[i], &span, true);
    }
}

void replay_images_look(struct trk_replay *replay, const struct gpu_commands *commands,
                        const struct replay_look *look)
{
    for (size_t i = 0; i < replay->plan->image_count; i++) {
        const struct trk_plan_image *image = &replay->plan->images[i];
        const uint64_t end = look->offset + look->size_bytes;
        const uint64_t stop = image->offset + image->size_bytes;
        const uint64_t first = image->offset > look->offset ? image->offset : look->offset;
        const uint64_t last = stop < end ? stop : end;
        if (first < last) {
            const struct gpu_image_span span = {first - image->offset, last - first, look->target,
                                                first - look->offset, NULL};
            gpu_image_copy(replay->gpu, commands, &replay->images[i], &span, false);
        }
    }
}
