/*
 * The memory of a random scenario: where its entries lie, whose their pages are, and picking
 * ranges.
 *
 * Entries lie where trackers go wrong: over the border of two regions, over the border of two words
 * of a bit set, at the ends of the bands.
 */
#include "generate_draft.h"

#include <inttypes.h>

#define BASE       UINT64_C(0x200000000) /* a region begins there, far from both ends of its band */
#define WORD_PAGES 64u

static uint64_t unit_bytes(const struct draft *draft)
{
    return draft->policy.page_bytes > LOT_BYTES ? draft->policy.page_bytes : LOT_BYTES;
}

/* Give each unit an owner. */
static void own(struct draft *draft, struct draft_entry *entry, uint32_t owner)
{
    uint32_t unit = (uint32_t)(unit_bytes(draft) / draft->policy.page_bytes);
    uint32_t its = owner;
    for (uint32_t i = 0; i < entry->page_count; i++) {
        if (i % unit == 0 && owner == NOBODY) {
            bool shared = draft_has(draft, FEATURE_SHARING) && draft->threads > 1;
            its =
                shared && !draft_one_in(draft, 3) ? NOBODY : 1 + draft_below(draft, draft->threads);
        }
        entry->pages[i] = (struct draft_page){
            .cpu = true,
            .rights = RIGHTS_RW,
            .space = entry->mapped_later ? SPACE_HOLE : SPACE_MAPPED,
            .owner = its,
        };
    }
}

static struct draft_entry *add(struct draft *draft, char name, uint64_t guest_addr, uint32_t units)
{
    struct draft_entry *entry = &draft->entries[draft->entry_count++];
    *entry = (struct draft_entry){.name = name, .guest_addr = guest_addr};
    entry->page_count = (uint32_t)(units * unit_bytes(draft) / draft->policy.page_bytes);
    return entry;
}

static void add_band_end(struct draft *draft)
{
    uint64_t unit = unit_bytes(draft);
    uint64_t places[] = {LOW_END - unit, ARENA, ARENA_END - unit};
    uint32_t choices = draft->policy.low ? 1 : 3;
    own(draft, add(draft, 'C', places[draft_below(draft, choices)], 1), NOBODY);
}

void memory_make(struct draft *draft)
{
    uint64_t unit = unit_bytes(draft), page = draft->policy.page_bytes;
    bool edges = draft_has(draft, FEATURE_EDGES);
    uint32_t side = draft->small || page > LOT_BYTES ? 1 : 2;
    struct draft_entry *entry =
        add(draft, 'A', BASE + (edges ? REGION_BYTES - side * unit : 4 * unit), 2 * side);
    if (draft_has(draft, FEATURE_ALIAS)) {
        entry->alias = 'V';
        entry->alias_addr = BASE + 16 * REGION_BYTES + (edges ? 0 : REGION_BYTES - unit);
    }
    own(draft, entry, NOBODY);
    if (!draft->small || draft_has(draft, FEATURE_WIDE))
        own(draft, add(draft, 'B', BASE + 3 * REGION_BYTES + WORD_PAGES * page - unit, 2), NOBODY);
    for (uint32_t i = 1; i <= draft->threads && draft_has(draft, FEATURE_MAP); i++) {
        entry = add(draft, "WXYZ"[i - 1], BASE + 5 * REGION_BYTES + i * 4 * unit, 1);
        entry->mapped_later = draft_one_in(draft, 2);
        own(draft, entry, i);
    }
    if (draft_has(draft, FEATURE_GENERATIONS)) {
        entry = add(draft, 'N', BASE + 12 * REGION_BYTES + unit, 1);
        entry->plain = true;
        own(draft, entry, NOBODY);
    }
    if (edges && !draft->small)
        add_band_end(draft);
}

void memory_say(struct draft *draft)
{
    uint64_t page = draft->policy.page_bytes / HOST_PAGE_BYTES;
    draft_say(draft, "  \"memory\": {");
    for (uint32_t i = 0; i < draft->entry_count; i++) {
        const struct draft_entry *entry = &draft->entries[i];
        draft_say(draft,
                  "%s\n    \"%c\": {\"at\": \"0x%" PRIx64 "\", \"size\": \"%" PRIu64 "P\"%s}",
                  i > 0 ? "," : "", entry->name, entry->guest_addr, entry->page_count * page,
                  entry->mapped_later ? ", \"mapped\": false"
                  : entry->plain      ? ", \"gpu\": false"
                                      : "");
        if (entry->alias != 0)
            draft_say(draft, ",\n    \"%c\": {\"at\": \"0x%" PRIx64 "\", \"alias_of\": \"%c\"}",
                      entry->alias, entry->alias_addr, entry->name);
    }
    draft_say(draft, "\n  },\n");
}

uint64_t memory_entry_end(const struct draft *draft, const struct draft_entry *entry)
{
    return entry->guest_addr + entry->page_count * draft->policy.page_bytes;
}

struct draft_entry *memory_entry_at(struct draft *draft, uint64_t guest_addr)
{
    for (uint32_t i = 0; i < draft->entry_count; i++) {
        struct draft_entry *entry = &draft->entries[i];
        if (guest_addr >= entry->guest_addr && guest_addr < memory_entry_end(draft, entry))
            return entry;
    }
    return NULL;
}

struct span memory_whole(const struct draft *draft, const struct draft_entry *entry)
{
    return (struct span){entry->guest_addr, entry->page_count * draft->policy.page_bytes, true};
}

struct span memory_view(struct draft *draft, struct span span)
{
    const struct draft_entry *entry = memory_entry_at(draft, span.guest_addr);
    uint64_t page = draft->policy.page_bytes;
    /* What a wide fault touches behind a page is the faulting view's alone. */
    bool crosses = span.guest_addr / page != (span.guest_addr + span.size_bytes - 1) / page;
    if (crosses && draft->policy.fault_width > 1)
        return span;
    if (entry != NULL && entry->alias != 0 && draft_one_in(draft, 2))
        span.guest_addr = entry->alias_addr + (span.guest_addr - entry->guest_addr);
    return span;
}

/* ---- picking --------------------------------------------------------------------------------- */

static bool may_touch(const struct draft *draft, const struct draft_page *page, bool known)
{
    return draft->alone || draft->careless || page->owner == draft->thread ||
           (!known && page->owner == NOBODY);
}

/* Pages [first, end) of one entry and of one owner, about a random one. */
struct run {
    struct draft_entry *entry;
    uint32_t first, end;
};

static bool same_region(const struct draft *draft, const struct draft_entry *entry, uint32_t a,
                        uint32_t b)
{
    return (entry->guest_addr + a * draft->policy.page_bytes) / REGION_BYTES ==
           (entry->guest_addr + b * draft->policy.page_bytes) / REGION_BYTES;
}

static bool joins(const struct draft *draft, const struct run *run, uint32_t page, struct wish wish)
{
    const struct draft_entry *entry = run->entry;
    if (wish.inside && !same_region(draft, entry, run->first, page))
        return false;
    return draft->alone || entry->pages[page].owner == entry->pages[run->first].owner;
}

static bool pick_run(struct draft *draft, struct wish wish, struct run *run)
{
    run->entry = &draft->entries[draft_below(draft, draft->entry_count)];
    uint32_t step = 1;
    if (wish.lots) {
        step = (uint32_t)(LOT_BYTES / draft->policy.page_bytes);
        if (run->entry->alias != 0 || step == 0)
            return false;
    }
    run->first = draft_below(draft, run->entry->page_count) / step * step;
    /* Entries that lie over a border do so in their middle. */
    if (draft_has(draft, FEATURE_EDGES) && run->entry->page_count > 2 * step &&
        draft_one_in(draft, 4))
        run->first = (run->entry->page_count / 2 - 1) / step * step;
    if ((run->entry->plain && !wish.plain) ||
        !may_touch(draft, &run->entry->pages[run->first], wish.known))
        return false;
    run->end = run->first + step;
    while (run->end < run->entry->page_count && joins(draft, run, run->end, wish) &&
           !draft_one_in(draft, 3))
        run->end += step;
    return true;
}

/* A few bytes in a run of pages; about one in four crosses a border. */
static void pick_bytes(struct draft *draft, const struct run *run, struct span *out)
{
    static const uint32_t sizes[] = {8, 1, 16, 64};
    uint64_t page = draft->policy.page_bytes;
    uint64_t first = run->entry->guest_addr + run->first * page;
    uint32_t size = sizes[draft_below(draft, 4)], within = draft_below(draft, 6);
    uint64_t places[] = {0, 8, 64, page / 2, page - 64, page - 64};
    out->guest_addr = first + places[within];
    out->size_bytes = size;
    if (run->end - run->first > 1 && draft_one_in(draft, 2)) {
        out->guest_addr = first + page - 4;
        out->size_bytes = size < 8 ? 8 : size;
    }
    /* The last bytes of a band: a wide fault there is cut. Elsewhere it would leave the entry. */
    uint64_t end = first + page;
    if ((end == LOW_END || end == ARENA_END) && draft_one_in(draft, 2)) {
        out->guest_addr = end - 4;
        out->size_bytes = 4;
    }
}

bool memory_pick(struct draft *draft, struct wish wish, struct span *out)
{
    struct run run;
    bool found = false;
    for (uint32_t tries = 0; tries < 12 && !found; tries++)
        found = pick_run(draft, wish, &run);
    if (!found)
        return false;
    uint64_t page = draft->policy.page_bytes;
    uint32_t owner = run.entry->pages[run.first].owner;
    out->known = draft->alone || owner == draft->thread;
    if (wish.bytes) {
        pick_bytes(draft, &run, out);
        return true;
    }
    uint64_t skipped = 0, cut = 0;
    if (!wish.whole && !wish.lots && draft_one_in(draft, 2)) {
        skipped = draft_one_in(draft, 2) ? page - 8 : 8;
        cut = draft_one_in(draft, 2) ? page - 8 : 0;
    }
    uint64_t size = (run.end - run.first) * page;
    if (skipped + cut >= size)
        cut = 0;
    out->guest_addr = run.entry->guest_addr + run.first * page + skipped;
    out->size_bytes = size - skipped - cut;
    return true;
}

bool memory_pick_wide(struct draft *draft, struct span *out)
{
    uint32_t first = draft_below(draft, draft->entry_count);
    uint32_t last = first + 1 + draft_below(draft, draft->entry_count);
    if (last >= draft->entry_count || draft->entries[last].plain || draft->entries[first].plain ||
        draft->entries[last].guest_addr >= LOW_END - REGION_BYTES)
        return false;
    uint64_t page = draft->policy.page_bytes;
    const struct draft_entry *a = &draft->entries[first], *b = &draft->entries[last];
    uint32_t from = draft_below(draft, a->page_count), to = draft_below(draft, b->page_count);
    out->guest_addr = a->guest_addr + from * page;
    out->size_bytes = b->guest_addr + (to + 1) * page - out->guest_addr;
    uint32_t owner = a->pages[from].owner;
    out->known = draft->alone || owner == draft->thread;
    struct page_walk walk = model_walk(draft, *out);
    while (model_next(&walk))
        if (!may_touch(draft, walk.page, false) || (!draft->alone && walk.page->owner != owner))
            return false;
    return true;
}
