/*
 * What a plug-in may call, of whatever tracker of its.
 */
#include "core_apart.h"
#include "core_plugin.h"
#include "run.h"
#include "scenario_run.h"

/* ---- page() ---------------------------------------------------------------------------------- */

/* It is asked whenever the host wants to look, also while others are inside the tracker. */
static bool looking;

void core_page_of(void *its, uint64_t guest_addr, struct trk_core_page *out)
{
    looking = true;
    core_table->page(its, guest_addr, out);
    looking = false;
}

bool core_page_calls(const char *what)
{
    if (looking)
        core_misuse("page() %s: it is to look, and to call nobody", what);
    return looking;
}

/* ---- what it may call ------------------------------------------------------------------------ */

/*
 * In a scenario others run until the lock is free. Behind that a word that is not 0 is one of a
 * trace that is run again. There the log says when libtrack's locks are free. A tracker's own code
 * is entered by one operation at a time, so nobody is there to give the lock back: it never comes
 * back from here. Nor is anybody where there is no operation to give up, as in create and destroy.
 */
static void host_lock(const uint32_t *word)
{
    if (core_page_calls("takes a lock"))
        return;
    core_locks_wanted(word);
    trk_hook_lock(word);
    while (*word != 0) {
        bool waited = run_wait_word(word);
        core_apart_leave();
        if (!waited) {
            core_misuse("it waits for a lock that nobody is there to give back");
            return;
        }
    }
    core_locks_taken(word);
}

static void host_unlock(const uint32_t *word)
{
    if (core_page_calls("gives a lock back"))
        return;
    if (*word == 0)
        core_misuse("it gave back a lock that nobody holds");
    core_locks_given(word);
    trk_hook_unlock(word);
}

static void host_yield(void)
{
    if (!core_page_calls("yields"))
        run_core_yield();
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
    .yield = host_yield,
    .self = core_plugin_self,
    .word = host_word,
    .pages = host_pages,
    .complain = host_complain,
};
