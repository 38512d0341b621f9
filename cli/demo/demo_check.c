/* Looking at every byte: of the GPU's copy in each frame, of guest memory at the end. */
#include "demo_state.h"

#include "recorder/capture.h"

/* Slots looked at in a frame without --check, beside those of the meeting. */
#define VERTEX_SAMPLES 32u
#define OTHER_SAMPLES  8u

/* Slots copied by one submission: no more than the readback buffer holds. */
#define BATCH_SLOTS 512u

struct check_batch {
    struct demo *demo;
    uint32_t count;
    uint32_t slots[BATCH_SLOTS];
    const volatile uint32_t *places[BATCH_SLOTS];
};

static void check_run(struct check_batch *batch)
{
    struct demo *demo = batch->demo;
    demo_gpu_run(&demo->gpu);
    for (uint32_t i = 0; i < batch->count && demo->gpu.status == TRK_OK; i++) {
        uint32_t seen = demo_pattern_load(batch->places[i]);
        trk_capture_witness_check(TRK_AGENT_GPU,
                                  demo_memory_slot_guest(&demo->memory, batch->slots[i]),
                                  DEMO_SLOT_BYTES, seen);
        demo->result.checks++;
        demo->result.mismatches += seen != demo->memory.expected[batch->slots[i]];
    }
    batch->count = 0;
}

/* Slots that were never written hold no stamp; slots that the second part stores to race. */
static void check_add(struct check_batch *batch, const struct demo_plan *plan, uint32_t slot,
                      bool vertex)
{
    struct demo *demo = batch->demo;
    if ((vertex && slot % DEMO_PAGE_SLOTS == plan->late_slot) || demo->memory.expected[slot] == 0) {
        return;
    }
    if (batch->count == BATCH_SLOTS) {
        check_run(batch);
    }
    const volatile uint32_t *place =
        demo_gpu_sample(&demo->gpu, (uint64_t)slot * DEMO_SLOT_BYTES, DEMO_SLOT_BYTES);
    if (place == NULL) {
        return; /* only after an error */
    }
    trk_capture_gpu_read(demo_memory_slot_guest(&demo->memory, slot), DEMO_SLOT_BYTES,
                         demo_gpu_tick(&demo->gpu));
    batch->slots[batch->count] = slot;
    batch->places[batch->count++] = place;
}

static void check_area(struct check_batch *batch, const struct demo_plan *plan, uint32_t id)
{
    const struct demo_area *area = &batch->demo->memory.areas[id];
    for (uint32_t i = 0; i < area->pages * DEMO_PAGE_SLOTS; i++) {
        check_add(batch, plan, area->page * DEMO_PAGE_SLOTS + i, id >= DEMO_AREA_VERTEX);
    }
}

static void check_some(struct check_batch *batch, const struct demo_plan *plan, uint32_t id,
                       uint32_t count)
{
    struct demo *demo = batch->demo;
    const struct demo_area *area = &demo->memory.areas[id];
    for (uint32_t i = 0; i < count; i++) {
        uint32_t place = demo_dice_roll(&demo->dice, area->pages * DEMO_PAGE_SLOTS);
        check_add(batch, plan, area->page * DEMO_PAGE_SLOTS + place, id >= DEMO_AREA_VERTEX);
    }
}

void demo_check_gpu(struct demo *demo, const struct demo_plan *plan)
{
    struct check_batch batch = {.demo = demo};
    const struct demo_area *chosen = &demo->memory.areas[plan->chosen];
    for (uint32_t i = 0; i < demo->mid_count; i++) {
        check_add(&batch, plan, demo->mid_slots[i], true);
    }
    for (uint32_t i = 0; i < demo->sure_count; i++) {
        bool vertex = demo->sure_slots[i] / DEMO_PAGE_SLOTS - chosen->page < chosen->pages;
        check_add(&batch, plan, demo->sure_slots[i], vertex);
    }
    for (uint32_t id = 0; id < DEMO_AREAS; id++) {
        if (demo->options.check) {
            check_area(&batch, plan, id);
        } else {
            check_some(&batch, plan, id,
                       id >= DEMO_AREA_VERTEX ? VERTEX_SAMPLES / DEMO_VERTEX_AREAS : OTHER_SAMPLES);
        }
    }
    check_run(&batch);
}

void demo_check_memory(struct demo *demo)
{
    const struct demo_memory *memory = &demo->memory;
    for (uint32_t slot = 0; slot < memory->pages * DEMO_PAGE_SLOTS; slot++) {
        if (memory->expected[slot] == 0) {
            continue;
        }
        uint32_t seen = demo_pattern_load(demo_memory_slot(memory, slot));
        trk_capture_witness_check(TRK_AGENT_CPU, demo_memory_slot_guest(memory, slot),
                                  DEMO_SLOT_BYTES, seen);
        demo->result.loads++;
        demo->result.mismatches += seen != memory->expected[slot];
    }
}
