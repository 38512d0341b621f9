/*
 * The plain second tracker: generations of guest pages.
 *
 * Rules: [M-64] [M-65] [M-68] [M-69] [M-70].
 */
#include "model_pages.h"

static uint32_t guest_page(uint32_t page)
{
    return page / (MODEL_GUEST_PAGE / MODEL_PAGE);
}

static struct pages guest_rounded(struct pages pages)
{
    return pages_rounded((uint64_t)pages.first * MODEL_PAGE,
                         (uint64_t)(pages.end - pages.first) * MODEL_PAGE, MODEL_GUEST_PAGE);
}

#define FOR_GUEST_PAGES(at, pages)                                                                 \
    for (uint32_t at = guest_page((pages).first); at < guest_page((pages).end); at++)

/* A hash of our own: equal sums of the core must go with equal ones of these. */
static uint64_t sum(const struct model *model, struct pages pages)
{
    uint64_t value = UINT64_C(0xcbf29ce484222325);
    FOR_GUEST_PAGES(at, pages)
    {
        if (model->generation[at] == 0)
            return 0;
        uint64_t words[2] = {at, model->generation[at]};
        for (int i = 0; i < 2; i++) {
            value = (value ^ words[i]) * UINT64_C(0x100000001b3);
            value ^= value >> 29;
        }
    }
    return value;
}

static enum trk_status track(struct model *model, struct pages bytes, struct pages pages)
{
    FOR_PAGES(page, bytes)
    {
        if (!(model->guest[page] & TRK_RIGHT_READ))
            return TRK_E_ARGUMENT;
    }
    FOR_REGIONS(region, pages)
    {
        struct pages part = pages_in_region(pages, region);
        model->live[region] = true;
        enum trk_status status = model_change(model, part, &(struct wanted){.change = ARM});
        if (status != TRK_OK)
            return model_fail(model, status);
        FOR_GUEST_PAGES(at, part)
        {
            if (model->generation[at] == 0)
                model->generation[at] = ++model->newest;
        }
    }
    return TRK_OK;
}

enum trk_status model_advance(struct model *model, struct pages pages)
{
    pages = guest_rounded(pages);
    FOR_REGIONS(region, pages)
    {
        struct pages part = pages_in_region(pages, region);
        enum trk_status status = model_change(model, part, &(struct wanted){.change = DISARM});
        if (status != TRK_OK)
            return status;
        FOR_GUEST_PAGES(at, part)
        {
            if (model->generation[at] != 0)
                model->generation[at] = ++model->newest;
        }
    }
    return TRK_OK;
}

static bool overlaps(const struct model_mapping *mapping, uint64_t first, uint64_t end)
{
    return mapping->first < end && first < mapping->first + mapping->size;
}

/* Rights of [first, end) have changed: a mapping that is covered as a whole has them now. */
static void mappings_changed(struct model *model, uint64_t first, uint64_t end, unsigned rights)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < model->mapping_count; i++) {
        struct model_mapping mapping = model->mappings[i];
        if (overlaps(&mapping, first, end)) {
            if (first > mapping.first || mapping.first + mapping.size > end || rights == 0)
                continue;
            mapping.rights = rights;
        }
        model->mappings[kept++] = mapping;
    }
    model->mapping_count = kept;
}

static enum trk_status rights_change(struct model *model, struct pages pages, unsigned rights)
{
    FOR_REGIONS(region, pages)
    {
        struct pages part = pages_in_region(pages, region);
        model->live[region] = true;
        enum trk_status status =
            model_change(model, part, &(struct wanted){.change = RIGHTS, .rights = rights});
        if (status != TRK_OK)
            return status;
        if (!model->policy.generations)
            continue;
        part = guest_rounded(part);
        FOR_GUEST_PAGES(at, part)
        model->generation[at] = 0;
        status = model_change(model, part, &(struct wanted){.change = DISARM});
        if (status != TRK_OK)
            return status;
    }
    return TRK_OK;
}

enum trk_status model_guest(struct model *model, struct pages pages, unsigned rights)
{
    mappings_changed(model, (uint64_t)pages.first * MODEL_PAGE, (uint64_t)pages.end * MODEL_PAGE,
                     rights);
    return rights_change(model, pages, rights);
}

static enum trk_status map(struct model *model, const struct model_step *step)
{
    struct model_mapping wanted = {step->first, step->size, step->other, step->rights};
    enum trk_status status =
        model_check(model, step->first, step->size, model->policy.page_size_bytes);
    if (status != TRK_OK)
        return model_fail(model, status);
    bool kept = false;
    for (uint32_t i = 0; i < model->mapping_count; i++) {
        const struct model_mapping *known = &model->mappings[i];
        kept |= known->first == wanted.first && known->size == wanted.size &&
                known->physical == wanted.physical && known->rights == wanted.rights;
    }
    if (!kept) {
        mappings_changed(model, step->first, step->first + step->size, 0);
        status =
            rights_change(model, pages_rounded(step->first, step->size, MODEL_PAGE), step->rights);
        if (status != TRK_OK)
            return model_fail(model, status);
    }
    if (!kept && model->policy.generations && step->rights != 0 &&
        model->mapping_count < MODEL_MAPPINGS_MAX)
        model->mappings[model->mapping_count++] = wanted;
    model_log_add(&model->log, MODEL_LOG_RESULT);
    model_log_add(&model->log, kept);
    return TRK_OK;
}

enum trk_status model_generations_step(struct model *model, const struct model_step *step)
{
    if (step->verb == MODEL_MAP)
        return map(model, step);
    if (model->uploading > 0)
        return model_fail(model, TRK_E_REENTRY);
    bool off = !model->policy.generations;
    bool empty = step->bad == 1 || (step->bad == 0 && step->size == 0);
    struct pages pages = pages_rounded(step->first, step->size, MODEL_GUEST_PAGE);
    enum trk_status status = TRK_OK;
    uint64_t value = 0;
    if (!off && !empty && step->bad != 0)
        status = step->verb == MODEL_TRACK ? TRK_E_ARGUMENT : TRK_OK;
    else if (!off && !empty && step->verb == MODEL_TRACK)
        status = track(model, pages_rounded(step->first, step->size, MODEL_PAGE), pages);
    else if (!off && !empty && step->verb == MODEL_NOTIFY)
        status = model_advance(model, pages);
    if (step->verb == MODEL_NOTIFY)
        return status == TRK_OK ? status : model_fail(model, status);
    if (status == TRK_OK && !off && !empty && step->bad == 0)
        value = sum(model, pages);
    model_log_add(&model->log, MODEL_LOG_SUM);
    model_log_add(&model->log, value);
    return status;
}
