/*
 * Upload, download and drain: pages change owner and are reported run by run.
 *
 * The core copies nothing. An upload re-protects before it reports, so that a store during the
 * owner's copy faults and dirties the page again; a download reports while the pages are still
 * closed, and opens them afterwards.
 *
 * Rules: tracker-spec 3.
 */
#include <stddef.h>

#include "internal.h"

struct transfer {
    struct operation operation;
    const struct trk_transfer *request;
    uint64_t reported; /* ranges handed to the callback */
};

static void emit_range(const struct transfer *transfer, const struct region *region, uint32_t first,
                       uint32_t end)
{
    const struct trk_tracker *tracker = transfer->operation.tracker;
    emit(tracker,
         &(struct trk_event){
             .type = TRK_EVENT_RANGE,
             .domain = trk_domain(TRK_DOMAIN_REGION, tracker->id, region_index(tracker, region)),
             .seq = region->seq,
             .page = (uint16_t)first,
             .pages = (uint16_t)(end - first),
         });
}

static void report_run(struct transfer *transfer, const struct region *region, uint32_t first,
                       uint32_t end)
{
    const struct trk_tracker *tracker = transfer->operation.tracker;
    transfer->reported++;
    if (observed(tracker))
        emit_range(transfer, region, first, end);
    if (transfer->request->range != NULL)
        env_call_range(transfer->request->range, transfer->request->context,
                       trk_region_address(region_index(tracker, region)) +
                           (uint64_t)first * TRK_HOST_PAGE_BYTES,
                       (uint64_t)(end - first) * TRK_HOST_PAGE_BYTES);
}

/* Report the maximal runs of the mask's pages, ascending. */
static void report(struct transfer *transfer, const struct region *region,
                   const struct window *window, const uint64_t *mask)
{
    uint32_t first = 0;
    bool inside = false;
    FOR_WINDOW_WORDS(word, window)
    {
        uint64_t bits = mask[word] & window_mask(window, word);
        /* Bits where a run starts or has ended. */
        uint64_t edges = bits ^ (bits << 1 | (uint64_t)inside);
        for (; edges != 0; edges &= edges - 1) {
            uint32_t page = word * 64 + (uint32_t)__builtin_ctzll(edges);
            if (inside)
                report_run(transfer, region, first, page);
            first = page;
            inside = !inside;
        }
    }
    if (inside)
        report_run(transfer, region, first, window->end);
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

/* Take the CPU pages of one region, in its hold, and report them. */
static enum trk_status take_region(struct transfer *transfer, struct region *region)
{
    struct operation *operation = &transfer->operation;
    struct window window =
        range_window(&operation->range, region_index(operation->tracker, region));
    uint64_t were_cpu[TRK_REGION_WORDS] = {0};
    enum trk_status status = trk_states_cpu_to_clean(operation, &window, were_cpu);
    if (status == TRK_OK)
        report(transfer, region, &window, were_cpu);
    return status;
}

/*
 * Whether a region has nothing for this transfer: no CPU page to upload, no GPU page to download.
 * Only asked when nobody listens; wrong in the other direction it costs a hold.
 */
static bool nothing_to_do(const struct transfer *transfer, uint32_t index, bool upload)
{
    const struct operation *operation = &transfer->operation;
    if (observed(operation->tracker))
        return false;
    const struct region *region = region_slot(operation->tracker, index);
    struct window window = range_window(&operation->range, index);
    uint32_t seq;
    if (!region_peek_begin(region, &seq))
        return false;
    bool any = upload ? window_any_not(&window, region->not_cpu) : window_any(&window, region->gpu);
    return region_peek_valid(region, seq) && !any;
}

static enum trk_status upload_unwritten(struct transfer *transfer)
{
    struct operation *operation = &transfer->operation;
    enum trk_status status = TRK_OK;
    for (uint32_t index = operation->range.first_region;
         status == TRK_OK && index < operation->range.end_region; index++) {
        trk_region_make_live(operation->tracker, index);
        if (nothing_to_do(transfer, index, true))
            continue;
        struct region *region = trk_region_lock(operation, index);
        status = take_region(transfer, region);
        trk_region_unlock(operation, region);
    }
    if (status == TRK_OK)
        run_completion(transfer);
    return status;
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
        run_completion(transfer);
        for (struct region *region = trk_regions_next(operation, operation->range.first_region);
             status == TRK_OK && region != NULL;
             region = trk_regions_next(operation, region_index(operation->tracker, region) + 1)) {
            struct window window =
                range_window(&operation->range, region_index(operation->tracker, region));
            status = trk_states_to_gpu(operation, &window);
        }
    }
    trk_regions_unlock(operation);
    return status;
}

enum trk_status trk_tracker_upload(struct trk_tracker *tracker, const struct trk_transfer *upload)
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
    uint64_t mask[TRK_REGION_WORDS] = {0};
    FOR_WINDOW_WORDS(word, &window)
    mask[word] = env_load(&region->gpu[word]);
    report(transfer, region, &window, mask);
}

static enum trk_status leave_region(struct transfer *transfer, struct region *region)
{
    struct operation *operation = &transfer->operation;
    if (operation->op == TRK_OP_DOWNLOAD && !transfer->request->clear)
        return TRK_OK;
    struct window window =
        range_window(&operation->range, region_index(operation->tracker, region));
    return trk_states_leave_gpu(operation, &window, operation->op == TRK_OP_DRAIN);
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
        if (nothing_to_do(transfer, index, false))
            continue;
        struct region *region = trk_region_lock(operation, index);
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

static enum trk_status download_run(struct trk_tracker *tracker, const struct trk_transfer *request,
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
    status = tracker->policy.download == TRK_DOWNLOAD_PER_REGION ? download_per_region(&transfer)
                                                                 : download_all_regions(&transfer);
    if (status != TRK_OK)
        trk_op_fail(operation, status, trk_op_refusal_text(status));
    return trk_op_end(operation, status, transfer.reported);
}

enum trk_status trk_tracker_download(struct trk_tracker *tracker,
                                     const struct trk_transfer *download)
{
    return download_run(tracker, download, TRK_OP_DOWNLOAD);
}

enum trk_status trk_tracker_drain(struct trk_tracker *tracker, const struct trk_transfer *drain)
{
    return download_run(tracker, drain, TRK_OP_DRAIN);
}
