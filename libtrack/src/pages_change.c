/*
 * Watch counts of a region's pages, and the host calls that follow from them.
 *
 * Every change is a hold of the page manager's lock of that region: check all pages, change all
 * counts, then make the host calls, ascending and joined. When the host refuses one, the calls
 * made so far are taken back and the counts with them.
 *
 * Rules: tracker-spec 6.
 */
#include <stddef.h>
#include <string.h>

#include "internal.h"

/* One hold. Events are held back by one, since the last carries the end of the hold. */
struct hold {
    const struct operation *operation;
    struct region *region;
    uint32_t index;
    uint32_t seq;
    struct trk_event pending;
    bool has_pending;
};

/* Neighbouring pages that get the same protection in one call. */
struct run {
    uint32_t first, end; /* end == 0: none open */
    unsigned rights;
};

static void hold_begin(struct hold *hold, const struct operation *operation, uint32_t index)
{
    struct trk_tracker *tracker = operation->tracker;
    struct region *region = region_slot(tracker, index);
    uint32_t id = operation->self->id;
    if (TRK_UNLIKELY(!env_lock_try(&region->pages_lock, id))) {
        if (tracker->observer.wait != NULL)
            tracker->observer.wait(tracker->observer.context,
                                   trk_domain(TRK_DOMAIN_PAGES, tracker->id, index));
        env_lock_slow(&region->pages_lock, id);
    }
    hold->operation = operation;
    hold->region = region;
    hold->index = index;
    hold->seq = ++region->pages_seq;
    hold->has_pending = false;
}

static void hold_event(struct hold *hold, struct trk_event event)
{
    event.domain = trk_domain(TRK_DOMAIN_PAGES, hold->operation->tracker->id, hold->index);
    event.seq = hold->seq;
    if (hold->has_pending)
        emit(hold->operation->tracker, &hold->pending);
    hold->pending = event;
    hold->has_pending = true;
}

static void hold_end(struct hold *hold, uint32_t pages_changed)
{
    env_unlock(&hold->region->pages_lock);
    if (!observed(hold->operation->tracker))
        return;
    if (!hold->has_pending)
        hold_event(hold, (struct trk_event){
                             .type = TRK_EVENT_WATCH,
                             .pages = (uint16_t)pages_changed,
                         });
    if (hold->pending.type == TRK_EVENT_PROTECT)
        hold->pending.flags |= TRK_EVENT_HOLD_END;
    emit(hold->operation->tracker, &hold->pending);
}

/* Make a run's call; false when the host refuses. */
static bool run_flush(struct hold *hold, struct run *run)
{
    if (run->end == 0)
        return true;
    const struct trk_tracker *tracker = hold->operation->tracker;
    uint64_t first_addr =
        trk_region_address(hold->index) + (uint64_t)run->first * TRK_HOST_PAGE_BYTES;
    uint64_t size_bytes = (uint64_t)(run->end - run->first) * TRK_HOST_PAGE_BYTES;
    bool done = env_protect(tracker->backend, first_addr, size_bytes, run->rights) == 0;
    if (observed(tracker))
        hold_event(hold, (struct trk_event){
                             .type = TRK_EVENT_PROTECT,
                             .page = (uint16_t)run->first,
                             .pages = (uint16_t)(run->end - run->first),
                             .flags = (uint8_t)(run->rights | (done ? 0 : TRK_EVENT_FAILED)),
                         });
    return done;
}

/*
 * A page needs the host to be told. Pages between the run and this one are bridged when they have
 * the run's protection already; otherwise the run is flushed. (Trackers of emulators do the same:
 * for mprotect one longer call is cheaper than two.)
 */
static bool run_add(struct hold *hold, struct run *run, uint32_t page, unsigned rights)
{
    const struct region *region = hold->region;
    bool joins = run->end != 0 && run->rights == rights;
    for (uint32_t between = run->end; joins && between < page; between++)
        joins = rights_effective(page_guest_rights(region, between), region->watches[between]) ==
                rights;
    if (joins) {
        run->end = page + 1;
        return true;
    }
    bool done = run_flush(hold, run);
    /* On failure the run stays as it was: whoever takes back must know where it stopped. */
    if (done)
        *run = (struct run){.first = page, .end = page + 1, .rights = rights};
    return done;
}

static bool change_allowed(uint8_t watches, enum watch_change change)
{
    unsigned writes = watches & WRITE_WATCHES_MAX;
    bool read = (watches & READ_WATCH) != 0;
    switch (change) {
    case WATCH_WRITE_ADD:
        return writes < WRITE_WATCHES_MAX;
    case WATCH_WRITE_DROP:
        return writes > 0;
    case WATCH_READ_ADD:
        return !read;
    case WATCH_READ_DROP:
        return read;
    case WATCH_BOTH_DROP:
        return read && writes > 0;
    }
    return false;
}

static uint8_t change_apply(uint8_t watches, enum watch_change change, bool forward)
{
    int step = 0;
    switch (change) {
    case WATCH_WRITE_ADD:
        step = 1;
        break;
    case WATCH_WRITE_DROP:
        step = -1;
        break;
    case WATCH_READ_ADD:
        step = (int)READ_WATCH;
        break;
    case WATCH_READ_DROP:
        step = -(int)READ_WATCH;
        break;
    case WATCH_BOTH_DROP:
        step = -(int)READ_WATCH - 1;
        break;
    }
    return (uint8_t)(watches + (forward ? step : -step));
}

#define FOR_MASK_PAGES(page, window, mask)                                                         \
    FOR_WINDOW_WORDS(word_, window)                                                                \
    for (uint64_t bits_ = (mask)[word_] & window_mask(window, word_); bits_ != 0;                  \
         bits_ &= bits_ - 1)                                                                       \
        for (uint32_t page = word_ * 64 + (uint32_t)__builtin_ctzll(bits_), once_ = 1; once_;      \
             once_ = 0)

/* One change of watch counts, made or taken back. */
struct change {
    const struct window *window;
    const uint64_t *mask;
    enum watch_change kind;
    bool forward;
};

static bool all_allowed(const struct region *region, const struct change *change)
{
    FOR_MASK_PAGES(page, change->window, change->mask)
    {
        if (TRK_UNLIKELY(!change_allowed(region->watches[page], change->kind)))
            return false;
    }
    return true;
}

bool trk_pages_may_change(const struct trk_tracker *tracker, const struct window *window, bool add)
{
    const struct region *region = region_slot(tracker, window->index);
    for (uint32_t page = window->first; page < window->end; page++) {
        uint8_t watches = __atomic_load_n(&region->watches[page], __ATOMIC_RELAXED);
        if (!change_allowed(watches, add ? WATCH_WRITE_ADD : WATCH_WRITE_DROP))
            return false;
    }
    return true;
}

static uint32_t all_apply(struct region *region, const struct change *change)
{
    uint32_t count = 0;
    FOR_MASK_PAGES(page, change->window, change->mask)
    {
        __atomic_store_n(&region->watches[page],
                         change_apply(region->watches[page], change->kind, change->forward),
                         __ATOMIC_RELAXED);
        count++;
    }
    return count;
}

/*
 * Tell the host about the pages whose protection the change moved; pages from `limit` on are left
 * alone. Gives the first page of the call that the host refused, or TRK_REGION_PAGES.
 */
static uint32_t all_protect(struct hold *hold, const struct change *change, uint32_t limit)
{
    const struct region *region = hold->region;
    struct run run = {0};
    FOR_MASK_PAGES(page, change->window, change->mask)
    {
        if (page >= limit)
            continue;
        unsigned guest = page_guest_rights(region, page);
        uint8_t now = region->watches[page];
        unsigned rights = rights_effective(guest, now);
        if (rights == rights_effective(guest, change_apply(now, change->kind, !change->forward)))
            continue;
        if (TRK_UNLIKELY(!run_add(hold, &run, page, rights)))
            return run.first;
    }
    return run_flush(hold, &run) ? TRK_REGION_PAGES : run.first;
}

enum trk_status trk_pages_change(const struct operation *operation, const struct window *window,
                                 const uint64_t *mask, enum watch_change kind)
{
    struct hold hold;
    struct change change = {window, mask, kind, true};
    hold_begin(&hold, operation, window->index);
    struct region *region = hold.region;
    if (TRK_UNLIKELY(!all_allowed(region, &change))) {
        hold_end(&hold, 0);
        return TRK_E_WATCH;
    }
    uint32_t count = all_apply(region, &change);
    region->pages_changes++;
    uint32_t refused = all_protect(&hold, &change, TRK_REGION_PAGES);
    if (TRK_UNLIKELY(refused != TRK_REGION_PAGES)) {
        /* If the host refuses the way back as well there is nothing more to be done. */
        change.forward = false;
        all_apply(region, &change);
        all_protect(&hold, &change, refused);
        count = 0;
    }
    hold_end(&hold, count);
    return refused == TRK_REGION_PAGES ? TRK_OK : TRK_E_PROTECT;
}

enum trk_fault_look trk_pages_look(const struct operation *operation, enum trk_access access,
                                   uint32_t *changes)
{
    static const unsigned needed[] = {
        [TRK_ACCESS_READ] = TRK_RIGHT_READ,
        [TRK_ACCESS_WRITE] = TRK_RIGHT_WRITE,
        [TRK_ACCESS_EXECUTE] = TRK_RIGHT_EXEC,
    };
    uint32_t index = trk_region_index(operation->guest_addr);
    uint32_t page = (uint32_t)(operation->guest_addr % TRK_REGION_BYTES / TRK_HOST_PAGE_BYTES);
    struct trk_event event = {
        .type = TRK_EVENT_FAULT,
        .argument = operation->guest_addr,
        .flags = (uint8_t)access,
        .context = TRK_LOOK_UNKNOWN,
        .domain = operation->tracker->id << 24,
        .page = (uint16_t)page,
    };
    *changes = 0;
    if (!region_live(operation->tracker, index)) {
        if (observed(operation->tracker))
            emit(operation->tracker, &event);
        return TRK_LOOK_UNKNOWN;
    }

    struct hold hold;
    hold_begin(&hold, operation, index);
    unsigned guest = page_guest_rights(hold.region, page);
    unsigned host = rights_effective(guest, hold.region->watches[page]);
    *changes = hold.region->pages_changes;
    enum trk_fault_look look = TRK_LOOK_CLOSED;
    if (!(guest & needed[access]))
        look = TRK_LOOK_FORBIDDEN;
    else if (host & needed[access])
        look = TRK_LOOK_PERMITTED;
    event.context = (uint16_t)look;
    if (observed(operation->tracker))
        hold_event(&hold, event);
    hold_end(&hold, 0);
    return look;
}

/* The host calls from one row of guest rights to another; gives the first page refused. */
static uint32_t rights_protect(struct hold *hold, const struct window *window,
                               const uint8_t *former)
{
    const struct region *region = hold->region;
    struct run run = {0};
    for (uint32_t page = window->first; page < window->end; page++) {
        uint8_t watches = region->watches[page];
        unsigned rights = rights_effective(page_guest_rights(region, page), watches);
        if (rights == rights_effective(former[page] ^ TRK_RIGHTS_RW, watches))
            continue;
        if (!run_add(hold, &run, page, rights))
            return run.first;
    }
    return run_flush(hold, &run) ? window->end : run.first;
}

enum trk_status trk_pages_set_rights(const struct operation *operation, const struct window *window,
                                     unsigned rights)
{
    struct region *region = region_slot(operation->tracker, window->index);
    uint8_t *fresh = NULL;
    if (__atomic_load_n(&region->guest_rights, __ATOMIC_RELAXED) == NULL) {
        fresh = trk_arena_take(operation->tracker, TRK_REGION_PAGES);
        if (fresh == NULL)
            return TRK_E_MEMORY;
    }
    struct hold hold;
    hold_begin(&hold, operation, window->index);
    if (region->guest_rights == NULL)
        __atomic_store_n(&region->guest_rights, fresh, __ATOMIC_RELAXED);

    uint8_t former[TRK_REGION_PAGES], wanted[TRK_REGION_PAGES];
    uint32_t changed = 0;
    memcpy(former, region->guest_rights, sizeof former);
    memcpy(wanted, former, sizeof wanted);
    memset(&wanted[window->first], (int)(rights ^ TRK_RIGHTS_RW), window->end - window->first);
    for (uint32_t page = window->first; page < window->end; page++)
        changed += former[page] != wanted[page];
    memcpy(region->guest_rights, wanted, sizeof wanted);
    uint32_t refused = rights_protect(&hold, window, former);
    bool done = refused == window->end;
    if (done) {
        region->pages_changes += changed != 0;
    } else {
        /* Take back the calls before the refused one, each page its own former rights. */
        struct window before = {window->index, window->first, refused};
        memcpy(region->guest_rights, former, sizeof former);
        if (before.first < before.end)
            rights_protect(&hold, &before, wanted);
        changed = 0;
    }
    hold_end(&hold, changed);
    return done ? TRK_OK : TRK_E_PROTECT;
}
