/*
 * Verbs of the address space: map, unmap, rights, commit, reserve, gen_remap, prot.
 *
 * The tracker is told the guest's rights of every page; a page that is not mapped has none. Calls
 * that the core makes while a mapping is being made are the mapping's own, and nobody's calls.
 *
 * Rules: scenario-format, Guest and host memory and fine print 4, 9, 10, 14.
 */
#include "scenario_run.h"

struct pages {
    uint64_t guest_addr, size_bytes;
};

/* A range rounded out to pages. */
static struct pages pages_of(const struct scenario_op *op)
{
    uint64_t first = op->guest_addr & ~(SCENARIO_PAGE_BYTES - 1);
    uint64_t last = (op->guest_addr + op->size_bytes - 1) | (SCENARIO_PAGE_BYTES - 1);
    return (struct pages){first, last - first + 1};
}

static struct pages pages_of_entry(const struct world_entry *entry)
{
    return (struct pages){entry->guest_addr, entry->end_addr - entry->guest_addr};
}

/* Tell the tracker rights, entry by entry since ranges may not leave a band. */
static enum trk_status tell_rights(struct scenario_run *run, struct pages pages, unsigned rights)
{
    if (!run_tracked(run, pages.guest_addr, pages.size_bytes))
        return TRK_OK;
    return trk_tracker_set_guest_protection(run->tracker, pages.guest_addr, pages.size_bytes,
                                            rights);
}

/* The host's rights of mapped pages become what the tracker asks for now. */
static void take_effective(struct scenario_run *run, struct pages pages)
{
    struct world_walk walk = world_walk(&run->world, pages.guest_addr, pages.size_bytes);
    while (world_next_mapped(&walk)) {
        unsigned rights = walk.page->guest_rights;
        if (run_tracked(run, walk.guest_addr, 1))
            rights = trk_pages_view(run->tracker, walk.guest_addr).host_rights;
        walk.page->host_rights = (uint8_t)rights;
    }
}

/* Pages of the range have changed; the thread's next look includes them. */
static void changed(struct doing *doing, struct pages pages)
{
    struct scenario_run *run = doing_run(doing);
    run->changes++;
    run_span_add(run, &doing->thread->touched, pages.guest_addr, pages.size_bytes, 0);
}

/* ---- init ------------------------------------------------------------------------------------ */

static enum trk_status entry_tell(struct scenario_run *run, const struct world_entry *entry)
{
    const struct scenario_entry *text = entry->text;
    struct pages pages = pages_of_entry(entry);
    if (!run_tracked(run, pages.guest_addr, pages.size_bytes))
        return TRK_OK;
    bool mapped = text->mapped && !text->reserved;
    enum trk_status status = TRK_OK;
    if (text->gpu)
        status = trk_tracker_register(run->tracker, pages.guest_addr, pages.size_bytes);
    unsigned rights = mapped ? text->rights : TRK_RIGHTS_NONE;
    if (status == TRK_OK && rights != TRK_RIGHTS_RW)
        status = tell_rights(run, pages, rights);
    return status;
}

enum trk_status space_init(struct scenario_run *run)
{
    static const uint32_t setup_id = UINT32_C(0x7ffffffe); /* no thread's */
    struct trk_thread setup = {.id = setup_id};
    struct trk_thread *host = trk_thread_swap(&setup);
    enum trk_status status = TRK_OK;
    run->quiet = true;
    for (uint32_t i = 0; status == TRK_OK && i < run->world.entry_count; i++)
        status = entry_tell(run, &run->world.entries[i]);
    struct trk_resource_layer layer = {transfer_flush, transfer_read_back, run};
    if (status == TRK_OK)
        status = trk_tracker_set_resource_layer(run->tracker, &layer);
    run->quiet = false;
    (void)trk_thread_swap(host);
    return status;
}

/* ---- verbs ----------------------------------------------------------------------------------- */

void verb_prot(struct doing *doing)
{
    const struct world_page *page = world_page_at(&doing_run(doing)->world, doing->op->guest_addr);
    doing->found.rights = page != NULL ? page->host_rights : TRK_RIGHTS_NONE;
}

/* Make pages that are in a state mapped, each with its entry's rights. */
static void map_pages(struct doing *doing, struct pages pages, enum page_state from,
                      unsigned rights)
{
    struct scenario_run *run = doing_run(doing);
    run->quiet = true;
    enum trk_status status = tell_rights(run, pages, rights);
    run->quiet = false;
    if (status != TRK_OK)
        return;
    struct world_walk walk = world_walk(&run->world, pages.guest_addr, pages.size_bytes);
    while (world_next(&walk)) {
        if (walk.page->state != from)
            continue;
        world_show(&run->world, walk.entry, walk.page, false);
        walk.page->guest_rights = (uint8_t)rights;
    }
    take_effective(run, pages);
    changed(doing, pages);
}

void verb_map(struct doing *doing)
{
    struct world_entry *entry = &doing_run(doing)->world.entries[doing->op->entry];
    struct pages pages = pages_of_entry(entry);
    if (!world_all(&doing_run(doing)->world, pages.guest_addr, pages.size_bytes, PAGE_HOLE)) {
        doing->found.outcome = OUTCOME_FAIL;
        return;
    }
    entry->offset_pages = 0;
    entry->view_rights = entry->text->rights;
    map_pages(doing, pages, PAGE_HOLE, entry->text->rights);
}

void verb_commit(struct doing *doing)
{
    struct scenario_run *run = doing_run(doing);
    struct pages pages = pages_of(doing->op);
    if (!world_all(&run->world, pages.guest_addr, pages.size_bytes, PAGE_RESERVED)) {
        doing->found.outcome = OUTCOME_FAIL;
        return;
    }
    /* Entries differ in their rights. */
    uint64_t end = pages.guest_addr + pages.size_bytes;
    for (uint64_t at = pages.guest_addr; at < end && doing->found.failure == TRK_OK;) {
        const struct world_entry *entry = world_entry_at(&run->world, at);
        uint64_t stop = entry->end_addr < end ? entry->end_addr : end;
        map_pages(doing, (struct pages){at, stop - at}, PAGE_RESERVED, entry->text->rights);
        at = stop;
    }
}

void verb_reserve(struct doing *doing)
{
    struct scenario_run *run = doing_run(doing);
    struct pages pages = pages_of(doing->op);
    if (!world_all(&run->world, pages.guest_addr, pages.size_bytes, PAGE_HOLE)) {
        doing->found.outcome = OUTCOME_FAIL;
        return;
    }
    struct world_walk walk = world_walk(&run->world, pages.guest_addr, pages.size_bytes);
    while (world_next(&walk))
        walk.page->state = PAGE_RESERVED;
}

static bool mapped_or_reserved(const struct scenario_run *run, struct pages pages)
{
    struct world_walk walk = world_walk(&run->world, pages.guest_addr, pages.size_bytes);
    uint64_t at = pages.guest_addr;
    for (; at < walk.end; at = walk.at)
        if (!world_next(&walk) || walk.guest_addr != at || walk.page->state == PAGE_HOLE)
            return false;
    return true;
}

/* Bytes that only the GPU's copy has go with the last view of their frame. */
static void unmap_loses(struct doing *doing, struct pages pages)
{
    struct scenario_run *run = doing_run(doing);
    struct world_walk walk = world_walk(&run->world, pages.guest_addr, pages.size_bytes);
    while (world_next_mapped(&walk)) {
        struct oracle_finding finding = oracle_gpu_newer(&run->oracle, walk.part);
        if (finding.found && walk.page->frame->views == 1)
            run_stop(doing, "lost-gpu-write", walk.guest_addr - walk.part.first + finding.offset,
                     "the GPU's newer bytes at 0x%llx are unmapped",
                     (unsigned long long)(walk.guest_addr - walk.part.first + finding.offset));
    }
}

void verb_unmap(struct doing *doing)
{
    struct scenario_run *run = doing_run(doing);
    struct pages pages = pages_of(doing->op);
    if (!mapped_or_reserved(run, pages)) {
        doing->found.outcome = OUTCOME_FAIL;
        return;
    }
    unmap_loses(doing, pages);
    run->quiet = true;
    enum trk_status status = tell_rights(run, pages, TRK_RIGHTS_NONE);
    run->quiet = false;
    if (status != TRK_OK)
        return;
    struct world_walk walk = world_walk(&run->world, pages.guest_addr, pages.size_bytes);
    while (world_next(&walk))
        world_hide(walk.page, PAGE_HOLE);
    run->changes++;
}

void verb_guest_protect(struct doing *doing)
{
    struct scenario_run *run = doing_run(doing);
    struct pages pages = pages_of(doing->op);
    if (!world_all(&run->world, pages.guest_addr, pages.size_bytes, PAGE_MAPPED)) {
        doing->found.outcome = OUTCOME_FAIL;
        return;
    }
    if (run_tracked(run, pages.guest_addr, pages.size_bytes)) {
        if (tell_rights(run, pages, doing->op->rights) != TRK_OK)
            return;
    } else if (host_call(run, pages.guest_addr, pages.size_bytes, doing->op->rights) != 0) {
        return;
    }
    struct world_walk walk = world_walk(&run->world, pages.guest_addr, pages.size_bytes);
    while (world_next(&walk))
        walk.page->guest_rights = (uint8_t)doing->op->rights;
    changed(doing, pages);
}

void verb_gen_remap(struct doing *doing)
{
    struct scenario_run *run = doing_run(doing);
    const struct scenario_op *op = doing->op;
    struct world_entry *entry = &run->world.entries[op->entry];
    struct pages pages = pages_of_entry(entry);
    uint64_t offset = op->has_offset ? op->value / SCENARIO_PAGE_BYTES : entry->offset_pages;
    unsigned rights = op->has_rights ? op->rights : entry->view_rights;
    if (offset == entry->offset_pages && rights == entry->view_rights)
        return;
    run->quiet = true;
    enum trk_status status = tell_rights(run, pages, rights);
    run->quiet = false;
    if (status != TRK_OK)
        return;
    for (uint32_t i = 0; i < entry->page_count; i++)
        world_hide(&entry->pages[i], PAGE_HOLE);
    entry->offset_pages = offset;
    entry->view_rights = rights;
    for (uint32_t i = 0; i < entry->page_count; i++) {
        world_show(&run->world, entry, &entry->pages[i], true);
        entry->pages[i].guest_rights = (uint8_t)rights;
    }
    take_effective(run, pages);
    changed(doing, pages);
}
