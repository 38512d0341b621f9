/*
 * The process's handler for SIGSEGV, SIGBUS and SIGILL: emulate, ask the owner, or chain.
 *
 * It runs on whatever thread faulted, at any instruction. Nothing here allocates or locks; errno is
 * put back, and the signal mask comes back with the interrupted context. SA_NODEFER keeps the
 * signal open inside the handler, so that an owner's callback may itself touch a watched page; with
 * the signal blocked the kernel would kill the process there.
 *
 * Rules: [M-51].
 */
#define _GNU_SOURCE
#include "track/fault.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "crash_parts.h"
#include "fault_parts.h"

/* Written under the mutex while no handler of ours is installed; read by the handler. */
static trk_fault_fn *fault_owner;
static void *fault_context;
static bool installed;
static pthread_mutex_t install_mutex = PTHREAD_MUTEX_INITIALIZER;

/* Branches 1 and 2: whether the interrupted code may go on. */
static bool serve(struct fault *fault)
{
    enum trk_access access;
    if (fault->signal_number == SIGILL)
        return trk_fault_emulate(fault);
    return fault->owner != NULL && trk_fault_access(fault, &access) &&
           fault->owner(fault->owner_context, trk_fault_host_addr(fault), access) !=
               TRK_FAULT_UNHANDLED;
}

static void handle(int signal_number, siginfo_t *info, void *opaque)
{
    int former_errno = errno;
    struct fault fault = {.signal_number = signal_number,
                          .info = *info,
                          .context = opaque,
                          .again = true,
                          .owner = __atomic_load_n(&fault_owner, __ATOMIC_ACQUIRE)};
    fault.owner_context = fault_context;
    bool served = serve(&fault);
    errno = former_errno;
    if (served)
        return;
    trk_crash_tell(&fault, trk_fault_former_is_default(&fault));
    trk_fault_chain(&fault);
}

static bool is_ours(const struct sigaction *action)
{
    return (action->sa_flags & SA_SIGINFO) && action->sa_sigaction == handle;
}

static enum trk_status system_error(struct trk_error *error, const char *what)
{
    int saved = errno;
    trk_error_set(error, TRK_E_SYSTEM, "%s: %s", what, strerror(saved));
    if (error != NULL)
        error->os_errno = saved;
    return TRK_E_SYSTEM;
}

static enum trk_status install_all(struct trk_error *error)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = handle;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigemptyset(&action.sa_mask);

    /* First look, then install: a fault in between must find the former handlers known. */
    if (!trk_fault_former_save())
        return system_error(error, "cannot look at a signal handler");
    for (unsigned i = 0; i < FAULT_SIGNALS; i++) {
        if (sigaction(trk_fault_signals[i], &action, NULL) != 0) {
            enum trk_status status = system_error(error, "cannot install a signal handler");
            (void)trk_fault_former_restore(i);
            return status;
        }
    }
    return TRK_OK;
}

enum trk_status trk_fault_install(trk_fault_fn *owner, void *context, struct trk_error *error)
{
    if (owner == NULL)
        return trk_error_set(error, TRK_E_ARGUMENT, "a fault handler needs an owner");

    enum trk_status status = TRK_OK;
    pthread_mutex_lock(&install_mutex);
    if (!installed) {
        trk_crash_modules_refresh();
        fault_context = context;
        __atomic_store_n(&fault_owner, owner, __ATOMIC_RELEASE);
        status = install_all(error);
        installed = status == TRK_OK;
        if (!installed)
            __atomic_store_n(&fault_owner, NULL, __ATOMIC_RELEASE);
    } else if (fault_owner != owner || fault_context != context) {
        status = trk_error_set(error, TRK_E_EXISTS, "another owner has the fault handler");
    }
    pthread_mutex_unlock(&install_mutex);
    return status;
}

enum trk_status trk_fault_uninstall(struct trk_error *error)
{
    enum trk_status status = TRK_OK;
    pthread_mutex_lock(&install_mutex);
    for (size_t i = 0; installed && status == TRK_OK && i < FAULT_SIGNALS; i++) {
        struct sigaction current;
        if (sigaction(trk_fault_signals[i], NULL, &current) != 0)
            status = system_error(error, "cannot look at a signal handler");
        else if (!is_ours(&current))
            status = trk_error_set(error, TRK_E_EXISTS, "a later handler stands over ours");
    }
    if (installed && status == TRK_OK) {
        if (!trk_fault_former_restore(FAULT_SIGNALS))
            status = system_error(error, "cannot put a signal handler back");
        __atomic_store_n(&fault_owner, NULL, __ATOMIC_RELEASE);
        installed = false;
    }
    pthread_mutex_unlock(&install_mutex);
    return status;
}
