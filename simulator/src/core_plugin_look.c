/*
 * What is seen from outside of an operation of a tracker that tells no events.
 *
 * Its pages are looked at before and after it. Where a region's differ, that is told as the event
 * that a tracker of ours would have told; so whoever follows events needs to know of no difference.
 */
#include "core_plugin.h"

#include <inttypes.h>

#include "scenario_run.h"

/* Pages of larger ranges are not looked at: they count as changed. */
#define PAGES_MOST (UINT64_C(16) * TRK_REGION_PAGES)

/* Of larger ones it is not asked whether page() says what the host was told. */
#define SAID_MOST 64u

static uint64_t mix(uint64_t digest, uint64_t value)
{
    digest = (digest ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return digest ^ digest >> 29;
}

/* The operation's pages in one region. */
static uint64_t pages_digest(const struct core_look *look, uint32_t region)
{
    uint64_t first = look->first, end = look->end;
    uint64_t begin = trk_region_address(region), behind = begin + TRK_REGION_BYTES;
    uint64_t digest = region;
    if ((end - first) / TRK_HOST_PAGE_BYTES > PAGES_MOST)
        return digest;
    first = first > begin ? first : begin;
    end = end < behind ? end : behind;
    for (uint64_t at = first; at < end; at += TRK_HOST_PAGE_BYTES) {
        struct trk_page_view page = core_plugin_calls.page(look->tracker, at);
        digest =
            mix(digest, (uint64_t)page.cpu_dirty | (uint64_t)page.gpu_dirty << 1 |
                            (uint64_t)page.armed << 2 | (uint64_t)page.read_watch << 3 |
                            (uint64_t)page.write_watches << 8 | (uint64_t)page.guest_rights << 16 |
                            (uint64_t)page.host_rights << 24);
    }
    return digest;
}

/* ---- what the host was told ------------------------------------------------------------------ */

void core_look_anew(struct core_tracker *tracker)
{
    tracker->under_way = 0;
    tracker->begun = 0;
    tracker->told = (struct core_told){0};
}

static size_t slot_of(const struct core_told *told, uint64_t page)
{
    size_t at = (size_t)mix(0, page) & (CORE_TOLD_SLOTS - 1);
    while (told->slots[at].page != 0 && told->slots[at].page != page)
        at = (at + 1) & (CORE_TOLD_SLOTS - 1);
    return at;
}

void core_look_told(struct core_tracker *tracker, uint64_t guest_addr, uint64_t size_bytes,
                    uint32_t rights)
{
    struct core_told *told = &tracker->told;
    uint64_t first = guest_addr / TRK_HOST_PAGE_BYTES;
    uint64_t pages = size_bytes / TRK_HOST_PAGE_BYTES;
    if (pages > CORE_TOLD_MOST) /* not followed from here on */
        told->count = CORE_TOLD_MOST;
    for (uint64_t page = first; page < first + pages && told->count < CORE_TOLD_MOST; page++) {
        size_t at = slot_of(told, page);
        told->count += told->slots[at].page == 0;
        told->slots[at].page = page;
        told->slots[at].rights = rights;
    }
}

/* page() says what the host was last told. Where others were inside meanwhile, one of them may
 * stand between its call and noting it. */
static void check_told(const struct core_look *look)
{
    const struct core_tracker *tracker = core_tracker_of(look->tracker);
    const struct core_told *told = &tracker->told;
    if (core_table->state != NULL || look->begun != tracker->begun ||
        told->count == CORE_TOLD_MOST ||
        (look->end - look->first) / TRK_HOST_PAGE_BYTES > SAID_MOST)
        return;
    for (uint64_t at = look->first; at < look->end; at += TRK_HOST_PAGE_BYTES) {
        size_t slot = slot_of(told, at / TRK_HOST_PAGE_BYTES);
        struct trk_page_view page = core_plugin_calls.page(look->tracker, at);
        uint32_t rights = told->slots[slot].rights & TRK_RIGHTS_RW;
        if (told->slots[slot].page == 0 || rights == (page.host_rights & TRK_RIGHTS_RW))
            continue;
        core_misuse("page() says that the host was told %#x of %#" PRIx64 ", and it was told %#x",
                    page.host_rights & TRK_RIGHTS_RW, at, rights);
        return;
    }
}

/* ---- an operation ---------------------------------------------------------------------------- */

static void emit(const struct core_look *look, const struct trk_event *event)
{
    const struct trk_observer *observer = &core_tracker_of(look->tracker)->options.observer;
    if (observer->emit != NULL)
        observer->emit(observer->context, event);
}

void core_look_begin(struct core_look *look, struct trk_tracker *tracker, enum trk_op op,
                     uint64_t guest_addr, uint64_t size_bytes)
{
    *look = (struct core_look){.tracker = tracker, .op = op};
    if (!core_foreign())
        return;
    run_core_enter(); /* in a scenario */
    struct core_tracker *self = core_tracker_of(tracker);
    self->begun++;
    look->begun = self->under_way++ == 0 ? self->begun : 0;
    const struct trk_policy *policy = &core_tracker_of(tracker)->options.policy;
    struct trk_event begin = {
        .argument = guest_addr, .type = TRK_EVENT_OP_BEGIN, .context = (uint16_t)op};
    trk_event_set_size(&begin, size_bytes);
    emit(look, &begin);
    if (!trk_range_valid(policy->arena, guest_addr, size_bytes))
        return;
    uint64_t page = policy->page_size_bytes;
    look->first = guest_addr & ~(page - 1);
    look->end = (guest_addr + size_bytes + page - 1) & ~(page - 1);
    look->region = trk_region_index(look->first);
    look->region_count = trk_region_index(look->end - 1) - look->region + 1;
    for (uint32_t i = 0; i < look->region_count && i < CORE_LOOK_REGIONS; i++)
        look->before[i] = pages_digest(look, look->region + i);
}

void core_look_end(const struct core_look *look)
{
    if (!core_foreign())
        return;
    core_tracker_of(look->tracker)->under_way--;
    check_told(look);
    uint32_t most = look->region_count < CORE_LOOK_REGIONS ? look->region_count : CORE_LOOK_REGIONS;
    bool small = (look->end - look->first) / TRK_HOST_PAGE_BYTES <= PAGES_MOST;
    for (uint32_t i = 0; i < most; i++) {
        bool changed = !small || look->before[i] != pages_digest(look, look->region + i);
        struct trk_event seen = {.domain = trk_domain(TRK_DOMAIN_PAGES, 0, look->region + i),
                                 .type = TRK_EVENT_WATCH,
                                 .pages = changed};
        emit(look, &seen);
    }
    emit(look, &(struct trk_event){.type = TRK_EVENT_OP_END, .context = (uint16_t)look->op});
    run_core_leave();
}
