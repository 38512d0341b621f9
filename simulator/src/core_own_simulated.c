/* Libtrack as the core: the simulated build, under its own names, and what only that build has. */
#include "core_own.h"

const struct core_calls core_own_simulated = {CORE_OWN_CALLS};

/* Its pieces say it all. */
static uint64_t own_digest(const struct trk_tracker *tracker)
{
    (void)tracker;
    return 0;
}

const struct core_insides core_own_insides = {
    .lock_kind = trk_sim_lock_kind,
    .pages_held = trk_sim_pages_held,
    .watches_over = trk_sim_watches_over,
    .word_name = trk_sim_word_name,
    .word_held = trk_sim_word_held,
    .pages_owned = trk_sim_pages_owned,
    .lock_digest = trk_sim_lock_digest,
    .live_digest = trk_sim_live_digest,
    .digest = own_digest,
    .ready = trk_sim_ready,
    .pieces = trk_sim_pieces,
    .forget = trk_sim_forget,
    .restore_begin = trk_sim_restore_begin,
    .restore_end = trk_sim_restore_end,
};

const struct core_calls *core_sim = &core_own_simulated;
const struct core_insides *core_insides = &core_own_insides;
const char core_own_build[] = TRK_CORE_HASH;
const char *core_build = core_own_build;
