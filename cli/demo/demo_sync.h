/*
 * How the demo's threads wait for each other, each edge noted for the recorder.
 *
 * A line is a number that only grows; who awaits a value sleeps until it is reached. A guest that
 * faulted on bytes only the GPU has posts a request and waits, inside its fault handler, until the
 * render thread has answered it. Everything works in a signal handler: futexes, no locks.
 */
#ifndef DEMO_SYNC_H
#define DEMO_SYNC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "demo.h"

struct demo_line {
    _Atomic uint32_t value;
    uint32_t timeline; /* its number in the trace */
};

/* What a guest wants brought home, valid from post to answer. */
struct demo_request {
    uint64_t guest_addr, size_bytes;
    bool flush; /* the guest is about to store, the pages shall become the CPU's */
};

struct demo_seat {
    struct demo_line done;     /* frames whose first part this guest has done; last: it has left */
    struct demo_line mid_done; /* frames whose meeting it has attended */
    struct demo_line visited;  /* frames in which it has made its visit */
    struct demo_line posted;   /* requests */
    struct demo_line answered;
    struct demo_request request;
    uint32_t served; /* the render thread's: last request it answered */
};

struct demo_sync {
    struct demo_line start; /* frames that have started */
    struct demo_line mid;   /* frames that have come to their meeting */
    struct demo_line visit; /* frames that have come to their visit */
    _Atomic uint32_t bell;  /* rung when the render thread has something to look at */
    struct demo_seat seats[TRK_DEMO_THREADS_MAX];
};

void demo_sync_init(struct demo_sync *sync);

void demo_line_signal(struct demo_line *line, uint32_t value);
void demo_line_await(struct demo_line *line, uint32_t value);

/* Guest: say that a frame's first part is done, and ring. */
void demo_sync_done(struct demo_sync *sync, uint32_t seat, uint32_t value);

/* Guest: say that a frame's visit is over, and ring. */
void demo_sync_visited(struct demo_sync *sync, uint32_t seat, uint32_t value);

/* Guest, in its fault handler: post a request and wait for the answer. errno is kept. */
void demo_sync_ask(struct demo_sync *sync, uint32_t seat, const struct demo_request *request);

typedef void demo_serve_fn(void *context, const struct demo_request *request);

/* Render: answer requests until the first `seats` guests have reached `value`. */
void demo_sync_gather(struct demo_sync *sync, uint32_t seats, uint32_t value, demo_serve_fn *serve,
                      void *context);

/* Render: ask one guest for its visit, and answer requests until it is over. */
void demo_sync_receive(struct demo_sync *sync, uint32_t seat, uint32_t value, demo_serve_fn *serve,
                       void *context);

#endif
