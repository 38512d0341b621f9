#include "record_losses.h"

#include <stdlib.h>

#include "clock_ticks.h"
#include "record_streams.h"

static void count_lost(struct trk_record_drain *drain, struct trk_record_drain_ring *ring,
                       uint32_t kind, uint64_t count)
{
    trk_record_streams_lose(ring, trk_session_loss_type(kind));
    drain->dropped += count;
    drain->dropped_of[kind] += count;
    if (drain->trigger)
        trk_record_trigger_lost(drain->trigger, trk_session_loss_type(kind), count);
}

bool trk_record_losses_make(struct trk_record_drain *drain, struct trk_record_drain_ring *ring,
                            struct trk_record *loss)
{
    uint32_t kind = trk_session_loss_kind(loss->event.context);
    uint64_t count = loss->event.argument;
    if (count <= ring->told[kind])
        return false;
    uint64_t lost = count - ring->told[kind];
    ring->told[kind] = count;
    count_lost(drain, ring, kind, lost);
    struct trk_event event = {
        .argument = lost, .type = TRK_EVENT_DROP, .context = (uint16_t)trk_session_loss_type(kind)};
    uint64_t last_tsc = loss->tsc + trk_event_size(&loss->event);
    if (loss->tsc < ring->last_tsc)
        loss->tsc = ring->last_tsc;
    trk_event_set_size(&event, last_tsc > loss->tsc ? last_tsc - loss->tsc : 0);
    loss->event = event;
    return true;
}

bool trk_record_losses_untold(const struct trk_record_drain_ring *ring,
                              const struct trk_session_losses *losses)
{
    for (uint32_t kind = 0; kind < TRK_SESSION_LOSS_KINDS; ++kind) {
        if (atomic_load_explicit(&losses->kinds[kind].count, memory_order_relaxed) >
            ring->told[kind])
            return true;
    }
    return false;
}

void trk_record_losses_read(struct trk_session_losses *out, const struct trk_session_losses *losses)
{
    for (uint32_t kind = 0; kind < TRK_SESSION_LOSS_KINDS; ++kind) {
        const struct trk_session_loss *loss = &losses->kinds[kind];
        uint64_t count = atomic_load_explicit(&loss->count, memory_order_relaxed);
        uint64_t first = atomic_load_explicit(&loss->first, memory_order_relaxed);
        uint64_t last = atomic_load_explicit(&loss->last, memory_order_relaxed);
        atomic_init(&out->kinds[kind].count, count);
        atomic_init(&out->kinds[kind].first, first);
        atomic_init(&out->kinds[kind].last, last);
    }
    atomic_thread_fence(memory_order_acquire);
}

void trk_record_losses_nonsense(struct trk_record_drain *drain, struct trk_record_drain_ring *ring,
                                struct trk_record *record)
{
    *record =
        (struct trk_record){ring->last_tsc, {.argument = 1, .type = TRK_EVENT_DROP, .context = 0}};
    count_lost(drain, ring, 0, 1);
}

struct trk_record trk_record_losses_own(struct trk_record_drain *drain,
                                        struct trk_record_drain_ring *ring, uint8_t type,
                                        uint64_t count)
{
    ring->last_tsc = trk_clock_ticks();
    count_lost(drain, ring, trk_session_loss_kind(type), count);
    return (struct trk_record){ring->last_tsc,
                               {.argument = count, .type = TRK_EVENT_DROP, .context = type}};
}

bool trk_record_losses_discard(struct trk_record_drain *drain, struct trk_record_drain_ring *ring,
                               const struct trk_record *record)
{
    if (!ring->discards)
        ring->discards = calloc(1, sizeof(*ring->discards));
    if (!ring->discards)
        return false;
    uint32_t kind = trk_session_loss_kind(record->event.type);
    if (ring->discards->count[kind] == 0)
        ring->discards->first[kind] = record->tsc;
    ring->discards->last[kind] = record->tsc;
    ring->discards->count[kind] += 1;
    ring->discards->any = true;
    drain->discarded += 1;
    count_lost(drain, ring, kind, 1);
    return true;
}
