/*
 * The recording parent's signals.
 *
 * Handlers only note; the loop of the recording acts on the notes. There is one recording a process
 * at a time, so the notes are the file's.
 */
#include "record_signals.h"

#include <stdatomic.h>

#define NOTED 4

/* The first NOTED are for the command. */
static const int numbers[TRK_RECORD_SIGNALS] = {SIGINT,  SIGTERM, SIGQUIT, SIGHUP,
                                                SIGPIPE, SIGXFSZ, SIGCHLD, SIGUSR2};

static _Atomic int sent[NOTED];
static _Atomic int came;
static _Atomic int dump;

static void note(int number, siginfo_t *info, void *context)
{
    (void)context;
    for (size_t i = 0; i < NOTED; ++i) {
        if (numbers[i] == number && info->si_code <= 0) /* of a process, not of the kernel */
            atomic_store(&sent[i], 1);
    }
    atomic_store(&came, 1);
}

static void note_dump(int number)
{
    (void)number;
    atomic_store(&dump, 1);
}

void trk_record_signals_init(struct trk_record_signals *signals)
{
    for (size_t i = 0; i < NOTED; ++i)
        atomic_store(&sent[i], 0);
    atomic_store(&came, 0);
    atomic_store(&dump, 0);
    for (size_t i = 0; i < TRK_RECORD_SIGNALS; ++i) {
        struct sigaction action = {.sa_handler = numbers[i] == SIGCHLD ? SIG_DFL : SIG_IGN};
        (void)sigaction(numbers[i], NULL, &signals->saved[i]);
        bool ignored =
            !(signals->saved[i].sa_flags & SA_SIGINFO) && signals->saved[i].sa_handler == SIG_IGN;
        if (i < NOTED && !ignored) {
            action.sa_sigaction = note;
            action.sa_flags = SA_SIGINFO;
            sigfillset(&action.sa_mask);
        }
        if (numbers[i] == SIGUSR2)
            action = (struct sigaction){.sa_handler = note_dump, .sa_flags = SA_RESTART};
        (void)sigaction(numbers[i], &action, NULL);
    }
}

void trk_record_signals_deinit(const struct trk_record_signals *signals)
{
    for (size_t i = 0; i < TRK_RECORD_SIGNALS; ++i)
        (void)sigaction(numbers[i], &signals->saved[i], NULL);
}

int trk_record_signals_next(void)
{
    for (size_t i = 0; i < NOTED; ++i) {
        if (atomic_exchange(&sent[i], 0))
            return numbers[i];
    }
    return 0;
}

bool trk_record_signals_came(void)
{
    return atomic_load(&came) != 0;
}

void trk_record_signals_forget(void)
{
    atomic_store(&came, 0);
}

bool trk_record_signals_dump(void)
{
    return atomic_exchange(&dump, 0) != 0;
}
