/*
 * What a plug-in may call, of whatever tracker of its.
 */
#include "core_plugin.h"
#include "run.h"
#include "scenario_run.h"

/* Comes back at once where no scenario is run: in a trace the log says when locks are free. */
static void host_lock(const uint32_t *word)
{
    core_locks_wanted(word);
    trk_hook_lock(word);
    while (*word != 0)
        run_wait_word(word);
    core_locks_taken(word);
}

static void host_unlock(const uint32_t *word)
{
    if (*word == 0)
        core_misuse("it gave back a lock that nobody holds");
    core_locks_given(word);
    trk_hook_unlock(word);
}

static void host_complain(const char *text)
{
    core_misuse("%s", text != NULL ? text : "it complains, and does not say of what");
}

static void host_word(const void *word, uint32_t access)
{
    trk_hook_word(word, (enum trk_sim_word)access);
}

static void host_pages(const void *region, bool change)
{
    trk_hook_pages(region, change);
}

const struct trk_core_host core_plugin_host = {
    .size = sizeof core_plugin_host,
    .abi = TRK_CORE_ABI,
    .lock = host_lock,
    .unlock = host_unlock,
    .yield = run_core_yield,
    .self = core_plugin_self,
    .word = host_word,
    .pages = host_pages,
    .complain = host_complain,
};
