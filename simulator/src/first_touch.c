/*
 * Regions that are met for the first time.
 *
 * Whether a region was met is looked at without its lock, and the log has no event of that look. It
 * was somewhere between the stream's last event and the one that is due now: a lock taken says that
 * the region had been met, another event that it had not, or that it did not matter. Where another
 * stream met the region in that time the core may have seen either, and is made to see what the
 * recorded one did. What was met before the last event was seen as met: that is not touched.
 */
#include <stdlib.h>

#include "run.h"
#include "track/pages.h"

struct first_touch {
    uint64_t event;
    uint32_t machine, region;
    bool hidden;
};

void first_touch_note(struct run *run, uint32_t domain)
{
    struct first_touches *touches = &run->touches;
    if (touches->count == touches->capacity) {
        size_t capacity = touches->capacity == 0 ? 64 : touches->capacity * 2;
        struct first_touch *larger = realloc(touches->list, capacity * sizeof *larger);
        if (larger == NULL) {
            run->failure = TRK_E_MEMORY;
            return;
        }
        touches->list = larger;
        touches->capacity = capacity;
    }
    touches->list[touches->count++] = (struct first_touch){
        .event = run->number,
        .machine = trk_domain_tracker(domain),
        .region = trk_domain_region(domain),
    };
}

void first_touch_deinit(struct run *run)
{
    free(run->touches.list);
}

/* Whether a range has a page in a region. */
static bool reaches(const struct machine *machine, const struct span *range, uint32_t region)
{
    if (!trk_range_valid(machine->policy.arena, range->guest_addr, range->size_bytes))
        return false;
    uint64_t page = machine->policy.page_size_bytes;
    uint64_t end = (range->guest_addr + range->size_bytes + page - 1) & ~(page - 1);
    return region >= trk_region_index(range->guest_addr & ~(page - 1)) &&
           region <= trk_region_index(end - 1);
}

/* Whether another stream is in an operation that can have met a region. */
static bool may_be_met(const struct run *run, const struct stream *stream,
                       const struct machine *machine, uint32_t region)
{
    for (uint32_t i = 0; i < run->stream_count; i++) {
        const struct operation_run *operation = run->streams[i].operation;
        for (; operation != NULL && &run->streams[i] != stream; operation = operation->outer) {
            struct span range = {operation->guest_addr, operation->size_bytes};
            if (operation->machine == machine && reaches(machine, &range, region))
                return true;
        }
    }
    return false;
}

/* The region that the event shows to have been met; TRK_REGION_COUNT: none. */
static uint32_t region_seen(const struct trk_event *event)
{
    bool known_look = event->type == TRK_EVENT_FAULT && event->context != TRK_LOOK_UNKNOWN;
    if (known_look)
        return trk_region_index(event->argument);
    if (event->type == TRK_EVENT_FAULT || !trk_event_in_hold(event) ||
        trk_domain_class(event->domain) == TRK_DOMAIN_GENERATIONS ||
        trk_domain_region(event->domain) >= TRK_REGION_COUNT)
        return TRK_REGION_COUNT;
    return trk_domain_region(event->domain);
}

static bool holds(const struct run *run, const struct stream *stream,
                  const struct first_touch *touch)
{
    uint32_t number = trk_domain(TRK_DOMAIN_REGION, touch->machine, touch->region);
    const struct domain *domain = domains_find(&run->domains, number);
    return domain != NULL && domain->holder == stream->index + 1;
}

void first_touch_begin(struct run *run, const struct stream *stream,
                       const struct trk_trace_event *due)
{
    struct first_touches *touches = &run->touches;
    const struct trk_event *event = &due->event;
    const struct operation_run *operation = stream->operation;
    bool fault = event->type == TRK_EVENT_FAULT;
    uint32_t id = fault               ? trk_domain_tracker(event->domain)
                  : operation != NULL ? (uint32_t)(operation->machine - run->machines)
                                      : RUN_TRACKERS;
    if (id >= RUN_TRACKERS || run->machines[id].tracker == NULL)
        return;
    struct machine *machine = &run->machines[id];
    /* A hold of shared regions is about several: which of them were met is not said. */
    if (trk_event_in_hold(event) && trk_domain_region(event->domain) == TRK_DOMAIN_SHARED)
        return;
    uint32_t region = region_seen(event);
    bool ours = region != TRK_REGION_COUNT &&
                trk_range_valid(machine->policy.arena, trk_region_address(region), 1) &&
                (fault || trk_domain_tracker(event->domain) == id);
    if (ours && !core_live->met(machine->tracker, trk_region_address(region)) &&
        may_be_met(run, stream, machine, region))
        core_live->set_met(machine->tracker, trk_region_address(region), true);
    struct span range = {fault ? event->argument : operation->guest_addr,
                         fault ? 1 : operation->size_bytes};
    for (size_t i = touches->count; i > 0 && touches->list[i - 1].event > stream->previous; i--) {
        struct first_touch *touch = &touches->list[i - 1];
        if (touch->machine != id || (ours && touch->region == region) ||
            !reaches(machine, &range, touch->region) || holds(run, stream, touch))
            continue;
        core_live->set_met(machine->tracker, trk_region_address(touch->region), false);
        touch->hidden = true;
    }
}

void first_touch_end(struct run *run, const struct stream *stream)
{
    struct first_touches *touches = &run->touches;
    for (size_t i = touches->count; i > 0 && touches->list[i - 1].event > stream->previous; i--) {
        struct first_touch *touch = &touches->list[i - 1];
        if (touch->hidden)
            core_live->set_met(run->machines[touch->machine].tracker,
                               trk_region_address(touch->region), true);
        touch->hidden = false;
    }
}
