/*
 * The projection of a trace on a few pages: its items, and the state of the pages between them.
 */
#include "explore_items.h"

#include <stdlib.h>
#include <string.h>

#include "foreign_rules.h"

enum trk_status projection_init(struct projection *projection, struct run *run, uint64_t guest_addr,
                                uint32_t pages)
{
    *projection = (struct projection){
        .run = run,
        .first_addr = guest_addr,
        .end_addr = guest_addr + pages * TRK_HOST_PAGE_BYTES,
        .page_count = pages,
        .tracker = SCENARIO_NONE,
        .stream_count = run->stream_count,
        .quiet_start = SCENARIO_NONE,
    };
    projection->lanes = calloc(run->stream_count + 1, sizeof *projection->lanes);
    for (uint32_t i = 0; projection->lanes != NULL && i < run->stream_count; i++)
        projection->lanes[i].clock = SIZE_MAX;
    return projection->lanes == NULL ? TRK_E_MEMORY : TRK_OK;
}

void projection_deinit(struct projection *projection)
{
    free(projection->lanes);
    free(projection->items);
    free(projection->clocks);
    free(projection->starts);
}

bool projection_clip(const struct projection *projection, uint64_t *guest_addr,
                     uint64_t *size_bytes)
{
    uint64_t first = *guest_addr, end;
    if (__builtin_add_overflow(first, *size_bytes, &end))
        end = UINT64_MAX;
    if (first < projection->first_addr)
        first = projection->first_addr;
    if (end > projection->end_addr)
        end = projection->end_addr;
    if (first >= end)
        return false;
    *guest_addr = first;
    *size_bytes = end - first;
    return true;
}

const uint64_t *projection_clock(const struct projection *projection, const struct item *item)
{
    return projection->clocks + item->clock;
}

bool projection_foreign(const struct projection *projection)
{
    return core_is_plugin() && projection->tracker < FOREIGN_TRACKERS &&
           (projection->run->foreign.declared >> projection->tracker & 1u) != 0;
}

/* ---- states between items -------------------------------------------------------------------- */

static struct page_start look(const struct projection *projection, uint64_t guest_addr)
{
    const struct machine *machine = &projection->run->machines[projection->tracker];
    struct trk_page_view view = core_live->page(machine->tracker, guest_addr);
    return (struct page_start){
        .cpu_dirty = view.cpu_dirty,
        .gpu_dirty = view.gpu_dirty,
        .registered = view.registered,
        .armed = view.armed,
        .write_watches = view.write_watches,
        .rights = view.guest_rights,
        .read_watch = view.read_watch,
    };
}

bool projection_unsettled(const struct projection *projection)
{
    for (uint32_t i = 0; i < projection->count; i++)
        if (projection->items[i].start != SCENARIO_NONE)
            return false;
    return projection->count > 0;
}

/* A foreign tracker's page as the log proves it; false: it may be in several states. */
static bool look_foreign(const struct projection *projection, uint64_t guest_addr,
                         struct page_start *out)
{
    const struct foreign *foreign = &projection->run->foreign;
    uint64_t page_bytes = foreign->trackers[projection->tracker].page_bytes;
    const struct foreign_page *page =
        foreign_pages_find(&foreign->pages, projection->tracker, guest_addr / page_bytes);
    if (page == NULL || !foreign_rules_sure(projection->run) ||
        (page->states & (page->states - 1)) != 0)
        return false;
    *out = (struct page_start){
        .cpu_dirty = page->states == FOREIGN_CPU,
        .gpu_dirty = page->states == FOREIGN_GPU,
        .registered = true,
        .write_watches = page->states != FOREIGN_CPU,
        .rights = TRK_RIGHTS_RW,
    };
    return true;
}

/* The state of the pages now, as a number; SCENARIO_NONE without memory or tracker, or where it is
 * not certain. */
static uint32_t state_now(struct projection *projection)
{
    bool foreign = projection_foreign(projection);
    if (projection->tracker == SCENARIO_NONE ||
        (!foreign && projection->run->machines[projection->tracker].tracker == NULL))
        return SCENARIO_NONE;
    struct start now;
    memset(&now, 0, sizeof now);
    for (uint32_t i = 0; i < projection->page_count; i++) {
        uint64_t page_addr = projection->first_addr + i * TRK_HOST_PAGE_BYTES;
        if (!foreign)
            now.pages[i] = look(projection, page_addr);
        else if (!look_foreign(projection, page_addr, &now.pages[i]))
            return SCENARIO_NONE;
    }
    uint32_t count = projection->start_count;
    if (count > 0 && memcmp(&projection->starts[count - 1], &now, sizeof now) == 0)
        return count - 1;
    if (count == projection->start_capacity) {
        uint32_t capacity = count == 0 ? 16 : count * 2;
        struct start *larger = realloc(projection->starts, capacity * sizeof *larger);
        projection->no_memory |= larger == NULL;
        if (larger == NULL)
            return SCENARIO_NONE;
        projection->starts = larger;
        projection->start_capacity = capacity;
    }
    projection->starts[count] = now;
    return projection->start_count++;
}

/* ---- items ----------------------------------------------------------------------------------- */

/* Keep what is ordered before the stream's next step; the place, shared while nothing is new. */
static size_t clock_now(struct projection *projection, uint32_t stream)
{
    size_t streams = projection->stream_count;
    struct lane *lane = &projection->lanes[stream];
    if (projection->clock_count + streams > projection->clock_capacity) {
        size_t capacity = projection->clock_capacity * 2 + streams + 256;
        uint64_t *larger = realloc(projection->clocks, capacity * sizeof *larger);
        projection->no_memory |= larger == NULL;
        if (larger == NULL)
            return SIZE_MAX;
        projection->clocks = larger;
        projection->clock_capacity = capacity;
    }
    uint64_t *clock = projection->clocks + projection->clock_count;
    order_clock(projection->run->judge.order, stream, clock);
    clock[stream] = 0; /* its own order needs no edge */
    if (lane->clock != SIZE_MAX &&
        memcmp(projection->clocks + lane->clock, clock, streams * sizeof *clock) == 0)
        return lane->clock;
    lane->clock = projection->clock_count;
    projection->clock_count += streams;
    return lane->clock;
}

/* The opening item around what the stream does now. */
static const struct frame *around(const struct lane *lane)
{
    for (uint32_t i = lane->depth; i > 0; i--)
        if (lane->frames[i - 1].item != SCENARIO_NONE)
            return &lane->frames[i - 1];
    return NULL;
}

struct item *projection_add(struct projection *projection, uint32_t stream, uint64_t event,
                            enum item_kind kind, enum scenario_verb verb)
{
    if (projection->full || projection->no_memory)
        return NULL;
    if (projection->count == EXPLORE_ITEMS_MOST || projection->clock_count > EXPLORE_CLOCK_MOST) {
        projection->full = true;
        return NULL;
    }
    if (projection->count == projection->capacity) {
        uint32_t capacity = projection->capacity == 0 ? 256 : projection->capacity * 2;
        struct item *larger = realloc(projection->items, capacity * sizeof *larger);
        projection->no_memory |= larger == NULL;
        if (larger == NULL)
            return NULL;
        projection->items = larger;
        projection->capacity = capacity;
    }
    const struct frame *frame = around(&projection->lanes[stream]);
    struct item *item = &projection->items[projection->count];
    bool begins = projection->open == 0 && kind != ITEM_COPIED && kind != ITEM_CLOSE;
    *item = (struct item){
        .event = event,
        .last = event,
        .stream = stream,
        .kind = (uint8_t)kind,
        .verb = verb,
        .outer = frame != NULL ? frame->item : SCENARIO_NONE,
        .shared = projection->shared,
        .in_range = frame != NULL && frame->in_range,
        .start = begins ? projection->quiet_start : SCENARIO_NONE,
        .clock = clock_now(projection, stream),
        .forgot = order_forgot(projection->run->judge.order),
    };
    if (projection->no_memory)
        return NULL;
    projection->count++;
    return item;
}

/* ---- events ---------------------------------------------------------------------------------- */

static void barrier(struct projection *projection, const struct trk_trace_event *event)
{
    projection_add(projection, event->stream, event->number, ITEM_BARRIER, VERB_COUNT);
}

/* Whether a witness tells of the access that faulted. */
static bool witnesses(const struct pending *pending, const struct trk_event *event)
{
    bool store = pending->access == TRK_ACCESS_WRITE;
    return (event->type == TRK_EVENT_WITNESS_STORE || event->type == TRK_EVENT_WITNESS_CHECK) &&
           store == (event->type == TRK_EVENT_WITNESS_STORE) && event->flags == TRK_AGENT_CPU &&
           pending->guest_addr - event->argument < event->seq;
}

static bool goes_on(const struct pending *pending, const struct trk_event *event)
{
    return (event->type == TRK_EVENT_FAULT && event->flags == pending->access) ||
           witnesses(pending, event);
}

void projection_take(struct projection *projection, const struct trk_trace_event *event)
{
    struct lane *lane = &projection->lanes[event->stream];
    uint32_t count = projection->count, open = projection->open;
    if (lane->pending.on && lane->depth == 0 && !goes_on(&lane->pending, &event->event))
        projection_settle(projection, event->stream);
    switch (event->event.type) {
    case TRK_EVENT_COPY_BEGIN:
        projection_copy(projection, event);
        break;
    case TRK_EVENT_COPY_END:
        projection_copied(projection, event);
        break;
    case TRK_EVENT_GPU_COMPLETE:
        projection_completed(projection, event);
        break;
    case TRK_EVENT_GPU_WRITE:
    case TRK_EVENT_GPU_READ:
    case TRK_EVENT_WITNESS_STORE:
    case TRK_EVENT_WITNESS_CHECK:
        projection_access(projection, event);
        break;
    case TRK_EVENT_MAP:
    case TRK_EVENT_UNMAP:
        projection_map(projection, event);
        break;
    case TRK_EVENT_TRACKER:
    case TRK_EVENT_FOREIGN:
        if (projection->tracker == event->event.page)
            barrier(projection, event);
        break;
    case TRK_EVENT_SIGNAL:
    case TRK_EVENT_AWAIT:
        projection_asks(projection, event);
        break;
    default:
        projection_operation(projection, event);
        break;
    }
    bool moved = projection->count != count || projection->open != open;
    if (moved && projection->open == 0)
        projection->quiet_start = state_now(projection);
}

void projection_end(struct projection *projection)
{
    for (uint32_t s = 0; s < projection->stream_count; s++) {
        struct lane *lane = &projection->lanes[s];
        if (lane->pending.on)
            projection_settle(projection, s);
        for (; lane->depth > 0; lane->depth--) {
            uint32_t open = lane->frames[lane->depth - 1].item;
            if (open == SCENARIO_NONE || projection->items[open].kind != ITEM_OPEN)
                continue;
            struct item *close =
                projection_add(projection, s, UINT64_MAX, ITEM_CLOSE, projection->items[open].verb);
            if (close != NULL)
                close->outer = open;
        }
    }
}
