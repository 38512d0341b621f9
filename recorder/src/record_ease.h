/*
 * Work in no hurry.
 *
 * A second thread, which comes after everything else where all want a processor, does the work of
 * another one that waits meanwhile; what cannot wait the other one does itself. So one of the two
 * works at a time, and a recording costs the program little as long as it has time, and is not
 * starved when it has none: who is nice cannot become less so again.
 */
#ifndef RECORDER_RECORD_EASE_H
#define RECORDER_RECORD_EASE_H

#include <pthread.h>
#include <stdbool.h>

typedef void trk_record_work_fn(void *context);

struct trk_record_ease {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t turn;
    trk_record_work_fn *work; /* NULL: none is left to do */
    void *context;
    bool started; /* else all work is the caller's own */
    bool stop;
};

/* Before the first work; signals are not the thread's. */
void trk_record_ease_init(struct trk_record_ease *ease);
/* Behind the last one. */
void trk_record_ease_deinit(struct trk_record_ease *ease);

/* Do work, and come back when it is done. hurry: by the calling thread. */
void trk_record_ease_do(struct trk_record_ease *ease, bool hurry, trk_record_work_fn *work,
                        void *context);

/*
 * The calling thread comes after the program it records from now on where both want one processor,
 * and does not interrupt it; a thread of the program that wakes need not wait for it (from Linux
 * 6.12 on). On a busy machine it may get next to nothing.
 */
void trk_record_give_way(void);

#endif
