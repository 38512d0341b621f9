/*
 * The core's side of the random test.
 */
#include "model_run.h"

#include "track/generations.h"
#include "track/hle.h"
#include "track/thread.h"

uint64_t random_next(uint64_t *state)
{
    /* splitmix64 */
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

uint32_t random_below(uint64_t *state, uint32_t limit)
{
    return (uint32_t)((random_next(state) >> 32) * limit >> 32);
}

bool random_chance(uint64_t *state, uint32_t one_in)
{
    return random_below(state, one_in) == 0;
}

static void on_range(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    struct side *side = context;
    uint32_t first = (uint32_t)((guest_addr - FIXTURE_BASE) / MODEL_PAGE);
    uint32_t pages = (uint32_t)(size_bytes / MODEL_PAGE);
    model_log_add(&side->log, MODEL_LOG_RANGE);
    model_log_add(&side->log, first);
    model_log_add(&side->log, pages);
    model_log_add(&side->log, fixture_host_of(side->fixture.host, first, first + pages));
    run_core_callback(side);
}

static void on_completion(void *context)
{
    struct side *side = context;
    model_log_add(&side->log, MODEL_LOG_DONE);
    run_core_callback(side);
}

static void on_write(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    struct side *side = context;
    model_log_add(&side->log, MODEL_LOG_WRITE);
    model_log_add(&side->log, guest_addr - FIXTURE_BASE);
    model_log_add(&side->log, size_bytes);
}

/* Where a step is, for the core. */
static void place(const struct model_step *step, uint64_t *guest_addr, uint64_t *size_bytes)
{
    *guest_addr = FIXTURE_BASE + step->first;
    *size_bytes = step->size;
    if (step->bad != 0)
        model_bad_range(step->bad, guest_addr, size_bytes);
}

static enum trk_status core_transfer(struct side *side, const struct model_step *step)
{
    struct trk_tracker *tracker = side->fixture.tracker;
    struct trk_transfer transfer = {.size = sizeof transfer,
                                    .written = step->verb == MODEL_UPLOAD_WRITTEN,
                                    .clear = step->verb == MODEL_DOWNLOAD_CLEAR,
                                    .range = step->silent ? NULL : on_range,
                                    .completion = step->silent ? NULL : on_completion,
                                    .context = side};
    place(step, &transfer.guest_addr, &transfer.size_bytes);
    if (step->verb == MODEL_UPLOAD || step->verb == MODEL_UPLOAD_WRITTEN)
        return trk_tracker_upload(tracker, &transfer);
    if (step->verb == MODEL_DRAIN)
        return trk_tracker_drain(tracker, &transfer);
    return trk_tracker_download(tracker, &transfer);
}

static void log_result(struct side *side, uint64_t code, uint64_t value)
{
    model_log_add(&side->log, code);
    model_log_add(&side->log, value);
}

static enum trk_status core_query(struct side *side, const struct model_step *step, uint64_t at,
                                  uint64_t size)
{
    bool value = false;
    struct trk_tracker *tracker = side->fixture.tracker;
    enum trk_status status = step->verb == MODEL_IS_CPU
                                 ? trk_tracker_is_cpu(tracker, at, size, &value)
                                 : trk_tracker_is_gpu(tracker, at, size, &value);
    if (status == TRK_OK)
        log_result(side, MODEL_LOG_RESULT, value);
    return status;
}

/* As a thread that has not faulted before: what faults remember of each other ends here. */
static void core_fault(struct side *side, const struct model_step *step)
{
    struct trk_thread fresh = *trk_thread_current();
    fresh.fault_tracker = 0;
    struct trk_thread *former = trk_thread_swap(&fresh);
    for (uint32_t i = 0; i == 0 || i < step->repeats; i++) {
        enum trk_fault_outcome outcome =
            trk_tracker_fault(side->fixture.tracker, FIXTURE_BASE + step->first, step->access);
        log_result(side, MODEL_LOG_RESULT, (uint64_t)outcome);
    }
    (void)trk_thread_swap(former);
}

static enum trk_status core_generations(struct side *side, const struct model_step *step,
                                        uint64_t at, uint64_t size)
{
    struct trk_tracker *tracker = side->fixture.tracker;
    uint64_t sum = 0;
    if (step->verb == MODEL_NOTIFY)
        return trk_generations_notify(tracker, at, size);
    enum trk_status status = step->verb == MODEL_TRACK
                                 ? trk_generations_track(tracker, at, size, &sum)
                                 : trk_generations_query(tracker, at, size, &sum);
    if (status != TRK_E_REENTRY)
        log_result(side, MODEL_LOG_SUM, sum);
    return status;
}

static enum trk_status core_watch(struct side *side, const struct model_step *step, uint64_t at,
                                  uint64_t size)
{
    struct trk_tracker *tracker = side->fixture.tracker;
    enum trk_status status = TRK_OK;
    for (uint32_t i = 0; status == TRK_OK && (i == 0 || i < step->repeats); i++)
        status = step->verb == MODEL_WATCH ? trk_pages_watch(tracker, at, size)
                                           : trk_pages_unwatch(tracker, at, size);
    return status;
}

static enum trk_status core_map(struct side *side, const struct model_step *step)
{
    struct trk_generations_view view = {.guest_addr = FIXTURE_BASE + step->first,
                                        .size_bytes = step->size,
                                        .physical_offset = step->other,
                                        .rights = step->rights};
    bool kept = false;
    enum trk_status status = trk_generations_map(side->fixture.tracker, &view, &kept);
    if (status == TRK_OK)
        log_result(side, MODEL_LOG_RESULT, kept);
    return status;
}

static enum trk_status core_hle_write(struct side *side, uint64_t at, uint64_t size)
{
    struct trk_hle_write write = {.size = sizeof write,
                                  .guest_addr = at,
                                  .size_bytes = size,
                                  .write = on_write,
                                  .context = side};
    bool written = false;
    enum trk_status status = trk_tracker_hle_write(side->fixture.tracker, &write, &written);
    if (status == TRK_OK)
        log_result(side, MODEL_LOG_RESULT, written);
    return status;
}

/* Operations that go to the page states or tell the core something. */
static enum trk_status core_states(struct side *side, const struct model_step *step, uint64_t at,
                                   uint64_t size)
{
    struct trk_tracker *tracker = side->fixture.tracker;
    switch (step->verb) {
    case MODEL_IS_CPU:
    case MODEL_IS_GPU:
        return core_query(side, step, at, size);
    case MODEL_MARK_CPU:
        return trk_tracker_mark_cpu(tracker, at, size);
    case MODEL_MARK_GPU:
        return trk_tracker_mark_gpu(tracker, at, size);
    case MODEL_UNMARK_GPU:
        return trk_tracker_unmark_gpu(tracker, at, size);
    case MODEL_UNTRACK:
        return trk_tracker_untrack(tracker, at, size);
    case MODEL_INVALIDATE:
        return trk_tracker_invalidate(tracker, at, size, step->silent ? NULL : run_core_flush,
                                      side);
    case MODEL_REGISTER:
        return trk_tracker_register(tracker, at, size);
    case MODEL_UNREGISTER:
        return trk_tracker_unregister(tracker, at, size);
    case MODEL_GUEST:
        return trk_tracker_set_guest_protection(tracker, at, size, step->rights);
    case MODEL_LOCK:
        return trk_tracker_lock(tracker, at);
    case MODEL_UNLOCK:
        return trk_tracker_unlock(tracker, at);
    default:
        return core_transfer(side, step);
    }
}

static enum trk_status core_run(struct side *side, const struct model_step *step)
{
    struct trk_tracker *tracker = side->fixture.tracker;
    uint64_t at, size;
    place(step, &at, &size);
    switch (step->verb) {
    case MODEL_WATCH:
    case MODEL_UNWATCH:
        return core_watch(side, step, at, size);
    case MODEL_WATCH_MASK:
        return trk_pages_watch_mask(tracker, at, step->mask, step->read);
    case MODEL_UNWATCH_MASK:
        return trk_pages_unwatch_mask(tracker, at, step->mask, step->read);
    case MODEL_FAULT:
        core_fault(side, step);
        return TRK_OK;
    case MODEL_JOIN:
        return trk_tracker_join_views(tracker, at, FIXTURE_BASE + step->other, size);
    case MODEL_LEAVE:
        return trk_tracker_leave_view(tracker, at, size);
    case MODEL_TRACK:
    case MODEL_QUERY:
    case MODEL_NOTIFY:
        return core_generations(side, step, at, size);
    case MODEL_MAP:
        return core_map(side, step);
    case MODEL_HLE_WRITE:
        return core_hle_write(side, at, size);
    default:
        return core_states(side, step, at, size);
    }
}

void run_core_step(struct side *side, const struct model_step *step)
{
    enum trk_status status = core_run(side, step);
    model_log_add(&side->log, MODEL_LOG_STATUS);
    model_log_add(&side->log, status);
    model_log_add(&side->log, side->fixture.failures);
    model_log_add(&side->log, side->fixture.failure.failure_class);
}
