/*
 * A fault of ours beside one of whoever else watches Vulkan's mapped memory: one JSON object.
 *
 *     trk_bench_page_guard [--rounds N]
 *
 * The other one is a layer that the environment names (gfxreconstruct's capture layer: peers.sh
 * says how). Four windows of as many pages, whose batches alternate in one recorded process: the
 * bare SIGSEGV and mprotect loop, the tracker, the tracker with the recorder, and a mapped buffer
 * of a Vulkan device. That one is armed again by a submit, which copies a few bytes of it; without
 * a layer its stores do not fault, and the submit is what a submit takes. 77 without a device.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "live.h"
#include "recorded.h"
#include "recorder/capture.h"
#include "replayer/vk.h"

#define COPIED_BYTES 256u
#define LAYER        "VkLayer_gfxreconstruct"

struct guarded {
    struct trk_vk *vk;
    struct trk_vk_buffer *mapped, *there;
};

struct figures {
    struct bench_faults faults;
    uint64_t dropped;
    bool device, layer;
};

/* Submit, and wait for its end: the layer looks for stores, keeps them and watches again. */
static int submit(void *context)
{
    const struct guarded *guarded = context;
    const struct trk_vk_region region = {.size_bytes = COPIED_BYTES};
    struct trk_error error;
    uint64_t tick;
    if (trk_vk_copy(guarded->vk, guarded->mapped, guarded->there, &region, &error) != TRK_OK ||
        trk_vk_submit(guarded->vk, &tick, &error) != TRK_OK ||
        trk_vk_wait(guarded->vk, tick, &error) != TRK_OK) {
        fprintf(stderr, "page guard: %s\n", error.text);
        return 1;
    }
    return 0;
}

static bool is_loaded(const char *library)
{
    char line[4096];
    bool found = false;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps != NULL && !found && fgets(line, sizeof line, maps) != NULL) {
        found = strstr(line, library) != NULL;
    }
    if (maps != NULL) {
        fclose(maps);
    }
    return found;
}

/* Contents that no page has in common with another. */
static void fill(unsigned char *host)
{
    uint64_t state = 1;
    for (size_t i = 0; i < BENCH_FAULT_BYTES; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        host[i] = (unsigned char)(state >> 56 & 15); /* half of each byte says nothing */
    }
}

static int measure_on(struct guarded *guarded, unsigned rounds, struct figures *out)
{
    struct trk_error error;
    if (trk_vk_buffer_create(guarded->vk, &guarded->mapped, TRK_VK_UPLOAD, BENCH_FAULT_BYTES,
                             &error) != TRK_OK ||
        trk_vk_buffer_create(guarded->vk, &guarded->there, TRK_VK_DEVICE_LOCAL, COPIED_BYTES,
                             &error) != TRK_OK) {
        fprintf(stderr, "page guard: %s\n", error.text);
        return 1;
    }
    unsigned char *host = trk_vk_buffer_host(guarded->mapped);
    fill(host);
    const struct bench_peer peer = {host, submit, guarded};
    int failed = bench_faults(rounds, &peer, &out->faults);
    trk_vk_buffer_destroy(guarded->vk, guarded->there);
    trk_vk_buffer_destroy(guarded->vk, guarded->mapped);
    return failed;
}

/* The recorded child: measure and send the figures home. */
static int live_child(unsigned rounds, int fd)
{
    static struct figures figures;
    struct guarded guarded;
    struct trk_error error;
    if (bench_recorded_begin("bench")) {
        return 1;
    }
    figures.device = trk_vk_open(&guarded.vk, 0, &error) == TRK_OK;
    if (figures.device) {
        figures.layer = is_loaded(LAYER);
        if (measure_on(&guarded, rounds, &figures)) {
            return 1;
        }
        trk_vk_close(guarded.vk);
    }
    figures.dropped = trk_capture_dropped();
    return bench_recorded_end(fd, &figures, sizeof figures);
}

static void print(unsigned rounds, const struct figures *figures)
{
    const struct bench_faults *faults = &figures->faults;
    const struct bench_row rows[] = {
        {"fault_bare_ns", faults->bare_ns},
        {"fault_tracker_ns", faults->tracker_ns},
        {"fault_recorder_ns", faults->recorder_ns},
        {"fault_peer_ns", faults->peer_ns},
        {"fault_recorder_to_tracker", faults->recorder_ratio},
        {"fault_recorder_to_bare", faults->recorder_bare_ratio},
        {"fault_peer_to_bare", faults->peer_ratio},
        {"arm_bare_ns_a_page", faults->bare_arm_ns},
        {"arm_recorder_ns_a_page", faults->recorder_arm_ns},
        {"arm_peer_ns_a_page", faults->peer_arm_ns},
    };
    printf("{\"schema\": \"trk-bench-page-guard/1\",\n \"rounds\": %u,\n \"layer\": %s,\n"
           " \"dropped\": %" PRIu64,
           rounds, figures->layer ? "true" : "false", figures->dropped);
    bench_rows_print(stdout, ",\n ", rows, sizeof rows / sizeof rows[0]);
    printf("}\n");
}

int main(int argc, char **argv)
{
    static struct figures figures;
    static const char nowhere[] = "/dev/null";
    char word[] = "--live";
    char number[16];
    bool given = argc == 3 && strcmp(argv[1], "--rounds") == 0;
    unsigned long rounds = given || argc == 4 ? strtoul(argv[2], NULL, 10) : 200;
    if (argc == 4 && strcmp(argv[1], word) == 0) {
        return live_child((unsigned)rounds, (int)strtol(argv[3], NULL, 10));
    }
    if ((argc != 1 && !given) || rounds < 1 || rounds > BENCH_SAMPLES_MAX) {
        fprintf(stderr, "usage: trk_bench_page_guard [--rounds 1..%u]\n", BENCH_SAMPLES_MAX);
        return 2;
    }
    snprintf(number, sizeof number, "%lu", rounds);
    char *const words[] = {word, number, NULL};
    if (bench_record_self(nowhere, words, &figures, sizeof figures)) {
        return 70;
    }
    if (!figures.device) {
        return 77;
    }
    print((unsigned)rounds, &figures);
    return 0;
}
