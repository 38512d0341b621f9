/*
 * Choosing pages: a page counts a turn when another thread touches it than the last time.
 */
#include "explore_choose.h"

#include <stdlib.h>
#include <string.h>

#include "track/address.h"

struct page_use {
    uint64_t page; /* number; 0: none, which no band holds */
    uint64_t turns;
    uint64_t area; /* where the newest upload over it began */
    uint32_t stream;
};

struct uses {
    struct page_use *slots;
    size_t count, capacity; /* a power of two */
};

static struct page_use *place(struct uses *uses, uint64_t page)
{
    size_t at = (size_t)(page * UINT64_C(0x9e3779b97f4a7c15) >> 24) & (uses->capacity - 1);
    while (uses->slots[at].page != 0 && uses->slots[at].page != page)
        at = (at + 1) & (uses->capacity - 1);
    return &uses->slots[at];
}

static enum trk_status grow(struct uses *uses)
{
    struct uses larger = {.count = uses->count,
                          .capacity = uses->capacity == 0 ? 4096 : uses->capacity * 2};
    larger.slots = calloc(larger.capacity, sizeof *larger.slots);
    if (larger.slots == NULL)
        return TRK_E_MEMORY;
    for (size_t i = 0; i < uses->capacity; i++)
        if (uses->slots[i].page != 0)
            *place(&larger, uses->slots[i].page) = uses->slots[i];
    free(uses->slots);
    *uses = larger;
    return TRK_OK;
}

/* A range that an event is about, in bytes; false: about none that counts. */
static bool range_of(const struct trk_event *event, uint64_t *guest_addr, uint64_t *size_bytes)
{
    *guest_addr = event->argument;
    switch (event->type) {
    case TRK_EVENT_OP_BEGIN:
        *size_bytes = trk_event_size(event);
        return event->context >= TRK_OP_IS_CPU && event->context <= TRK_OP_INVALIDATE;
    case TRK_EVENT_FAULT:
        *size_bytes = 1;
        return true;
    case TRK_EVENT_GPU_WRITE:
    case TRK_EVENT_GPU_READ:
    case TRK_EVENT_WITNESS_STORE:
    case TRK_EVENT_WITNESS_CHECK:
        *size_bytes = event->seq;
        return true;
    default:
        return false;
    }
}

static enum trk_status touch(struct uses *uses, const struct trk_trace_event *event,
                             uint64_t page_bytes)
{
    uint64_t guest_addr, size_bytes;
    if (!range_of(&event->event, &guest_addr, &size_bytes) || size_bytes == 0 ||
        size_bytes > CHOOSE_SPAN_PAGES * TRK_HOST_PAGE_BYTES)
        return TRK_OK;
    bool upload = event->event.type == TRK_EVENT_OP_BEGIN && event->event.context == TRK_OP_UPLOAD;
    uint64_t last = (guest_addr + size_bytes - 1) / page_bytes;
    for (uint64_t page = guest_addr / page_bytes; page <= last; page++) {
        if (uses->count * 2 >= uses->capacity && uses->count < CHOOSE_PAGES_MOST) {
            enum trk_status status = grow(uses);
            if (status != TRK_OK)
                return status;
        }
        struct page_use *use = place(uses, page);
        if (use->page == 0 && uses->count == CHOOSE_PAGES_MOST)
            continue;
        uses->count += use->page == 0;
        use->turns += use->page != 0 && use->stream != event->stream;
        use->page = page;
        use->stream = event->stream;
        if (upload)
            use->area = guest_addr;
    }
    return TRK_OK;
}

static int by_turns(const void *a, const void *b)
{
    const struct page_use *one = a, *other = b;
    if (one->turns != other->turns)
        return one->turns < other->turns ? 1 : -1;
    /* Slots without a page come last. */
    uint64_t its = one->page - 1, others = other->page - 1;
    return its < others ? -1 : its > others;
}

static void choose(struct uses *uses, struct choice *choice)
{
    uint64_t areas[sizeof choice->pages / sizeof choice->pages[0]];
    qsort(uses->slots, uses->capacity, sizeof *uses->slots, by_turns);
    while (choice->met < uses->capacity && uses->slots[choice->met].page != 0 &&
           (uses->slots[choice->met].turns > 0 || choice->alone))
        choice->met++;
    for (size_t i = 0; i < choice->met && choice->count < choice->most; i++) {
        const struct page_use *use = &uses->slots[i];
        uint32_t alike = 0;
        for (uint32_t k = 0; k < choice->count; k++)
            alike += areas[k] == use->area;
        if (alike == CHOOSE_ALIKE_MOST)
            continue;
        areas[choice->count] = use->area;
        choice->pages[choice->count++] = use->page;
    }
}

enum trk_status choose_pages(struct trk_trace *trace, struct choice *choice,
                             struct trk_error *error)
{
    struct uses uses = {0};
    struct trk_trace_event event;
    enum trk_status status = grow(&uses);
    choice->count = 0;
    choice->met = 0;
    while (status == TRK_OK) {
        status = trk_trace_next(trace, &event, error);
        if (status == TRK_OK && event.number > choice->to)
            break;
        if (status == TRK_OK && event.number >= choice->from)
            status = touch(&uses, &event, choice->page_bytes);
    }
    if (status == TRK_E_END)
        status = TRK_OK;
    if (status == TRK_OK)
        choose(&uses, choice);
    free(uses.slots);
    return status;
}
