/*
 * The core's side of the random test, and what flushes do on both sides.
 */
#include "model_run.h"

#include <stdlib.h>

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

static void log_place(struct run *run, uint64_t code, uint64_t guest_addr, uint64_t size_bytes)
{
    model_log_add(&run->log, code);
    model_log_add(&run->log, (guest_addr - FIXTURE_BASE) / MODEL_PAGE);
    model_log_add(&run->log, size_bytes / MODEL_PAGE);
}

static void on_range(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    log_place(context, MODEL_LOG_RANGE, guest_addr, size_bytes);
}

static void on_completion(void *context)
{
    struct run *run = context;
    model_log_add(&run->log, MODEL_LOG_DONE);
}

/* A part of a flushed range, by one of the operations that flushes are made of. */
static struct model_step flush_step(uint64_t *random, uint64_t first, uint64_t size)
{
    static const enum model_verb verbs[] = {
        MODEL_DRAIN,    MODEL_DRAIN,          MODEL_DRAIN,    MODEL_DOWNLOAD_CLEAR,
        MODEL_DRAIN,    MODEL_UPLOAD_WRITTEN, MODEL_MARK_GPU, MODEL_UNMARK_GPU,
        MODEL_MARK_CPU, MODEL_UPLOAD,         MODEL_UNTRACK,  MODEL_DOWNLOAD_CLEAR,
    };
    struct model_step step = {
        .verb = verbs[random_below(random, 12)], .first = first, .size = size};
    if (random_chance(random, 3)) {
        uint32_t pages = (uint32_t)(size / MODEL_PAGE);
        uint32_t skipped = random_below(random, pages);
        step.first += (uint64_t)skipped * MODEL_PAGE;
        step.size = (uint64_t)(1 + random_below(random, pages - skipped)) * MODEL_PAGE;
    }
    return step;
}

/* What the nth flush of an operation does follows from the plan, for core and model alike. */
static unsigned flush_steps(const struct run *run, unsigned nth, uint64_t *random)
{
    *random = run->plan + nth;
    return random_below(random, 4);
}

void run_core_flush(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    struct run *run = context;
    uint64_t random;
    unsigned count = flush_steps(run, run->core_flushes++, &random);
    log_place(run, MODEL_LOG_FLUSH, guest_addr, size_bytes);
    for (unsigned i = 0; i < count; i++) {
        struct model_step step = flush_step(&random, guest_addr - FIXTURE_BASE, size_bytes);
        run_core_step(run, &step);
    }
}

void run_model_flush(void *context, uint64_t first, uint64_t size)
{
    struct run *run = context;
    uint64_t random;
    unsigned count = flush_steps(run, run->model_flushes++, &random);
    for (unsigned i = 0; i < count; i++) {
        struct model_step step = flush_step(&random, first, size);
        model_step(&run->model, &step);
    }
}

static enum trk_status core_transfer(struct run *run, const struct model_step *step)
{
    struct trk_transfer transfer = {.size = sizeof transfer,
                                    .guest_addr = FIXTURE_BASE + step->first,
                                    .size_bytes = step->size,
                                    .written = step->verb == MODEL_UPLOAD_WRITTEN,
                                    .clear = step->verb == MODEL_DOWNLOAD_CLEAR,
                                    .range = on_range,
                                    .completion = on_completion,
                                    .context = run};
    if (step->verb == MODEL_UPLOAD || step->verb == MODEL_UPLOAD_WRITTEN)
        return trk_tracker_upload(run->fixture.tracker, &transfer);
    if (step->verb == MODEL_DRAIN)
        return trk_tracker_drain(run->fixture.tracker, &transfer);
    return trk_tracker_download(run->fixture.tracker, &transfer);
}

static enum trk_status core_query(struct run *run, const struct model_step *step)
{
    bool value = false;
    uint64_t guest_addr = FIXTURE_BASE + step->first;
    enum trk_status status =
        step->verb == MODEL_IS_CPU
            ? trk_tracker_is_cpu(run->fixture.tracker, guest_addr, step->size, &value)
            : trk_tracker_is_gpu(run->fixture.tracker, guest_addr, step->size, &value);
    if (status == TRK_OK) {
        model_log_add(&run->log, MODEL_LOG_RESULT);
        model_log_add(&run->log, value);
    }
    return status;
}

static enum trk_status core_fault(struct run *run, const struct model_step *step)
{
    /* The rule against livelock has tests of its own; here each fault is the first. */
    struct trk_thread fresh = {.id = trk_thread_current()->id};
    (void)trk_thread_swap(&fresh);
    enum trk_fault_outcome outcome =
        trk_tracker_fault(run->fixture.tracker, FIXTURE_BASE + step->first, step->access);
    (void)trk_thread_swap(NULL);
    model_log_add(&run->log, MODEL_LOG_RESULT);
    model_log_add(&run->log, (uint64_t)outcome);
    return TRK_OK;
}

static enum trk_status core_run(struct run *run, const struct model_step *step)
{
    struct trk_tracker *tracker = run->fixture.tracker;
    uint64_t at = FIXTURE_BASE + step->first;
    switch (step->verb) {
    case MODEL_IS_CPU:
    case MODEL_IS_GPU:
        return core_query(run, step);
    case MODEL_MARK_CPU:
        return trk_tracker_mark_cpu(tracker, at, step->size);
    case MODEL_MARK_GPU:
        return trk_tracker_mark_gpu(tracker, at, step->size);
    case MODEL_UNMARK_GPU:
        return trk_tracker_unmark_gpu(tracker, at, step->size);
    case MODEL_UNTRACK:
        return trk_tracker_untrack(tracker, at, step->size);
    case MODEL_UPLOAD:
    case MODEL_UPLOAD_WRITTEN:
    case MODEL_DOWNLOAD:
    case MODEL_DOWNLOAD_CLEAR:
    case MODEL_DRAIN:
        return core_transfer(run, step);
    case MODEL_INVALIDATE:
        return trk_tracker_invalidate(tracker, at, step->size, run_core_flush, run);
    case MODEL_REGISTER:
        return trk_tracker_register(tracker, at, step->size);
    case MODEL_UNREGISTER:
        return trk_tracker_unregister(tracker, at, step->size);
    case MODEL_GUEST:
        return trk_tracker_set_guest_protection(tracker, at, step->size, step->rights);
    case MODEL_WATCH:
        return trk_pages_watch(tracker, at, step->size);
    case MODEL_UNWATCH:
        return trk_pages_unwatch(tracker, at, step->size);
    case MODEL_WATCH_MASK:
        return trk_pages_watch_mask(tracker, at, step->mask, step->read);
    case MODEL_UNWATCH_MASK:
        return trk_pages_unwatch_mask(tracker, at, step->mask, step->read);
    case MODEL_FAULT:
        return core_fault(run, step);
    case MODEL_VERB_COUNT:
        break;
    }
    abort();
}

void run_core_step(struct run *run, const struct model_step *step)
{
    enum trk_status status = core_run(run, step);
    model_log_add(&run->log, MODEL_LOG_STATUS);
    model_log_add(&run->log, status);
}
