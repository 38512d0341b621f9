/*
 * A thread's alternate signal stack, on which faults are served.
 *
 * A guest's own stack page can be watched; the handler must then run elsewhere. The mapping is
 * [guard page][stack], and a thread that ends without a word gives it back through a destructor.
 *
 * Rules: [M-52].
 */
#define _GNU_SOURCE
#include "fault_parts.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "track/address.h"

/* Room for the owner's callbacks; what is never touched costs nothing. At least 64 KiB is asked. */
#define STACK_BYTES_MIN (UINT64_C(256) << 10)

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif

/* The kernel's SS_AUTODISARM, which libc does not name. */
#define SS_DISARMS INT_MIN

#define TLS_INITIAL_EXEC __attribute__((tls_model("initial-exec")))

/* The calling thread's stack of ours and what it had before. */
static _Thread_local struct {
    unsigned char *mapping; /* NULL: none */
    size_t mapping_bytes;
    stack_t former;
} own_stack TLS_INITIAL_EXEC;

static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static int key_errno;

static void thread_ends(void *unused)
{
    (void)unused;
    trk_fault_thread_leave();
}

static void key_create(void)
{
    key_errno = pthread_key_create(&key, thread_ends);
}

/* The kernel's signal frame grows with the CPU's vector state: that much on top of our own need. */
static size_t stack_bytes(void)
{
    uint64_t wanted = STACK_BYTES_MIN + getauxval(AT_MINSIGSTKSZ);
    return (size_t)((wanted + TRK_HOST_PAGE_BYTES - 1) & ~(TRK_HOST_PAGE_BYTES - 1));
}

/* A blocked signal that an instruction raises ends the process without asking any handler. */
static void open_served(void)
{
    sigset_t served;
    sigemptyset(&served);
    for (size_t i = 0; i < FAULT_SIGNALS; i++)
        sigaddset(&served, trk_fault_signals[i]);
    (void)pthread_sigmask(SIG_UNBLOCK, &served, NULL);
}

enum trk_status trk_fault_thread_enter(struct trk_error *error)
{
    open_served();
    if (own_stack.mapping != NULL)
        return TRK_OK;

    pthread_once(&key_once, key_create);
    int failed = key_errno != 0 ? key_errno : pthread_setspecific(key, &own_stack);
    if (failed != 0)
        return trk_error_set_errno(error, TRK_E_SYSTEM, failed, "no thread-end hook");

    size_t guard_bytes = TRK_HOST_PAGE_BYTES;
    size_t mapping_bytes = guard_bytes + stack_bytes();
    unsigned char *mapping = mmap(NULL, mapping_bytes, PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED)
        return trk_error_set(error, TRK_E_MEMORY, "no memory for an alternate signal stack");

    stack_t stack = {.ss_sp = mapping + guard_bytes, .ss_size = mapping_bytes - guard_bytes};
    stack_t former;
    if (mprotect(mapping, guard_bytes, PROT_NONE) != 0 || sigaltstack(&stack, &former) != 0) {
        int saved = errno;
        munmap(mapping, mapping_bytes);
        return trk_error_set_errno(error, TRK_E_SYSTEM, saved, "no alternate signal stack");
    }
    own_stack.mapping = mapping;
    own_stack.mapping_bytes = mapping_bytes;
    own_stack.former = former;
    return TRK_OK;
}

void trk_fault_thread_leave(void)
{
    if (own_stack.mapping == NULL)
        return;

    /* Somebody may have set a stack over ours since; that one is left alone. */
    stack_t current;
    unsigned char *first = own_stack.mapping + TRK_HOST_PAGE_BYTES;
    if (sigaltstack(NULL, &current) == 0 && current.ss_sp == first) {
        if (current.ss_flags & SS_ONSTACK)
            return; /* called from a handler that stands on it: it stays until the thread ends */
        stack_t former = own_stack.former;
        former.ss_flags &= SS_DISABLE | SS_DISARMS; /* what else is reported is refused as input */
        (void)sigaltstack(&former, NULL);
    }
    munmap(own_stack.mapping, own_stack.mapping_bytes);
    own_stack.mapping = NULL;
}
