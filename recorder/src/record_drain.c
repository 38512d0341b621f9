/*
 * The drain.
 *
 * Records are copied out of the ring before anything looks at them, and the tail moves on at once:
 * the thread has its room before the compression starts, and a program that writes wildly over its
 * rings changes nothing that was checked.
 */
#include "record_drain.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock_ticks.h"
#include "record_book.h"
#include "record_losses.h"
#include "record_pages.h"
#include "record_streams.h"
#include "record_threads.h"

#define BATCH_RECORDS 4096u
/* So many rings in use, and the drain looks for threads that died without a word. */
#define SCARCE_RINGS (TRK_SESSION_RINGS / 4)

enum trk_status trk_record_drain_init(struct trk_record_drain *out,
                                      const struct trk_record_session *session,
                                      struct trk_writer *writer, struct trk_error *error)
{
    *out = (struct trk_record_drain){.session = session, .writer = writer, .program_fd = -1};
    out->until = UINT64_MAX;
    out->batch = malloc(2 * BATCH_RECORDS * sizeof(*out->batch)); /* the second: catch_up */
    if (!out->batch)
        return trk_error_set(error, TRK_E_MEMORY, "out of memory for the drain");
    return TRK_OK;
}

void trk_record_drain_deinit(struct trk_record_drain *drain)
{
    for (uint32_t i = 0; i < TRK_SESSION_RINGS; ++i)
        free(drain->rings[i].discards);
    free(drain->batch);
}

/*
 * The writer's answer. After its first refusal it gets nothing more, and the rings are emptied all
 * the same: how much there was stays known, and threads keep their room.
 */
static bool writes(const struct trk_record_drain *drain)
{
    return drain->status == TRK_OK;
}

static void sink_append(struct trk_record_drain *drain, uint32_t stream_id,
                        const struct trk_record *records, size_t count, uint64_t missing,
                        struct trk_error *error)
{
    if (count == 0 || !writes(drain))
        return;
    if (drain->writer)
        drain->status = trk_writer_append(drain->writer, stream_id, records, count, missing, error);
    else if (drain->flight)
        drain->status = trk_flight_append(drain->flight, stream_id, records, count, error);
}

/* Append records of a ring's use, but for those that the file has already. */
static void ring_append(struct trk_record_drain *drain, struct trk_record_drain_ring *ring,
                        const struct trk_record *records, size_t count, struct trk_error *error)
{
    size_t skipped = ring->skip < count ? (size_t)ring->skip : count;
    ring->skip -= skipped;
    ring->ordinal += count;
    sink_append(drain, ring->stream_id, records + skipped, count - skipped, ring->missing, error);
    ring->missing = count > skipped ? 0 : ring->missing;
}

/* Put what was thrown away where it was, as losses. */
static void tell_discards(struct trk_record_drain *drain, struct trk_record_drain_ring *ring,
                          struct trk_error *error)
{
    struct trk_record losses[TRK_SESSION_LOSS_KINDS];
    struct trk_record_discards *discards = ring->discards;
    size_t count = 0;
    if (!discards || !discards->any)
        return;
    for (uint32_t kind = 0; kind < TRK_SESSION_LOSS_KINDS; ++kind) {
        if (discards->count[kind] == 0)
            continue;
        struct trk_record *loss = &losses[count++];
        *loss = (struct trk_record){discards->first[kind],
                                    {.argument = discards->count[kind],
                                     .type = TRK_EVENT_DROP,
                                     .context = (uint16_t)trk_session_loss_type(kind)}};
        trk_event_set_size(&loss->event, discards->last[kind] - discards->first[kind]);
    }
    *discards = (struct trk_record_discards){0};
    ring_append(drain, ring, losses, count, error);
}

/* Whether a record of the batch, made what the trace has of it, is kept. */
static bool keep(struct trk_record_drain *drain, struct trk_record_drain_ring *ring,
                 struct trk_record *record)
{
    uint8_t type = record->event.type;
    if (TRK_UNLIKELY(type == TRK_EVENT_DROP))
        return trk_record_losses_make(drain, ring, record);
    if (TRK_UNLIKELY(type == TRK_EVENT_NONE)) {
        trk_record_losses_nonsense(drain, ring, record);
        return true;
    }
    if (TRK_UNLIKELY(drain->disabled) && trk_record_losses_discard(drain, ring, record))
        return false;
    drain->events += 1;
    drain->events_of[trk_session_loss_kind(type)] += 1;
    ring->last_tsc = record->tsc;
    trk_record_streams_follow(ring, type);
    if (TRK_UNLIKELY(drain->trigger != NULL))
        trk_record_trigger_event(drain->trigger, record);
    return true;
}

static void catch_up(struct trk_record_drain *drain, const struct trk_record_drain_ring *but,
                     struct trk_error *error);

/*
 * Append what the batch holds, of which the event at that place fired. Who waits for it is told
 * before anything that comes later; what the other threads have of before comes first, so that it
 * pushes nothing out of the flight ring that fired.
 */
static void append_fired(struct trk_record_drain *drain, struct trk_record_drain_ring *ring,
                         size_t count, size_t fired_at, struct trk_error *error)
{
    struct trk_record_firing *firing = &drain->trigger->firing;
    firing->by_event = true;
    firing->stream_id = ring->stream_id;
    firing->record = trk_flight_records(drain->flight, ring->stream_id) + fired_at;
    catch_up(drain, ring, error);
    trk_flight_hold(drain->flight, true);
    ring_append(drain, ring, drain->batch, count, error);
    drain->fired(drain->fired_context);
    trk_flight_hold(drain->flight, false);
}

/*
 * Hand on what the batch holds. The counts in DROP records are those since ever, so one that comes
 * late or twice adds nothing and is left out.
 */
static void hand_on(struct trk_record_drain *drain, struct trk_record_drain_ring *ring,
                    size_t count, struct trk_error *error)
{
    size_t kept = 0;
    size_t fired_at = SIZE_MAX;
    bool waits = drain->fired && !drain->trigger->fired;
    if (!drain->disabled)
        tell_discards(drain, ring, error);
    for (size_t i = 0; i < count; ++i) {
        if (!keep(drain, ring, &drain->batch[i]))
            continue;
        if (waits && drain->trigger->fired && fired_at == SIZE_MAX)
            fired_at = kept;
        if (kept != i)
            drain->batch[kept] = drain->batch[i];
        ++kept;
    }
    if (fired_at != SIZE_MAX)
        append_fired(drain, ring, kept, fired_at, error);
    else
        ring_append(drain, ring, drain->batch, kept, error);
}

/* Copy the next records out of the ring, of the time that is wanted, and give the room back. */
static size_t take_batch(struct trk_record_drain *drain, uint32_t index, uint64_t head)
{
    const struct trk_record_session *session = drain->session;
    struct trk_record_drain_ring *ring = &drain->rings[index];
    const struct trk_record *records = session->records + (size_t)index * session->ring_records;
    uint64_t slot = ring->tail & (session->ring_records - 1);
    uint64_t count = head - ring->tail;
    uint64_t taken = 0;
    if (count > session->ring_records - slot)
        count = session->ring_records - slot;
    if (count > BATCH_RECORDS)
        count = BATCH_RECORDS;
    memcpy(drain->batch, records + slot, count * sizeof(*records));
    if (drain->until == UINT64_MAX)
        taken = count;
    while (taken < count && drain->batch[taken].tsc <= drain->until)
        ++taken;
    ring->tail += taken;
    if (drain->book)
        drain->behind = drain->behind || ring->tail - ring->safe > session->ring_records / 4;
    else
        atomic_store_explicit(&session->rings[index].tail, ring->tail, memory_order_release);
    return (size_t)taken;
}

/* Take everything up to the head that the ring had when all were looked at, of the time that is
 * wanted. */
static void take_ring(struct trk_record_drain *drain, uint32_t index, uint64_t *held,
                      struct trk_error *error)
{
    struct trk_record_drain_ring *ring = &drain->rings[index];
    const uint64_t head = ring->head; /* those who catch up look again meanwhile */
    *held = head - ring->tail;
    if (*held > drain->session->ring_records) {
        ring->broken = true; /* written over by the program: its records are anybody's bytes */
        trk_record_losses_nonsense(drain, ring, drain->batch);
        ring_append(drain, ring, drain->batch, 1, error);
        *held = 0;
    }
    while (!ring->broken && ring->tail != head) {
        size_t count = take_batch(drain, index, head);
        if (count == 0)
            return;
        hand_on(drain, ring, count, error);
    }
}

/* The losses of a use that no record came after. */
static void settle(struct trk_record_drain *drain, struct trk_record_drain_ring *ring,
                   const struct trk_session_losses *losses, struct trk_error *error)
{
    size_t kept = 0;
    tell_discards(drain, ring, error);
    if (ring->broken)
        return;
    for (uint32_t kind = 0; kind < TRK_SESSION_LOSS_KINDS; ++kind) {
        const struct trk_session_loss *loss = &losses->kinds[kind];
        struct trk_record *record = &drain->batch[kept];
        uint64_t first = atomic_load_explicit(&loss->first, memory_order_relaxed);
        uint64_t last = atomic_load_explicit(&loss->last, memory_order_relaxed);
        *record = (struct trk_record){
            first,
            {.argument = atomic_load_explicit(&loss->count, memory_order_relaxed),
             .context = (uint16_t)trk_session_loss_type(kind)}};
        trk_event_set_size(&record->event, last > first ? last - first : 0);
        kept += trk_record_losses_make(drain, ring, record);
    }
    ring_append(drain, ring, drain->batch, kept, error);
}

static bool is_read(const struct trk_record_drain_ring *ring)
{
    return ring->in_use && !ring->ended && !ring->broken;
}

/*
 * Let the trace know the use that a ring is in. A new one has begun when a ring is live that was
 * not.
 */
static void meet(struct trk_record_drain *drain, uint32_t index, struct trk_error *error)
{
    struct trk_record_drain_ring *ring = &drain->rings[index];
    const uint32_t state =
        atomic_load_explicit(&drain->session->rings[index].state, memory_order_acquire);
    if (ring->broken || ring->ended)
        return;
    if (!ring->in_use && state != TRK_RING_LIVE && state != TRK_RING_ENDED)
        return;
    if (!ring->in_use)
        trk_record_streams_begin(drain, index);
    trk_record_streams_announce(drain, index, error);
}

/* Events of threads that found no ring have a stream of their own, of nothing but the loss. */
static bool meet_unplaced(struct trk_record_drain *drain, struct trk_error *error)
{
    struct trk_record_drain_ring *ring = &drain->unplaced;
    struct trk_trace_stream stream = {.name = "(no ring)"};
    if (!trk_record_losses_untold(ring, &drain->session->losses[drain->session->ring_count]))
        return false;
    if (!ring->in_use) {
        trk_record_streams_add(drain, &stream, error);
        ring->in_use = true;
        ring->stream_id = stream.stream_id;
    }
    return true;
}

/*
 * See how far each ring is to be taken, and then which uses there are. Who had seen what another
 * thread did before it published an event had that one's ring before it live: so no chunk with what
 * is taken now stands before the first NOTE of a stream whose events come earlier [F-15].
 */
static void look(struct trk_record_drain *drain, struct trk_error *error)
{
    for (uint32_t i = 0; i < drain->session->ring_count; ++i) {
        const struct trk_session_ring *shared = &drain->session->rings[i];
        /* The state first: whatever an ended thread has published is seen afterwards. */
        drain->rings[i].state = atomic_load_explicit(&shared->state, memory_order_acquire);
        drain->rings[i].head = atomic_load_explicit(&shared->head, memory_order_acquire);
    }
    for (uint32_t i = 0; i < drain->session->ring_count; ++i)
        meet(drain, i, error);
    (void)meet_unplaced(drain, error);
}

static void pass_ring(struct trk_record_drain *drain, uint32_t index, uint64_t *held,
                      struct trk_error *error)
{
    struct trk_record_drain_ring *ring = &drain->rings[index];
    const uint32_t state = ring->state; /* what take_ring takes is all only if it had ended then */
    *held = 0;
    if (!is_read(ring))
        return;
    take_ring(drain, index, held, error);
    if (state == TRK_RING_ENDED && !ring->broken) {
        settle(drain, ring, &drain->session->losses[index], error);
        ring_append(drain, ring, drain->batch, trk_record_streams_cut(drain, ring), error);
        trk_record_streams_end(drain, ring, error);
        ring->ended = drain->behind = drain->book != NULL;
        if (!ring->ended) {
            ring->in_use = false;
            atomic_store_explicit(&drain->session->rings[index].state, TRK_RING_FREE,
                                  memory_order_release);
        }
    }
}

/* Take from the other rings what they have of the time before an event that fired. */
static void catch_up(struct trk_record_drain *drain, const struct trk_record_drain_ring *but,
                     struct trk_error *error)
{
    struct trk_record *batch = drain->batch; /* is still to be handed on */
    drain->batch = batch + BATCH_RECORDS;
    drain->until = drain->trigger->firing.ticks;
    look(drain, error);
    for (uint32_t i = 0; i < drain->session->ring_count; ++i) {
        uint64_t held = 0;
        if (&drain->rings[i] != but && is_read(&drain->rings[i]))
            take_ring(drain, i, &held, error);
    }
    drain->until = UINT64_MAX;
    drain->batch = batch;
}

void trk_record_drain_own(struct trk_record_drain *drain, const struct trk_event *event,
                          struct trk_error *error)
{
    struct trk_record record = {trk_clock_ticks(), *event};
    struct trk_record_drain_ring own = {.stream_id = drain->own_stream - 1};
    if (drain->disabled)
        return;
    if (drain->own_stream == 0) {
        struct trk_trace_stream stream = {.thread_id = (uint32_t)getpid(), .name = "(recorder)"};
        trk_record_streams_add(drain, &stream, error);
        drain->own_stream = stream.stream_id + 1;
        own.stream_id = stream.stream_id;
    }
    drain->batch[0] = record;
    hand_on(drain, &own, 1, error);
}

enum trk_status trk_record_drain_pass(struct trk_record_drain *drain, uint64_t *fullest,
                                      struct trk_error *error)
{
    uint32_t in_use = 0;
    *fullest = 0;
    look(drain, error);
    for (uint32_t i = 0; i < drain->session->ring_count; ++i) {
        uint64_t held = 0;
        pass_ring(drain, i, &held, error);
        if (held > *fullest)
            *fullest = held;
        in_use += drain->rings[i].in_use;
    }
    drain->scarce = in_use >= SCARCE_RINGS;
    if (drain->scarce)
        trk_record_threads_end_dead(drain);
    if (trk_record_pages_take(drain, error))
        drain->scarce = true;
    return drain->status;
}

static void settle_unplaced(struct trk_record_drain *drain, struct trk_error *error)
{
    if (meet_unplaced(drain, error))
        settle(drain, &drain->unplaced, &drain->session->losses[drain->session->ring_count], error);
}

/*
 * What is lost of what was taken. A loss behind records that a ring still has is behind them: so
 * the losses are looked at first, and count where there are none then.
 */
static void settle_known(struct trk_record_drain *drain, struct trk_error *error)
{
    static struct trk_session_losses known; /* one drain a process at a time */
    for (uint32_t i = 0; i < drain->session->ring_count; ++i) {
        struct trk_record_drain_ring *ring = &drain->rings[i];
        if (!ring->in_use)
            continue;
        trk_record_losses_read(&known, &drain->session->losses[i]);
        if (atomic_load_explicit(&drain->session->rings[i].head, memory_order_acquire) ==
            ring->tail)
            settle(drain, ring, &known, error);
        else
            tell_discards(drain, ring, error);
    }
    settle_unplaced(drain, error);
}

enum trk_status trk_record_drain_flush(struct trk_record_drain *drain, struct trk_error *error)
{
    if (drain->flight)
        settle_known(drain, error);
    else if (!drain->book) /* who takes over cannot know what was told */
        settle_unplaced(drain, error);
    if (writes(drain) && drain->writer)
        drain->status = trk_writer_flush(drain->writer, error);
    else if (writes(drain) && drain->flight)
        drain->status = trk_flight_flush(drain->flight, error);
    trk_record_pages_settle(drain);
    trk_record_book_settle(drain); /* after a refusal, too: threads keep their room */
    return drain->status;
}

enum trk_status trk_record_drain_finish(struct trk_record_drain *drain, struct trk_error *error)
{
    uint64_t fullest = 0;
    drain->status = trk_record_drain_pass(drain, &fullest, error);
    for (uint32_t i = 0; i < drain->session->ring_count; ++i) {
        if (drain->rings[i].in_use)
            settle(drain, &drain->rings[i], &drain->session->losses[i], error);
    }
    settle_unplaced(drain, error);
    return drain->status;
}
