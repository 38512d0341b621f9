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
/* Somebody was seen over us, who hands on to us perhaps: then the signal may be blocked here. */
static bool others_seen;
static pthread_mutex_t install_mutex = PTHREAD_MUTEX_INITIALIZER;

_Thread_local struct env_interrupted trk_fault_interrupted
    __attribute__((tls_model("initial-exec")));

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

#define ALIGNMENT_CHECK (UINT64_C(1) << 18)

/* Signals that a thread's own instruction raises, and what abort(3) sends. */
static const int raised[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS, SIGABRT};
#define RAISED_COUNT (sizeof raised / sizeof raised[0])

/* What the kernel does for us where it calls us itself: an owner may fault in its callbacks. */
static void open_raised(sigset_t *former)
{
    sigset_t open;
    sigemptyset(&open);
    for (size_t i = 0; i < RAISED_COUNT; i++)
        sigaddset(&open, raised[i]);
    (void)pthread_sigmask(SIG_UNBLOCK, &open, former);
}

/*
 * The kernel leaves the interrupted code's alignment check on, and neither we nor an owner keep to
 * it. The interrupted flags come back with the context.
 */
static inline __attribute__((always_inline)) void end_alignment_check(void)
{
#if defined(__x86_64__)
    __builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() & ~ALIGNMENT_CHECK);
#endif
}

static __attribute__((noinline)) void take(int signal_number, siginfo_t *info, void *opaque)
{
    int former_errno = errno;
    bool others = __atomic_load_n(&others_seen, __ATOMIC_RELAXED);
    sigset_t mask;
    if (TRK_UNLIKELY(others))
        open_raised(&mask);
    struct fault fault = {.signal_number = signal_number,
                          .info = *info,
                          .context = opaque,
                          .owner = __atomic_load_n(&fault_owner, __ATOMIC_ACQUIRE)};
    fault.owner_context = fault_context;
    const struct env_interrupted outer = trk_fault_interrupted; /* a callback may fault */
    trk_fault_interrupted = trk_fault_interrupted_code(&fault);
    trk_fault_interrupted.frame = (uintptr_t)__builtin_frame_address(0);
    bool served = serve(&fault);
    trk_fault_interrupted = outer;
    if (TRK_UNLIKELY(others))
        (void)pthread_sigmask(SIG_SETMASK, &mask, NULL);
    errno = former_errno;
    if (served)
        return;
    trk_crash_tell(&fault, trk_fault_former_is_default(&fault));
    trk_fault_chain(&fault);
}

/* Without a local of its own: what a compiler does for those comes before the first statement. */
static void handle(int signal_number, siginfo_t *info, void *opaque)
{
    end_alignment_check();
    take(signal_number, info, opaque);
}

static bool is_ours(const struct sigaction *action)
{
    return (action->sa_flags & SA_SIGINFO) && action->sa_sigaction == handle;
}

static enum trk_status system_error(struct trk_error *error, const char *what)
{
    return trk_error_set_errno(error, TRK_E_SYSTEM, errno, "%s", what);
}

static enum trk_status install_all(struct trk_error *error)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = handle;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    /*
     * Signals that others send wait: their handlers may touch guest memory, whose regions this
     * thread has locked perhaps. Those that an instruction raises cannot wait.
     */
    sigfillset(&action.sa_mask);
    for (size_t i = 0; i < RAISED_COUNT; i++)
        sigdelset(&action.sa_mask, raised[i]);

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
        __atomic_store_n(&others_seen, false, __ATOMIC_RELAXED);
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

/* Say who has a signal in our place: its module, if the dynamic linker knows one. */
static enum trk_status name_other(int signal_number, const struct sigaction *action,
                                  struct trk_error *error)
{
    const char *name = signal_number == SIGSEGV  ? "SIGSEGV"
                       : signal_number == SIGBUS ? "SIGBUS"
                                                 : "SIGILL";
    if (!(action->sa_flags & SA_SIGINFO) && action->sa_handler == SIG_DFL)
        return trk_error_set(error, TRK_E_EXISTS, "%s: the default is back in our place", name);
    if (!(action->sa_flags & SA_SIGINFO) && action->sa_handler == SIG_IGN)
        return trk_error_set(error, TRK_E_EXISTS, "%s is ignored in our place", name);
    __atomic_store_n(&others_seen, true, __ATOMIC_RELAXED);
    uint64_t host_addr = (uint64_t)(uintptr_t)action->sa_handler; /* both forms share the place */
    struct crash_place place = {.module = "?", .offset_bytes = host_addr};
    trk_crash_modules_refresh();
    (void)trk_crash_module_find(host_addr, &place);
    return trk_error_set(error, TRK_E_EXISTS, "%s: a handler of %.60s (+0x%llx) stands over ours",
                         name, place.module, (unsigned long long)place.offset_bytes);
}

/* Whether all signals are ours still; with the mutex held. */
static enum trk_status look_for_others(struct trk_error *error)
{
    for (size_t i = 0; i < FAULT_SIGNALS; i++) {
        struct sigaction current;
        if (sigaction(trk_fault_signals[i], NULL, &current) != 0)
            return system_error(error, "cannot look at a signal handler");
        if (!is_ours(&current))
            return name_other(trk_fault_signals[i], &current, error);
    }
    return TRK_OK;
}

enum trk_status trk_fault_check(struct trk_error *error)
{
    pthread_mutex_lock(&install_mutex);
    enum trk_status status =
        installed ? look_for_others(error) : trk_error_set(error, TRK_E_ARGUMENT, "not installed");
    pthread_mutex_unlock(&install_mutex);
    return status;
}

enum trk_status trk_fault_uninstall(struct trk_error *error)
{
    pthread_mutex_lock(&install_mutex);
    enum trk_status status = installed ? look_for_others(error) : TRK_OK;
    if (installed && status == TRK_OK) {
        if (!trk_fault_former_restore(FAULT_SIGNALS))
            status = system_error(error, "cannot put a signal handler back");
        __atomic_store_n(&fault_owner, NULL, __ATOMIC_RELEASE);
        installed = false;
    }
    pthread_mutex_unlock(&install_mutex);
    return status;
}
