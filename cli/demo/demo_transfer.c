/* Copies between guest memory and the GPU's copy, each because the tracker named the range. */
#include "demo_state.h"

#include "recorder/capture.h"

/* The number of the only shader. */
#define DEMO_SHADER 1u

/* The context of one transfer's callbacks. */
struct transfer {
    struct demo *demo;
    const struct demo_plan *plan; /* the meeting's; else NULL */
    const struct demo_area *part; /* what the GPU writes; else NULL */
    uint32_t filled_bytes;
    uint32_t stamp;
    bool bug;
    bool nothing; /* is copied up */
    enum demo_home home;
};

/* The number of the area that a page lies in, from 1; 0: in none. */
static uint16_t transfer_resource(const struct demo_memory *memory, uint32_t page)
{
    for (uint32_t i = 0; i < DEMO_AREAS; i++) {
        if (page - memory->areas[i].page < memory->areas[i].pages) {
            return (uint16_t)(i + 1);
        }
    }
    return 0;
}

/* Say that the copy that has begun is one of an image, where it is. */
static void transfer_image(const struct demo *demo, uint64_t guest_addr, uint64_t offset,
                           uint16_t resource)
{
    const struct demo_gpu_image *image = demo_gpu_image_at(&demo->gpu, offset);
    if (image != NULL) {
        const struct trk_capture_image said = {
            .guest_addr = guest_addr - (offset - image->offset),
            .size_bytes = image->size_bytes,
            .width = DEMO_IMAGE_WIDTH,
            .height = (uint16_t)(image->size_bytes / DEMO_ROW_BYTES),
            .texel_bytes = DEMO_TEXEL_BYTES,
            .resource = resource,
        };
        trk_capture_copy_image(&said);
    }
}

static void transfer_copy_up(struct demo *demo, uint64_t guest_addr, uint64_t size_bytes)
{
    uint32_t page = demo_memory_page(&demo->memory, guest_addr);
    uint64_t offset = page * TRK_HOST_PAGE_BYTES;
    uint16_t resource = transfer_resource(&demo->memory, page);
    trk_capture_copy_begin(TRK_COPY_UP, guest_addr, size_bytes, resource);
    transfer_image(demo, guest_addr, offset, resource);
    char *bytes = demo->memory.backing + offset;
    trk_capture_pages(TRK_PAGE_ARMED, guest_addr, bytes, size_bytes);
    demo_gpu_upload(&demo->gpu, offset, size_bytes, bytes);
    trk_capture_pages(TRK_PAGE_COPIED, guest_addr, bytes, size_bytes);
    trk_capture_copy_end(TRK_COPY_UP, guest_addr, size_bytes, resource);
    demo->result.uploads++;
    demo->result.bytes += size_bytes;
}

static void transfer_copy_down(struct demo *demo, uint64_t guest_addr, uint64_t size_bytes,
                               bool early)
{
    uint32_t page = demo_memory_page(&demo->memory, guest_addr);
    uint64_t offset = page * TRK_HOST_PAGE_BYTES;
    uint16_t resource = transfer_resource(&demo->memory, page);
    trk_capture_copy_begin(TRK_COPY_DOWN, guest_addr, size_bytes, resource);
    transfer_image(demo, guest_addr, offset, resource);
    (early ? demo_gpu_download_early : demo_gpu_download)(&demo->gpu, offset, size_bytes,
                                                          demo->memory.backing + offset);
    trk_capture_copy_end(TRK_COPY_DOWN, guest_addr, size_bytes, resource);
    demo->result.downloads++;
    demo->result.bytes += size_bytes;
}

/* Callbacks of the tracker. */

static void transfer_on_up(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    struct transfer *transfer = context;
    struct demo *demo = transfer->demo;
    if (transfer->bug && demo->options.bug == TRK_DEMO_BUG_CALL_IN_CALLBACK) {
        bool gpu = false;
        transfer->bug = false; /* one question, however many runs there are */
        demo_note(demo, trk_tracker_is_gpu(demo->tracker, guest_addr, size_bytes, &gpu));
    }
    if (!transfer->nothing) {
        transfer_copy_up(demo, guest_addr, size_bytes);
    }
}

static void transfer_on_down(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    struct transfer *transfer = context;
    if (transfer->home != DEMO_HOME_NOTHING) {
        transfer_copy_down(transfer->demo, guest_addr, size_bytes,
                           transfer->home == DEMO_HOME_EARLY);
    }
}

/* Let one guest store to pages that were dirty when the upload began, and wait until it has. */
static void transfer_on_meeting(void *context)
{
    struct transfer *transfer = context;
    struct demo_sync *sync = &transfer->demo->sync;
    const struct demo_plan *plan = transfer->plan;
    demo_line_signal(&sync->mid, plan->frame + 1);
    demo_line_await(&sync->seats[plan->mid_guest].mid_done, plan->frame + 1);
}

/* All pages of the part, whole, in one go. */
static void transfer_dispatch(struct demo *demo, const struct transfer *transfer)
{
    const uint64_t size_bytes = transfer->part->pages * TRK_HOST_PAGE_BYTES;
    const uint32_t tick = demo_gpu_tick(&demo->gpu);
    demo_gpu_dispatch(&demo->gpu, transfer->part->page * TRK_HOST_PAGE_BYTES, size_bytes,
                      transfer->stamp);
    trk_capture_dispatch(1, tick, DEMO_SHADER);
    trk_capture_gpu_write(demo_memory_guest(&demo->memory, transfer->part->page),
                          (uint32_t)size_bytes, tick, transfer->stamp);
}

static void transfer_on_gpu_write(void *context)
{
    struct transfer *transfer = context;
    struct demo *demo = transfer->demo;
    if (demo->options.dispatch && transfer->filled_bytes == TRK_HOST_PAGE_BYTES) {
        transfer_dispatch(demo, transfer);
        return;
    }
    for (uint32_t i = 0; i < transfer->part->pages; i++) {
        uint32_t page = transfer->part->page + i;
        demo_gpu_fill(&demo->gpu, page * TRK_HOST_PAGE_BYTES, transfer->filled_bytes,
                      transfer->stamp);
        trk_capture_gpu_write(demo_memory_guest(&demo->memory, page), transfer->filled_bytes,
                              demo_gpu_tick(&demo->gpu), transfer->stamp);
    }
}

static struct trk_transfer transfer_of(const struct demo *demo, const struct demo_area *area,
                                       struct transfer *context)
{
    struct trk_transfer transfer = {
        .size = sizeof transfer,
        .guest_addr = demo_memory_guest(&demo->memory, area->page),
        .size_bytes = area->pages * TRK_HOST_PAGE_BYTES,
        .range = transfer_on_up,
        .context = context,
    };
    return transfer;
}

/* All uploads: where a limit of trust is set (`trk bisect live`) it may take clean pages, too. */
static void transfer_upload(struct demo *demo, const struct trk_transfer *upload)
{
    trk_capture_distrust(demo->tracker, DEMO_TRACKER, upload->guest_addr, upload->size_bytes);
    demo_note(demo, trk_tracker_upload(demo->tracker, upload));
}

void demo_transfer_up(struct demo *demo, uint32_t area)
{
    demo_transfer_up_part(demo, &demo->memory.areas[area]);
}

void demo_transfer_up_nothing(struct demo *demo, uint32_t area)
{
    struct transfer context = {.demo = demo, .nothing = true};
    struct trk_transfer upload = transfer_of(demo, &demo->memory.areas[area], &context);
    transfer_upload(demo, &upload);
}

void demo_transfer_up_part(struct demo *demo, const struct demo_area *part)
{
    struct transfer context = {.demo = demo};
    struct trk_transfer upload = transfer_of(demo, part, &context);
    transfer_upload(demo, &upload);
}

void demo_transfer_meeting(struct demo *demo, const struct demo_plan *plan)
{
    struct transfer context = {.demo = demo, .plan = plan, .bug = plan->bug};
    struct trk_transfer upload = transfer_of(demo, &demo->memory.areas[plan->chosen], &context);
    if (plan->bug && demo->options.bug == TRK_DEMO_BUG_COPY_BEFORE_ARM) {
        /* The bytes are taken first; the tracker is asked, and the pages armed, too late. */
        transfer_copy_up(demo, upload.guest_addr, upload.size_bytes);
        transfer_on_meeting(&context);
        upload.range = NULL;
    } else {
        upload.completion = transfer_on_meeting;
    }
    transfer_upload(demo, &upload);
    demo_transfer_up(demo, plan->chosen);
}

void demo_transfer_gpu_write(struct demo *demo, const struct demo_area *part, uint32_t filled_bytes,
                             uint32_t frame)
{
    struct demo_memory *memory = &demo->memory;
    const uint32_t slots = filled_bytes / DEMO_SLOT_BYTES;
    uint32_t stamp = 0;
    for (uint32_t i = 0; i < part->pages * slots; i++) {
        uint32_t slot = (part->page + i / slots) * DEMO_PAGE_SLOTS + i % slots;
        uint32_t next = demo_memory_stamp(memory, slot, frame);
        stamp = next > stamp ? next : stamp;
    }
    for (uint32_t i = 0; i < part->pages * slots; i++) {
        memory->expected[(part->page + i / slots) * DEMO_PAGE_SLOTS + i % slots] = stamp;
    }
    struct transfer context = {
        .demo = demo,
        .part = part,
        .filled_bytes = filled_bytes,
        .stamp = stamp,
    };
    struct trk_transfer upload = transfer_of(demo, part, &context);
    upload.written = true;
    upload.completion = transfer_on_gpu_write;
    transfer_upload(demo, &upload);
}

static struct trk_transfer transfer_home(struct transfer *context, uint64_t guest_addr,
                                         uint64_t size_bytes)
{
    struct trk_transfer transfer = {
        .size = sizeof transfer,
        .guest_addr = guest_addr,
        .size_bytes = size_bytes,
        .clear = true,
        .range = transfer_on_down,
        .context = context,
    };
    return transfer;
}

void demo_transfer_download(struct demo *demo, uint64_t guest_addr, uint64_t size_bytes,
                            enum demo_home how)
{
    struct transfer context = {.demo = demo, .home = how};
    struct trk_transfer home = transfer_home(&context, guest_addr, size_bytes);
    demo_note(demo, trk_tracker_download(demo->tracker, &home));
}

void demo_transfer_drain(struct demo *demo, uint64_t guest_addr, uint64_t size_bytes)
{
    struct transfer context = {.demo = demo};
    struct trk_transfer home = transfer_home(&context, guest_addr, size_bytes);
    demo_note(demo, trk_tracker_drain(demo->tracker, &home));
}

void demo_transfer_serve(void *context, const struct demo_request *request)
{
    if (request->flush) {
        demo_transfer_drain(context, request->guest_addr, request->size_bytes);
    } else {
        demo_transfer_download(context, request->guest_addr, request->size_bytes, DEMO_HOME_RIGHT);
    }
}
