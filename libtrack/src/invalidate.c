/*
 * Invalidate: a range goes back to the CPU, after a flush of what the GPU has in it.
 *
 * `verify` and `strict` decide over the whole range under all its locks, flush with none held, and
 * look again. A page that was GPU at the first look and still is has been *retained*; one that the
 * GPU side took anew while the flush ran has not, and the decision starts again. To tell the two
 * apart each region of an invalidate in flight carries a `flight`, in which a page that becomes GPU
 * is noted. `per-region` lets each region decide alone and verifies nothing.
 *
 * Rules: [M-28] to [M-33], [M-36].
 */
#include <stddef.h>

#include "mutation.h"
#include "quick_change.h"

static void call_flush(const struct operation *operation, trk_flush_fn *flush, void *context)
{
    const struct trk_tracker *tracker = operation->tracker;
    if (observed(tracker))
        emit(tracker, &(struct trk_event){
                          .type = TRK_EVENT_CALLBACK,
                          .context = TRK_CALLBACK_FLUSH,
                      });
    if (flush != NULL)
        env_call_flush(flush, context, operation->range.first_addr,
                       operation->range.end_addr - operation->range.first_addr);
}

/* From now on, pages of the held regions that become GPU are noted for this operation. */
static void flights_begin(const struct operation *operation)
{
    FOR_HELD_REGIONS(region, operation)
    {
        struct flight *flight = trk_flight_take(operation->tracker);
        if (flight == NULL)
            continue; /* then every GPU page counts as taken anew, and the rounds are bounded */
        flight->owner = operation;
        flight->next = region->flights;
        region->flights = flight;
    }
}

/* Take this operation's flight out of a region; whether a page of the window stayed GPU. */
static bool flight_end(const struct operation *operation, struct region *region)
{
    struct flight **link = &region->flights;
    while (*link != NULL && (*link)->owner != operation)
        link = &(*link)->next;
    struct flight *flight = *link;
    if (flight == NULL)
        return false;
    *link = flight->next;
    struct window window =
        range_window(&operation->range, region_index(operation->tracker, region));
    uint64_t stayed = 0;
    FOR_WINDOW_WORDS(word, &window)
    stayed |= env_load(&region->gpu[word]) & ~flight->taken[word] & window_mask(&window, word);
    trk_flight_give(operation->tracker, flight);
    return stayed != 0;
}

static bool flights_end(const struct operation *operation)
{
    bool retained = false;
    FOR_HELD_REGIONS(region, operation)
    retained |= flight_end(operation, region);
    return retained;
}

static bool held_any_gpu(const struct operation *operation)
{
    FOR_HELD_REGIONS(region, operation)
    {
        struct window window =
            range_window(&operation->range, region_index(operation->tracker, region));
        if (window_any(&window, region->gpu) && !MUTANT(16))
            return true;
    }
    return false;
}

static enum trk_status held_to_cpu(const struct operation *operation)
{
    FOR_HELD_REGIONS(region, operation)
    {
        struct window window =
            range_window(&operation->range, region_index(operation->tracker, region));
        enum trk_status status = trk_states_to_cpu(operation, &window);
        if (status != TRK_OK || (MUTANT(58) && window.index + 1 < TRK_REGION_COUNT &&
                                 !region_live(operation->tracker, window.index + 1)))
            return status;
    }
    return TRK_OK;
}

/* `verify` and `strict`: the whole range at once. The second look is the next round's first. */
static enum trk_status run_whole(const struct operation *operation, trk_flush_fn *flush,
                                 void *context, bool registered_only, uint64_t *flushes)
{
    bool strict = operation->tracker->policy.invalidate == TRK_INVALIDATE_STRICT && !MUTANT(114);
    for (;;) {
        trk_regions_lock(operation, false);
        bool first_look = *flushes == 0;
        enum trk_status status = TRK_OK;
        bool decided = true;
        bool retained = !first_look && flights_end(operation);
        if (first_look && registered_only && !trk_bytes_registered(operation))
            status = TRK_E_END;
        else if (!held_any_gpu(operation))
            status = held_to_cpu(operation);
        else if (retained || (strict && !first_look))
            status = TRK_E_RETAINED;
        else if (*flushes == INVALIDATE_ROUNDS && !MUTANT(115))
            status = TRK_E_LIVELOCK;
        else
            decided = false;
        if (!decided)
            flights_begin(operation);
        if (MUTANT(57) && !decided)
            call_flush(operation, flush, context);
        trk_regions_unlock(operation);
        if (decided)
            return status;
        if (!MUTANT(57))
            call_flush(operation, flush, context);
        (*flushes)++;
    }
}

/* `per-region`: each region alone; a flush does the hand-over itself and is not looked at again. */
static enum trk_status run_per_region(const struct operation *operation, trk_flush_fn *flush,
                                      void *context, uint64_t *flushes)
{
    struct trk_tracker *tracker = operation->tracker;
    uint32_t end = operation->range.end_region;
    enum trk_status status = TRK_OK;
    for (uint32_t index = trk_region_next_live(tracker, operation->range.first_region, end);
         status == TRK_OK && index < end; index = trk_region_next_live(tracker, index + 1, end)) {
        struct window window = range_window(&operation->range, index);
        struct region *region = trk_region_lock(operation, index);
        bool gpu = window_any(&window, region->gpu);
        if (!gpu)
            status = trk_states_to_cpu(operation, &window);
        trk_region_unlock(operation, region);
        if (gpu) {
            call_flush(operation, flush, context);
            (*flushes)++;
        }
    }
    return status;
}

/* Whether all is CPU's already, seen without locks; asked only when nobody listens. */
static bool nothing_to_do(const struct operation *operation)
{
    const struct trk_tracker *tracker = operation->tracker;
    uint32_t end = operation->range.end_region;
    for (uint32_t index = trk_region_next_live(tracker, operation->range.first_region, end);
         index < end; index = trk_region_next_live(tracker, index + 1, end)) {
        const struct region *region = region_slot(tracker, index);
        struct window window = range_window(&operation->range, index);
        uint32_t seq;
        if (!region_peek_begin(region, &seq) || window_any(&window, region->not_cpu) ||
            !region_peek_valid(region, seq))
            return false;
    }
    return true;
}

enum trk_status trk_invalidate_run(const struct operation *operation, trk_flush_fn *flush,
                                   void *context, bool registered_only, uint64_t *result)
{
    *result = 0;
    if (!registered_only && !observed(operation->tracker) && nothing_to_do(operation))
        return TRK_OK;
    if (operation->tracker->policy.invalidate != TRK_INVALIDATE_PER_REGION)
        return run_whole(operation, flush, context, registered_only, result);
    if (registered_only) {
        trk_regions_lock(operation, false);
        bool registered = trk_bytes_registered(operation);
        trk_regions_unlock(operation);
        if (!registered)
            return TRK_E_END;
    }
    return run_per_region(operation, flush, context, result);
}

struct invalidate {
    uint64_t guest_addr, size_bytes;
    trk_flush_fn *flush;
    void *context;
};

static TRK_COLD enum trk_status invalidate_long(struct trk_tracker *tracker,
                                                const struct invalidate *request)
{
    trk_flush_fn *flush = request->flush;
    struct operation operation = {.tracker = tracker,
                                  .op = TRK_OP_INVALIDATE,
                                  .guest_addr = request->guest_addr,
                                  .size_bytes = request->size_bytes};
    uint64_t flushes = 0;
    enum trk_status status = trk_op_begin(&operation, flush != NULL ? TRK_OP_FLAG_FLUSH : 0, 0);
    if (status != TRK_OK)
        return trk_op_end(&operation, status, 0);
    status = trk_invalidate_run(&operation, flush, request->context, false, &flushes);
    if (status != TRK_OK)
        trk_op_fail(&operation, status, trk_op_refusal_text(status));
    return trk_op_end(&operation, status, flushes);
}

/* No page is GPU, so no flush is needed and one look decides. */
static QUICK_INLINE enum trk_status invalidate_quick(const struct quick *quick,
                                                     const struct invalidate *request)
{
    if (!quick_lock(quick))
        return invalidate_long(quick->tracker, request);
    uint64_t opened[TRK_REGION_WORDS];
    enum quick_end end = quick_change(quick, QUICK_TO_CPU, opened);
    quick_unlock(quick);
    if (TRK_LIKELY(quick_ended(end)))
        return TRK_OK;
    if (end == QUICK_LONG_WAY)
        return invalidate_long(quick->tracker, request);
    return quick_fail(quick, (struct quick_failure){end, TRK_OP_INVALIDATE, request->guest_addr,
                                                    request->size_bytes});
}

/* A range of many words in one region. */
static TRK_COLD enum trk_status invalidate_words(struct trk_tracker *tracker,
                                                 const struct invalidate *request)
{
    struct quick quick;
    if (!quick_begin(&quick, tracker, request->guest_addr, request->size_bytes))
        return invalidate_long(tracker, request);
    if (quick_nothing(&quick, quick.region->not_cpu, false))
        return TRK_OK;
    return invalidate_quick(&quick, request);
}

enum trk_status trk_tracker_invalidate(struct trk_tracker *tracker, uint64_t guest_addr,
                                       uint64_t size_bytes, trk_flush_fn *flush, void *context)
{
    struct quick quick;
    if (TRK_UNLIKELY(!quick_begin_word(&quick, tracker, guest_addr, size_bytes)))
        return invalidate_words(tracker,
                                &(struct invalidate){guest_addr, size_bytes, flush, context});
    if (quick_nothing(&quick, quick.region->not_cpu, false))
        return TRK_OK;
    struct invalidate request = {guest_addr, size_bytes, flush, context};
    return invalidate_quick(&quick, &request);
}
