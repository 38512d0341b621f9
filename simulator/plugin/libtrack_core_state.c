/* Libtrack's plug-in: its state as bytes. */
#include "libtrack_core.h"
#include "track/sim_build.h"

static const struct trk_tracker *looked_at(const void *core)
{
    return ((const struct core *)core)->tracker;
}

static uint32_t state_lock_kind(const void *core, const uint32_t *word, uint32_t *region)
{
    return trk_sim_lock_kind(looked_at(core), word, region);
}

static bool state_pages_held(const void *core, uint32_t region)
{
    return trk_sim_pages_held(looked_at(core), region);
}

static bool state_watches_over(const void *core, uint32_t region, uint32_t word)
{
    return trk_sim_watches_over(looked_at(core), region, word);
}

static uint64_t state_word_name(const void *core, const void *word)
{
    return trk_sim_word_name(looked_at(core), word);
}

static bool state_word_held(const void *core, const void *word, uint32_t thread)
{
    return trk_sim_word_held(looked_at(core), word, thread);
}

static bool state_pages_owned(const void *core, const void *region, uint32_t thread)
{
    return trk_sim_pages_owned(looked_at(core), region, thread);
}

static uint64_t state_lock_digest(const void *core, const uint32_t *word, const uint32_t *regions,
                                  size_t count)
{
    return trk_sim_lock_digest(looked_at(core), word, regions, count);
}

static uint64_t state_live_digest(const void *core, const uint32_t *regions, size_t count)
{
    return trk_sim_live_digest(looked_at(core), regions, count);
}

static bool state_ready(void *core)
{
    return trk_sim_ready(its(core));
}

static void state_pieces(void *core, const uint32_t *regions, size_t count,
                         void (*piece)(void *context, void *memory, size_t size_bytes),
                         void *context)
{
    trk_sim_pieces(its(core), regions, count, piece, context);
}

static void state_forget(void *core, const uint32_t *regions, size_t count)
{
    trk_sim_forget(its(core), regions, count);
}

static void *state_restore_begin(void *core)
{
    return trk_sim_restore_begin(its(core));
}

static void state_restore_end(void *core, void *begun)
{
    trk_sim_restore_end(its(core), begun);
}

static bool state_met(const void *core, uint64_t guest_addr)
{
    return trk_pages_met(looked_at(core), guest_addr);
}

static void state_set_met(void *core, uint64_t guest_addr, bool met)
{
    trk_pages_set_met(its(core), guest_addr, met);
}

const struct trk_core_state libtrack_core_state = {
    .size = sizeof libtrack_core_state,
    .lock_kind = state_lock_kind,
    .pages_held = state_pages_held,
    .watches_over = state_watches_over,
    .word_name = state_word_name,
    .word_held = state_word_held,
    .pages_owned = state_pages_owned,
    .lock_digest = state_lock_digest,
    .live_digest = state_live_digest,
    .ready = state_ready,
    .pieces = state_pieces,
    .forget = state_forget,
    .restore_begin = state_restore_begin,
    .restore_end = state_restore_end,
    .met = state_met,
    .set_met = state_set_met,
};
