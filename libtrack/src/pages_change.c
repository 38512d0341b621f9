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

/* Whether all pages [first, end) have exactly these rights at the host. */
static bool all_have(const struct region *region, uint32_t first, uint32_t end, unsigned rights)
{
    if (first >= end)
        return true;
    struct window window = {.first = first, .end = end};
    uint64_t read = rights & TRK_RIGHT_READ ? ~UINT64_C(0) : 0;
    uint64_t write = rights & TRK_RIGHT_WRITE ? ~UINT64_C(0) : 0;
    uint64_t exec = rights & TRK_RIGHT_EXEC ? ~UINT64_C(0) : 0;
    FOR_WINDOW_WORDS(word, &window)
    {
        struct rights_word now = rights_host(region, word);
        uint64_t other = (now.read ^ read) | (now.write ^ write) | (now.exec ^ exec);
        if (other & window_mask(&window, word))
            return false;
    }
    return true;
}

/*
 * Pages [first, end) need the host to be told. Pages between the run and these are bridged when
 * they have the run's protection already; otherwise the run is flushed. (Trackers of emulators do
 * the same: for mprotect one longer call is cheaper than two.)
 */
static bool run_add(struct hold *hold, struct run *run, const struct run *added)
{
    if (run->end != 0 && run->rights == added->rights &&
        all_have(hold->region, run->end, added->first, run->rights)) {
        run->end = added->end;
        return true;
    }
    bool done = run_flush(hold, run);
    /* On failure the run stays as it was: whoever takes back must know where it stopped. */
    if (done)
        *run = *added;
    return done;
}

/* Rights at the host before a change; only the window's words are filled. */
struct rights_before {
    struct rights_word words[TRK_REGION_WORDS];
};

static void remember(struct rights_before *before, const struct region *region,
                     const struct window *window)
{
    FOR_WINDOW_WORDS(word, window)
    before->words[word] = rights_host(region, word);
}

/* The run that starts at the lowest of `pages` (not 0) of a word: equal rights, neighbouring. */
static struct run first_run(struct rights_word rights, uint64_t pages, uint32_t word)
{
    uint32_t first = (uint32_t)__builtin_ctzll(pages);
    uint64_t same = pages & ~(rights.read ^ (0 - (rights.read >> first & 1))) &
                    ~(rights.write ^ (0 - (rights.write >> first & 1))) &
                    ~(rights.exec ^ (0 - (rights.exec >> first & 1)));
    uint64_t gaps = ~(same >> first);
    uint32_t count = gaps == 0 ? 64 : (uint32_t)__builtin_ctzll(gaps);
    return (struct run){
        .first = word * 64 + first,
        .end = word * 64 + first + count,
        .rights = rights_of_page(rights, first),
    };
}

/*
 * Tell the host about the window's pages whose rights have moved. Gives the first page of the call
 * that the host refused, or the window's end.
 */
static uint32_t protect_moved(struct hold *hold, const struct window *window,
                              const struct rights_before *before)
{
    struct run run = {0};
    FOR_WINDOW_WORDS(word, window)
    {
        struct rights_word now = rights_host(hold->region, word);
        const struct rights_word *was = &before->words[word];
        uint64_t moved = (now.read ^ was->read) | (now.write ^ was->write) | (now.exec ^ was->exec);
        moved &= window_mask(window, word);
        while (moved != 0) {
            struct run added = first_run(now, moved, word);
            if (TRK_UNLIKELY(!run_add(hold, &run, &added)))
                return run.first;
            uint32_t count = added.end - added.first;
            moved &=
                ~((count == 64 ? ~UINT64_C(0) : (UINT64_C(1) << count) - 1) << (added.first % 64));
        }
    }
    return run_flush(hold, &run) ? window->end : run.first;
}

/* One change of watches, and what it takes to undo it. */
struct change {
    const struct window *window;
    const uint64_t *mask;
    enum watch_change kind;
    uint64_t counted[TRK_REGION_WORDS]; /* pages of which counts[] moved, not the sets alone */
};

static bool drops_writes(enum watch_change kind)
{
    return kind == WATCH_WRITE_DROP || kind == WATCH_BOTH_DROP;
}

static bool change_allowed(const struct region *region, const struct change *change)
{
    FOR_WINDOW_WORDS(word, change->window)
    {
        uint64_t mask = change->mask[word] & window_mask(change->window, word);
        uint64_t bad = 0;
        if (drops_writes(change->kind))
            bad |= mask & ~region->watched[word];
        if (change->kind == WATCH_READ_DROP || change->kind == WATCH_BOTH_DROP)
            bad |= mask & ~region->read[word];
        if (change->kind == WATCH_READ_ADD)
            bad |= mask & region->read[word];
        if (change->kind == WATCH_ARM)
            bad |= mask & region->extra->armed[word];
        if (change->kind == WATCH_DISARM)
            bad |= mask & ~region->extra->armed[word];
        if (TRK_UNLIKELY(bad != 0))
            return false;
        if (change->kind != WATCH_WRITE_ADD)
            continue;
        for (uint64_t full = mask & region->many[word]; full != 0; full &= full - 1) {
            uint32_t page = word * 64 + (uint32_t)__builtin_ctzll(full);
            if (region->counts[page] + 1u >= WRITE_WATCHES_MAX)
                return false;
        }
    }
    return true;
}

/* Move the counts of pages that have, or get, more than one write watch. */
static void move_counts(struct region *region, uint32_t word, uint64_t pages, int step)
{
    for (; pages != 0; pages &= pages - 1) {
        uint32_t page = word * 64 + (uint32_t)__builtin_ctzll(pages);
        region->counts[page] = (uint8_t)(region->counts[page] + step);
        uint64_t bit = UINT64_C(1) << (page % 64);
        if (region->counts[page] != 0)
            region->many[word] |= bit;
        else
            region->many[word] &= ~bit;
    }
}

/* The sets that a change moves whole: read watches and armed pages; forward or back. */
static void move_sets(struct region *region, uint32_t word, uint64_t mask, enum watch_change kind,
                      bool forward)
{
    uint64_t *set = NULL;
    if (kind == WATCH_READ_ADD || kind == WATCH_READ_DROP || kind == WATCH_BOTH_DROP)
        set = &region->read[word];
    else if (kind == WATCH_ARM || kind == WATCH_DISARM)
        set = &region->extra->armed[word];
    if (set == NULL)
        return;
    bool add = (kind == WATCH_READ_ADD || kind == WATCH_ARM) == forward;
    *set = add ? *set | mask : *set & ~mask;
}

/* Make the change on the sets; gives how many pages it touched. */
static uint32_t change_apply(struct region *region, struct change *change)
{
    uint32_t count = 0;
    FOR_WINDOW_WORDS(word, change->window)
    {
        uint64_t mask = change->mask[word] & window_mask(change->window, word);
        count += (uint32_t)__builtin_popcountll(mask);
        change->counted[word] = 0;
        if (change->kind == WATCH_WRITE_ADD) {
            change->counted[word] = mask & region->watched[word];
            region->watched[word] |= mask;
            move_counts(region, word, change->counted[word], 1);
        } else if (drops_writes(change->kind)) {
            change->counted[word] = mask & region->many[word];
            region->watched[word] &= ~(mask & ~change->counted[word]);
            move_counts(region, word, change->counted[word], -1);
        }
        move_sets(region, word, mask, change->kind, true);
    }
    return count;
}

static void change_undo(struct region *region, const struct change *change)
{
    FOR_WINDOW_WORDS(word, change->window)
    {
        uint64_t mask = change->mask[word] & window_mask(change->window, word);
        uint64_t first = mask & ~change->counted[word];
        if (change->kind == WATCH_WRITE_ADD) {
            region->watched[word] &= ~first;
            move_counts(region, word, change->counted[word], -1);
        } else if (drops_writes(change->kind)) {
            region->watched[word] |= first;
            move_counts(region, word, change->counted[word], 1);
        }
        move_sets(region, word, mask, change->kind, false);
    }
}

/* Pages that are watched already get a second watch: they need a count. */
static bool needs_counts(const struct region *region, const struct change *change)
{
    if (change->kind != WATCH_WRITE_ADD || region->counts != NULL)
        return false;
    FOR_WINDOW_WORDS(word, change->window)
    if (change->mask[word] & region->watched[word] & window_mask(change->window, word))
        return true;
    return false;
}

/* Take the calls before the refused one back, after the sets have gone back. */
static void protect_back(struct hold *hold, const struct window *window,
                         const struct rights_before *made, uint32_t refused)
{
    struct window before = {window->index, window->first, refused};
    /* If the host refuses the way back as well there is nothing more to be done. */
    if (before.first < before.end)
        protect_moved(hold, &before, made);
}

enum trk_status trk_pages_change(const struct operation *operation, const struct window *window,
                                 const uint64_t *mask, enum watch_change kind)
{
    struct hold hold;
    struct change change = {.window = window, .mask = mask, .kind = kind};
    struct rights_before before;
    hold_begin(&hold, operation, window->index);
    struct region *region = hold.region;
    if (TRK_UNLIKELY(needs_counts(region, &change)))
        region->counts = trk_arena_take(operation->tracker, TRK_REGION_PAGES);
    if ((kind == WATCH_ARM || kind == WATCH_DISARM) && region->extra == NULL)
        region->extra = trk_arena_take(operation->tracker, sizeof *region->extra);
    bool armless = (kind == WATCH_ARM || kind == WATCH_DISARM) && region->extra == NULL;
    if (TRK_UNLIKELY(armless || needs_counts(region, &change))) {
        hold_end(&hold, 0);
        return TRK_E_MEMORY;
    }
    if (TRK_UNLIKELY(!change_allowed(region, &change))) {
        hold_end(&hold, 0);
        return TRK_E_WATCH;
    }
    remember(&before, region, window);
    uint32_t count = change_apply(region, &change);
    region->pages_changes++;
    uint32_t refused = protect_moved(&hold, window, &before);
    if (TRK_UNLIKELY(refused != window->end)) {
        remember(&before, region, window);
        change_undo(region, &change);
        protect_back(&hold, window, &before, refused);
        count = 0;
    }
    hold_end(&hold, count);
    return refused == window->end ? TRK_OK : TRK_E_PROTECT;
}

bool trk_pages_may_change(const struct trk_tracker *tracker, const struct window *window, bool add)
{
    const struct region *region = region_slot(tracker, window->index);
    for (uint32_t page = window->first; page < window->end; page++) {
        unsigned count = page_write_watches(region, page);
        if (add ? count >= WRITE_WATCHES_MAX : count == 0)
            return false;
    }
    return true;
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
    unsigned guest = rights_of_page(rights_guest(hold.region, page / 64), page);
    unsigned host = rights_of_page(rights_host(hold.region, page / 64), page);
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

static void set_window(uint64_t *set, const struct window *window, bool value)
{
    FOR_WINDOW_WORDS(word, window)
    {
        uint64_t mask = window_mask(window, word);
        set[word] = value ? set[word] | mask : set[word] & ~mask;
    }
}

static uint32_t count_moved(const struct window *window, const struct page_extra *former,
                            const struct page_extra *now)
{
    uint32_t count = 0;
    FOR_WINDOW_WORDS(word, window)
    count += (uint32_t)__builtin_popcountll((former->no_read[word] ^ now->no_read[word]) |
                                            (former->no_write[word] ^ now->no_write[word]) |
                                            (former->exec[word] ^ now->exec[word]));
    return count;
}

enum trk_status trk_pages_set_rights(const struct operation *operation, const struct window *window,
                                     unsigned rights)
{
    struct hold hold;
    hold_begin(&hold, operation, window->index);
    struct region *region = hold.region;
    if (region->extra == NULL)
        region->extra = trk_arena_take(operation->tracker, sizeof *region->extra);
    struct page_extra *extra = region->extra;
    if (extra == NULL) {
        hold_end(&hold, 0);
        return TRK_E_MEMORY;
    }
    struct page_extra former = *extra;
    struct rights_before before;
    remember(&before, region, window);
    set_window(extra->no_read, window, !(rights & TRK_RIGHT_READ));
    set_window(extra->no_write, window, !(rights & TRK_RIGHT_WRITE));
    set_window(extra->exec, window, (rights & TRK_RIGHT_EXEC) != 0);
    uint32_t count = count_moved(window, &former, extra);
    region->pages_changes += count != 0;
    uint32_t refused = protect_moved(&hold, window, &before);
    if (refused != window->end) {
        remember(&before, region, window);
        *extra = former;
        protect_back(&hold, window, &before, refused);
        count = 0;
    }
    hold_end(&hold, count);
    return refused == window->end ? TRK_OK : TRK_E_PROTECT;
}
