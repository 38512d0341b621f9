/*
 * Goal: views of one frame [M-73] [M-74] [M-75]: each registered view gets the strictest protection
 * that any registered view's watches ask for, in the order of calls of the scenario format's fine
 * print 6; a refused call takes everything back; a fault on one is served for all.
 * Method: tables of scripts (script.h), whose every step is checked against the rule; real stores
 * through two mappings of one memory.
 */
#define _GNU_SOURCE
#include <criterion/criterion.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include "internal.h"
#include "script.h"
#include "track/fault.h"
#include "track/generations.h"

#define COUNT(table) (sizeof(table) / sizeof(table)[0])
#define PAGE         TRK_HOST_PAGE_BYTES

static void run_table(const struct script_case *cases, size_t count)
{
    struct trk_policy policy;
    cr_assert_eq(trk_policy_preset("default", &policy), TRK_OK);
    for (size_t i = 0; i < count; i++) {
        const char *problem = script_run(&policy, cases[i].steps);
        cr_expect_null(problem, "%s: %s", cases[i].name, problem != NULL ? problem : "");
    }
}

/* V is pages 0-3, W pages R-R+3: two registered views. */
#define TWO "register 0 4; register R 4; join R 0 4 => ok; calls => []; "

static const struct script_case watch_cases[] = {
    {"who shows what", TWO "views 0 => [0 1024]; views R+3 => [3 1027]; views 4 => [4]; "
                           "join 8 R 1 => ok; views 0 => [0 8 1024]; views 8 => [0 8 1024]"},
    {"calls for both views",
     TWO "upload 1 2; calls => [1+2:r 1025+2:r]; mark_gpu 1 1; calls => [1+1:none 1025+1:none]; "
         "unmark_gpu 1 1; calls => [1+1:r 1025+1:r]; untrack 0 4 => ok; "
         "calls => [1+2:rw 1025+2:rw]"},
    {"own view first",
     TWO "upload R+1 2; calls => [1025+2:r 1+2:r]; prot 1 => r; watches 1 => 0/0"},
    {"each view is joined by itself",
     TWO "guest 2 1 none; calls => [2+1:none]; upload R 4; calls => [1024+4:r 0+2:r 3+1:r]"},
    {"bridges in the other view",
     TWO "upload 1 1; upload 0 3; calls => [1+1:r 1025+1:r 0+3:r 1024+3:r]"},
    {"the stricter view wins both ways",
     TWO "upload 0 1; upload_written R 1; prot 0 => none; prot R => none; unmark_gpu R 1; "
         "prot 0 => r; untrack R 1; prot R => r; calls; untrack 0 1; calls => [0+1:rw 1024+1:rw]"},
    {"a second watch of a frame makes no call",
     "loose; " TWO "watch 0 1; calls; watch R 1; calls => []; unwatch 0 1; calls => []; "
     "prot 0 => r; unwatch R 1; calls => [1024+1:rw 0+1:rw]"},
    {"guest rights are each view's own",
     TWO "guest 0 1 rx; prot 0 => rx; prot R => rw; upload R 1; prot 0 => rx; prot R => r; "
         "upload_written R 1; prot 0 => none; drain R 1; prot 0 => rx; prot R => rw"},
    {"an unregistered view is never closed",
     "register 0 4; join R 0 4 => ok; upload_written 0 1; prot R => rw; calls => [0+1:r 0+1:none]; "
     "upload R 1; prot R => r; calls => [1024+1:r]; drain 0 1; prot 0 => rw"},
    {"registering a view closes it",
     "register 0 4; join R 0 4; upload 0 2; calls; register R 1 => ok; calls => [1024+1:r]; "
     "register R+1 3; calls => [1025+1:r]; unregister R 4 => ok; calls => [1024+2:rw]"},
    {"unregistering the watched view opens the other",
     TWO "upload 0 2; calls; unregister 0 4; calls => [1024+2:rw]; prot 0 => r"},
    {"joining under watches",
     "register 0 4; register R 4; upload 0 1; upload R+1 1; calls; join 0 R 4 => ok; "
     "calls => [1+1:r 1024+1:r]; leave 0 4 => ok; calls => [1+1:rw 1024+1:rw]; views 0 => [0]"},
    {"leaving by a part", TWO "upload 0 4; calls; leave R+1 2 => ok; calls => [1025+2:rw]; "
                              "views R => [0 1024]; views R+1 => [1025]; leave R+1 1 => ok"},
    {"three views", "register 0 1; register R 1; register 2R 1; join R 0 1; join 2R R 1; "
                    "upload R 1; calls => [1024+1:r 0+1:r 2048+1:r]; leave 0 1; "
                    "calls => [0+1:rw]; views R => [1024 2048]; untrack R 1; "
                    "calls => [1024+1:rw 2048+1:rw]"},
    {"views in one region",
     "register 0 8; join 4 0 4; upload 4 4; calls => [4+4:r 0+4:r]; untrack 4 4; "
     "upload 0 8; calls => [4+4:rw 0+4:rw 0+8:r]"},
    {"a view over its own neighbour", "register 0 3; join 1 0 2; views 0 => [0 1 2]; upload 1 1; "
                                      "calls => [1+1:r 0+3:r]; leave 1 1; "
                                      "views 2 => [0 2]; prot 0 => rw"},
    {"views over a region's edge",
     "register 0 4; register R-2 4; join R-2 0 4; upload 0 4; calls => [0+4:r 1022+2:r 1024+2:r]"},
    {"tracker pages are as before beside views",
     TWO "upload 4 1; mark_gpu 4 1; calls => [4+1:r 4+1:none]; upload R+4 1; "
         "calls => [1028+1:r]"},
};

Test(views, watches)
{
    run_table(watch_cases, COUNT(watch_cases));
}

static const struct script_case refused_cases[] = {
    {"not aligned",
     "join 0 R b100 => argument; join b1 R 1 => argument; join 0 R+b1 1 => argument; "
     "leave b8 1 => argument; join 0 0 1 => argument; calls => []"},
    {"ranges", "join -2048R 0 1 => range; join 0 -2048R 1 => range; join 0 R 0 => range; "
               "leave 260096R 1 => range"},
    {"a lock of either range is held by this thread",
     "lock R; join 0 R 1 => lock; join R 0 1 => lock; unlock R; join R 0 1 => ok"},
    {"a ninth view", "join 1 0 1; join 2 0 1; join 3 0 1; join 4 0 1; join 5 0 1; join 6 0 1; "
                     "join 7 0 1 => ok; join 8 0 1 => argument; join 0 8 1 => argument; "
                     "views 0 => [0 1 2 3 4 5 6 7]; views 8 => [8]; join 7 3 1 => ok"},
    {"own view's call is refused", TWO "fail 1; upload 0 1 => protect; state 0 => cpu; "
                                       "watches 0 => 0/0; calls => []; upload 0 1 => [0+1]"},
    {"the other view's call is refused",
     TWO "fail 2; upload 0 1 => protect; state 0 => cpu; calls => [0+1:r 0+1:rw]"},
    {"the other view's second call is refused",
     TWO "guest R+1 1 none; calls; fail 3; upload 0 3 => protect; "
         "calls => [0+3:r 1024+1:r 0+3:rw 1024+1:rw]; state 1 => cpu"},
    {"the third view's call is refused",
     "register 0 1; register R 1; register 2R 1; join R 0 1; join 2R 0 1; fail 3; "
     "upload R 1 => protect; calls => [1024+1:r 0+1:r 1024+1:rw 0+1:rw]; prot 2R => rw"},
    {"opening is refused", TWO "upload_written 0 1; calls; fail 2; drain 0 1 => protect; "
                               "state 0 => gpu; prot R => none; calls => [0+1:rw 0+1:none]"},
    {"a join is refused", "register 0 4; register R 4; upload 0 2; upload R+2 1; calls; fail 2; "
                          "join 0 R 4 => protect; calls => [2+1:r 2+1:rw]; views 0 => [0]; "
                          "views R+2 => [1026]; join 0 R 4 => ok; prot R => r"},
    {"a leave is refused", TWO "upload 0 2; calls; fail 1; leave R 4 => protect; calls => []; "
                               "views R => [0 1024]; prot R => r; leave R 4 => ok; prot R => rw"},
    {"a leave of three is refused",
     "register 0 1; register R 1; register 2R 1; join R 0 1; join 2R 0 1; upload R 1; calls; "
     "fail 2; leave R 1 => protect; views 0 => [0 1024 2048]; prot 0 => r; leave R 1 => ok; "
     "prot 2R => rw"},
    {"registering is refused", "register 0 4; join R 0 4; upload 0 2; calls; fail 1; "
                               "register R 4 => protect; prot R => rw; register R 4 => ok; "
                               "prot R => r; fail 1; unregister R 4 => protect; prot R => r"},
    {"guest rights are refused", TWO "fail 1; guest R 1 r => protect; prot R => rw; prot 0 => rw"},
};

Test(views, refusals)
{
    run_table(refused_cases, COUNT(refused_cases));
}

/* A byte of a page is enough for the page to be seen, and the last one's loss to hide it. */
Test(views, a_page_is_seen_for_one_byte)
{
    static struct fixture fixture;
    struct trk_policy policy;
    cr_assert_eq(trk_policy_preset("default", &policy), TRK_OK);
    fixture_open(&fixture, &policy, 0);
    struct trk_tracker *tracker = fixture.tracker;
    const uint64_t v = FIXTURE_BASE, w = FIXTURE_BASE + TRK_REGION_BYTES;
    cr_assert_eq(trk_tracker_register(tracker, v, PAGE), TRK_OK);
    cr_assert_eq(trk_tracker_register(tracker, w + 100, 1), TRK_OK);
    cr_assert_eq(trk_tracker_join_views(tracker, w, v, PAGE), TRK_OK);
    cr_assert_eq(trk_pages_watch(tracker, v, 1), TRK_OK);
    cr_expect_eq(trk_pages_view(tracker, w).host_rights, TRK_RIGHT_READ);
    cr_assert_eq(trk_tracker_register(tracker, w + 200, 8), TRK_OK);
    cr_assert_eq(trk_tracker_unregister(tracker, w + 50, 100), TRK_OK);
    cr_expect_eq(trk_pages_view(tracker, w).host_rights, TRK_RIGHT_READ);
    cr_assert_eq(trk_tracker_unregister(tracker, w + 200, 7), TRK_OK);
    cr_expect_eq(trk_pages_view(tracker, w).host_rights, TRK_RIGHT_READ);
    cr_assert_eq(trk_tracker_unregister(tracker, w + 207, PAGE), TRK_OK);
    cr_expect_eq(trk_pages_view(tracker, w).host_rights, TRK_RIGHTS_RW);
    cr_assert_eq(trk_pages_unwatch(tracker, v, 1), TRK_OK);
    fixture_close(&fixture);
    cr_expect_str_empty(fixture.broken);
}

/* Generations are one more client of a page's protection, in all its registered views. */
Test(views, an_armed_page_is_armed_in_all_views)
{
    static struct fixture fixture;
    struct trk_policy policy;
    uint64_t sum = 0, other = 0;
    cr_assert_eq(trk_policy_preset("default", &policy), TRK_OK);
    policy.generations = true;
    fixture_open(&fixture, &policy, 0);
    struct trk_tracker *tracker = fixture.tracker;
    const uint64_t v = FIXTURE_BASE, w = FIXTURE_BASE + TRK_REGION_BYTES;
    cr_assert_eq(trk_tracker_register(tracker, v, 4 * PAGE), TRK_OK);
    cr_assert_eq(trk_tracker_join_views(tracker, w, v, 4 * PAGE), TRK_OK);
    cr_assert_eq(trk_generations_track(tracker, v, PAGE, &sum), TRK_OK);
    cr_expect_eq(trk_pages_view(tracker, w).host_rights, TRK_RIGHTS_RW);
    cr_assert_eq(trk_tracker_register(tracker, w, 4 * PAGE), TRK_OK);
    cr_expect_eq(trk_pages_view(tracker, w).host_rights, TRK_RIGHT_READ);
    cr_expect_eq(trk_tracker_fault(tracker, w + 8, TRK_ACCESS_WRITE), TRK_FAULT_SERVED);
    cr_expect_eq(trk_pages_view(tracker, w).host_rights, TRK_RIGHTS_RW);
    cr_assert_eq(trk_generations_query(tracker, v, PAGE, &other), TRK_OK);
    cr_expect_neq(other, sum);
    fixture_close(&fixture);
    cr_expect_str_empty(fixture.broken);
}

/* ---- faults ---- */

static const struct script_case fault_cases[] = {
    {"a store through the other view",
     "layer drain clear; " TWO "upload 0 1; fault R+b8 w => served; state 0 => cpu; prot 0 => rw; "
     "prot R => rw; fault R w => retry"},
    {"a store when both are clean",
     "layer drain clear; " TWO "upload 0 1; upload R 1; fault 0 w => served; state 0 => cpu; "
     "state R => cpu; prot R => rw"},
    {"a load when the other view is the GPU's",
     "layer drain clear; " TWO "upload_written R 1; fault 0 r => served; state R => clean; "
     "prot 0 => r; fault 0 w => served; state R => cpu"},
    {"a store when both are the GPU's",
     "layer drain clear; " TWO "upload_written 0 1; upload_written R 1; fault R w => served; "
     "state 0 => cpu; state R => cpu; prot 0 => rw"},
    {"through an unregistered view nothing is closed",
     "layer drain clear; register 0 4; join R 0 4; upload 0 1; fault R w => retry; "
     "state 0 => clean"},
};

Test(views, faults)
{
    run_table(fault_cases, COUNT(fault_cases));
}

/* ---- the moment in which a region comes to share its pages ---- */

#define MEET_ROUNDS 64u

static struct {
    struct trk_tracker *tracker;
    unsigned waiting; /* threads that wait for the page manager's lock of V's region */
} meet;

static void no_emit(void *context, const struct trk_event *event)
{
    (void)context;
    (void)event;
}

static void count_wait(void *context, uint32_t domain)
{
    (void)context;
    (void)domain;
    __atomic_add_fetch(&meet.waiting, 1, __ATOMIC_SEQ_CST);
}

static void *meet_join(void *unused)
{
    (void)unused;
    cr_assert_eq(
        trk_tracker_join_views(meet.tracker, FIXTURE_BASE, FIXTURE_BASE + TRK_REGION_BYTES, PAGE),
        TRK_OK);
    return NULL;
}

static void *meet_watch(void *unused)
{
    (void)unused;
    cr_assert_eq(trk_pages_watch(meet.tracker, FIXTURE_BASE, PAGE), TRK_OK);
    return NULL;
}

/* Both wait for one lock, which the join leaves for another: whoever is first, both views know. */
Test(views, a_region_is_shared_while_another_waits_for_it)
{
    struct trk_backend *backend;
    struct trk_tracker_options options = trk_tracker_options_default();
    cr_assert_eq(trk_backend_simulated_create(&backend, NULL), TRK_OK);
    options.backend = backend;
    options.observer = (struct trk_observer){.emit = no_emit, .wait = count_wait};
    for (unsigned round = 0; round < MEET_ROUNDS; round++) {
        pthread_t threads[2];
        meet.waiting = 0;
        cr_assert_eq(trk_tracker_create(&meet.tracker, &options, NULL), TRK_OK);
        cr_assert_eq(trk_tracker_register(meet.tracker, FIXTURE_BASE, PAGE), TRK_OK);
        cr_assert_eq(trk_tracker_register(meet.tracker, FIXTURE_BASE + TRK_REGION_BYTES, PAGE),
                     TRK_OK);
        struct env_lock *lock =
            &region_slot(meet.tracker, trk_region_index(FIXTURE_BASE))->pages_lock;
        cr_assert(env_lock_try(lock, 0x7ffffff0));
        cr_assert_eq(pthread_create(&threads[0], NULL, meet_join, NULL), 0);
        cr_assert_eq(pthread_create(&threads[1], NULL, meet_watch, NULL), 0);
        while (__atomic_load_n(&meet.waiting, __ATOMIC_SEQ_CST) < 2)
            sched_yield();
        env_unlock(lock);
        pthread_join(threads[0], NULL);
        pthread_join(threads[1], NULL);
        struct trk_page_view view = trk_pages_view(meet.tracker, FIXTURE_BASE + TRK_REGION_BYTES);
        cr_expect_eq(view.host_rights, TRK_RIGHT_READ, "round %u", round);
        cr_assert_eq(trk_pages_unwatch(meet.tracker, FIXTURE_BASE, PAGE), TRK_OK);
        trk_tracker_destroy(meet.tracker);
    }
    trk_backend_destroy(backend);
}

/* ---- real stores ---- */

static unsigned flushes;

static void drain(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    struct trk_transfer transfer = {
        .size = sizeof transfer, .guest_addr = guest_addr, .size_bytes = size_bytes, .clear = true};
    flushes++;
    cr_assert_eq(trk_tracker_drain(context, &transfer), TRK_OK);
}

static void read_back(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    struct trk_transfer transfer = {
        .size = sizeof transfer, .guest_addr = guest_addr, .size_bytes = size_bytes, .clear = true};
    flushes++;
    cr_assert_eq(trk_tracker_download(context, &transfer), TRK_OK);
}

static volatile unsigned char *map_view(int fd, uint64_t guest_addr)
{
    uintptr_t host_addr = (uintptr_t)guest_addr + (uintptr_t)trk_host_bias_default();
    void *memory = mmap((void *)host_addr, 4 * PAGE, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_FIXED_NOREPLACE, fd, 0);
    cr_assert_eq((uintptr_t)memory, host_addr);
    return memory;
}

Test(views, real_stores_through_two_views)
{
    const uint64_t v = UINT64_C(0x200010000), w = UINT64_C(0x210000000);
    int fd = memfd_create("frame", MFD_CLOEXEC);
    cr_assert(fd >= 0 && ftruncate(fd, 4 * PAGE) == 0);
    volatile unsigned char *view = map_view(fd, v), *other = map_view(fd, w);
    struct trk_backend *backend;
    struct trk_tracker *tracker;
    struct trk_tracker_options options = trk_tracker_options_default();
    cr_assert_eq(trk_backend_mprotect_create(&backend, trk_host_bias_default(), NULL), TRK_OK);
    options.backend = backend;
    cr_assert_eq(trk_tracker_create(&tracker, &options, NULL), TRK_OK);
    struct trk_resource_layer layer = {drain, read_back, tracker};
    cr_assert_eq(trk_tracker_set_resource_layer(tracker, &layer), TRK_OK);
    cr_assert_eq(trk_tracker_register(tracker, v, 4 * PAGE), TRK_OK);
    cr_assert_eq(trk_tracker_register(tracker, w, 4 * PAGE), TRK_OK);
    cr_assert_eq(trk_tracker_join_views(tracker, w, v, 4 * PAGE), TRK_OK);
    cr_assert_eq(trk_fault_install(trk_fault_tracker, tracker, NULL), TRK_OK);

    bool dirty = true;
    struct trk_transfer upload = {.size = sizeof upload, .guest_addr = v, .size_bytes = 4 * PAGE};
    cr_assert_eq(trk_tracker_upload(tracker, &upload), TRK_OK);
    cr_expect_eq(other[PAGE], 0, "clean pages can be read");
    other[PAGE] = 7; /* faults, and hands the page of the first view over */
    cr_expect_eq(view[PAGE], 7);
    cr_assert_eq(trk_tracker_is_cpu(tracker, v + PAGE, 1, &dirty), TRK_OK);
    cr_expect(dirty);
    cr_assert_eq(trk_tracker_is_cpu(tracker, v, 1, &dirty), TRK_OK);
    cr_expect(!dirty);
    cr_expect_eq(flushes, 0);

    cr_assert_eq(trk_tracker_mark_gpu(tracker, v, 1), TRK_OK);
    cr_expect_eq(other[0], 0, "reads the page back");
    cr_expect_eq(flushes, 1);
    other[0] = 9;
    cr_expect_eq(view[0], 9);
    cr_expect_eq(flushes, 1);
    cr_assert_eq(trk_tracker_untrack(tracker, v, 4 * PAGE), TRK_OK);
    view[2 * PAGE] = 5;
    cr_expect_eq(other[2 * PAGE], 5);

    cr_assert_eq(trk_fault_uninstall(NULL), TRK_OK);
    trk_tracker_destroy(tracker);
    trk_backend_destroy(backend);
    munmap((void *)(uintptr_t)view, 4 * PAGE);
    munmap((void *)(uintptr_t)other, 4 * PAGE);
    close(fd);
}
