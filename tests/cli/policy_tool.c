/*
 * A program whose operations come to something else under another policy, in one region each,
 * behind many that do not. Run under trk record, for the tests of trk diff --policies.
 *
 *     policy_tool ROUNDS
 */
#include <stdio.h>
#include <stdlib.h>

#include "recorder/capture.h"
#include "track/pages.h"
#include "track/tracker.h"

#define PAGE UINT64_C(4096)

#define PLAIN  UINT64_C(0x200000000)   /* the same under each policy */
#define RETAKE UINT64_C(0x200400000)   /* a flush is followed by a taking, once */
#define EDGE   UINT64_C(0x200800000)   /* a store faults four bytes before its page ends */
#define ARENA  UINT64_C(0x80000000000) /* what not every policy tracks */

static struct trk_tracker *tracker;
static unsigned flushes;

static void must(enum trk_status status)
{
    if (status != TRK_OK) {
        fprintf(stderr, "policy_tool: %s\n", trk_status_name(status));
        exit(1);
    }
}

static struct trk_transfer transfer_of(uint64_t guest_addr, uint64_t size_bytes)
{
    return (struct trk_transfer){
        .size = sizeof(struct trk_transfer), .guest_addr = guest_addr, .size_bytes = size_bytes};
}

static void upload(uint64_t guest_addr, uint64_t size_bytes, bool written)
{
    struct trk_transfer transfer = transfer_of(guest_addr, size_bytes);
    transfer.written = written;
    must(trk_tracker_upload(tracker, &transfer));
}

static void drain(uint64_t guest_addr, uint64_t size_bytes)
{
    struct trk_transfer transfer = transfer_of(guest_addr, size_bytes);
    must(trk_tracker_drain(tracker, &transfer));
}

static void on_flush(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    (void)context;
    drain(guest_addr, size_bytes);
}

static void on_retaken_flush(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    (void)context;
    drain(guest_addr, size_bytes);
    if (flushes++ == 0) {
        upload(guest_addr, PAGE, true);
    }
}

static void on_read_back(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    struct trk_transfer transfer = transfer_of(guest_addr, size_bytes);
    (void)context;
    transfer.clear = true;
    must(trk_tracker_download(tracker, &transfer));
}

/* A store of the guest's, which faults where the host page is closed. */
static void store(uint64_t guest_addr, uint32_t stamp)
{
    if ((trk_pages_view(tracker, guest_addr).host_rights & TRK_RIGHT_WRITE) == 0) {
        (void)trk_tracker_fault(tracker, guest_addr, TRK_ACCESS_WRITE);
    }
    trk_capture_witness_store(TRK_AGENT_CPU, guest_addr, 4, stamp);
}

static void round_of_plain(uint32_t number)
{
    store(PLAIN + number % 16 * PAGE, number + 1);
    upload(PLAIN, 16 * PAGE, number % 4 == 0);
    store(PLAIN + (number + 5) % 16 * PAGE, number + 1);
    must(trk_tracker_invalidate(tracker, PLAIN, 2 * PAGE, on_flush, NULL));
}

int main(int argc, char **argv)
{
    struct trk_error error = {.status = TRK_OK};
    struct trk_backend *backend;
    struct trk_tracker_options options = trk_tracker_options_default();
    const struct trk_resource_layer layer = {on_flush, on_read_back, NULL};
    static const uint64_t areas[] = {PLAIN, RETAKE, EDGE, ARENA};
    long rounds = argc == 2 ? strtol(argv[1], NULL, 10) : 0;
    if (rounds < 1 || rounds > 100000) {
        fprintf(stderr, "usage: policy_tool ROUNDS\n");
        return 2;
    }
    if (trk_capture_open(&error) != TRK_OK) {
        fprintf(stderr, "policy_tool: no session: %s\n", error.text);
    }
    trk_capture_thread("main", TRK_ROLE_HOST);
    must(trk_backend_simulated_create(&backend, &error));
    options.backend = backend;
    options.observer = trk_capture_observer();
    must(trk_tracker_create(&tracker, &options, &error));
    trk_capture_tracker(0, &options.policy, TRK_BACKEND_SIMULATED);
    must(trk_tracker_set_resource_layer(tracker, &layer));
    for (size_t i = 0; i < sizeof areas / sizeof areas[0]; i++) {
        must(trk_tracker_register(tracker, areas[i], 16 * PAGE));
    }
    for (uint32_t i = 0; i < (uint32_t)rounds; i++) {
        round_of_plain(i);
    }
    upload(RETAKE, 2 * PAGE, true);
    must(trk_tracker_invalidate(tracker, RETAKE, PAGE, on_retaken_flush, NULL));
    upload(EDGE, 4 * PAGE, false);
    store(EDGE + PAGE - 4, 1);
    upload(ARENA, PAGE, false);
    for (size_t i = 0; i < sizeof areas / sizeof areas[0]; i++) {
        drain(areas[i], 16 * PAGE);
        must(trk_tracker_untrack(tracker, areas[i], 16 * PAGE));
    }
    trk_tracker_destroy(tracker);
    trk_backend_destroy(backend);
    return 0;
}
