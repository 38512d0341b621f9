/*
 * Host, observers and threads of the core's races.
 */
#include "race_support.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local struct race_thread *current;
static pthread_barrier_t start;

void race_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(1);
}

uint32_t race_random(struct race_thread *thread, uint32_t limit)
{
    thread->random = thread->random * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (uint32_t)((thread->random >> 33) * limit >> 31);
}

static int host_protect(struct trk_backend *backend, uint64_t guest_addr, uint64_t size_bytes,
                        unsigned rights)
{
    struct race *race = (struct race *)backend;
    uint64_t first = (guest_addr - RACE_BASE) / TRK_HOST_PAGE_BYTES;
    memset(&race->host[first], (int)rights, (size_t)(size_bytes / TRK_HOST_PAGE_BYTES));
    return 0;
}

static void host_destroy(struct trk_backend *backend)
{
    (void)backend;
}

static void keep_hold(struct race_thread *thread, const struct trk_event *event)
{
    if (thread->hold_count == thread->hold_capacity) {
        thread->hold_capacity = thread->hold_capacity == 0 ? 4096 : thread->hold_capacity * 2;
        thread->holds = realloc(thread->holds, thread->hold_capacity * sizeof thread->holds[0]);
        if (thread->holds == NULL)
            race_fail("no memory for holds");
    }
    thread->holds[thread->hold_count++] = (struct race_hold){event->domain, event->seq};
}

static void on_event(void *context, const struct trk_event *event)
{
    (void)context;
    if (current == NULL)
        return; /* the main thread, while no other runs */
    stream_feed(&current->stream, event);
    if (trk_event_in_hold(event) && trk_event_ends_hold(event))
        keep_hold(current, event);
}

static void on_wait(void *context, uint32_t domain)
{
    (void)context;
    (void)domain;
    if (current != NULL)
        current->waits++;
}

static void on_failure(void *context, const struct trk_failure *failure)
{
    (void)context;
    (void)failure;
}

void race_open(struct race *race, enum trk_invalidate_policy invalidate)
{
    struct trk_policy policy;
    if (trk_policy_preset("default", &policy) != TRK_OK)
        race_fail("no default policy");
    policy.invalidate = invalidate;
    race_open_policy(race, &policy);
}

void race_open_policy(struct race *race, const struct trk_policy *policy)
{
    memset(race, 0, sizeof *race);
    memset(race->host, TRK_RIGHTS_RW, sizeof race->host);
    race->backend = (struct trk_backend){.kind = TRK_BACKEND_SIMULATED,
                                         .name = "race host",
                                         .protect = host_protect,
                                         .destroy = host_destroy};
    struct trk_tracker_options options = trk_tracker_options_default();
    options.policy = *policy;
    options.backend = &race->backend;
    /* Where nobody listens the core goes its short ways. */
    race->observed = getenv("TRK_TEST_UNOBSERVED") == NULL;
    if (race->observed)
        options.observer = (struct trk_observer){.emit = on_event, .wait = on_wait};
    options.failure = on_failure;
    struct trk_error error;
    if (trk_tracker_create(&race->tracker, &options, &error) != TRK_OK)
        race_fail("no tracker: %s", error.text);
}

void race_close(struct race *race)
{
    struct trk_transfer all = {
        .size = sizeof all, .guest_addr = RACE_BASE, .size_bytes = RACE_REGIONS * TRK_REGION_BYTES};
    if (trk_tracker_drain(race->tracker, &all) != TRK_OK ||
        trk_tracker_untrack(race->tracker, all.guest_addr, all.size_bytes) != TRK_OK ||
        trk_pages_live_watches(race->tracker) != 0)
        race_fail("watches are left");
    trk_tracker_destroy(race->tracker);
}

static void *thread_main(void *argument)
{
    current = argument;
    pthread_barrier_wait(&start);
    current->race->body(current);
    return NULL;
}

static int by_domain_and_number(const void *left, const void *right)
{
    const struct race_hold *a = left, *b = right;
    if (a->domain != b->domain)
        return a->domain < b->domain ? -1 : 1;
    return a->seq < b->seq ? -1 : a->seq > b->seq;
}

static void check_holds(const struct race *race)
{
    size_t count = 0, used = 0;
    for (uint32_t i = 0; i < race->thread_count; i++)
        count += race->threads[i].hold_count;
    struct race_hold *all = calloc(count + 1, sizeof *all);
    if (all == NULL)
        race_fail("no memory for holds");
    for (uint32_t i = 0; i < race->thread_count; i++) {
        const struct race_thread *thread = &race->threads[i];
        if (thread->hold_count > 0)
            memcpy(&all[used], thread->holds, thread->hold_count * sizeof *all);
        used += thread->hold_count;
    }
    qsort(all, count, sizeof *all, by_domain_and_number);
    for (size_t i = 0; i < count; i++) {
        uint32_t expected = i > 0 && all[i - 1].domain == all[i].domain ? all[i - 1].seq + 1 : 1;
        if (all[i].seq != expected)
            race_fail("domain %x: hold %u where %u should be", all[i].domain, all[i].seq, expected);
    }
    free(all);
}

void race_run(struct race *race, uint32_t threads, void (*body)(struct race_thread *thread))
{
    pthread_t ids[RACE_THREADS_MAX];
    race->thread_count = threads;
    race->body = body;
    pthread_barrier_init(&start, NULL, threads);
    for (uint32_t i = 0; i < threads; i++) {
        race->threads[i] = (struct race_thread){.race = race, .number = i, .random = i + 1};
        stream_init(&race->threads[i].stream, false);
        if (pthread_create(&ids[i], NULL, thread_main, &race->threads[i]) != 0)
            race_fail("no thread");
    }
    for (uint32_t i = 0; i < threads; i++)
        pthread_join(ids[i], NULL);
    pthread_barrier_destroy(&start);
    for (uint32_t i = 0; i < threads; i++) {
        stream_finish(&race->threads[i].stream);
        if (race->threads[i].stream.broken[0] != '\0')
            race_fail("thread %u: %s", i, race->threads[i].stream.broken);
    }
    check_holds(race);
    for (uint32_t i = 0; i < threads; i++)
        free(race->threads[i].holds);
}

void race_check_pages(struct race *race)
{
    for (uint32_t page = 0; page < RACE_PAGES; page++) {
        struct trk_page_view view =
            trk_pages_view(race->tracker, RACE_BASE + (uint64_t)page * TRK_HOST_PAGE_BYTES);
        unsigned asked = view.gpu_dirty    ? TRK_RIGHTS_NONE
                         : !view.cpu_dirty ? view.guest_rights & ~TRK_RIGHT_WRITE
                                           : view.guest_rights;
        if (view.armed)
            asked &= ~TRK_RIGHT_WRITE;
        bool legal = !(view.cpu_dirty && view.gpu_dirty) && view.writable == view.cpu_dirty &&
                     view.readable == !view.gpu_dirty && view.write_watches == !view.cpu_dirty &&
                     view.read_watch == view.gpu_dirty;
        if (!legal || race->host[page] != asked || view.host_rights != asked)
            race_fail("page %u: cpu %d gpu %d w %d r %d watches %u/%d guest %x host %x/%x", page,
                      view.cpu_dirty, view.gpu_dirty, view.writable, view.readable,
                      view.write_watches, view.read_watch, view.guest_rights, race->host[page],
                      view.host_rights);
    }
}
