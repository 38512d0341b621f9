/*
 * Waiting for a lock of the core: pause, then futex.
 *
 * The fast path is in env.h. Waiters set a bit in the lock's word, so that an unlock makes a system
 * call only when somebody sleeps. Safe in a signal handler: errno is kept, nothing is allocated.
 */
#include <errno.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "env.h"

#define LOCK_SPINS 200

static inline void pause_once(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static void futex(uint32_t *word, int operation, uint32_t value)
{
    int saved = errno;
    syscall(SYS_futex, word, operation | FUTEX_PRIVATE_FLAG, value, NULL, NULL, 0);
    errno = saved;
}

void env_lock_slow(struct env_lock *lock, uint32_t id)
{
    for (int i = 0; i < LOCK_SPINS; i++) {
        if (__atomic_load_n(&lock->word, __ATOMIC_RELAXED) == 0 && env_lock_try(lock, id))
            return;
        pause_once();
    }
    /* From here on the lock is taken with the bit set: others may sleep that we cannot see. */
    for (;;) {
        uint32_t word = __atomic_load_n(&lock->word, __ATOMIC_RELAXED);
        if (word == 0) {
            if (__atomic_compare_exchange_n(&lock->word, &word, id | ENV_LOCK_SLEEPERS, false,
                                            __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
                return;
            continue;
        }
        if (!(word & ENV_LOCK_SLEEPERS) &&
            !__atomic_compare_exchange_n(&lock->word, &word, word | ENV_LOCK_SLEEPERS, false,
                                         __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            continue;
        futex(&lock->word, FUTEX_WAIT, word | ENV_LOCK_SLEEPERS);
    }
}

void env_lock_wake(struct env_lock *lock)
{
    futex(&lock->word, FUTEX_WAKE, 1);
}
