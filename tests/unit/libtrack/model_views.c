/*
 * The plain second tracker: pages that show the same bytes.
 *
 * Rules: [M-73] [M-75].
 */
#include <string.h>

#include "model_pages.h"

static bool wants_others(const struct model *model, uint32_t page)
{
    return model->views[page].count > 0 && model->seen[page];
}

void model_others(const struct model *model, struct pages pages, const bool *marked,
                  struct others *out)
{
    static bool met[FIXTURE_PAGES];
    uint32_t first = FIXTURE_PAGES, end = 0;
    FOR_PAGES(page, pages)
    {
        if (!marked[page])
            continue;
        const struct model_views *views = &model->views[page];
        for (uint32_t i = 0; i < views->count; i++) {
            uint32_t other = views->page[i];
            if (other >= pages.first && other < pages.end && marked[other])
                continue;
            met[other] = true;
            first = other < first ? other : first;
            end = other >= end ? other + 1 : end;
        }
    }
    out->count = 0;
    for (uint32_t page = first; page < end; page++) {
        if (met[page])
            out->page[out->count++] = (uint16_t)page;
        met[page] = false;
    }
}

void model_views_update(struct model *model, uint32_t page)
{
    bool watch = false, read = false;
    const struct model_views *views = &model->views[page];
    for (uint32_t i = 0; wants_others(model, page) && i < views->count; i++) {
        uint32_t other = views->page[i];
        if (other == page || !model->seen[other])
            continue;
        watch |= !model->cpu[other] || model->foreign_writes[other] > 0 || model->armed[other];
        read |= model->gpu[other] || model->foreign_read[other];
    }
    model->others_watch[page] = watch;
    model->others_read[page] = read;
}

bool model_others_follow(struct model *model, const struct others *others)
{
    for (uint32_t i = 0; i < others->count;) {
        uint32_t region = others->page[i] / TRK_REGION_PAGES;
        struct pages part = {others->page[i], 0};
        for (; i < others->count && others->page[i] / TRK_REGION_PAGES == region; i++) {
            model_views_update(model, others->page[i]);
            part.end = others->page[i] + 1u;
        }
        model->changes[region]++;
        if (!model_host_follow(model, part))
            return false;
    }
    return true;
}

void model_views_back(struct model *model, struct pages pages, const struct others *others)
{
    FOR_PAGES(page, pages)
    {
        model_views_update(model, page);
        model->host[page] = (uint8_t)model_effective(model, page);
    }
    for (uint32_t i = 0; i < others->count; i++) {
        model_views_update(model, others->page[i]);
        model->host[others->page[i]] = (uint8_t)model_effective(model, others->page[i]);
    }
}

static bool has(const struct model_views *views, uint32_t page)
{
    for (uint32_t i = 0; i < views->count; i++) {
        if (views->page[i] == page)
            return true;
    }
    return false;
}

static void add(struct model_views *views, uint32_t page)
{
    uint32_t at = views->count++;
    for (; at > 0 && views->page[at - 1] > page; at--)
        views->page[at] = views->page[at - 1];
    views->page[at] = (uint16_t)page;
}

static struct model_views of_page(const struct model *model, uint32_t page)
{
    struct model_views views = model->views[page];
    if (views.count == 0)
        add(&views, page);
    return views;
}

/* False: the frame would have too many views. */
static bool page_join(struct model *model, uint32_t page, uint32_t other)
{
    struct model_views all = of_page(model, page), more = of_page(model, other);
    if (has(&all, other))
        return true;
    if (all.count + more.count > TRK_VIEWS_MAX)
        return false;
    for (uint32_t i = 0; i < more.count; i++)
        add(&all, more.page[i]);
    for (uint32_t i = 0; i < all.count; i++)
        model->views[all.page[i]] = all;
    return true;
}

static void page_leave(struct model *model, uint32_t page)
{
    struct model_views former = model->views[page], rest = {0};
    for (uint32_t i = 0; i < former.count; i++) {
        if (former.page[i] != page)
            add(&rest, former.page[i]);
    }
    if (rest.count == 1)
        rest.count = 0;
    for (uint32_t i = 0; i < former.count; i++)
        model->views[former.page[i]] = rest;
    model->views[page].count = 0;
}

static const bool *all_marked(void)
{
    static bool all[FIXTURE_PAGES];
    memset(all, true, sizeof all);
    return all;
}

/* One region's part, in one hold. distance 0: leave. */
static enum trk_status regroup(struct model *model, struct pages pages, int64_t distance)
{
    static struct model_views saved[FIXTURE_PAGES];
    static struct others others;
    memcpy(saved, model->views, sizeof saved);
    if (distance == 0)
        model_others(model, pages, all_marked(), &others);
    FOR_PAGES(page, pages)
    {
        if (distance == 0)
            page_leave(model, page);
        else
            page_join(model, page, (uint32_t)(page + distance));
    }
    if (distance != 0)
        model_others(model, pages, all_marked(), &others);
    model->changes[pages.first / TRK_REGION_PAGES]++;
    FOR_PAGES(page, pages)
    model_views_update(model, page);
    if (model_host_follow(model, pages) && model_others_follow(model, &others))
        return TRK_OK;
    memcpy(model->views, saved, sizeof saved);
    model_views_back(model, pages, &others);
    return TRK_E_PROTECT;
}

static enum trk_status regroup_all(struct model *model, struct pages pages, int64_t distance)
{
    enum trk_status status = TRK_OK;
    FOR_REGIONS(region, pages)
    {
        if (status == TRK_OK)
            status = regroup(model, pages_in_region(pages, region), distance);
    }
    return status;
}

/* Whether every frame has room; tried out on a copy. */
static bool fits(struct model *model, struct pages pages, int64_t distance)
{
    static struct model_views saved[FIXTURE_PAGES];
    memcpy(saved, model->views, sizeof saved);
    bool good = true;
    FOR_PAGES(page, pages)
    good = good && page_join(model, page, (uint32_t)(page + distance));
    memcpy(model->views, saved, sizeof saved);
    return good;
}

enum trk_status model_join(struct model *model, const struct model_step *step)
{
    uint32_t unit = model->policy.page_size_bytes;
    enum trk_status status = model_check(model, step->first, step->size, unit);
    if (status == TRK_OK)
        status = model_check(model, step->other, step->size, unit);
    if (status != TRK_OK)
        return model_fail(model, status);
    struct pages pages = pages_rounded(step->first, step->size, MODEL_PAGE);
    int64_t distance = ((int64_t)step->other - (int64_t)step->first) / MODEL_PAGE;
    model_make_live(model, pages);
    model_make_live(model, pages_rounded(step->other, step->size, MODEL_PAGE));
    if (!fits(model, pages, distance))
        return TRK_E_ARGUMENT;
    status = regroup_all(model, pages, distance);
    return status == TRK_OK ? status : model_fail(model, status);
}

enum trk_status model_leave(struct model *model, const struct model_step *step)
{
    enum trk_status status =
        model_check(model, step->first, step->size, model->policy.page_size_bytes);
    if (status == TRK_OK)
        status = regroup_all(model, pages_rounded(step->first, step->size, MODEL_PAGE), 0);
    return status == TRK_OK ? status : model_fail(model, status);
}
