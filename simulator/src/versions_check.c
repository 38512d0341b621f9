/*
 * The version check: judging reads.
 *
 * A read is judged against the newest store to the byte that is ordered before it. Stamps grow
 * with later stores to the same bytes, so that a check that saw a smaller stamp saw older bytes. A
 * check that saw bytes of no known stamp may have met a store half-way: it counts only when no
 * store races it, and as the racing store's event may come later in the log, it is kept back until
 * the end. A read without a stamp is stale only when every copy that could have brought the store
 * is ordered before it. What a granule has forgotten, and what was never known, is unknown, not
 * fresh.
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

/* What the GPU, reading now, has of one segment; stale fills store. */
static enum versions_word unstamped_word(const struct versions *versions,
                                         const struct shadow_history *history,
                                         struct finding *finding)
{
    const struct shadow_store *newest = NULL;
    bool part = false;
    for (uint32_t i = 0; i < history->store_count && newest == NULL; i++) {
        const struct shadow_store *store = &history->stores[i];
        bool gpu = (store->flags & SHADOW_STORE_GPU) != 0;
        if (gpu && (store->flags & SHADOW_STORE_PART) == 0)
            return VERSIONS_FRESH; /* newer than any CPU store that follows in the list */
        part |= gpu;
        if (!gpu &&
            order_before(versions->order, store->stream, store->event, finding->check.stream))
            newest = store;
    }
    if (newest == NULL)
        return part ? VERSIONS_UNKNOWN : VERSIONS_FRESH;
    /* Of bytes of which no copy was ever noted it is not known how the GPU comes by them. */
    if (history->up_count == 0)
        return VERSIONS_UNKNOWN;
    if (!(newest->flags & SHADOW_STORE_AFTER_COPIES) || history->up[0].end > newest->event)
        return VERSIONS_FRESH;
    if (part || (newest->flags & SHADOW_STORE_PART) || store_in_doubt(versions, newest))
        return VERSIONS_UNKNOWN;
    finding->store = *newest;
    return VERSIONS_STALE;
}

/* Likewise the CPU, of what the GPU wrote last. */
static enum versions_word unfetched_word(const struct versions *versions,
                                         const struct shadow_history *history,
                                         struct finding *finding)
{
    const uint32_t cpu_part = SHADOW_STORE_PART;
    uint32_t i = 0;
    while (i < history->store_count &&
           (history->stores[i].flags & (SHADOW_STORE_PART | SHADOW_STORE_GPU)) == cpu_part)
        i++;
    /* What lies below as many stores as are kept is forgotten. */
    if (i == history->store_count)
        return i == SHADOW_STORES ? VERSIONS_UNKNOWN : VERSIONS_FRESH;
    const struct shadow_store *newest = &history->stores[i];
    if (!(newest->flags & SHADOW_STORE_GPU) ||
        !order_before(versions->order, newest->stream, newest->event, finding->check.stream) ||
        (history->down_count > 0 && history->down[0].end > newest->event))
        return VERSIONS_FRESH;
    if (i > 0 || (newest->flags & SHADOW_STORE_PART) || store_in_doubt(versions, newest))
        return VERSIONS_UNKNOWN;
    finding->store = *newest;
    return VERSIONS_STALE;
}

/* What a read without a stamp has of one segment; stale fills store. */
static enum versions_word moved_word(const struct versions *versions,
                                     const struct shadow_history *history, struct finding *finding)
{
    return finding->agent == TRK_AGENT_GPU ? unstamped_word(versions, history, finding)
                                           : unfetched_word(versions, history, finding);
}

/*
 * A check whose newest store before it is one of unknown content, or to a part of the granule.
 * Where it saw what an older store left, it is judged as a read that says nothing of what it saw.
 */
static enum versions_word unknown_newest(const struct versions *versions,
                                         const struct shadow_history *history,
                                         const struct shadow_store *newest, struct finding *finding)
{
    bool older = false;
    for (uint32_t i = 0; i < history->store_count && finding->seen != 0; i++) {
        const struct shadow_store *store = &history->stores[i];
        older |= store->stamp == finding->seen && store->event < newest->event;
    }
    if (older && moved_word(versions, history, finding) == VERSIONS_STALE)
        return VERSIONS_STALE;
    return VERSIONS_UNKNOWN;
}

/* What a check with a stamp saw of one segment; stale fills store and *hold_back. */
static enum versions_word stamped_word(const struct versions *versions,
                                       const struct shadow_history *history,
                                       struct finding *finding, bool *hold_back)
{
    bool races, unknown = false;
    const struct shadow_store *last = NULL; /* the newest store that is ordered before */
    const struct shadow_store *newest =
        newest_before(versions, history, finding->check.stream, &races);
    if (newest == NULL)
        return VERSIONS_FRESH;
    for (uint32_t i = 0; i < history->store_count; i++) {
        const struct shadow_store *store = &history->stores[i];
        bool before = store_before(versions, history, store, finding->check.stream);
        if (!before && store->stamp == finding->seen)
            return VERSIONS_FRESH;
        if (before && last == NULL)
            last = store;
        unknown |= store->stamp == 0 && (store->event > newest->event ||
                                         (!before && (store->flags & SHADOW_STORE_PART) != 0));
    }
    if (last != NULL && last->stamp == 0)
        return unknown_newest(versions, history, last, finding);
    if (finding->seen == 0 ? races : finding->seen >= newest->stamp)
        return VERSIONS_FRESH;
    if (unknown)
        return VERSIONS_UNKNOWN;
    *hold_back = finding->seen == 0;
    finding->store = *newest;
    return VERSIONS_STALE;
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
        enum versions_word one =
            finding.stamped ? stamped_word(versions, &segment->history, &finding, &hold_back)
                            : moved_word(versions, &segment->history, &finding);
        bool found = one == VERSIONS_STALE;
        if (one == VERSIONS_UNKNOWN)
            word = VERSIONS_UNKNOWN;
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
