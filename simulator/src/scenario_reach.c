/*
 * The regions that a program can touch: its operations name them all, and views of what they name.
 */
#include <string.h>

#include "scenario_program.h"
#include "track/address.h"

struct reach {
    const struct trk_scenario *scenario;
    uint32_t *regions; /* ascending */
    size_t count;
};

static bool reach_add(struct reach *reach, uint32_t region)
{
    size_t place = reach->count;
    while (place > 0 && reach->regions[place - 1] >= region)
        place--;
    if (place < reach->count && reach->regions[place] == region)
        return true;
    if (reach->count == SCENARIO_REACH_MOST)
        return false;
    memmove(&reach->regions[place + 1], &reach->regions[place],
            (reach->count - place) * sizeof *reach->regions);
    reach->regions[place] = region;
    reach->count++;
    return true;
}

static bool tracked(const struct reach *reach, uint64_t guest_addr, uint64_t size_bytes)
{
    return trk_range_valid(reach->scenario->policy.core.arena, guest_addr, size_bytes);
}

/* All regions of a range in the bands, with what a wide fault or a large page adds. */
static bool reach_range(struct reach *reach, uint64_t guest_addr, uint64_t size_bytes)
{
    size_bytes = size_bytes > 0 ? size_bytes : 1;
    if (!tracked(reach, guest_addr, size_bytes))
        return true;
    uint64_t last = guest_addr + size_bytes - 1;
    if (tracked(reach, guest_addr, size_bytes + SCENARIO_PAGE_BYTES))
        last += SCENARIO_PAGE_BYTES;
    uint32_t end = trk_region_index(last) + 1;
    for (uint32_t region = trk_region_index(guest_addr); region < end; region++)
        if (!reach_add(reach, region))
            return false;
    return true;
}

static bool reach_entry(struct reach *reach, uint32_t entry)
{
    const struct scenario_entry *its = &reach->scenario->entries[entry];
    return reach_range(reach, its->guest_addr, its->size_bytes);
}

static bool reach_ops(struct reach *reach, const struct scenario_op *ops, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (!reach_range(reach, ops[i].guest_addr, ops[i].size_bytes) ||
            (ops[i].entry != SCENARIO_NONE && !reach_entry(reach, ops[i].entry)) ||
            !reach_ops(reach, ops[i].nested, ops[i].nested_count))
            return false;
    return true;
}

bool scenario_reach(const struct trk_scenario *scenario, uint32_t *regions, size_t *count)
{
    struct reach reach = {.scenario = scenario, .regions = regions};
    bool whole = true;
    for (uint32_t i = 0; whole && i < scenario->thread_count; i++)
        whole = reach_ops(&reach, scenario->threads[i].ops, scenario->threads[i].op_count);
    /* What happens to one view happens to the others. */
    for (uint32_t i = 0; whole && i < scenario->entry_count; i++)
        if (scenario->entries[i].alias_of != SCENARIO_NONE)
            whole = reach_entry(&reach, i) && reach_entry(&reach, scenario->entries[i].alias_of);
    *count = reach.count;
    return whole;
}
