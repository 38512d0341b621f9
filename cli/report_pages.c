#include "report_pages.h"

#include <stdlib.h>

#include "track/address.h"

#define PAGE_BYTES UINT64_C(4096)
#define SET        0x80u

enum side { SIDE_NONE, SIDE_CPU, SIDE_GPU };

/* ---- the table ------------------------------------------------------------------------------- */

static struct trk_report_page *slot_of(const struct trk_report_pages *pages, uint64_t key)
{
    size_t at = (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (pages->slot_count - 1);
    while (pages->slots[at].key != 0 && pages->slots[at].key != key) {
        at = (at + 1) & (pages->slot_count - 1);
    }
    return &pages->slots[at];
}

static enum trk_status grow(struct trk_report_pages *pages, struct trk_error *error)
{
    struct trk_report_pages larger = *pages;
    larger.slot_count = pages->slot_count == 0 ? 4096 : pages->slot_count * 2;
    larger.slots = calloc(larger.slot_count, sizeof *larger.slots);
    if (larger.slots == NULL) {
        return trk_error_set(error, TRK_E_MEMORY, "no memory for what became of the pages");
    }
    for (size_t i = 0; i < pages->slot_count; i++) {
        if (pages->slots[i].key != 0) {
            *slot_of(&larger, pages->slots[i].key) = pages->slots[i];
        }
    }
    free(pages->slots);
    *pages = larger;
    return TRK_OK;
}

static enum trk_status find(struct trk_report_pages *pages, uint64_t number,
                            struct trk_report_page **out, struct trk_error *error)
{
    if (pages->count == TRK_REPORT_PAGES_MOST) {
        return trk_error_set(error, TRK_E_UNSUPPORTED, "more than %u pages", TRK_REPORT_PAGES_MOST);
    }
    enum trk_status status = pages->count * 2 >= pages->slot_count ? grow(pages, error) : TRK_OK;
    if (status == TRK_OK) {
        *out = slot_of(pages, number + 1);
        if ((*out)->key == 0) {
            (*out)->key = number + 1;
            pages->count++;
        }
    }
    return status;
}

/* ---- what an event does to a page ------------------------------------------------------------ */

static unsigned rights_of(const struct trk_report_pages *pages, uint64_t number)
{
    const struct trk_report_page *page = slot_of(pages, number + 1);
    return page->key != 0 && (page->rights & SET) != 0 ? page->rights & ~SET : TRK_RIGHTS_RW;
}

static void set_rights(struct trk_report_pages *pages, struct trk_report_page *page,
                       unsigned rights)
{
    const uint64_t number = page->key - 1;
    const unsigned former = rights_of(pages, number);
    const unsigned below = number > 0 ? rights_of(pages, number - 1) : TRK_RIGHTS_RW;
    const unsigned above = rights_of(pages, number + 1);
    pages->borders += (uint64_t)(below != rights) + (above != rights);
    pages->borders -= (uint64_t)(below != former) + (above != former);
    page->rights = (uint8_t)(rights | SET);
}

static void take(struct trk_report_page *page, enum side side, bool counts)
{
    page->turns += counts && page->side != SIDE_NONE && page->side != side;
    page->side = (uint8_t)side;
}

static void apply(struct trk_report_pages *pages, struct trk_report_page *page,
                  const struct trk_event *event)
{
    const bool counts = !pages->silent;
    switch (event->type) {
    case TRK_EVENT_FAULT:
        page->faults += counts;
        take(page, SIDE_CPU, counts);
        break;
    case TRK_EVENT_COPY_BEGIN:
        page->up += counts && event->context == TRK_COPY_UP;
        page->down += counts && event->context == TRK_COPY_DOWN;
        take(page, event->context == TRK_COPY_UP ? SIDE_GPU : SIDE_CPU, counts);
        break;
    case TRK_EVENT_GPU_WRITE:
        take(page, SIDE_GPU, counts);
        break;
    default: /* PROTECT, HOST_PROTECT */
        set_rights(pages, page, event->flags & (TRK_RIGHTS_RW | TRK_RIGHT_EXEC));
        break;
    }
}

/* Whose pages an event is about; false: none's. */
static bool range_of(const struct trk_event *event, uint64_t *first, uint64_t *count)
{
    uint64_t guest_addr = event->argument;
    uint64_t size_bytes = event->seq | (uint64_t)event->domain << 32;
    switch (event->type) {
    case TRK_EVENT_FAULT:
        size_bytes = 1;
        break;
    case TRK_EVENT_GPU_WRITE:
        size_bytes = event->seq;
        break;
    case TRK_EVENT_PROTECT:
        guest_addr = (event->argument != 0 ? event->argument
                                           : trk_region_address(trk_domain_region(event->domain))) +
                     event->page * PAGE_BYTES;
        size_bytes = event->pages * PAGE_BYTES;
        break;
    case TRK_EVENT_COPY_BEGIN:
    case TRK_EVENT_HOST_PROTECT:
        break;
    default:
        return false;
    }
    bool refused = (event->type == TRK_EVENT_PROTECT || event->type == TRK_EVENT_HOST_PROTECT) &&
                   (event->flags & TRK_EVENT_FAILED) != 0;
    if (refused || size_bytes == 0 || guest_addr + (size_bytes - 1) < guest_addr) {
        return false;
    }
    *first = guest_addr / PAGE_BYTES;
    *count = (guest_addr + (size_bytes - 1)) / PAGE_BYTES - *first + 1;
    return true;
}

enum trk_status trk_report_pages_note(struct trk_report_pages *pages, const struct trk_event *event,
                                      struct trk_error *error)
{
    uint64_t first = 0, count = 0;
    enum trk_status status = TRK_OK;
    if (!range_of(event, &first, &count)) {
        return TRK_OK;
    }
    for (uint64_t i = 0; i < count && status == TRK_OK; i++) {
        struct trk_report_page *page = NULL;
        status = find(pages, first + i, &page, error);
        if (page != NULL) {
            apply(pages, page, event);
        }
    }
    return status;
}

/* ---- at the end ------------------------------------------------------------------------------ */

static int by_key(const void *one, const void *other)
{
    uint64_t a = ((const struct trk_report_page *)one)->key;
    uint64_t b = ((const struct trk_report_page *)other)->key;
    return (a > b) - (a < b);
}

void trk_report_pages_sort(struct trk_report_pages *pages)
{
    size_t used = 0;
    for (size_t i = 0; i < pages->slot_count; i++) {
        if (pages->slots[i].key != 0) {
            pages->slots[used++] = pages->slots[i];
        }
    }
    if (used > 0) {
        qsort(pages->slots, used, sizeof *pages->slots, by_key);
    }
}

void trk_report_pages_deinit(struct trk_report_pages *pages)
{
    free(pages->slots);
    *pages = (struct trk_report_pages){.count = 0};
}
