/*
 * Upload, download and drain: pages change owner and are reported run by run.
 *
 * The core copies nothing. An upload re-protects before it reports, so that a store during the
 * owner's copy faults and dirties the page again; a download reports while the pages are still
 * closed, and opens them afterwards.
 *
 * Rules: [M-18] to [M-22], [M-36].
 */
#include <stddef.h>

#include "mutation.h"
#include "transfer.h"

struct transfer {
    struct operation operation;
    const struct trk_transfer *request;
    uint64_t reported; /* ranges handed to the callback */
};

static void report_held(struct transfer *transfer, const struct region *region,
                        const struct window *window, const uint64_t *mask)
{
    const struct trk_tracker *tracker = transfer->operation.tracker;
    struct report report = {tracker, transfer->request, region, trk_region_address(window->index),
                            0};
    report_runs(&report, window, mask);
    transfer->reported += report.runs;
}

static void run_completion(struct transfer *transfer)
{
    const struct trk_tracker *tracker = transfer->operation.tracker;
    if (observed(tracker))
        emit(tracker, &(struct trk_event){
                          .type = TRK_EVENT_CALLBACK,
                          .context = TRK_CALLBACK_COMPLETION,
                      });
    if (transfer->request->completion != NULL)
        env_call_completion(transfer->request->completion, transfer->request->context);
}

/* Take the CPU pages of one region, in its hold, and report them: closed before copied [M-20]. */
static enum trk_status take_region(struct transfer *transfer, struct region *region)
{
    struct operation *operation = &transfer->operation;
    struct window window =
        range_window(&operation->range, region_index(operation->tracker, region));
    uint64_t were_cpu[TRK_REGION_WORDS];
    if (MUTANT(2)) {
        FOR_WINDOW_WORDS(word, &window)
        were_cpu[word] = ~region->not_cpu[word] & window_mask(&window, word);
        report_held(transfer, region, &window, were_cpu);
        return trk_states_cpu_to_clean(operation, &window, were_cpu);
    }
    enum trk_status status = trk_states_cpu_to_clean(operation, &window, were_cpu);
    if (status == TRK_OK && !MUTANT(25))
        report_held(transfer, region, &window, were_cpu);
    return status;
}

static enum trk_status upload_region(struct transfer *transfer, uint32_t index)
{
    struct operation *operation = &transfer->operation;
    if (!observed(operation->tracker)) {
        enum quick_end end = trk_quick_take_part(operation, transfer->request, index);
        if (end != QUICK_LONG_WAY)
            return end == QUICK_REFUSED ? TRK_E_PROTECT : TRK_OK;
    }
    trk_region_make_live(operation->tracker, index);
    struct region *region = trk_region_lock(operation, index);
    enum trk_status status = take_region(transfer, region);
    trk_region_unlock(operation, region);
    return status;
}

static enum trk_status upload_unwritten(struct transfer *transfer)
{
    struct operation *operation = &transfer->operation;
    enum trk_status status = TRK_OK;
    for (uint32_t index = operation->range.first_region;
         status == TRK_OK && index < operation->range.end_region; index++) {
        status = upload_region(transfer, index);
    }
    if (status == TRK_OK)
        run_completion(transfer);
    return status;
}

/* The next region to be marked: those held. */
static struct region *next_marked(const struct operation *operation, uint32_t index)
{
    if (MUTANT(119))
        return index < operation->range.end_region ? region_slot(operation->tracker, index) : NULL;
    return trk_regions_next(operation, index);
}

static enum trk_status upload_written(struct transfer *transfer)
{
    struct operation *operation = &transfer->operation;
    enum trk_status status = TRK_OK;
    trk_regions_lock(operation, true);
    for (struct region *region = trk_regions_next(operation, operation->range.first_region);
         status == TRK_OK && region != NULL;
         region = trk_regions_next(operation, region_index(operation->tracker, region) + 1))
        status = take_region(transfer, region);
    if (status == TRK_OK) {
        if (MUTANT(10)) {
            trk_regions_unlock(operation);
            env_stand_back();
            trk_regions_lock(operation, true);
        }
        if (MUTANT(9) || MUTANT(119))
            trk_regions_unlock(operation);
        /* Under all locks, for the pages are to become GPU in the same hold. [M-19] */
        run_completion(transfer);
        for (struct region *region = next_marked(operation, operation->range.first_region);
             status == TRK_OK && region != NULL;
             region = next_marked(operation, region_index(operation->tracker, region) + 1)) {
            struct window window =
                range_window(&operation->range, region_index(operation->tracker, region));
            status = trk_states_to_gpu(operation, &window);
        }
    }
    trk_regions_unlock(operation);
    return status;
}

enum trk_status trk_upload_long(struct trk_tracker *tracker, const struct trk_transfer *upload)
{
    struct transfer transfer = {
        .operation = {.tracker = tracker,
                      .op = TRK_OP_UPLOAD,
                      .guest_addr = upload->guest_addr,
                      .size_bytes = upload->size_bytes},
        .request = upload,
    };
    struct operation *operation = &transfer.operation;
    enum trk_status status = trk_op_begin(operation, upload->written ? TRK_OP_FLAG_WRITTEN : 0, 0);
    if (status != TRK_OK)
        return trk_op_end(operation, status, 0);

    /* Uploads of several trackers may nest; each refuses its own thread until it is over. */
    struct trk_upload_frame frame = {tracker, operation->self->uploads};
    operation->self->uploads = &frame;
    status = upload->written ? upload_written(&transfer) : upload_unwritten(&transfer);
    operation->self->uploads = frame.outer;
    if (status != TRK_OK)
        trk_op_fail(operation, status, trk_op_refusal_text(status));
    return trk_op_end(operation, status, transfer.reported);
}

/* Report the GPU pages of one region, in its hold. */
static void visit_region(struct transfer *transfer, struct region *region)
{
    struct operation *operation = &transfer->operation;
    struct window window =
        range_window(&operation->range, region_index(operation->tracker, region));
    uint64_t mask[TRK_REGION_WORDS];
    FOR_WINDOW_WORDS(word, &window)
    mask[word] = env_load(&region->gpu[word]) & window_mask(&window, word);
    report_held(transfer, region, &window, mask);
}

static enum trk_status leave_region(struct transfer *transfer, struct region *region)
{
    struct operation *operation = &transfer->operation;
    if (operation->op == TRK_OP_DOWNLOAD && !transfer->request->clear)
        return TRK_OK;
    struct window window =
        range_window(&operation->range, region_index(operation->tracker, region));
    return trk_states_leave_gpu(operation, &window, operation->op == TRK_OP_DRAIN && !MUTANT(15));
}

/*
 * Whether a region has no GPU page to download. Only asked when nobody listens; wrong in the other
 * direction it costs a hold.
 */
static bool nothing_to_do(const struct transfer *transfer, uint32_t index)
{
    const struct operation *operation = &transfer->operation;
    if (observed(operation->tracker))
        return false;
    struct quick quick;
    struct window window = range_window(&operation->range, index);
    quick_part(&quick, operation, &window);
    return quick_look(&quick, quick.region->gpu, false) == 0;
}

static enum trk_status download_per_region(struct transfer *transfer)
{
    struct operation *operation = &transfer->operation;
    uint32_t end = operation->range.end_region;
    enum trk_status status = TRK_OK;
    for (uint32_t index =
             trk_region_next_live(operation->tracker, operation->range.first_region, end);
         status == TRK_OK && index < end;
         index = trk_region_next_live(operation->tracker, index + 1, end)) {
        if (nothing_to_do(transfer, index))
            continue;
        struct region *region = trk_region_lock(operation, index);
        if (MUTANT(11))
            (void)leave_region(transfer, region);
        visit_region(transfer, region);
        status = leave_region(transfer, region);
        trk_region_unlock(operation, region);
    }
    return status;
}

static enum trk_status download_all_regions(struct transfer *transfer)
{
    struct operation *operation = &transfer->operation;
    enum trk_status status = TRK_OK;
    trk_regions_lock(operation, false);
    FOR_HELD_REGIONS(region, operation)
    visit_region(transfer, region);
    for (struct region *region = trk_regions_next(operation, operation->range.first_region);
         status == TRK_OK && region != NULL;
         region = trk_regions_next(operation, region_index(operation->tracker, region) + 1))
        status = leave_region(transfer, region);
    trk_regions_unlock(operation);
    return status;
}

enum trk_status trk_download_long(struct trk_tracker *tracker, const struct trk_transfer *request,
                                  enum trk_op op)
{
    struct transfer transfer = {
        .operation = {.tracker = tracker,
                      .op = op,
                      .guest_addr = request->guest_addr,
                      .size_bytes = request->size_bytes},
        .request = request,
    };
    struct operation *operation = &transfer.operation;
    bool clear = op == TRK_OP_DOWNLOAD && request->clear;
    enum trk_status status = trk_op_begin(operation, clear ? TRK_OP_FLAG_CLEAR : 0, 0);
    if (status != TRK_OK)
        return trk_op_end(operation, status, 0);
    status = tracker->policy.download == TRK_DOWNLOAD_PER_REGION || MUTANT(117)
                 ? download_per_region(&transfer)
                 : download_all_regions(&transfer);
    if (status != TRK_OK)
        trk_op_fail(operation, status, trk_op_refusal_text(status));
    return trk_op_end(operation, status, transfer.reported);
}

enum trk_status trk_tracker_drain(struct trk_tracker *tracker, const struct trk_transfer *drain)
{
    if (TRK_UNLIKELY(!transfer_known(drain)))
        return TRK_E_ARGUMENT;
    return trk_download_long(tracker, drain, TRK_OP_DRAIN);
}
