/*
 * The tracker object: its life, queries, marks, and region locks taken by hand.
 *
 * Rules: [M-10] [M-14] to [M-17], [M-23] [M-34].
 */
#include <stdlib.h>

#include "generations.h"
#include "mutation.h"
#include "quick.h"
#include "track/pages.h"

#define TRACKER_ID_MAX 15u

struct trk_tracker_options trk_tracker_options_default(void)
{
    struct trk_tracker_options options = {.size = sizeof options};
    if (trk_policy_preset("default", &options.policy) != TRK_OK)
        abort(); /* the default preset is part of this build */
    return options;
}

enum trk_status trk_tracker_create(struct trk_tracker **out,
                                   const struct trk_tracker_options *options,
                                   struct trk_error *error)
{
    if (options->size != sizeof *options)
        return trk_error_set(error, TRK_E_ARGUMENT, "tracker options of another version");
    if (options->backend == NULL)
        return trk_error_set(error, TRK_E_ARGUMENT, "tracker without a protection backend");
    if (options->id > TRACKER_ID_MAX)
        return trk_error_set(error, TRK_E_ARGUMENT, "tracker id %u is above %u", options->id,
                             TRACKER_ID_MAX);
    if (trk_policy_check(&options->policy) != TRK_OK)
        return trk_error_set(error, TRK_E_ARGUMENT, "policy holds a value that does not exist");

    struct trk_tracker *tracker = calloc(1, sizeof *tracker);
    if (tracker == NULL)
        return trk_error_set(error, TRK_E_MEMORY, "no memory for a tracker");
    tracker->policy = options->policy;
    tracker->backend = options->backend;
    tracker->observer = options->observer;
    trk_quick_prepare(tracker);
    tracker->failure = options->failure;
    tracker->failure_context = options->failure_context;
    static uint64_t serials;
    tracker->id = options->id;
    tracker->serial = __atomic_add_fetch(&serials, 1, __ATOMIC_RELAXED);
    if (trk_region_table_create(tracker) != TRK_OK) {
        free(tracker);
        return trk_error_set(error, TRK_E_MEMORY, "no address space for the region table");
    }
    if (trk_generations_create(tracker) != TRK_OK) {
        trk_region_table_destroy(tracker);
        free(tracker);
        return trk_error_set(error, TRK_E_MEMORY, "no address space for generations");
    }
    if (tracker->failure == NULL)
        trk_failure_default_prepare();
    *out = tracker;
    return TRK_OK;
}

void trk_tracker_destroy(struct trk_tracker *tracker)
{
    if (tracker == NULL)
        return;
    if (trk_pages_live_watches(tracker) != 0) {
        struct operation operation = {.tracker = tracker, .self = env_self()};
        trk_op_fail(&operation, TRK_E_WATCH, "tracker destroyed with live watches");
    }
    trk_region_table_destroy(tracker);
    free(tracker);
}

static bool window_hit(const struct region *region, const struct window *window, bool cpu)
{
    return cpu ? window_any_not(window, region->not_cpu) : window_any(window, region->gpu);
}

/* Whether any page of the window is CPU, or GPU. Nobody listens: a look without the lock will do.
 */
static bool region_any(const struct operation *operation, uint32_t index, bool cpu)
{
    struct region *region = region_slot(operation->tracker, index);
    struct window window = range_window(&operation->range, index);
    if (!observed(operation->tracker)) {
        struct quick quick;
        quick_part(&quick, operation, &window);
        int seen = quick_look(&quick, cpu ? region->not_cpu : region->gpu, cpu);
        if (TRK_LIKELY(seen >= 0))
            return seen != 0;
    }
    trk_region_lock(operation, index);
    bool found = window_hit(region, &window, cpu);
    trk_region_unlock(operation, region);
    return found;
}

/* One region at a time, up to the first hit. [M-14] [M-15] */
static TRK_COLD enum trk_status query_long(struct trk_tracker *tracker, enum trk_op op,
                                           uint64_t guest_addr, uint64_t size_bytes, bool *out)
{
    struct operation operation = {
        .tracker = tracker, .op = op, .guest_addr = guest_addr, .size_bytes = size_bytes};
    enum trk_status status = trk_op_begin(&operation, 0, 0);
    if (status != TRK_OK)
        return trk_op_end(&operation, status, 0);
    uint32_t end = operation.range.end_region;
    bool cpu = op == TRK_OP_IS_CPU;
    bool found = false;
    for (uint32_t index = operation.range.first_region; !found && index < end; index++) {
        if (cpu)
            trk_region_make_live(tracker, index);
        else
            index = trk_region_next_live(tracker, index, end);
        if (index >= end)
            break;
        found = region_any(&operation, index, cpu);
    }
    *out = found;
    return trk_op_end(&operation, TRK_OK, found);
}

/* A range of many words in one region. */
static TRK_COLD enum trk_status query_words(struct trk_tracker *tracker, enum trk_op op,
                                            uint64_t guest_addr, uint64_t size_bytes, bool *out)
{
    struct quick quick;
    if (!quick_begin(&quick, tracker, guest_addr, size_bytes))
        return query_long(tracker, op, guest_addr, size_bytes, out);
    bool cpu = op == TRK_OP_IS_CPU;
    int seen = quick_look(&quick, cpu ? quick.region->not_cpu : quick.region->gpu, cpu);
    if (TRK_UNLIKELY(seen < 0))
        return query_long(tracker, op, guest_addr, size_bytes, out);
    if (cpu && seen != 0)
        trk_region_make_live(tracker, quick.index);
    *out = seen != 0;
    return TRK_OK;
}

/* A region with a CPU page may not be live yet; one without has been so for long. */
static TRK_COLD enum trk_status query_hit(struct trk_tracker *tracker, uint64_t guest_addr)
{
    trk_region_make_live(tracker, trk_region_index(guest_addr));
    return TRK_OK;
}

enum trk_status trk_tracker_is_cpu(struct trk_tracker *tracker, uint64_t guest_addr,
                                   uint64_t size_bytes, bool *out)
{
    struct quick quick;
    if (TRK_UNLIKELY(!quick_begin_word(&quick, tracker, guest_addr, size_bytes)))
        return query_words(tracker, TRK_OP_IS_CPU, guest_addr, size_bytes, out);
    int seen = quick_look(&quick, quick.region->not_cpu, true);
    if (TRK_UNLIKELY(seen < 0))
        return query_long(tracker, TRK_OP_IS_CPU, guest_addr, size_bytes, out);
    *out = seen != 0;
    return seen == 0 ? TRK_OK : query_hit(tracker, guest_addr);
}

enum trk_status trk_tracker_is_gpu(struct trk_tracker *tracker, uint64_t guest_addr,
                                   uint64_t size_bytes, bool *out)
{
    struct quick quick;
    if (TRK_UNLIKELY(!quick_begin_word(&quick, tracker, guest_addr, size_bytes)))
        return query_words(tracker, TRK_OP_IS_GPU, guest_addr, size_bytes, out);
    int seen = quick_look(&quick, quick.region->gpu, false);
    if (TRK_UNLIKELY(seen < 0))
        return query_long(tracker, TRK_OP_IS_GPU, guest_addr, size_bytes, out);
    *out = seen != 0;
    return TRK_OK;
}

typedef enum trk_status states_fn(const struct operation *operation, const struct window *window);

/* Marks hold all regions of the range over check and change. [M-16] [M-63] */
struct mark {
    bool create;
    enum trk_status refusal;
    const char *refusal_text;
    states_fn *move;
};

static bool mark_refused(const struct operation *operation, const struct mark *mark)
{
    FOR_HELD_REGIONS(region, operation)
    {
        struct window window =
            range_window(&operation->range, region_index(operation->tracker, region));
        bool refused = mark->move == trk_states_to_gpu ? window_any_not(&window, region->not_cpu)
                                                       : window_any(&window, region->gpu);
        if (refused && !(MUTANT(55) && operation->op == TRK_OP_UNTRACK))
            return true;
    }
    return false;
}

static enum trk_status mark_run(struct operation *operation, const struct mark *mark)
{
    enum trk_status status = trk_op_begin(operation, 0, 0);
    if (status != TRK_OK)
        return trk_op_end(operation, status, 0);
    trk_regions_lock(operation, mark->create);
    if (mark_refused(operation, mark)) {
        if (MUTANT(46))
            operation->range.end_region = operation->range.first_region + 1;
        trk_regions_unlock(operation);
        return trk_op_end(operation, trk_op_fail(operation, mark->refusal, mark->refusal_text), 0);
    }
    if (MUTANT(17)) {
        trk_regions_unlock(operation);
        env_stand_back();
        trk_regions_lock(operation, mark->create);
    }
    FOR_HELD_REGIONS(region, operation)
    {
        struct window window =
            range_window(&operation->range, region_index(operation->tracker, region));
        status = mark->move(operation, &window);
        if (status != TRK_OK)
            break;
    }
    trk_regions_unlock(operation);
    if (status != TRK_OK)
        trk_op_fail(operation, status, trk_op_refusal_text(status));
    return trk_op_end(operation, status, 0);
}

enum trk_status trk_tracker_mark_cpu(struct trk_tracker *tracker, uint64_t guest_addr,
                                     uint64_t size_bytes)
{
    struct operation operation = {.tracker = tracker,
                                  .op = TRK_OP_MARK_CPU,
                                  .guest_addr = guest_addr,
                                  .size_bytes = size_bytes};
    struct mark mark = {true, TRK_E_CONFLICT, "mark_cpu over a GPU-owned page", trk_states_to_cpu};
    return mark_run(&operation, &mark);
}

enum trk_status trk_tracker_mark_gpu(struct trk_tracker *tracker, uint64_t guest_addr,
                                     uint64_t size_bytes)
{
    struct operation operation = {.tracker = tracker,
                                  .op = TRK_OP_MARK_GPU,
                                  .guest_addr = guest_addr,
                                  .size_bytes = size_bytes};
    struct mark mark = {true, TRK_E_CONFLICT, "mark_gpu over a CPU-dirty page", trk_states_to_gpu};
    return mark_run(&operation, &mark);
}

enum trk_status trk_tracker_untrack(struct trk_tracker *tracker, uint64_t guest_addr,
                                    uint64_t size_bytes)
{
    struct operation operation = {.tracker = tracker,
                                  .op = TRK_OP_UNTRACK,
                                  .guest_addr = guest_addr,
                                  .size_bytes = size_bytes};
    struct mark mark = {false, TRK_E_UNTRACK, "untrack over a GPU-owned page", trk_states_to_cpu};
    return mark_run(&operation, &mark);
}

enum trk_status trk_tracker_unmark_gpu(struct trk_tracker *tracker, uint64_t guest_addr,
                                       uint64_t size_bytes)
{
    struct operation operation = {.tracker = tracker,
                                  .op = TRK_OP_UNMARK_GPU,
                                  .guest_addr = guest_addr,
                                  .size_bytes = size_bytes};
    enum trk_status status = trk_op_begin(&operation, 0, 0);
    if (status != TRK_OK)
        return trk_op_end(&operation, status, 0);
    uint32_t end = operation.range.end_region;
    for (uint32_t index = trk_region_next_live(tracker, operation.range.first_region, end);
         status == TRK_OK && index < end; index = trk_region_next_live(tracker, index + 1, end)) {
        struct window window = range_window(&operation.range, index);
        struct region *region = trk_region_lock(&operation, index);
        status = trk_states_leave_gpu(&operation, &window, false);
        trk_region_unlock(&operation, region);
    }
    if (status != TRK_OK)
        trk_op_fail(&operation, status, trk_op_refusal_text(status));
    return trk_op_end(&operation, status, 0);
}

enum trk_status trk_tracker_lock(struct trk_tracker *tracker, uint64_t guest_addr)
{
    struct operation operation = {
        .tracker = tracker, .op = TRK_OP_LOCK, .guest_addr = guest_addr, .size_bytes = 1};
    enum trk_status status = trk_op_begin(&operation, 0, 0);
    if (status != TRK_OK)
        return trk_op_end(&operation, status, 0);
    trk_region_make_live(tracker, operation.range.first_region);
    trk_region_lock(&operation, operation.range.first_region);
    return trk_op_end(&operation, TRK_OK, 0);
}

enum trk_status trk_tracker_unlock(struct trk_tracker *tracker, uint64_t guest_addr)
{
    struct operation operation = {
        .tracker = tracker, .op = TRK_OP_UNLOCK, .guest_addr = guest_addr, .size_bytes = 1};
    enum trk_status status = trk_op_begin(&operation, 0, 0);
    if (status != TRK_OK)
        return trk_op_end(&operation, status, 0);
    struct region *region = region_slot(tracker, operation.range.first_region);
    if (env_lock_owner(&region->lock) != operation.self->id)
        return trk_op_end(
            &operation,
            trk_op_fail(&operation, TRK_E_LOCK, "region lock released by a thread without it"), 0);
    trk_region_unlock(&operation, region);
    return trk_op_end(&operation, TRK_OK, 0);
}
