/*
 * Goal: each thread gets a ring of its own when it needs one, gives it back when it ends, and no
 * process but the recorded one ever writes into it.
 *
 * Method: a session in the test's own process; the test looks into the shared object as the parent
 * would.
 */
#define _GNU_SOURCE /* gettid by number */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "capture_support.h"
#include "recorder/capture.h"

static struct trk_record_session session;

static uint32_t own_ring(void)
{
    return capture_support_ring_of(&session, (uint32_t)syscall(SYS_gettid));
}

Test(capture_threads, claims_a_ring_with_the_first_event)
{
    capture_support_join(&session, 1024);
    cr_assert_eq(own_ring(), session.ring_count);
    errno = 4711;
    trk_capture_mark(5);
    cr_assert_eq(errno, 4711);
    uint32_t index = own_ring();
    cr_assert_lt(index, session.ring_count);
    struct trk_record records[4];
    cr_assert_eq(capture_support_take(&session, index, records, 4), 1);
    cr_assert_eq(records[0].event.type, TRK_EVENT_MARK);
    cr_assert_eq(records[0].event.argument, 5);
    cr_assert_eq(atomic_load(&session.rings[index].name[0]), 0, "it gave no name");
}

Test(capture_threads, cuts_names_and_takes_new_ones)
{
    static const struct {
        const char *given;
        const char *kept;
    } cases[] = {
        {"render", "render"},
        {"", ""},
        {"0123456789012345678901234567890", "0123456789012345678901234567890"},
        {"01234567890123456789012345678901", "0123456789012345678901234567890"},
        {"short again", "short again"},
    };
    capture_support_join(&session, 1024);
    uint32_t version = 0;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        trk_capture_thread(cases[i].given, TRK_ROLE_GPU);
        struct trk_session_ring *ring = &session.rings[own_ring()];
        char name[32];
        for (size_t w = 0; w < TRK_SESSION_NAME_WORDS; ++w) {
            uint64_t word = atomic_load(&ring->name[w]);
            memcpy(name + 8 * w, &word, sizeof(word));
        }
        cr_assert_str_eq(name, cases[i].kept);
        cr_assert_eq(atomic_load(&ring->role), TRK_ROLE_GPU);
        cr_assert_neq(atomic_load(&ring->name_version), version);
        version = atomic_load(&ring->name_version);
        cr_assert_eq(version % 2, 0);
    }
}

static void *emit_one(void *number)
{
    trk_capture_thread("short", TRK_ROLE_GUEST);
    trk_capture_mark((uint64_t)(uintptr_t)number);
    return NULL;
}

Test(capture_threads, gives_the_ring_back_when_a_named_thread_ends)
{
    capture_support_join(&session, 1024);
    pthread_t thread;
    cr_assert_eq(pthread_create(&thread, NULL, emit_one, (void *)(uintptr_t)9), 0);
    pthread_join(thread, NULL);
    unsigned ended = 0;
    for (uint32_t i = 0; i < session.ring_count; ++i)
        ended += atomic_load(&session.rings[i].state) == TRK_RING_ENDED;
    cr_assert_eq(ended, 1);
}

Test(capture_threads, counts_what_an_ended_thread_still_says)
{
    capture_support_join(&session, 1024);
    trk_capture_thread("main", TRK_ROLE_HOST);
    trk_capture_mark(1);
    trk_capture_thread_end();
    cr_assert_eq(trk_capture_dropped(), 0);
    trk_capture_mark(2);
    cr_assert_eq(trk_capture_dropped(), 1);
    cr_assert_eq(
        atomic_load(
            &session.losses[session.ring_count].kinds[trk_session_loss_kind(TRK_EVENT_MARK)].count),
        1);
    trk_capture_thread("main", TRK_ROLE_HOST); /* begins anew, in another ring */
    trk_capture_mark(3);
    cr_assert_eq(trk_capture_dropped(), 1);
    cr_assert_lt(own_ring(), session.ring_count);
}

static pthread_barrier_t all_have_one;
static pthread_barrier_t all_may_end;

static void *hold_a_ring(void *number)
{
    trk_capture_mark((uint64_t)(uintptr_t)number);
    pthread_barrier_wait(&all_have_one);
    pthread_barrier_wait(&all_may_end);
    return NULL;
}

Test(capture_threads, counts_events_of_threads_that_find_no_ring)
{
    enum { THREADS = TRK_SESSION_RINGS + 3 };
    capture_support_join(&session, 128);
    pthread_barrier_init(&all_have_one, NULL, THREADS + 1);
    pthread_barrier_init(&all_may_end, NULL, THREADS + 1);
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; ++i)
        cr_assert_eq(pthread_create(&threads[i], NULL, hold_a_ring, (void *)i), 0);
    pthread_barrier_wait(&all_have_one);
    cr_assert_eq(trk_capture_dropped(), 3);
    for (int i = 0; i < 1000; ++i)
        trk_capture_mark(0);
    cr_assert_eq(trk_capture_dropped(), 1003);
    /* The parent frees one ring: the next look takes it. */
    atomic_store(&session.rings[17].state, TRK_RING_FREE);
    for (int i = 0; i < 1000; ++i)
        trk_capture_mark(0);
    cr_assert_lt(own_ring(), session.ring_count);
    pthread_barrier_wait(&all_may_end);
    for (int i = 0; i < THREADS; ++i)
        pthread_join(threads[i], NULL);
}

/* A session whose events may wait, and in which every ring is somebody's. */
static void join_without_rings(uint32_t block_ms)
{
    struct trk_error error;
    capture_support_offer(&session, 128);
    session.control->block_ms = block_ms;
    cr_assert_eq(trk_capture_open(&error), TRK_OK, "%s", error.text);
    for (uint32_t i = 0; i < session.ring_count; ++i)
        atomic_store(&session.rings[i].state, TRK_RING_LIVE);
}

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void *free_a_ring_later(void *unused)
{
    struct timespec pause = {.tv_nsec = 50000000};
    nanosleep(&pause, NULL);
    atomic_store(&session.rings[17].state, TRK_RING_FREE);
    return unused;
}

static void check_wait_for_ring(bool named)
{
    pthread_t thread;
    join_without_rings(20000);
    cr_assert_eq(pthread_create(&thread, NULL, free_a_ring_later, NULL), 0);
    errno = 4711;
    if (named)
        trk_capture_thread("patient", TRK_ROLE_HOST);
    trk_capture_mark(1);
    cr_assert_eq(errno, 4711);
    pthread_join(thread, NULL);
    cr_assert_eq(own_ring(), 17u);
    cr_assert_eq(trk_capture_dropped(), 0);
    cr_assert_eq(atomic_load(&session.rings[17].name[0]) != 0, named);
}

Test(capture_threads, waits_for_a_ring_with_the_first_event)
{
    check_wait_for_ring(false);
}

Test(capture_threads, waits_for_a_ring_to_have_a_name)
{
    check_wait_for_ring(true);
}

static void *mark_once(void *took_ms)
{
    uint64_t start = now_ms();
    trk_capture_mark(1);
    *(uint64_t *)took_ms = now_ms() - start;
    return NULL;
}

Test(capture_threads, waits_for_a_ring_once_where_none_comes)
{
    uint64_t first = 0, second = 0;
    pthread_t thread;
    join_without_rings(500);
    mark_once(&first);
    cr_assert_geq(first, 499u);
    cr_assert_eq(pthread_create(&thread, NULL, mark_once, &second), 0);
    pthread_join(thread, NULL);
    cr_assert_lt(second, 499u, "another thread waited, too");
    cr_assert_eq(trk_capture_dropped(), 2);
}

Test(capture_threads, waits_for_no_ring_in_a_fault)
{
    struct trk_event fault = {.type = TRK_EVENT_FAULT};
    struct trk_event end = {.type = TRK_EVENT_OP_END, .context = TRK_OP_FAULT};
    struct trk_event at = {.type = TRK_EVENT_FAULT_AT};
    join_without_rings(20000);
    uint64_t start = now_ms();
    trk_capture_event(&at);
    trk_capture_event(&fault);
    trk_capture_event(&end);
    cr_assert_lt(now_ms() - start, 10000u);
    cr_assert_eq(trk_capture_dropped(), 3);
    cr_assert_eq(atomic_load(&session.control->waits), 0);
}

/* A child made by fork or by the bare system call must leave the parent's rings alone. */
static void check_child_is_silent(pid_t child, uint32_t index, const char *what)
{
    if (child == 0) {
        bool silent = !trk_capture_active() && trk_capture_observer().emit == NULL;
        for (int i = 0; i < 100; ++i)
            trk_capture_mark(77);
        trk_capture_thread("child", TRK_ROLE_HOST);
        _exit(silent ? 0 : 1);
    }
    int status = -1;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert_eq(status, 0, "%s: the child records", what);
    struct trk_record records[8];
    cr_assert_eq(capture_support_take(&session, index, records, 8), 1, "%s", what);
    cr_assert_eq(records[0].event.argument, 1);
}

Test(capture_threads, falls_silent_in_forked_children)
{
    capture_support_join(&session, 1024);
    trk_capture_mark(1);
    uint32_t index = own_ring();
    check_child_is_silent(fork(), index, "fork");
    trk_capture_mark(1);
    check_child_is_silent((pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0), index, "clone");
    trk_capture_mark(1);
    struct trk_record record;
    cr_assert_eq(capture_support_take(&session, index, &record, 1), 1, "the parent goes on");
}

static void mark_in_handler(int number)
{
    trk_capture_mark((uint64_t)number);
}

Test(capture_threads, may_begin_in_a_signal_handler)
{
    capture_support_join(&session, 1024);
    signal(SIGUSR1, mark_in_handler);
    raise(SIGUSR1);
    struct trk_record record;
    cr_assert_eq(capture_support_take(&session, own_ring(), &record, 1), 1);
    cr_assert_eq(record.event.argument, SIGUSR1);
}

Test(capture_threads, lays_annotations_out_as_the_vocabulary_says)
{
    capture_support_join(&session, 1024);
    trk_capture_copy_begin(TRK_COPY_DOWN, 0x123456789abc, UINT64_C(0x123456789), 7);
    trk_capture_gpu_write(0x1000, 0xfffffff0u, 0xabcd1234u, 99);
    trk_capture_gpu_read(0x2000, 64, 5);
    trk_capture_map(0x4000, 0x8000, 0x12345, TRK_RIGHTS_RW, TRK_MAP_ALIAS);
    trk_capture_unmap(0x4000, 0x8000);
    trk_capture_guest_protect(0x4000, 0x1000, TRK_RIGHT_READ);
    trk_capture_invalidate_request(3, 5, TRK_REQUEST_FAILED);
    trk_capture_witness_store(TRK_AGENT_GPU, 0x5000, 4, 11);
    trk_capture_witness_check(TRK_AGENT_CPU, 0x5000, 4, 0);
    trk_capture_signal(12, UINT64_C(1) << 40);
    trk_capture_await(12, 3);
    trk_capture_gpu_complete(8);
    trk_capture_frame(6);
    static const struct trk_event expected[] = {
        {0x123456789abc, 0x23456789, 1, 7, 0, TRK_EVENT_COPY_BEGIN, 0, TRK_COPY_DOWN},
        {0x1000, 0xfffffff0u, 99, 0x1234, 0xabcd, TRK_EVENT_GPU_WRITE, 0, 0},
        {0x2000, 64, 0, 5, 0, TRK_EVENT_GPU_READ, 0, 0},
        {0x4000, 0x8000, 0, 0x2345, 1, TRK_EVENT_MAP, TRK_MAP_ALIAS, TRK_RIGHTS_RW},
        {0x4000, 0x8000, 0, 0, 0, TRK_EVENT_UNMAP, 0, 0},
        {0x4000, 0x1000, 0, 0, 0, TRK_EVENT_GUEST_PROTECT, 0, TRK_RIGHT_READ},
        {3, 5, 0, 0, 0, TRK_EVENT_INVALIDATE_REQUEST, 0, TRK_REQUEST_FAILED},
        {0x5000, 4, 11, 0, 0, TRK_EVENT_WITNESS_STORE, TRK_AGENT_GPU, 0},
        {0x5000, 4, 0, 0, 0, TRK_EVENT_WITNESS_CHECK, TRK_AGENT_CPU, 0},
        {UINT64_C(1) << 40, 0, 12, 0, 0, TRK_EVENT_SIGNAL, 0, 0},
        {3, 0, 12, 0, 0, TRK_EVENT_AWAIT, 0, 0},
        {8, 0, 0, 0, 0, TRK_EVENT_GPU_COMPLETE, 0, 0},
        {6, 0, 0, 0, 0, TRK_EVENT_FRAME, 0, 0},
    };
    enum { COUNT = sizeof(expected) / sizeof(expected[0]) };
    struct trk_record records[COUNT + 1];
    cr_assert_eq(capture_support_take(&session, own_ring(), records, COUNT + 1), COUNT);
    for (size_t i = 0; i < COUNT; ++i)
        cr_assert_eq(memcmp(&records[i].event, &expected[i], sizeof(expected[i])), 0, "event %zu",
                     i);
}

Test(capture_threads, names_trackers_in_the_control_page_and_as_events)
{
    struct trk_policy policy;
    capture_support_join(&session, 1024);
    cr_assert_eq(trk_policy_preset("strict", &policy), TRK_OK);
    trk_capture_tracker(3, &policy, TRK_BACKEND_MPROTECT);
    trk_capture_tracker(TRK_SESSION_TRACKERS, &policy, TRK_BACKEND_MPROTECT); /* no such id */
    cr_assert_eq(atomic_load(&session.control->trackers[3].known), 1);
    cr_assert_eq(atomic_load(&session.control->trackers[3].policy), trk_policy_pack(&policy));
    struct trk_record records[2];
    cr_assert_eq(capture_support_take(&session, own_ring(), records, 2), 1);
    cr_assert_eq(records[0].event.page, 3);
    cr_assert_eq(records[0].event.argument, trk_policy_pack(&policy));
    cr_assert_eq(records[0].event.context, TRK_BACKEND_MPROTECT);
}
