/* What the emulator does to guest memory on the guest's behalf. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "demo_state.h"
#include "recorder/capture.h"

/* Slots of the second half of HLE pages that a frame's checks look at for certain. */
#define SURE_HLE_SLOTS 4u

/* What the flush of the emulator's own invalidate works on. */
struct service_flush {
    struct demo *demo;
    bool leaves_page;
};

static void service_on_flush(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    struct service_flush *flush = context;
    if (flush->leaves_page) {
        size_bytes -= TRK_HOST_PAGE_BYTES; /* the end is exclusive already */
    }
    demo_transfer_drain(flush->demo, guest_addr, size_bytes);
    if (flush->demo->options.policy.invalidate == TRK_INVALIDATE_PER_REGION) {
        /*
         * By this policy the flush hands over all that it was asked for, pages that are CLEAN as
         * well [M-33]: the service stores through a view that no watch closes. Only this thread
         * gives pages to the GPU.
         */
        demo_note(flush->demo, trk_tracker_mark_cpu(flush->demo->tracker, guest_addr, size_bytes));
    }
}

/* Say to the tracker that bytes are about to change by another way than a guest's store. */
static void service_invalidate(struct demo *demo, uint64_t guest_addr, uint64_t size_bytes,
                               bool leaves_page)
{
    struct service_flush flush = {demo, leaves_page};
    enum trk_status status =
        trk_tracker_invalidate(demo->tracker, guest_addr, size_bytes, service_on_flush, &flush);
    demo_note(demo, status);
    trk_capture_invalidate_request(guest_addr, size_bytes,
                                   status == TRK_OK ? TRK_REQUEST_DONE : TRK_REQUEST_FAILED);
}

/* Store to a slot through a view of the emulator's; shown_addr: the slot's address in that view. */
static void service_store(struct demo *demo, uint32_t slot, char *place, uint64_t shown_addr,
                          uint32_t frame)
{
    struct demo_memory *memory = &demo->memory;
    uint32_t stamp = demo_memory_stamp(memory, slot, frame);
    demo_pattern_store((volatile uint32_t *)(void *)place, stamp);
    memory->expected[slot] = stamp;
    trk_capture_witness_store(TRK_AGENT_HLE, shown_addr, DEMO_SLOT_BYTES, stamp);
}

/* The HLE area and the page before it. */
static void service_invalidate_buffer(struct demo *demo, const struct demo_plan *plan)
{
    const uint64_t guest_addr = demo_memory_guest(&demo->memory, demo_memory_hole(&demo->memory));
    const uint32_t pages = demo->memory.areas[DEMO_AREA_HLE].pages + 1;
    service_invalidate(demo, guest_addr, pages * TRK_HOST_PAGE_BYTES,
                       demo_plan_acts(demo, plan, TRK_DEMO_BUG_FLUSH_LEAVES_PAGE));
}

/* A service's stores to its buffer, through its own views. */
static void service_fill_buffer(struct demo *demo, const struct demo_plan *plan)
{
    struct demo_memory *memory = &demo->memory;
    const struct demo_area *area = &memory->areas[DEMO_AREA_HLE];
    const uint32_t hole = demo_memory_hole(memory);
    const uint64_t guest_addr = demo_memory_guest(memory, hole);
    service_store(demo, hole * DEMO_PAGE_SLOTS, memory->backing + hole * TRK_HOST_PAGE_BYTES,
                  guest_addr, plan->frame);
    for (uint32_t i = 0; i < area->pages; i++) {
        uint32_t place = demo_dice_roll(&demo->dice, DEMO_PAGE_SLOTS);
        uint32_t slot = (area->page + i) * DEMO_PAGE_SLOTS + place;
        uint64_t offset = ((uint64_t)i * DEMO_PAGE_SLOTS + place) * DEMO_SLOT_BYTES;
        service_store(demo, slot, memory->alias + offset, DEMO_ALIAS_WINDOW + offset, plan->frame);
        if (place >= DEMO_PAGE_SLOTS / 2 && demo->sure_count < SURE_HLE_SLOTS) {
            demo->sure_slots[demo->sure_count++] = slot;
        }
    }
}

/*
 * A service fills a buffer of the guest's: the HLE area and the page before it, which the GPU does
 * not know. It asks first, then stores. The bugs: "not all of it is the GPU's" is taken for "none
 * of it is"; or it asks when it has stored.
 */
void demo_service_write(struct demo *demo, const struct demo_plan *plan)
{
    bool late = demo_plan_acts(demo, plan, TRK_DEMO_BUG_LATE_INVALIDATE);
    if (!late && !demo_plan_acts(demo, plan, TRK_DEMO_BUG_PARTIAL_INVALIDATE)) {
        service_invalidate_buffer(demo, plan);
    }
    service_fill_buffer(demo, plan);
    if (late) {
        service_invalidate_buffer(demo, plan);
    }
}

/* Have the kernel copy a slot's bytes to guest memory, through a pipe as small as any. */
static bool service_kernel_copy(const uint32_t *words, char *target)
{
    int ends[2];
    if (pipe(ends) != 0) {
        return false;
    }
    bool done = write(ends[1], words, DEMO_SLOT_BYTES) == (ssize_t)DEMO_SLOT_BYTES &&
                read(ends[0], target, DEMO_SLOT_BYTES) == (ssize_t)DEMO_SLOT_BYTES;
    close(ends[0]);
    close(ends[1]);
    return done;
}

/* One piece of a file comes to a slot, in place of the piece before it. */
static void service_file_piece(struct demo *demo, const struct demo_plan *plan, uint32_t slot,
                               bool told)
{
    struct demo_memory *memory = &demo->memory;
    uint32_t words[DEMO_SLOT_WORDS];
    if (told) {
        service_invalidate(demo, demo_memory_slot_guest(memory, slot), DEMO_SLOT_BYTES, false);
    }
    uint32_t stamp = demo_memory_stamp(memory, slot, plan->frame);
    demo_pattern_store(words, stamp);
    if (!service_kernel_copy(words, memory->backing + (uint64_t)slot * DEMO_SLOT_BYTES)) {
        demo_note(demo, TRK_E_SYSTEM);
        return;
    }
    memory->expected[slot] = stamp;
    trk_capture_witness_store(TRK_AGENT_KERNEL, demo_memory_slot_guest(memory, slot),
                              DEMO_SLOT_BYTES, stamp);
}

/* The guest reads a file: the kernel writes to the chosen area, whose pages are CLEAN by now. */
void demo_service_file_read(struct demo *demo, const struct demo_plan *plan)
{
    const struct demo_area *area = &demo->memory.areas[plan->chosen];
    uint32_t page = area->page + demo_dice_roll(&demo->dice, area->pages);
    uint32_t place = 5 - plan->late_slot; /* of 2 and 3 the one that no guest stores to now */
    uint32_t slot = page * DEMO_PAGE_SLOTS + place;
    service_file_piece(demo, plan, slot, true);
    demo_transfer_up(demo, plan->chosen);
    service_file_piece(demo, plan, slot, !demo_plan_acts(demo, plan, TRK_DEMO_BUG_KERNEL_STORE));
    if (demo_plan_acts(demo, plan, TRK_DEMO_BUG_SKIPPED_COPY)) {
        demo_transfer_up_nothing(demo, plan->chosen);
    } else {
        demo_transfer_up(demo, plan->chosen);
    }
    demo->sure_slots[demo->sure_count++] = slot;
}

void demo_service_texture(struct demo *demo, const struct demo_plan *plan)
{
    const struct demo_area page = {demo_memory_texture(), 1};
    const uint32_t slot = page.page * DEMO_PAGE_SLOTS;
    service_file_piece(demo, plan, slot, true);
    service_file_piece(demo, plan, slot + 1, true);
    demo_transfer_up_part(demo, &page);
    service_file_piece(demo, plan, slot + 1,
                       !demo_plan_acts(demo, plan, TRK_DEMO_BUG_LATE_TEXTURE));
    demo_transfer_up_part(demo, &page);
}

/* A service looks at a page of what the GPU has been told to write in this very frame. */
void demo_service_result_read(struct demo *demo, const struct demo_plan *plan)
{
    struct demo_memory *memory = &demo->memory;
    const struct demo_area *area = &memory->areas[DEMO_AREA_RESULT];
    uint32_t half = area->pages / 2;
    uint32_t page = area->page + plan->frame % 2 * half + demo_dice_roll(&demo->dice, half);
    /* Where a bug may act, it is one that came home before: what it holds by mistake is known. */
    if (plan->acts && plan->frame >= 2) {
        page = demo->result_pages[plan->frame % 2];
    }
    demo->result_pages[plan->frame % 2] = page;
    demo_transfer_download(
        demo, demo_memory_guest(memory, page), TRK_HOST_PAGE_BYTES,
        demo_plan_acts(demo, plan, TRK_DEMO_BUG_EARLY_READ_BACK)  ? DEMO_HOME_EARLY
        : demo_plan_acts(demo, plan, TRK_DEMO_BUG_LOST_READ_BACK) ? DEMO_HOME_NOTHING
                                                                  : DEMO_HOME_RIGHT);
    for (uint32_t i = 0; i < DEMO_PAGE_SLOTS; i++) {
        uint32_t slot = page * DEMO_PAGE_SLOTS + i;
        uint32_t seen = demo_pattern_load(demo_memory_slot(memory, slot));
        trk_capture_witness_check(TRK_AGENT_CPU, demo_memory_slot_guest(memory, slot),
                                  DEMO_SLOT_BYTES, seen);
        demo->result.loads++;
        demo->result.mismatches += seen != memory->expected[slot];
    }
}
