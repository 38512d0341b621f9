/*
 * What every public operation shares: its events, the checks of re-entrancy and range, failure, and
 * the holds of regions.
 *
 * Rules: [M-11] [M-13] [M-25] [M-34] [M-35] [M-62].
 */
#include <stddef.h>
#include <string.h>

#include "internal.h"
#include "mutation.h"
#include "state_hash.h"

static void emit_op_begin(const struct operation *operation, unsigned flags, unsigned rights)
{
    struct trk_event event = {
        .type = TRK_EVENT_OP_BEGIN,
        .argument = operation->guest_addr,
        .flags = (uint8_t)flags,
        .context = (uint16_t)operation->op,
        .page = (uint16_t)operation->tracker->id,
        .pages = (uint16_t)rights,
    };
    trk_event_set_size(&event, operation->size_bytes);
    emit(operation->tracker, &event);
}

/* Whether this thread is inside an upload callback of the operation's own tracker. [M-25] */
static bool uploads_here(const struct operation *operation)
{
    const struct trk_upload_frame *frame = operation->self->uploads;
    while (frame != NULL && frame->tracker != operation->tracker && !MUTANT(105))
        frame = frame->outer;
    return frame != NULL && !(MUTANT(105) && frame->tracker != operation->tracker);
}

/* A region of the range whose lock this thread holds already would never be granted. [M-34] */
static bool holds_any(const struct operation *operation)
{
    const struct range *range = &operation->range;
    uint32_t index =
        trk_region_next_live(operation->tracker, range->first_region, range->end_region);
    for (; index < range->end_region;
         index = trk_region_next_live(operation->tracker, index + 1, range->end_region)) {
        if (env_lock_owner(&region_slot(operation->tracker, index)->lock) == operation->self->id)
            return true;
    }
    return false;
}

/* Operations that work on the page manager alone; its lock comes after the regions'. */
static bool needs_region_locks(enum trk_op op)
{
    switch (op) {
    case TRK_OP_UNLOCK: /* by hand: this thread is meant to have it */
    case TRK_OP_WATCH:
    case TRK_OP_UNWATCH:
    case TRK_OP_WATCH_MASK:
    case TRK_OP_UNWATCH_MASK:
    case TRK_OP_GUEST_PROTECT:
        return false;
    default:
        return true;
    }
}

static enum trk_status check_reentry(const struct operation *operation)
{
    if (MUTANT(49) && operation->op == TRK_OP_DOWNLOAD)
        return TRK_OK;
    if (TRK_UNLIKELY(operation->self->uploads != NULL) && uploads_here(operation))
        return trk_op_fail(operation, TRK_E_REENTRY,
                           "memory tracker re-entered from upload callback");
    return TRK_OK;
}

#ifdef TRK_MUTATION
static void mutant_range(struct operation *operation)
{
    uint64_t end_addr = operation->guest_addr + operation->size_bytes;
    uint64_t rest = operation->tracker->policy.page_size_bytes - 1;
    if (MUTANT(21) && (end_addr & rest) != 0 && (end_addr & ~rest) > operation->range.first_addr)
        operation->range.end_addr = end_addr & ~rest;
    if (MUTANT(41) && (operation->guest_addr & rest) != 0 &&
        ((operation->guest_addr | rest) + 1) < operation->range.end_addr)
        operation->range.first_addr = (operation->guest_addr | rest) + 1;
}
#endif

/* Re-entrancy, then the range, then locks, before anything else. [M-13] */
enum trk_status trk_op_check(struct operation *operation)
{
    enum trk_status status = check_reentry(operation);
    if (TRK_UNLIKELY(status != TRK_OK))
        return status;
    if (TRK_UNLIKELY(!trk_range_valid(operation->tracker->policy.arena, operation->guest_addr,
                                      operation->size_bytes)))
        return trk_op_fail(operation, TRK_E_RANGE, "range is empty or leaves the address bands");
    operation->range = range_pages(operation->guest_addr, operation->size_bytes,
                                   operation->tracker->policy.page_size_bytes);
#ifdef TRK_MUTATION
    mutant_range(operation);
#endif
    if (TRK_UNLIKELY(operation->self->locks_held != 0) && needs_region_locks(operation->op) &&
        holds_any(operation))
        return trk_op_fail(operation, TRK_E_LOCK, "region lock taken twice by one thread");
    return TRK_OK;
}

enum trk_status trk_op_begin(struct operation *operation, unsigned flags, unsigned rights)
{
    operation->self = env_self();
    if (observed(operation->tracker))
        emit_op_begin(operation, flags, rights);
    return trk_op_check(operation);
}

enum trk_status trk_op_begin_any_range(struct operation *operation)
{
    operation->self = env_self();
    if (observed(operation->tracker))
        emit_op_begin(operation, 0, 0);
    return check_reentry(operation);
}

const char *trk_op_refusal_text(enum trk_status failure_class)
{
    switch (failure_class) {
    case TRK_E_RETAINED:
        return "memory invalidation retained GPU-owned pages";
    case TRK_E_LIVELOCK:
        return "invalidation made no progress: the GPU side takes the pages anew each time";
    case TRK_E_WATCH:
        return "watch count out of bounds";
    case TRK_E_PROTECT:
        return "the host refused a protection call; regions done before it stay done";
    case TRK_E_MEMORY:
        return "no memory for a region's tables";
    default:
        return "operation refused";
    }
}

enum trk_status trk_op_end(const struct operation *operation, enum trk_status status,
                           uint64_t result)
{
    if (observed(operation->tracker))
        emit(operation->tracker, &(struct trk_event){
                                     .type = TRK_EVENT_OP_END,
                                     .context = (uint16_t)operation->op,
                                     .flags = (uint8_t)status,
                                     .argument = result,
                                 });
    return status;
}

enum trk_status trk_op_fail(const struct operation *operation, enum trk_status failure_class,
                            const char *text)
{
    const struct trk_tracker *tracker = operation->tracker;
    struct trk_event event = {
        .type = TRK_EVENT_FAIL,
        .argument = operation->guest_addr,
        .context = (uint16_t)failure_class,
        .flags = (uint8_t)operation->op,
    };
    trk_event_set_size(&event, operation->size_bytes);
    if (observed(tracker))
        emit(tracker, &event);

    struct trk_failure failure = {
        .failure_class = failure_class,
        .op = operation->op,
        .guest_addr = operation->guest_addr,
        .size_bytes = operation->size_bytes,
        .thread_id = operation->self->id,
    };
    strncpy(failure.text, text, sizeof failure.text - 1);
    for (struct trk_read_back_frame *frame = operation->self->read_backs; frame != NULL;
         frame = frame->outer)
        frame->refused |= frame->tracker == tracker && failure_class == TRK_E_PROTECT;
    if (tracker->failure != NULL)
        tracker->failure(tracker->failure_context, &failure);
    else
        trk_failure_default(&failure);
    return failure_class;
}

struct region *trk_region_lock(const struct operation *operation, uint32_t index)
{
    struct trk_tracker *tracker = operation->tracker;
    struct region *region = region_slot(tracker, index);
    if (MUTANT(31) && (operation->op == TRK_OP_INVALIDATE || operation->op == TRK_OP_FAULT)) {
        region->lock.word = operation->self->id;
    } else if (TRK_UNLIKELY(!env_lock_try(&region->lock, operation->self->id))) {
        if (tracker->observer.wait != NULL)
            tracker->observer.wait(tracker->observer.context,
                                   trk_domain(TRK_DOMAIN_REGION, tracker->id, index));
        env_lock_slow(&region->lock, operation->self->id);
    }
    operation->self->locks_held++;
    __atomic_store_n(&region->seq, region->seq + 1, __ATOMIC_RELAXED);
    region->hold_changed = 0;
    if (observed(tracker))
        emit(tracker, &(struct trk_event){
                          .type = TRK_EVENT_LOCK,
                          .domain = trk_domain(TRK_DOMAIN_REGION, tracker->id, index),
                          .seq = region->seq,
                      });
    if (state_is_due(region->seq) && observed(tracker))
        emit(tracker, &(struct trk_event){
                          .type = TRK_EVENT_STATE,
                          .argument = trk_state_region(region),
                          .domain = trk_domain(TRK_DOMAIN_REGION, tracker->id, index),
                          .seq = region->seq,
                      });
    return region;
}

void trk_region_unlock(const struct operation *operation, struct region *region)
{
    const struct trk_tracker *tracker = operation->tracker;
    uint32_t seq = region->seq;
    uint32_t changed = region->hold_changed;
    operation->self->locks_held--;
    env_unlock(&region->lock);
    /* Emitted after the release, so that whoever re-executes the log finds the lock free. */
    if (observed(tracker))
        emit(tracker, &(struct trk_event){
                          .type = TRK_EVENT_UNLOCK,
                          .domain = trk_domain(TRK_DOMAIN_REGION, tracker->id,
                                               region_index(tracker, region)),
                          .seq = seq,
                          .pages = (uint16_t)changed,
                      });
}

void trk_regions_lock(const struct operation *operation, bool create)
{
    struct trk_tracker *tracker = operation->tracker;
    uint32_t end = operation->range.end_region;
    if (MUTANT(24)) {
        for (uint32_t index = end; index-- > operation->range.first_region;) {
            if (create)
                trk_region_make_live(tracker, index);
            if (region_live(tracker, index))
                trk_region_lock(operation, index);
        }
        return;
    }
    for (uint32_t index = operation->range.first_region; index < end; index++) {
        if (create)
            trk_region_make_live(tracker, index);
        else
            index = trk_region_next_live(tracker, index, end);
        if (index < end)
            trk_region_lock(operation, index);
    }
}

struct region *trk_regions_next(const struct operation *operation, uint32_t index)
{
    const struct trk_tracker *tracker = operation->tracker;
    uint32_t end = operation->range.end_region;
    /* A region that went live meanwhile is not ours: the lock's owner tells. */
    for (index = trk_region_next_live(tracker, index, end); index < end;
         index = trk_region_next_live(tracker, index + 1, end)) {
        struct region *region = region_slot(tracker, index);
        if (env_lock_owner(&region->lock) == operation->self->id)
            return region;
    }
    return NULL;
}

void trk_regions_unlock(const struct operation *operation)
{
    FOR_HELD_REGIONS(region, operation)
    trk_region_unlock(operation, region);
}
