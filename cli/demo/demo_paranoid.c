/* Paranoid mode: the bytes of clean pages are looked at, and what nobody saw is told. */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "demo_state.h"
#include "recorder/capture.h"

/* The emulator's own view of a page of the guest's; NULL outside both windows. */
static const void *paranoid_bytes(void *context, uint64_t page_addr)
{
    const struct demo *demo = context;
    const struct demo_memory *memory = &demo->memory;
    if (page_addr - DEMO_LOW_WINDOW >= memory->half_bytes &&
        page_addr - DEMO_ARENA_WINDOW >= memory->half_bytes) {
        return NULL;
    }
    return memory->backing + demo_memory_page(memory, page_addr) * TRK_HOST_PAGE_BYTES;
}

static void paranoid_on_finding(void *context, const struct trk_paranoid_finding *finding)
{
    static const char *const moments[] = {"an upload", "a draw", "the end of a frame",
                                          "a change of rights"};
    (void)context;
    fprintf(stderr,
            "trk demo: paranoid: page 0x%" PRIx64 " is clean, but its bytes have changed: seen at "
            "%s, hash %016" PRIx64 " was %016" PRIx64 "\n",
            finding->guest_addr, moments[finding->moment], finding->seen_hash, finding->known_hash);
    trk_capture_trigger(); /* a flight recording writes down how it came to that */
}

static uint64_t paranoid_clock(void)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

enum trk_status demo_paranoid_open(struct demo *demo, struct trk_observer *observer,
                                   struct trk_error *error)
{
    if (demo->options.paranoid == 0) {
        return TRK_OK;
    }
    struct trk_paranoid_options options = {
        .size = sizeof options,
        .one_in = demo->options.paranoid,
        .observer = *observer,
        .bytes = paranoid_bytes,
        .finding = paranoid_on_finding,
        .context = demo,
        .now_ns = paranoid_clock,
    };
    enum trk_status status = trk_paranoid_create(&demo->paranoid, &options, error);
    if (status == TRK_OK) {
        *observer = trk_paranoid_observer(demo->paranoid);
    }
    return status;
}

void demo_paranoid_draw(struct demo *demo, const struct demo_plan *plan)
{
    const struct demo_area *area = &demo->memory.areas[plan->early];
    if (demo->paranoid != NULL) {
        trk_paranoid_draw(demo->paranoid, demo_memory_guest(&demo->memory, area->page),
                          area->pages * TRK_HOST_PAGE_BYTES);
    }
}

void demo_paranoid_frame(struct demo *demo)
{
    if (demo->paranoid != NULL) {
        trk_paranoid_frame(demo->paranoid);
    }
}

void demo_paranoid_close(struct demo *demo)
{
    if (demo->paranoid != NULL) {
        struct trk_paranoid_counts counts = trk_paranoid_counts(demo->paranoid);
        demo->result.paranoid_findings = counts.findings;
        demo->result.paranoid_compared = counts.compared;
        demo->result.paranoid_ns = counts.ns;
    }
}
