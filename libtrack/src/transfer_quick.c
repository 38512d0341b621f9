/*
 * Upload and download of a range in one region, by the short way.
 *
 * Rules: [M-18] to [M-22].
 */
#include "mutation.h"
#include "transfer.h"

static QUICK_INLINE void quick_report_run(const struct quick *quick,
                                          const struct trk_transfer *request, uint32_t first,
                                          uint32_t pages)
{
    if (request->range != NULL)
        env_call_range(request->range, request->context,
                       quick->base_addr + (uint64_t)first * TRK_HOST_PAGE_BYTES,
                       (uint64_t)pages * TRK_HOST_PAGE_BYTES);
}

/* Report the runs of one word's pages, ascending; not 0. */
static QUICK_INLINE void quick_report_word(const struct quick *quick,
                                           const struct trk_transfer *request, uint64_t pages)
{
    uint32_t base = quick_first(quick) / 64 * 64;
    do {
        uint32_t first = (uint32_t)__builtin_ctzll(pages);
        uint64_t after = ~pages >> first << first;
        uint32_t end = after == 0 ? 64 : (uint32_t)__builtin_ctzll(after);
        quick_report_run(quick, request, base + first, end - first);
        pages &= after == 0 ? 0 : 0 - (after & (0 - after));
    } while (TRK_UNLIKELY(pages != 0));
}

static TRK_COLD void quick_report_words(const struct quick *quick,
                                        const struct trk_transfer *request, const uint64_t *mask)
{
    struct report report = {quick->tracker, request, quick->region, quick->base_addr, 0};
    struct window window = quick_window(quick);
    report_runs(&report, &window, mask);
}

static QUICK_INLINE void quick_report(const struct quick *quick, const struct trk_transfer *request,
                                      const uint64_t *mask)
{
    if (quick->one_word) {
        quick_report_word(quick, request, mask[0]);
        return;
    }
    struct quick copy = *quick;
    quick_report_words(&copy, request, mask);
}

/* In an upload its tracker refuses this thread, whatever the range: so it need not know of locks.
 */
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
    if (!quick_lock(quick))
        return QUICK_LONG_WAY;
    if (TRK_UNLIKELY(region->seq == 1)) /* the first hold; any other first one has seen to it */
        trk_region_make_live(quick->tracker, quick->index);
    uint64_t taken[TRK_REGION_WORDS];
    enum quick_end end = quick_change(quick, QUICK_TO_CLEAN, taken);
    if (TRK_UNLIKELY(end != QUICK_DONE || request->range == NULL)) {
        quick_unlock(quick);
        return end;
    }
    env_unlock(&region->pages_lock);
    if (!MUTANT(109))
        quick_report_upload(quick, request, taken);
    env_unlock(&region->lock);
    return QUICK_DONE;
}

/* The long way for what is left of an operation whose owner has been called; a hold goes on. */
static TRK_COLD enum quick_end quick_rest(const struct quick *quick, bool to_gpu)
{
    struct operation operation = {.tracker = quick->tracker, .self = quick->self};
    struct window window = quick_window(quick);
    enum trk_status status = to_gpu ? trk_states_to_gpu(&operation, &window)
                                    : trk_states_leave_gpu(&operation, &window, false);
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
        quick_complete(quick, upload);
        end = quick_second(quick, QUICK_TO_GPU);
    }
    env_unlock(&region->lock);
    return end;
}

static QUICK_INLINE enum quick_end quick_written(const struct quick *quick,
                                                 const struct trk_transfer *upload)
{
    trk_region_make_live(quick->tracker, quick->index);
    if (!quick_lock(quick))
        return QUICK_LONG_WAY;
    if (TRK_UNLIKELY(quick->region->flights != NULL)) {
        quick_unlock(quick); /* an invalidate in flight wants to know */
        return QUICK_LONG_WAY;
    }
    if (upload->completion != NULL || quick_any(quick, quick->region->not_cpu, true)) {
        struct quick copy = *quick;
        return quick_written_called(&copy, upload);
    }
    uint64_t taken[TRK_REGION_WORDS];
    enum quick_end end = MUTANT(110) ? QUICK_DONE : quick_change(quick, QUICK_TO_GPU, taken);
    quick_unlock(quick);
    return end;
}

enum quick_end trk_quick_take_part(const struct operation *operation,
                                   const struct trk_transfer *request, uint32_t index)
{
    struct quick quick;
    struct window window = range_window(&operation->range, index);
    quick_part(&quick, operation, &window);
    if (quick_nothing(&quick, quick.region->not_cpu, true))
        return QUICK_NOTHING;
    return quick_take(&quick, request);
}

static TRK_COLD enum trk_status upload_other(const struct quick *quick,
                                             const struct trk_transfer *upload, enum quick_end end)
{
    if (end == QUICK_LONG_WAY)
        return trk_upload_long(quick->tracker, upload);
    struct quick_failure failure = {end, TRK_OP_UPLOAD, upload->guest_addr, upload->size_bytes};
    return trk_quick_fail(quick, &failure);
}

static QUICK_INLINE enum trk_status upload_quick(const struct quick *quick,
                                                 const struct trk_transfer *upload, bool written)
{
    enum quick_end end = written ? quick_written(quick, upload) : quick_take(quick, upload);
    if (TRK_UNLIKELY(!quick_ended(end))) {
        struct quick copy = *quick;
        return upload_other(&copy, upload, end);
    }
    if (!written)
        quick_complete(quick, upload);
    return TRK_OK;
}

static QUICK_INLINE struct quick quick_again(struct trk_tracker *tracker,
                                             const struct trk_transfer *request,
                                             struct region *region, uint32_t first, uint32_t last)
{
    return (struct quick){.tracker = tracker,
                          .self = trk_thread_in_force,
                          .region = region,
                          .base_addr = request->guest_addr & ~(TRK_REGION_BYTES - 1),
                          .index = trk_region_index(request->guest_addr),
                          .first = first,
                          .last = last,
                          .one_word = true};
}

/* An upload of pages in one word that may have something to do: functions of their own, so that
 * one that has nothing needs no stack. */
static TRK_COLD enum trk_status upload_word(struct trk_tracker *tracker,
                                            const struct trk_transfer *upload,
                                            struct region *region, uint32_t first, uint32_t last)
{
    struct quick quick = quick_again(tracker, upload, region, first, last);
    return upload_quick(&quick, upload, false);
}

static TRK_COLD enum trk_status upload_written_word(struct trk_tracker *tracker,
                                                    const struct trk_transfer *upload,
                                                    struct region *region, uint32_t first,
                                                    uint32_t last)
{
    struct quick quick = quick_again(tracker, upload, region, first, last);
    return upload_quick(&quick, upload, true);
}

/* Whether no page of a range in any number of regions is CPU; false also when it cannot tell. */
static bool upload_has_nothing(struct trk_tracker *tracker, const struct trk_transfer *upload)
{
    struct quick quick;
    uint64_t guest_addr = upload->guest_addr, end_addr = guest_addr + upload->size_bytes;
    if (observed(tracker) || !quick_self(&quick, tracker) ||
        !trk_range_valid(tracker->policy.arena, guest_addr, upload->size_bytes))
        return false;
    while (guest_addr < end_addr) {
        uint64_t last_addr = guest_addr | (TRK_REGION_BYTES - 1);
        if (!quick_place(&quick, guest_addr, last_addr < end_addr ? last_addr : end_addr - 1))
            return false;
        quick.one_word = false;
        if (!quick_nothing(&quick, quick.region->not_cpu, true))
            return false;
        guest_addr = last_addr + 1;
    }
    return true;
}

/* Any other upload. */
static TRK_COLD enum trk_status upload_words(struct trk_tracker *tracker,
                                             const struct trk_transfer *upload)
{
    struct quick quick;
    if (!upload->written && upload->completion == NULL && upload_has_nothing(tracker, upload))
        return TRK_OK;
    if (!quick_begin(&quick, tracker, upload->guest_addr, upload->size_bytes))
        return trk_upload_long(tracker, upload);
    return upload_quick(&quick, upload, upload->written);
}

enum trk_status trk_tracker_upload(struct trk_tracker *tracker, const struct trk_transfer *upload)
{
    struct quick quick;
    if (TRK_UNLIKELY(!transfer_known(upload)))
        return TRK_E_ARGUMENT;
    if (TRK_UNLIKELY(!quick_begin_word(&quick, tracker, upload->guest_addr, upload->size_bytes)))
        return upload_words(tracker, upload);
    if (upload->written)
        return upload_written_word(tracker, upload, quick.region, quick.first, quick.last);
    if (upload->completion == NULL && quick_nothing(&quick, quick.region->not_cpu, true))
        return TRK_OK;
    return upload_word(tracker, upload, quick.region, quick.first, quick.last);
}

/* The pages open only after their report, so the locks are taken one after the other. */
static QUICK_INLINE enum quick_end quick_download(const struct quick *quick,
                                                  const struct trk_transfer *request)
{
    struct region *region = quick->region;
    if (!quick_lock_region(quick))
        return QUICK_LONG_WAY;
    uint64_t mask[TRK_REGION_WORDS];
    struct quick_words words = quick_words(quick);
    FOR_QUICK_WORDS(word, words)
    mask[quick_at(quick, word)] = env_load(&region->gpu[word]) & quick_inside(quick, word);
    quick->self->locks_held++;
    if (!quick->one_word || mask[0] != 0)
        quick_report(quick, request, mask);
    quick->self->locks_held--;
    enum quick_end end = QUICK_DONE;
    if (request->clear)
        end = quick_second(quick, QUICK_LEAVE_GPU);
    env_unlock(&region->lock);
    return end;
}

static TRK_COLD enum trk_status
download_other(const struct quick *quick, const struct trk_transfer *download, enum quick_end end)
{
    if (end == QUICK_LONG_WAY)
        return trk_download_long(quick->tracker, download, TRK_OP_DOWNLOAD);
    struct quick_failure failure = {end, TRK_OP_DOWNLOAD, download->guest_addr,
                                    download->size_bytes};
    return trk_quick_fail(quick, &failure);
}

static QUICK_INLINE enum trk_status download_quick(const struct quick *quick,
                                                   const struct trk_transfer *download)
{
    enum quick_end end = quick_download(quick, download);
    if (TRK_LIKELY(quick_ended(end)))
        return TRK_OK;
    struct quick copy = *quick;
    return download_other(&copy, download, end);
}

static TRK_COLD enum trk_status download_word(struct trk_tracker *tracker,
                                              const struct trk_transfer *download,
                                              struct region *region, uint32_t first, uint32_t last)
{
    struct quick quick = quick_again(tracker, download, region, first, last);
    return download_quick(&quick, download);
}

static TRK_COLD enum trk_status download_words(struct trk_tracker *tracker,
                                               const struct trk_transfer *download)
{
    struct quick quick;
    if (!quick_begin(&quick, tracker, download->guest_addr, download->size_bytes))
        return trk_download_long(tracker, download, TRK_OP_DOWNLOAD);
    if (quick_nothing(&quick, quick.region->gpu, false))
        return TRK_OK;
    return download_quick(&quick, download);
}

enum trk_status trk_tracker_download(struct trk_tracker *tracker,
                                     const struct trk_transfer *download)
{
    struct quick quick;
    if (TRK_UNLIKELY(!transfer_known(download)))
        return TRK_E_ARGUMENT;
    if (TRK_UNLIKELY(
            !quick_begin_word(&quick, tracker, download->guest_addr, download->size_bytes)))
        return download_words(tracker, download);
    if (quick_nothing(&quick, quick.region->gpu, false))
        return TRK_OK;
    return download_word(tracker, download, quick.region, quick.first, quick.last);
}
