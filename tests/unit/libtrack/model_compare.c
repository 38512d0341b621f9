/*
 * Comparing the core with its model: reports, host calls, pages.
 */
#include <inttypes.h>
#include <stdio.h>

#include "model_run.h"

/* Whether two numbers at a place mean the same: sums go together in pairs, anything else is equal.
 */
static bool equal_at(struct side *side, size_t at)
{
    uint64_t core = side->log.values[at], model = side->model.log.values[at];
    bool sum = at > 0 && side->log.values[at - 1] == MODEL_LOG_SUM &&
               side->model.log.values[at - 1] == MODEL_LOG_SUM;
    if (!sum || core == 0 || model == 0)
        return core == model;
    for (uint32_t i = 0; i < side->sum_count; i++) {
        if (side->sums[i][0] == model || side->sums[i][1] == core)
            return side->sums[i][0] == model && side->sums[i][1] == core;
    }
    if (side->sum_count < RUN_SUMS_MAX) {
        side->sums[side->sum_count][0] = model;
        side->sums[side->sum_count++][1] = core;
    }
    return true;
}

static bool compare_logs(struct run *run, struct side *side)
{
    const struct model_log *core = &side->log, *model = &side->model.log;
    size_t count = core->count < model->count ? core->count : model->count;
    for (size_t i = 0; i < count || core->count != model->count; i++) {
        if (i < count && equal_at(side, i))
            continue;
        int used = snprintf(run->problem, sizeof run->problem, "report differs at %zu: core", i);
        for (size_t k = i > 4 ? i - 4 : 0; k < core->count && k < i + 4; k++)
            used += snprintf(run->problem + used, sizeof run->problem - (size_t)used, " %" PRIu64,
                             core->values[k]);
        used += snprintf(run->problem + used, sizeof run->problem - (size_t)used, "; model");
        for (size_t k = i > 4 ? i - 4 : 0; k < model->count && k < i + 4; k++)
            used += snprintf(run->problem + used, sizeof run->problem - (size_t)used, " %" PRIu64,
                             model->values[k]);
        return false;
    }
    return true;
}

static bool compare_calls(struct run *run, const struct side *side)
{
    const struct fixture *core = &side->fixture;
    const struct model *model = &side->model;
    if (model->refused != (core->refused != 0)) {
        snprintf(run->problem, sizeof run->problem, "calls refused: core %u, model %d",
                 core->refused, model->refused);
        return false;
    }
    if (model->refused)
        return true; /* the way back is free; where it ends is compared page by page */
    for (uint32_t i = 0; i < core->call_count || i < model->call_count; i++) {
        const struct fixture_call *a = &core->calls[i], *b = &model->calls[i];
        if (core->call_count == model->call_count && a->first == b->first && a->pages == b->pages &&
            a->rights == b->rights)
            continue;
        snprintf(run->problem, sizeof run->problem,
                 "host call %u: core %u+%u:%x of %u, model %u+%u:%x of %u", i, a->first, a->pages,
                 a->rights, core->call_count, b->first, b->pages, b->rights, model->call_count);
        return false;
    }
    return true;
}

static bool compare_page(struct run *run, const struct side *side, uint32_t page)
{
    struct trk_page_view a =
        trk_pages_view(side->fixture.tracker, FIXTURE_BASE + (uint64_t)page * MODEL_PAGE);
    struct trk_page_view b = model_view(&side->model, page);
    uint8_t host = side->fixture.host[page];
    if (a.cpu_dirty == b.cpu_dirty && a.gpu_dirty == b.gpu_dirty && a.writable == b.writable &&
        a.readable == b.readable && a.registered == b.registered && a.armed == b.armed &&
        a.write_watches == b.write_watches && a.read_watch == b.read_watch &&
        a.guest_rights == b.guest_rights && a.host_rights == b.host_rights && host == b.host_rights)
        return true;
    snprintf(run->problem, sizeof run->problem,
             "page %u: core cpu %d gpu %d w %d r %d reg %d armed %d watches %u/%d guest %x host "
             "%x/%x; model %d %d %d %d %d %d %u/%d %x %x",
             page, a.cpu_dirty, a.gpu_dirty, a.writable, a.readable, a.registered, a.armed,
             a.write_watches, a.read_watch, a.guest_rights, a.host_rights, host, b.cpu_dirty,
             b.gpu_dirty, b.writable, b.readable, b.registered, b.armed, b.write_watches,
             b.read_watch, b.guest_rights, b.host_rights);
    return false;
}

bool run_compare(struct run *run, struct side *side, bool all)
{
    const struct fixture *core = &side->fixture;
    if (core->stream.broken[0] != '\0' || core->broken[0] != '\0') {
        snprintf(run->problem, sizeof run->problem, "%s %s", core->stream.broken, core->broken);
        return false;
    }
    if (!compare_logs(run, side) || !compare_calls(run, side))
        return false;
    for (uint32_t page = 0; page < (all ? FIXTURE_PAGES : 2 * WINDOW_PAGES); page++) {
        uint32_t hot = run->windows[page / WINDOW_PAGES % 2] + page % WINDOW_PAGES;
        if (!compare_page(run, side, all ? page : hot))
            return false;
    }
    return true;
}
