/*
 * Pages of the plain second tracker: their changes, and the host that follows.
 *
 * Rules: [M-8] [M-9] [M-37] to [M-44].
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

void model_make_live(struct model *model, struct pages pages)
{
    FOR_REGIONS(region, pages)
    model->live[region] = true;
}

unsigned model_effective(const struct model *model, uint32_t page)
{
    if (model->gpu[page] || model->foreign_read[page] || model->others_read[page])
        return TRK_RIGHTS_NONE;
    if (!model->cpu[page] || model->foreign_writes[page] > 0 || model->armed[page] ||
        model->others_watch[page])
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

/* [M-42]: a run ends where the next page to be changed has another protection, or one between. */
bool model_host_follow(struct model *model, struct pages pages)
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
    case RIGHTS:
        return model->guest[page] != wanted->rights;
    case ARM:
        return !model->armed[page] && (model->guest[page] & TRK_RIGHT_WRITE);
    case DISARM:
        return model->armed[page];
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

/* Everything of a page that a refused host call puts back. */
struct saved {
    bool cpu, gpu, stayed, foreign_read, armed, seen;
    uint8_t foreign_writes, guest, host;
};

static struct saved save(const struct model *model, uint32_t page)
{
    return (struct saved){
        .cpu = model->cpu[page],
        .gpu = model->gpu[page],
        .stayed = model->stayed[page],
        .foreign_read = model->foreign_read[page],
        .armed = model->armed[page],
        .seen = model->seen[page],
        .foreign_writes = model->foreign_writes[page],
        .guest = model->guest[page],
        .host = model->host[page],
    };
}

static void restore(struct model *model, const struct saved *saved, uint32_t page)
{
    model->cpu[page] = saved->cpu;
    model->gpu[page] = saved->gpu;
    model->stayed[page] = saved->stayed;
    model->foreign_read[page] = saved->foreign_read;
    model->armed[page] = saved->armed;
    model->seen[page] = saved->seen;
    model->foreign_writes[page] = saved->foreign_writes;
    model->guest[page] = saved->guest;
    model->host[page] = saved->host;
}

static void apply_state(struct saved *now, enum change change)
{
    switch (change) {
    case CLEAN_TO_CPU:
        now->cpu = true;
        break;
    case CPU_TO_CLEAN:
        now->cpu = false;
        break;
    case CLEAN_TO_GPU:
        now->gpu = true;
        break;
    case GPU_TO_CPU:
    case GPU_TO_CLEAN:
        now->cpu = change == GPU_TO_CPU;
        now->gpu = false;
        now->stayed = false;
        break;
    default:
        break;
    }
}

static void apply(struct saved *now, const struct wanted *wanted)
{
    switch (wanted->change) {
    case WATCH_MORE:
        now->foreign_writes++;
        break;
    case WATCH_LESS:
        now->foreign_writes--;
        break;
    case READ_MORE:
    case READ_LESS:
        now->foreign_read = wanted->change == READ_MORE;
        break;
    case RIGHTS:
        now->guest = (uint8_t)wanted->rights;
        break;
    case ARM:
    case DISARM:
        now->armed = wanted->change == ARM;
        break;
    case SEE:
    case UNSEE:
        now->seen = wanted->change == SEE;
        break;
    default:
        apply_state(now, wanted->change);
    }
}

/* What follows for the host; false: all of it has been taken back. */
static bool follow(struct model *model, struct pages pages, const bool *marked)
{
    static struct others others;
    model_others(model, pages, marked, &others);
    FOR_PAGES(page, pages)
    {
        if (marked[page])
            model_views_update(model, page);
    }
    return model_host_follow(model, pages) && model_others_follow(model, &others);
}

enum trk_status model_change(struct model *model, struct pages pages, const struct wanted *wanted)
{
    static struct saved saved[FIXTURE_PAGES];
    static bool marked[FIXTURE_PAGES];
    static struct others others;
    bool any = false;
    FOR_PAGES(page, pages)
    {
        marked[page] = applies(model, wanted, page);
        if (marked[page] && !model_in_bounds(model, wanted->change, page))
            return TRK_E_WATCH;
        any |= marked[page];
    }
    if (!any)
        return TRK_OK;
    model->changes[pages.first / TRK_REGION_PAGES]++;
    FOR_PAGES(page, pages)
    {
        struct saved now = saved[page] = save(model, page);
        if (marked[page])
            apply(&now, wanted);
        restore(model, &now, page);
    }
    if (follow(model, pages, marked))
        return TRK_OK;
    FOR_PAGES(page, pages)
    restore(model, &saved[page], page);
    model_others(model, pages, marked, &others);
    model_views_back(model, pages, &others);
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
