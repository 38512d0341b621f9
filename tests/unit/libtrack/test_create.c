/*
 * Goal: a tracker is created from usable options only, and without a handler of its owner a
 * failure ends the process with its line.
 * Method: a table of options; a child that breaks a rule.
 *
 * Rules: [M-62].
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>

#include "child.h"
#include "track/address.h"
#include "track/pages.h"
#include "track/tracker.h"

#define BASE UINT64_C(0x200000000)

enum spoil {
    SPOIL_NOTHING,
    SPOIL_SIZE_ZERO,
    SPOIL_SIZE_SHORT,
    SPOIL_BACKEND,
    SPOIL_ID,
    SPOIL_PAGE_SIZE,
    SPOIL_FAULT_WIDTH,
    SPOIL_INVALIDATE,
};

static const struct {
    const char *name;
    enum spoil spoil;
    enum trk_status status;
} create_cases[] = {
    {"as they are by default", SPOIL_NOTHING, TRK_OK},
    {"no size", SPOIL_SIZE_ZERO, TRK_E_ARGUMENT},
    {"a size that leaves fields out", SPOIL_SIZE_SHORT, TRK_E_ARGUMENT},
    {"no backend", SPOIL_BACKEND, TRK_E_ARGUMENT},
    {"id 16", SPOIL_ID, TRK_E_ARGUMENT},
    {"pages of 8 KiB", SPOIL_PAGE_SIZE, TRK_E_ARGUMENT},
    {"faults of 4 bytes", SPOIL_FAULT_WIDTH, TRK_E_ARGUMENT},
    {"an unknown policy", SPOIL_INVALIDATE, TRK_E_ARGUMENT},
};

static struct trk_tracker_options spoiled(struct trk_backend *backend, enum spoil spoil)
{
    struct trk_tracker_options options = trk_tracker_options_default();
    options.backend = spoil == SPOIL_BACKEND ? NULL : backend;
    options.id = spoil == SPOIL_ID ? 16 : 15;
    if (spoil == SPOIL_SIZE_ZERO)
        options.size = 0;
    if (spoil == SPOIL_SIZE_SHORT)
        options.size = sizeof(size_t);
    if (spoil == SPOIL_PAGE_SIZE)
        options.policy.page_size_bytes = 8192;
    if (spoil == SPOIL_FAULT_WIDTH)
        options.policy.fault_width_bytes = 4;
    if (spoil == SPOIL_INVALIDATE)
        options.policy.invalidate = (enum trk_invalidate_policy)3;
    return options;
}

Test(create, options)
{
    struct trk_backend *backend = NULL;
    cr_assert_eq(trk_backend_simulated_create(&backend, NULL), TRK_OK);
    for (size_t i = 0; i < sizeof create_cases / sizeof create_cases[0]; i++) {
        struct trk_tracker *tracker = NULL;
        struct trk_error error = {.status = TRK_OK};
        struct trk_tracker_options options = spoiled(backend, create_cases[i].spoil);
        enum trk_status status = trk_tracker_create(&tracker, &options, &error);
        cr_expect_eq(status, create_cases[i].status, "%s: %s", create_cases[i].name,
                     trk_status_name(status));
        cr_expect_eq(error.status, status, "%s: the error says so too", create_cases[i].name);
        cr_expect_eq(tracker != NULL, status == TRK_OK, "%s", create_cases[i].name);
        trk_tracker_destroy(tracker);
    }
    trk_backend_destroy(backend);
}

Test(create, default_options)
{
    struct trk_tracker_options options = trk_tracker_options_default();
    struct trk_policy policy;
    cr_assert_eq(trk_policy_preset("default", &policy), TRK_OK);
    cr_expect_eq(options.size, sizeof options);
    cr_expect_eq(trk_policy_pack(&options.policy), trk_policy_pack(&policy));
    cr_expect_null(options.observer.emit);
    cr_expect_null(options.failure);
    cr_expect_eq(options.id, 0);
}

Test(create, destroy_accepts_null)
{
    trk_tracker_destroy(NULL);
}

/* Breaks a rule on a tracker whose owner installed no handler. */
static int break_a_rule(const void *argument)
{
    (void)argument;
    struct trk_backend *backend = NULL;
    struct trk_tracker *tracker = NULL;
    struct trk_tracker_options options = trk_tracker_options_default();
    if (trk_backend_simulated_create(&backend, NULL) != TRK_OK)
        return 1;
    options.backend = backend;
    if (trk_tracker_create(&tracker, &options, NULL) != TRK_OK)
        return 1;
    return trk_tracker_mark_gpu(tracker, BASE, 4096) == TRK_OK ? 2 : 3;
}

Test(create, without_a_handler_a_failure_aborts)
{
    struct child_end end = child_run(break_a_rule, NULL);
    cr_expect_eq(end.signal_number, SIGABRT, "exit code %d", end.exit_code);
    cr_expect_eq(strncmp(end.output, "trk: fatal: conflict: ", 22), 0, "it said: %s", end.output);
    cr_expect_not_null(strstr(end.output, "(mark_gpu 0x200000000 +0x1000, thread "));
}

Test(create, trackers_do_not_share)
{
    struct trk_backend *backend = NULL;
    struct trk_tracker *trackers[2];
    struct trk_tracker_options options = trk_tracker_options_default();
    bool value = true;
    cr_assert_eq(trk_backend_simulated_create(&backend, NULL), TRK_OK);
    options.backend = backend;
    for (size_t i = 0; i < 2; i++)
        cr_assert_eq(trk_tracker_create(&trackers[i], &options, NULL), TRK_OK);
    struct trk_transfer upload = {
        .size = sizeof upload, .guest_addr = BASE, .size_bytes = 4096, .written = true};
    cr_assert_eq(trk_tracker_upload(trackers[0], &upload), TRK_OK);
    cr_expect_eq(trk_tracker_is_gpu(trackers[1], BASE, 4096, &value), TRK_OK);
    cr_expect_not(value);
    cr_expect_eq(trk_pages_live_watches(trackers[1]), 0);
    cr_expect_eq(trk_pages_live_watches(trackers[0]), 2);
    cr_expect_eq(trk_tracker_drain(trackers[0], &upload), TRK_OK);
    trk_tracker_destroy(trackers[0]);
    trk_tracker_destroy(trackers[1]);
    trk_backend_destroy(backend);
}

typedef enum trk_status transfer_fn(struct trk_tracker *, const struct trk_transfer *);

static const struct {
    const char *name;
    transfer_fn *transfer;
} transfers[] = {
    {"upload", trk_tracker_upload},
    {"download", trk_tracker_download},
    {"drain", trk_tracker_drain},
};

static void on_event(void *count, const struct trk_event *event)
{
    (void)event;
    (*(unsigned *)count)++;
}

/* A request of another size than this build's, on the short way and, watched, on the long one. */
static void refuse_sizes(const struct trk_tracker_options *options, uint64_t size_bytes,
                         const unsigned *events)
{
    struct trk_tracker *tracker = NULL;
    cr_assert_eq(trk_tracker_create(&tracker, options, NULL), TRK_OK);
    unsigned before = *events;
    static const size_t sizes[] = {0, sizeof(struct trk_transfer) - 8,
                                   sizeof(struct trk_transfer) + 8};
    for (size_t i = 0; i < sizeof transfers / sizeof transfers[0]; i++) {
        for (size_t size = 0; size < sizeof sizes / sizeof sizes[0]; size++) {
            struct trk_transfer request = {
                .size = sizes[size], .guest_addr = BASE, .size_bytes = size_bytes, .written = true};
            cr_expect_eq(transfers[i].transfer(tracker, &request), TRK_E_ARGUMENT, "%s of size %zu",
                         transfers[i].name, sizes[size]);
        }
    }
    cr_expect_eq(trk_pages_live_watches(tracker), 0);
    cr_expect_eq(*events, before, "and nobody hears of it");
    trk_tracker_destroy(tracker);
}

Test(create, transfers_of_another_size)
{
    unsigned events = 0;
    struct trk_backend *backend = NULL;
    cr_assert_eq(trk_backend_simulated_create(&backend, NULL), TRK_OK);
    for (unsigned watched = 0; watched < 2; watched++) {
        struct trk_tracker_options options = trk_tracker_options_default();
        options.backend = backend;
        if (watched)
            options.observer = (struct trk_observer){.emit = on_event, .context = &events};
        refuse_sizes(&options, 4096, &events);
        refuse_sizes(&options, 3 * TRK_REGION_BYTES, &events);
    }
    trk_backend_destroy(backend);
}
