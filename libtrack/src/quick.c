/*
 * The short way over many words, and what it does when the host refuses a call.
 */
#include "quick_change.h"

#include "mutation.h"
#include "pages_hold.h"

void trk_quick_prepare(struct trk_tracker *tracker)
{
    tracker->quick_page_mask = tracker->policy.page_size_bytes / (uint32_t)TRK_HOST_PAGE_BYTES - 1;
    if (observed(tracker))
        return;
    tracker->quick_low_bytes = TRK_LOW_END - TRK_LOW_FIRST;
    if (tracker->policy.arena == TRK_ARENA_LOW_EXTENDED)
        tracker->quick_arena_bytes = TRK_ARENA_END - TRK_ARENA_FIRST;
}

void trk_quick_undo(const struct quick *quick, const uint64_t *picked, enum quick_change change,
                    uint32_t refused)
{
    struct region *region = quick->region;
    struct operation operation = {.tracker = quick->tracker, .self = quick->self};
    struct hold hold = {
        .operation = &operation, .region = region, .index = quick->index, .number = quick->index};
    struct window window = quick_window(quick);
    struct rights_before made;
    remember(&made, region, &window);
    FOR_WINDOW_WORDS(word, &window)
    quick_move(region, word, MUTANT(108) ? 0 : picked[quick_at(quick, word)], change, true);
    trk_pages_protect_back(&hold, &window, &made, refused);
}

enum quick_end trk_quick_change_long(const struct quick *quick, enum quick_change change,
                                     uint64_t *picked)
{
    struct quick_words words = {quick_first(quick) / 64, quick_last(quick) / 64};
    /* A call each, so that each is made for its own change. */
    switch (change) {
    case QUICK_TO_CLEAN:
        return quick_change_words(quick, QUICK_TO_CLEAN, picked, words);
    case QUICK_TO_CPU:
        return quick_change_words(quick, QUICK_TO_CPU, picked, words);
    case QUICK_TO_GPU:
        return quick_change_words(quick, QUICK_TO_GPU, picked, words);
    case QUICK_LEAVE_GPU:
        return quick_change_words(quick, QUICK_LEAVE_GPU, picked, words);
    default:
        return quick_change_words(quick, QUICK_DRAIN, picked, words);
    }
}

enum trk_status trk_quick_fail(const struct quick *quick, const struct quick_failure *failure)
{
    struct operation operation = {.tracker = quick->tracker,
                                  .self = quick->self,
                                  .op = failure->op,
                                  .guest_addr = failure->guest_addr,
                                  .size_bytes = failure->size_bytes};
    enum trk_status status = failure->end == QUICK_WATCH ? TRK_E_WATCH : TRK_E_PROTECT;
    return trk_op_fail(&operation, status, trk_op_refusal_text(status));
}
