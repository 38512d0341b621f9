/*
 * What should be where: the same plan on two plain images, held against what the replay has.
 *
 * At a check the bytes are held against the store that the oracle says is current, where it is sure
 * of one; where it found something wrong, against the store that should have been seen.
 */
#include <stdlib.h>
#include <string.h>

#include "memory_left.h"
#include "replay_internal.h"
#include "replayer/content.h"

/* Looked at in pieces of so many bytes. */
#define CHECK_BYTES (UINT64_C(4) << 20)

struct model {
    uint8_t *guest, *device; /* what the recorded copies leave */
    struct gpu_buffer seen;
    struct gpu_commands commands;
    uint8_t *wanted; /* CHECK_BYTES */
    struct trk_replay_check *check;
};

static void model_apply(const struct trk_replay *replay, const struct trk_plan_item *item)
{
    const struct model *model = replay->model;
    switch (item->kind) {
    case TRK_PLAN_STORE:
        trk_plan_store(replay->plan, item, item->offset, item->size_bytes,
                       model->guest + item->offset);
        return;
    case TRK_PLAN_UPLOAD:
        memcpy(model->device + item->offset, model->guest + item->offset, item->size_bytes);
        return;
    case TRK_PLAN_DOWNLOAD:
        memcpy(model->guest + item->offset, model->device + item->offset, item->size_bytes);
        return;
    case TRK_PLAN_GPU_WRITE:
        trk_content_gpu(model->device + item->offset, item->offset, item->size_bytes,
                        item->content);
        return;
    default:
        return;
    }
}

/* Bytes of the device's mirror, at most CHECK_BYTES. */
static enum trk_status model_look(struct trk_replay *replay, uint64_t offset, uint64_t size_bytes,
                                  struct trk_error *error)
{
    struct model *model = replay->model;
    struct trk_gpu *gpu = replay->gpu;
    VkBufferCopy copy = {offset, 0, size_bytes};
    enum trk_status status = gpu_commands_begin(gpu, &model->commands, true, error);
    if (status != TRK_OK) {
        return status;
    }
    gpu_commands_label(gpu, &model->commands, "trk check");
    gpu_commands_copy(gpu, &model->commands, replay->mirror->buffer, model->seen.buffer, &copy);
    if (replay->plan->image_count > 0) {
        const struct replay_look look = {offset, size_bytes, model->seen.buffer};
        gpu_commands_barrier(gpu, &model->commands);
        replay_images_look(replay, &model->commands, &look);
    }
    gpu_commands_for_host(gpu, &model->commands);
    gpu_commands_label_end(gpu, &model->commands);
    status = gpu_commands_submit(gpu, &model->commands, error);
    return status == TRK_OK ? gpu_wait(gpu, model->commands.value, error) : status;
}

/* A range that is compared, and who wanted it. */
struct look {
    const struct trk_plan_item *item; /* NULL: the end of the pass */
    uint32_t frame;
    enum trk_plan_side side;
    uint64_t offset, size_bytes;
};

/* What becomes of a look. */
enum look_end {
    LOOK_RIGHT,
    LOOK_RECORDED,    /* wrong, and the oracle says so */
    LOOK_REPLAYED,    /* wrong, and the recorded copies leave something else */
    LOOK_NOT_BROUGHT, /* what the recorded copies leave; the oracle knows of something newer */
};

/* Bytes that should be equal. */
struct pair {
    uint64_t at, size_bytes;
    const uint8_t *seen, *wanted;
    enum look_end end; /* where they are not */
};

/* The newest of the items in a list that touches a byte of the mirror, and newer than *newest. */
static void touched_by(const struct trk_plan_item *items, size_t count, uint64_t offset,
                       const struct trk_plan_item **newest)
{
    for (size_t i = 0; i < count; i++) {
        const struct trk_plan_item *item = &items[i];
        if (item->kind != TRK_PLAN_CHECK && offset >= item->offset &&
            offset - item->offset < item->size_bytes &&
            (*newest == NULL || item->event >= (*newest)->event)) {
            *newest = item;
        }
    }
}

/* Bytes at the end of a pass, where nobody looked at them: who touched them last. */
static void look_place(const struct trk_plan *plan, uint64_t offset, struct trk_replay_wrong *wrong)
{
    const struct trk_plan_item *newest = NULL;
    touched_by(plan->items, plan->item_count, offset, &newest);
    touched_by(plan->stores, plan->store_count, offset, &newest);
    if (newest != NULL) {
        wrong->guest_addr = newest->guest_addr + (offset - newest->offset);
        wrong->touched_event = newest->event;
    }
}

static void look_note(struct trk_replay *replay, const struct look *look, const struct pair *pair)
{
    const uint64_t first = pair->at, size_bytes = pair->size_bytes;
    struct trk_replay_check *check = replay->model->check;
    const uint32_t finding = look->item != NULL ? look->item->finding : 0;
    uint64_t shown = size_bytes < sizeof check->first.seen ? size_bytes : sizeof check->first.seen;
    struct trk_replay_wrong wrong = {
        .event = look->item != NULL ? look->item->event : TRK_NOT_KNOWN,
        .frame = replay->plan->frames[look->frame].number,
        .guest_addr = look->item != NULL ? look->item->guest_addr + (first - look->item->offset)
                                         : TRK_NOT_KNOWN,
        .size_bytes = size_bytes,
        .touched_event = TRK_NOT_KNOWN,
        .side = look->side,
        .finding = finding,
    };
    if (look->item == NULL) {
        look_place(replay->plan, first, &wrong);
    }
    memcpy(wrong.seen, pair->seen, shown);
    memcpy(wrong.wanted, pair->wanted, shown);
    if (pair->end == LOOK_NOT_BROUGHT) {
        check->first_not_brought = check->not_brought == 0 ? wrong : check->first_not_brought;
        return;
    }
    if (check->wrong_recorded + check->wrong_replayed == 0) {
        check->first = wrong;
    }
    if (finding == 0 && check->wrong_replayed == 0) {
        check->first_replayed = wrong;
    }
}

/* What the recorded copies leave there. */
static const uint8_t *look_copied(const struct model *model, const struct look *look, uint64_t at)
{
    return (look->side == TRK_PLAN_DEVICE ? model->device : model->guest) + at;
}

/* The first piece with wrong bytes is noted. */
static enum look_end look_compare(struct trk_replay *replay, const struct look *look,
                                  const struct pair *pair)
{
    uint64_t first = 0, end = pair->size_bytes;
    replay->model->check->compared_bytes += pair->size_bytes;
    if (memcmp(pair->seen, pair->wanted, pair->size_bytes) == 0) {
        return LOOK_RIGHT;
    }
    const uint8_t *copied = look_copied(replay->model, look, pair->at);
    const bool as_copied = memcmp(pair->seen, copied, pair->size_bytes) == 0;
    const enum look_end why = look->item != NULL && look->item->finding != 0 ? LOOK_RECORDED
                              : as_copied                                    ? LOOK_NOT_BROUGHT
                                                                             : LOOK_REPLAYED;
    while (pair->seen[first] == pair->wanted[first]) {
        first++;
    }
    while (pair->seen[end - 1] == pair->wanted[end - 1]) {
        end--;
    }
    struct pair wrong = {pair->at + first, end - first, pair->seen + first, pair->wanted + first,
                         why};
    look_note(replay, look, &wrong);
    return why;
}

/* What should be there. */
static const uint8_t *look_wanted(const struct trk_replay *replay, const struct look *look,
                                  uint64_t at, uint64_t size_bytes)
{
    const struct model *model = replay->model;
    uint64_t content = 0;
    bool by_gpu = false;
    if (look->item != NULL && look->item->finding != 0) {
        const struct trk_plan_finding *finding = &replay->plan->findings[look->item->finding - 1];
        content = finding->content;
        by_gpu = finding->by_gpu;
    } else if (look->item != NULL && look->item->content != 0 && replay->plan->page_count == 0) {
        content = look->item->content;
        by_gpu = look->item->by_gpu != 0;
        model->check->oracle_bytes += size_bytes;
    } else { /* also where recorded pages have taken the place of what stores left */
        return look_copied(model, look, at);
    }
    (by_gpu ? trk_content_gpu : trk_content_store)(model->wanted, at, size_bytes, content);
    return model->wanted;
}

static enum trk_status look_at(struct trk_replay *replay, const struct look *look,
                               struct trk_error *error)
{
    struct trk_replay_check *check = replay->model->check;
    const bool found = look->item != NULL && look->item->finding != 0;
    enum look_end end = LOOK_RIGHT;
    for (uint64_t done = 0; done < look->size_bytes && end == LOOK_RIGHT; done += CHECK_BYTES) {
        uint64_t at = look->offset + done, size = look->size_bytes - done;
        const uint8_t *seen = replay->guest + at;
        size = size < CHECK_BYTES ? size : CHECK_BYTES;
        if (look->side == TRK_PLAN_DEVICE) {
            enum trk_status status = model_look(replay, at, size, error);
            if (status != TRK_OK) {
                return status;
            }
            seen = replay->model->seen.host;
        }
        struct pair pair = {at, size, seen, look_wanted(replay, look, at, size), LOOK_RIGHT};
        end = look_compare(replay, look, &pair);
    }
    check->wrong_recorded += end == LOOK_RECORDED;
    check->wrong_replayed += end == LOOK_REPLAYED;
    check->not_brought += end == LOOK_NOT_BROUGHT;
    check->unseen += end == LOOK_RIGHT && found;
    return TRK_OK;
}

enum trk_status replay_check_group(struct trk_replay *replay, const struct trk_plan_group *group,
                                   struct trk_error *error)
{
    for (size_t i = 0; i < group->store_count; i++) {
        model_apply(replay, &replay->plan->stores[group->first_store + i]);
    }
    for (size_t i = 0; i < group->item_count; i++) {
        const struct trk_plan_item *item = &replay->plan->items[group->first_item + i];
        model_apply(replay, item);
        if (item->kind == TRK_PLAN_CHECK) {
            struct look look = {item, group->frame, (enum trk_plan_side)item->side, item->offset,
                                item->size_bytes};
            replay->model->check->checks++;
            enum trk_status status = look_at(replay, &look, error);
            if (status != TRK_OK) {
                return status;
            }
        }
    }
    return TRK_OK;
}

static enum trk_status check_end(struct trk_replay *replay, struct trk_error *error)
{
    struct look look = {
        .frame = (uint32_t)replay->plan->frame_count - 1,
        .side = TRK_PLAN_DEVICE,
        .size_bytes = replay->plan->mirror_bytes,
    };
    enum trk_status status = look_at(replay, &look, error);
    look.side = TRK_PLAN_GUEST;
    return status == TRK_OK ? look_at(replay, &look, error) : status;
}

static enum trk_status model_open(struct trk_replay *replay, struct model *model,
                                  struct trk_error *error)
{
    const struct trk_plan *plan = replay->plan;
    enum trk_status status = memory_left_for(2 * plan->mirror_bytes, "comparing", error);
    if (status != TRK_OK) {
        return status;
    }
    model->guest = calloc(1, plan->mirror_bytes);
    model->device = calloc(1, plan->mirror_bytes);
    model->wanted = malloc(CHECK_BYTES);
    if (model->guest == NULL || model->device == NULL || model->wanted == NULL) {
        return trk_error_set(error, TRK_E_MEMORY, "no memory for what a check holds against");
    }
    if (plan->guest_start != NULL) {
        memcpy(model->guest, plan->guest_start, plan->mirror_bytes);
        memcpy(model->device, plan->device_start, plan->mirror_bytes);
    }
    status = gpu_buffer_init(replay->gpu, &model->seen, GPU_READBACK, CHECK_BYTES, error);
    return status == TRK_OK
               ? gpu_commands_init(replay->gpu, &model->commands, TRK_QUEUE_UNIVERSAL, error)
               : status;
}

enum trk_status trk_replay_check(struct trk_replay *replay, struct trk_replay_check *out,
                                 struct trk_error *error)
{
    struct model model = {.check = out};
    memset(out, 0, sizeof *out);
    replay->model = &model;
    enum trk_status status = model_open(replay, &model, error);
    if (status == TRK_OK) {
        status = replay_run(replay, NULL, error);
    }
    if (status == TRK_OK) {
        status = check_end(replay, error);
    }
    replay->model = NULL;
    (void)gpu_wait(replay->gpu, replay->gpu->value, NULL);
    gpu_commands_deinit(replay->gpu, &model.commands);
    gpu_buffer_deinit(replay->gpu, &model.seen);
    free(model.guest);
    free(model.device);
    free(model.wanted);
    return status;
}
