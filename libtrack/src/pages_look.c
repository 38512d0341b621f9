/*
 * The look of the fault handler at a page: one hold of the page manager, and the FAULT event.
 *
 * Rules: [M-55] [M-56] [M-74].
 */
#include "mappings.h"
#include "mutation.h"
#include "views.h"

static bool page_armed(const struct region *region, uint32_t page)
{
    return region->extra != NULL && page_bit(region->extra->armed, page);
}

/* The registered views of the page, which may be itself alone; under the common lock if shared. */
static void look_at_views(const struct hold *hold, uint32_t page, struct page_look *out)
{
    const struct trk_tracker *tracker = hold->operation->tracker;
    uint64_t page_addr = trk_region_address(hold->index) + page * TRK_HOST_PAGE_BYTES;
    const struct view_group *group = NULL;
    if (hold->number == TRK_DOMAIN_SHARED && view_seen(tracker, page_addr))
        group = hold->region->views->group[page];
    if (group == NULL) {
        out->view_count = 1;
        out->page_addr[0] = page_addr;
        out->armed = page_armed(hold->region, page);
        return;
    }
    for (uint32_t i = 0; i < group->count; i++) {
        uint64_t other_addr = group->page_addr[i];
        const struct region *region = region_slot(tracker, trk_region_index(other_addr));
        if (!view_seen(tracker, other_addr) || (MUTANT(104) && other_addr != page_addr))
            continue;
        out->armed |= (uint32_t)page_armed(region, page_number(other_addr)) << out->view_count;
        out->page_addr[out->view_count++] = other_addr;
    }
}

/* The runs that open with each view of the page; gives the longest one's pages. */
static uint32_t look_at_runs(const struct hold *hold, struct page_look *out)
{
    uint32_t longest = 0;
    for (uint32_t i = 0; i < out->view_count; i++) {
        out->runs[i] = trk_mappings_closed_run(hold, trk_region_index(out->page_addr[i]),
                                               page_number(out->page_addr[i]));
        uint32_t pages = out->runs[i].end - out->runs[i].first;
        longest = pages > longest ? pages : longest;
    }
    return longest;
}

static const unsigned needed_rights[] = {
    [TRK_ACCESS_READ] = TRK_RIGHT_READ,
    [TRK_ACCESS_WRITE] = TRK_RIGHT_WRITE,
    [TRK_ACCESS_EXECUTE] = TRK_RIGHT_EXEC,
};

void trk_pages_look_views(const struct operation *operation, enum trk_access access,
                          struct page_look *out)
{
    uint32_t index = trk_region_index(operation->guest_addr);
    uint32_t page = page_number(operation->guest_addr);
    struct trk_event event = {
        .type = TRK_EVENT_FAULT,
        .argument = operation->guest_addr,
        .flags = (uint8_t)access,
        .context = TRK_LOOK_UNKNOWN,
        .domain = operation->tracker->id << 24,
        .page = (uint16_t)page,
    };
    *out = (struct page_look){.look = TRK_LOOK_UNKNOWN};
    if (!region_live(operation->tracker, index)) {
        if (observed(operation->tracker))
            emit(operation->tracker, &event);
        return;
    }

    struct hold hold;
    hold_begin(&hold, operation, index);
    unsigned guest = rights_of_page(rights_guest(hold.region, page / 64), page);
    unsigned host = rights_of_page(rights_host(hold.region, page / 64), page);
    out->changes = hold.region->pages_changes;
    out->look = TRK_LOOK_CLOSED;
    if (!(guest & needed_rights[access]))
        out->look = MUTANT(112) ? TRK_LOOK_CLOSED : TRK_LOOK_FORBIDDEN;
    else if (host & needed_rights[access])
        out->look = TRK_LOOK_PERMITTED;
    look_at_views(&hold, page, out);
    event.context = (uint16_t)out->look;
    if (out->look == TRK_LOOK_CLOSED && operation->tracker->backend->mappings != NULL)
        event.pages = (uint16_t)look_at_runs(&hold, out);
    if (observed(operation->tracker))
        hold_event(&hold, event);
    hold_end(&hold, 0);
}
