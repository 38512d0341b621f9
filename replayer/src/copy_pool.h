/*
 * Threads of the host that copy between guest memory and staging.
 *
 * A job is many parts that go one way, or other work that can be cut up; the threads take runs of
 * them. Jobs are taken in the order
 * in which they were given. The caller is one of the threads: it copies small jobs at once, and
 * while it waits for a job it helps with whatever there is.
 */
#ifndef COPY_POOL_H
#define COPY_POOL_H

#include <pthread.h>
#include <stdbool.h>

#include "schedule.h"

/* More are never under way: a slot of staging has one. */
#define COPY_JOBS_MAX 64u

/* The number of a job that is done already. */
#define COPY_JOB_NONE UINT64_MAX

/* Do one of many things, each apart from the others. */
typedef void copy_work_fn(void *context, size_t number);

struct copy_job {
    copy_work_fn *work; /* instead of copying parts; NULL: copy */
    void *context;
    const struct schedule_piece *parts;
    size_t count;
    uint8_t *guest;    /* the whole mirror */
    uint8_t *staged;   /* the slot */
    bool down;         /* from the slot to guest memory */
    bool around;       /* around the caches; as the pool does it */
    size_t next, done; /* parts taken, parts copied */
    size_t run;        /* parts that a thread takes at once */
};

struct copy_pool {
    uint32_t threads; /* the caller is one of them */
    uint32_t started;
    pthread_t ids[TRK_POLICY_THREADS_MAX];
    pthread_mutex_t lock;
    pthread_cond_t work, ready;
    struct copy_job jobs[COPY_JOBS_MAX];
    uint64_t given, taken; /* jobs; those below `taken` have no part left to take */
    bool around;           /* see copy_around */
    bool stop;
};

/* Whether so many threads copy around the caches into a ring of so many bytes, written in turn. */
bool copy_around(uint32_t threads, uint64_t ring_bytes, uint64_t cache_bytes);

/* ring_bytes: of what is copied into; 0: nothing is copied. */
TRK_MUST_USE enum trk_status copy_pool_init(struct copy_pool *pool, uint32_t threads,
                                            uint64_t ring_bytes, struct trk_error *error);
void copy_pool_deinit(struct copy_pool *pool);

/* Give a job; its number. At most COPY_JOBS_MAX may be given and not awaited. */
uint64_t copy_pool_give(struct copy_pool *pool, const struct copy_job *asked);
void copy_pool_await(struct copy_pool *pool, uint64_t number);

/* Do `count` things, on all threads, and wait for them. */
void copy_pool_each(struct copy_pool *pool, size_t count, copy_work_fn *work, void *context);

#endif
