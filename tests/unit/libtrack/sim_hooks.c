/*
 * The simulated core's hooks for the model test, and what it has no use for: one thread acts, so a
 * lock is free when it is taken, and whoever touches page sets or watches has their lock.
 */
#include <stdio.h>
#include <stdlib.h>

#include "backend_host.h"
#include "internal.h"
#include "real_host.h"
#include "track/sim_build.h"

static void expect(bool right, const char *what)
{
    if (right)
        return;
    fprintf(stderr, "%s\n", what);
    abort();
}

void trk_hook_lock(const uint32_t *word)
{
    expect(*word == 0, "a lock is taken that is not free");
}

void trk_hook_unlock(const uint32_t *word)
{
    expect(*word != 0, "a lock is given back that is free");
}

/* Sets begin behind a region's lock; this thread is the only one that can have it. */
void trk_hook_word(const void *word, enum trk_sim_word access)
{
    (void)word;
    (void)access;
}

void trk_hook_pages(const struct region *region, bool change)
{
    if (change && !region->shared)
        expect(region->pages_lock.word != 0, "watches change without their lock");
}

/* ---- no real host ---------------------------------------------------------------------------- */

bool trk_host_reserve_set(const struct trk_mappings *mappings, uint32_t piece, bool held)
{
    (void)mappings;
    (void)piece;
    (void)held;
    return false;
}

bool real_host_open(uint64_t guest_addr, uint32_t pages)
{
    (void)guest_addr;
    (void)pages;
    return false;
}

void real_host_close(void)
{
}

bool real_host_protect(const uint8_t *host, uint32_t first, uint32_t pages, uint32_t *wrong_page)
{
    (void)host;
    (void)first;
    (void)pages;
    (void)wrong_page;
    return false;
}
