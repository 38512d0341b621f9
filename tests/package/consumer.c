/*
 * The least that a user of the installed libraries does: create a tracker, let a session listen,
 * move one page around, ask. Goal: headers, libraries and link flags of the package suffice.
 */
#include <stdio.h>

#include <recorder/capture.h>
#include <track/tracker.h>

static unsigned ranges_seen;

static void count_range(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    (void)context;
    (void)guest_addr;
    (void)size_bytes;
    ranges_seen++;
}

static int use(struct trk_backend *backend)
{
    struct trk_tracker_options options = trk_tracker_options_default();
    options.backend = backend;
    options.observer = trk_capture_observer();
    struct trk_tracker *tracker = NULL;
    struct trk_error error;
    if (trk_tracker_create(&tracker, &options, &error) != TRK_OK) {
        fprintf(stderr, "create: %s\n", error.text);
        return 1;
    }
    trk_capture_tracker(0, &options.policy, backend->kind);

    struct trk_transfer upload = {
        .size = sizeof upload,
        .guest_addr = 0x200000000u,
        .size_bytes = 4096,
        .range = count_range,
    };
    bool dirty = true;
    int failed = trk_tracker_upload(tracker, &upload) != TRK_OK ||
                 trk_tracker_is_cpu(tracker, 0x200000000u, 4096, &dirty) != TRK_OK || dirty ||
                 ranges_seen != 1 || trk_tracker_untrack(tracker, 0x200000000u, 4096) != TRK_OK;
    trk_tracker_destroy(tracker);
    return failed;
}

int main(void)
{
    struct trk_error error;
    enum trk_status status = trk_capture_open(&error);
    if (status != TRK_E_UNSUPPORTED || trk_capture_active()) {
        fprintf(stderr, "a session where there is none: %s\n", trk_status_name(status));
        return 1;
    }
    struct trk_backend *backend = NULL;
    if (trk_backend_simulated_create(&backend, &error) != TRK_OK) {
        fprintf(stderr, "backend: %s\n", error.text);
        return 1;
    }
    int failed = use(backend);
    trk_backend_destroy(backend);
    if (!failed) {
        puts("ok");
    }
    return failed;
}
