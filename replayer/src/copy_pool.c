#include "copy_pool.h"

#include "copy_ahead.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

/* So much a thread takes at once: long enough to make the lock cheap. */
#define RUN_BYTES (UINT64_C(256) << 10)
/* To wake a thread takes longer than to copy this. */
#define SMALL_BYTES (UINT64_C(128) << 10)
/*
 * What a ring must be for the last level of cache, which others use, too, to keep it: then what is
 * written and read in turn costs no memory at all, and only one or two threads, which wait for
 * lines that they overwrite, are faster around it. Measured, as the other two numbers are
 * (docs/performance.md).
 */
#define CACHE_SHARE         4u
#define AROUND_THREADS_KEPT 2u
/* Where it is not kept: with more threads it is the memory that they wait for. */
#define AROUND_THREADS_NOT_KEPT 8u

static void job_copy(const struct copy_job *job, size_t first, size_t end)
{
    if (job->work != NULL) {
        for (size_t i = first; i < end; i++) {
            job->work(job->context, i);
        }
        return;
    }
    for (size_t i = first; i < end && job->parts != NULL && job->guest != NULL; i++) {
        const struct schedule_piece *part = &job->parts[i];
        const struct schedule_piece *next = i + 1 < end ? part + 1 : NULL;
        if (job->down) {
            memcpy(job->guest + part->offset, job->staged + part->stage, part->size_bytes);
        } else {
            const bool as_large = next != NULL && next->size_bytes >= part->size_bytes;
            copy_ahead(job->staged + part->stage, job->guest + part->offset, part->size_bytes,
                       as_large ? job->guest + next->offset : NULL, job->around);
        }
    }
    copy_ahead_end();
}

/* Under the lock. NULL: there is nothing to do. */
static struct copy_job *pool_job(struct copy_pool *pool)
{
    while (pool->taken < pool->given) {
        struct copy_job *job = &pool->jobs[pool->taken % COPY_JOBS_MAX];
        if (job->next < job->count) {
            return job;
        }
        pool->taken++;
    }
    return NULL;
}

/* Copy a run of a job; the lock is held before and after. */
static void pool_run(struct copy_pool *pool, struct copy_job *job)
{
    size_t first = job->next, left = job->count - first;
    size_t end = first + (left < job->run ? left : job->run);
    job->next = end;
    pthread_mutex_unlock(&pool->lock);
    job_copy(job, first, end);
    pthread_mutex_lock(&pool->lock);
    job->done += end - first;
    if (job->done == job->count) {
        pthread_cond_broadcast(&pool->ready);
    }
}

static void *pool_main(void *context)
{
    struct copy_pool *pool = context;
    pthread_mutex_lock(&pool->lock);
    while (!pool->stop) {
        struct copy_job *job = pool_job(pool);
        if (job == NULL) {
            pthread_cond_wait(&pool->work, &pool->lock);
        } else {
            pool_run(pool, job);
        }
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

bool copy_around(uint32_t threads, uint64_t ring_bytes, uint64_t cache_bytes)
{
    const bool kept = ring_bytes <= cache_bytes / CACHE_SHARE;
    return threads <= (kept ? AROUND_THREADS_KEPT : AROUND_THREADS_NOT_KEPT);
}

enum trk_status copy_pool_init(struct copy_pool *pool, uint32_t threads, uint64_t ring_bytes,
                               struct trk_error *error)
{
    sigset_t all, before;
    const long cache_bytes = sysconf(_SC_LEVEL3_CACHE_SIZE); /* of GNU; 0: not known */
    memset(pool, 0, sizeof *pool);
    pool->threads = threads;
    pool->around = copy_around(threads, ring_bytes, cache_bytes > 0 ? (uint64_t)cache_bytes : 0);
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->work, NULL);
    pthread_cond_init(&pool->ready, NULL);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are the program's own threads' */
    int failed = 0;
    for (uint32_t i = 0; i + 1 < threads && failed == 0; i++) {
        failed = pthread_create(&pool->ids[i], NULL, pool_main, pool);
        pool->started += failed == 0;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed == 0 ? TRK_OK
                       : trk_error_set_errno(error, TRK_E_SYSTEM, failed,
                                             "no thread %u that copies", pool->started);
}

void copy_pool_deinit(struct copy_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    pool->stop = true;
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->lock);
    for (uint32_t i = 0; i < pool->started; i++) {
        pthread_join(pool->ids[i], NULL);
    }
    pthread_cond_destroy(&pool->ready);
    pthread_cond_destroy(&pool->work);
    pthread_mutex_destroy(&pool->lock);
}

/* run: parts that a thread takes at once. */
static uint64_t pool_push(struct copy_pool *pool, const struct copy_job *job, size_t run)
{
    pthread_mutex_lock(&pool->lock);
    const uint64_t number = pool->given;
    struct copy_job *own = &pool->jobs[number % COPY_JOBS_MAX];
    *own = *job;
    own->next = own->done = 0;
    own->run = run;
    pool->given++;
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->lock);
    return number;
}

uint64_t copy_pool_give(struct copy_pool *pool, const struct copy_job *asked)
{
    struct copy_job job = *asked;
    uint64_t bytes = 1;
    for (size_t i = 0; i < job.count; i++) {
        bytes += job.parts[i].size_bytes;
    }
    job.around = pool->around;
    if (pool->threads <= 1 || bytes < SMALL_BYTES) {
        job_copy(&job, 0, job.count);
        return COPY_JOB_NONE;
    }
    /* A small job is spread over all; of a large one each takes several runs. */
    const uint64_t share = bytes / pool->threads < RUN_BYTES ? bytes / pool->threads : RUN_BYTES;
    return pool_push(pool, &job, (size_t)((uint64_t)job.count * share / bytes) + 1);
}

void copy_pool_each(struct copy_pool *pool, size_t count, copy_work_fn *work, void *context)
{
    const struct copy_job job = {.count = count, .work = work, .context = context};
    if (pool->threads <= 1 || count <= 1) {
        job_copy(&job, 0, count);
        return;
    }
    copy_pool_await(pool, pool_push(pool, &job, 1));
}

void copy_pool_await(struct copy_pool *pool, uint64_t number)
{
    if (number == COPY_JOB_NONE) {
        return;
    }
    const struct copy_job *job = &pool->jobs[number % COPY_JOBS_MAX];
    pthread_mutex_lock(&pool->lock);
    while (job->done < job->count) {
        struct copy_job *any = pool_job(pool);
        if (any == NULL) {
            pthread_cond_wait(&pool->ready, &pool->lock);
        } else {
            pool_run(pool, any);
        }
    }
    pthread_mutex_unlock(&pool->lock);
}
