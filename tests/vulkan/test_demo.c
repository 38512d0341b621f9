/*
 * Goal: the demo really faults, finds every byte right without a bug and something wrong with each
 * bug, and leaves the process as it found it.
 * Method: small runs in process. The same run twice in one process shows that the windows and the
 * fault handler were given back.
 */
#define _GNU_SOURCE
#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#include "demo.h"
#include "device.h"
#include "track/backend.h"
#include "track/fault.h"

static struct trk_demo_options small_options(void)
{
    struct trk_demo_options options = trk_demo_options_default();
    options.frames = 20;
    options.threads = 3;
    options.megabytes = 2;
    options.check = true;
    return options;
}

static struct trk_demo_result run_or_skip(const struct trk_demo_options *options)
{
    struct trk_demo_result result;
    struct trk_error error;
    memset(&result, 0, sizeof result);
    enum trk_status status = trk_demo_run(options, &result, &error);
    if (status == TRK_E_UNSUPPORTED) {
        device_skip(&error);
    }
    cr_assert_eq(status, TRK_OK, "%s", error.text);
    return result;
}

struct shape_case {
    const char *name;
    uint32_t frames, threads, megabytes;
    uint64_t seed;
    bool images, dispatch;
};

static const struct shape_case shape_cases[] = {
    {"one frame, one guest", 1, 1, 2, 1, false, false},
    {"two guests", 20, 2, 2, 2, false, false},
    {"regions crossed", 20, 4, 16, 3, false, false},
    {"more guests than cores", 8, 17, 4, 4, false, false},
    {"as many guests as there may be", 4, TRK_DEMO_THREADS_MAX, 2, 5, false, false},
    {"large memory", 4, 3, 128, UINT64_MAX, false, false},
    {"areas in images", 20, 4, 16, 6, true, false},
    {"results by a dispatch", 20, 4, 16, 7, false, true},
    {"both, in small memory", 20, 3, 2, 8, true, true},
};

Test(demo, every_byte_is_right)
{
    for (size_t i = 0; i < sizeof shape_cases / sizeof *shape_cases; i++) {
        const struct shape_case *given = &shape_cases[i];
        struct trk_demo_options options = small_options();
        options.frames = given->frames;
        options.threads = given->threads;
        options.megabytes = given->megabytes;
        options.seed = given->seed;
        options.images = given->images;
        options.dispatch = given->dispatch;
        struct trk_demo_result result = run_or_skip(&options);
        cr_expect_eq(result.frames, given->frames, "%s", given->name);
        cr_expect_eq(result.mismatches, 0, "%s", given->name);
        cr_expect_eq(result.failures, 0, "%s", given->name);
        cr_expect_gt(result.checks, 0, "%s", given->name);
        cr_expect_gt(result.uploads, 0, "%s", given->name);
        cr_expect_gt(result.downloads, 0, "%s", given->name);
        cr_expect(given->frames == 1 || result.faults > given->frames * given->threads,
                  "%s: %llu faults", given->name, (unsigned long long)result.faults);
    }
}

/* Thread timing moves faults and copies; what the guests do follows from the seed. */
Test(demo, seed_decides_the_stores)
{
    struct trk_demo_options options = small_options();
    struct trk_demo_result first = run_or_skip(&options);
    struct trk_demo_result second = run_or_skip(&options);
    cr_expect_eq(first.stores, second.stores);
    cr_expect_eq(first.loads, second.loads);
    cr_expect_eq(first.checks, second.checks);
    options.seed++;
    struct trk_demo_result other = run_or_skip(&options);
    cr_expect(first.loads != other.loads || first.checks != other.checks);
}

struct bug_case {
    const char *name;
    bool bytes_wrong; /* else the tracker refuses, once */
};

static const struct bug_case bug_cases[] = {
    {"copy-before-arm", true},    {"flush-leaves-page", false}, {"call-in-callback", false},
    {"partial-invalidate", true}, {"lost-rearm", true},         {"alias-write", true},
    {"early-read-back", true},    {"kernel-store", true},       {"skipped-copy", true},
    {"lost-read-back", true},     {"late-invalidate", true},    {"late-texture", true},
};

Test(demo, each_bug_is_found)
{
    for (size_t i = 0; i < sizeof bug_cases / sizeof *bug_cases; i++) {
        for (uint64_t seed = 1; seed <= 4; seed++) {
            struct trk_demo_options options = small_options();
            const struct trk_demo_bug *bug = trk_demo_bug_find(bug_cases[i].name);
            options.bug = bug->id;
            options.frames = bug->frames > options.frames ? bug->frames : options.frames;
            options.seed = seed;
            options.check = seed % 2 == 0; /* a sample holds what matters too */
            struct trk_demo_result result = run_or_skip(&options);
            cr_expect_eq(result.frames, options.frames, "%s", bug_cases[i].name);
            cr_expect_eq(result.failures, bug_cases[i].bytes_wrong ? 0 : 1, "%s: %llu failures",
                         bug_cases[i].name, (unsigned long long)result.failures);
            cr_expect(!bug_cases[i].bytes_wrong || result.mismatches > 0, "%s", bug_cases[i].name);
        }
    }
}

Test(demo, handlers_come_back)
{
    struct sigaction before;
    struct sigaction after;
    struct trk_demo_options options = small_options();
    options.frames = 3;
    sigaction(SIGSEGV, NULL, &before);
    (void)run_or_skip(&options);
    sigaction(SIGSEGV, NULL, &after);
    cr_expect_eq(before.sa_handler, after.sa_handler);
}

/* A window whose addresses somebody else has is refused, and nothing of the other is lost. */
Test(demo, window_taken)
{
    static const uint64_t windows[] = {0x200001000, 0x300000000, 0x080000000000};
    struct trk_demo_options options = small_options();
    options.frames = 2;
    for (size_t i = 0; i < sizeof windows / sizeof *windows; i++) {
        struct trk_demo_result result;
        struct trk_error error = {.status = TRK_OK};
        void *place = (void *)(uintptr_t)(windows[i] + (uint64_t)trk_host_bias_default());
        char *page = mmap(place, 4096, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        cr_assert_eq((void *)page, place);
        page[0] = 42;
        cr_expect_eq(trk_demo_run(&options, &result, &error), TRK_E_EXISTS);
        cr_expect_eq(error.os_errno, EEXIST);
        cr_expect_eq(page[0], 42);
        munmap(page, 4096);
        (void)run_or_skip(&options); /* all is free again */
    }
}

static enum trk_fault_outcome decline(void *context, uint64_t host_addr, enum trk_access access)
{
    (void)context;
    (void)host_addr;
    (void)access;
    return TRK_FAULT_UNHANDLED;
}

Test(demo, handler_taken)
{
    struct trk_demo_options options = small_options();
    struct trk_demo_result result;
    struct trk_error error = {.status = TRK_OK};
    options.frames = 2;
    (void)run_or_skip(&options);
    cr_assert_eq(trk_fault_install(decline, NULL, NULL), TRK_OK);
    cr_expect_eq(trk_demo_run(&options, &result, &error), TRK_E_EXISTS);
    cr_assert_eq(trk_fault_uninstall(NULL), TRK_OK);
    (void)run_or_skip(&options);
}

Test(demo, on_each_backend)
{
    static const enum trk_demo_backend backends[] = {
        TRK_DEMO_BACKEND_MPROTECT, TRK_DEMO_BACKEND_USERFAULTFD, TRK_DEMO_BACKEND_BEST};
    struct trk_backend *userfaultfd = NULL;
    bool lacking =
        trk_backend_userfaultfd_create(&userfaultfd, 0, TRK_GUARDS_AUTO, NULL) == TRK_E_UNSUPPORTED;
    trk_backend_destroy(userfaultfd);
    for (size_t i = 0; i < sizeof backends / sizeof *backends; i++) {
        struct trk_demo_options options = small_options();
        options.backend = backends[i];
        if (lacking && options.backend == TRK_DEMO_BACKEND_USERFAULTFD) {
            continue;
        }
        struct trk_demo_result result = run_or_skip(&options);
        cr_expect_gt(result.faults, 0, "backend %zu", i);
        cr_expect_eq(result.mismatches, 0, "backend %zu", i);
        cr_expect_eq(result.failures, 0, "backend %zu", i);
    }
}
