/*
 * The process's handler for SIGSEGV and SIGBUS: decode, ask the owner, or chain.
 *
 * It runs on whatever thread faulted, at any instruction. Nothing here allocates or locks; errno is
 * put back, and the signal mask comes back with the interrupted context. SA_NODEFER keeps the
 * signal open inside the handler, so that an owner's callback may itself touch a watched page; with
 * the signal blocked the kernel would kill the process there.
 *
 * Rules: [M-51] [M-53].
 */
#define _GNU_SOURCE
#include "track/fault.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#if defined(__aarch64__)
#include <asm/sigcontext.h>
#endif

/* The signals that are ours; the index is used throughout. */
static const int signals[] = {SIGSEGV, SIGBUS};
#define SIGNAL_COUNT (sizeof signals / sizeof signals[0])

struct former {
    struct sigaction action;
    bool spent; /* SA_RESETHAND, and it has run: SIG_DFL from then on */
};

/* Written under the mutex while no handler of ours is installed; read by the handler. */
static struct former formers[SIGNAL_COUNT];
static trk_fault_fn *fault_owner;
static void *fault_context;
static bool installed;
static pthread_mutex_t install_mutex = PTHREAD_MUTEX_INITIALIZER;

#if defined(__x86_64__)

#define TRAP_PAGE_FAULT  14
#define ERROR_WRITE      (1u << 1)
#define ERROR_INSN_FETCH (1u << 4)

static bool decode_access(const ucontext_t *context, enum trk_access *out)
{
    /* Other traps leave an error code of another meaning. */
    if (context->uc_mcontext.gregs[REG_TRAPNO] != TRAP_PAGE_FAULT)
        return false;
    unsigned long long code = (unsigned long long)context->uc_mcontext.gregs[REG_ERR];
    *out = (code & ERROR_INSN_FETCH) ? TRK_ACCESS_EXECUTE
           : (code & ERROR_WRITE)    ? TRK_ACCESS_WRITE
                                     : TRK_ACCESS_READ;
    return true;
}

#elif defined(__aarch64__)

#define ESR_CLASS_SHIFT     26
#define ESR_CLASS_MASK      0x3fu
#define ESR_CLASS_INSN_EL0  0x20u
#define ESR_CLASS_DATA_EL0  0x24u
#define ESR_WRITE_NOT_READ  (1u << 6)
#define ESR_CACHE_OPERATION (1u << 8) /* sets write-not-read too, but needs only read */

static bool decode_access(const ucontext_t *context, enum trk_access *out)
{
    const unsigned char *at = context->uc_mcontext.__reserved;
    const unsigned char *end = at + sizeof context->uc_mcontext.__reserved;
    while (at + sizeof(struct _aarch64_ctx) <= end) {
        struct _aarch64_ctx head;
        memcpy(&head, at, sizeof head);
        if (head.magic == 0 || head.size < sizeof head)
            return false;
        if (head.magic == ESR_MAGIC) {
            struct esr_context record;
            memcpy(&record, at, sizeof record);
            unsigned class = (unsigned)(record.esr >> ESR_CLASS_SHIFT) & ESR_CLASS_MASK;
            if (class == ESR_CLASS_INSN_EL0)
                *out = TRK_ACCESS_EXECUTE;
            else if (class != ESR_CLASS_DATA_EL0)
                return false;
            else if ((record.esr & ESR_WRITE_NOT_READ) && !(record.esr & ESR_CACHE_OPERATION))
                *out = TRK_ACCESS_WRITE;
            else
                *out = TRK_ACCESS_READ;
            return true;
        }
        at += head.size;
    }
    return false;
}

#else
#error "no access decoder for this machine"
#endif

/* Whether the kernel raised the signal because of an access to a page that did not let it. */
static bool is_page_access(int signal_number, const siginfo_t *info)
{
    if (signal_number == SIGSEGV)
        return info->si_code == SEGV_MAPERR || info->si_code == SEGV_ACCERR;
    return info->si_code == BUS_ADRERR;
}

/* Whether no instruction raised the signal: kill(2), or a memory error told ahead of its use. */
static bool is_sent(int signal_number, const siginfo_t *info)
{
    return info->si_code <= 0 || (signal_number == SIGBUS && info->si_code == BUS_MCEERR_AO);
}

/* Let the default action happen: the instruction faults again, or the signal is sent again. */
static void chain_default(int signal_number, const siginfo_t *info)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = SIG_DFL;
    sigemptyset(&action.sa_mask);
    (void)sigaction(signal_number, &action, NULL);
    if (is_sent(signal_number, info))
        (void)syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), signal_number);
}

/* Run a handler under the mask that the kernel would have given it. */
static void chain_handler(int signal_number, siginfo_t *info, ucontext_t *context,
                          const struct sigaction *action)
{
    sigset_t mask, ours;
    sigorset(&mask, &context->uc_sigmask, &action->sa_mask);
    if (!(action->sa_flags & SA_NODEFER))
        sigaddset(&mask, signal_number);
    (void)pthread_sigmask(SIG_SETMASK, &mask, &ours);
    if (action->sa_flags & SA_SIGINFO)
        action->sa_sigaction(signal_number, info, context);
    else
        action->sa_handler(signal_number);
    (void)pthread_sigmask(SIG_SETMASK, &ours, NULL);
}

static void chain(int signal_number, siginfo_t *info, ucontext_t *context)
{
    struct former *former = &formers[signal_number == SIGSEGV ? 0 : 1];
    const struct sigaction *action = &former->action;
    bool plain = !(action->sa_flags & SA_SIGINFO);

    if (plain && action->sa_handler == SIG_IGN && is_sent(signal_number, info))
        return;
    /* An ignored fault cannot be ignored: the kernel treats it like the default, and so do we. */
    if (plain && (action->sa_handler == SIG_DFL || action->sa_handler == SIG_IGN)) {
        chain_default(signal_number, info);
        return;
    }
    if ((action->sa_flags & (int)SA_RESETHAND) &&
        __atomic_exchange_n(&former->spent, true, __ATOMIC_RELAXED)) {
        chain_default(signal_number, info);
        return;
    }
    chain_handler(signal_number, info, context, action);
}

static void handle(int signal_number, siginfo_t *info, void *opaque)
{
    ucontext_t *context = opaque;
    int former_errno = errno;
    trk_fault_fn *owner = __atomic_load_n(&fault_owner, __ATOMIC_ACQUIRE);
    enum trk_access access;

    enum trk_fault_outcome outcome = TRK_FAULT_UNHANDLED;
    if (owner != NULL && is_page_access(signal_number, info) && decode_access(context, &access))
        outcome = owner(fault_context, (uint64_t)(uintptr_t)info->si_addr, access);

    errno = former_errno;
    if (outcome == TRK_FAULT_UNHANDLED)
        chain(signal_number, info, context);
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

/* Put back the first `count` former handlers. */
static enum trk_status restore(size_t count, struct trk_error *error)
{
    enum trk_status status = TRK_OK;
    for (size_t i = 0; i < count; i++) {
        if (sigaction(signals[i], &formers[i].action, NULL) != 0)
            status = system_error(error, "cannot put a signal handler back");
    }
    return status;
}

static enum trk_status install_all(struct trk_error *error)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = handle;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigemptyset(&action.sa_mask);

    /* First look, then install: a fault in between must find the former handlers known. */
    for (size_t i = 0; i < SIGNAL_COUNT; i++) {
        formers[i].spent = false;
        if (sigaction(signals[i], NULL, &formers[i].action) != 0)
            return system_error(error, "cannot look at a signal handler");
    }
    for (size_t i = 0; i < SIGNAL_COUNT; i++) {
        if (sigaction(signals[i], &action, NULL) != 0) {
            enum trk_status status = system_error(error, "cannot install a signal handler");
            (void)restore(i, NULL);
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
    for (size_t i = 0; installed && status == TRK_OK && i < SIGNAL_COUNT; i++) {
        struct sigaction current;
        if (sigaction(signals[i], NULL, &current) != 0)
            status = system_error(error, "cannot look at a signal handler");
        else if (!is_ours(&current))
            status = trk_error_set(error, TRK_E_EXISTS, "a later handler stands over ours");
    }
    if (installed && status == TRK_OK) {
        status = restore(SIGNAL_COUNT, error);
        __atomic_store_n(&fault_owner, NULL, __ATOMIC_RELEASE);
        installed = false;
    }
    pthread_mutex_unlock(&install_mutex);
    return status;
}
