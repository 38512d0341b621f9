/*
 * What the callbacks of the random test do: operations that follow from the plan of the step, so
 * that core and model do the same.
 */
#include "model_run.h"

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

static unsigned flush_steps(const struct run *run, unsigned nth, uint64_t *random)
{
    *random = run->plan + nth;
    return random_below(random, 4);
}

void run_core_flush(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    struct side *side = context;
    uint64_t random;
    unsigned count = flush_steps(side->run, side->core.flushes++, &random);
    model_log_add(&side->log, MODEL_LOG_FLUSH);
    model_log_add(&side->log, (guest_addr - FIXTURE_BASE) / MODEL_PAGE);
    model_log_add(&side->log, size_bytes / MODEL_PAGE);
    side->run->core_depth++;
    for (unsigned i = 0; i < count; i++) {
        struct model_step step = flush_step(&random, guest_addr - FIXTURE_BASE, size_bytes);
        run_core_step(side, &step);
    }
    side->run->core_depth--;
}

void run_plain_flush(void *context, uint64_t first, uint64_t size)
{
    struct side *side = context;
    uint64_t random;
    unsigned count = flush_steps(side->run, side->plain.flushes++, &random);
    side->run->plain_depth++;
    for (unsigned i = 0; i < count; i++) {
        struct model_step step = flush_step(&random, first, size);
        model_step(&side->model, &step);
    }
    side->run->plain_depth--;
}

/*
 * Inside a range callback or a completion: now and then an operation on either tracker. Those that
 * make pages the GPU's are left to flushes.
 */
static bool nested_step(const struct run *run, unsigned nth, uint32_t *tracker,
                        struct model_step *out)
{
    static const enum model_verb verbs[] = {
        MODEL_IS_CPU,   MODEL_IS_GPU, MODEL_UPLOAD,   MODEL_UPLOAD, MODEL_DOWNLOAD,
        MODEL_MARK_CPU, MODEL_DRAIN,  MODEL_REGISTER, MODEL_GUEST,  MODEL_QUERY,
        MODEL_UNTRACK,  MODEL_TRACK,  MODEL_WATCH,    MODEL_LEAVE,
    };
    uint64_t random = (run->plan ^ UINT64_C(0x5bd1e995)) + nth;
    if (!random_chance(&random, 12))
        return false;
    *tracker = random_below(&random, RUN_TRACKERS);
    *out = (struct model_step){
        .verb = verbs[random_below(&random, 14)], .rights = TRK_RIGHTS_RW, .size = MODEL_PAGE};
    if (run->short_ways && !run_keeps_short_ways(out->verb))
        out->verb = MODEL_IS_GPU;
    out->first = (run->windows[random_below(&random, 2)] + random_below(&random, WINDOW_PAGES)) *
                 (uint64_t)MODEL_PAGE;
    return true;
}

void run_core_callback(struct side *side)
{
    struct run *run = side->run;
    struct model_step step;
    uint32_t tracker;
    if (!nested_step(run, side->core.callbacks++, &tracker, &step) ||
        run->core_depth >= RUN_DEPTH_MAX)
        return;
    run->core_depth++;
    run_core_step(&run->sides[tracker], &step);
    run->core_depth--;
}

void run_plain_callback(void *context)
{
    struct side *side = context;
    struct run *run = side->run;
    struct model_step step;
    uint32_t tracker;
    if (!nested_step(run, side->plain.callbacks++, &tracker, &step) ||
        run->plain_depth >= RUN_DEPTH_MAX)
        return;
    run->plain_depth++;
    model_step(&run->sides[tracker].model, &step);
    run->plain_depth--;
}
