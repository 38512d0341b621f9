/*
 * The simulated host's memory.
 *
 * Rules: scenario-format, Keys (memory), fine print 4, 10, 13.
 */
#include "scenario_world.h"

#include <string.h>

#include "footprint.h"

static bool entry_init(struct world *world, const struct trk_scenario *scenario, uint32_t index)
{
    const struct scenario_entry *text = &scenario->entries[index];
    struct world_entry *entry = &world->entries[index];
    *entry = (struct world_entry){
        .text = text,
        .guest_addr = text->guest_addr,
        .end_addr = text->guest_addr + text->size_bytes,
        .root = text->alias_of != SCENARIO_NONE ? text->alias_of : index,
        .page_count = (uint32_t)(text->size_bytes / SCENARIO_PAGE_BYTES),
    };
    entry->view_rights = text->rights;
    entry->pages = scenario_pool_take(world->pool, entry->page_count * sizeof *entry->pages);
    entry->object = scenario_pool_take(world->pool, entry->page_count * sizeof *entry->object);
    if (entry->pages == NULL || entry->object == NULL)
        return false;
    uint32_t place = index;
    for (; place > 0 && world->entries[world->order[place - 1]].guest_addr > entry->guest_addr;
         place--)
        world->order[place] = world->order[place - 1];
    world->order[place] = index;
    world->entry_count++;
    return true;
}

bool world_init(struct world *world, struct scenario_pool *pool, struct scenario_pool *pages,
                const struct trk_scenario *scenario)
{
    memset(world, 0, sizeof *world);
    world->pool = pages;
    size_t count = scenario->entry_count + 1;
    world->entries = scenario_pool_take(pool, count * sizeof *world->entries);
    world->order = scenario_pool_take(pool, count * sizeof *world->order);
    if (world->entries == NULL || world->order == NULL)
        return false;
    for (uint32_t i = 0; i < scenario->entry_count; i++)
        if (!entry_init(world, scenario, i))
            return false;
    for (uint32_t i = 0; i < world->entry_count; i++) {
        struct world_entry *entry = &world->entries[i];
        for (uint32_t page = 0; page < entry->page_count; page++) {
            struct world_page *one = &entry->pages[page];
            if (entry->text->reserved) {
                one->state = PAGE_RESERVED;
            } else if (entry->text->mapped) {
                world_show(world, entry, one, false);
                one->guest_rights = one->host_rights = (uint8_t)entry->text->rights;
            }
        }
    }
    return !world->no_memory;
}

/* ---- looking --------------------------------------------------------------------------------- */

struct world_entry *world_entry_at(const struct world *world, uint64_t guest_addr)
{
    for (uint32_t i = 0; i < world->entry_count; i++) {
        struct world_entry *entry = &world->entries[i];
        if (guest_addr >= entry->guest_addr && guest_addr < entry->end_addr)
            return entry;
    }
    return NULL;
}

struct world_page *world_page_at(const struct world *world, uint64_t guest_addr)
{
    footprint_reads(OBJECT_SPACE, 0);
    footprint_reads(OBJECT_PAGE, guest_addr / SCENARIO_PAGE_BYTES);
    struct world_entry *entry = world_entry_at(world, guest_addr);
    if (entry == NULL)
        return NULL;
    return &entry->pages[(guest_addr - entry->guest_addr) / SCENARIO_PAGE_BYTES];
}

struct world_walk world_walk(const struct world *world, uint64_t guest_addr, uint64_t size_bytes)
{
    uint64_t end;
    footprint_reads(OBJECT_SPACE, 0);
    if (__builtin_add_overflow(guest_addr, size_bytes, &end))
        end = UINT64_MAX;
    return (struct world_walk){.world = world, .at = guest_addr, .end = end};
}

bool world_next(struct world_walk *walk)
{
    const struct world *world = walk->world;
    for (uint32_t i = 0; i < world->entry_count; i++) {
        struct world_entry *entry = &world->entries[world->order[i]];
        if (entry->end_addr <= walk->at)
            continue;
        uint64_t first = walk->at > entry->guest_addr ? walk->at : entry->guest_addr;
        if (first >= walk->end)
            return false;
        uint64_t page = (first - entry->guest_addr) / SCENARIO_PAGE_BYTES;
        uint64_t page_end = entry->guest_addr + (page + 1) * SCENARIO_PAGE_BYTES;
        uint64_t end = walk->end < page_end ? walk->end : page_end;
        footprint_reads(OBJECT_PAGE, first / SCENARIO_PAGE_BYTES);
        walk->entry = entry;
        walk->page = &entry->pages[page];
        walk->guest_addr = first;
        walk->part = (struct oracle_part){
            walk->page->frame, (uint32_t)(first % SCENARIO_PAGE_BYTES), (uint32_t)(end - first)};
        walk->at = end;
        return true;
    }
    return false;
}

bool world_next_mapped(struct world_walk *walk)
{
    while (world_next(walk))
        if (walk->page->state == PAGE_MAPPED)
            return true;
    return false;
}

bool world_all(const struct world *world, uint64_t guest_addr, uint64_t size_bytes,
               enum page_state state)
{
    struct world_walk walk = world_walk(world, guest_addr, size_bytes);
    uint64_t at = guest_addr;
    while (at < walk.end) {
        if (!world_next(&walk) || walk.guest_addr != at || walk.page->state != state)
            return false;
        at = walk.at;
    }
    return true;
}

/* ---- frames ---------------------------------------------------------------------------------- */

/* The frame that some page of the memory object shows at this place now. */
static struct frame *frame_shown(const struct world *world, uint32_t root, uint64_t key)
{
    for (uint32_t i = 0; i < world->entry_count; i++) {
        const struct world_entry *entry = &world->entries[i];
        if (entry->root != root || key < entry->offset_pages ||
            key - entry->offset_pages >= entry->page_count)
            continue;
        const struct world_page *page = &entry->pages[key - entry->offset_pages];
        if (page->state == PAGE_MAPPED)
            return page->frame;
    }
    return NULL;
}

/* Where the memory object keeps its frame of this place. */
static struct frame **object_place(struct world *world, struct world_entry *root, uint64_t key)
{
    if (key < root->page_count)
        return &root->object[key].frame;
    for (size_t i = 0; i < root->far_count; i++)
        if (root->far[i].key == key)
            return &root->far[i].frame;
    struct world_object_page *far = scenario_pool_grow(world->pool, root->far, root->far_count,
                                                       &root->far_capacity, sizeof *far);
    if (far == NULL)
        return NULL;
    root->far = far;
    far[root->far_count] = (struct world_object_page){.key = key};
    return &far[root->far_count++].frame;
}

void world_show(struct world *world, struct world_entry *entry, struct world_page *page, bool old)
{
    uint64_t key = (uint64_t)(page - entry->pages) + entry->offset_pages;
    struct frame *frame = frame_shown(world, entry->root, key);
    struct frame **place = object_place(world, &world->entries[entry->root], key);
    if (frame == NULL && place != NULL && old)
        frame = *place;
    if (frame == NULL)
        frame = scenario_pool_take(world->pool, sizeof *frame);
    if (frame == NULL || place == NULL) {
        world->no_memory = true;
        return;
    }
    touched_note(world->touched, frame, sizeof *frame);
    /* NOLINTNEXTLINE(bugprone-sizeof-expression): a place is a pointer. */
    touched_note(world->touched, place, sizeof *place);
    world_touch(world, page);
    frame->name = (uint64_t)entry->root << 32 | (uint32_t)key;
    *place = frame;
    frame->views++;
    page->frame = frame;
    page->state = PAGE_MAPPED;
}

void world_hide(const struct world *world, struct world_page *page, enum page_state state)
{
    touched_note(world->touched, page->frame, sizeof *page->frame);
    world_touch(world, page);
    if (page->state == PAGE_MAPPED)
        page->frame->views--;
    page->frame = NULL;
    page->state = (uint8_t)state;
    page->guest_rights = page->host_rights = 0;
}

/* ---- views ----------------------------------------------------------------------------------- */

struct world_views world_views(const struct world *world, uint64_t guest_addr)
{
    const struct world_entry *entry = world_entry_at(world, guest_addr);
    footprint_reads(OBJECT_SPACE, 0);
    return (struct world_views){
        .world = world,
        .entry = entry,
        .key = (guest_addr - entry->guest_addr) / SCENARIO_PAGE_BYTES + entry->offset_pages,
    };
}

uint64_t world_views_next(struct world_views *views)
{
    const struct world *world = views->world;
    while (views->next < world->entry_count) {
        const struct world_entry *entry = &world->entries[views->next++];
        if (entry == views->entry || entry->root != views->entry->root || !entry->text->gpu ||
            views->key < entry->offset_pages ||
            views->key - entry->offset_pages >= entry->page_count)
            continue;
        uint64_t page = views->key - entry->offset_pages;
        if (entry->pages[page].state == PAGE_MAPPED)
            return entry->guest_addr + page * SCENARIO_PAGE_BYTES;
    }
    return 0;
}

/* ---- mappings -------------------------------------------------------------------------------- */

uint64_t world_mappings(const struct world *world, uint64_t guest_addr, uint64_t size_bytes,
                        unsigned rights)
{
    uint64_t count = 0;
    footprint_reads(OBJECT_SPACE, 0);
    for (uint32_t i = 0; i < world->entry_count; i++) {
        const struct world_entry *entry = &world->entries[i];
        unsigned before = 0;
        for (uint32_t page = 0; page < entry->page_count; page++) {
            uint64_t at = entry->guest_addr + page * SCENARIO_PAGE_BYTES;
            unsigned its = entry->pages[page].host_rights;
            if (entry->pages[page].state == PAGE_MAPPED && at >= guest_addr &&
                at - guest_addr < size_bytes)
                its = rights;
            count += page == 0 || its != before;
            before = its;
        }
    }
    return count;
}
