#define _GNU_SOURCE /* SCHED_BATCH */
#include "record_ease.h"

#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NICER_BY 10
/*
 * The longest slice that there is. Since Linux 6.12 a thread that wakes takes the processor at once
 * from one with a longer slice than its own, and else waits until that one's is over.
 */
#define SLICE_NS UINT64_C(100000000)

/* What sched_setattr(2) takes. <linux/sched/types.h> has it, and does not go with <sched.h>. */
struct slice_attr {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t slice_ns, deadline_ns, period_ns;
};

void trk_record_give_way(void)
{
    const struct sched_param none = {.sched_priority = 0};
    const int nice = getpriority(PRIO_PROCESS, 0) + NICER_BY; /* to Linux 0 is the thread */
    const struct slice_attr attr = {
        .size = sizeof attr, .policy = SCHED_BATCH, .nice = nice, .slice_ns = SLICE_NS};
    if (syscall(SYS_sched_setattr, 0, &attr, 0) == 0)
        return;
    (void)sched_setscheduler(0, SCHED_BATCH, &none);
    (void)setpriority(PRIO_PROCESS, 0, nice);
}

static void *ease_main(void *argument)
{
    struct trk_record_ease *ease = argument;
    trk_record_give_way();
    pthread_mutex_lock(&ease->lock);
    while (!ease->stop) {
        if (ease->work == NULL) {
            pthread_cond_wait(&ease->turn, &ease->lock);
            continue;
        }
        ease->work(ease->context); /* under the lock: nobody else wants it before it is done */
        ease->work = NULL;
        pthread_cond_broadcast(&ease->turn);
    }
    pthread_mutex_unlock(&ease->lock);
    return NULL;
}

void trk_record_ease_init(struct trk_record_ease *ease)
{
    sigset_t all;
    sigset_t former;
    memset(ease, 0, sizeof *ease);
    (void)pthread_mutex_init(&ease->lock, NULL);
    (void)pthread_cond_init(&ease->turn, NULL);
    sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &former);
    ease->started = pthread_create(&ease->thread, NULL, ease_main, ease) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &former, NULL);
}

void trk_record_ease_deinit(struct trk_record_ease *ease)
{
    if (ease->started) {
        pthread_mutex_lock(&ease->lock);
        ease->stop = true;
        pthread_cond_broadcast(&ease->turn);
        pthread_mutex_unlock(&ease->lock);
        (void)pthread_join(ease->thread, NULL);
    }
    (void)pthread_cond_destroy(&ease->turn);
    (void)pthread_mutex_destroy(&ease->lock);
}

void trk_record_ease_do(struct trk_record_ease *ease, bool hurry, trk_record_work_fn *work,
                        void *context)
{
    if (hurry || !ease->started) {
        work(context);
        return;
    }
    pthread_mutex_lock(&ease->lock);
    ease->work = work;
    ease->context = context;
    pthread_cond_broadcast(&ease->turn);
    while (ease->work != NULL)
        pthread_cond_wait(&ease->turn, &ease->lock);
    pthread_mutex_unlock(&ease->lock);
}
