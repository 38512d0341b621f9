/*
 * Re-executing a trace for projections.
 */
#include "explore_reading.h"

#include <stdlib.h>

/* Pages of a verdict that are looked at together. */
#define VERDICT_PAGES_MOST 4u

bool foci_of_verdict(const struct trk_sim_report *recorded, struct foci *foci)
{
    if (recorded->verdict == TRK_VERDICT_OK || recorded->guest_addr == TRK_NOT_KNOWN)
        return false;
    uint64_t first = recorded->guest_addr / TRK_HOST_PAGE_BYTES;
    uint64_t size_bytes = recorded->size_bytes == 0 ? 1 : recorded->size_bytes;
    uint64_t pages = (recorded->guest_addr + size_bytes - 1) / TRK_HOST_PAGE_BYTES - first + 1;
    bool together = pages <= VERDICT_PAGES_MOST;
    foci->pages = together ? (uint32_t)pages : 1;
    foci->count = together                          ? 1
                  : pages <= TRK_EXPLORE_PAGES_MOST ? (uint32_t)pages
                                                    : TRK_EXPLORE_PAGES_MOST;
    for (uint32_t i = 0; i < foci->count; i++) {
        uint64_t skipped = i < foci->count / 2 || together ? 0 : pages - foci->count;
        foci->guest_addr[i] = (first + i + skipped) * TRK_HOST_PAGE_BYTES;
    }
    return true;
}

/* Run the trace again up to an event, or to where its first rule breaks, for all projections. */
static enum trk_status read_trace(struct reading *reading, struct trk_trace *trace, uint64_t to,
                                  const struct forgetting *forgetting, struct trk_error *error)
{
    struct run *run = reading->run;
    for (;;) {
        struct trk_trace_event event;
        enum trk_status status = trk_trace_next(trace, &event, error);
        if (status == TRK_E_END)
            break;
        if (status != TRK_OK)
            return status;
        run_event(run, &event);
        if (run->failure != TRK_OK)
            return trk_error_set(error, run->failure, "re-execution ended at event %llu",
                                 (unsigned long long)event.number);
        bool quiet = event.number > to;
        for (uint32_t i = 0; i < reading->count; i++) {
            projection_take(&reading->projections[i], &event);
            if (forgetting != NULL)
                projection_forget(&reading->projections[i], forgetting, event.number);
            quiet &= reading->projections[i].open == 0;
        }
        if (run->stopped || run->core_lost || quiet)
            break;
    }
    enum trk_status status = TRK_OK;
    for (uint32_t i = 0; i < reading->count; i++) {
        projection_end(&reading->projections[i]);
        if (reading->projections[i].no_memory)
            status = TRK_E_MEMORY;
    }
    return status == TRK_OK ? TRK_OK : trk_error_set(error, status, "no memory for the windows");
}

enum trk_status reading_open(struct reading **out, struct trk_trace *trace, const struct foci *foci,
                             uint64_t to, const struct forgetting *forgetting,
                             struct trk_error *error)
{
    struct reading *reading = calloc(1, sizeof *reading);
    *out = reading;
    if (reading == NULL)
        return trk_error_set(error, TRK_E_MEMORY, "no memory");
    struct trk_sim_options options = trk_sim_options_default();
    enum trk_status status = run_create(&reading->run, trace, &options, &reading->report, error);
    if (status != TRK_OK)
        return status;
    for (uint32_t i = 0; i < foci->count && status == TRK_OK; i++) {
        status = projection_init(&reading->projections[i], reading->run, foci->guest_addr[i],
                                 foci->pages);
        reading->count++;
    }
    if (status != TRK_OK)
        return trk_error_set(error, status, "no memory");
    return read_trace(reading, trace, to, forgetting, error);
}

void reading_close(struct reading *reading)
{
    if (reading == NULL)
        return;
    for (uint32_t i = 0; i < reading->count; i++)
        projection_deinit(&reading->projections[i]);
    run_destroy(reading->run);
    free(reading);
}
