/*
 * Pages of the plain second tracker: their changes, and the host that follows.
 */
#include "model_pages.h"

#include "track/event.h"

struct pages pages_rounded(uint64_t first, uint64_t size, uint64_t unit)
{
    uint64_t end = (first + size + unit - 1) / unit * unit;
    return (struct pages){(uint32_t)(first / unit * unit / MODEL_PAGE),
                          (uint32_t)(end / MODEL_PAGE)};
}

struct pages pages_in_region(struct pages pages, uint32_t region)
{
    uint32_t first = region * TRK_REGION_PAGES, end = first + TRK_REGION_PAGES;
    return (struct pages){pages.first > first ? pages.first : first,
                          pages.end < end ? pages.end : end};
}

bool pages_any(const bool *set, struct pages pages)
{
    FOR_PAGES(page, pages)
    {
        if (set[page])
            return true;
    }
    return false;
}

unsigned model_effective(const struct model *model, uint32_t page)
{
    if (model->gpu[page] || model->foreign_read[page])
        return TRK_RIGHTS_NONE;
    if (!model->cpu[page] || model->foreign_writes[page] > 0)
        return model->guest[page] & ~TRK_RIGHT_WRITE;
    return model->guest[page];
}

/* One host call; false when it is refused. */
static bool host_call(struct model *model, struct pages pages, unsigned rights)
{
    if (model->fail_in > 0 && --model->fail_in == 0) {
        model->refused = true;
        return false;
    }
    FOR_PAGES(page, pages)
    model->host[page] = (uint8_t)rights;
    if (model->call_count < FIXTURE_CALLS_MAX)
        model->calls[model->call_count++] =
            (struct fixture_call){pages.first, pages.end - pages.first, rights};
    return true;
}

/*
 * Bring the host of some pages of one region in line: tracker-spec 6. Scanning ascending, a run
 * ends where the next page to be changed has another protection, or where a page between has.
 */
static bool host_follow(struct model *model, struct pages pages)
{
    struct pages run = {0, 0};
    unsigned run_rights = 0;
    FOR_PAGES(page, pages)
    {
        unsigned rights = model_effective(model, page);
        if (rights == model->host[page])
            continue;
        bool joins = run.end != 0 && rights == run_rights;
        for (uint32_t between = run.end; joins && between < page; between++)
            joins = model_effective(model, between) == rights;
        if (!joins) {
            if (run.end != 0 && !host_call(model, run, run_rights))
                return false;
            run.first = page;
            run_rights = rights;
        }
        run.end = page + 1;
    }
    return run.end == 0 || host_call(model, run, run_rights);
}

static bool applies(const struct model *model, const struct wanted *wanted, uint32_t page)
{
    if (wanted->only != NULL && !wanted->only[page])
        return false;
    switch (wanted->change) {
    case CLEAN_TO_CPU:
    case CLEAN_TO_GPU:
        return !model->cpu[page] && !model->gpu[page];
    case CPU_TO_CLEAN:
        return model->cpu[page];
    case GPU_TO_CLEAN:
    case GPU_TO_CPU:
        return model->gpu[page];
    default:
        return true;
    }
}

bool model_in_bounds(const struct model *model, enum change change, uint32_t page)
{
    unsigned writes = model->foreign_writes[page] + !model->cpu[page];
    bool read = model->foreign_read[page] || model->gpu[page];
    switch (change) {
    case CPU_TO_CLEAN:
    case WATCH_MORE:
        return writes < 127;
    case WATCH_LESS:
        return model->foreign_writes[page] > 0;
    case CLEAN_TO_GPU:
    case READ_MORE:
        return !read;
    case READ_LESS:
        return model->foreign_read[page];
    default:
        return true;
    }
}

static void apply(struct model *model, const struct wanted *wanted, uint32_t page)
{
    switch (wanted->change) {
    case CLEAN_TO_CPU:
        model->cpu[page] = true;
        break;
    case CPU_TO_CLEAN:
        model->cpu[page] = false;
        break;
    case CLEAN_TO_GPU:
        model->gpu[page] = true;
        break;
    case GPU_TO_CPU:
        model->cpu[page] = true;
        model->gpu[page] = false;
        model->stayed[page] = false;
        break;
    case GPU_TO_CLEAN:
        model->gpu[page] = false;
        model->stayed[page] = false;
        break;
    case WATCH_MORE:
        model->foreign_writes[page]++;
        break;
    case WATCH_LESS:
        model->foreign_writes[page]--;
        break;
    case READ_MORE:
        model->foreign_read[page] = true;
        break;
    case READ_LESS:
        model->foreign_read[page] = false;
        break;
    case RIGHTS:
        model->guest[page] = (uint8_t)wanted->rights;
        break;
    }
}

/* Everything of a page that a refused host call puts back. */
struct saved {
    bool cpu, gpu, stayed, foreign_read;
    uint8_t foreign_writes, guest, host;
};

enum trk_status model_change(struct model *model, struct pages pages, const struct wanted *wanted)
{
    static struct saved saved[FIXTURE_PAGES];
    FOR_PAGES(page, pages)
    {
        if (applies(model, wanted, page) && !model_in_bounds(model, wanted->change, page))
            return TRK_E_WATCH;
        saved[page] = (struct saved){model->cpu[page],
                                     model->gpu[page],
                                     model->stayed[page],
                                     model->foreign_read[page],
                                     model->foreign_writes[page],
                                     model->guest[page],
                                     model->host[page]};
    }
    FOR_PAGES(page, pages)
    {
        if (applies(model, wanted, page))
            apply(model, wanted, page);
    }
    if (host_follow(model, pages))
        return TRK_OK;
    FOR_PAGES(page, pages)
    {
        model->cpu[page] = saved[page].cpu;
        model->gpu[page] = saved[page].gpu;
        model->stayed[page] = saved[page].stayed;
        model->foreign_read[page] = saved[page].foreign_read;
        model->foreign_writes[page] = saved[page].foreign_writes;
        model->guest[page] = saved[page].guest;
        model->host[page] = saved[page].host;
    }
    return TRK_E_PROTECT;
}

enum trk_status model_change_all(struct model *model, struct pages pages,
                                 const struct wanted *wanted, bool live_only)
{
    FOR_REGIONS(region, pages)
    {
        if (live_only && !model->live[region])
            continue;
        enum trk_status status = model_change(model, pages_in_region(pages, region), wanted);
        if (status != TRK_OK)
            return status;
    }
    return TRK_OK;
}
