#include "newest.h"

#include "versions_state.h"

/* What the side without the newest store has of it: by the newest copy to there. */
static enum trk_why_copy copied(const struct shadow_store *store, const struct shadow_copy *copy,
                                uint32_t count)
{
    if (count == 0 || copy->end < store->event)
        return TRK_WHY_OLDER;
    if (copy->begin < store->event ||
        (copy->flags & (SHADOW_COPY_ENDED | SHADOW_COPY_FETCHED)) != 0)
        return TRK_WHY_UNCLEAR;
    return (copy->flags & SHADOW_COPY_EARLY) != 0 ? TRK_WHY_OLDER : TRK_WHY_CURRENT;
}

static void find_sides(struct newest *out)
{
    const struct shadow_history *history = out->history;
    if (history == NULL || history->store_count == 0)
        return;
    const struct shadow_store *store = &history->stores[0];
    bool gpu = newest_by_gpu(store);
    enum trk_why_copy other = gpu ? copied(store, &history->down[0], history->down_count)
                                  : copied(store, &history->up[0], history->up_count);
    enum trk_why_copy own = TRK_WHY_CURRENT;
    out->guest_given = gpu ? other : own;
    out->gpu_given = gpu ? own : other;
    if (history->overwritten != 0) {
        /* What was copied from there since brought the older bytes. */
        const struct shadow_copy *copy = gpu ? &history->down[0] : &history->up[0];
        own = TRK_WHY_OLDER;
        if (other == TRK_WHY_CURRENT)
            other = copy->begin > history->overwritten ? TRK_WHY_OLDER : TRK_WHY_UNCLEAR;
        out->lost = other == TRK_WHY_OLDER;
    } else if (history->doubted != 0) {
        /* Either side may have the older bytes that such a copy may have brought. */
        out->doubted = true;
        own = TRK_WHY_UNCLEAR;
        if (other == TRK_WHY_CURRENT)
            other = TRK_WHY_UNCLEAR;
    }
    out->guest = gpu ? other : own;
    out->gpu = gpu ? own : other;
}

void newest_find(const struct judge *judge, uint64_t guest_addr, struct newest *out)
{
    const struct versions *versions = judge->versions;
    uint64_t page_addr = guest_addr & ~(SHADOW_PAGE_BYTES - 1ull);
    const struct shadow_page *page =
        shadow_find(versions->shadow, views_key(&versions->views, guest_addr));
    *out = (struct newest){.first_addr = page_addr, .size_bytes = SHADOW_PAGE_BYTES};
    for (uint32_t i = 0; page != NULL && i < page->count; i++) {
        const struct shadow_segment *segment = &page->segments[i];
        uint64_t offset = guest_addr - page_addr;
        if (offset < segment->first || offset >= segment->end)
            continue;
        out->history = &segment->history;
        out->first_addr = page_addr + segment->first;
        out->size_bytes = segment->end - segment->first;
    }
    out->untracked = versions_untracked(versions, guest_addr);
    out->mapped = views_find(&versions->views, guest_addr) != NULL;
    out->said = said_find(&judge->said, versions_tracked_addr(versions, guest_addr));
    out->state = out->said == NULL ? SAID_CPU : (enum said_state)out->said->state;
    find_sides(out);
}

const struct judge_operation *newest_under_way(const struct judge *judge, uint64_t guest_addr,
                                               uint32_t *stream)
{
    uint64_t tracked = versions_tracked_addr(judge->versions, guest_addr);
    for (uint32_t s = 0; s < judge->stream_count; s++) {
        const struct judge_operation *operation = judge_operation_of(judge, s);
        if (operation == NULL || tracked - operation->guest_addr >= operation->size_bytes)
            continue;
        *stream = s;
        return operation;
    }
    return NULL;
}
