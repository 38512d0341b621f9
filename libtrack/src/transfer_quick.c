/*
 * Upload and download of a range in one region, by the short way.
 *
 * Rules: tracker-spec 3.
 */
#include "transfer.h"

/* The owner is called in a hold of the region: this thread is inside an operation meanwhile. */
static QUICK_INLINE void quick_report(const struct quick *quick, const struct trk_transfer *request,
                                      const uint64_t *mask)
{
    struct report report = {quick->tracker, request, quick->region, quick->base_addr, 0};
    quick->self->locks_held++;
    report_runs(&report, &quick->window, mask);
    quick->self->locks_held--;
}

/* In an upload its tracker refuses this thread, whatever the range. */
static QUICK_INLINE void quick_report_upload(const struct quick *quick,
                                             const struct trk_transfer *request,
                                             const uint64_t *mask)
{
    struct trk_thread *self = quick->self;
    struct trk_upload_frame frame = {quick->tracker, self->uploads};
    self->uploads = &frame;
    quick_report(quick, request, mask);
    self->uploads = frame.outer;
}

static QUICK_INLINE void quick_complete(const struct quick *quick,
                                        const struct trk_transfer *upload)
{
    struct trk_thread *self = quick->self;
    struct trk_upload_frame frame = {quick->tracker, self->uploads};
    if (TRK_LIKELY(upload->completion == NULL))
        return;
    self->uploads = &frame;
    env_call_completion(upload->completion, upload->context);
    self->uploads = frame.outer;
}

/* The CPU pages of one region: taken and reported. */
static QUICK_INLINE enum quick_end quick_take(const struct quick *quick,
                                              const struct trk_transfer *request)
{
    struct region *region = quick->region;
    if (quick_look(quick, region->not_cpu, true) == 0)
        return QUICK_NOTHING;
    trk_region_make_live(quick->tracker, quick->window.index);
    if (!quick_lock(quick))
        return QUICK_LONG_WAY;
    uint64_t taken[TRK_REGION_WORDS];
    enum quick_end end = quick_change(quick, QUICK_TO_CLEAN, taken);
    if (TRK_UNLIKELY(end != QUICK_DONE || request->range == NULL)) {
        quick_unlock(quick);
        return end;
    }
    env_unlock(&region->pages_lock);
    quick_report_upload(quick, request, taken);
    env_unlock(&region->lock);
    return QUICK_DONE;
}

static QUICK_INLINE enum quick_end quick_unwritten(const struct quick *quick,
                                                   const struct trk_transfer *upload)
{
    enum quick_end end = quick_take(quick, upload);
    if (quick_ended(end))
        quick_complete(quick, upload);
    return end;
}

/* The long way for what is left of an operation whose owner has been called; a hold goes on. */
static TRK_COLD enum quick_end quick_rest(const struct quick *quick, bool to_gpu)
{
    struct operation operation = {.tracker = quick->tracker, .self = quick->self};
    enum trk_status status = to_gpu ? trk_states_to_gpu(&operation, &quick->window)
                                    : trk_states_leave_gpu(&operation, &quick->window, false);
    if (status == TRK_OK)
        return QUICK_DONE;
    return status == TRK_E_WATCH ? QUICK_WATCH : QUICK_REFUSED;
}

/* The second change of a hold of the region. */
static QUICK_INLINE enum quick_end quick_second(const struct quick *quick, enum quick_change change)
{
    struct region *region = quick->region;
    uint64_t picked[TRK_REGION_WORDS];
    quick_lock_pages(quick);
    enum quick_end end = QUICK_LONG_WAY;
    if (TRK_LIKELY(region->extra == NULL))
        end = quick_change(quick, change, picked);
    env_unlock(&region->pages_lock);
    if (TRK_LIKELY(end != QUICK_LONG_WAY))
        return end;
    struct quick copy = *quick;
    return quick_rest(&copy, change == QUICK_TO_GPU);
}

/* Both locks are held and go. The owner is called between taking pages and closing them. */
static TRK_COLD enum quick_end quick_written_called(const struct quick *quick,
                                                    const struct trk_transfer *upload)
{
    struct region *region = quick->region;
    uint64_t taken[TRK_REGION_WORDS];
    enum quick_end end = quick_change(quick, QUICK_TO_CLEAN, taken);
    env_unlock(&region->pages_lock);
    if (quick_ended(end)) {
        if (end == QUICK_DONE)
            quick_report_upload(quick, upload, taken);
        quick->self->locks_held++;
        quick_complete(quick, upload);
        quick->self->locks_held--;
        end = quick_second(quick, QUICK_TO_GPU);
    }
    env_unlock(&region->lock);
    return end;
}

static QUICK_INLINE enum quick_end quick_written(const struct quick *quick,
                                                 const struct trk_transfer *upload)
{
    trk_region_make_live(quick->tracker, quick->window.index);
    if (!quick_lock(quick))
        return QUICK_LONG_WAY;
    if (TRK_UNLIKELY(quick->region->flights != NULL)) {
        quick_unlock(quick); /* an invalidate in flight wants to know */
        return QUICK_LONG_WAY;
    }
    if (upload->completion != NULL || window_any_not(&quick->window, quick->region->not_cpu)) {
        struct quick copy = *quick;
        return quick_written_called(&copy, upload);
    }
    uint64_t taken[TRK_REGION_WORDS];
    enum quick_end end = quick_change(quick, QUICK_TO_GPU, taken);
    quick_unlock(quick);
    return end;
}

enum quick_end trk_quick_take_part(const struct operation *operation,
                                   const struct trk_transfer *request, uint32_t index)
{
    struct quick quick;
    quick_part(&quick, operation, index);
    return quick_take(&quick, request);
}

enum trk_status trk_tracker_upload(struct trk_tracker *tracker, const struct trk_transfer *upload)
{
    struct quick quick;
    if (!quick_begin(&quick, tracker, upload->guest_addr, upload->size_bytes))
        return trk_upload_long(tracker, upload);
    enum quick_end end =
        upload->written ? quick_written(&quick, upload) : quick_unwritten(&quick, upload);
    if (TRK_LIKELY(quick_ended(end)))
        return TRK_OK;
    if (end == QUICK_LONG_WAY)
        return trk_upload_long(tracker, upload);
    return quick_fail(
        &quick, (struct quick_failure){end, TRK_OP_UPLOAD, upload->guest_addr, upload->size_bytes});
}

/* The pages open only after their report, so the locks are taken one after the other. */
static QUICK_INLINE enum quick_end quick_download(const struct quick *quick,
                                                  const struct trk_transfer *request)
{
    struct region *region = quick->region;
    if (!region_live(quick->tracker, quick->window.index) ||
        quick_look(quick, region->gpu, false) == 0)
        return QUICK_NOTHING;
    if (!quick_lock_region(quick))
        return QUICK_LONG_WAY;
    uint64_t mask[TRK_REGION_WORDS];
    FOR_WINDOW_WORDS(word, &quick->window)
    mask[word] = env_load(&region->gpu[word]) & window_mask(&quick->window, word);
    quick_report(quick, request, mask);
    enum quick_end end = QUICK_DONE;
    if (request->clear)
        end = quick_second(quick, QUICK_LEAVE_GPU);
    env_unlock(&region->lock);
    return end;
}

enum trk_status trk_tracker_download(struct trk_tracker *tracker,
                                     const struct trk_transfer *download)
{
    struct quick quick;
    if (!quick_begin(&quick, tracker, download->guest_addr, download->size_bytes))
        return trk_download_long(tracker, download, TRK_OP_DOWNLOAD);
    enum quick_end end = quick_download(&quick, download);
    if (TRK_LIKELY(quick_ended(end)))
        return TRK_OK;
    if (end == QUICK_LONG_WAY)
        return trk_download_long(tracker, download, TRK_OP_DOWNLOAD);
    return quick_fail(&quick, (struct quick_failure){end, TRK_OP_DOWNLOAD, download->guest_addr,
                                                     download->size_bytes});
}
