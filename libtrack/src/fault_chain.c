/*
 * Who had the signals before us, and letting them have what is not ours.
 *
 * A handler runs as the kernel would have run it: its mask, its flags, its one shot. A default
 * action kills with the original signal, from the interrupted instruction where that can be, so
 * that a core file shows the guest and not us.
 *
 * Rules: [M-51].
 */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fault_parts.h"

/* The signals that are ours; the index is that of the formers. */
const int trk_fault_signals[FAULT_SIGNALS] = {SIGSEGV, SIGBUS, SIGILL};

static struct former {
    struct sigaction action;
    bool spent;           /* SA_RESETHAND, and it has run: SIG_DFL from then on */
} formers[FAULT_SIGNALS]; /* written while no handler of ours is installed */

bool trk_fault_former_save(void)
{
    for (unsigned i = 0; i < FAULT_SIGNALS; i++) {
        formers[i].spent = false;
        if (sigaction(trk_fault_signals[i], NULL, &formers[i].action) != 0)
            return false;
    }
    return true;
}

bool trk_fault_former_restore(unsigned count)
{
    bool all = true;
    for (unsigned i = 0; i < count && i < FAULT_SIGNALS; i++) {
        struct sigaction spent = {.sa_handler = SIG_DFL};
        bool ran = __atomic_load_n(&formers[i].spent, __ATOMIC_RELAXED);
        all &= sigaction(trk_fault_signals[i], ran ? &spent : &formers[i].action, NULL) == 0;
    }
    return all;
}

/*
 * Let the default action happen, whatever raised the signal: blocked for now, it arrives with the
 * return to the interrupted instruction, with what the kernel would have told of it. The
 * instruction itself need not raise it again: a trap is past it, and a signal frame that had no
 * room was another signal's.
 */
static void chain_default(struct fault *fault)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = SIG_DFL;
    sigemptyset(&action.sa_mask);
    (void)sigaction(fault->signal_number, &action, NULL);

    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, fault->signal_number);
    (void)pthread_sigmask(SIG_BLOCK, &one, NULL);
    sigdelset(&fault->context->uc_sigmask, fault->signal_number);
    long self = syscall(SYS_gettid);
    if (syscall(SYS_rt_tgsigqueueinfo, getpid(), self, fault->signal_number, &fault->info) != 0)
        (void)syscall(SYS_tgkill, getpid(), self, fault->signal_number);
}

/* Run a handler under the mask that the kernel would have given it. */
static void chain_handler(struct fault *fault, const struct sigaction *action)
{
    sigset_t mask, ours;
    sigorset(&mask, &fault->context->uc_sigmask, &action->sa_mask);
    if (!(action->sa_flags & SA_NODEFER))
        sigaddset(&mask, fault->signal_number);
    (void)pthread_sigmask(SIG_SETMASK, &mask, &ours);
    if (action->sa_flags & SA_SIGINFO)
        action->sa_sigaction(fault->signal_number, &fault->info, fault->context);
    else
        action->sa_handler(fault->signal_number);
    (void)pthread_sigmask(SIG_SETMASK, &ours, NULL);
}

static struct former *former_of(int signal_number)
{
    unsigned i = 0;
    while (i + 1 < FAULT_SIGNALS && trk_fault_signals[i] != signal_number)
        i++;
    return &formers[i];
}

/* Handler, default, or ignored; SA_RESETHAND leaves the default behind. */
bool trk_fault_former_is_default(const struct fault *fault)
{
    const struct former *former = former_of(fault->signal_number);
    const struct sigaction *action = &former->action;
    if (!(action->sa_flags & SA_SIGINFO) &&
        (action->sa_handler == SIG_DFL || action->sa_handler == SIG_IGN))
        return true;
    return (action->sa_flags & (int)SA_RESETHAND) &&
           __atomic_load_n(&former->spent, __ATOMIC_RELAXED);
}

void trk_fault_chain(struct fault *fault)
{
    struct former *former = former_of(fault->signal_number);
    const struct sigaction *action = &former->action;
    bool plain = !(action->sa_flags & SA_SIGINFO);

    if (plain && action->sa_handler == SIG_IGN && trk_fault_sent(fault))
        return;
    /* An ignored fault cannot be ignored: the kernel treats it like the default, and so do we. */
    if (plain && (action->sa_handler == SIG_DFL || action->sa_handler == SIG_IGN)) {
        chain_default(fault);
        return;
    }
    if ((action->sa_flags & (int)SA_RESETHAND) &&
        __atomic_exchange_n(&former->spent, true, __ATOMIC_RELAXED)) {
        chain_default(fault);
        return;
    }
    chain_handler(fault, action);
}
