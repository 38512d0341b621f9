/*
 * Streams that wait for each other's locks in a circle.
 */
#include "circle.h"

#include "story.h"
#include "track/address.h"

static uint32_t holder_of(const struct waiting *waiting)
{
    return waiting->lock->holder - 1;
}

/* The lowest stream of a circle; stream_count: there is none. */
static uint32_t find(const struct run *run, waiting_of_fn *waiting_of)
{
    for (uint32_t i = 0; i < run->stream_count; i++) {
        uint32_t at = i;
        for (uint32_t steps = 0; steps <= run->stream_count; steps++) {
            const struct waiting waiting = waiting_of(run, at);
            if (waiting.lock == NULL)
                break;
            at = holder_of(&waiting);
            if (at == i)
                return i;
        }
    }
    return run->stream_count;
}

static void tell(struct run *run, waiting_of_fn *waiting_of, uint32_t first)
{
    struct waiting waiting = waiting_of(run, first);
    uint32_t region = trk_domain_region(waiting.lock->domain);
    story_set(run, TRK_VERDICT_DEADLOCK, waiting.event, first, run->number);
    story_range(run, trk_region_address(region), TRK_REGION_BYTES);
    story_text(run, "%s waits for the lock of region %u in a circle", story_stream(run, first).text,
               region);
    uint32_t at = first;
    do {
        waiting = waiting_of(run, at);
        uint32_t holder = holder_of(&waiting);
        region = trk_domain_region(waiting.lock->domain);
        story_add(run, waiting.lock->event, holder, "takes the lock of region %u", region);
        story_add(run, waiting.event, at, "%s waits for region %u, held by %s",
                  trk_op_name(waiting.op), region, story_stream(run, holder).text);
        at = holder;
    } while (at != first);
}

bool circle_tell(struct run *run, waiting_of_fn *waiting_of)
{
    uint32_t first = find(run, waiting_of);
    if (first == run->stream_count)
        return false;
    tell(run, waiting_of, first);
    return true;
}
