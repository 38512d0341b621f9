/*
 * What the core is told: registered bytes, the guest's own rights, the resource layer.
 *
 * Registered bytes are kept per region, byte-exact, as ascending disjoint spans under the region's
 * lock, so that a fault's ownership is decided in the same hold as its service.
 *
 * Rules: [M-24] [M-45].
 */
#include <stddef.h>
#include <string.h>

#include "generations.h"
#include "mutation.h"
#include "views.h"

#define SPANS_FIRST 8u

bool trk_region_registered(const struct region *region, uint32_t first, uint32_t end)
{
    uint32_t low = 0, high = region->span_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (region->spans[middle].end <= first)
            low = middle + 1;
        else
            high = middle;
    }
    return low < region->span_count && region->spans[low].first <= first &&
           end <= region->spans[low].end;
}

bool trk_bytes_registered(const struct operation *operation)
{
    uint64_t first_addr = operation->guest_addr;
    uint64_t end_addr = first_addr + operation->size_bytes;
    while (first_addr < end_addr) {
        uint32_t index = trk_region_index(first_addr);
        uint64_t base = trk_region_address(index);
        uint64_t part_end = end_addr < base + TRK_REGION_BYTES ? end_addr : base + TRK_REGION_BYTES;
        const struct region *region = region_slot(operation->tracker, index);
        /* One that was met since the others were locked is not ours to read, and was not
         * registered then. */
        if (!region_live(operation->tracker, index) ||
            env_lock_owner(&region->lock) != operation->self->id ||
            !trk_region_registered(region, (uint32_t)(first_addr - base),
                                   (uint32_t)(part_end - base)))
            return false;
        first_addr = part_end;
    }
    return true;
}

/* Room for one span more; the former table stays with the tracker's memory. */
static bool spans_grow(struct trk_tracker *tracker, struct region *region)
{
    if (region->span_count < region->span_capacity)
        return true;
    uint32_t capacity = region->span_capacity == 0 ? SPANS_FIRST : region->span_capacity * 2;
    struct span *spans = trk_arena_take(tracker, (uint64_t)capacity * sizeof *spans);
    if (spans == NULL)
        return false;
    if (region->span_count > 0)
        memcpy(spans, region->spans, region->span_count * sizeof *spans);
    region->spans = spans;
    region->span_capacity = capacity;
    return true;
}

/* Spans [from, to) give way to `count` (0 to 2) others; there is room. */
static void spans_replace(struct region *region, uint32_t from, uint32_t to,
                          const struct span *others, uint32_t count)
{
    memmove(&region->spans[from + count], &region->spans[to],
            (region->span_count - to) * sizeof *region->spans);
    if (count > 0)
        memcpy(&region->spans[from], others, count * sizeof *others);
    region->span_count = region->span_count - (to - from) + count;
}

/* Join [first, end) with all spans that it meets or touches, exact to the byte. [M-24] */
static bool spans_add(struct trk_tracker *tracker, struct region *region, struct span added)
{
    if (!spans_grow(tracker, region))
        return false;
    uint32_t from = 0;
    while (from < region->span_count && region->spans[from].end < added.first)
        from++;
    uint32_t to = from;
    while (to < region->span_count && region->spans[to].first <= added.end) {
        if (region->spans[to].first < added.first)
            added.first = region->spans[to].first;
        if (region->spans[to].end > added.end)
            added.end = region->spans[to].end;
        to++;
    }
    spans_replace(region, from, to, &added, 1);
    return true;
}

/* Cut [first, end) out of all spans. */
static bool spans_remove(struct trk_tracker *tracker, struct region *region, struct span removed)
{
    if (region->span_count == 0 || MUTANT(50))
        return true;
    if (!spans_grow(tracker, region))
        return false;
    uint32_t from = 0;
    while (from < region->span_count && region->spans[from].end <= removed.first)
        from++;
    uint32_t to = from;
    struct span rests[2];
    uint32_t count = 0;
    while (to < region->span_count && region->spans[to].first < removed.end) {
        struct span span = region->spans[to];
        if (span.first < removed.first)
            rests[count++] = (struct span){span.first, removed.first};
        if (span.end > removed.end)
            rests[count++] = (struct span){removed.end, span.end};
        to++;
    }
    spans_replace(region, from, to, rests, count);
    return true;
}

/* Whether any byte [first, end) is registered. */
static bool spans_touch(const struct region *region, uint32_t first, uint32_t end)
{
    for (uint32_t i = 0; i < region->span_count && region->spans[i].first < end; i++) {
        if (region->spans[i].end > first && first < end)
            return true;
    }
    return false;
}

/* Tell the pages' other views which of them are about to get, or lose, their registered bytes. */
static enum trk_status see_pages(const struct operation *operation, const struct region *region,
                                 struct span changed, bool add)
{
    const uint32_t bytes = (uint32_t)TRK_HOST_PAGE_BYTES;
    struct window window = {
        .index = region_index(operation->tracker, region),
        .first = changed.first / bytes,
        .end = (changed.end - 1) / bytes + 1,
    };
    uint64_t mask[TRK_REGION_WORDS] = {0};
    bool any = false;
    for (uint32_t page = window.first; page < window.end; page++) {
        bool stays = !add && (spans_touch(region, page * bytes, changed.first) ||
                              spans_touch(region, changed.end, (page + 1) * bytes));
        if (stays || page_bit(region->views->seen, page) == add)
            continue;
        mask[page / 64] |= UINT64_C(1) << (page % 64);
        any = true;
    }
    return any ? trk_views_see(operation, &window, mask, add) : TRK_OK;
}

/* A region's part; the region is held. */
static enum trk_status registration_part(const struct operation *operation, struct region *region,
                                         struct span span)
{
    bool add = operation->op == TRK_OP_REGISTER;
    if ((add || region->span_count > 0) && !spans_grow(operation->tracker, region))
        return TRK_E_MEMORY;
    enum trk_status status = TRK_OK;
    if (TRK_UNLIKELY(region_shared(region)))
        status = see_pages(operation, region, span, add);
    if (status == TRK_OK && !(add ? spans_add(operation->tracker, region, span)
                                  : spans_remove(operation->tracker, region, span)))
        status = TRK_E_MEMORY;
    return status;
}

static enum trk_status registration_run(struct trk_tracker *tracker, enum trk_op op,
                                        uint64_t guest_addr, uint64_t size_bytes)
{
    struct operation operation = {
        .tracker = tracker, .op = op, .guest_addr = guest_addr, .size_bytes = size_bytes};
    bool add = op == TRK_OP_REGISTER;
    enum trk_status status = trk_op_begin(&operation, 0, 0);
    if (status != TRK_OK)
        return trk_op_end(&operation, status, 0);
    uint64_t end_addr = guest_addr + size_bytes;
    uint32_t end = trk_region_index(end_addr - 1) + 1;
    for (uint32_t index = trk_region_index(guest_addr); status == TRK_OK && index < end; index++) {
        if (!add && !region_live(tracker, index))
            continue;
        trk_region_make_live(tracker, index);
        uint64_t base = trk_region_address(index);
        struct span span = {
            guest_addr > base ? (uint32_t)(guest_addr - base) : 0,
            end_addr < base + TRK_REGION_BYTES ? (uint32_t)(end_addr - base)
                                               : (uint32_t)TRK_REGION_BYTES,
        };
        struct region *region = trk_region_lock(&operation, index);
        status = registration_part(&operation, region, span);
        trk_region_unlock(&operation, region);
    }
    if (status == TRK_E_PROTECT)
        trk_op_fail(&operation, status, trk_op_refusal_text(status));
    return trk_op_end(&operation, status, 0);
}

enum trk_status trk_tracker_register(struct trk_tracker *tracker, uint64_t guest_addr,
                                     uint64_t size_bytes)
{
    return registration_run(tracker, TRK_OP_REGISTER, guest_addr, size_bytes);
}

enum trk_status trk_tracker_unregister(struct trk_tracker *tracker, uint64_t guest_addr,
                                       uint64_t size_bytes)
{
    return registration_run(tracker, TRK_OP_UNREGISTER, guest_addr, size_bytes);
}

/*
 * What the processor makes of rights: it knows no page that can be written and not read. Without
 * this such a page could be read until a watch closes it, and then a load of it would be a crash.
 */
static unsigned rights_of_host(unsigned rights)
{
    return rights & TRK_RIGHT_WRITE ? rights | TRK_RIGHT_READ : rights;
}

enum trk_status trk_tracker_set_guest_protection(struct trk_tracker *tracker, uint64_t guest_addr,
                                                 uint64_t size_bytes, unsigned rights)
{
    struct operation operation = {.tracker = tracker,
                                  .op = TRK_OP_GUEST_PROTECT,
                                  .guest_addr = guest_addr,
                                  .size_bytes = size_bytes};
    if (rights > (TRK_RIGHTS_RW | TRK_RIGHT_EXEC))
        return TRK_E_ARGUMENT;
    enum trk_status status = trk_op_begin(&operation, 0, rights);
    if (status != TRK_OK)
        return trk_op_end(&operation, status, 0);
    status = trk_generations_protect(&operation, rights_of_host(rights));
    if (status == TRK_E_PROTECT)
        trk_op_fail(&operation, status, trk_op_refusal_text(status));
    return trk_op_end(&operation, status, 0);
}

enum trk_status trk_tracker_set_resource_layer(struct trk_tracker *tracker,
                                               const struct trk_resource_layer *layer)
{
    /* The range is a formality here: this operation has none. */
    struct operation operation = {.tracker = tracker,
                                  .op = TRK_OP_RESOURCE_LAYER,
                                  .guest_addr = TRK_LOW_FIRST,
                                  .size_bytes = TRK_HOST_PAGE_BYTES};
    unsigned flags = 0;
    if (layer != NULL)
        flags = (layer->flush != NULL ? TRK_OP_FLAG_FLUSH : 0u) |
                (layer->read_back != NULL ? TRK_OP_FLAG_READ_BACK : 0u);
    enum trk_status status = trk_op_begin(&operation, flags, 0);
    if (status == TRK_OK)
        tracker->layer = layer != NULL ? *layer : (struct trk_resource_layer){0};
    return trk_op_end(&operation, status, 0);
}
