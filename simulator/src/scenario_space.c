/*
 * Verbs of the address space: map, unmap, rights, commit, reserve, gen_remap, prot.
 *
 * The tracker is told the guest's rights of every page; a page that is not mapped has none. Calls
 * that the core makes while a mapping is being made are the mapping's own, and nobody's calls.
 *
 * Rules: scenario-format, Guest and host memory and fine print 4, 9, 10, 14.
 */
#include "core_design.h"
#include "footprint.h"
#include "scenario_run.h"
#include "track/generations.h"

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

static bool is_whole(const struct world_entry *entry, struct pages pages)
{
    return pages.guest_addr == entry->guest_addr &&
           pages.size_bytes == entry->end_addr - entry->guest_addr;
}

/* The part of the range from an address on that lies in one entry. */
static struct pages pages_in_entry(const struct scenario_run *run, struct pages pages, uint64_t at)
{
    const struct world_entry *entry = world_entry_at(&run->world, at);
    uint64_t end = pages.guest_addr + pages.size_bytes;
    return (struct pages){at, (entry->end_addr < end ? entry->end_addr : end) - at};
}

/* Tell the tracker rights, entry by entry since ranges may not leave a band. */
static enum trk_status tell_rights(struct scenario_run *run, struct pages pages, unsigned rights)
{
    if (!run_tracked(run, pages.guest_addr, pages.size_bytes))
        return TRK_OK;
    return core_sim->guest_rights(run->tracker, pages.guest_addr, pages.size_bytes, rights);
}

/* The space is not as the operation wants it. */
static void fail(struct doing *doing)
{
    doing->found.outcome = OUTCOME_FAIL;
}

/* The host's rights of mapped pages become what the tracker asks for now. */
static void take_effective(struct scenario_run *run, struct pages pages)
{
    struct world_walk walk = world_walk(&run->world, pages.guest_addr, pages.size_bytes);
    while (world_next_mapped(&walk)) {
        unsigned rights = walk.page->guest_rights;
        if (run_tracked(run, walk.guest_addr, 1))
            rights = core_sim->page(run->tracker, walk.guest_addr).host_rights;
        world_touch(&run->world, walk.page);
        walk.page->host_rights = (uint8_t)rights;
    }
}

/* ---- views of one frame ---------------------------------------------------------------------- */

static bool has_views(const struct world *world, const struct world_entry *entry)
{
    for (uint32_t i = 0; i < world->entry_count; i++)
        if (&world->entries[i] != entry && world->entries[i].root == entry->root)
            return true;
    return false;
}

/* Join mapped pages [first, last) of one entry with another entry's pages of the same frames. */
static enum trk_status join_with(struct scenario_run *run, const struct world_entry *entry,
                                 const struct world_entry *other, struct pages pages)
{
    enum trk_status status = TRK_OK;
    uint64_t page = (pages.guest_addr - entry->guest_addr) / SCENARIO_PAGE_BYTES;
    uint64_t last = page + pages.size_bytes / SCENARIO_PAGE_BYTES;
    uint64_t shift = entry->offset_pages - other->offset_pages; /* wraps, and back again */
    while (status == TRK_OK && page < last) {
        uint64_t end = page;
        footprint_reads(OBJECT_SPACE, 0);
        while (end < last && end + shift < other->page_count &&
               entry->pages[end].state == PAGE_MAPPED &&
               other->pages[end + shift].state == PAGE_MAPPED)
            end++;
        if (run->current != NULL)
            run_saw(run->current, end);
        if (end > page)
            status =
                core_sim->join_views(run->tracker, entry->guest_addr + page * SCENARIO_PAGE_BYTES,
                                     other->guest_addr + (page + shift) * SCENARIO_PAGE_BYTES,
                                     (end - page) * SCENARIO_PAGE_BYTES);
        page = end > page ? end : page + 1;
    }
    return status;
}

/* Tell the tracker which of an entry's pages show the frames of others. Quiet. */
static enum trk_status join_views(struct scenario_run *run, struct pages pages)
{
    const struct world_entry *entry = world_entry_at(&run->world, pages.guest_addr);
    enum trk_status status = TRK_OK;
    if (!run_tracked(run, pages.guest_addr, pages.size_bytes))
        return TRK_OK;
    for (uint32_t i = 0; status == TRK_OK && i < run->world.entry_count; i++) {
        const struct world_entry *other = &run->world.entries[i];
        struct pages its = pages_of_entry(other);
        if (other != entry && other->root == entry->root &&
            run_tracked(run, its.guest_addr, its.size_bytes))
            status = join_with(run, entry, other, pages);
    }
    return status;
}

/* Pages are no views any more. Quiet. */
static enum trk_status leave_views(struct scenario_run *run, struct pages pages)
{
    const struct world_entry *entry = world_entry_at(&run->world, pages.guest_addr);
    if (entry == NULL || !has_views(&run->world, entry) ||
        !run_tracked(run, pages.guest_addr, pages.size_bytes))
        return TRK_OK;
    return core_sim->leave_view(run->tracker, pages.guest_addr, pages.size_bytes);
}

/* Pages of the range have changed; the thread's next look includes them. */
static void changed(struct doing *doing, struct pages pages)
{
    struct scenario_run *run = doing_run(doing);
    footprint_writes(OBJECT_SPACE, 0);
    run_changed(run);
    run_span_add(doing->thread, &doing->thread->touched,
                 (struct scenario_span){pages.guest_addr, pages.size_bytes, 0});
}

/*
 * Around the steps of one change of mappings: host calls are its own, and what the tracker knows of
 * views is not yet, or no longer, what the world shows.
 */
static void change_begin(struct doing *doing)
{
    footprint_writes(OBJECT_SPACE, 0);
    doing->thread->quiet = true;
}

static void change_end(struct doing *doing)
{
    footprint_writes(OBJECT_SPACE, 0);
    doing->thread->quiet = false;
}

/* Tell the tracker of a mapping: rights, and with generations the view. Quiet. */
static enum trk_status tell_mapping(struct scenario_run *run, const struct world_entry *entry,
                                    struct pages pages, unsigned rights)
{
    if (!run->scenario->policy.core.generations || !is_whole(entry, pages) ||
        !run_tracked(run, pages.guest_addr, pages.size_bytes))
        return tell_rights(run, pages, rights);
    struct trk_generations_view view = {
        .guest_addr = pages.guest_addr,
        .size_bytes = pages.size_bytes,
        .physical_offset = entry->offset_pages * SCENARIO_PAGE_BYTES,
        .rights = rights,
    };
    return core_sim->gen_map(run->tracker, &view, NULL);
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
        status = core_sim->register_bytes(run->tracker, pages.guest_addr, pages.size_bytes);
    if (status == TRK_OK && !mapped)
        status = tell_rights(run, pages, TRK_RIGHTS_NONE);
    else if (status == TRK_OK &&
             (text->rights != TRK_RIGHTS_RW || run->scenario->policy.core.generations))
        status = tell_mapping(run, entry, pages, text->rights);
    return status;
}

enum trk_status space_init(struct scenario_run *run)
{
    static const uint32_t setup_id = UINT32_C(0x7ffffffe); /* no thread's */
    struct core_thread setup = {.thread = {.id = setup_id}};
    struct trk_thread *host = core_sim->thread_swap(&setup.thread);
    enum trk_status status = TRK_OK;
    run->quiet = true;
    for (uint32_t i = 0; status == TRK_OK && i < run->world.entry_count; i++)
        status = entry_tell(run, &run->world.entries[i]);
    for (uint32_t i = 0; status == TRK_OK && i < run->world.entry_count; i++)
        if (run->world.entries[i].root != i)
            status = join_views(run, pages_of_entry(&run->world.entries[i]));
    struct trk_resource_layer layer = {transfer_flush, transfer_read_back, run};
    if (status == TRK_OK)
        status = core_sim->resource_layer(run->tracker, &layer);
    run->quiet = false;
    (void)core_sim->thread_swap(host);
    return status;
}

/* ---- verbs ----------------------------------------------------------------------------------- */

void verb_prot(struct doing *doing)
{
    const struct world_page *page = world_page_at(&doing_run(doing)->world, doing->op->guest_addr);
    doing->found.rights = page != NULL ? page->host_rights : TRK_RIGHTS_NONE;
    if (core_design_asked() && doing->found.rights == TRK_RIGHTS_NONE &&
        run_tracked(doing_run(doing), doing->op->guest_addr, 1) &&
        core_sim->page(doing_run(doing)->tracker, doing->op->guest_addr).gpu_dirty)
        core_design_needs(CORE_DESIGN_LOADS);
}

/* Make pages of one entry mapped, with rights. */
static void map_pages(struct doing *doing, struct pages pages, unsigned rights)
{
    struct scenario_run *run = doing_run(doing);
    struct world_entry *entry = world_entry_at(&run->world, pages.guest_addr);
    change_begin(doing);
    enum trk_status status = tell_mapping(run, entry, pages, rights);
    run_status(doing, status);
    if (status == TRK_OK) {
        struct world_walk walk = world_walk(&run->world, pages.guest_addr, pages.size_bytes);
        footprint_writes(OBJECT_SPACE, 0);
        while (world_next(&walk)) {
            world_show(&run->world, walk.entry, walk.page, false);
            walk.page->guest_rights = (uint8_t)rights; /* just touched */
        }
        if (has_views(&run->world, entry))
            run_status(doing, join_views(run, pages));
        take_effective(run, pages);
        changed(doing, pages);
    }
    change_end(doing);
}

void verb_map(struct doing *doing)
{
    struct world_entry *entry = &doing_run(doing)->world.entries[doing->op->entry];
    struct pages pages = pages_of_entry(entry);
    if (!world_all(&doing_run(doing)->world, pages.guest_addr, pages.size_bytes, PAGE_HOLE)) {
        fail(doing);
        return;
    }
    footprint_writes(OBJECT_SPACE, 0);
    entry->offset_pages = 0;
    entry->view_rights = entry->text->rights;
    entry->mixed = false;
    map_pages(doing, pages, entry->text->rights);
}

void verb_commit(struct doing *doing)
{
    struct scenario_run *run = doing_run(doing);
    struct pages pages = pages_of(doing->op);
    if (!world_all(&run->world, pages.guest_addr, pages.size_bytes, PAGE_RESERVED)) {
        fail(doing);
        return;
    }
    uint64_t end = pages.guest_addr + pages.size_bytes;
    for (uint64_t at = pages.guest_addr; at < end && doing->found.failure == TRK_OK;) {
        struct pages part = pages_in_entry(run, pages, at);
        struct world_entry *entry = world_entry_at(&run->world, at);
        footprint_writes(OBJECT_SPACE, 0);
        entry->mixed |= !is_whole(entry, part);
        map_pages(doing, part, entry->text->rights);
        at += part.size_bytes;
    }
}

void verb_reserve(struct doing *doing)
{
    struct scenario_run *run = doing_run(doing);
    struct pages pages = pages_of(doing->op);
    if (!world_all(&run->world, pages.guest_addr, pages.size_bytes, PAGE_HOLE)) {
        fail(doing);
        return;
    }
    struct world_walk walk = world_walk(&run->world, pages.guest_addr, pages.size_bytes);
    footprint_writes(OBJECT_SPACE, 0);
    while (world_next(&walk)) {
        world_touch(&run->world, walk.page);
        walk.page->state = PAGE_RESERVED;
    }
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
        uint64_t guest_addr = walk.guest_addr - walk.part.first + finding.offset;
        if (finding.found && walk.page->frame->views == 1)
            run_stop(doing, "lost-gpu-write", guest_addr,
                     "the GPU's newer bytes at 0x%llx are unmapped",
                     (unsigned long long)guest_addr);
    }
}

static void unmap_pages(struct doing *doing, struct pages pages)
{
    struct scenario_run *run = doing_run(doing);
    change_begin(doing);
    enum trk_status status = leave_views(run, pages);
    if (status == TRK_OK)
        status = tell_rights(run, pages, TRK_RIGHTS_NONE);
    change_end(doing);
    run_status(doing, status);
    if (status != TRK_OK)
        return;
    struct world_walk walk = world_walk(&run->world, pages.guest_addr, pages.size_bytes);
    footprint_writes(OBJECT_SPACE, 0);
    while (world_next(&walk))
        world_hide(&run->world, walk.page, PAGE_HOLE);
    world_entry_at(&run->world, pages.guest_addr)->mixed = true;
    run_changed(run);
}

void verb_unmap(struct doing *doing)
{
    struct scenario_run *run = doing_run(doing);
    struct pages pages = pages_of(doing->op);
    if (!mapped_or_reserved(run, pages)) {
        fail(doing);
        return;
    }
    unmap_loses(doing, pages);
    uint64_t end = pages.guest_addr + pages.size_bytes;
    for (uint64_t at = pages.guest_addr; at < end && doing->found.failure == TRK_OK;) {
        struct pages part = pages_in_entry(run, pages, at);
        unmap_pages(doing, part);
        at += part.size_bytes;
    }
}

void verb_guest_protect(struct doing *doing)
{
    struct scenario_run *run = doing_run(doing);
    struct pages pages = pages_of(doing->op);
    unsigned rights = doing->op->rights;
    if (!world_all(&run->world, pages.guest_addr, pages.size_bytes, PAGE_MAPPED)) {
        fail(doing);
        return;
    }
    if (run_tracked(run, pages.guest_addr, pages.size_bytes)) {
        enum trk_status status = tell_rights(run, pages, rights);
        run_status(doing, status);
        if (status != TRK_OK)
            return;
    } else if (host_call(run, pages.guest_addr, pages.size_bytes, rights) != 0) {
        return;
    }
    struct world_walk walk = world_walk(&run->world, pages.guest_addr, pages.size_bytes);
    while (world_next(&walk)) {
        world_touch(&run->world, walk.page);
        walk.page->guest_rights = (uint8_t)rights;
        /* A change over the whole view changes the view; over a part, there is no such view. */
        if (is_whole(walk.entry, pages))
            walk.entry->view_rights = rights;
        else
            walk.entry->mixed = true;
    }
    changed(doing, pages);
}

/* ---- generations ----------------------------------------------------------------------------- */

/* The same mapping again: the tracker is asked too, and must see it so. */
static void remap_same(struct doing *doing, struct world_entry *entry)
{
    struct scenario_run *run = doing_run(doing);
    struct pages pages = pages_of_entry(entry);
    change_begin(doing);
    if (!entry->mixed)
        run_status(doing, tell_mapping(run, entry, pages, entry->view_rights));
    change_end(doing);
}

void verb_gen_remap(struct doing *doing)
{
    struct scenario_run *run = doing_run(doing);
    const struct scenario_op *op = doing->op;
    struct world_entry *entry = &run->world.entries[op->entry];
    struct pages pages = pages_of_entry(entry);
    footprint_writes(OBJECT_SPACE, 0);
    uint64_t offset = op->has_offset ? op->value / SCENARIO_PAGE_BYTES : entry->offset_pages;
    unsigned rights = op->has_rights ? op->rights : entry->view_rights;
    run_saw(doing->thread, entry->offset_pages << 4 | entry->view_rights);
    if (offset == entry->offset_pages && rights == entry->view_rights) {
        remap_same(doing, entry);
        return;
    }
    change_begin(doing);
    enum trk_status status = leave_views(run, pages);
    footprint_writes(OBJECT_SPACE, 0);
    uint64_t before = entry->offset_pages;
    entry->offset_pages = offset;
    if (status == TRK_OK)
        status = tell_mapping(run, entry, pages, rights);
    run_status(doing, status);
    footprint_writes(OBJECT_SPACE, 0);
    if (status != TRK_OK) {
        entry->offset_pages = before;
    } else {
        entry->view_rights = rights;
        entry->mixed = false;
        for (uint32_t i = 0; i < entry->page_count; i++) {
            world_hide(&run->world, &entry->pages[i], PAGE_HOLE);
            world_show(&run->world, entry, &entry->pages[i], true);
            entry->pages[i].guest_rights = (uint8_t)rights;
        }
        if (has_views(&run->world, entry))
            run_status(doing, join_views(run, pages));
        take_effective(run, pages);
        changed(doing, pages);
    }
    change_end(doing);
}
