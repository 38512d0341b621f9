/*
 * Rules that are looked at beside the operations' own results: protection-loose and watch-leak.
 *
 * Rules: scenario-format, Verdicts and fine print 6, 10.
 */
#include <stdio.h>

#include "footprint.h"
#include "scenario_run.h"
#include "track/sim_build.h"

/* A watch by hand takes no lock but the page manager's: its host call comes behind its count. */
static bool region_locked(const struct scenario_run *run, uint64_t guest_addr)
{
    uint32_t index = trk_region_index(guest_addr);
    const struct run_region *region = run_region_known(run, index);
    footprint_reads(OBJECT_LOCK, run_lock_name(TRK_SIM_LOCK_REGION, index));
    if (region == NULL || region->owner != SCENARIO_NONE)
        return region != NULL;
    footprint_reads(OBJECT_LOCK, run_lock_name(TRK_SIM_LOCK_PAGES, index));
    footprint_reads(OBJECT_LOCK, run_lock_name(TRK_SIM_LOCK_SHARED, 0));
    return core_insides->pages_held(run->tracker, index);
}

/* What a page's own watches and state leave of some rights. */
static unsigned watches_leave(struct trk_page_view view, unsigned rights)
{
    if (view.read_watch || (view.gpu_dirty && !core_ways.open_loads))
        return TRK_RIGHTS_NONE;
    if (view.write_watches > 0 || !view.cpu_dirty)
        return rights & ~TRK_RIGHT_WRITE;
    return rights;
}

/* Whether some thread is between two steps of a change of mappings. */
static bool space_changes(const struct scenario_run *run)
{
    footprint_reads(OBJECT_SPACE, 0);
    for (uint32_t i = 0; i < run->thread_count; i++)
        if (run->threads[i].quiet)
            return true;
    return false;
}

/* Whether any view's region is locked right now, or who shows what: then it is looked at later. */
static bool page_busy(const struct scenario_run *run, uint64_t guest_addr)
{
    if (space_changes(run))
        return true;
    if (region_locked(run, guest_addr))
        return true;
    struct world_views views = world_views(&run->world, guest_addr);
    for (uint64_t other = world_views_next(&views); other != 0; other = world_views_next(&views))
        if (region_locked(run, other))
            return true;
    return false;
}

static unsigned rights_allowed(const struct scenario_run *run, const struct world_page *page,
                               uint64_t guest_addr)
{
    unsigned rights = page->guest_rights;
    if (!run_tracked(run, guest_addr, 1))
        return rights;
    rights = watches_leave(core_sim->page(run->tracker, guest_addr), rights);
    struct world_views views = world_views(&run->world, guest_addr);
    if (!views.entry->text->gpu)
        return rights;
    for (uint64_t other = world_views_next(&views); other != 0; other = world_views_next(&views))
        if (run_tracked(run, other, 1))
            rights = watches_leave(core_sim->page(run->tracker, other), rights);
    return rights;
}

static void loose(struct run_thread *thread, struct doing *doing, const struct world_page *page,
                  uint64_t guest_addr, unsigned allowed)
{
    char text[128];
    snprintf(text, sizeof text, "host protection of page 0x%llx is %s, may be at most %s",
             (unsigned long long)guest_addr, scenario_rights_word(page->host_rights),
             scenario_rights_word(allowed));
    if (doing != NULL)
        run_stop(doing, "protection-loose", guest_addr, "%s", text);
    run_verdict(thread->run, NULL, "protection-loose", guest_addr, text);
}

void check_protection(struct run_thread *thread, struct doing *doing)
{
    struct scenario_run *run = thread->run;
    struct span_list list = {0};
    for (size_t i = 0; i < thread->touched.count; i++)
        run_span_scratch(thread, &list, thread->touched.spans[i]);
    run_span_clear(&thread->touched);
    for (size_t i = 0; i < list.count && !run->stopped; i++) {
        struct world_walk walk =
            world_walk(&run->world, list.spans[i].guest_addr, list.spans[i].size_bytes);
        while (world_next_mapped(&walk)) {
            uint64_t guest_addr = walk.guest_addr & ~(SCENARIO_PAGE_BYTES - 1);
            if (doing != NULL && page_busy(run, guest_addr)) {
                run_span_add(thread, &thread->touched,
                             (struct scenario_span){guest_addr, SCENARIO_PAGE_BYTES, 0});
                continue;
            }
            unsigned allowed = rights_allowed(run, walk.page, guest_addr);
            if (walk.page->host_rights & ~allowed)
                loose(thread, doing, walk.page, guest_addr, allowed);
        }
    }
}

static void check_page(struct scenario_run *run, uint64_t guest_addr)
{
    struct trk_page_view view = core_sim->page(run->tracker, guest_addr);
    unsigned writes = view.cpu_dirty ? 0 : 1, reads = view.gpu_dirty ? 1 : 0;
    if (view.write_watches <= writes && (unsigned)view.read_watch <= reads)
        return;
    char text[128];
    snprintf(text, sizeof text,
             "page 0x%llx has %u write and %u read watches; its state explains %u and %u",
             (unsigned long long)guest_addr, (unsigned)view.write_watches,
             (unsigned)view.read_watch, writes, reads);
    run_verdict(run, NULL, "watch-leak", guest_addr, text);
}

void check_watches(struct scenario_run *run)
{
    for (size_t i = 0; i < run->region_count && !run->stopped; i++) {
        uint64_t base = trk_region_address(run->regions[i].index);
        /* Most pages are as they began, at the end of every schedule. */
        for (uint32_t page = 0; page < TRK_REGION_PAGES && !run->stopped; page++) {
            if (core_insides->watches_over(run->tracker, run->regions[i].index, page / 64))
                check_page(run, base + page * SCENARIO_PAGE_BYTES);
            else
                page |= 63;
        }
    }
}
