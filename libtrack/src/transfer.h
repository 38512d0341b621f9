/*
 * What the long and the short way of transfers share: reporting the runs of a region.
 */
#ifndef TRACK_TRANSFER_H
#define TRACK_TRANSFER_H

#include "quick_change.h"

/* Whether the caller means the structure that this build knows; asked before anything else. */
static inline bool transfer_known(const struct trk_transfer *request)
{
    return request->size == sizeof *request;
}

/* Whom the runs of a region are reported to. */
struct report {
    const struct trk_tracker *tracker;
    const struct trk_transfer *request;
    const struct region *region;
    uint64_t base_addr; /* of the region */
    uint64_t runs;      /* so far */
};

static inline void emit_range(const struct report *report, uint32_t first, uint32_t end)
{
    const struct trk_tracker *tracker = report->tracker;
    emit(tracker, &(struct trk_event){
                      .type = TRK_EVENT_RANGE,
                      .domain = trk_domain(TRK_DOMAIN_REGION, tracker->id,
                                           region_index(tracker, report->region)),
                      .seq = report->region->seq,
                      .page = (uint16_t)first,
                      .pages = (uint16_t)(end - first),
                  });
}

static inline void report_run(struct report *report, uint32_t first, uint32_t end)
{
    report->runs++;
    if (observed(report->tracker))
        emit_range(report, first, end);
    if (report->request->range != NULL)
        env_call_range(report->request->range, report->request->context,
                       report->base_addr + (uint64_t)first * TRK_HOST_PAGE_BYTES,
                       (uint64_t)(end - first) * TRK_HOST_PAGE_BYTES);
}

/* Report the maximal runs of the mask's pages (all inside the window), ascending. [M-12] */
static inline void report_runs(struct report *report, const struct window *window,
                               const uint64_t *mask)
{
    uint32_t first = 0;
    bool inside = false;
    FOR_WINDOW_WORDS(word, window)
    {
        /* Bits where a run starts or has ended. */
        uint64_t edges = mask[word] ^ (mask[word] << 1 | (uint64_t)inside);
        for (; edges != 0; edges &= edges - 1) {
            uint32_t page = word * 64 + (uint32_t)__builtin_ctzll(edges);
            if (inside)
                report_run(report, first, page);
            first = page;
            inside = !inside;
        }
    }
    if (inside)
        report_run(report, first, window->end);
}

/* ---- transfer.c: the long way ---------------------------------------------------------------- */

enum trk_status trk_upload_long(struct trk_tracker *tracker, const struct trk_transfer *upload);
/* Download or drain. */
enum trk_status trk_download_long(struct trk_tracker *tracker, const struct trk_transfer *request,
                                  enum trk_op op);

/* ---- transfer_quick.c ------------------------------------------------------------------------ */

/* One region of an upload that has made its checks: its CPU pages are taken and reported. */
enum quick_end trk_quick_take_part(const struct operation *operation,
                                   const struct trk_transfer *request, uint32_t index);

#endif
