/*
 * Checkpoints: what a snapshot says, but only where it has changed, and where the streams stand.
 *
 * What was said last of each domain, timeline and region is kept: of domains and timelines the
 * value, of regions a hash of their bytes.
 */
#include "simulator/checkpoints.h"

#include <stdlib.h>
#include <string.h>

#include "core.h"
#include "recorder/checkpoint.h"
#include "simulator/rest.h"
#include "snapshot.h"
#include "track/image.h"

/* A region of a tracker as a key of a table, never 0. */
static uint32_t key_of(uint32_t id, uint32_t region)
{
    return (id << 24 | region) + 1;
}

struct trk_sim_checkpoints {
    struct run *run;
    struct trk_sim_report report;
    struct trk_rest rest;
    uint64_t *ordinals; /* of the streams' next events */
    struct domains timelines;
    struct domains told_domains, told_timelines, told_regions;
    struct trk_packing prologue; /* not told yet */
    uint64_t prologue_count;
    struct trk_packing all_prologue;
    uint64_t all_prologue_count;
    uint32_t declared; /* trackers, a bit each */
    bool again;        /* one was declared again: what was told of it is void */
    bool begun;        /* a first one was packed */
    bool failed;       /* no state can be told any more */
};

enum trk_status trk_sim_checkpoints_create(struct trk_sim_checkpoints **out,
                                           struct trk_trace *trace, struct trk_error *error)
{
    struct trk_sim_options options = trk_sim_options_default();
    *out = NULL;
    const char *cannot = core_cannot_follow(true);
    if (cannot != NULL)
        return trk_error_set(error, TRK_E_UNSUPPORTED, "%s", cannot);
    struct trk_sim_checkpoints *checkpoints = calloc(1, sizeof *checkpoints);
    if (checkpoints == NULL)
        return trk_error_set(error, TRK_E_MEMORY, "no memory for checkpoints");
    enum trk_status status =
        run_create(&checkpoints->run, trace, &options, &checkpoints->report, error);
    if (status == TRK_OK) {
        checkpoints->ordinals =
            calloc(trk_trace_stream_count(trace) + 1, sizeof *checkpoints->ordinals);
        if (checkpoints->ordinals == NULL || trk_rest_init(&checkpoints->rest, trace) != TRK_OK)
            status = trk_error_set(error, TRK_E_MEMORY, "no memory for checkpoints");
    }
    if (status == TRK_OK)
        status = snapshot_take_timelines(trace, &checkpoints->timelines);
    if (status != TRK_OK) {
        trk_sim_checkpoints_destroy(checkpoints);
        return status;
    }
    *out = checkpoints;
    return TRK_OK;
}

void trk_sim_checkpoints_destroy(struct trk_sim_checkpoints *checkpoints)
{
    if (checkpoints == NULL)
        return;
    run_destroy(checkpoints->run);
    trk_rest_deinit(&checkpoints->rest);
    domains_deinit(&checkpoints->timelines);
    domains_deinit(&checkpoints->told_domains);
    domains_deinit(&checkpoints->told_timelines);
    domains_deinit(&checkpoints->told_regions);
    free(checkpoints->prologue.bytes);
    free(checkpoints->all_prologue.bytes);
    free(checkpoints->ordinals);
    free(checkpoints);
}

static void pack_event(struct trk_packing *out, uint32_t stream_id,
                       const struct trk_trace_event *due)
{
    const struct trk_event *event = &due->event;
    const uint64_t words[] = {stream_id,      due->tsc,       event->type,  event->flags,
                              event->context, event->page,    event->pages, event->domain,
                              event->seq,     event->argument};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        trk_packing_number(out, words[i]);
}

/* What must be known of the time before: declared trackers and views. */
static void note_prologue(struct trk_sim_checkpoints *checkpoints,
                          const struct trk_trace_event *event)
{
    if (event->event.type == TRK_EVENT_TRACKER) {
        uint32_t bit = 1u << event->event.page % RUN_TRACKERS;
        checkpoints->again |= (checkpoints->declared & bit) != 0;
        checkpoints->declared |= bit;
    } else if (event->event.type != TRK_EVENT_MAP && event->event.type != TRK_EVENT_UNMAP) {
        return;
    }
    uint32_t id = trk_trace_stream(checkpoints->run->trace, event->stream)->stream_id;
    pack_event(&checkpoints->prologue, id, event);
    pack_event(&checkpoints->all_prologue, id, event);
    checkpoints->prologue_count++;
    checkpoints->all_prologue_count++;
}

enum trk_status trk_sim_checkpoints_event(struct trk_sim_checkpoints *checkpoints,
                                          const struct trk_trace_event *event,
                                          struct trk_error *error)
{
    struct run *run = checkpoints->run;
    if (checkpoints->failed)
        return TRK_OK;
    checkpoints->ordinals[event->stream]++;
    trk_rest_take(&checkpoints->rest, event);
    run_event(run, event);
    enum trk_status status = run->failure;
    if (status == TRK_OK)
        status = snapshot_note_signal(&checkpoints->timelines, &event->event);
    note_prologue(checkpoints, event);
    if (status != TRK_OK)
        return trk_error_set(error, status, "re-execution ended at event %llu",
                             (unsigned long long)event->number);
    checkpoints->failed = run->stopped || run->lossy;
    return TRK_OK;
}

/* ---- packing --------------------------------------------------------------------------------- */

static void pack_streams(struct trk_sim_checkpoints *checkpoints, struct trk_packing *out)
{
    const struct trk_trace *trace = checkpoints->run->trace;
    size_t count = trk_trace_stream_count(trace);
    trk_packing_number(out, count);
    for (size_t i = 0; i < count; i++) {
        trk_packing_number(out, trk_trace_stream(trace, i)->stream_id);
        trk_packing_number(out, checkpoints->ordinals[i]);
    }
}

/* Numbers whose value is another than was told; ascending. Timelines are kept as number + 1. */
static enum trk_status pack_points(struct trk_packing *out, const struct domains *points,
                                   struct domains *told, bool timelines)
{
    struct trk_packing list = {.bytes = NULL};
    uint32_t *sorted = domains_sorted(points);
    uint64_t count = 0;
    enum trk_status status = sorted == NULL && points->count > 0 ? TRK_E_MEMORY : TRK_OK;
    for (size_t i = 0; i < points->count && status == TRK_OK; i++) {
        const struct domain *point = domains_find(points, sorted[i]);
        uint64_t value = timelines ? point->event : point->seq;
        const struct domain *known = domains_find(told, sorted[i]);
        if (known != NULL && known->event == value)
            continue;
        struct domain *kept = domains_touch(told, sorted[i]);
        if (kept == NULL) {
            status = TRK_E_MEMORY;
            break;
        }
        kept->event = value;
        count++;
        trk_packing_number(&list, timelines ? sorted[i] - 1 : sorted[i]);
        trk_packing_number(&list, value);
    }
    trk_packing_number(out, count);
    trk_packing_bytes(out, list.bytes, list.size_bytes);
    out->failed |= list.failed;
    free(list.bytes);
    free(sorted);
    return status;
}

static uint64_t digest_of(const struct trk_packing *packing)
{
    uint64_t digest = 1;
    for (size_t i = 0; i < packing->size_bytes; i++) {
        digest = (digest ^ packing->bytes[i]) * UINT64_C(0x9e3779b97f4a7c15);
        digest ^= digest >> 29;
    }
    return digest;
}

/* A region if it is another than was told. */
static enum trk_status pack_changed(struct trk_sim_checkpoints *checkpoints, uint32_t id,
                                    uint32_t region, struct trk_packing *list, uint64_t *count)
{
    struct trk_image image;
    struct trk_packing one = {.bytes = NULL};
    enum trk_status status = trk_image_take(checkpoints->run->machines[id].tracker, region, &image);
    if (status != TRK_OK)
        return status;
    snapshot_pack_region(&one, &image);
    struct domain *told = domains_touch(&checkpoints->told_regions, key_of(id, region));
    if (one.failed || told == NULL) {
        free(one.bytes);
        return TRK_E_MEMORY;
    }
    uint64_t digest = digest_of(&one);
    if (told->seq == 0 || told->event != digest) {
        trk_packing_bytes(list, one.bytes, one.size_bytes);
        ++*count;
    }
    told->seq = 1;
    told->event = digest;
    free(one.bytes);
    return TRK_OK;
}

static enum trk_status pack_tracker(struct trk_sim_checkpoints *checkpoints, uint32_t id,
                                    struct trk_packing *out)
{
    const struct trk_tracker *tracker = checkpoints->run->machines[id].tracker;
    struct trk_packing list = {.bytes = NULL};
    uint64_t count = 0;
    enum trk_status status = TRK_OK;
    for (uint32_t at = 0; status == TRK_OK && (at = trk_image_next(tracker, at)) < TRK_REGION_COUNT;
         at++)
        status = pack_changed(checkpoints, id, at, &list, &count);
    trk_packing_number(out, id);
    trk_packing_number(out, snapshot_layer_bits(tracker));
    trk_packing_number(out, count);
    trk_packing_bytes(out, list.bytes, list.size_bytes);
    out->failed |= list.failed;
    free(list.bytes);
    return status;
}

static void forget_told(struct trk_sim_checkpoints *checkpoints)
{
    domains_deinit(&checkpoints->told_domains);
    domains_deinit(&checkpoints->told_timelines);
    domains_deinit(&checkpoints->told_regions);
    checkpoints->again = false;
    checkpoints->begun = false;
}

static enum trk_status pack_all(struct trk_sim_checkpoints *checkpoints, bool full,
                                struct trk_packing *out)
{
    const struct run *run = checkpoints->run;
    const struct trk_packing *prologue = full ? &checkpoints->all_prologue : &checkpoints->prologue;
    trk_packing_number(out, full ? TRK_CHECKPOINT_FULL : 0);
    pack_streams(checkpoints, out);
    enum trk_status status = pack_points(out, &run->domains, &checkpoints->told_domains, false);
    if (status == TRK_OK)
        status = pack_points(out, &checkpoints->timelines, &checkpoints->told_timelines, true);
    trk_packing_number(out, full ? checkpoints->all_prologue_count : checkpoints->prologue_count);
    trk_packing_bytes(out, prologue->bytes, prologue->size_bytes);
    out->failed |= prologue->failed;
    trk_packing_number(out, run->machine_count);
    for (uint32_t id = 0; id < RUN_TRACKERS && status == TRK_OK; id++)
        if (run->machines[id].tracker != NULL)
            status = pack_tracker(checkpoints, id, out);
    return status == TRK_OK && out->failed ? TRK_E_MEMORY : status;
}

enum trk_status trk_sim_checkpoints_pack(struct trk_sim_checkpoints *checkpoints, bool full,
                                         struct trk_packing *out, struct trk_error *error)
{
    *out = (struct trk_packing){.bytes = NULL};
    if (checkpoints->failed || !trk_rest_is(&checkpoints->rest))
        return TRK_E_UNSUPPORTED;
    if (full || checkpoints->again || !checkpoints->begun) {
        forget_told(checkpoints);
        full = true;
    }
    enum trk_status status = pack_all(checkpoints, full, out);
    if (status != TRK_OK) {
        forget_told(checkpoints); /* what was noted as told was not */
        free(out->bytes);
        *out = (struct trk_packing){.bytes = NULL};
        return status == TRK_E_MEMORY ? trk_error_set(error, status, "no memory for a checkpoint")
                                      : status;
    }
    checkpoints->begun = true;
    checkpoints->prologue.size_bytes = 0;
    checkpoints->prologue_count = 0;
    return TRK_OK;
}
