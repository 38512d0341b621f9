/*
 * The state of the calling thread, in thread-local storage.
 */
#define _GNU_SOURCE
#include "env.h"

#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * Initial-exec: the first use may come inside a fault handler, where the lazy allocation of dynamic
 * thread-local storage would call malloc.
 */
#define TLS_INITIAL_EXEC __attribute__((tls_model("initial-exec")))

static _Thread_local struct trk_thread own_state TLS_INITIAL_EXEC;
/* Before a thread's first use: no id, and a lock held so that it takes no short way. Never written.
 */
static struct trk_thread unborn = {.locks_held = 1};
_Thread_local struct trk_thread *trk_thread_in_force TLS_INITIAL_EXEC = &unborn;

static struct trk_thread *own(void)
{
    /* A raw call: the libc wrapper is absent from older libcs. Kernel ids are never 0. */
    if (own_state.id == 0)
        own_state.id = (uint32_t)syscall(SYS_gettid);
    return &own_state;
}

struct trk_thread *trk_thread_current(void)
{
    if (TRK_UNLIKELY(trk_thread_in_force == &unborn))
        trk_thread_in_force = own();
    return trk_thread_in_force;
}

struct trk_thread *trk_thread_swap(struct trk_thread *thread)
{
    struct trk_thread *former = trk_thread_current();
    trk_thread_in_force = thread != NULL ? thread : own();
    return former;
}
