/*
 * What a plug-in shows of its insides; where it shows none, what can be said without.
 */
#include "core_plugin.h"
#include "scenario_run.h"

static const struct trk_core_state *state(void)
{
    return core_table->state;
}

static enum trk_sim_lock plugin_lock_kind(const struct trk_tracker *tracker, const uint32_t *word,
                                          uint32_t *region)
{
    *region = 0;
    return state() != NULL ? (enum trk_sim_lock)state()->lock_kind(core_its(tracker), word, region)
                           : TRK_SIM_LOCK_OTHER;
}

/* From outside: as long as anybody is inside, nothing that differs proves anything. */
static bool plugin_pages_held(const struct trk_tracker *tracker, uint32_t region)
{
    return state() != NULL ? state()->pages_held(core_its(tracker), region) : run_core_busy();
}

static bool plugin_watches_over(const struct trk_tracker *tracker, uint32_t region, uint32_t word)
{
    return state() == NULL || state()->watches_over(core_its(tracker), region, word);
}

static uint64_t plugin_word_name(const struct trk_tracker *tracker, const void *word)
{
    return state() != NULL ? state()->word_name(core_its(tracker), word) : 0;
}

static bool plugin_word_held(const struct trk_tracker *tracker, const void *word,
                             uint32_t thread_id)
{
    return state() == NULL || state()->word_held(core_its(tracker), word, thread_id);
}

static bool plugin_pages_owned(const struct trk_tracker *tracker, const struct region *region,
                               uint32_t thread_id)
{
    return state() == NULL || state()->pages_owned(core_its(tracker), region, thread_id);
}

static uint64_t plugin_digest(const struct trk_tracker *tracker)
{
    return state() == NULL && core_table->digest != NULL ? core_table->digest(core_its(tracker))
                                                         : 0;
}

static uint64_t plugin_lock_digest(const struct trk_tracker *tracker, const uint32_t *word,
                                   const uint32_t *regions, size_t count)
{
    return state() != NULL ? state()->lock_digest(core_its(tracker), word, regions, count)
                           : plugin_digest(tracker);
}

static uint64_t plugin_live_digest(const struct trk_tracker *tracker, const uint32_t *regions,
                                   size_t count)
{
    return state() != NULL ? state()->live_digest(core_its(tracker), regions, count)
                           : plugin_digest(tracker);
}

static bool plugin_ready(struct trk_tracker *tracker)
{
    return state() == NULL || state()->ready(core_its(tracker));
}

static void plugin_pieces(struct trk_tracker *tracker, const uint32_t *regions, size_t count,
                          trk_sim_piece_fn *piece, void *context)
{
    if (state() != NULL)
        state()->pieces(core_its(tracker), regions, count, piece, context);
}

static void plugin_forget(struct trk_tracker *tracker, const uint32_t *regions, size_t count)
{
    if (state() != NULL)
        state()->forget(core_its(tracker), regions, count);
}

static void *plugin_restore_begin(struct trk_tracker *tracker)
{
    return state() != NULL ? state()->restore_begin(core_its(tracker)) : NULL;
}

static void plugin_restore_end(struct trk_tracker *tracker, void *begun)
{
    if (state() != NULL)
        state()->restore_end(core_its(tracker), begun);
}

const struct core_insides core_plugin_insides = {
    .lock_kind = plugin_lock_kind,
    .pages_held = plugin_pages_held,
    .watches_over = plugin_watches_over,
    .word_name = plugin_word_name,
    .word_held = plugin_word_held,
    .pages_owned = plugin_pages_owned,
    .lock_digest = plugin_lock_digest,
    .live_digest = plugin_live_digest,
    .digest = plugin_digest,
    .ready = plugin_ready,
    .pieces = plugin_pieces,
    .forget = plugin_forget,
    .restore_begin = plugin_restore_begin,
    .restore_end = plugin_restore_end,
};
