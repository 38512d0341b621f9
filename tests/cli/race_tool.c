/*
 * Programs with races that do not strike: their threads run one after the other, though nothing but
 * chance orders them. Run under trk record, for the tests of trk explore.
 *
 *     race_tool good          the right protocol
 *     race_tool copy-first    bytes are taken for the GPU before the tracker is asked
 *     race_tool open-write    the GPU's write stands behind its written upload, not inside
 *     race_tool branch        as copy-first; the guest first reads what the GPU may have written
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/capture.h"
#include "track/pages.h"
#include "track/tracker.h"

#define PAGE_ADDR  UINT64_C(0x200010000)
#define PAGE_BYTES UINT64_C(4096)
#define SLOT_BYTES 64u
/* The GPU writes here. */
#define RESULT_ADDR (PAGE_ADDR + PAGE_BYTES / 2)

struct program {
    struct trk_tracker *tracker;
    const char *race;
    uint32_t stamps;                   /* given so far */
    uint32_t guest, gpu;               /* stamp of either copy of the slot */
    uint32_t result_guest, result_gpu; /* and of the one that the GPU writes */
};

static struct program program;

static bool races(const char *name)
{
    return strcmp(program.race, name) == 0;
}

static void must(enum trk_status status)
{
    if (status != TRK_OK) {
        fprintf(stderr, "race_tool: %s\n", trk_status_name(status));
        exit(1);
    }
}

/* ---- copies ---------------------------------------------------------------------------------- */

static void copy_up(uint64_t guest_addr, uint64_t size_bytes)
{
    trk_capture_copy_begin(TRK_COPY_UP, guest_addr, size_bytes, 0);
    program.gpu = program.guest;
    program.result_gpu = program.result_guest;
    trk_capture_copy_end(TRK_COPY_UP, guest_addr, size_bytes, 0);
}

static void on_up(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    (void)context;
    copy_up(guest_addr, size_bytes);
}

static void on_down(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    (void)context;
    trk_capture_copy_begin(TRK_COPY_DOWN, guest_addr, size_bytes, 0);
    program.guest = program.gpu;
    program.result_guest = program.result_gpu;
    trk_capture_copy_end(TRK_COPY_DOWN, guest_addr, size_bytes, 0);
}

static struct trk_transfer transfer_of(bool up)
{
    return (struct trk_transfer){.size = sizeof(struct trk_transfer),
                                 .guest_addr = PAGE_ADDR,
                                 .size_bytes = PAGE_BYTES,
                                 .clear = !up,
                                 .range = up ? on_up : on_down};
}

static void upload(void)
{
    struct trk_transfer transfer = transfer_of(true);
    must(trk_tracker_upload(program.tracker, &transfer));
}

static void on_flush(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    (void)context;
    (void)guest_addr;
    (void)size_bytes;
    struct trk_transfer transfer = transfer_of(false);
    must(trk_tracker_drain(program.tracker, &transfer));
}

static void on_read_back(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    (void)context;
    (void)guest_addr;
    (void)size_bytes;
    struct trk_transfer transfer = transfer_of(false);
    must(trk_tracker_download(program.tracker, &transfer));
}

/* ---- what threads do ------------------------------------------------------------------------- */

static void fault_unless(unsigned right, enum trk_access access)
{
    struct trk_page_view view = trk_pages_view(program.tracker, PAGE_ADDR);
    if ((view.host_rights & right) == 0) {
        (void)trk_tracker_fault(program.tracker, PAGE_ADDR, access);
    }
}

static void store(void)
{
    fault_unless(TRK_RIGHT_WRITE, TRK_ACCESS_WRITE);
    program.guest = ++program.stamps;
    trk_capture_witness_store(TRK_AGENT_CPU, PAGE_ADDR, SLOT_BYTES, program.guest);
}

static void load_result(void)
{
    fault_unless(TRK_RIGHT_READ, TRK_ACCESS_READ);
    trk_capture_witness_check(TRK_AGENT_CPU, RESULT_ADDR, SLOT_BYTES, program.result_guest);
}

static void draw_reads(uint32_t tick)
{
    trk_capture_gpu_read(PAGE_ADDR, SLOT_BYTES, tick);
    trk_capture_witness_check(TRK_AGENT_GPU, PAGE_ADDR, SLOT_BYTES, program.gpu);
}

static void gpu_writes(void *context)
{
    (void)context;
    program.result_gpu = ++program.stamps;
    trk_capture_gpu_write(RESULT_ADDR, SLOT_BYTES, 1, program.result_gpu);
}

/* ---- threads, in the order that chance gave them --------------------------------------------- */

static void *guest_first(void *context)
{
    trk_capture_thread("guest one", TRK_ROLE_GUEST);
    store();
    trk_capture_signal(1, 1);
    trk_capture_signal(11, 1);
    return context;
}

static void *render_first(void *context)
{
    trk_capture_thread("render", TRK_ROLE_HOST);
    trk_capture_await(1, 1);
    if (races("copy-first") || races("branch")) {
        struct trk_transfer late = transfer_of(true);
        late.range = NULL;
        copy_up(PAGE_ADDR, PAGE_BYTES);
        must(trk_tracker_upload(program.tracker, &late));
    } else {
        upload();
    }
    draw_reads(1);
    struct trk_transfer written = transfer_of(true);
    written.written = true;
    written.completion = races("open-write") ? NULL : gpu_writes;
    must(trk_tracker_upload(program.tracker, &written));
    if (races("open-write")) {
        gpu_writes(NULL);
    }
    trk_capture_signal(2, 1);
    trk_capture_signal(12, 1);
    return context;
}

static void *guest_second(void *context)
{
    trk_capture_thread("guest two", TRK_ROLE_GUEST);
    if (races("branch")) {
        load_result();
    }
    store();
    trk_capture_signal(3, 1);
    trk_capture_signal(13, 1);
    return context;
}

static void *render_second(void *context)
{
    trk_capture_thread("render two", TRK_ROLE_HOST);
    trk_capture_await(2, 1);
    trk_capture_await(3, 1);
    upload();
    draw_reads(2);
    trk_capture_signal(14, 1);
    return context;
}

/* Nothing says that a thread begins behind the one before; all end before main goes on. */
static void run(void *(*body)(void *))
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, body, NULL) != 0 || pthread_join(thread, NULL) != 0) {
        exit(1);
    }
}

int main(int argc, char **argv)
{
    struct trk_error error = {.status = TRK_OK};
    struct trk_backend *backend;
    struct trk_tracker_options options = trk_tracker_options_default();
    struct trk_resource_layer layer = {on_flush, on_read_back, NULL};
    program.race = argc == 2 ? argv[1] : "";
    if (!races("good") && !races("copy-first") && !races("open-write") && !races("branch")) {
        fprintf(stderr, "usage: race_tool good|copy-first|open-write|branch\n");
        return 2;
    }
    if (trk_capture_open(&error) != TRK_OK) {
        fprintf(stderr, "race_tool: no session: %s\n", error.text);
    }
    trk_capture_thread("main", TRK_ROLE_HOST);
    must(trk_backend_simulated_create(&backend, &error));
    options.backend = backend;
    options.observer = trk_capture_observer();
    must(trk_tracker_create(&program.tracker, &options, &error));
    trk_capture_tracker(0, &options.policy, TRK_BACKEND_SIMULATED);
    must(trk_tracker_set_resource_layer(program.tracker, &layer));
    must(trk_tracker_register(program.tracker, PAGE_ADDR, PAGE_BYTES));
    run(guest_first);
    run(render_first);
    run(guest_second);
    run(render_second);
    for (uint32_t ended = 11; ended <= 14; ended++) {
        trk_capture_await(ended, 1);
    }
    on_flush(NULL, PAGE_ADDR, PAGE_BYTES);
    must(trk_tracker_untrack(program.tracker, PAGE_ADDR, PAGE_BYTES));
    trk_tracker_destroy(program.tracker);
    trk_backend_destroy(backend);
    return 0;
}
