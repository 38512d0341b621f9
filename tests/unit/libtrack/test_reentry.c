/*
 * Goal: re-entrancy [M-25]: a public operation on a tracker from inside its own upload
 * callbacks is refused on the same thread; another tracker, another thread, other callbacks are
 * not; nested trackers remember the outer one.
 * Method: every operation tried from every callback; two trackers nested in each other; a second
 * thread while the first stands in a callback.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "fixture.h"

#define PAGE TRK_HOST_PAGE_BYTES

struct attempt {
    struct fixture *fixture, *other;
    enum trk_status expected;
    unsigned tried, wrong;
    char wrong_name[32];
};

static void expect_status(struct attempt *attempt, const char *name, enum trk_status status)
{
    attempt->tried++;
    if (status == attempt->expected)
        return;
    attempt->wrong++;
    snprintf(attempt->wrong_name, sizeof attempt->wrong_name, "%s: %s", name,
             trk_status_name(status));
}

/* Every public operation, on pages of the third region, which no upload here holds. */
static void try_all(struct attempt *attempt)
{
    struct trk_tracker *tracker = attempt->fixture->tracker;
    uint64_t addr = FIXTURE_BASE + 2 * TRK_REGION_BYTES;
    uint64_t mask[TRK_REGION_WORDS] = {1};
    struct trk_transfer transfer = {
        .size = sizeof transfer, .guest_addr = addr, .size_bytes = PAGE};
    struct trk_resource_layer layer = {0};
    bool value;
    expect_status(attempt, "is_cpu", trk_tracker_is_cpu(tracker, addr, PAGE, &value));
    expect_status(attempt, "is_gpu", trk_tracker_is_gpu(tracker, addr, PAGE, &value));
    expect_status(attempt, "mark_cpu", trk_tracker_mark_cpu(tracker, addr, PAGE));
    expect_status(attempt, "upload", trk_tracker_upload(tracker, &transfer));
    expect_status(attempt, "mark_gpu", trk_tracker_mark_gpu(tracker, addr, PAGE));
    expect_status(attempt, "unmark_gpu", trk_tracker_unmark_gpu(tracker, addr, PAGE));
    expect_status(attempt, "download", trk_tracker_download(tracker, &transfer));
    expect_status(attempt, "drain", trk_tracker_drain(tracker, &transfer));
    expect_status(attempt, "invalidate", trk_tracker_invalidate(tracker, addr, PAGE, NULL, NULL));
    expect_status(attempt, "untrack", trk_tracker_untrack(tracker, addr, PAGE));
    expect_status(attempt, "register", trk_tracker_register(tracker, addr, PAGE));
    expect_status(attempt, "unregister", trk_tracker_unregister(tracker, addr, PAGE));
    expect_status(attempt, "guest_protect",
                  trk_tracker_set_guest_protection(tracker, addr, PAGE, TRK_RIGHTS_RW));
    expect_status(attempt, "resource_layer", trk_tracker_set_resource_layer(tracker, &layer));
    expect_status(attempt, "watch", trk_pages_watch(tracker, addr, PAGE));
    expect_status(attempt, "unwatch", trk_pages_unwatch(tracker, addr, PAGE));
    expect_status(attempt, "watch_mask", trk_pages_watch_mask(tracker, addr, mask, true));
    expect_status(attempt, "unwatch_mask", trk_pages_unwatch_mask(tracker, addr, mask, true));
    expect_status(attempt, "lock", trk_tracker_lock(tracker, addr));
    expect_status(attempt, "unlock", trk_tracker_unlock(tracker, addr));
}

static void on_range(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    (void)guest_addr;
    (void)size_bytes;
    try_all(context);
}

static struct fixture *open_tracker(uint32_t id)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);
    struct trk_policy policy;
    cr_assert_eq(trk_policy_preset("default", &policy), TRK_OK);
    fixture_open(fixture, &policy, id);
    return fixture;
}

static void close_tracker(struct fixture *fixture)
{
    fixture_check(fixture, true);
    struct trk_transfer all = {.size = sizeof all,
                               .guest_addr = FIXTURE_BASE,
                               .size_bytes = FIXTURE_REGIONS * TRK_REGION_BYTES};
    cr_expect_eq(trk_tracker_drain(fixture->tracker, &all), TRK_OK);
    cr_expect_eq(trk_tracker_untrack(fixture->tracker, all.guest_addr, all.size_bytes), TRK_OK);
    fixture_close(fixture);
    cr_expect_str_empty(fixture->broken, "%s", fixture->broken);
    free(fixture);
}

static struct trk_transfer two_pages(bool written, struct attempt *attempt)
{
    return (struct trk_transfer){.size = sizeof(struct trk_transfer),
                                 .guest_addr = FIXTURE_BASE,
                                 .size_bytes = 2 * PAGE,
                                 .written = written,
                                 .context = attempt};
}

static void completion(void *context)
{
    try_all(context);
}

struct callback_case {
    const char *name;
    bool written, in_range;
};

static const struct callback_case callback_cases[] = {
    {"range callback of an upload", false, true},
    {"range callback of a written upload", true, true},
    {"completion of an upload", false, false},
    {"completion of a written upload", true, false},
};

Test(reentry, own_upload_callbacks)
{
    for (size_t i = 0; i < sizeof callback_cases / sizeof callback_cases[0]; i++) {
        const struct callback_case *c = &callback_cases[i];
        struct fixture *fixture = open_tracker(1);
        struct attempt attempt = {.fixture = fixture, .expected = TRK_E_REENTRY};
        struct trk_transfer upload = two_pages(c->written, &attempt);
        upload.range = c->in_range ? on_range : NULL;
        upload.completion = c->in_range ? NULL : completion;
        cr_expect_eq(trk_tracker_upload(fixture->tracker, &upload), TRK_OK, "%s", c->name);
        cr_expect_eq(attempt.tried, 20, "%s: tried %u", c->name, attempt.tried);
        cr_expect_eq(attempt.wrong, 0, "%s: %s", c->name, attempt.wrong_name);
        cr_expect_eq(fixture->failures, 20, "%s: %u failures told", c->name, fixture->failures);
        cr_expect_eq(fixture->failure.failure_class, TRK_E_REENTRY);
        cr_expect_str_eq(fixture->failure.text, "memory tracker re-entered from upload callback");

        /* Afterwards the tracker is free again. */
        bool value = true;
        cr_expect_eq(trk_tracker_is_cpu(fixture->tracker, FIXTURE_BASE, PAGE, &value), TRK_OK);
        cr_expect_not(value);
        close_tracker(fixture);
    }
}

static void refuse_before_range(void *context)
{
    struct attempt *attempt = context;
    expect_status(attempt, "empty", trk_tracker_mark_cpu(attempt->fixture->tracker, 0, 0));
}

Test(reentry, comes_before_the_range)
{
    struct fixture *fixture = open_tracker(1);
    struct attempt attempt = {.fixture = fixture, .expected = TRK_E_REENTRY};
    struct trk_transfer upload = two_pages(false, &attempt);
    upload.completion = refuse_before_range;
    cr_expect_eq(trk_tracker_upload(fixture->tracker, &upload), TRK_OK);
    cr_expect_eq(attempt.wrong, 0, "%s", attempt.wrong_name);
    close_tracker(fixture);
}

static void refused_upload_keeps_owner(void *context)
{
    struct attempt *attempt = context;
    struct trk_transfer again = two_pages(false, NULL);
    expect_status(attempt, "upload", trk_tracker_upload(attempt->fixture->tracker, &again));
    expect_status(attempt, "upload again", trk_tracker_upload(attempt->fixture->tracker, &again));
}

Test(reentry, a_refused_upload_does_not_open_the_door)
{
    struct fixture *fixture = open_tracker(1);
    struct attempt attempt = {.fixture = fixture, .expected = TRK_E_REENTRY};
    struct trk_transfer upload = two_pages(false, &attempt);
    upload.completion = refused_upload_keeps_owner;
    cr_expect_eq(trk_tracker_upload(fixture->tracker, &upload), TRK_OK);
    cr_expect_eq(attempt.wrong, 0, "%s", attempt.wrong_name);
    close_tracker(fixture);
}

/* ---- two trackers ---- */

static void inner_completion(void *context)
{
    struct attempt *attempt = context;
    bool value;
    attempt->expected = TRK_E_REENTRY;
    expect_status(attempt, "inner",
                  trk_tracker_is_gpu(attempt->other->tracker, FIXTURE_BASE, PAGE, &value));
    /* This is inside the outer tracker's callback too. */
    expect_status(attempt, "outer from inside inner",
                  trk_tracker_is_gpu(attempt->fixture->tracker, FIXTURE_BASE, PAGE, &value));
    attempt->expected = TRK_OK;
}

static void outer_completion(void *context)
{
    struct attempt *attempt = context;
    bool value;
    struct trk_transfer upload = two_pages(true, attempt);
    upload.completion = inner_completion;
    attempt->expected = TRK_OK;
    expect_status(attempt, "other is free",
                  trk_tracker_is_cpu(attempt->other->tracker, FIXTURE_BASE, PAGE, &value));
    expect_status(attempt, "other uploads", trk_tracker_upload(attempt->other->tracker, &upload));
    attempt->expected = TRK_E_REENTRY;
    expect_status(attempt, "outer is remembered",
                  trk_tracker_is_gpu(attempt->fixture->tracker, FIXTURE_BASE, PAGE, &value));
    attempt->expected = TRK_OK;
    expect_status(attempt, "other is free again",
                  trk_tracker_is_gpu(attempt->other->tracker, FIXTURE_BASE, PAGE, &value));
}

Test(reentry, nested_trackers)
{
    struct attempt attempt = {.fixture = open_tracker(1), .other = open_tracker(2)};
    struct trk_transfer upload = two_pages(true, &attempt);
    upload.completion = outer_completion;
    cr_expect_eq(trk_tracker_upload(attempt.fixture->tracker, &upload), TRK_OK);
    cr_expect_eq(attempt.tried, 6);
    cr_expect_eq(attempt.wrong, 0, "%s", attempt.wrong_name);
    close_tracker(attempt.fixture);
    close_tracker(attempt.other);
}

/* ---- what is no re-entry ---- */

static void flush_drains(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    struct attempt *attempt = context;
    struct trk_transfer drain = {
        .size = sizeof drain, .guest_addr = guest_addr, .size_bytes = size_bytes};
    expect_status(attempt, "drain", trk_tracker_drain(attempt->fixture->tracker, &drain));
}

static void query_other_region(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    struct attempt *attempt = context;
    bool value;
    (void)guest_addr;
    (void)size_bytes;
    expect_status(attempt, "query in a download",
                  trk_tracker_is_gpu(attempt->fixture->tracker, FIXTURE_BASE + TRK_REGION_BYTES,
                                     PAGE, &value));
}

static void query_same_region(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    struct attempt *attempt = context;
    bool value;
    expect_status(attempt, "query under the held lock",
                  trk_tracker_is_gpu(attempt->fixture->tracker, guest_addr, size_bytes, &value));
}

Test(reentry, flush_and_download_callbacks_may_call)
{
    struct attempt attempt = {.fixture = open_tracker(1)};
    struct trk_transfer upload = two_pages(true, NULL);
    cr_assert_eq(trk_tracker_upload(attempt.fixture->tracker, &upload), TRK_OK);
    struct trk_transfer download = two_pages(false, &attempt);
    download.range = query_other_region;
    cr_expect_eq(trk_tracker_download(attempt.fixture->tracker, &download), TRK_OK);
    cr_expect_eq(trk_tracker_invalidate(attempt.fixture->tracker, FIXTURE_BASE, PAGE, flush_drains,
                                        &attempt),
                 TRK_OK);
    cr_expect_eq(attempt.tried, 2);
    cr_expect_eq(attempt.wrong, 0, "%s", attempt.wrong_name);
    cr_expect_eq(attempt.fixture->failures, 0);
    close_tracker(attempt.fixture);
}

Test(reentry, a_download_callback_that_needs_its_own_lock_fails_lock)
{
    struct attempt attempt = {.fixture = open_tracker(1), .expected = TRK_E_LOCK};
    struct trk_transfer upload = two_pages(true, NULL);
    cr_assert_eq(trk_tracker_upload(attempt.fixture->tracker, &upload), TRK_OK);
    struct trk_transfer download = two_pages(false, &attempt);
    download.range = query_same_region;
    cr_expect_eq(trk_tracker_download(attempt.fixture->tracker, &download), TRK_OK);
    cr_expect_eq(attempt.tried, 1);
    cr_expect_eq(attempt.wrong, 0, "%s", attempt.wrong_name);
    close_tracker(attempt.fixture);
}

/* ---- another thread waits ---- */

struct visitor {
    struct trk_tracker *tracker;
    bool inside, cpu;
    pthread_t thread;
};

static void *visit(void *context)
{
    struct visitor *visitor = context;
    /* The page is held by the upload until its completion has returned; then it is GPU. */
    if (trk_tracker_is_cpu(visitor->tracker, FIXTURE_BASE, PAGE, &visitor->cpu) != TRK_OK)
        visitor->cpu = true;
    return NULL;
}

static void start_visitor(void *context)
{
    struct visitor *visitor = context;
    visitor->inside = pthread_create(&visitor->thread, NULL, visit, visitor) == 0;
}

Test(reentry, another_thread_simply_waits)
{
    /* No observer here: the fixture's is for one thread. */
    struct trk_backend *backend = NULL;
    struct trk_tracker_options options = trk_tracker_options_default();
    struct visitor visitor = {.cpu = true};
    cr_assert_eq(trk_backend_simulated_create(&backend, NULL), TRK_OK);
    options.backend = backend;
    cr_assert_eq(trk_tracker_create(&visitor.tracker, &options, NULL), TRK_OK);
    struct trk_transfer upload = two_pages(true, NULL);
    upload.completion = start_visitor;
    upload.context = &visitor;
    cr_expect_eq(trk_tracker_upload(visitor.tracker, &upload), TRK_OK);
    cr_assert(visitor.inside);
    pthread_join(visitor.thread, NULL);
    cr_expect_not(visitor.cpu);
    struct trk_transfer drain = two_pages(false, NULL);
    cr_expect_eq(trk_tracker_drain(visitor.tracker, &drain), TRK_OK);
    trk_tracker_destroy(visitor.tracker);
    trk_backend_destroy(backend);
}
