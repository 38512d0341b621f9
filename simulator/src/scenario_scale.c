/*
 * A scenario of 4 KiB pages, for a tracker whose pages are larger.
 *
 * Each page becomes a page of the tracker's. Its bytes keep their distances to its two ends: the
 * page grows at one byte in the middle, at which no range of the program begins or ends. So each
 * range covers all of what has grown there, or nothing of it; ranges that met, overlapped or held
 * each other do so afterwards. The pages of a region keep their order and stay in that region.
 *
 * Glossary
 *   band    the pages of one region that the program names, and where they go
 *   middle  the byte of a page, 1 to 4095, before which it grows
 */
#include <string.h>

#include "scenario_program.h"
#include "simulator/core.h"
#include "track/address.h"
#include "track/pages.h"

#define BANDS_MOST 64u

struct band {
    uint32_t region;
    uint64_t first, end; /* pages of the region that are named, [first, end) */
};

struct scaling {
    struct trk_scenario *scenario;
    uint64_t factor;
    struct band bands[BANDS_MOST];
    uint32_t band_count;
    uint64_t edges[SCENARIO_PAGE_BYTES / 64]; /* bytes of a page at which a range begins or ends */
    uint64_t middle;
    bool placing; /* the bands are known, and ranges are changed */
    bool no_memory;
    const char *why;
};

static bool cannot(struct scaling *scaling, const char *why)
{
    scaling->why = why;
    return false;
}

/* ---- where things go ------------------------------------------------------------------------- */

static struct band *band_of(struct scaling *scaling, uint64_t guest_addr)
{
    uint32_t region = trk_region_index(guest_addr);
    for (uint32_t i = 0; i < scaling->band_count; i++)
        if (scaling->bands[i].region == region)
            return &scaling->bands[i];
    return NULL;
}

static uint64_t place(struct scaling *scaling, uint64_t guest_addr)
{
    const struct band *band = band_of(scaling, guest_addr);
    uint64_t base = trk_region_address(band->region), offset = guest_addr - base;
    uint64_t page = offset / SCENARIO_PAGE_BYTES, byte = offset % SCENARIO_PAGE_BYTES;
    uint64_t pages = band->first / scaling->factor + (page - band->first);
    uint64_t grown = (scaling->factor - 1) * SCENARIO_PAGE_BYTES;
    return base + pages * scaling->factor * SCENARIO_PAGE_BYTES + byte +
           (byte >= scaling->middle ? grown : 0);
}

/* Look at a range, or put it where it goes. */
static bool range(struct scaling *scaling, uint64_t *guest_addr, uint64_t *size_bytes)
{
    uint64_t first = *guest_addr, last = first + (*size_bytes > 0 ? *size_bytes - 1 : 0);
    if (last < first || !trk_range_valid(TRK_ARENA_LOW_EXTENDED, first, last - first + 1))
        return cannot(scaling, "addresses that no tracker tracks");
    if (trk_region_index(first) != trk_region_index(last))
        return cannot(scaling, "ranges over several regions");
    if (scaling->placing) {
        *guest_addr = place(scaling, first);
        *size_bytes = *size_bytes > 0 ? place(scaling, last) + 1 - *guest_addr : 0;
        return true;
    }
    uint64_t base = trk_region_address(trk_region_index(first));
    uint64_t page = (first - base) / SCENARIO_PAGE_BYTES;
    uint64_t end = (last - base) / SCENARIO_PAGE_BYTES + 1;
    struct band *band = band_of(scaling, first);
    if (band == NULL && scaling->band_count == BANDS_MOST)
        return cannot(scaling, "many regions");
    if (band == NULL) {
        band = &scaling->bands[scaling->band_count++];
        *band = (struct band){trk_region_index(first), page, end};
    }
    band->first = page < band->first ? page : band->first;
    band->end = end > band->end ? end : band->end;
    for (int i = 0; i < 2; i++) {
        uint64_t edge = (i == 0 ? first : last + 1) % SCENARIO_PAGE_BYTES;
        scaling->edges[edge / 64] |= UINT64_C(1) << (edge % 64);
    }
    return true;
}

static bool address(struct scaling *scaling, uint64_t *guest_addr)
{
    uint64_t size_bytes = 1;
    return range(scaling, guest_addr, &size_bytes);
}

/* ---- the program ----------------------------------------------------------------------------- */

static bool result(struct scaling *scaling, const struct scenario_op *op,
                   struct scenario_result *its)
{
    if (its->kind == RESULT_SHORT && its->number > 0) {
        uint64_t guest_addr = op->guest_addr;
        return range(scaling, &guest_addr, &its->number);
    }
    if (its->span_count == 0)
        return true;
    struct scenario_span *spans =
        scenario_pool_take(&scaling->scenario->pool, its->span_count * sizeof *spans);
    scaling->no_memory |= spans == NULL;
    if (spans == NULL)
        return false;
    memcpy(spans, its->spans, its->span_count * sizeof *spans);
    its->spans = spans;
    for (uint32_t i = 0; i < its->span_count; i++)
        if (!range(scaling, &spans[i].guest_addr, &spans[i].size_bytes))
            return false;
    return true;
}

static bool results(struct scaling *scaling, struct scenario_op *op)
{
    if (op->result_count == 0)
        return true;
    struct scenario_result *copies =
        scenario_pool_take(&scaling->scenario->pool, op->result_count * sizeof *copies);
    scaling->no_memory |= copies == NULL;
    if (copies == NULL)
        return false;
    memcpy(copies, op->results, op->result_count * sizeof *copies);
    for (uint32_t i = 0; i < op->result_count; i++)
        if (!result(scaling, op, &copies[i]))
            return false;
    op->results = copies;
    return true;
}

static bool operations(struct scaling *scaling, const struct scenario_op **ops, uint32_t count);

static bool operation(struct scaling *scaling, struct scenario_op *op)
{
    switch (op->verb) {
    case VERB_WATCH_MASK:
    case VERB_UNWATCH_MASK:
        return cannot(scaling, "masks of 4 KiB pages");
    case VERB_CALLS:
        return cannot(scaling, "counts of host calls");
    case VERB_GEN_TRACK:
    case VERB_GEN:
    case VERB_GEN_HLE:
    case VERB_GEN_REMAP:
        return cannot(scaling, "generations, which have a page of their own");
    case VERB_PROT:
    case VERB_LOCK:
    case VERB_UNLOCK:
        if (!results(scaling, op) || !address(scaling, &op->guest_addr))
            return false;
        break;
    default:
        /* Results first: they are told from the operation's address as it was written. */
        if (!results(scaling, op) ||
            (scenario_verb_ranged(op->verb) && !range(scaling, &op->guest_addr, &op->size_bytes)))
            return false;
        break;
    }
    return operations(scaling, &op->nested, op->nested_count);
}

/* A changed copy of a list; a first look leaves the list as it is. */
static bool operations(struct scaling *scaling, const struct scenario_op **ops, uint32_t count)
{
    if (count == 0)
        return true;
    struct scenario_op *copies =
        scenario_pool_take(&scaling->scenario->pool, count * sizeof *copies);
    scaling->no_memory |= copies == NULL;
    if (copies == NULL)
        return false;
    memcpy(copies, *ops, count * sizeof *copies);
    for (uint32_t i = 0; i < count; i++)
        if (!operation(scaling, &copies[i]))
            return false;
    if (scaling->placing)
        *ops = copies;
    return true;
}

static bool program(struct scaling *scaling)
{
    struct trk_scenario *scenario = scaling->scenario;
    for (uint32_t i = 0; i < scenario->thread_count; i++)
        if (!operations(scaling, &scenario->threads[i].ops, scenario->threads[i].op_count))
            return false;
    for (uint32_t i = 0; i < scenario->entry_count; i++)
        if (!range(scaling, &scenario->entries[i].guest_addr, &scenario->entries[i].size_bytes))
            return false;
    return true;
}

static bool fits(struct scaling *scaling)
{
    for (uint32_t i = 0; i < scaling->band_count; i++) {
        const struct band *band = &scaling->bands[i];
        uint64_t end = band->first / scaling->factor + (band->end - band->first);
        if (end * scaling->factor > TRK_REGION_PAGES)
            return cannot(scaling, "more pages than fit into a region");
    }
    scaling->middle = SCENARIO_PAGE_BYTES / 2;
    while (scaling->middle < SCENARIO_PAGE_BYTES &&
           (scaling->edges[scaling->middle / 64] >> (scaling->middle % 64) & 1) != 0)
        scaling->middle++;
    return scaling->middle < SCENARIO_PAGE_BYTES || cannot(scaling, "ranges that end anywhere");
}

enum trk_status trk_scenario_scale(struct trk_scenario *scenario, uint32_t page_size_bytes,
                                   const char **why)
{
    struct scaling scaling = {
        .scenario = scenario,
        .factor = page_size_bytes / SCENARIO_PAGE_BYTES,
    };
    struct trk_policy *policy = &scenario->policy.core;
    bool done =
        policy->page_size_bytes == SCENARIO_PAGE_BYTES || cannot(&scaling, "pages of another size");
    if (done && (policy->generations || scenario->policy.line_bytes != 1))
        done = cannot(&scaling, "lines or generations of their own size");
    done = done && program(&scaling) && fits(&scaling);
    if (done) {
        scaling.placing = true;
        done = program(&scaling);
    }
    if (done) {
        policy->page_size_bytes = page_size_bytes;
        return TRK_OK;
    }
    *why = scaling.why;
    return scaling.no_memory ? TRK_E_MEMORY : TRK_E_UNSUPPORTED;
}
