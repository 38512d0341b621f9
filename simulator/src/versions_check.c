/*
 * The version check: judging reads.
 *
 * A read is judged against the newest store to the byte that is ordered before it. Stamps grow
 * with later stores to the same bytes, so that a check that saw a smaller stamp saw older bytes. A
 * check that saw bytes of no known stamp may have met a store half-way: it counts only when no
 * store races it, and as the racing store's event may come later in the log, it is kept back until
 * the end. A read without a stamp is stale only when every copy that could have brought the store
 * is ordered before it.
 */
#include "versions.h"

#include "versions_state.h"

/* Whether a change of views is missing behind a store, or one before it may have been undone; or
 * one may have come between that stands elsewhere. */
static bool moved_in_doubt(const struct versions *versions, const struct shadow_store *store)
{
    if (disorder_of_views(versions->disorder, store->event, versions->now))
        return true;
    if (versions->views_astray || versions->views_lost == 0)
        return versions->views_astray;
    return versions->views_lost > store->event || versions->views_changed > store->event;
}

bool versions_in_doubt(const struct versions *versions, uint64_t event)
{
    return versions->doubt > event || versions->lost > event ||
           disorder_between(versions->disorder, event, versions->now);
}

bool store_in_doubt(const struct versions *versions, const struct shadow_store *store)
{
    return versions_in_doubt(versions, store->event) || moved_in_doubt(versions, store);
}

/*
 * Whether a reader of a store's address may see other bytes than the store wrote to, because a
 * change of views is missing. It does see the same ones where nothing is missing behind the store,
 * no view has changed since, and the page is shown at one address only: so the store came by it.
 */
static bool views_in_doubt(const struct versions *versions, uint64_t key,
                           const struct shadow_store *store)
{
    return moved_in_doubt(versions, store) ||
           (versions->views_lost > 0 && views_shared(&versions->views, key));
}

/* Whether a store is ordered before what the reader does now. */
static bool store_before(const struct versions *versions, const struct shadow_history *history,
                         const struct shadow_store *store, uint32_t reader)
{
    if (order_before(versions->order, store->stream, store->event, reader))
        return true;
    /* Where events are missing, their numbers do not say that the copy came behind the store. */
    if (!(store->flags & SHADOW_STORE_GPU) || store_in_doubt(versions, store))
        return false;
    for (uint32_t i = 0; i < history->down_count; i++) {
        const struct shadow_copy *down = &history->down[i];
        if (down->begin > store->event &&
            order_before(versions->order, down->stream, down->end, reader))
            return true;
    }
    return false;
}

/* The newest store that is ordered before the reader, or NULL; *races: another one is not. */
static const struct shadow_store *newest_before(const struct versions *versions,
                                                const struct shadow_history *history,
                                                uint32_t reader, bool *races)
{
    const struct shadow_store *newest = NULL;
    *races = false;
    for (uint32_t i = 0; i < history->store_count; i++) {
        const struct shadow_store *store = &history->stores[i];
        if (!store_before(versions, history, store, reader))
            *races = true;
        else if (newest == NULL || store->stamp > newest->stamp)
            newest = store;
    }
    return newest;
}

/* Whether a check with a stamp is stale for one segment; fills store and *hold_back. */
static bool stamped_stale(const struct versions *versions, const struct shadow_history *history,
                          struct finding *finding, bool *hold_back)
{
    bool races;
    const struct shadow_store *newest =
        newest_before(versions, history, finding->check.stream, &races);
    if (newest == NULL || newest->stamp == 0)
        return false;
    for (uint32_t i = 0; i < history->store_count; i++) {
        const struct shadow_store *store = &history->stores[i];
        bool unknown_later = store->stamp == 0 && store->event > newest->event;
        bool seen_races = store->stamp == finding->seen &&
                          !store_before(versions, history, store, finding->check.stream);
        if (unknown_later || seen_races)
            return false;
    }
    if (finding->seen == 0 ? races : finding->seen >= newest->stamp)
        return false;
    *hold_back = finding->seen == 0;
    finding->store = *newest;
    return true;
}

/*
 * Whether the bytes that a check saw are those of a store that is ordered before it. Of others one
 * that races may have come last, and where events are missing that may be one of them.
 */
static bool seen_known(const struct versions *versions, const struct shadow_history *history,
                       const struct finding *finding)
{
    for (uint32_t i = 0; i < history->store_count; i++) {
        const struct shadow_store *store = &history->stores[i];
        if (store->stamp == finding->seen &&
            store_before(versions, history, store, finding->check.stream))
            return true;
    }
    return finding->seen == 0;
}

/* Whether the GPU, reading now, must have old bytes for one segment; fills store. */
static bool unstamped_stale(const struct versions *versions, const struct shadow_history *history,
                            struct finding *finding)
{
    const struct shadow_store *newest = NULL;
    for (uint32_t i = 0; i < history->store_count && newest == NULL; i++) {
        const struct shadow_store *store = &history->stores[i];
        if (store->flags & SHADOW_STORE_GPU)
            return false; /* newer than any CPU store that follows in the list */
        if (order_before(versions->order, store->stream, store->event, finding->check.stream))
            newest = store;
    }
    if (newest == NULL || !(newest->flags & SHADOW_STORE_AFTER_COPIES) ||
        history->up[0].end > newest->event || store_in_doubt(versions, newest) ||
        (newest->flags & SHADOW_STORE_PART))
        return false;
    finding->store = *newest;
    return true;
}

/* Likewise the CPU, of what the GPU wrote last. */
static bool unfetched_stale(const struct versions *versions, const struct shadow_history *history,
                            struct finding *finding)
{
    if (history->store_count == 0)
        return false;
    const struct shadow_store *newest = &history->stores[0];
    if (!(newest->flags & SHADOW_STORE_GPU) ||
        !order_before(versions->order, newest->stream, newest->event, finding->check.stream) ||
        (history->down_count > 0 && history->down[0].end > newest->event) ||
        store_in_doubt(versions, newest) || (newest->flags & SHADOW_STORE_PART))
        return false;
    finding->store = *newest;
    return true;
}

/* What one page's piece says; findings to be held back are kept here. */
static enum versions_word piece_check(struct versions *versions, const struct shadow_page *page,
                                      const struct piece *piece, struct finding *out)
{
    enum versions_word word = VERSIONS_FRESH;
    for (uint32_t i = 0; i < page->count; i++) {
        const struct shadow_segment *segment = &page->segments[i];
        uint32_t first = segment->first > piece->first ? segment->first : piece->first;
        uint32_t end = segment->end < piece->end ? segment->end : piece->end;
        if (first >= end)
            continue;
        struct finding finding = *out;
        bool hold_back = false;
        bool found = finding.stamped
                         ? stamped_stale(versions, &segment->history, &finding, &hold_back)
                     : finding.agent == TRK_AGENT_GPU
                         ? unstamped_stale(versions, &segment->history, &finding)
                         : unfetched_stale(versions, &segment->history, &finding);
        if (found && (views_in_doubt(versions, page->key, &finding.store) ||
                      (finding.stamped && versions_in_doubt(versions, finding.store.event) &&
                       !seen_known(versions, &segment->history, &finding)))) {
            found = false;
            word = VERSIONS_UNKNOWN;
        }
        if (segment->history.store_count == 0 ||
            (!finding.stamped && store_in_doubt(versions, &segment->history.stores[0])))
            word = VERSIONS_UNKNOWN;
        if (!found)
            continue;
        finding.guest_addr = piece->guest_addr + (first - piece->first);
        finding.size_bytes = end - first;
        finding_blame(&finding, page, &segment->history);
        /* That the bytes are old is proven; who left them so may be missing. */
        if (versions_in_doubt(versions, finding.store.event))
            finding_unproven(&finding);
        finding.queued = finding.has_copy && finding.copy.end > versions->tick_event;
        if (!hold_back) {
            *out = finding;
            return VERSIONS_STALE;
        }
        if (versions->held_count < HELD_BACK_MAX)
            versions->held[versions->held_count++] =
                (struct held){.finding = finding, .key = page->key, .first = first, .end = end};
    }
    return word;
}

enum versions_word versions_check(struct versions *versions, struct finding *finding)
{
    if (!access_valid(&finding->check))
        return VERSIONS_UNKNOWN;
    uint64_t at = finding->check.guest_addr, end_addr = at + finding->check.size_bytes;
    enum versions_word word = VERSIONS_FRESH;
    struct piece piece;
    while (piece_next(&at, end_addr, &piece)) {
        const struct shadow_page *page =
            shadow_find(versions->shadow, views_key(&versions->views, piece.guest_addr));
        enum versions_word one =
            page == NULL ? VERSIONS_UNKNOWN : piece_check(versions, page, &piece, finding);
        if (one == VERSIONS_STALE)
            return VERSIONS_STALE;
        if (one == VERSIONS_UNKNOWN)
            word = VERSIONS_UNKNOWN;
    }
    return word;
}

bool versions_unexcused(const struct versions *versions, struct finding *out)
{
    for (size_t i = 0; i < versions->held_count; i++) {
        if (store_in_doubt(versions, &versions->held[i].finding.store) ||
            views_in_doubt(versions, versions->held[i].key, &versions->held[i].finding.store))
            continue;
        *out = versions->held[i].finding;
        return true;
    }
    return false;
}
