/*
 * What the tracker must make of pages, as its table of states says it.
 *
 * Rules: docs/model.md; tracker-spec 2 to 4, 6, 7, 9 in short: uploads make CPU pages CLEAN, what
 * the GPU writes makes them GPU, a flush gives them back, and a guest's store makes them CPU.
 */
#include "generate_draft.h"

#include <inttypes.h>

#define FAULTS_MOST 80u /* more than any access in a draft has pages and lots: it would not end */

struct page_walk model_walk(struct draft *draft, struct span span)
{
    uint64_t page = draft->policy.page_bytes;
    return (struct page_walk){
        .draft = draft,
        .at = span.guest_addr & ~(page - 1),
        .end = (span.guest_addr + span.size_bytes + page - 1) & ~(page - 1),
    };
}

bool model_next(struct page_walk *walk)
{
    struct draft *draft = walk->draft;
    for (uint32_t i = 0; i < draft->entry_count; i++) {
        struct draft_entry *entry = &draft->entries[i];
        if (memory_entry_end(draft, entry) <= walk->at)
            continue;
        uint64_t at = entry->guest_addr > walk->at ? entry->guest_addr : walk->at;
        if (at >= walk->end)
            return false;
        walk->entry = entry;
        walk->page = &entry->pages[(at - entry->guest_addr) / draft->policy.page_bytes];
        walk->guest_addr = at;
        walk->at = at + draft->policy.page_bytes;
        return true;
    }
    return false;
}

struct draft_lot *model_lot(struct draft *draft, uint64_t guest_addr)
{
    struct draft_entry *entry = memory_entry_at(draft, guest_addr);
    return &entry->lots[(guest_addr - entry->guest_addr) / LOT_BYTES];
}

void model_lot_moves(struct draft *draft, struct draft_lot *lot)
{
    *lot = (struct draft_lot){true, false, ++draft->generations, lot->named};
}

static unsigned page_rights(struct draft *draft, const struct draft_page *page, uint64_t guest_addr)
{
    if (page->space != SPACE_MAPPED || page->gpu || page->read_watch)
        return 0;
    bool closed = !page->cpu || page->watches > 0 || model_lot(draft, guest_addr)->armed;
    return closed ? page->rights & ~RIGHT_WRITE : page->rights;
}

static const char *rights_word(unsigned rights)
{
    if (rights == 0)
        return "none";
    if (rights & RIGHT_EXEC)
        return "rx";
    return rights & RIGHT_WRITE ? "rw" : "r";
}

void model_op_prot(struct draft *draft, uint64_t guest_addr)
{
    struct page_walk walk =
        model_walk(draft, (struct span){.guest_addr = guest_addr, .size_bytes = 1});
    unsigned rights = model_next(&walk) ? page_rights(draft, walk.page, walk.guest_addr) : 0;
    draft_begin(draft);
    draft_say(draft, "prot ");
    draft_say_addr(draft, guest_addr);
    draft_say(draft, " => %s", rights_word(rights));
    draft_end(draft);
}

bool model_any(struct draft *draft, struct span span, bool gpu)
{
    struct page_walk walk = model_walk(draft, span);
    while (model_next(&walk))
        if (gpu ? walk.page->gpu : walk.page->cpu)
            return true;
    return false;
}

void model_to_cpu(struct draft *draft, struct span span)
{
    struct page_walk walk = model_walk(draft, span);
    while (model_next(&walk)) {
        walk.page->cpu = true;
        walk.page->gpu = false;
    }
}

void model_leave_gpu(struct draft *draft, struct span span, bool to_cpu)
{
    struct page_walk walk = model_walk(draft, span);
    while (model_next(&walk)) {
        walk.page->cpu |= walk.page->gpu && to_cpu;
        walk.page->gpu = false;
    }
}

void model_upload(struct draft *draft, struct span span, bool written)
{
    struct page_walk walk = model_walk(draft, span);
    while (model_next(&walk)) {
        walk.page->cpu = false;
        walk.page->gpu |= written;
    }
}

/* A region's part by itself: flushed, or else the CPU's. */
static uint32_t invalidate_parts(struct draft *draft, struct span span)
{
    uint64_t end = span.guest_addr + span.size_bytes;
    uint32_t flushes = 0;
    for (uint64_t at = span.guest_addr; at < end;) {
        uint64_t next = (at / REGION_BYTES + 1) * REGION_BYTES;
        struct span part = {at, (next < end ? next : end) - at, true};
        if (model_any(draft, part, true)) {
            flushes++;
            model_leave_gpu(draft, span, true); /* the flush is of the whole range */
        } else {
            model_to_cpu(draft, part);
        }
        at = next;
    }
    return flushes;
}

uint32_t model_invalidate(struct draft *draft, struct span span)
{
    if (draft->policy.invalidate == INVALIDATE_PER_REGION)
        return invalidate_parts(draft, span);
    uint32_t flushes = model_any(draft, span, true);
    model_to_cpu(draft, span);
    return flushes;
}

/* ---- accesses -------------------------------------------------------------------------------- */

/* The first page that the host closes to an access. */
static bool first_closed(struct draft *draft, struct span span, unsigned right,
                         struct page_walk *walk)
{
    *walk = model_walk(draft, span);
    while (model_next(walk))
        if (!(page_rights(draft, walk->page, walk->guest_addr) & right))
            return true;
    return false;
}

static bool in_hole(struct draft *draft, struct span span)
{
    struct page_walk walk = model_walk(draft, span);
    while (model_next(&walk))
        if (walk.page->space != SPACE_MAPPED)
            return true;
    return false;
}

struct access_found model_access(struct draft *draft, struct span span, bool store)
{
    struct access_found found = {0};
    struct page_walk walk;
    unsigned right = store ? RIGHT_WRITE : RIGHT_READ;
    while (first_closed(draft, span, right, &walk)) {
        if (++found.faults > FAULTS_MOST) {
            found.endless = true;
            return found;
        }
        if (walk.page->space != SPACE_MAPPED || !(walk.page->rights & right)) {
            found.unhandled = true;
            return found;
        }
        uint64_t at = walk.guest_addr > span.guest_addr ? walk.guest_addr : span.guest_addr;
        struct span touched = {at, draft->policy.fault_width, true};
        if (at < LOW_END ? at + touched.size_bytes > LOW_END : at + touched.size_bytes > ARENA_END)
            touched.size_bytes = 1;
        struct draft_lot *lot = model_lot(draft, at);
        if (!(store && lot->armed) && in_hole(draft, touched)) {
            found.unhandled = true;
            return found;
        }
        if (store && lot->armed)
            model_lot_moves(draft, lot);
        if (walk.entry->plain)
            continue;
        if (store)
            (void)model_invalidate(draft, touched);
        else
            model_leave_gpu(draft, touched, false);
    }
    return found;
}

bool model_hle(struct draft *draft, struct span span)
{
    struct page_walk walk = model_walk(draft, span);
    while (model_next(&walk))
        if (walk.page->space != SPACE_MAPPED || !(walk.page->rights & RIGHT_WRITE))
            return false;
    (void)model_invalidate(draft, span);
    walk = model_walk(draft, span);
    uint64_t before = UINT64_MAX;
    while (model_next(&walk)) {
        struct draft_lot *lot = model_lot(draft, walk.guest_addr);
        if (walk.guest_addr / LOT_BYTES != before && lot->known)
            model_lot_moves(draft, lot);
        before = walk.guest_addr / LOT_BYTES;
    }
    (void)model_access(draft, span, true);
    return true;
}

uint64_t model_kernel(struct draft *draft, struct span span, unsigned right)
{
    struct page_walk walk;
    if (!first_closed(draft, span, right, &walk))
        return span.size_bytes;
    return walk.guest_addr > span.guest_addr ? walk.guest_addr - span.guest_addr : 0;
}

void model_forget_lots(struct draft *draft, struct span span)
{
    struct page_walk walk = model_walk(draft, span);
    while (model_next(&walk)) {
        struct draft_lot *lot = model_lot(draft, walk.guest_addr);
        lot->known = lot->armed = false;
    }
}

/* ---- what iterators report ------------------------------------------------------------------- */

/* The next maximal run of pages of a kind, split where regions meet. */
static bool next_run(struct page_walk *walk, bool gpu, struct span *run)
{
    *run = (struct span){0};
    for (;;) {
        struct page_walk ahead = *walk;
        if (!model_next(&ahead))
            return run->size_bytes > 0;
        bool kind = gpu ? ahead.page->gpu : ahead.page->cpu;
        uint64_t end = run->guest_addr + run->size_bytes;
        bool apart =
            run->size_bytes > 0 && (!kind || ahead.guest_addr != end || end % REGION_BYTES == 0);
        if (apart)
            return true;
        *walk = ahead;
        if (kind && run->size_bytes == 0)
            run->guest_addr = ahead.guest_addr;
        if (kind)
            run->size_bytes += walk->draft->policy.page_bytes;
    }
}

uint32_t model_count_ranges(struct draft *draft, struct span span, bool gpu)
{
    struct page_walk walk = model_walk(draft, span);
    struct span run;
    uint32_t count = 0;
    while (next_run(&walk, gpu, &run))
        count++;
    return count;
}

void model_say_ranges(struct draft *draft, struct span span, bool gpu)
{
    struct page_walk walk = model_walk(draft, span);
    struct span run;
    bool later = false;
    draft_say(draft, " => [");
    while (next_run(&walk, gpu, &run)) {
        draft_say(draft, "%s", later ? ", " : "");
        draft_say_span(draft, run);
        later = true;
    }
    draft_say(draft, "]");
}
