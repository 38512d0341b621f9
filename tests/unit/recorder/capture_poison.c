/*
 * Goal: an event that is appended in a fault handler allocates nothing and takes no lock.
 *
 * Method: this program's own malloc, calloc, realloc, free and pthread_mutex_lock abort while they
 * are poisoned. They are, from the fault on until the handler has emitted: from a thread that had
 * no ring before, from one that had, and with a ring that is full.
 *
 * A sanitizer has an allocator of its own; then there is nothing to test (exit 77: skipped).
 */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "record_session.h"
#include "recorder/capture.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)

int main(void)
{
    return 77;
}

#else

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void __libc_free(void *block);
void *malloc(size_t size);
void *calloc(size_t count, size_t size);
void *realloc(void *block, size_t size);
void free(void *block);

static volatile sig_atomic_t poisoned;
static int (*real_lock)(pthread_mutex_t *mutex);

static void check(const char *what)
{
    if (!poisoned)
        return;
    poisoned = 0;
    ssize_t written = write(STDERR_FILENO, what, strlen(what));
    (void)written;
    abort();
}

void *malloc(size_t size)
{
    check("malloc in the handler\n");
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    check("calloc in the handler\n");
    return __libc_calloc(count, size);
}

void *realloc(void *block, size_t size)
{
    check("realloc in the handler\n");
    return __libc_realloc(block, size);
}

void free(void *block)
{
    check("free in the handler\n");
    __libc_free(block);
}

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    check("pthread_mutex_lock in the handler\n");
    return real_lock ? real_lock(mutex) : 0;
}

static unsigned char *page;
static uint64_t events_a_fault;

static void on_fault(int number)
{
    (void)number;
    poisoned = 1;
    for (uint64_t i = 0; i < events_a_fault; ++i)
        trk_capture_mark(i);
    poisoned = 0;
    if (mprotect(page, 4096, PROT_READ | PROT_WRITE) != 0)
        _exit(1);
}

static void fault_once(uint64_t events)
{
    events_a_fault = events;
    if (mprotect(page, 4096, PROT_NONE) != 0)
        exit(1);
    *(volatile unsigned char *)page = 1;
}

static void *fresh_thread(void *unused)
{
    fault_once(1);
    return unused;
}

int main(void)
{
    struct trk_record_session session;
    struct trk_error error;
    real_lock = (int (*)(pthread_mutex_t *))dlsym(RTLD_NEXT, "pthread_mutex_lock");
    if (trk_record_session_init(&session, 128, TRK_PAYLOAD_NONE, &error) != TRK_OK)
        return 1;
    char number[16];
    snprintf(number, sizeof(number), "%d", dup(session.fd));
    setenv(TRK_SESSION_VARIABLE, number, 1);
    if (trk_capture_open(&error) != TRK_OK)
        return 1;
    page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    signal(SIGSEGV, on_fault);
    pthread_t thread;
    if (page == MAP_FAILED || pthread_create(&thread, NULL, fresh_thread, NULL) != 0)
        return 1;
    pthread_join(thread, NULL);
    fault_once(1);
    fault_once(1);
    fault_once(1000); /* far more than the ring holds */
    uint64_t kept = 128 - 128 / 8;
    printf("lost %llu of 1003\n", (unsigned long long)trk_capture_dropped());
    return trk_capture_dropped() == 1002 - kept ? 0 : 1;
}

#endif
