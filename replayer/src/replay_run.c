/*
 * All frames once: stores with the clock standing, then copies and the GPU's writes in order.
 *
 * Uploads go through slots in turn: while the device copies out of some, the host fills others.
 * Submissions run in the order in which they are made, so only the first of a group waits for what
 * was before; inside a group nothing depends on anything.
 */
#include <inttypes.h>
#include <stdio.h>

#include "replay_internal.h"

/* Names the frame and the event of what failed. */
static enum trk_status run_blame(const struct trk_replay *replay,
                                 const struct trk_plan_group *group, struct trk_error *error)
{
    char text[sizeof error->text];
    const struct trk_plan *plan = replay->plan;
    error->event_number = group->item_count > 0 ? plan->items[group->first_item].event
                                                : plan->stores[group->first_store].event;
    snprintf(text, sizeof text, "frame %" PRIu64 ", event %" PRIu64 ": %.70s",
             plan->frames[group->frame].number, error->event_number, error->text);
    snprintf(error->text, sizeof error->text, "%s", text);
    return error->status;
}

static struct replay_slot *run_slot(struct trk_replay *replay)
{
    struct replay_slot *slot = &replay->slots[replay->next_slot];
    replay->next_slot = replay->next_slot + 1 < replay->slot_count ? replay->next_slot + 1 : 0;
    return slot;
}

static bool run_slot_free(struct trk_replay *replay, const struct replay_slot *slot)
{
    uint64_t reached = 0;
    struct trk_gpu *gpu = replay->gpu;
    return slot->commands.value == 0 ||
           (gpu->api.GetSemaphoreCounterValue(gpu->device, gpu->timeline, &reached) == VK_SUCCESS &&
            reached >= slot->commands.value);
}

/* Whether the host copies a chunk by itself, with no slot and no submission. */
static bool run_by_host(const struct trk_replay *replay, const struct schedule_chunk *chunk)
{
    return chunk->images && replay->path->host_images;
}

/* ---- uploads --------------------------------------------------------------------------------- */

/* The chunks of a group that are under way: given to the host's threads, or submitted. */
struct flight {
    struct trk_replay *replay;
    const struct trk_plan_group *group;
    const struct schedule_chunk *chunks;
    size_t count, given, submitted;
    struct replay_slot *slots[REPLAY_SLOTS_MAX]; /* by chunk */
    uint64_t jobs[REPLAY_SLOTS_MAX];
};

static enum trk_status flight_give(struct flight *flight, struct trk_error *error)
{
    struct trk_replay *replay = flight->replay;
    const struct schedule_chunk *chunk = &flight->chunks[flight->given];
    struct replay_slot *slot = run_slot(replay);
    enum trk_status status = gpu_wait(replay->gpu, slot->commands.value, error);
    if (status != TRK_OK) {
        return status;
    }
    flight->slots[flight->given % REPLAY_SLOTS_MAX] = slot;
    flight->jobs[flight->given % REPLAY_SLOTS_MAX] = COPY_JOB_NONE;
    if (replay->path->staged && !run_by_host(replay, chunk)) {
        struct copy_job job = {
            .parts = replay->schedule.parts + chunk->first_part,
            .count = chunk->part_count,
            .guest = replay->guest,
            .staged = replay->upload.host + slot->offset,
        };
        flight->jobs[flight->given % REPLAY_SLOTS_MAX] = copy_pool_give(&replay->pool, &job);
    }
    flight->given++;
    return TRK_OK;
}

static enum trk_status flight_submit(struct flight *flight, struct trk_error *error)
{
    struct trk_replay *replay = flight->replay;
    struct trk_gpu *gpu = replay->gpu;
    const size_t number = flight->submitted++;
    const struct schedule_chunk *chunk = &flight->chunks[number];
    struct replay_slot *slot = flight->slots[number % REPLAY_SLOTS_MAX];
    if (replay->path->staged) {
        copy_pool_await(&replay->pool, flight->jobs[number % REPLAY_SLOTS_MAX]);
    }
    if (run_by_host(replay, chunk)) {
        return replay_images_host(replay, chunk, true, error);
    }
    bool ordered = number == 0 || chunk->again || flight->chunks[number - 1].again;
    enum trk_status status = gpu_commands_begin(gpu, &slot->commands, ordered, error);
    if (status != TRK_OK) {
        return status;
    }
    gpu_commands_label(gpu, &slot->commands, "trk upload");
    replay_times_begin(replay, &slot->commands, flight->group);
    (chunk->images ? replay_images_up : replay->path->up)(replay, chunk, slot);
    replay_times_end(replay, &slot->commands);
    gpu_commands_label_end(gpu, &slot->commands);
    replay->submits++;
    return gpu_commands_submit(gpu, &slot->commands, error);
}

/* The host writes the device's memory: nothing may be under way there. */
static enum trk_status run_direct(struct trk_replay *replay, const struct schedule_group *scheduled,
                                  struct trk_error *error)
{
    enum trk_status status = gpu_wait(replay->gpu, replay->gpu->value, error);
    for (size_t i = 0; i < scheduled->chunk_count && status == TRK_OK; i++) {
        const struct schedule_chunk *chunk = &replay->schedule.chunks[scheduled->first_chunk + i];
        struct copy_job job = {
            .parts = replay->schedule.parts + chunk->first_part,
            .count = chunk->part_count,
            .guest = replay->guest,
            .staged = replay->mirror->host,
        };
        copy_pool_await(&replay->pool, copy_pool_give(&replay->pool, &job));
    }
    return status;
}

static enum trk_status run_upload(struct trk_replay *replay, const struct trk_plan_group *group,
                                  struct trk_error *error)
{
    const struct schedule_group *scheduled = &replay->schedule.groups[group - replay->plan->groups];
    struct flight flight = {
        .replay = replay,
        .group = group,
        .chunks = replay->schedule.chunks + scheduled->first_chunk,
        .count = scheduled->chunk_count,
    };
    enum trk_status status = TRK_OK;
    if (replay->path->up == NULL) {
        return run_direct(replay, scheduled, error);
    }
    while (flight.submitted < flight.count && status == TRK_OK) {
        /* Threads get all slots that are free; without threads the caller fills one at a time. */
        bool ahead = flight.given < flight.count && replay->pool.threads > 1 &&
                     flight.given - flight.submitted < replay->slot_count &&
                     run_slot_free(replay, &replay->slots[replay->next_slot]);
        if (ahead || flight.given == flight.submitted) {
            status = flight_give(&flight, error);
        } else {
            status = flight_submit(&flight, error);
        }
    }
    while (flight.submitted < flight.given && replay->path->staged) { /* behind a failure */
        copy_pool_await(&replay->pool, flight.jobs[flight.submitted++ % REPLAY_SLOTS_MAX]);
    }
    return status;
}

/* ---- downloads ------------------------------------------------------------------------------- */

static enum trk_status download_submit(struct trk_replay *replay,
                                       const struct trk_plan_group *group,
                                       const struct schedule_chunk *chunk, struct replay_slot *slot,
                                       struct trk_error *error)
{
    struct trk_gpu *gpu = replay->gpu;
    if (run_by_host(replay, chunk)) {
        return replay_images_host(replay, chunk, false, error);
    }
    enum trk_status status = gpu_commands_begin(gpu, &slot->commands, true, error);
    if (status != TRK_OK) {
        return status;
    }
    gpu_commands_label(gpu, &slot->commands, "trk download");
    replay_times_begin(replay, &slot->commands, group);
    (chunk->images ? replay_images_down : replay->path->down)(replay, chunk, slot);
    replay_times_end(replay, &slot->commands);
    gpu_commands_for_host(gpu, &slot->commands);
    gpu_commands_label_end(gpu, &slot->commands);
    replay->submits++;
    return gpu_commands_submit(gpu, &slot->commands, error);
}

/* Bring what a slot holds to guest memory, once it is there. */
static enum trk_status download_land(struct trk_replay *replay, const struct schedule_chunk *chunk,
                                     const struct replay_slot *slot, struct trk_error *error)
{
    if (run_by_host(replay, chunk)) {
        return TRK_OK; /* there since it was given */
    }
    enum trk_status status = gpu_wait(replay->gpu, slot->commands.value, error);
    if (status == TRK_OK && !replay->path->imported) {
        struct copy_job job = {
            .parts = replay->schedule.parts + chunk->first_part,
            .count = chunk->part_count,
            .guest = replay->guest,
            .staged = replay->readback.host + slot->offset,
            .down = true,
        };
        copy_pool_await(&replay->pool, copy_pool_give(&replay->pool, &job));
    }
    return status;
}

static enum trk_status run_download(struct trk_replay *replay, const struct trk_plan_group *group,
                                    struct trk_error *error)
{
    const struct schedule_group *scheduled = &replay->schedule.groups[group - replay->plan->groups];
    const struct schedule_chunk *chunks = replay->schedule.chunks + scheduled->first_chunk;
    struct replay_slot *slots[REPLAY_SLOTS_MAX] = {NULL};
    size_t submitted = 0, landed = 0;
    enum trk_status status = TRK_OK;
    while (landed < scheduled->chunk_count && status == TRK_OK) {
        if (submitted == landed ||
            (submitted < scheduled->chunk_count && submitted - landed < replay->slot_count)) {
            struct replay_slot *slot = run_slot(replay);
            slots[submitted % REPLAY_SLOTS_MAX] = slot;
            status = download_submit(replay, group, &chunks[submitted++], slot, error);
        } else {
            status =
                download_land(replay, &chunks[landed], slots[landed % REPLAY_SLOTS_MAX], error);
            landed++;
        }
    }
    return status;
}

/* ---- frames ---------------------------------------------------------------------------------- */

static enum trk_status run_group(struct trk_replay *replay, const struct trk_plan_group *group,
                                 struct trk_error *error)
{
    enum trk_status status = TRK_OK;
    if (group->store_count > 0) { /* what is under way may still read guest memory */
        status = gpu_wait(replay->gpu, replay->gpu->value, error);
        replay_clock_stop(replay);
        if (status == TRK_OK) {
            replay_stores(replay, group);
        }
        replay_clock_start(replay);
    }
    if (status != TRK_OK || group->item_count == 0) {
        return status;
    }
    switch (group->kind) {
    case TRK_PLAN_UPLOAD:
        return run_upload(replay, group, error);
    case TRK_PLAN_DOWNLOAD:
        return run_download(replay, group, error);
    case TRK_PLAN_GPU_WRITE:
        return replay_writes(replay, group, error);
    default:
        return TRK_OK;
    }
}

static enum trk_status run_frame(struct trk_replay *replay, const struct trk_plan_frame *frame,
                                 struct trk_error *error)
{
    enum trk_status status = TRK_OK;
    const struct trk_plan_group *group = NULL;
    struct replay_bracket *bracket = &replay->brackets[frame - replay->plan->frames];
    replay->host_ns = 0;
    bracket->begin_ns = gpu_host_clock(replay->gpu);
    replay_clock_start(replay);
    for (size_t i = 0; i < frame->group_count && status == TRK_OK; i++) {
        group = &replay->plan->groups[frame->first_group + i];
        status = run_group(replay, group, error);
        if (status == TRK_OK && replay->model != NULL) {
            status = replay_check_group(replay, group, error);
        }
    }
    if (status == TRK_OK) {
        status = gpu_wait(replay->gpu, replay->gpu->value, error);
    }
    replay_clock_stop(replay);
    bracket->end_ns = gpu_host_clock(replay->gpu);
    return status == TRK_OK || group == NULL || error == NULL ? status
                                                              : run_blame(replay, group, error);
}

/* The clocks at the end of a pass, and what they say together with those at its beginning. */
static enum trk_status run_calibrate(const struct trk_replay *replay,
                                     struct trk_calibration *calibration, struct trk_error *error)
{
    calibration->tick_ns = replay->gpu->info.tick_ns;
    calibration->valid_bits = replay->gpu->queues[replay->policy.queue].valid_bits;
    enum trk_status status = replay_times_pair(replay, &calibration->end, error);
    if (status == TRK_OK && calibration->end.host_ns != 0) {
        trk_calibration_judge(calibration);
    }
    return status;
}

enum trk_status replay_run(struct trk_replay *replay, struct trk_replay_pass *pass,
                           struct trk_error *error)
{
    struct trk_error unasked = {.status = TRK_OK};
    error = error != NULL ? error : &unasked;
    enum trk_status status = replay_restore(replay, error);
    if (status == TRK_OK) {
        status = replay_times_reset(replay, error);
    }
    if (status == TRK_OK && pass != NULL) {
        status = replay_times_pair(replay, &pass->calibration.begin, error);
    }
    replay->submits = 0;
    replay->begin_ns = gpu_host_clock(replay->gpu);
    for (size_t i = 0; i < replay->plan->frame_count && status == TRK_OK; i++) {
        status = run_frame(replay, &replay->plan->frames[i], error);
        if (pass != NULL) {
            pass->all.host_ns += replay->host_ns;
            if (pass->frames != NULL) {
                pass->frames[i].host_ns = replay->host_ns;
            }
        }
    }
    return status == TRK_OK && pass != NULL ? run_calibrate(replay, &pass->calibration, error)
                                            : status;
}
