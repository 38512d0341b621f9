/*
 * The page manager's own clients, and a look at a page for checkers.
 *
 * Rules: [M-37] [M-40] [M-43].
 */
#include "track/pages.h"

#include <stddef.h>
#include <string.h>

#include "internal.h"

/* One region's part of a watch or unwatch by range. */
static enum trk_status range_part(const struct operation *operation, uint32_t index, bool add)
{
    static const uint64_t all[TRK_REGION_WORDS] = {
        [0 ... TRK_REGION_WORDS - 1] = ~UINT64_C(0),
    };
    struct window window = range_window(&operation->range, index);
    return trk_pages_change(operation, &window, all, add ? WATCH_WRITE_ADD : WATCH_WRITE_DROP);
}

/*
 * All regions are looked at before any is changed. [M-63] Another client may still be faster: then
 * the regions done so far are taken back.
 */
static enum trk_status range_change(const struct operation *operation, bool add)
{
    const struct range *range = &operation->range;
    for (uint32_t index = range->first_region; index < range->end_region; index++) {
        struct window window = range_window(range, index);
        if (!trk_pages_may_change(operation, &window, add))
            return TRK_E_WATCH;
    }
    enum trk_status status = TRK_OK;
    uint32_t index = range->first_region;
    for (; status == TRK_OK && index < range->end_region; index++) {
        trk_region_make_live(operation->tracker, index);
        status = range_part(operation, index, add);
    }
    if (status == TRK_E_WATCH) {
        for (index--; index-- > range->first_region;) {
            if (range_part(operation, index, !add) != TRK_OK)
                break; /* the same client once more: its fault, and reported as such */
        }
    }
    return status;
}

static enum trk_status range_run(struct trk_tracker *tracker, enum trk_op op, uint64_t guest_addr,
                                 uint64_t size_bytes)
{
    struct operation operation = {
        .tracker = tracker, .op = op, .guest_addr = guest_addr, .size_bytes = size_bytes};
    enum trk_status status = trk_op_begin(&operation, 0, 0);
    if (status != TRK_OK)
        return trk_op_end(&operation, status, 0);
    status = range_change(&operation, op == TRK_OP_WATCH);
    if (status != TRK_OK)
        trk_op_fail(&operation, status, trk_op_refusal_text(status));
    return trk_op_end(&operation, status, 0);
}

enum trk_status trk_pages_watch(struct trk_tracker *tracker, uint64_t guest_addr,
                                uint64_t size_bytes)
{
    return range_run(tracker, TRK_OP_WATCH, guest_addr, size_bytes);
}

enum trk_status trk_pages_unwatch(struct trk_tracker *tracker, uint64_t guest_addr,
                                  uint64_t size_bytes)
{
    return range_run(tracker, TRK_OP_UNWATCH, guest_addr, size_bytes);
}

static void emit_mask(const struct trk_tracker *tracker, const uint64_t *mask)
{
    for (uint32_t word = 0; word < TRK_REGION_WORDS; word++) {
        if (mask[word] != 0)
            emit(tracker, &(struct trk_event){.type = TRK_EVENT_MASK,
                                              .argument = mask[word],
                                              .page = (uint16_t)word});
    }
}

/* Bits of a word that are pages: all, unless a test builds with smaller regions than a word. */
#define WORD_PAGES (~UINT64_C(0) >> (TRK_REGION_PAGES < 64u ? 64u - TRK_REGION_PAGES : 0u))

static enum trk_status mask_run(struct operation *operation, const uint64_t *mask, bool read)
{
    if (observed(operation->tracker))
        emit_mask(operation->tracker, mask);
    enum trk_status status = trk_op_begin(operation, read ? TRK_OP_FLAG_READ : 0, 0);
    if (status != TRK_OK)
        return trk_op_end(operation, status, 0);
    uint64_t any = 0;
    for (uint32_t word = 0; word < TRK_REGION_WORDS; word++)
        any |= mask[word] & WORD_PAGES;
    if (operation->guest_addr % TRK_REGION_BYTES != 0 || any == 0)
        return trk_op_end(
            operation,
            trk_op_fail(operation, TRK_E_WATCH, "watch mask is empty or off a region's start"), 0);
    uint32_t index = operation->range.first_region;
    struct window window = {.index = index, .first = 0, .end = TRK_REGION_PAGES};
    enum watch_change change = read ? WATCH_READ_ADD : WATCH_WRITE_ADD;
    if (operation->op == TRK_OP_UNWATCH_MASK)
        change = read ? WATCH_READ_DROP : WATCH_WRITE_DROP;
    status = trk_pages_change(operation, &window, mask, change);
    if (status == TRK_OK)
        trk_region_make_live(operation->tracker, index);
    if (status != TRK_OK)
        trk_op_fail(operation, status, trk_op_refusal_text(status));
    return trk_op_end(operation, status, 0);
}

/* The operation's size is a formality: one page of the base, so that region 0 and odd bases pass
 * the check of ranges and meet the check of bases. */
enum trk_status trk_pages_watch_mask(struct trk_tracker *tracker, uint64_t base,
                                     const uint64_t *mask, bool read)
{
    struct operation operation = {
        .tracker = tracker, .op = TRK_OP_WATCH_MASK, .guest_addr = base, .size_bytes = 1};
    return mask_run(&operation, mask, read);
}

enum trk_status trk_pages_unwatch_mask(struct trk_tracker *tracker, uint64_t base,
                                       const uint64_t *mask, bool read)
{
    struct operation operation = {
        .tracker = tracker, .op = TRK_OP_UNWATCH_MASK, .guest_addr = base, .size_bytes = 1};
    return mask_run(&operation, mask, read);
}

static bool bit(const uint64_t *set, uint32_t page)
{
    return env_peek(&set[page / 64]) >> (page % 64) & 1;
}

struct trk_page_view trk_pages_view(struct trk_tracker *tracker, uint64_t guest_addr)
{
    struct trk_page_view view = {.cpu_dirty = true,
                                 .writable = true,
                                 .readable = true,
                                 .guest_rights = TRK_RIGHTS_RW,
                                 .host_rights = TRK_RIGHTS_RW};
    uint32_t index = trk_region_index(guest_addr);
    if (!trk_range_valid(tracker->policy.arena, guest_addr, 1) || !region_live(tracker, index))
        return view;
    const struct region *region = region_slot(tracker, index);
    uint32_t page = (uint32_t)(guest_addr % TRK_REGION_BYTES / TRK_HOST_PAGE_BYTES);
    uint32_t first_byte = page * (uint32_t)TRK_HOST_PAGE_BYTES;
    env_pages_peek(region);
    view.cpu_dirty = !bit(region->not_cpu, page);
    view.gpu_dirty = bit(region->gpu, page);
    view.writable = view.cpu_dirty;
    view.readable = !view.gpu_dirty;
    view.registered =
        trk_region_registered(region, first_byte, first_byte + (uint32_t)TRK_HOST_PAGE_BYTES);
    view.write_watches = (uint8_t)page_write_watches(region, page);
    view.read_watch = bit(region->read, page);
    view.armed = region->extra != NULL && bit(region->extra->armed, page);
    view.guest_rights = (uint8_t)rights_of_page(rights_guest(region, page / 64), page);
    view.host_rights = (uint8_t)rights_of_page(rights_host(region, page / 64), page);
    return view;
}

uint64_t trk_pages_live_watches(const struct trk_tracker *tracker)
{
    uint64_t count = 0;
    for (uint32_t index = trk_region_next_live(tracker, 0, TRK_REGION_COUNT);
         index < TRK_REGION_COUNT;
         index = trk_region_next_live(tracker, index + 1, TRK_REGION_COUNT)) {
        const struct region *region = region_slot(tracker, index);
        for (uint32_t word = 0; word < TRK_REGION_WORDS; word++)
            count += (uint64_t)__builtin_popcountll(region->read[word]);
        for (uint32_t page = 0; page < TRK_REGION_PAGES; page++)
            count += page_write_watches(region, page);
    }
    return count;
}

bool trk_pages_met(const struct trk_tracker *tracker, uint64_t guest_addr)
{
    return region_live(tracker, trk_region_index(guest_addr));
}

void trk_pages_set_met(struct trk_tracker *tracker, uint64_t guest_addr, bool met)
{
    uint32_t index = trk_region_index(guest_addr);
    uint64_t bit = UINT64_C(1) << (index % 64);
    if (met)
        trk_region_make_live(tracker, index);
    else
        __atomic_fetch_and(&tracker->live[index / 64], ~bit, __ATOMIC_RELEASE);
}
