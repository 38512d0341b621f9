/* The render thread's frame: what an emulator does while the guest goes on. */
#include "demo_state.h"

#include "recorder/capture.h"

/* Of pages that both sides write, the GPU writes the first half. */
#define HALF_PAGE_BYTES ((uint32_t)TRK_HOST_PAGE_BYTES / 2)

struct demo_plan demo_plan_make(const struct trk_demo_options *options, uint32_t frame)
{
    const uint32_t frames = DEMO_BUG_FRAME_LAST - DEMO_BUG_FRAME_FIRST + 1;
    uint32_t bug_frame = DEMO_BUG_FRAME_FIRST + (uint32_t)(options->seed % frames);
    if (bug_frame >= options->frames) {
        bug_frame = options->frames - 1;
    }
    return (struct demo_plan){
        .frame = frame,
        .chosen = DEMO_AREA_VERTEX + frame % DEMO_VERTEX_AREAS,
        .early = DEMO_AREA_VERTEX + (frame + 3) % DEMO_VERTEX_AREAS,
        .mid_guest = frame % options->threads,
        .late_slot = 2 + frame % 2,
        .acts = frame == bug_frame,
        .bug = options->bug != TRK_DEMO_BUG_NONE && frame == bug_frame,
    };
}

bool demo_plan_acts(const struct demo *demo, const struct demo_plan *plan, enum trk_demo_bug_id bug)
{
    return plan->bug && demo->options.bug == bug;
}

/* The GPU looks at the texture's first slot, and at all of it when the time has come. */
static void render_texture(struct demo *demo, const struct demo_plan *plan)
{
    const uint32_t slot = demo_memory_texture() * DEMO_PAGE_SLOTS;
    if (plan->acts) {
        demo_service_texture(demo, plan);
        demo->texture_frame = plan->frame;
        demo->texture_there = true;
    }
    if (!demo->texture_there) {
        return;
    }
    demo->sure_slots[demo->sure_count++] = slot;
    if (plan->frame == demo->texture_frame + DEMO_TEXTURE_FRAMES) {
        demo->sure_slots[demo->sure_count++] = slot + 1;
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
    demo_scattered_choose(demo);
    demo_line_signal(&demo->sync.start, frame + 1);
    demo_transfer_up(demo, plan.early);
    demo_sync_gather(&demo->sync, demo->options.threads, frame + 1, demo_transfer_serve, demo);
    demo->sure_count = 0;
    demo_service_write(demo, &plan);
    render_uploads(demo, &plan);
    demo_scattered_upload(demo);
    demo_sync_receive(&demo->sync, plan.mid_guest, frame + 1, demo_transfer_serve, demo);
    demo->sure_slots[demo->sure_count++] = demo->visit_slot;
    demo_service_file_read(demo, &plan);
    render_texture(demo, &plan);
    render_gpu_writes(demo, &plan);
    demo_service_result_read(demo, &plan);
    demo_paranoid_draw(demo, &plan);
    demo_gpu_run(&demo->gpu);
    demo_check_gpu(demo, &plan);
    demo_note(demo, demo->gpu.status);
    demo_paranoid_frame(demo);
    demo->result.frames += demo->status == TRK_OK;
}
