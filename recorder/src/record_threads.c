#include "record_threads.h"

#include <errno.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Whether the id is still the recorded program's: its thread ids are then ours to ask for. */
static bool program_lives(const struct trk_record_drain *drain)
{
    uint32_t pid = atomic_load_explicit(&drain->session->control->pid, memory_order_acquire);
    struct pollfd end = {.fd = drain->program_fd, .events = POLLIN};
    return drain->program > 0 && (uint32_t)drain->program == pid &&
           (drain->program_fd < 0 || poll(&end, 1, 0) == 0);
}

void trk_record_threads_end_dead(const struct trk_record_drain *drain)
{
    const struct trk_record_session *session = drain->session;
    bool dead[TRK_SESSION_RINGS];
    for (uint32_t i = 0; i < session->ring_count; ++i) {
        const struct trk_session_ring *shared = &session->rings[i];
        dead[i] = drain->rings[i].in_use && shared->thread_id != 0 && drain->program > 0 &&
                  syscall(SYS_tgkill, drain->program, (pid_t)shared->thread_id, 0) != 0 &&
                  errno == ESRCH;
    }
    if (!program_lives(drain))
        return;
    for (uint32_t i = 0; i < session->ring_count; ++i) {
        uint32_t state = TRK_RING_LIVE;
        if (dead[i])
            atomic_compare_exchange_strong(&session->rings[i].state, &state, TRK_RING_ENDED);
    }
}
