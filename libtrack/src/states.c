/*
 * Moving pages between CPU, CLEAN and GPU: page sets, watches and host protection together.
 *
 * All run in a hold of the region. The sets change before the protection does; when the host
 * refuses, the sets go back.
 *
 * Rules: [M-8] [M-9].
 */
#include <stddef.h>

#include "mappings.h"
#include "mutation.h"
#include "quick_change.h"

static uint32_t count_pages(const uint64_t *mask, const struct window *window)
{
    uint32_t count = 0;
    FOR_WINDOW_WORDS(word, window)
    count += (uint32_t)__builtin_popcountll(mask[word]);
    return count;
}

static void set_bits(uint64_t *set, const uint64_t *mask, const struct window *window, bool value)
{
    FOR_WINDOW_WORDS(word, window)
    {
        uint64_t now = env_load(&set[word]);
        env_store(&set[word], value ? now | mask[word] : now & ~mask[word]);
    }
}

/* mask = the window's pages that are in the set (or, inverted, are not). Whether there are any. */
static bool pick(uint64_t *mask, const uint64_t *set, const struct window *window, bool inverted)
{
    uint64_t any = 0;
    FOR_WINDOW_WORDS(word, window)
    {
        uint64_t bits = env_load(&set[word]);
        mask[word] = (inverted ? ~bits : bits) & window_mask(window, word);
        any |= mask[word];
    }
    return any != 0;
}

/* A change by the short way, in a hold of the region. Not counted: only an observer asks how many.
 */
static enum quick_end change_quick(const struct operation *operation, const struct window *window,
                                   uint64_t *mask, enum quick_change change)
{
    struct trk_mappings *mappings = operation->tracker->backend->mappings;
    if (observed(operation->tracker) || (mappings != NULL && !trk_mappings_roomy(mappings)))
        return QUICK_LONG_WAY;
    struct quick quick;
    quick_part(&quick, operation, window);
    if (change == QUICK_TO_GPU && quick.region->flights != NULL)
        return QUICK_LONG_WAY;
    enum quick_end end = QUICK_LONG_WAY;
    quick_lock_pages(&quick);
    if (quick.region->extra == NULL) {
        int64_t places = mappings == NULL ? 0 : trk_mappings_places(mappings, quick.region, window);
        end = trk_quick_change_long(&quick, change, mask);
        if (mappings != NULL)
            trk_mappings_count(mappings,
                               trk_mappings_places(mappings, quick.region, window) - places);
    }
    env_unlock(&quick.region->pages_lock);
    return end;
}

static enum trk_status quick_status(enum quick_end end)
{
    return quick_ended(end) ? TRK_OK : TRK_E_PROTECT;
}

static enum trk_status to_cpu(const struct operation *operation, const struct window *window,
                              enum watch_change change)
{
    struct region *region = region_slot(operation->tracker, window->index);
    uint64_t mask[TRK_REGION_WORDS];
    enum quick_end end = change_quick(operation, window, mask, QUICK_TO_CPU);
    if (end != QUICK_LONG_WAY)
        return quick_status(end);
    if (!pick(mask, region->not_cpu, window, false))
        return TRK_OK;
    if (!MUTANT(6))
        set_bits(region->not_cpu, mask, window, false);
    enum trk_status status = MUTANT(5) ? TRK_OK : trk_pages_change(operation, window, mask, change);
    if (MUTANT(6))
        set_bits(region->not_cpu, mask, window, false);
    if (TRK_UNLIKELY(status != TRK_OK)) {
        set_bits(region->not_cpu, mask, window, true);
        return status;
    }
    region->hold_changed += count_pages(mask, window);
    return TRK_OK;
}

/*
 * After an opening: whether the host has refused it and it is to be tried again, with some of the
 * reserve of mappings let go. At the end the reserve is filled up, unless it has just been of help.
 * With guard pages no mappings are short, but a log does not tell whether there were any: so all
 * kinds of userfaultfd try as often.
 */
static bool again(const struct operation *operation, enum trk_status status, int step)
{
    const struct trk_backend *backend = operation->tracker->backend;
    struct trk_mappings *mappings = backend->mappings;
    if (TRK_UNLIKELY(status == TRK_E_PROTECT) && step < TRK_RELIEF_STEPS) {
        if (mappings != NULL)
            trk_mappings_relieve(mappings, step);
        return mappings != NULL || backend->kind == TRK_BACKEND_USERFAULTFD;
    }
    if (mappings != NULL &&
        TRK_UNLIKELY(__atomic_load_n(&mappings->reserve_out, __ATOMIC_RELAXED) != 0) &&
        (status != TRK_OK || step == 0))
        trk_mappings_refill(mappings);
    return false;
}

enum trk_status trk_states_to_cpu(const struct operation *operation, const struct window *window)
{
    enum trk_status status = to_cpu(operation, window, WATCH_DIRTY);
    if (TRK_LIKELY(status != TRK_E_PROTECT) ||
        !trk_mappings_limit_stores(operation->tracker->backend))
        return status;
    /*
     * A host out of mappings opens no page inside a larger closed run, but it opens the whole run.
     * Its pages become CPU: dirty for nothing, and no store is lost. [M-50]
     */
    const struct region *region = region_slot(operation->tracker, window->index);
    struct window run = trk_mappings_clean_run(region, window);
    status = to_cpu(operation, &run, WATCH_WRITE_DROP);
    /* The host's mapping may be longer than a region's run. */
    for (int step = 0; again(operation, status, step); step++)
        status = to_cpu(operation, &run, WATCH_WRITE_DROP);
    return status;
}

enum trk_status trk_states_cpu_to_clean(const struct operation *operation,
                                        const struct window *window, uint64_t *were_cpu)
{
    struct region *region = region_slot(operation->tracker, window->index);
    enum quick_end end = change_quick(operation, window, were_cpu, QUICK_TO_CLEAN);
    if (end != QUICK_LONG_WAY)
        return quick_status(end);
    if (!pick(were_cpu, region->not_cpu, window, true) || MUTANT(1))
        return TRK_OK;
    set_bits(region->not_cpu, were_cpu, window, true);
    enum trk_status status =
        MUTANT(4) ? TRK_OK : trk_pages_change(operation, window, were_cpu, WATCH_WRITE_ADD);
    if (MUTANT(27))
        status = trk_pages_change(operation, window, were_cpu, WATCH_WRITE_ADD);
    if (TRK_UNLIKELY(status != TRK_OK)) {
        set_bits(region->not_cpu, were_cpu, window, false);
        return status;
    }
    region->hold_changed += count_pages(were_cpu, window);
    return TRK_OK;
}

enum trk_status trk_states_to_gpu(const struct operation *operation, const struct window *window)
{
    struct region *region = region_slot(operation->tracker, window->index);
    uint64_t mask[TRK_REGION_WORDS];
    enum quick_end end = change_quick(operation, window, mask, QUICK_TO_GPU);
    if (end != QUICK_LONG_WAY)
        return quick_status(end);
    if (!pick(mask, region->gpu, window, true))
        return TRK_OK;
    set_bits(region->gpu, mask, window, true);
    if (MUTANT(26))
        set_bits(region->not_cpu, mask, window, false);
    enum trk_status status =
        MUTANT(7) ? TRK_OK : trk_pages_change(operation, window, mask, WATCH_READ_ADD);
    if (TRK_UNLIKELY(status != TRK_OK)) {
        set_bits(region->gpu, mask, window, MUTANT(124));
        return status;
    }
    for (struct flight *flight = region->flights; flight != NULL && !MUTANT(106);
         flight = flight->next)
        set_bits(flight->taken, mask, window, true);
    region->hold_changed += count_pages(mask, window);
    return TRK_OK;
}

static enum trk_status leave_gpu(const struct operation *operation, const struct window *window,
                                 bool to_cpu)
{
    struct region *region = region_slot(operation->tracker, window->index);
    uint64_t mask[TRK_REGION_WORDS];
    enum quick_end end =
        change_quick(operation, window, mask, to_cpu ? QUICK_DRAIN : QUICK_LEAVE_GPU);
    if (end != QUICK_LONG_WAY)
        return quick_status(end);
    if (!pick(mask, region->gpu, window, false))
        return TRK_OK;
    if (MUTANT(14))
        mask[window->first / 64] &= mask[window->first / 64] - 1;
    set_bits(region->gpu, mask, window, false);
    if (to_cpu) {
        set_bits(region->not_cpu, mask, window, false);
    }
    enum trk_status status =
        MUTANT(8)
            ? TRK_OK
            : trk_pages_change(operation, window, mask, to_cpu ? WATCH_BOTH_DROP : WATCH_READ_DROP);
    if (TRK_UNLIKELY(status != TRK_OK)) {
        if (MUTANT(123))
            return status;
        set_bits(region->gpu, mask, window, true);
        if (to_cpu) {
            set_bits(region->not_cpu, mask, window, true);
        }
        return status;
    }
    region->hold_changed += count_pages(mask, window);
    return TRK_OK;
}

enum trk_status trk_states_leave_gpu(const struct operation *operation, const struct window *window,
                                     bool to_cpu)
{
    enum trk_status status = leave_gpu(operation, window, to_cpu);
    /* Neighbours cannot open along, as for CLEAN pages: their bytes are still the GPU's. */
    for (int step = 0; again(operation, status, step); step++)
        status = leave_gpu(operation, window, to_cpu);
    return status;
}
