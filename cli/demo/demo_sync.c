#include "demo_sync.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "recorder/capture.h"

/* Numbers of the timelines; those of a seat have the seat's number added. */
enum {
    TIMELINE_START = 1,
    TIMELINE_MID = 2,
    TIMELINE_VISIT = 3,
    TIMELINE_DONE = 0x100,
    TIMELINE_MID_DONE = 0x200,
    TIMELINE_POSTED = 0x300,
    TIMELINE_ANSWERED = 0x400,
    TIMELINE_VISITED = 0x500,
};

void demo_sync_init(struct demo_sync *sync)
{
    sync->start.timeline = TIMELINE_START;
    sync->mid.timeline = TIMELINE_MID;
    sync->visit.timeline = TIMELINE_VISIT;
    for (uint32_t i = 0; i < TRK_DEMO_THREADS_MAX; i++) {
        sync->seats[i].done.timeline = TIMELINE_DONE + i;
        sync->seats[i].mid_done.timeline = TIMELINE_MID_DONE + i;
        sync->seats[i].visited.timeline = TIMELINE_VISITED + i;
        sync->seats[i].posted.timeline = TIMELINE_POSTED + i;
        sync->seats[i].answered.timeline = TIMELINE_ANSWERED + i;
    }
}

static void sync_sleep(_Atomic uint32_t *word, uint32_t seen)
{
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
}

static void sync_wake(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

static void sync_ring(struct demo_sync *sync)
{
    atomic_fetch_add(&sync->bell, 1);
    sync_wake(&sync->bell);
}

void demo_line_signal(struct demo_line *line, uint32_t value)
{
    trk_capture_signal(line->timeline, value);
    atomic_store(&line->value, value);
    sync_wake(&line->value);
}

void demo_line_await(struct demo_line *line, uint32_t value)
{
    uint32_t seen = atomic_load(&line->value);
    while (seen < value) {
        sync_sleep(&line->value, seen);
        seen = atomic_load(&line->value);
    }
    trk_capture_await(line->timeline, value);
}

void demo_sync_done(struct demo_sync *sync, uint32_t seat, uint32_t value)
{
    demo_line_signal(&sync->seats[seat].done, value);
    sync_ring(sync);
}

void demo_sync_visited(struct demo_sync *sync, uint32_t seat, uint32_t value)
{
    demo_line_signal(&sync->seats[seat].visited, value);
    sync_ring(sync);
}

void demo_sync_ask(struct demo_sync *sync, uint32_t seat, const struct demo_request *request)
{
    int saved = errno;
    struct demo_seat *own = &sync->seats[seat];
    uint32_t number = atomic_load(&own->posted.value) + 1;
    own->request = *request;
    demo_line_signal(&own->posted, number);
    sync_ring(sync);
    demo_line_await(&own->answered, number);
    errno = saved;
}

static void sync_serve(struct demo_seat *seat, demo_serve_fn *serve, void *context)
{
    uint32_t number = atomic_load(&seat->posted.value);
    if (number == seat->served) {
        return;
    }
    trk_capture_await(seat->posted.timeline, number);
    serve(context, &seat->request);
    seat->served = number;
    demo_line_signal(&seat->answered, number);
}

void demo_sync_gather(struct demo_sync *sync, uint32_t seats, uint32_t value, demo_serve_fn *serve,
                      void *context)
{
    uint32_t there = 0;
    while (there < seats) {
        uint32_t seen = atomic_load(&sync->bell); /* before the look, so that no ring is missed */
        there = 0;
        for (uint32_t i = 0; i < seats; i++) {
            sync_serve(&sync->seats[i], serve, context);
            there += atomic_load(&sync->seats[i].done.value) >= value;
        }
        if (there < seats) {
            sync_sleep(&sync->bell, seen);
        }
    }
    for (uint32_t i = 0; i < seats; i++) {
        demo_line_await(&sync->seats[i].done, value);
    }
}

void demo_sync_receive(struct demo_sync *sync, uint32_t seat, uint32_t value, demo_serve_fn *serve,
                       void *context)
{
    struct demo_line *visited = &sync->seats[seat].visited;
    demo_line_signal(&sync->visit, value);
    for (;;) {
        uint32_t seen = atomic_load(&sync->bell); /* before the look, so that no ring is missed */
        for (uint32_t i = 0; i < TRK_DEMO_THREADS_MAX; i++) {
            sync_serve(&sync->seats[i], serve, context);
        }
        if (atomic_load(&visited->value) >= value) {
            break;
        }
        sync_sleep(&sync->bell, seen);
    }
    demo_line_await(visited, value);
}
