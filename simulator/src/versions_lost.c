/*
 * The version check: bytes whose only copy is overwritten or given up.
 *
 * Proven is only what cannot be otherwise: the newest bytes are ordered before the copy that covers
 * them, no copy that could have saved them is known to have come after them, and no newer store,
 * not even a racing one, stands in the log.
 */
#include "versions_state.h"

/* Whether the GPU's newest write is nowhere but in its own copy, as seen by a stream. */
static bool only_gpu_has(const struct versions *versions, const struct shadow_history *history,
                         uint32_t stream)
{
    const struct shadow_store *store = &history->stores[0];
    return history->store_count > 0 && (store->flags & SHADOW_STORE_GPU) &&
           !(store->flags & SHADOW_STORE_PART) &&
           order_before(versions->order, store->stream, store->event, stream) &&
           (history->down_count == 0 || history->down[0].end < store->event);
}

/* Whether the GPU's copy is known to have been without the newest store when that was made. */
static bool gpu_was_without(const struct shadow_history *history)
{
    const struct shadow_store *store = &history->stores[0];
    if (history->up_count > 0)
        return (store->flags & SHADOW_STORE_AFTER_COPIES) && history->up[0].end < store->event;
    for (uint32_t i = 1; i < history->store_count; i++) {
        if (history->stores[i].flags & SHADOW_STORE_GPU)
            return true;
    }
    return false;
}

/* Likewise the newest store to guest memory, by a copy that began at an event. */
static bool only_guest_has(const struct versions *versions, const struct shadow_history *history,
                           const struct shadow_copy *copy)
{
    const struct shadow_store *store = &history->stores[0];
    return history->store_count > 0 && !(store->flags & (SHADOW_STORE_GPU | SHADOW_STORE_PART)) &&
           store->event < copy->begin &&
           order_before(versions->order, store->stream, store->event, copy->stream) &&
           gpu_was_without(history);
}

bool copy_overwrites(const struct versions *versions, const struct shadow_history *history,
                     const struct shadow_copy *copy, enum trk_copy direction)
{
    return direction == TRK_COPY_UP ? only_gpu_has(versions, history, copy->stream)
                                    : only_guest_has(versions, history, copy);
}

/* Whether one of these copies brought the bytes of a store to the other side before an event. */
static bool brought(const struct shadow_store *store, const struct shadow_copy *copies,
                    uint32_t count, uint64_t before)
{
    const uint32_t open = SHADOW_COPY_FETCHED | SHADOW_COPY_EARLY | SHADOW_COPY_ENDED;
    for (uint32_t i = 0; i < count; i++) {
        if ((copies[i].flags & open) == 0 && copies[i].begin > store->event &&
            copies[i].end < before)
            return true;
    }
    return false;
}

bool copy_may_overwrite(const struct shadow_history *history, const struct shadow_copy *copy,
                        enum trk_copy direction)
{
    const struct shadow_store *store = &history->stores[0];
    bool up = direction == TRK_COPY_UP;
    if (history->store_count == 0 || ((store->flags & SHADOW_STORE_GPU) != 0) != up)
        return false;
    return up ? !brought(store, history->down, history->down_count, copy->begin)
              : !brought(store, history->up, history->up_count, copy->begin);
}

bool copy_loses(const struct versions *versions, const struct shadow_history *history,
                const struct shadow_copy *copy, enum trk_copy direction, struct finding *lost)
{
    bool up = direction == TRK_COPY_UP;
    if (!copy_overwrites(versions, history, copy, direction) ||
        store_in_doubt(versions, &history->stores[0]))
        return false;
    lost->found = true;
    lost->kind = up ? TRK_VERDICT_LOST_GPU_WRITE : TRK_VERDICT_LOST_CPU_WRITE;
    lost->agent = up ? TRK_AGENT_GPU : TRK_AGENT_CPU;
    lost->store = history->stores[0];
    lost->has_copy = true;
    lost->copy = *copy;
    enum cause untold = up ? CAUSE_NONE : finding_untold(&lost->store);
    if (!up && (lost->store.flags & SHADOW_STORE_UNSAID))
        finding_unproven(lost); /* what closed the page before the store may be missing */
    else if (untold != CAUSE_NONE)
        finding_at(lost, lost->store.event, lost->store.stream, untold);
    else
        finding_at(lost, copy->end, copy->stream,
                   up ? CAUSE_UPLOAD_OVER_NEWER : CAUSE_DOWNLOAD_OVER_NEWER);
    return true;
}

void versions_drop(const struct versions *versions, const struct access *access,
                   struct finding *lost)
{
    if (!access_valid(access))
        return;
    uint64_t at = access->guest_addr, end_addr = at + access->size_bytes;
    struct piece piece;
    while (!lost->found && piece_next(&at, end_addr, &piece)) {
        const struct shadow_page *page =
            shadow_find(versions->shadow, views_key(&versions->views, piece.guest_addr));
        for (uint32_t i = 0; page != NULL && i < page->count && !lost->found; i++) {
            const struct shadow_segment *segment = &page->segments[i];
            if (segment->end <= piece.first || piece.end <= segment->first ||
                !only_gpu_has(versions, &segment->history, access->stream) ||
                store_in_doubt(versions, &segment->history.stores[0]))
                continue;
            lost->found = true;
            lost->kind = TRK_VERDICT_LOST_GPU_WRITE;
            lost->agent = TRK_AGENT_GPU;
            lost->check = *access;
            lost->store = segment->history.stores[0];
            uint32_t first = segment->first > piece.first ? segment->first : piece.first;
            lost->guest_addr = piece.guest_addr + (first - piece.first);
            lost->size_bytes = (segment->end < piece.end ? segment->end : piece.end) - first;
            finding_at(lost, access->event, access->stream, CAUSE_DROPPED);
        }
    }
}

/* The newest store to these bytes of a page, of which nobody was told since an event. */
static void segment_untold(const struct shadow_segment *segment, const struct latent *latent,
                           struct finding *finding)
{
    const struct shadow_history *history = &segment->history;
    const struct shadow_store *store = &history->stores[0];
    const uint64_t guest_addr = latent->guest_addr + segment->first;
    const uint64_t size_bytes = segment->end - segment->first;
    if (history->store_count == 0 || store->event < latent->since || !finding_latent(store) ||
        (history->up_count > 0 && history->up[0].end > store->event))
        return;
    if (finding->found && finding->store.event == store->event &&
        finding->guest_addr + finding->size_bytes == guest_addr) {
        finding->size_bytes += size_bytes;
        finding->check.size_bytes += size_bytes;
    }
    if (finding->found && finding->store.event <= store->event)
        return;
    *finding = (struct finding){
        .found = true,
        .kind = TRK_VERDICT_LOST_CPU_WRITE,
        .latent = true,
        .agent = TRK_AGENT_CPU,
        .check = {store->event, store->stream, guest_addr, size_bytes},
        .guest_addr = guest_addr,
        .size_bytes = size_bytes,
        .store = *store,
    };
    finding_at(finding, store->event, store->stream, finding_untold(store));
}

void versions_untold(const struct versions *versions, const struct latents *latents,
                     struct finding *finding)
{
    *finding = (struct finding){.found = false};
    for (size_t i = 0; i < latents->count; i++) {
        const struct latent *latent = &latents->list[i];
        const struct shadow_page *page =
            shadow_find(versions->shadow, views_key(&versions->views, latent->guest_addr));
        for (uint32_t j = 0; page != NULL && j < page->count; j++)
            segment_untold(&page->segments[j], latent, finding);
    }
}
