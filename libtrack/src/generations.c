/*
 * Generations: the operations.
 *
 * Each is one hold of the generations' lock between its events, on the range rounded out to guest
 * pages. Unlike the tracker's own operations these take any range: a range that is empty or leaves
 * the bands has the sum 0, and cannot be tracked, which is no failure of the model.
 *
 * Rules: [M-64] to [M-68], [M-71].
 */
#include <stddef.h>

#include "generations.h"
#include "mutation.h"
#include "views.h"

/* Whether there is anything to look at. */
static bool in_reach(struct operation *operation)
{
    const struct trk_tracker *tracker = operation->tracker;
    if (tracker->generations == NULL ||
        !trk_range_valid(tracker->policy.arena, operation->guest_addr, operation->size_bytes))
        return false;
    operation->range =
        range_pages(operation->guest_addr, operation->size_bytes, TRK_GUEST_PAGE_BYTES);
    return true;
}

static enum trk_status end(const struct operation *operation, enum trk_status status,
                           uint64_t result)
{
    if (TRK_UNLIKELY(status == TRK_E_PROTECT))
        trk_op_fail(operation, status, trk_op_refusal_text(status));
    return trk_op_end(operation, status, result);
}

/* Every byte, not every guest page: what surrounds the range is of no interest. */
static bool all_readable(const struct operation *operation)
{
    struct range bytes =
        range_pages(operation->guest_addr, operation->size_bytes, TRK_HOST_PAGE_BYTES);
    for (uint32_t index = bytes.first_region; index < bytes.end_region; index++) {
        struct window window = range_window(&bytes, index);
        if (!trk_generations_readable(operation->tracker, &window))
            return false;
    }
    return true;
}

static enum trk_status track_held(const struct operation *operation, uint64_t *sum)
{
    if (!all_readable(operation))
        return TRK_E_ARGUMENT;
    if (!trk_generations_make_tables(operation))
        return TRK_E_MEMORY;
    const struct range *range = &operation->range;
    for (uint32_t index = range->first_region; index < range->end_region; index++) {
        struct window window = range_window(range, index);
        trk_region_make_live(operation->tracker, index); /* the fault handler looks at live ones */
        enum trk_status status = trk_generations_arm(operation, &window);
        if (status != TRK_OK)
            return status;
    }
    *sum = trk_generations_sum(operation);
    return TRK_OK;
}

enum trk_status trk_generations_track(struct trk_tracker *tracker, uint64_t guest_addr,
                                      uint64_t size_bytes, uint64_t *out)
{
    struct operation operation = {.tracker = tracker,
                                  .op = TRK_OP_GEN_TRACK,
                                  .guest_addr = guest_addr,
                                  .size_bytes = size_bytes};
    uint64_t sum = 0;
    *out = 0;
    enum trk_status status = trk_op_begin_any_range(&operation);
    if (status != TRK_OK || tracker->generations == NULL || size_bytes == 0)
        return end(&operation, status, 0);
    if (!in_reach(&operation))
        return end(&operation, TRK_E_ARGUMENT, 0);
    trk_generations_lock(&operation);
    status = track_held(&operation, &sum);
    trk_generations_unlock(&operation);
    *out = sum;
    return end(&operation, status, sum);
}

enum trk_status trk_generations_query(struct trk_tracker *tracker, uint64_t guest_addr,
                                      uint64_t size_bytes, uint64_t *out)
{
    struct operation operation = {.tracker = tracker,
                                  .op = TRK_OP_GEN_QUERY,
                                  .guest_addr = guest_addr,
                                  .size_bytes = size_bytes};
    *out = 0;
    enum trk_status status = trk_op_begin_any_range(&operation);
    if (status != TRK_OK || !in_reach(&operation))
        return end(&operation, status, 0);
    trk_generations_lock(&operation);
    uint64_t sum = trk_generations_sum(&operation);
    trk_generations_unlock(&operation);
    *out = sum;
    return end(&operation, TRK_OK, sum);
}

enum trk_status trk_generations_notify_range(const struct operation *operation)
{
    struct operation guest_pages = *operation;
    if (!in_reach(&guest_pages))
        return TRK_OK;
    const struct range *range = &guest_pages.range;
    enum trk_status status = TRK_OK;
    trk_generations_lock(operation);
    for (uint32_t index = range->first_region; status == TRK_OK && index < range->end_region;
         index++) {
        struct window window = range_window(range, index);
        status = trk_generations_advance(operation, &window);
    }
    trk_generations_unlock(operation);
    return status;
}

enum trk_status trk_generations_notify(struct trk_tracker *tracker, uint64_t guest_addr,
                                       uint64_t size_bytes)
{
    struct operation operation = {.tracker = tracker,
                                  .op = TRK_OP_GEN_NOTIFY,
                                  .guest_addr = guest_addr,
                                  .size_bytes = size_bytes};
    enum trk_status status = trk_op_begin_any_range(&operation);
    if (status == TRK_OK)
        status = trk_generations_notify_range(&operation);
    return end(&operation, status, 0);
}

enum trk_status trk_generations_store(const struct operation *operation,
                                      const struct page_look *look, bool *served)
{
    enum trk_status status = TRK_OK;
    *served = false;
    trk_generations_lock(operation);
    for (uint32_t i = 0; status == TRK_OK && i < look->view_count; i++) {
        struct range page = range_pages(look->page_addr[i], 1, TRK_HOST_PAGE_BYTES);
        struct window window = range_window(&page, page.first_region);
        /* Since the look another thread may have been faster. */
        if (!trk_generations_armed(operation->tracker, &window) || (MUTANT(122) && i > 0))
            continue;
        status = trk_generations_advance(operation, &window);
        *served |= status == TRK_OK;
    }
    trk_generations_unlock(operation);
    return status;
}

enum trk_status trk_generations_copy(struct trk_tracker *tracker, struct trk_generations_copy *copy)
{
    if (copy->size != sizeof *copy || copy->copy == NULL)
        return TRK_E_ARGUMENT;
    copy->cacheable = false;
    enum trk_status status =
        trk_generations_track(tracker, copy->guest_addr, copy->size_bytes, &copy->generation);
    if (status != TRK_OK)
        return status;
    copy->copy(copy->context, copy->guest_addr, copy->size_bytes);
    uint64_t after = 0;
    status = trk_generations_query(tracker, copy->guest_addr, copy->size_bytes, &after);
    copy->cacheable = status == TRK_OK && after != 0 && after == copy->generation;
    return status;
}
