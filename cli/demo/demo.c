#include "demo_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "recorder/capture.h"
#include "track/crash.h"

/* Before the second frame the GPU has no page that a bug could forget. */
#define BUG_FRAMES_MIN 2u
/* The texture is looked at so long after the latest frame in which a bug can act. */
#define LATE_FRAMES_MIN (DEMO_BUG_FRAME_LAST + DEMO_TEXTURE_FRAMES + 1)

const struct trk_demo_bug trk_demo_bugs[] = {
    {TRK_DEMO_BUG_COPY_BEFORE_ARM, "copy-before-arm",
     "an upload takes the bytes before the pages are armed", "stale-gpu-read", BUG_FRAMES_MIN},
    {TRK_DEMO_BUG_FLUSH_LEAVES_PAGE, "flush-leaves-page",
     "a flush leaves the last page of its range to the GPU", "fatal:retained", BUG_FRAMES_MIN},
    {TRK_DEMO_BUG_CALL_IN_CALLBACK, "call-in-callback",
     "an upload callback asks the tracker a question", "fatal:reentry", BUG_FRAMES_MIN},
    {TRK_DEMO_BUG_PARTIAL_INVALIDATE, "partial-invalidate",
     "an invalidate of a range with one page that is not registered does nothing at all",
     "lost-cpu-write", BUG_FRAMES_MIN},
    {TRK_DEMO_BUG_LOST_REARM, "lost-rearm",
     "the guest's mprotect opens a page that the tracker has armed", "stale-gpu-read",
     BUG_FRAMES_MIN},
    {TRK_DEMO_BUG_ALIAS_WRITE, "alias-write",
     "a guest stores through a second view that nobody watches", "stale-gpu-read", BUG_FRAMES_MIN},
    {TRK_DEMO_BUG_EARLY_READ_BACK, "early-read-back",
     "a read-back takes its bytes without waiting for the GPU", "stale-cpu-read", BUG_FRAMES_MIN},
    {TRK_DEMO_BUG_KERNEL_STORE, "kernel-store",
     "the kernel fills a page for the guest, and nobody invalidates it", "stale-gpu-read",
     BUG_FRAMES_MIN},
    {TRK_DEMO_BUG_SKIPPED_COPY, "skipped-copy", "an upload takes a page and copies nothing",
     "stale-gpu-read", BUG_FRAMES_MIN},
    {TRK_DEMO_BUG_LOST_READ_BACK, "lost-read-back",
     "a read-back takes a page from the GPU and brings nothing home", "stale-cpu-read",
     BUG_FRAMES_MIN},
    {TRK_DEMO_BUG_LATE_INVALIDATE, "late-invalidate",
     "a service stores to a buffer first and invalidates it then", "lost-cpu-write",
     BUG_FRAMES_MIN},
    {TRK_DEMO_BUG_LATE_TEXTURE, "late-texture",
     "the kernel fills a texture, nobody invalidates it, and 200 frames later the GPU reads it",
     "stale-gpu-read", LATE_FRAMES_MIN},
    {TRK_DEMO_BUG_NONE, NULL, NULL, NULL, 0},
};

const struct trk_demo_bug *trk_demo_bug_find(const char *name)
{
    for (const struct trk_demo_bug *bug = trk_demo_bugs; bug->name != NULL; bug++) {
        if (strcmp(bug->name, name) == 0) {
            return bug;
        }
    }
    return NULL;
}

struct trk_demo_options trk_demo_options_default(void)
{
    return (struct trk_demo_options){
        .size = sizeof(struct trk_demo_options),
        .frames = 60,
        .threads = 4,
        .megabytes = 16,
        .seed = 1,
        .policy = trk_tracker_options_default().policy,
    };
}

static enum trk_status demo_options_check(const struct trk_demo_options *options,
                                          struct trk_error *error)
{
    if (options->size != sizeof *options || options->bug >= TRK_DEMO_BUG_COUNT) {
        return trk_error_set(error, TRK_E_ARGUMENT, "the demo's options are not usable");
    }
    if (options->frames < 1 || options->frames > TRK_DEMO_FRAMES_MAX) {
        return trk_error_set(error, TRK_E_ARGUMENT, "frames must be 1 to %u", TRK_DEMO_FRAMES_MAX);
    }
    if (options->threads < 1 || options->threads > TRK_DEMO_THREADS_MAX) {
        return trk_error_set(error, TRK_E_ARGUMENT, "threads must be 1 to %u",
                             TRK_DEMO_THREADS_MAX);
    }
    if (options->megabytes < TRK_DEMO_MEGABYTES_MIN ||
        options->megabytes > TRK_DEMO_MEGABYTES_MAX || options->megabytes % 2 != 0) {
        return trk_error_set(error, TRK_E_ARGUMENT, "megabytes must be even, %u to %u",
                             TRK_DEMO_MEGABYTES_MIN, TRK_DEMO_MEGABYTES_MAX);
    }
    if (options->work_kib > TRK_DEMO_WORK_MAX) {
        return trk_error_set(error, TRK_E_ARGUMENT, "work must be at most %u KiB",
                             TRK_DEMO_WORK_MAX);
    }
    if (options->pages > trk_demo_pages_most(options->megabytes)) {
        return trk_error_set(error, TRK_E_ARGUMENT, "pages must be at most %u with %u MiB",
                             trk_demo_pages_most(options->megabytes), options->megabytes);
    }
    for (const struct trk_demo_bug *bug = trk_demo_bugs; bug->name != NULL; bug++) {
        if (bug->id == options->bug && options->frames < bug->frames) {
            return trk_error_set(error, TRK_E_ARGUMENT, "the bug %s needs at least %u frames",
                                 bug->name, bug->frames);
        }
    }
    return TRK_OK;
}

uint32_t trk_demo_pages_most(uint32_t megabytes)
{
    return demo_memory_rest_of(megabytes);
}

void demo_note(struct demo *demo, enum trk_status status)
{
    /* The classes of fail-fast have been to the failure handler. */
    if (status < TRK_E_ARGUMENT || demo->status != TRK_OK) {
        return;
    }
    demo->status = status;
    if (demo->gpu.status != TRK_OK) {
        demo->error = demo->gpu.error;
    } else {
        trk_error_set(&demo->error, status, "the tracker could not go on: %s",
                      trk_status_name(status));
    }
}

/* For the header of a recording: what the copies go to and through. */
static void tell_of_device(const struct demo_gpu *gpu)
{
    const struct {
        const char *key;
        const struct trk_vk_buffer *buffer;
    } memory[] = {{"vulkan_mirror_memory", gpu->mirror},
                  {"vulkan_upload_memory", gpu->staging},
                  {"vulkan_readback_memory", gpu->readback}};
    trk_capture_about("vulkan_device", trk_vk_info(gpu->vk)->device_name);
    trk_capture_about("vulkan_driver", trk_vk_info(gpu->vk)->driver);
    for (size_t i = 0; i < sizeof memory / sizeof memory[0]; i++) {
        char text[64];
        trk_vk_buffer_describe(memory[i].buffer, text, sizeof text);
        trk_capture_about(memory[i].key, text);
    }
}

/* Runs on the failing thread, maybe in its fault handler. */
static void demo_on_failure(void *context, const struct trk_failure *failure)
{
    struct demo *demo = context;
    static const char head[] = "trk demo: the tracker refused: ";
    struct iovec line[3] = {
        {(void *)(uintptr_t)head, sizeof head - 1},
        {(void *)(uintptr_t)failure->text, strlen(failure->text)},
        {(void *)(uintptr_t) "\n", 1},
    };
    atomic_fetch_add(&demo->failures, 1);
    (void)!writev(STDERR_FILENO, line, 3);
}

/* The demo is about to die: a flight recording writes down how it came to that. */
static void demo_on_crash(void *context, const struct trk_crash *crash)
{
    (void)context;
    (void)crash;
    trk_capture_trigger();
}

static enum trk_status demo_track(struct demo *demo, struct trk_error *error)
{
    struct trk_tracker_options options = trk_tracker_options_default();
    options.backend = demo->backend;
    options.observer = trk_capture_observer();
    options.policy = demo->options.policy;
    options.failure = demo_on_failure;
    options.failure_context = demo;
    enum trk_status status = demo_paranoid_open(demo, &options.observer, error);
    if (status == TRK_OK) {
        status = trk_tracker_create(&demo->tracker, &options, error);
    }
    if (status != TRK_OK) {
        return status;
    }
    if (demo->paranoid != NULL) {
        trk_paranoid_watch(demo->paranoid, demo->tracker);
    }
    trk_crash_trigger_set(demo_on_crash, NULL);
    status = trk_fault_install(demo_guest_fault, demo, error);
    demo->installed = status == TRK_OK;
    if (status != TRK_OK) {
        return status;
    }
    /* Once the tracker is named the recording's header may be written, with the handlers of then.
     */
    tell_of_device(&demo->gpu);
    trk_capture_about_backend(demo->backend);
    trk_capture_tracker(options.id, &options.policy, demo->backend->kind);
    demo_memory_announce(&demo->memory);
    const struct trk_resource_layer layer = {demo_guest_flush, demo_guest_read_back, demo};
    status = trk_tracker_set_resource_layer(demo->tracker, &layer);
    if (status == TRK_OK) {
        status = trk_tracker_register(demo->tracker, DEMO_LOW_WINDOW, demo->memory.half_bytes);
    }
    if (status == TRK_OK) {
        status = trk_tracker_register(demo->tracker, DEMO_ARENA_WINDOW, demo->memory.half_bytes);
    }
    if (status == TRK_OK) {
        const uint32_t hole = demo_memory_hole(&demo->memory);
        status = trk_tracker_unregister(demo->tracker, demo_memory_guest(&demo->memory, hole),
                                        TRK_HOST_PAGE_BYTES);
    }
    return status == TRK_OK ? TRK_OK
                            : trk_error_set(error, status, "the demo's memory cannot be tracked");
}

static enum trk_status demo_protect(struct demo *demo, struct trk_error *error)
{
    const int64_t bias = demo->memory.bias;
    enum trk_status status;
    switch (demo->options.backend) {
    case TRK_DEMO_BACKEND_USERFAULTFD:
        status = trk_backend_userfaultfd_create(&demo->backend, bias, TRK_GUARDS_AUTO, error);
        break;
    case TRK_DEMO_BACKEND_BEST:
        status = trk_backend_create_best(&demo->backend, bias, NULL, 0, error);
        break;
    default:
        status = trk_backend_mprotect_create(&demo->backend, bias, error);
        break;
    }
    return status == TRK_OK ? demo_memory_attach(&demo->memory, demo->backend, error) : status;
}

/* The areas that images hold, where there are such: one goes up only, one both ways. */
static enum trk_status demo_open_gpu(struct demo *demo, struct trk_error *error)
{
    static const uint32_t in_images[DEMO_IMAGES_MAX] = {DEMO_AREA_PING, DEMO_AREAS - 1};
    enum trk_status status =
        demo_gpu_open(&demo->gpu, demo->options.device, demo->memory.half_bytes * 2, error);
    for (uint32_t i = 0; demo->options.images && i < DEMO_IMAGES_MAX && status == TRK_OK; i++) {
        const struct demo_area *area = &demo->memory.areas[in_images[i]];
        status = demo_gpu_image(&demo->gpu, area->page * TRK_HOST_PAGE_BYTES,
                                area->pages * TRK_HOST_PAGE_BYTES, error);
    }
    if (status == TRK_OK && demo->options.dispatch) {
        status = demo_gpu_shader(&demo->gpu, error);
    }
    return status;
}

static enum trk_status demo_open(struct demo *demo, struct trk_error *error)
{
    enum trk_status status = demo_memory_map(&demo->memory, demo->options.megabytes, error);
    if (status == TRK_OK) {
        status = demo_open_gpu(demo, error);
    }
    if (status == TRK_OK) {
        status = demo_scattered_open(demo, error);
    }
    if (status == TRK_OK) {
        status = demo_protect(demo, error);
    }
    if (status == TRK_OK) {
        status = demo_track(demo, error);
    }
    return status;
}

/* Everything goes back to the CPU, so that no watch remains; then guest memory is looked at. */
static void demo_untrack(struct demo *demo)
{
    static const uint64_t windows[] = {DEMO_LOW_WINDOW, DEMO_ARENA_WINDOW};
    const uint64_t half = demo->memory.half_bytes;
    for (unsigned i = 0; i < 2; i++) {
        demo_transfer_drain(demo, windows[i], half);
        demo_note(demo, trk_tracker_untrack(demo->tracker, windows[i], half));
        demo_note(demo, trk_tracker_unregister(demo->tracker, windows[i], half));
    }
    demo_note(demo, demo->gpu.status);
    demo_check_memory(demo);
    demo_note(demo, trk_tracker_set_resource_layer(demo->tracker, NULL));
}

static void demo_close(struct demo *demo)
{
    if (demo->installed) {
        /* Refused only where somebody installed over it, who then chains to nobody's faults. */
        (void)!trk_fault_uninstall(NULL);
        trk_crash_trigger_set(NULL, NULL);
    }
    trk_tracker_destroy(demo->tracker);
    trk_paranoid_destroy(demo->paranoid);
    demo_memory_detach(&demo->memory, demo->backend);
    trk_backend_destroy(demo->backend);
    demo_gpu_close(&demo->gpu);
    demo_scattered_close(demo);
    demo_memory_unmap(&demo->memory);
}

static void demo_start_guests(struct demo *demo)
{
    for (uint32_t i = 0; i < demo->options.threads && demo->status == TRK_OK; i++) {
        struct demo_guest *guest = &demo->guests[i];
        guest->demo = demo;
        guest->number = i;
        guest->dice = demo_dice_make(demo->options.seed, i + 1);
        guest->work = calloc(demo->options.work_kib, 1024);
        if (guest->work == NULL && demo->options.work_kib > 0) {
            demo->status = trk_error_set(&demo->error, TRK_E_MEMORY, "no memory for guest %u", i);
            break;
        }
        int os_errno = pthread_create(&guest->thread, NULL, demo_guest_main, guest);
        guest->started = os_errno == 0;
        if (os_errno != 0) {
            demo->status = trk_error_set_errno(&demo->error, TRK_E_SYSTEM, os_errno,
                                               "cannot start guest %u", i);
        }
    }
    /* What a thread's start takes, its ring's memory among it, is nothing of a frame. */
    for (uint32_t i = 0; i < demo->options.threads && demo->guests[i].started; i++) {
        while (sem_wait(&demo->ready) != 0) {
        }
    }
}

/* The guests leave after the last frame, or when they are told to at the start of one. */
static void demo_join_guests(struct demo *demo, uint32_t frames_run)
{
    uint32_t started = 0;
    while (started < demo->options.threads && demo->guests[started].started) {
        started++;
    }
    if (frames_run < demo->options.frames) {
        atomic_store(&demo->stop, true);
        demo_line_signal(&demo->sync.start, frames_run + 1);
    }
    demo_sync_gather(&demo->sync, started, UINT32_MAX, demo_transfer_serve, demo);
    for (uint32_t i = 0; i < started; i++) {
        pthread_join(demo->guests[i].thread, NULL);
        free((void *)(uintptr_t)demo->guests[i].work);
        demo->result.faults += demo->guests[i].faults;
        demo->result.stores += demo->guests[i].stores;
        demo->result.loads += demo->guests[i].loads;
        demo->result.mismatches += demo->guests[i].mismatches;
    }
}

static uint64_t demo_clock_ns(clockid_t clock)
{
    struct timespec now = {0};
    (void)clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static int demo_compare_ns(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* The frames' times in between their starts and the last one's end. */
static uint64_t demo_median_ns(uint64_t *starts_ns, uint32_t frames)
{
    for (uint32_t i = 0; i < frames; i++) {
        starts_ns[i] = starts_ns[i + 1] - starts_ns[i];
    }
    qsort(starts_ns, frames, sizeof *starts_ns, demo_compare_ns);
    return frames > 0 ? starts_ns[frames / 2] : 0;
}

static void demo_play(struct demo *demo)
{
    uint32_t frame = 0;
    uint64_t *starts_ns = calloc((size_t)demo->options.frames + 1, sizeof *starts_ns);
    if (starts_ns == NULL) {
        demo->status = trk_error_set(&demo->error, TRK_E_MEMORY, "no memory for the frames' times");
        demo_untrack(demo);
        return;
    }
    demo->dice = demo_dice_make(demo->options.seed, 0);
    demo_start_guests(demo);
    uint64_t start_ns = demo_clock_ns(CLOCK_MONOTONIC);
    uint64_t start_cpu_ns = demo_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    while (frame < demo->options.frames && demo->status == TRK_OK) {
        starts_ns[frame] = demo_clock_ns(CLOCK_MONOTONIC);
        demo_render_frame(demo, frame++);
    }
    starts_ns[frame] = demo_clock_ns(CLOCK_MONOTONIC);
    demo->result.frames_ns = starts_ns[frame] - start_ns;
    demo->result.frames_cpu_ns = demo_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - start_cpu_ns;
    demo->result.frame_median_ns = demo_median_ns(starts_ns, frame);
    free(starts_ns);
    demo_join_guests(demo, frame);
    demo_untrack(demo);
}

enum trk_status trk_demo_run(const struct trk_demo_options *options, struct trk_demo_result *result,
                             struct trk_error *error)
{
    enum trk_status status = demo_options_check(options, error);
    if (status != TRK_OK) {
        return status;
    }
    struct demo *demo = calloc(1, sizeof *demo);
    if (demo == NULL) {
        return trk_error_set(error, TRK_E_MEMORY, "no memory for the demo");
    }
    demo->options = *options;
    demo->memory.fd = -1;
    demo_sync_init(&demo->sync);
    sem_init(&demo->ready, 0, 0);
    if (!trk_capture_active()) {
        /* Without a session the demo runs unrecorded. */
        if (trk_capture_open(error) == TRK_E_ARGUMENT && error != NULL)
            fprintf(stderr, "trk demo: not recorded: %s\n", error->text);
    }
    trk_capture_thread("render", TRK_ROLE_HOST);
    status = demo_open(demo, error);
    if (status == TRK_OK) {
        demo_play(demo);
        demo_paranoid_close(demo);
        demo->result.failures = atomic_load(&demo->failures);
        snprintf(demo->result.device_name, sizeof demo->result.device_name, "%s",
                 trk_vk_info(demo->gpu.vk)->device_name);
        *result = demo->result;
        status = demo->status;
        if (status != TRK_OK && error != NULL) {
            *error = demo->error;
        }
    }
    demo_close(demo);
    trk_capture_thread_end();
    sem_destroy(&demo->ready);
    free(demo);
    return status;
}
