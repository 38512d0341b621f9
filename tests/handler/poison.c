/*
 * A library to preload: while a signal handler runs, whoever allocates, takes a lock of libc, uses
 * stdio or looks for symbols ends the process.
 *
 * Handlers are known by sigaction, which is taken over here: each one runs inside a wrapper that
 * poisons its thread. At the end a line on standard error says how many calls were watched.
 */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static _Thread_local volatile int poisoned __attribute__((tls_model("initial-exec")));
static _Atomic unsigned long watched;
static struct sigaction real[NSIG];

static void say(const char *text)
{
    ssize_t written = write(STDERR_FILENO, text, strlen(text));
    (void)written;
}

static void check(const char *what)
{
    if (!poisoned)
        return;
    poisoned = 0;
    say("poison: ");
    say(what);
    say(" in a signal handler\n");
    abort();
}

static void *next(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    if (!found)
        _exit(70);
    return found;
}

/* libc's own names: the allocator is needed before symbols can be looked up. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *block);

void *malloc(size_t size)
{
    check("malloc");
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    check("calloc");
    return __libc_calloc(count, size);
}

void *realloc(void *block, size_t size)
{
    check("realloc");
    return __libc_realloc(block, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    check("aligned_alloc");
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
    check("posix_memalign");
    *out = __libc_memalign(alignment, size);
    return *out ? 0 : 12;
}

void free(void *block)
{
    check("free");
    __libc_free(block);
}

/* Ours looks the real one up at its first call; never in a handler: check() comes before. */
#define WATCH(name, type, parameters, arguments)                                                   \
    type name parameters                                                                           \
    {                                                                                              \
        static type(*behind) parameters;                                                           \
        check(#name);                                                                              \
        if (!behind)                                                                               \
            *(void **)&behind = next(#name);                                                       \
        return behind arguments;                                                                   \
    }

WATCH(pthread_mutex_lock, int, (pthread_mutex_t * mutex), (mutex))
WATCH(pthread_mutex_trylock, int, (pthread_mutex_t * mutex), (mutex))
WATCH(pthread_rwlock_rdlock, int, (pthread_rwlock_t * lock), (lock))
WATCH(pthread_rwlock_wrlock, int, (pthread_rwlock_t * lock), (lock))
WATCH(pthread_cond_wait, int, (pthread_cond_t * condition, pthread_mutex_t *mutex),
      (condition, mutex))
WATCH(pthread_once, int, (pthread_once_t * once, void (*first)(void)), (once, first))
WATCH(pthread_key_create, int, (pthread_key_t * key, void (*end)(void *)), (key, end))
WATCH(pthread_setspecific, int, (pthread_key_t key, const void *value), (key, value))
WATCH(sem_wait, int, (sem_t * semaphore), (semaphore))
WATCH(fputs, int, (const char *text, FILE *file), (text, file))
WATCH(puts, int, (const char *text), (text))
WATCH(fwrite, size_t, (const void *bytes, size_t size, size_t count, FILE *file),
      (bytes, size, count, file))
WATCH(fflush, int, (FILE * file), (file))
WATCH(fopen, FILE *, (const char *path, const char *mode), (path, mode))
WATCH(vfprintf, int, (FILE * file, const char *format, va_list values), (file, format, values))
WATCH(dlopen, void *, (const char *path, int flags), (path, flags))
WATCH(getenv, char *, (const char *name), (name))

int printf(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    int length = vfprintf(stdout, format, values);
    va_end(values);
    return length;
}

int fprintf(FILE *file, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    int length = vfprintf(file, format, values);
    va_end(values);
    return length;
}

static void wrapper(int number, siginfo_t *info, void *context)
{
    const struct sigaction *action = &real[number];
    poisoned = poisoned + 1;
    atomic_fetch_add_explicit(&watched, 1, memory_order_relaxed);
    if (action->sa_flags & SA_SIGINFO)
        action->sa_sigaction(number, info, context);
    else
        action->sa_handler(number);
    poisoned = poisoned - 1;
}

int sigaction(int number, const struct sigaction *action, struct sigaction *former)
{
    static int (*behind)(int, const struct sigaction *, struct sigaction *);
    if (!behind)
        *(void **)&behind = next("sigaction");
    if (number <= 0 || number >= NSIG)
        return behind(number, action, former);
    struct sigaction known = real[number];
    struct sigaction wrapped;
    const struct sigaction *given = action;
    if (action) {
        wrapped = *action;
        real[number] = *action;
        if ((action->sa_flags & SA_SIGINFO) ||
            (action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN)) {
            wrapped.sa_sigaction = wrapper;
            wrapped.sa_flags |= SA_SIGINFO;
        }
        given = &wrapped;
    }
    int result = behind(number, given, former);
    if (former && former->sa_sigaction == wrapper)
        *former = known;
    return result;
}

static void __attribute__((destructor)) report(void)
{
    char digits[24];
    char *at = digits + sizeof(digits) - 1;
    *at = '\0';
    unsigned long left = atomic_load(&watched);
    do {
        *--at = (char)('0' + left % 10);
        left /= 10;
    } while (left > 0);
    say("poison: watched ");
    say(at);
    say("\n");
}
