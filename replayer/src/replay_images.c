/* Parts of the mirror that are images: their copies, their contents, what the GPU writes there. */
#include <stdlib.h>

#include "replay_internal.h"
#include "replayer/content.h"

#define WORD_BYTES 4u

enum trk_status replay_images_open(struct trk_gpu *gpu, struct replay_ground *ground,
                                   struct trk_error *error)
{
    const struct trk_plan *plan = ground->plan;
    enum trk_status status = TRK_OK;
    if (plan->image_count == 0 || ground->images != NULL) {
        return TRK_OK;
    }
    ground->images = calloc(plan->image_count, sizeof *ground->images);
    if (ground->images == NULL) {
        return trk_error_set(error, TRK_E_MEMORY, "no memory for %zu images", plan->image_count);
    }
    for (size_t i = 0; i < plan->image_count && status == TRK_OK; i++) {
        ground->images[i].width = plan->images[i].width;
        ground->images[i].height = plan->images[i].height;
        ground->images[i].texel_bytes = plan->images[i].texel_bytes;
        status = gpu_image_init(gpu, &ground->images[i], error);
    }
    return status;
}

void replay_images_close(struct trk_gpu *gpu, struct replay_ground *ground)
{
    for (size_t i = 0; ground->images != NULL && i < ground->plan->image_count; i++) {
        gpu_image_deinit(gpu, &ground->images[i]);
    }
    free(ground->images);
    ground->images = NULL;
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
        gpu_image_copy(replay->gpu, &slot->commands, &replay->ground->images[piece->image - 1],
                       &span, up);
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
    gpu_image_copy(gpu, &replay->writes, &replay->ground->images[item->image - 1], &span, true);
    gpu_commands_barrier(gpu, &replay->writes);
}

/* What the mirror holds in their places; commands are open, and behind what wrote it. */
void replay_images_restore(struct trk_replay *replay)
{
    for (size_t i = 0; i < replay->plan->image_count; i++) {
        const struct trk_plan_image *image = &replay->plan->images[i];
        const struct gpu_image_span span = {0, image->size_bytes, replay->mirror->buffer,
                                            image->offset};
        gpu_image_prepare(replay->gpu, &replay->writes, &replay->ground->images[i]);
        gpu_image_copy(replay->gpu, &replay->writes, &replay->ground->images[i], &span, true);
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
                                                first - look->offset};
            gpu_image_copy(replay->gpu, commands, &replay->ground->images[i], &span, false);
        }
    }
}
