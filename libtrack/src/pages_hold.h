/*
 * A hold of the page manager, and the host calls that are made in it.
 *
 * A hold is one acquisition of the lock of a region's page manager. Whoever changes what a page's
 * protection follows from remembers the rights before, makes the change, and tells the host where
 * they have moved: ascending, neighbouring pages joined.
 *
 * Rules: [M-35] [M-41].
 */
#ifndef TRACK_PAGES_HOLD_H
#define TRACK_PAGES_HOLD_H

#include "internal.h"
#include "mutation.h"
#include "state_hash.h"

/* One hold. Events are held back by one, since the last carries the end of the hold. */
struct hold {
    const struct operation *operation;
    struct region *region; /* that calls are made in now */
    uint32_t index;        /* its number */
    struct env_lock *lock;
    uint32_t number; /* of the domain: the region's, or TRK_DOMAIN_SHARED */
    uint32_t seq;
    bool bracketed; /* begun with LOCK, ends with UNLOCK */
    bool thrifty; /* an opening that takes mappings may be refused: the caller knows another way */
    bool no_room; /* the next call is not to be made: it would pass the budget of mappings */
    bool uncounted; /* calls that take back what was not counted as mappings */
    struct trk_event pending;
    bool has_pending;
};

static inline bool region_shared(const struct region *region)
{
    return env_peek_flag(&region->shared);
}

static inline void hold_take(const struct operation *operation, struct env_lock *lock,
                             uint32_t number)
{
    const struct trk_tracker *tracker = operation->tracker;
    uint32_t id = operation->self->id;
    if (MUTANT(30))
        return;
    if (TRK_LIKELY(env_lock_try(lock, id)))
        return;
    if (tracker->observer.wait != NULL)
        tracker->observer.wait(tracker->observer.context,
                               trk_domain(TRK_DOMAIN_PAGES, tracker->id, number));
    env_lock_slow(lock, id);
}

/* The hold of all regions with shared pages. */
static inline void hold_begin_shared(struct hold *hold, const struct operation *operation,
                                     uint32_t index)
{
    struct view_table *views = &operation->tracker->views;
    hold_take(operation, &views->lock, TRK_DOMAIN_SHARED);
    *hold = (struct hold){
        .operation = operation,
        .region = region_slot(operation->tracker, index),
        .index = index,
        .lock = &views->lock,
        .number = TRK_DOMAIN_SHARED,
        .seq = ++views->seq,
    };
}

/* A hold of the region's own lock. Its number is counted by the caller. */
static inline void hold_begin_own(struct hold *hold, const struct operation *operation,
                                  uint32_t index)
{
    struct region *region = region_slot(operation->tracker, index);
    hold_take(operation, &region->pages_lock, index);
    hold->operation = operation;
    hold->region = region;
    hold->index = index;
    hold->lock = &region->pages_lock;
    hold->number = index;
    hold->bracketed = false;
    hold->thrifty = false;
    hold->no_room = false;
    hold->uncounted = false;
    hold->has_pending = false;
}

/*
 * In a hold that changes watches or rights, before it does: what the holds so far have made of
 * them. A look is no such hold: it begins its operation.
 */
static inline void hold_state(const struct hold *hold)
{
    const struct trk_tracker *tracker = hold->operation->tracker;
    if (TRK_LIKELY(!state_is_due(hold->seq)) || hold->number == TRK_DOMAIN_SHARED ||
        !observed(tracker))
        return;
    emit(tracker, &(struct trk_event){
                      .type = TRK_EVENT_STATE,
                      .argument = trk_state_pages(hold->region),
                      .domain = trk_domain(TRK_DOMAIN_PAGES, tracker->id, hold->number),
                      .seq = hold->seq,
                  });
}

static inline void hold_begin(struct hold *hold, const struct operation *operation, uint32_t index)
{
    const struct region *region = region_slot(operation->tracker, index);
    if (TRK_LIKELY(!region_shared(region))) {
        hold_begin_own(hold, operation, index);
        /* Another thread may have begun to share it while this one waited. */
        if (TRK_LIKELY(!region_shared(region))) {
            hold->seq = ++hold->region->pages_seq;
            return;
        }
        env_unlock(hold->lock);
    }
    hold_begin_shared(hold, operation, index);
}

static inline void hold_event(struct hold *hold, struct trk_event event)
{
    event.domain = trk_domain(TRK_DOMAIN_PAGES, hold->operation->tracker->id, hold->number);
    event.seq = hold->seq;
    if (hold->has_pending)
        emit(hold->operation->tracker, &hold->pending);
    hold->pending = event;
    hold->has_pending = true;
}

static inline void hold_end(struct hold *hold, uint32_t pages_changed)
{
    env_unlock(hold->lock);
    if (!observed(hold->operation->tracker))
        return;
    if (hold->bracketed)
        hold_event(hold, (struct trk_event){.type = TRK_EVENT_UNLOCK});
    else if (!hold->has_pending)
        hold_event(hold, (struct trk_event){
                             .type = TRK_EVENT_WATCH,
                             .pages = (uint16_t)pages_changed,
                         });
    if (hold->pending.type == TRK_EVENT_PROTECT)
        hold->pending.flags |= TRK_EVENT_HOLD_END;
    emit(hold->operation->tracker, &hold->pending);
}

/* The region's extra sets, made if need be; NULL: no memory. In a hold; readers may have none. */
static inline struct page_extra *pages_extra(struct trk_tracker *tracker, struct region *region)
{
    if (region->extra == NULL)
        __atomic_store_n(&region->extra, trk_arena_take(tracker, sizeof *region->extra),
                         __ATOMIC_RELEASE);
    return region->extra;
}

/* Rights at the host before a change, which comes next; only the window's words are filled. */
struct rights_before {
    struct rights_word words[TRK_REGION_WORDS];
};

static inline void remember(struct rights_before *before, const struct region *region,
                            const struct window *window)
{
    env_pages_change(region);
    FOR_WINDOW_WORDS(word, window)
    before->words[word] = rights_host(region, word);
}

/*
 * Tell the host about the window's pages whose rights have moved. Gives the first page of the call
 * that the host refused, or the window's end.
 */
uint32_t trk_pages_protect_moved(struct hold *hold, const struct window *window,
                                 const struct rights_before *before);
/*
 * Take the calls before the refused one back; the sets have gone back already, and `made` is what
 * the calls gave.
 */
void trk_pages_protect_back(struct hold *hold, const struct window *window,
                            const struct rights_before *made, uint32_t refused);

#endif
