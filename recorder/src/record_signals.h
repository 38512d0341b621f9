/* What the recording parent does with signals while a command runs. */
#ifndef RECORDER_RECORD_SIGNALS_H
#define RECORDER_RECORD_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#define TRK_RECORD_SIGNALS 8

struct trk_record_signals {
    struct sigaction saved[TRK_RECORD_SIGNALS];
};

/*
 * From now on SIGINT, SIGTERM, SIGQUIT and SIGHUP are noted and end nothing; one that was ignored
 * stays ignored. SIGPIPE and SIGXFSZ are ignored: a closed or full output is an error to report.
 * SIGCHLD gets its default: a child must be awaitable. SIGUSR2 wants a dump, and is noted even
 * where it was ignored.
 */
void trk_record_signals_init(struct trk_record_signals *signals);

/* The former actions again. Safe between fork and exec. */
void trk_record_signals_deinit(const struct trk_record_signals *signals);

/*
 * Give the next signal that somebody sent to this process alone, as far as that can be told; 0 when
 * there is none. Those of the terminal are not among them: it sends them to the command too.
 */
int trk_record_signals_next(void);

/* Whether a signal came, from whomever, since the start or the last trk_record_signals_forget. */
bool trk_record_signals_came(void);
void trk_record_signals_forget(void);

/* Whether a dump was wanted since this was asked last. */
bool trk_record_signals_dump(void);

#endif
