#include "policy_progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "clock.h"
#include "terminal.h"

#define LINE_NS   UINT64_C(10000000000)
#define CHANGE_NS UINT64_C(100000000)

void trk_policy_progress_open(struct trk_policy_progress *progress, const char *command)
{
    *progress =
        (struct trk_policy_progress){.command = command, .terminal = isatty(STDERR_FILENO) == 1};
    progress->next_ns = trk_clock_ns() + (progress->terminal ? 0 : LINE_NS);
}

void trk_policy_progress_show(struct trk_policy_progress *progress, const char *what, uint64_t at,
                              uint64_t of)
{
    const uint64_t now = progress->command != NULL ? trk_clock_ns() : 0;
    if (progress->command == NULL || now < progress->next_ns) {
        return;
    }
    progress->next_ns = now + (progress->terminal ? CHANGE_NS : LINE_NS);
    if (progress->terminal) {
        progress->shown = true;
        fprintf(stderr, "\r%s %" PRIu64 " of %" PRIu64 "\033[K", what, at, of);
        fflush(stderr);
    } else {
        trk_terminal_say(progress->command, "%s %" PRIu64 " of %" PRIu64, what, at, of);
    }
}

void trk_policy_progress_clear(const struct trk_policy_progress *progress)
{
    if (progress->shown) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
    }
}
