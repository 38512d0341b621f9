/*
 * What a plug-in says of its locks, held against what it does with them.
 *
 * One that says that each page has a lock of its own (TRK_CORE_PAGE_LOCKS) is excused from cases of
 * libtrack's regions. So it is told of where an operation waits for one on other pages, and where
 * it changes a page's protection without any lock.
 */
#include "core_plugin.h"

#include <inttypes.h>

#include "scenario_run.h"

#define HELD_MOST 4096u

/* Locks that are held, and by whom. */
static struct {
    const uint32_t *word;
    uint32_t thread;
} held[HELD_MOST];
static size_t held_count;
static bool too_many; /* nothing can be said any more */

void core_locks_forget(void)
{
    held_count = 0;
    too_many = false;
}

/* Locks of its own are not seen; one that is taken back as bytes was never looked at from outside.
 */
static bool watched(void)
{
    const uint32_t both = TRK_CORE_LOCKS | TRK_CORE_PAGE_LOCKS;
    return core_foreign() && core_table->state == NULL && (core_table->features & both) == both &&
           !too_many;
}

static size_t place_of_word(const uint32_t *word)
{
    size_t at = 0;
    while (at < held_count && held[at].word != word)
        at++;
    return at;
}

void core_locks_wanted(const uint32_t *word)
{
    struct scenario_span its, other;
    size_t at = watched() && *word != 0 ? place_of_word(word) : held_count;
    if (at < held_count && run_unlike_pages(held[at].thread, &its, &other))
        core_misuse("it says that each page has a lock of its own, and an operation on %#" PRIx64
                    " waits for a lock of one on %#" PRIx64,
                    its.guest_addr, other.guest_addr);
}

void core_locks_taken(const uint32_t *word)
{
    if (!watched() || place_of_word(word) < held_count)
        return;
    too_many = held_count == HELD_MOST;
    if (!too_many) {
        held[held_count].word = word;
        held[held_count++].thread = core_plugin_self();
    }
}

void core_locks_given(const uint32_t *word)
{
    size_t at = watched() ? place_of_word(word) : held_count;
    if (at < held_count)
        held[at] = held[--held_count];
}

void core_locks_protect(uint64_t guest_addr)
{
    bool any = false;
    for (size_t i = 0; i < held_count; i++)
        any |= held[i].thread == core_plugin_self();
    if (watched() && !any)
        core_misuse("it says that each page has a lock of its own, and changes what the host lets "
                    "through of %#" PRIx64 " without one",
                    guest_addr);
}
