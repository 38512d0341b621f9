/* Guest threads: native stores and loads, and what runs on them when one faults. */
#include "demo_state.h"

#include <stdio.h>

#include "recorder/capture.h"
#include "track/crash.h"

#define STORES_A_FRAME       24u
#define LATE_STORES_A_FRAME  8u
#define RESULT_LOADS_A_FRAME 5u
#define PING_STORES_A_FRAME  3u

/* Which guest this thread is; NULL: none. */
static _Thread_local struct demo_guest *guest_self;

static bool guest_owns(const struct demo_guest *guest, uint32_t page, uint32_t slot)
{
    return (page + slot) % guest->demo->options.threads == guest->number;
}

/* A slot of the area, at that place in its page, that this guest owns; false: it owns none. */
static bool guest_pick(struct demo_guest *guest, const struct demo_area *area, uint32_t place,
                       uint32_t *slot)
{
    uint32_t first = demo_dice_roll(&guest->dice, area->pages);
    for (uint32_t i = 0; i < area->pages; i++) {
        uint32_t page = area->page + (first + i) % area->pages;
        if (guest_owns(guest, page, place)) {
            *slot = page * DEMO_PAGE_SLOTS + place;
            return true;
        }
    }
    return false;
}

static void guest_store(struct demo_guest *guest, uint32_t slot, uint32_t frame)
{
    struct demo_memory *memory = &guest->demo->memory;
    uint32_t stamp = demo_memory_stamp(memory, slot, frame);
    demo_pattern_store(demo_memory_slot(memory, slot), stamp);
    memory->expected[slot] = stamp;
    trk_capture_witness_store(TRK_AGENT_CPU, demo_memory_slot_guest(memory, slot), DEMO_SLOT_BYTES,
                              stamp);
    guest->stores++;
}

/* Read a slot that nobody writes now. */
static void guest_load(struct demo_guest *guest, uint32_t slot)
{
    struct demo_memory *memory = &guest->demo->memory;
    if (memory->expected[slot] == 0) {
        return; /* never written */
    }
    uint32_t seen = demo_pattern_load(demo_memory_slot(memory, slot));
    trk_capture_witness_check(TRK_AGENT_CPU, demo_memory_slot_guest(memory, slot), DEMO_SLOT_BYTES,
                              seen);
    guest->loads++;
    guest->mismatches += seen != memory->expected[slot];
}

static void guest_load_any(struct demo_guest *guest, const struct demo_area *area, uint32_t pages)
{
    uint32_t page = area->page + demo_dice_roll(&guest->dice, pages);
    guest_load(guest, page * DEMO_PAGE_SLOTS + demo_dice_roll(&guest->dice, DEMO_PAGE_SLOTS));
}

/* Stores into the first two slots of vertex pages; those of the meeting are remembered. */
static void guest_first_part(struct demo_guest *guest, const struct demo_plan *plan)
{
    struct demo *demo = guest->demo;
    const struct demo_area *areas = demo->memory.areas;
    const bool meets = plan->mid_guest == guest->number;
    uint32_t slot = 0;
    if (meets) {
        demo->mid_count = 0;
    }
    for (uint32_t i = 0; i < STORES_A_FRAME; i++) {
        const bool mid = meets && i < DEMO_MID_SLOTS;
        uint32_t area = DEMO_AREA_VERTEX + demo_dice_roll(&guest->dice, DEMO_VERTEX_AREAS);
        uint32_t place = demo_dice_roll(&guest->dice, 2);
        if (guest_pick(guest, &areas[mid ? plan->chosen : area], place, &slot)) {
            guest_store(guest, slot, plan->frame);
            if (mid) {
                demo->mid_slots[demo->mid_count++] = slot;
            }
        }
        if (i % 4 == 0 && plan->frame > 0 && i / 4 < RESULT_LOADS_A_FRAME) {
            guest_load_any(guest, &areas[DEMO_AREA_RESULT], areas[DEMO_AREA_RESULT].pages);
        }
    }
    for (uint32_t i = guest->number; i < demo->options.pages; i += demo->options.threads) {
        guest_store(guest, demo_scattered_slot(demo, i, plan->frame), plan->frame);
    }
    if (plan->frame > 0) {
        /* The first half only: pages that the GPU has are left for the emulator's invalidate. */
        guest_load_any(guest, &areas[DEMO_AREA_HLE], areas[DEMO_AREA_HLE].pages / 2);
    }
    for (uint32_t i = 0; i < PING_STORES_A_FRAME && plan->frame % 2 == 1; i++) {
        uint32_t place = demo_dice_roll(&guest->dice, DEMO_PAGE_SLOTS);
        if (guest_pick(guest, &areas[DEMO_AREA_PING], place, &slot)) {
            if (i == 0) {
                guest_load(guest, slot); /* a read fault, then a write fault */
            }
            guest_store(guest, slot, plan->frame);
        }
    }
}

/*
 * Stores beside the render thread's uploads. They go to slots that this frame's checks leave out,
 * and not to the area of the meeting.
 */
static void guest_second_part(struct demo_guest *guest, const struct demo_plan *plan)
{
    const struct demo_area *areas = guest->demo->memory.areas;
    for (uint32_t i = 0; i < LATE_STORES_A_FRAME; i++) {
        uint32_t step = 1 + demo_dice_roll(&guest->dice, DEMO_VERTEX_AREAS - 1);
        uint32_t area = (plan->chosen - DEMO_AREA_VERTEX + step) % DEMO_VERTEX_AREAS;
        uint32_t slot = 0;
        if (guest_pick(guest, &areas[DEMO_AREA_VERTEX + area], plan->late_slot, &slot)) {
            guest_store(guest, slot, plan->frame);
        }
    }
}

/* The guest's mprotect, there and back; the tracker arms again what it had armed. */
static void guest_protect_page(struct demo_guest *guest, const struct demo_plan *plan,
                               uint32_t slot)
{
    struct demo *demo = guest->demo;
    uint64_t guest_addr = demo_memory_guest(&demo->memory, slot / DEMO_PAGE_SLOTS);
    demo_note(demo, trk_tracker_set_guest_protection(demo->tracker, guest_addr, TRK_HOST_PAGE_BYTES,
                                                     TRK_RIGHT_READ));
    demo_note(demo, trk_tracker_set_guest_protection(demo->tracker, guest_addr, TRK_HOST_PAGE_BYTES,
                                                     TRK_RIGHTS_RW));
    if (demo_plan_acts(demo, plan, TRK_DEMO_BUG_LOST_REARM)) {
        /* The guest asked for rw, and the host gives just that. */
        (void)demo->backend->protect(demo->backend, guest_addr, TRK_HOST_PAGE_BYTES, TRK_RIGHTS_RW);
    }
}

static void guest_meeting(struct demo_guest *guest, const struct demo_plan *plan)
{
    struct demo *demo = guest->demo;
    demo_line_await(&demo->sync.mid, plan->frame + 1);
    if (demo->mid_count > 0) {
        guest_protect_page(guest, plan, demo->mid_slots[0]);
    }
    for (uint32_t i = 0; i < demo->mid_count; i++) {
        guest_store(guest, demo->mid_slots[i], plan->frame);
    }
    demo_line_signal(&demo->sync.seats[guest->number].mid_done, plan->frame + 1);
}

/*
 * A store to the second half of a page of the HLE area, after its upload. Pages of the area's
 * second half: no guest loads from those, so that they are the GPU's until the emulator invalidates
 * them.
 */
static void guest_visit(struct demo_guest *guest, const struct demo_plan *plan)
{
    struct demo *demo = guest->demo;
    struct demo_memory *memory = &demo->memory;
    const struct demo_area *area = &memory->areas[DEMO_AREA_HLE];
    demo_line_await(&demo->sync.visit, plan->frame + 1);
    uint32_t page = area->pages / 2 + demo_dice_roll(&guest->dice, area->pages / 2);
    uint32_t place = page * DEMO_PAGE_SLOTS + DEMO_PAGE_SLOTS / 2 +
                     demo_dice_roll(&guest->dice, DEMO_PAGE_SLOTS / 2);
    uint32_t slot = area->page * DEMO_PAGE_SLOTS + place;
    demo->visit_slot = slot;
    if (demo_plan_acts(demo, plan, TRK_DEMO_BUG_ALIAS_WRITE)) {
        uint64_t offset = (uint64_t)place * DEMO_SLOT_BYTES;
        uint32_t stamp = demo_memory_stamp(memory, slot, plan->frame);
        demo_pattern_store((volatile uint32_t *)(void *)(memory->alias + offset), stamp);
        memory->expected[slot] = stamp;
        trk_capture_witness_store(TRK_AGENT_CPU, DEMO_ALIAS_WINDOW + offset, DEMO_SLOT_BYTES,
                                  stamp);
        guest->stores++;
    } else {
        guest_store(guest, slot, plan->frame);
    }
    demo_sync_visited(&demo->sync, guest->number, plan->frame + 1);
}

/* What a game does beside its stores: here it reads memory that nobody tracks. */
static void guest_work(struct demo_guest *guest)
{
    size_t words = (size_t)guest->demo->options.work_kib * 1024 / sizeof *guest->work;
    uint64_t sum = guest->sum;
    for (size_t i = 0; guest->work != NULL && i < words; i++) {
        sum = (sum ^ guest->work[i]) * UINT64_C(0x9e3779b97f4a7c15);
    }
    guest->sum = sum;
}

void *demo_guest_main(void *context)
{
    struct demo_guest *guest = context;
    struct demo *demo = guest->demo;
    char name[32];
    snprintf(name, sizeof name, "guest %u", guest->number);
    trk_capture_thread(name, TRK_ROLE_GUEST);
    trk_crash_thread_guest(name);
    guest_self = guest;
    /* Without a stack of its own the handler runs on the thread's, which nobody watches here. */
    bool stack = trk_fault_thread_enter(NULL) == TRK_OK;
    sem_post(&demo->ready);
    for (uint32_t frame = 0; frame < demo->options.frames; frame++) {
        struct demo_plan plan = demo_plan_make(&demo->options, frame);
        demo_line_await(&demo->sync.start, frame + 1);
        if (atomic_load(&demo->stop)) {
            break;
        }
        guest_first_part(guest, &plan);
        guest_work(guest);
        demo_sync_done(&demo->sync, guest->number, frame + 1);
        guest_second_part(guest, &plan);
        if (plan.mid_guest == guest->number) {
            guest_meeting(guest, &plan);
            guest_visit(guest, &plan);
        }
    }
    demo_sync_done(&demo->sync, guest->number, UINT32_MAX);
    if (stack) {
        trk_fault_thread_leave();
    }
    guest_self = NULL;
    trk_capture_thread_end();
    return NULL;
}

enum trk_fault_outcome demo_guest_fault(void *context, uint64_t host_addr, enum trk_access access)
{
    struct demo *demo = context;
    enum trk_fault_outcome outcome = trk_fault_tracker(demo->tracker, host_addr, access);
    if (outcome != TRK_FAULT_UNHANDLED && guest_self != NULL) {
        guest_self->faults++;
    }
    return outcome;
}

/* The render thread has the GPU: guests ask it, and it asks nobody. */
static void guest_ask(struct demo *demo, uint64_t guest_addr, uint64_t size_bytes, bool flush)
{
    struct demo_request request = {guest_addr, size_bytes, flush};
    if (guest_self != NULL) {
        demo_sync_ask(&demo->sync, guest_self->number, &request);
    } else {
        demo_transfer_serve(demo, &request);
    }
}

void demo_guest_flush(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    guest_ask(context, guest_addr, size_bytes, true);
}

void demo_guest_read_back(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    guest_ask(context, guest_addr, size_bytes, false);
}
