/*
 * A hold of the page manager, and the host calls that are made in it.
 *
 * A hold is one acquisition of the lock of a region's page manager. Whoever changes what a page's
 * protection follows from remembers the rights before, makes the change, and tells the host where
 * they have moved: ascending, neighbouring pages joined.
 *
 * Rules: tracker-spec 6.
 */
#ifndef TRACK_PAGES_HOLD_H
#define TRACK_PAGES_HOLD_H

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

static inline void hold_begin(struct hold *hold, const struct operation *operation, uint32_t index)
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

static inline void hold_event(struct hold *hold, struct trk_event event)
{
    event.domain = trk_domain(TRK_DOMAIN_PAGES, hold->operation->tracker->id, hold->index);
    event.seq = hold->seq;
    if (hold->has_pending)
        emit(hold->operation->tracker, &hold->pending);
    hold->pending = event;
    hold->has_pending = true;
}

static inline void hold_end(struct hold *hold, uint32_t pages_changed)
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

/* Rights at the host before a change; only the window's words are filled. */
struct rights_before {
    struct rights_word words[TRK_REGION_WORDS];
};

static inline void remember(struct rights_before *before, const struct region *region,
                            const struct window *window)
{
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
