/*
 * Generations: what the guest does to its mappings.
 *
 * The views that somebody told are kept in ascending order and never overlap: a new one takes the
 * place of all that it lies over. A change of rights that covers a view changes what the view is;
 * one that covers a part leaves something that no mapping can be the same as, and is forgotten.
 *
 * Rules: [M-69], [M-70].
 */
#include <stddef.h>
#include <string.h>

#include "generations.h"

#define VIEWS_FIRST 64u

static uint64_t view_end(const struct trk_generations_view *view)
{
    return view->guest_addr + view->size_bytes;
}

/* The first view that ends behind an address, by number. */
static uint32_t first_after(const struct generations *generations, uint64_t guest_addr)
{
    uint32_t low = 0, high = generations->view_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (view_end(&generations->views[middle]) <= guest_addr)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool views_grow(struct trk_tracker *tracker)
{
    struct generations *generations = tracker->generations;
    if (generations->view_count < generations->view_capacity)
        return true;
    uint32_t capacity =
        generations->view_capacity == 0 ? VIEWS_FIRST : generations->view_capacity * 2;
    struct trk_generations_view *views =
        trk_arena_take(tracker, (uint64_t)capacity * sizeof *views);
    if (views == NULL)
        return false;
    if (generations->view_count > 0)
        memcpy(views, generations->views, generations->view_count * sizeof *views);
    generations->views = views;
    generations->view_capacity = capacity;
    return true;
}

/* Views [from, to) give way to one other, or (NULL) to none; there is room. */
static void views_replace(struct generations *generations, uint32_t from, uint32_t to,
                          const struct trk_generations_view *other)
{
    uint32_t count = other != NULL;
    if (generations->views == NULL)
        return;
    memmove(&generations->views[from + count], &generations->views[to],
            (generations->view_count - to) * sizeof *generations->views);
    if (other != NULL)
        generations->views[from] = *other;
    generations->view_count = generations->view_count - (to - from) + count;
}

/* The number behind the last view that begins before an address. */
static uint32_t last_before(const struct generations *generations, uint32_t from, uint64_t end_addr)
{
    while (from < generations->view_count && generations->views[from].guest_addr < end_addr)
        from++;
    return from;
}

static void view_put(struct generations *generations, const struct trk_generations_view *view)
{
    uint32_t from = first_after(generations, view->guest_addr);
    uint32_t to = last_before(generations, from, view_end(view));
    views_replace(generations, from, to, view);
}

static bool view_known(const struct generations *generations,
                       const struct trk_generations_view *view)
{
    uint32_t at = first_after(generations, view->guest_addr);
    if (at == generations->view_count)
        return false;
    const struct trk_generations_view *known = &generations->views[at];
    return known->guest_addr == view->guest_addr && known->size_bytes == view->size_bytes &&
           known->physical_offset == view->physical_offset && known->rights == view->rights;
}

/* The guest's rights of [first_addr, end_addr) have changed. */
static void views_changed(struct generations *generations, uint64_t first_addr, uint64_t end_addr,
                          unsigned rights)
{
    uint32_t at = first_after(generations, first_addr);
    while (at < generations->view_count && generations->views[at].guest_addr < end_addr) {
        struct trk_generations_view *view = &generations->views[at];
        bool whole = first_addr <= view->guest_addr && view_end(view) <= end_addr;
        if (whole && rights != TRK_RIGHTS_NONE) {
            view->rights = rights;
            at++;
        } else { /* unmapped, or no longer of one kind */
            views_replace(generations, at, at + 1, NULL);
        }
    }
}

/* Like trk_op_begin, with the operand before it. */
static enum trk_status begin(struct operation *operation, const struct trk_generations_view *view)
{
    if (observed(operation->tracker))
        emit(operation->tracker,
             &(struct trk_event){.type = TRK_EVENT_OPERAND, .argument = view->physical_offset});
    return trk_op_begin(operation, 0, view->rights);
}

/*
 * Set the guest's rights, page by page whatever the tracker's page is, and forget generations. The
 * arming goes after the rights have changed, so that the host is told once.
 */
static enum trk_status rights_change(const struct operation *operation, unsigned rights)
{
    struct trk_tracker *tracker = operation->tracker;
    struct range range =
        range_pages(operation->guest_addr, operation->size_bytes, TRK_HOST_PAGE_BYTES);
    enum trk_status status = TRK_OK;
    for (uint32_t index = range.first_region; status == TRK_OK && index < range.end_region;
         index++) {
        trk_region_make_live(tracker, index);
        struct window window = range_window(&range, index);
        status = trk_pages_set_rights(operation, &window, rights);
        if (status == TRK_OK && tracker->generations != NULL)
            status = trk_generations_drop(operation, &window);
    }
    return status;
}

enum trk_status trk_generations_protect(const struct operation *operation, unsigned rights)
{
    struct generations *generations = operation->tracker->generations;
    if (generations == NULL)
        return rights_change(operation, rights);
    struct range range =
        range_pages(operation->guest_addr, operation->size_bytes, TRK_HOST_PAGE_BYTES);
    trk_generations_lock(operation);
    views_changed(generations, range.first_addr, range.end_addr, rights);
    enum trk_status status = rights_change(operation, rights);
    trk_generations_unlock(operation);
    return status;
}

static enum trk_status map_held(const struct operation *operation,
                                const struct trk_generations_view *view, bool *kept)
{
    struct generations *generations = operation->tracker->generations;
    *kept = view_known(generations, view);
    if (*kept)
        return TRK_OK;
    if (!views_grow(operation->tracker))
        return TRK_E_MEMORY;
    /* Whatever becomes of the host's calls, what was there is not there any more. */
    views_changed(generations, view->guest_addr, view_end(view), TRK_RIGHTS_NONE);
    enum trk_status status = rights_change(operation, view->rights);
    if (status == TRK_OK && view->rights != TRK_RIGHTS_NONE)
        view_put(generations, view);
    return status;
}

enum trk_status trk_generations_map(struct trk_tracker *tracker,
                                    const struct trk_generations_view *view, bool *kept)
{
    struct operation operation = {.tracker = tracker,
                                  .op = TRK_OP_GEN_MAP,
                                  .guest_addr = view->guest_addr,
                                  .size_bytes = view->size_bytes};
    if (view->rights > (TRK_RIGHTS_RW | TRK_RIGHT_EXEC) ||
        (view->guest_addr | view->size_bytes) % TRK_HOST_PAGE_BYTES != 0)
        return TRK_E_ARGUMENT;
    bool same = false;
    enum trk_status status = begin(&operation, view);
    if (status != TRK_OK)
        return trk_op_end(&operation, status, 0);
    if (tracker->generations == NULL) {
        status = rights_change(&operation, view->rights);
    } else {
        trk_generations_lock(&operation);
        status = map_held(&operation, view, &same);
        trk_generations_unlock(&operation);
    }
    if (status == TRK_E_PROTECT)
        trk_op_fail(&operation, status, trk_op_refusal_text(status));
    if (status == TRK_OK && kept != NULL)
        *kept = same;
    return trk_op_end(&operation, status, same);
}
