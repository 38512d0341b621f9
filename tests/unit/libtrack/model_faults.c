/*
 * The plain second tracker: checks, invalidate, faults, the emulator's writes.
 *
 * Rules: [M-2] [M-13] [M-25] [M-28] to [M-34], [M-55] to [M-59], [M-66] [M-72] [M-74].
 */
#include <string.h>

#include "model_pages.h"
#include "track/event.h"

enum trk_status model_check(const struct model *model, uint64_t first, uint64_t size, uint32_t unit)
{
    if (model->uploading > 0)
        return TRK_E_REENTRY;
    if (size == 0)
        return TRK_E_RANGE;
    struct pages pages = pages_rounded(first, size, unit);
    FOR_REGIONS(region, pages)
    {
        if (model->held[region])
            return TRK_E_LOCK;
    }
    return TRK_OK;
}

enum trk_status model_fail(struct model *model, enum trk_status failure_class)
{
    model->failures++;
    model->refusals += failure_class == TRK_E_PROTECT;
    model->last_failure = failure_class;
    return failure_class;
}

bool model_registered(const struct model *model, uint64_t first, uint64_t size)
{
    return memchr(&model->registered[first], 0, size) == NULL;
}

static void model_flush(struct model *model, struct pages pages)
{
    if (model->silent)
        return;
    model_log_add(&model->log, MODEL_LOG_FLUSH);
    model_log_add(&model->log, pages.first);
    model_log_add(&model->log, pages.end - pages.first);
    if (model->hooks.flush != NULL)
        model->hooks.flush(model->hooks.context, (uint64_t)pages.first * MODEL_PAGE,
                           (uint64_t)(pages.end - pages.first) * MODEL_PAGE);
}

static enum trk_status invalidate_whole(struct model *model, struct pages pages)
{
    struct wanted to_cpu = {.change = CLEAN_TO_CPU};
    for (unsigned round = 0;; round++) {
        if (!pages_any(model->gpu, pages)) /* [M-28] */
            return model_change_all(model, pages, &to_cpu, true);
        if (round == 8) /* [M-31] */
            return TRK_E_LIVELOCK;
        FOR_PAGES(page, pages)
        model->stayed[page] = model->gpu[page];
        model_flush(model, pages); /* [M-29] */
        bool stayed = pages_any(model->stayed, pages);
        FOR_PAGES(page, pages)
        model->stayed[page] = false;
        if (stayed) /* [M-30] */
            return TRK_E_RETAINED;
        if (model->policy.invalidate == TRK_INVALIDATE_STRICT && pages_any(model->gpu, pages))
            return TRK_E_RETAINED; /* [M-32] */
    }
}

enum trk_status model_invalidate(struct model *model, struct pages pages)
{
    if (model->policy.invalidate != TRK_INVALIDATE_PER_REGION)
        return invalidate_whole(model, pages);
    FOR_REGIONS(region, pages)
    {
        struct pages part = pages_in_region(pages, region);
        if (pages_any(model->gpu, part)) { /* [M-33] */
            model_flush(model, pages);
            continue;
        }
        enum trk_status status =
            model_change(model, part, &(struct wanted){.change = CLEAN_TO_CPU});
        if (status != TRK_OK)
            return status;
    }
    return TRK_OK;
}

/* Status of a service that was not ours at all. */
#define NOT_OURS TRK_E_END

static enum trk_status serve_view(struct model *model, uint64_t first, uint32_t width,
                                  enum trk_access access)
{
    struct pages pages = pages_rounded(first, width, model->policy.page_size_bytes);
    if (access == TRK_ACCESS_WRITE)
        return model_invalidate(model, pages);
    if (!pages_any(model->gpu, pages))
        return TRK_OK;
    uint32_t refusals = model->refusals;
    model_flush(model, pages);
    bool failed = model->refusals != refusals && pages_any(model->gpu, pages);
    return failed ? TRK_E_PROTECT : TRK_OK;
}

/* Registered pages of the frame, or the page alone. */
static struct model_views fault_views(const struct model *model, uint32_t page)
{
    struct model_views found = {0};
    const struct model_views *all = &model->views[page];
    for (uint32_t i = 0; model->seen[page] && i < all->count; i++) {
        if (model->seen[all->page[i]])
            found.page[found.count++] = all->page[i];
    }
    if (found.count == 0)
        found.page[found.count++] = (uint16_t)page;
    return found;
}

static enum trk_status serve_tracker(struct model *model, const struct model_step *step,
                                     const struct model_views *views)
{
    uint32_t width = model->policy.fault_width_bytes, unit = model->policy.page_size_bytes;
    uint64_t offset = step->first % MODEL_PAGE;
    enum trk_status status = model_check(model, step->first, width, unit);
    if (status != TRK_OK)
        return status;
    if (!model_registered(model, step->first, width)) /* [M-57] */
        return NOT_OURS;
    /* All can be served, or none is. */
    for (int serve = 0; serve < 2; serve++) {
        for (uint32_t i = 0; status == TRK_OK && i < views->count; i++) {
            uint64_t first = (uint64_t)views->page[i] * MODEL_PAGE + offset;
            bool cut = first != step->first && offset + width > MODEL_PAGE;
            uint32_t here = cut ? (uint32_t)(MODEL_PAGE - offset) : width;
            status = serve ? serve_view(model, first, here, step->access)
                           : model_check(model, first, here, unit);
        }
    }
    return status;
}

/* [M-66] */
static enum trk_status serve_generations(struct model *model, const struct model_views *views,
                                         bool *served)
{
    bool armed = false;
    for (uint32_t i = 0; i < views->count; i++)
        armed |= model->armed[views->page[i]];
    for (uint32_t i = 0; armed && i < views->count; i++) {
        uint32_t first = views->page[i] & ~3u;
        if (!pages_any(model->armed, (struct pages){first, first + 4}))
            continue;
        enum trk_status status =
            model_advance(model, (struct pages){views->page[i], views->page[i] + 1u});
        if (status != TRK_OK)
            return status;
        *served = true;
    }
    return TRK_OK;
}

static enum trk_fault_outcome fault(struct model *model, const struct model_step *step)
{
    static const unsigned needed[] = {TRK_RIGHT_READ, TRK_RIGHT_WRITE, TRK_RIGHT_EXEC};
    uint32_t page = (uint32_t)(step->first / MODEL_PAGE);
    if (!model->live[page / TRK_REGION_PAGES] || !(model->guest[page] & needed[step->access]))
        return TRK_FAULT_UNHANDLED; /* [M-55] */
    if (model_effective(model, page) & needed[step->access])
        return TRK_FAULT_RETRY; /* [M-56] */
    struct model_views views = fault_views(model, page);
    bool served = false;
    enum trk_status status = TRK_OK;
    if (step->access == TRK_ACCESS_WRITE)
        status = serve_generations(model, &views, &served);
    if (status == TRK_OK)
        status = serve_tracker(model, step, &views);
    if (status != TRK_OK && status != NOT_OURS)
        model_fail(model, status);
    return status == TRK_OK || (status == NOT_OURS && served) ? TRK_FAULT_SERVED
                                                              : TRK_FAULT_UNHANDLED;
}

/* [M-59] */
void model_fault(struct model *model, const struct model_step *step)
{
    uint32_t region = (uint32_t)(step->first / TRK_REGION_BYTES);
    uint32_t row = 0, changes = 0;
    for (uint32_t i = 0; i == 0 || i < step->repeats; i++) {
        uint32_t before = model->changes[region];
        enum trk_fault_outcome outcome = fault(model, step);
        if (outcome != TRK_FAULT_UNHANDLED) {
            row = row > 0 && changes == before ? row + 1 : 1;
            changes = before;
        }
        if (row == 8) {
            model_fail(model, TRK_E_LIVELOCK);
            outcome = TRK_FAULT_UNHANDLED;
            row = 0;
        }
        model_log_add(&model->log, MODEL_LOG_RESULT);
        model_log_add(&model->log, (uint64_t)outcome);
    }
}

/* The first run of registered bytes from a place on; false when there is none. */
static bool next_run(const struct model *model, uint64_t *first, uint64_t *run_end, uint64_t end)
{
    const uint8_t *at = memchr(&model->registered[*first], 1, end - *first);
    if (at == NULL)
        return false;
    *first = (uint64_t)(at - model->registered);
    const uint8_t *behind = memchr(at, 0, end - *first);
    *run_end = behind == NULL ? end : (uint64_t)(behind - model->registered);
    return true;
}

/* Where else a page's bytes are registered. */
static struct model_views other_views(const struct model *model, uint32_t page)
{
    struct model_views found = {0};
    const struct model_views *all = &model->views[page];
    for (uint32_t i = 0; i < all->count; i++) {
        if (all->page[i] != page && model->seen[all->page[i]])
            found.page[found.count++] = all->page[i];
    }
    return found;
}

/* Whether the nth page of a run in one region has its other views right behind the first's. */
static bool runs_along(const struct model *model, uint32_t first, uint32_t nth)
{
    struct model_views views = other_views(model, first), more = other_views(model, first + nth);
    bool same =
        views.count == more.count && first / TRK_REGION_PAGES == (first + nth) / TRK_REGION_PAGES;
    for (uint32_t i = 0; same && i < views.count; i++)
        same = more.page[i] == views.page[i] + nth;
    return same;
}

/* The run's bytes in other views, each above the run's own place, or below. */
static enum trk_status write_others(struct model *model, uint64_t first, uint64_t end, bool above)
{
    uint32_t unit = model->policy.page_size_bytes;
    enum trk_status status = TRK_OK;
    while (status == TRK_OK && first < end) {
        uint32_t page = (uint32_t)(first / MODEL_PAGE), count = 1;
        while ((uint64_t)(page + count) * MODEL_PAGE < end && runs_along(model, page, count))
            count++;
        uint64_t stop = (uint64_t)(page + count) * MODEL_PAGE;
        stop = stop < end ? stop : end;
        struct model_views views = other_views(model, page);
        for (uint32_t i = 0; status == TRK_OK && i < views.count; i++) {
            if ((views.page[i] > page) != above)
                continue;
            uint64_t at = (uint64_t)views.page[i] * MODEL_PAGE + first % MODEL_PAGE;
            status = model_invalidate(model, pages_rounded(at, stop - first, unit));
            if (status == TRK_OK && model->policy.generations)
                status = model_advance(model, pages_rounded(at, stop - first, MODEL_PAGE));
        }
        first = stop;
    }
    return status;
}

static bool guest_may_write(struct model *model, struct pages bytes)
{
    FOR_PAGES(page, bytes)
    {
        model->live[page / TRK_REGION_PAGES] = true;
        if (!(model->guest[page] & TRK_RIGHT_WRITE))
            return false;
    }
    return true;
}

/* [M-72] [M-74] */
static enum trk_status write_runs(struct model *model, uint64_t at, uint64_t end)
{
    enum trk_status status = TRK_OK;
    uint64_t run_end;
    for (; status == TRK_OK && at < end && next_run(model, &at, &run_end, end); at = run_end) {
        status = write_others(model, at, run_end, false);
        if (status == TRK_OK)
            status = model_invalidate(
                model, pages_rounded(at, run_end - at, model->policy.page_size_bytes));
        if (status == TRK_OK)
            status = write_others(model, at, run_end, true);
    }
    return status;
}

/* Whether this thread is free to tell the other views of all pages. */
static enum trk_status check_others(const struct model *model, struct pages bytes)
{
    enum trk_status status = TRK_OK;
    FOR_PAGES(page, bytes)
    {
        struct model_views views = other_views(model, page);
        for (uint32_t i = 0; model->seen[page] && status == TRK_OK && i < views.count; i++)
            status = model_check(model, (uint64_t)views.page[i] * MODEL_PAGE, MODEL_PAGE,
                                 model->policy.page_size_bytes);
    }
    return status;
}

enum trk_status model_hle_write(struct model *model, const struct model_step *step)
{
    struct pages bytes = pages_rounded(step->first, step->size, MODEL_PAGE);
    bool written = guest_may_write(model, bytes);
    enum trk_status status = written ? check_others(model, bytes) : TRK_OK;
    if (written && status == TRK_OK)
        status = write_runs(model, step->first, step->first + step->size);
    if (written && status == TRK_OK && model->policy.generations)
        status = model_advance(model, bytes);
    if (status != TRK_OK)
        return model_fail(model, status);
    if (written) {
        model_log_add(&model->log, MODEL_LOG_WRITE);
        model_log_add(&model->log, step->first);
        model_log_add(&model->log, step->size);
    }
    model_log_add(&model->log, MODEL_LOG_RESULT);
    model_log_add(&model->log, written);
    return TRK_OK;
}
