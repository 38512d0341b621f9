#include "plan_internal.h"

#include <stdlib.h>
#include <string.h>

#include "memory_left.h"
#include "replayer/content.h"

#define MIRROR_BYTES_MAX (UINT64_C(64) << 30)

struct trk_plan_options trk_plan_options_default(void)
{
    return (struct trk_plan_options){
        .size = sizeof(struct trk_plan_options),
        .frame_last = UINT64_MAX,
        .mirror_bytes_max = MIRROR_BYTES_MAX,
    };
}

static void plan_raws_deinit(struct plan_raws *raws)
{
    free(raws->all);
    free(raws->findings);
    free(raws->images);
    free(raws->frames);
    memset(raws, 0, sizeof *raws);
}

static int raw_compare(const void *a, const void *b)
{
    uint64_t left = ((const struct plan_raw *)a)->order;
    uint64_t right = ((const struct plan_raw *)b)->order;
    if (left != right) {
        return left < right ? -1 : 1;
    }
    left = ((const struct plan_raw *)a)->item.event;
    right = ((const struct plan_raw *)b)->item.event;
    return left < right ? -1 : left > right;
}

/* Drop the ranges of trackers where the trace has the copies themselves, and bring read-backs to
 * their places. */
static void plan_settle(struct plan_raws *raws)
{
    size_t kept = 0;
    bool moved = false;
    for (size_t i = 0; i < raws->count; i++) {
        const struct plan_raw *raw = &raws->all[i];
        if (!raws->copies || !raw->from_range) {
            moved |= raw->order % 2 == 0;
            raws->all[kept++] = *raw;
        }
    }
    raws->count = kept;
    if (moved) {
        qsort(raws->all, raws->count, sizeof *raws->all, raw_compare);
    }
}

/* What a raw leaves on the two sides. */
static void plan_apply(const struct trk_plan *plan, const struct trk_plan_item *item,
                       uint8_t *guest, uint8_t *device)
{
    switch (item->kind) {
    case TRK_PLAN_STORE:
        trk_plan_store(plan, item, item->offset, item->size_bytes, guest + item->offset);
        return;
    case TRK_PLAN_UPLOAD:
        memcpy(device + item->offset, guest + item->offset, item->size_bytes);
        return;
    case TRK_PLAN_DOWNLOAD:
        memcpy(guest + item->offset, device + item->offset, item->size_bytes);
        return;
    case TRK_PLAN_GPU_WRITE:
        trk_content_gpu(device + item->offset, item->offset, item->size_bytes, item->content);
        return;
    default:
        return;
    }
}

/* The state before the first frame that is wanted. */
static enum trk_status plan_start(struct trk_plan *plan, const struct plan_raws *raws,
                                  uint32_t first_frame, struct trk_error *error)
{
    if (raws->count == 0 || raws->all[0].frame >= first_frame) {
        return TRK_OK;
    }
    uint8_t *guest = calloc(1, plan->mirror_bytes), *device = calloc(1, plan->mirror_bytes);
    plan->guest_start = guest;
    plan->device_start = device;
    if (guest == NULL || device == NULL) {
        return trk_error_set(error, TRK_E_MEMORY, "no memory for the state before frame %u",
                             first_frame);
    }
    for (size_t i = 0; i < raws->count && raws->all[i].frame < first_frame; i++) {
        plan_apply(plan, &raws->all[i].item, guest, device);
    }
    return TRK_OK;
}

static uint64_t plan_fold(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 32;
}

static uint64_t plan_hash(const struct trk_plan *plan)
{
    uint64_t hash = plan_fold(plan->frame_count, plan->mirror_bytes);
    for (size_t i = 0; i < plan->item_count + plan->store_count; i++) {
        const struct trk_plan_item *item =
            i < plan->item_count ? &plan->items[i] : &plan->stores[i - plan->item_count];
        hash = plan_fold(hash, item->event);
        hash = plan_fold(hash, item->offset);
        hash = plan_fold(hash, item->size_bytes);
        const uint64_t content = item->kind == TRK_PLAN_CHECK ? 0 : item->content;
        hash = plan_fold(hash, content ^ (uint64_t)item->kind << 56);
        if (item->image != 0 || item->dispatch != 0) {
            hash = plan_fold(hash, (uint64_t)item->image << 1 | item->dispatch);
        }
    }
    return hash;
}

/* Frames are chosen by the numbers that they have in the trace. */
static enum trk_status plan_choose(const struct plan_raws *raws,
                                   const struct trk_plan_options *options, uint32_t *first,
                                   uint32_t *end, struct trk_error *error)
{
    uint32_t count = raws->frame_count == 0 ? 1 : (uint32_t)raws->frame_count;
    *first = count;
    *end = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t number = raws->frame_count == 0 ? 0 : raws->frames[i];
        if (number >= options->frame_first && number <= options->frame_last) {
            *first = i < *first ? i : *first;
            *end = i + 1;
        }
    }
    if (*first >= *end) {
        return trk_error_set(error, TRK_E_ARGUMENT,
                             "the trace has no frame in what was asked for; it has %u", count);
    }
    return TRK_OK;
}

/*
 * What showed in other frames is not asked for. Findings are in the order of their frames, and what
 * looks at their bytes is in the same frame.
 */
static void plan_findings(struct trk_plan *plan, struct plan_raws *raws, uint32_t first,
                          uint32_t end)
{
    size_t before = 0, kept = 0;
    for (size_t i = 0; i < raws->finding_count; i++) {
        struct trk_plan_finding found = raws->findings[i];
        before += found.frame < first;
        if (found.frame >= first && found.frame < end) {
            found.frame -= first;
            raws->findings[kept++] = found;
        }
    }
    for (size_t i = 0; i < raws->count; i++) {
        struct trk_plan_item *item = &raws->all[i].item;
        item->finding = item->finding > before && item->finding <= before + kept
                            ? (uint32_t)(item->finding - before)
                            : 0;
    }
    plan->findings = raws->findings;
    plan->finding_count = kept;
    raws->findings = NULL;
}

static enum trk_status plan_make(struct trk_plan *plan, struct plan_raws *raws,
                                 const struct trk_plan_options *options, struct trk_trace *trace,
                                 struct trk_error *error)
{
    uint32_t first = 0, end = 0;
    uint64_t most = options->mirror_bytes_max ? options->mirror_bytes_max : MIRROR_BYTES_MAX;
    enum trk_status status = plan_choose(raws, options, &first, &end, error);
    if (status == TRK_OK) {
        plan_findings(plan, raws, first, end);
        status = plan_pages(plan, raws, end, trace, error);
    }
    if (status == TRK_OK) {
        plan_settle(raws);
        status = plan_layout(raws, &plan->mirror_bytes, error);
    }
    if (status == TRK_OK && plan->mirror_bytes > most) {
        return trk_error_set(error, TRK_E_UNSUPPORTED,
                             "the trace touches %llu MiB of memory, more than the %llu that are "
                             "allowed",
                             (unsigned long long)(plan->mirror_bytes >> 20),
                             (unsigned long long)(most >> 20));
    }
    if (status == TRK_OK) { /* both sides before the first frame are kept beside guest memory */
        status = memory_left_for(plan->mirror_bytes * (first > 0 ? 3 : 1), "replaying", error);
    }
    if (status == TRK_OK) {
        status = plan_versions(raws, plan->mirror_bytes, error);
    }
    if (status == TRK_OK) {
        status = plan_images(plan, raws, error);
    }
    if (status == TRK_OK) {
        status = plan_start(plan, raws, first, error);
    }
    if (status == TRK_OK) {
        status = plan_groups(plan, raws, first, end, error);
    }
    if (status == TRK_OK && plan->uploads + plan->downloads + plan->gpu_writes == 0) {
        return trk_error_set(error, TRK_E_INCOMPLETE,
                             "nothing is copied in %zu frames of the trace", plan->frame_count);
    }
    return status;
}

enum trk_status trk_plan_create(struct trk_plan **out, struct trk_trace *trace,
                                const struct trk_plan_options *options, struct trk_error *error)
{
    struct plan_raws raws = {.count = 0};
    struct trk_plan *plan = calloc(1, sizeof *plan);
    if (plan == NULL) {
        return trk_error_set(error, TRK_E_MEMORY, "no memory for a plan");
    }
    enum trk_status status = plan_read(&raws, trace, error);
    if (status == TRK_OK) {
        plan->events = raws.events;
        plan->complete = trk_trace_state(trace).complete;
        plan->witnessed = raws.witnessed;
        status = plan_make(plan, &raws, options, trace, error);
    }
    plan_raws_deinit(&raws);
    if (status != TRK_OK) {
        trk_plan_destroy(plan);
        return status;
    }
    plan->hash = plan_hash(plan);
    *out = plan;
    return TRK_OK;
}

/* The caller sees arrays that it must not change. */
static void plan_free(const void *array)
{
    union {
        const void *in;
        void *out;
    } pointer = {.in = array};
    free(pointer.out);
}

void trk_plan_destroy(struct trk_plan *plan)
{
    if (plan == NULL) {
        return;
    }
    plan_free(plan->pages);
    plan_free(plan->items);
    plan_free(plan->stores);
    plan_free(plan->groups);
    plan_free(plan->frames);
    plan_free(plan->findings);
    plan_free(plan->images);
    plan_free(plan->guest_start);
    plan_free(plan->device_start);
    free(plan);
}
