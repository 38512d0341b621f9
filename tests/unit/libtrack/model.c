/*
 * The plain second tracker: its operations.
 *
 * Rules: [M-7] to [M-24].
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

void model_bad_range(unsigned bad, uint64_t *guest_addr, uint64_t *size_bytes)
{
    static const struct {
        uint64_t guest_addr, size_bytes;
    } ranges[MODEL_BAD_RANGES] = {
        {FIXTURE_BASE, 0},
        {0, 1},
        {1, 1},
        {4095, 2},
        {TRK_LOW_END - 4096, 4097},
        {TRK_LOW_END, 1},
        {FIXTURE_BASE, UINT64_MAX},
        {UINT64_MAX - 10, 20},
        {TRK_ARENA_FIRST - 1, 2},
        {TRK_ARENA_END - 1, 2},
        {TRK_ARENA_END, 1},
    };
    *guest_addr = ranges[bad - 1].guest_addr;
    *size_bytes = ranges[bad - 1].size_bytes;
}

void model_init(struct model *model, const struct trk_policy *policy)
{
    uint8_t *registered = model->registered;
    struct model_hooks hooks = model->hooks;
    memset(model, 0, sizeof *model);
    model->registered = registered;
    model->hooks = hooks;
    model->policy = *policy;
    for (uint32_t page = 0; page < FIXTURE_PAGES; page++) {
        model->cpu[page] = true;
        model->guest[page] = TRK_RIGHTS_RW;
        model->host[page] = TRK_RIGHTS_RW;
    }
}

static void callback(struct model *model)
{
    if (model->hooks.callback != NULL)
        model->hooks.callback(model->hooks.context);
}

static void log_runs(struct model *model, const bool *set, struct pages pages)
{
    FOR_PAGES(page, pages)
    {
        if (!set[page] || (page > pages.first && set[page - 1]))
            continue;
        uint32_t end = page;
        while (end < pages.end && set[end])
            end++;
        if (model->silent)
            return;
        model_log_add(&model->log, MODEL_LOG_RANGE);
        model_log_add(&model->log, page);
        model_log_add(&model->log, end - page);
        model_log_add(&model->log, fixture_host_of(model->host, page, end));
        callback(model);
    }
}

static void hold(struct model *model, struct pages pages, bool held)
{
    FOR_REGIONS(region, pages)
    model->held[region] = held && model->live[region];
}

static enum trk_status upload_locked(struct model *model, struct pages pages, bool written)
{
    bool taken[FIXTURE_PAGES]; /* a nested upload of another tracker has its own */
    FOR_REGIONS(region, pages)
    {
        struct pages part = pages_in_region(pages, region);
        model->live[region] = true;
        model->held[region] = true;
        FOR_PAGES(page, part)
        taken[page] = model->cpu[page];
        enum trk_status status =
            model_change(model, part, &(struct wanted){.change = CPU_TO_CLEAN});
        if (status == TRK_OK)
            log_runs(model, taken, part); /* [M-20] */
        model->held[region] = written;
        if (status != TRK_OK)
            return status;
    }
    if (!model->silent) {
        model_log_add(&model->log, MODEL_LOG_DONE);
        callback(model);
    }
    if (!written)
        return TRK_OK;
    return model_change_all(model, pages, &(struct wanted){.change = CLEAN_TO_GPU}, false);
}

static enum trk_status upload(struct model *model, struct pages pages, bool written)
{
    if (written)
        model_make_live(model, pages);
    model->uploading++; /* [M-25] */
    enum trk_status status = upload_locked(model, pages, written);
    model->uploading--;
    hold(model, pages, false);
    return status;
}

static enum trk_status download_all(struct model *model, struct pages pages,
                                    const struct wanted *wanted, bool clear)
{
    bool held[FIXTURE_REGIONS];
    enum trk_status status = TRK_OK;
    hold(model, pages, true);
    memcpy(held, model->held, sizeof held);
    FOR_REGIONS(region, pages)
    {
        if (held[region])
            log_runs(model, model->gpu, pages_in_region(pages, region));
    }
    FOR_REGIONS(region, pages)
    {
        if (clear && held[region] && status == TRK_OK)
            status = model_change(model, pages_in_region(pages, region), wanted);
    }
    hold(model, pages, false);
    return status;
}

/* [M-21] [M-22] */
static enum trk_status download(struct model *model, struct pages pages, enum model_verb verb)
{
    struct wanted wanted = {.change = verb == MODEL_DRAIN ? GPU_TO_CPU : GPU_TO_CLEAN};
    bool clear = verb != MODEL_DOWNLOAD;
    if (model->policy.download == TRK_DOWNLOAD_ALL_REGIONS)
        return download_all(model, pages, &wanted, clear);
    FOR_REGIONS(region, pages)
    {
        struct pages part = pages_in_region(pages, region);
        if (!model->live[region])
            continue;
        model->held[region] = true;
        log_runs(model, model->gpu, part);
        enum trk_status status = clear ? model_change(model, part, &wanted) : TRK_OK;
        model->held[region] = false;
        if (status != TRK_OK)
            return status;
    }
    return TRK_OK;
}

static enum trk_status mark(struct model *model, struct pages pages, enum model_verb verb)
{
    bool to_gpu = verb == MODEL_MARK_GPU;
    if (verb != MODEL_UNTRACK)
        model_make_live(model, pages);
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
    model_make_live(model, pages);
    return model_change_all(model, pages, &wanted, false);
}

/* As often as the step says, up to the first refusal. */
static enum trk_status watch_often(struct model *model, struct pages pages,
                                   const struct model_step *step)
{
    enum trk_status status = TRK_OK;
    for (uint32_t i = 0; status == TRK_OK && (i == 0 || i < step->repeats); i++)
        status = watch(model, pages, step->verb);
    return status;
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
    if (status == TRK_OK)
        model_make_live(model, pages);
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

/* [M-24]: a region at a time, with the pages of which a first byte comes or a last one goes. */
static enum trk_status registration(struct model *model, const struct model_step *step)
{
    static bool moved[FIXTURE_PAGES];
    bool add = step->verb == MODEL_REGISTER;
    uint64_t end = step->first + step->size;
    struct pages pages = pages_rounded(step->first, step->size, MODEL_PAGE);
    FOR_REGIONS(region, pages)
    {
        struct pages part = pages_in_region(pages, region);
        uint64_t from = (uint64_t)part.first * MODEL_PAGE, to = (uint64_t)part.end * MODEL_PAGE;
        from = from > step->first ? from : step->first;
        to = to < end ? to : end;
        if (!add && !model->live[region])
            continue;
        model->live[region] = true;
        FOR_PAGES(page, part)
        {
            uint64_t base = (uint64_t)page * MODEL_PAGE;
            uint64_t low = base < from ? from - base : 0;
            uint64_t high = base + MODEL_PAGE > to ? base + MODEL_PAGE - to : 0;
            bool rest = memchr(&model->registered[base], 1, low) != NULL ||
                        memchr(&model->registered[base + MODEL_PAGE - high], 1, high) != NULL;
            moved[page] = model->seen[page] != (add || rest);
        }
        enum trk_status status =
            model_change(model, part, &(struct wanted){.change = add ? SEE : UNSEE, .only = moved});
        if (status != TRK_OK)
            return status;
        memset(&model->registered[from], add, to - from);
        FOR_PAGES(page, part)
        model->whole[page] = model_registered(model, (uint64_t)page * MODEL_PAGE, MODEL_PAGE);
    }
    return TRK_OK;
}

static enum trk_status lock(struct model *model, const struct model_step *step)
{
    uint32_t region = (uint32_t)(step->first / TRK_REGION_BYTES);
    if (step->verb == MODEL_UNLOCK && !model->held[region])
        return TRK_E_LOCK;
    model->live[region] = true;
    model->held[region] = step->verb == MODEL_LOCK;
    return TRK_OK;
}

static enum trk_status query(struct model *model, struct pages pages, enum model_verb verb)
{
    bool value = verb == MODEL_IS_CPU ? is_cpu(model, pages) : pages_any(model->gpu, pages);
    model_log_add(&model->log, MODEL_LOG_RESULT);
    model_log_add(&model->log, value);
    return TRK_OK;
}

static enum trk_status run_checked(struct model *model, const struct model_step *step)
{
    struct pages pages = pages_rounded(step->first, step->size, model->policy.page_size_bytes);
    switch (step->verb) {
    case MODEL_IS_CPU:
    case MODEL_IS_GPU:
        return query(model, pages, step->verb);
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
        return model_invalidate(model, pages);
    case MODEL_REGISTER:
    case MODEL_UNREGISTER:
        return registration(model, step);
    case MODEL_GUEST:
        /* [M-45] */
        return model_guest(model, pages_rounded(step->first, step->size, MODEL_PAGE),
                           step->rights | (step->rights & TRK_RIGHT_WRITE ? TRK_RIGHT_READ : 0u));
    case MODEL_WATCH:
    case MODEL_UNWATCH:
        return watch_often(model, pages, step);
    case MODEL_WATCH_MASK:
    case MODEL_UNWATCH_MASK:
        return watch_mask(model, step);
    case MODEL_LOCK:
    case MODEL_UNLOCK:
        return lock(model, step);
    default:
        abort();
    }
}

/* The page manager's lock comes after the regions'; an unlock is meant to hold its region. */
static bool needs_region_locks(enum model_verb verb)
{
    return verb != MODEL_UNLOCK && verb != MODEL_WATCH && verb != MODEL_UNWATCH &&
           verb != MODEL_WATCH_MASK && verb != MODEL_UNWATCH_MASK && verb != MODEL_GUEST;
}

/* [M-13] */
static enum trk_status run(struct model *model, const struct model_step *step)
{
    uint64_t size = step->bad != 0 ? 0 : step->size;
    bool one = step->verb == MODEL_LOCK || step->verb == MODEL_UNLOCK ||
               step->verb == MODEL_WATCH_MASK || step->verb == MODEL_UNWATCH_MASK;
    switch (step->verb) {
    case MODEL_JOIN:
        return model_join(model, step);
    case MODEL_LEAVE:
        return model_leave(model, step);
    case MODEL_TRACK:
    case MODEL_QUERY:
    case MODEL_NOTIFY:
    case MODEL_MAP:
        return model_generations_step(model, step);
    case MODEL_FAULT:
        model_fault(model, step);
        return TRK_OK;
    default:
        break;
    }
    enum trk_status status =
        model_check(model, step->first, one ? 1 : size, model->policy.page_size_bytes);
    if (status == TRK_E_LOCK && !needs_region_locks(step->verb))
        status = TRK_OK;
    if (status != TRK_OK)
        return model_fail(model, status);
    if (step->verb == MODEL_HLE_WRITE)
        return model_hle_write(model, step);
    status = run_checked(model, step);
    return status == TRK_OK ? status : model_fail(model, status);
}

void model_step(struct model *model, const struct model_step *step)
{
    bool silent = model->silent;
    model->silent = step->silent;
    enum trk_status status = run(model, step);
    model->silent = silent;
    model_log_add(&model->log, MODEL_LOG_STATUS);
    model_log_add(&model->log, status);
    model_log_add(&model->log, model->failures);
    model_log_add(&model->log, model->last_failure);
}

struct trk_page_view model_view(const struct model *model, uint32_t page)
{
    return (struct trk_page_view){
        .cpu_dirty = model->cpu[page],
        .gpu_dirty = model->gpu[page],
        .writable = model->cpu[page],
        .readable = !model->gpu[page],
        .registered = model->whole[page],
        .armed = model->armed[page],
        .write_watches = (uint8_t)(model->foreign_writes[page] + !model->cpu[page]),
        .read_watch = model->foreign_read[page] || model->gpu[page],
        .guest_rights = model->guest[page],
        .host_rights = model->host[page],
    };
}
