/*
 * The program that is killed: threads that mark numbers and count each mark once it is made.
 *
 * kill_target FILE    FILE holds a struct kill_shared. Ends when it says stop.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kill_shared.h"
#include "recorder/capture.h"

static struct kill_shared *shared;

/* About a microsecond: fast enough to be in an append often, slow enough to fill no ring. */
static void linger(void)
{
    for (volatile int i = 0; i < 300; ++i) {
    }
}

static void *mark_for_ever(void *argument)
{
    uint64_t thread = (uint64_t)(uintptr_t)argument;
    char name[32];
    snprintf(name, sizeof(name), "marker %d", (int)thread);
    if (thread % 2 == 0) /* the others get their ring with their first mark */
        trk_capture_thread(name, TRK_ROLE_GUEST);
    for (uint64_t n = 0; !atomic_load_explicit(&shared->stop, memory_order_relaxed); ++n) {
        trk_capture_mark(kill_mark(thread, n));
        atomic_store_explicit(&shared->threads[thread].counted, n + 1, memory_order_release);
        linger();
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int fd = argc == 2 ? open(argv[1], O_RDWR) : -1;
    if (fd < 0)
        return 2;
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (shared == MAP_FAILED)
        return 2;
    atomic_store(&shared->pid, (uint32_t)getpid());
    if (trk_capture_open(NULL) != TRK_OK)
        return 3;
    pthread_t threads[KILL_THREADS];
    for (uintptr_t i = 0; i < KILL_THREADS; ++i) {
        if (pthread_create(&threads[i], NULL, mark_for_ever, (void *)i) != 0)
            return 4;
    }
    for (int i = 0; i < KILL_THREADS; ++i)
        pthread_join(threads[i], NULL);
    return 0;
}
