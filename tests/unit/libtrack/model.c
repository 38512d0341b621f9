/*
 * The plain second tracker: its operations.
 */
#include <stdlib.h>
#include <string.h>

#include "model_pages.h"
#include "track/event.h"

void model_log_add(struct model_log *log, uint64_t value)
{
    if (log->count < MODEL_LOG_MAX)
        log->values[log->count++] = value;
}

void model_init(struct model *model, const struct trk_policy *policy)
{
    uint8_t *registered = model->registered;
    memset(model, 0, sizeof *model);
    model->registered = registered;
    model->policy = *policy;
    for (uint32_t page = 0; page < FIXTURE_PAGES; page++) {
        model->cpu[page] = true;
        model->guest[page] = TRK_RIGHTS_RW;
        model->host[page] = TRK_RIGHTS_RW;
    }
}

static void make_live(struct model *model, struct pages pages)
{
    FOR_REGIONS(region, pages)
    model->live[region] = true;
}

static uint64_t log_runs(struct model *model, const bool *set, struct pages pages)
{
    uint64_t runs = 0;
    FOR_PAGES(page, pages)
    {
        if (!set[page] || (page > pages.first && set[page - 1]))
            continue;
        uint32_t end = page;
        while (end < pages.end && set[end])
            end++;
        model_log_add(&model->log, MODEL_LOG_RANGE);
        model_log_add(&model->log, page);
        model_log_add(&model->log, end - page);
        runs++;
    }
    return runs;
}

static enum trk_status upload(struct model *model, struct pages pages, bool written)
{
    static bool taken[FIXTURE_PAGES];
    if (written)
        make_live(model, pages);
    FOR_REGIONS(region, pages)
    {
        struct pages part = pages_in_region(pages, region);
        model->live[region] = true;
        FOR_PAGES(page, part)
        taken[page] = model->cpu[page];
        enum trk_status status =
            model_change(model, part, &(struct wanted){.change = CPU_TO_CLEAN});
        if (status != TRK_OK)
            return status;
        log_runs(model, taken, part);
    }
    model_log_add(&model->log, MODEL_LOG_DONE);
    if (!written)
        return TRK_OK;
    return model_change_all(model, pages, &(struct wanted){.change = CLEAN_TO_GPU}, false);
}

static enum trk_status download(struct model *model, struct pages pages, enum model_verb verb)
{
    struct wanted wanted = {.change = verb == MODEL_DRAIN ? GPU_TO_CPU : GPU_TO_CLEAN};
    bool all_first = model->policy.download == TRK_DOWNLOAD_ALL_REGIONS;
    FOR_REGIONS(region, pages)
    {
        struct pages part = pages_in_region(pages, region);
        log_runs(model, model->gpu, part);
        if (all_first || verb == MODEL_DOWNLOAD)
            continue;
        enum trk_status status = model_change(model, part, &wanted);
        if (status != TRK_OK)
            return status;
    }
    if (all_first && verb != MODEL_DOWNLOAD)
        return model_change_all(model, pages, &wanted, true);
    return TRK_OK;
}

static void call_flush(struct model *model, struct pages pages)
{
    model_log_add(&model->log, MODEL_LOG_FLUSH);
    model_log_add(&model->log, pages.first);
    model_log_add(&model->log, pages.end - pages.first);
    if (model->flush != NULL)
        model->flush(model->flush_context, (uint64_t)pages.first * MODEL_PAGE,
                     (uint64_t)(pages.end - pages.first) * MODEL_PAGE);
}

static enum trk_status invalidate_whole(struct model *model, struct pages pages)
{
    struct wanted to_cpu = {.change = CLEAN_TO_CPU};
    for (unsigned round = 0;; round++) {
        /* (A) */
        if (!pages_any(model->gpu, pages))
            return model_change_all(model, pages, &to_cpu, true);
        if (round == 8)
            return TRK_E_LIVELOCK;
        FOR_PAGES(page, pages)
        model->stayed[page] = model->gpu[page];
        call_flush(model, pages);
        /* (B) */
        bool stayed = pages_any(model->stayed, pages);
        FOR_PAGES(page, pages)
        model->stayed[page] = false;
        if (stayed)
            return TRK_E_RETAINED;
        if (model->policy.invalidate == TRK_INVALIDATE_STRICT && pages_any(model->gpu, pages))
            return TRK_E_RETAINED;
    }
}

static enum trk_status invalidate(struct model *model, struct pages pages)
{
    if (model->policy.invalidate != TRK_INVALIDATE_PER_REGION)
        return invalidate_whole(model, pages);
    FOR_REGIONS(region, pages)
    {
        struct pages part = pages_in_region(pages, region);
        if (pages_any(model->gpu, part)) {
            call_flush(model, pages);
            continue;
        }
        enum trk_status status =
            model_change(model, part, &(struct wanted){.change = CLEAN_TO_CPU});
        if (status != TRK_OK)
            return status;
    }
    return TRK_OK;
}

static bool registered(const struct model *model, uint64_t first, uint64_t size)
{
    return memchr(&model->registered[first], 0, size) == NULL;
}

static enum trk_fault_outcome fault(struct model *model, const struct model_step *step)
{
    static const unsigned needed[] = {TRK_RIGHT_READ, TRK_RIGHT_WRITE, TRK_RIGHT_EXEC};
    uint32_t page = (uint32_t)(step->first / MODEL_PAGE);
    uint32_t width = model->policy.fault_width_bytes;
    if (!model->live[page / TRK_REGION_PAGES] || !(model->guest[page] & needed[step->access]))
        return TRK_FAULT_UNHANDLED;
    if (model_effective(model, page) & needed[step->access])
        return TRK_FAULT_RETRY;
    if (!registered(model, step->first, width))
        return TRK_FAULT_UNHANDLED;
    struct pages pages = pages_rounded(step->first, width, model->policy.page_size_bytes);
    if (step->access == TRK_ACCESS_WRITE)
        return invalidate(model, pages) == TRK_OK ? TRK_FAULT_SERVED : TRK_FAULT_UNHANDLED;
    if (pages_any(model->gpu, pages))
        call_flush(model, pages);
    return TRK_FAULT_SERVED;
}

static enum trk_status mark(struct model *model, struct pages pages, enum model_verb verb)
{
    bool to_gpu = verb == MODEL_MARK_GPU;
    if (verb != MODEL_UNTRACK)
        make_live(model, pages);
    if (pages_any(to_gpu ? model->cpu : model->gpu, pages))
        return verb == MODEL_UNTRACK ? TRK_E_UNTRACK : TRK_E_CONFLICT;
    return model_change_all(model, pages,
                            &(struct wanted){.change = to_gpu ? CLEAN_TO_GPU : CLEAN_TO_CPU}, true);
}

static enum trk_status watch(struct model *model, struct pages pages, enum model_verb verb)
{
    struct wanted wanted = {.change = verb == MODEL_WATCH ? WATCH_MORE : WATCH_LESS};
    FOR_PAGES(page, pages)
    {
        /* The core cannot tell whose watches it counts: its own may be taken away. */
        if (!model_in_bounds(model, wanted.change, page))
            return TRK_E_WATCH;
    }
    make_live(model, pages);
    return model_change_all(model, pages, &wanted, false);
}

static enum trk_status watch_mask(struct model *model, const struct model_step *step)
{
    static bool meant[FIXTURE_PAGES];
    bool more = step->verb == MODEL_WATCH_MASK, empty = true;
    struct wanted wanted = {.only = meant};
    wanted.change = step->read ? (more ? READ_MORE : READ_LESS) : (more ? WATCH_MORE : WATCH_LESS);
    uint32_t base = (uint32_t)(step->first / MODEL_PAGE);
    if (step->first % TRK_REGION_BYTES != 0)
        return TRK_E_WATCH;
    for (uint32_t page = 0; page < TRK_REGION_PAGES; page++) {
        meant[base + page] = step->mask[page / 64] >> (page % 64) & 1;
        empty = empty && !meant[base + page];
    }
    if (empty)
        return TRK_E_WATCH;
    struct pages pages = {base, base + TRK_REGION_PAGES};
    enum trk_status status = model_change(model, pages, &wanted);
    if (more || status == TRK_OK)
        make_live(model, pages);
    return status;
}

static bool is_cpu(struct model *model, struct pages pages)
{
    FOR_REGIONS(region, pages)
    {
        model->live[region] = true;
        if (pages_any(model->cpu, pages_in_region(pages, region)))
            return true;
    }
    return false;
}

static enum trk_status run(struct model *model, const struct model_step *step)
{
    if (step->size == 0 && step->verb != MODEL_FAULT && step->verb != MODEL_WATCH_MASK &&
        step->verb != MODEL_UNWATCH_MASK)
        return TRK_E_RANGE;
    struct pages pages = pages_rounded(step->first, step->size, model->policy.page_size_bytes);
    struct pages small = pages_rounded(step->first, step->size, MODEL_PAGE);
    enum trk_fault_outcome outcome;
    switch (step->verb) {
    case MODEL_IS_CPU:
    case MODEL_IS_GPU:
        model_log_add(&model->log, MODEL_LOG_RESULT);
        model_log_add(&model->log, step->verb == MODEL_IS_CPU ? is_cpu(model, pages)
                                                              : pages_any(model->gpu, pages));
        return TRK_OK;
    case MODEL_MARK_CPU:
    case MODEL_MARK_GPU:
    case MODEL_UNTRACK:
        return mark(model, pages, step->verb);
    case MODEL_UNMARK_GPU:
        return model_change_all(model, pages, &(struct wanted){.change = GPU_TO_CLEAN}, true);
    case MODEL_UPLOAD:
    case MODEL_UPLOAD_WRITTEN:
        return upload(model, pages, step->verb == MODEL_UPLOAD_WRITTEN);
    case MODEL_DOWNLOAD:
    case MODEL_DOWNLOAD_CLEAR:
    case MODEL_DRAIN:
        return download(model, pages, step->verb);
    case MODEL_INVALIDATE:
        return invalidate(model, pages);
    case MODEL_REGISTER:
    case MODEL_UNREGISTER:
        memset(&model->registered[step->first], step->verb == MODEL_REGISTER, step->size);
        if (step->verb == MODEL_REGISTER)
            make_live(model, small);
        return TRK_OK;
    case MODEL_GUEST:
        make_live(model, small);
        return model_change_all(model, small,
                                &(struct wanted){.change = RIGHTS, .rights = step->rights}, false);
    case MODEL_WATCH:
    case MODEL_UNWATCH:
        return watch(model, pages, step->verb);
    case MODEL_WATCH_MASK:
    case MODEL_UNWATCH_MASK:
        return watch_mask(model, step);
    case MODEL_FAULT:
        outcome = fault(model, step);
        model_log_add(&model->log, MODEL_LOG_RESULT);
        model_log_add(&model->log, (uint64_t)outcome);
        return TRK_OK;
    case MODEL_VERB_COUNT:
        break;
    }
    abort();
}

void model_step(struct model *model, const struct model_step *step)
{
    enum trk_status status = run(model, step);
    model_log_add(&model->log, MODEL_LOG_STATUS);
    model_log_add(&model->log, status);
}

struct trk_page_view model_view(const struct model *model, uint32_t page)
{
    return (struct trk_page_view){
        .cpu_dirty = model->cpu[page],
        .gpu_dirty = model->gpu[page],
        .writable = model->cpu[page],
        .readable = !model->gpu[page],
        .registered = registered(model, (uint64_t)page * MODEL_PAGE, MODEL_PAGE),
        .write_watches = (uint8_t)(model->foreign_writes[page] + !model->cpu[page]),
        .read_watch = model->foreign_read[page] || model->gpu[page],
        .guest_rights = model->guest[page],
        .host_rights = model->host[page],
    };
}
