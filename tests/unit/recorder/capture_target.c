/*
 * What the recording tests record: capture_target MODE [NUMBER].
 *
 * marks N     four named threads mark 0..N-1 each, with pauses that let the drain keep up
 * churn N     N threads one after the other, none named or ended by a call, each marks its number
 * flood N     N marks as fast as it goes; prints how many were lost
 * alone       joins nothing
 * abort N     N marks, then SIGABRT
 * sleep       joins, marks 1, and waits to be killed
 * daemon FD   leaves its parents, who end at once with 4; then joins, marks 0..999, and ends when
 *             FD does
 * shut FD     likewise, but closes its session instead of joining it
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "recorder/capture.h"

static uint64_t number;

static void pause_now_and_then(uint64_t done)
{
    struct timespec pause = {.tv_nsec = 1000000};
    if (done % 2000 == 1999)
        (void)nanosleep(&pause, NULL);
}

static void *mark_all(void *index)
{
    char name[32];
    snprintf(name, sizeof(name), "worker %d", (int)(intptr_t)index);
    trk_capture_thread(name, TRK_ROLE_GUEST);
    for (uint64_t i = 0; i < number; ++i) {
        trk_capture_mark(i);
        pause_now_and_then(i);
    }
    return NULL;
}

static void *mark_one(void *index)
{
    trk_capture_mark((uint64_t)(uintptr_t)index);
    return NULL;
}

static int run_marks(void)
{
    pthread_t threads[4];
    for (intptr_t i = 0; i < 4; ++i) {
        if (pthread_create(&threads[i], NULL, mark_all, (void *)i) != 0)
            return 1;
    }
    for (int i = 0; i < 4; ++i)
        pthread_join(threads[i], NULL);
    return 0;
}

static int run_churn(void)
{
    for (uint64_t i = 0; i < number; ++i) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, mark_one, (void *)(uintptr_t)i) != 0)
            return 1;
        pthread_join(thread, NULL);
        struct timespec pause = {.tv_nsec = 2000000};
        (void)nanosleep(&pause, NULL);
    }
    return 0;
}

static int run_marks_here(void)
{
    for (uint64_t i = 0; i < number; ++i)
        trk_capture_mark(i);
    return 0;
}

/* Two forks and a session of its own: no tie to the starter is left. */
static void leave_parents(void)
{
    struct timespec pause = {.tv_nsec = 100000000};
    if (fork() != 0)
        _exit(4);
    (void)setsid();
    if (fork() != 0)
        _exit(0);
    (void)nanosleep(&pause, NULL); /* it joins after all of them have ended */
}

static int run_daemon(bool joined)
{
    const char *session = getenv("TRK_SESSION_FD");
    char byte;
    int fd = (int)number;
    number = 1000;
    if (joined)
        (void)run_marks_here();
    else if (session)
        (void)close(atoi(session));
    while (read(fd, &byte, 1) > 0) {
    }
    return 0;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "alone";
    number = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
    if (strcmp(mode, "alone") == 0)
        return 3;
    if (strcmp(mode, "daemon") == 0 || strcmp(mode, "shut") == 0)
        leave_parents();
    if (strcmp(mode, "shut") == 0)
        return run_daemon(false);
    if (trk_capture_open(NULL) != TRK_OK)
        return 2;
    if (strcmp(mode, "daemon") == 0)
        return run_daemon(true);
    if (strcmp(mode, "marks") == 0)
        return run_marks();
    if (strcmp(mode, "churn") == 0)
        return run_churn();
    if (strcmp(mode, "sleep") == 0)
        number = 1;
    int status = run_marks_here();
    if (strcmp(mode, "flood") == 0)
        printf("%" PRIu64 "\n", trk_capture_dropped());
    if (strcmp(mode, "abort") == 0)
        abort();
    while (strcmp(mode, "sleep") == 0)
        pause();
    return status;
}
