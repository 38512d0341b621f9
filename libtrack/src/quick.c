/*
 * The short way over many words, and what it does when the host refuses a call.
 */
#include "quick.h"

#include "pages_hold.h"

void trk_quick_undo(const struct quick *quick, const uint64_t *picked, enum quick_change change,
                    uint32_t refused)
{
    struct region *region = quick->region;
    struct operation operation = {.tracker = quick->tracker, .self = quick->self};
    struct hold hold = {.operation = &operation,
                        .region = region,
                        .index = quick->window.index,
                        .number = quick->window.index};
    struct rights_before made;
    remember(&made, region, &quick->window);
    FOR_WINDOW_WORDS(word, &quick->window)
    quick_move(region, word, picked[word], change, true);
    trk_pages_protect_back(&hold, &quick->window, &made, refused);
}

enum quick_end trk_quick_change_long(const struct quick *quick, enum quick_change change,
                                     uint64_t *picked)
{
    struct quick_words words = {quick->window.first / 64, (quick->window.end - 1) / 64};
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
