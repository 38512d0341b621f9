/* The render thread's frame: what an emulator does while the guest goes on. */
#include "demo_state.h"

#include "recorder/capture.h"

/* Of pages that both sides write, the GPU writes the first half. */
#define HALF_PAGE_BYTES ((uint32_t)TRK_HOST_PAGE_BYTES / 2)

/* The bug acts once, in one of these frames, so that its story has a past. */
#define BUG_FRAME_FIRST 5u
#define BUG_FRAMES      11u

struct demo_plan demo_plan_make(const struct trk_demo_options *options, uint32_t frame)
{
    uint32_t bug_frame = BUG_FRAME_FIRST + (uint32_t)(options->seed % BUG_FRAMES);
    if (bug_frame >= options->frames) {
        bug_frame = options->frames - 1;
    }
    return (struct demo_plan){
        .frame = frame,
        .chosen = DEMO_AREA_VERTEX + frame % DEMO_VERTEX_AREAS,
        .early = DEMO_AREA_VERTEX + (frame + 3) % DEMO_VERTEX_AREAS,
        .mid_guest = frame % options->threads,
        .late_slot = 2 + frame % 2,
        .bug = options->bug != TRK_DEMO_BUG_NONE && frame == bug_frame,
    };
}

/* What the flush of the emulator's own invalidate works on. */
struct render_flush {
    struct demo *demo;
    bool bug;
};

static void render_on_flush(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    struct render_flush *flush = context;
    if (flush->bug && flush->demo->options.bug == TRK_DEMO_BUG_FLUSH_LEAVES_PAGE) {
        size_bytes -= TRK_HOST_PAGE_BYTES; /* the end is exclusive already */
    }
    demo_transfer_drain(flush->demo, guest_addr, size_bytes);
}

/* A service of the emulator writes for the guest: it asks first, then stores through the alias. */
static void render_service_write(struct demo *demo, const struct demo_plan *plan)
{
    struct demo_memory *memory = &demo->memory;
    const struct demo_area *area = &memory->areas[DEMO_AREA_HLE];
    const uint64_t guest_addr = demo_memory_guest(memory, area->page);
    const uint64_t size_bytes = area->pages * TRK_HOST_PAGE_BYTES;
    struct render_flush flush = {demo, plan->bug};
    enum trk_status status =
        trk_tracker_invalidate(demo->tracker, guest_addr, size_bytes, render_on_flush, &flush);
    demo_note(demo, status);
    trk_capture_invalidate_request(guest_addr, size_bytes,
                                   status == TRK_OK ? TRK_REQUEST_DONE : TRK_REQUEST_FAILED);
    for (uint32_t i = 0; i < area->pages; i++) {
        uint32_t place = i * DEMO_PAGE_SLOTS + demo_dice_roll(&demo->dice, DEMO_PAGE_SLOTS);
        uint32_t slot = area->page * DEMO_PAGE_SLOTS + place;
        uint64_t offset = (uint64_t)place * DEMO_SLOT_BYTES;
        uint32_t stamp = demo_memory_stamp(memory, slot, plan->frame);
        demo_pattern_store((volatile uint32_t *)(void *)(memory->alias + offset), stamp);
        memory->expected[slot] = stamp;
        trk_capture_witness_store(TRK_AGENT_CPU, DEMO_ALIAS_WINDOW + offset, DEMO_SLOT_BYTES,
                                  stamp);
    }
}

static void render_uploads(struct demo *demo, const struct demo_plan *plan)
{
    for (uint32_t i = 0; i < DEMO_VERTEX_AREAS; i++) {
        uint32_t area = DEMO_AREA_VERTEX + i;
        if (area == plan->chosen) {
            demo_transfer_meeting(demo, plan);
        } else {
            demo_transfer_up(demo, area);
        }
    }
    demo_transfer_up(demo, DEMO_AREA_HLE);
    if (plan->frame % 2 == 1) {
        demo_transfer_up(demo, DEMO_AREA_PING);
    }
}

/* One half of the results a frame, the HLE area, and every second frame the ping-pong pages. */
static void render_gpu_writes(struct demo *demo, const struct demo_plan *plan)
{
    const struct demo_area *areas = demo->memory.areas;
    struct demo_area half = areas[DEMO_AREA_RESULT];
    half.pages /= 2;
    half.page += plan->frame % 2 * half.pages;
    demo_transfer_gpu_write(demo, &half, (uint32_t)TRK_HOST_PAGE_BYTES, plan->frame);
    demo_transfer_gpu_write(demo, &areas[DEMO_AREA_HLE], HALF_PAGE_BYTES, plan->frame);
    if (plan->frame % 2 == 0) {
        demo_transfer_gpu_write(demo, &areas[DEMO_AREA_PING], HALF_PAGE_BYTES, plan->frame);
    }
}

void demo_render_frame(struct demo *demo, uint32_t frame)
{
    struct demo_plan plan = demo_plan_make(&demo->options, frame);
    trk_capture_frame(frame);
    demo_line_signal(&demo->sync.start, frame + 1);
    demo_transfer_up(demo, plan.early);
    demo_sync_gather(&demo->sync, demo->options.threads, frame + 1, demo_transfer_serve, demo);
    render_service_write(demo, &plan);
    render_uploads(demo, &plan);
    render_gpu_writes(demo, &plan);
    demo_gpu_run(&demo->gpu);
    demo_check_gpu(demo, &plan);
    demo_note(demo, demo->gpu.status);
    demo->result.frames += demo->status == TRK_OK;
}
