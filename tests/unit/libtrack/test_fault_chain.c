/*
 * Goal: what is not the owner's takes its former course: handlers of all kinds run as the kernel
 * would have run them, default actions kill with the original signal, ignored signals stay ignored.
 * Method: each case in a child of its own with the disposition set before ours; how it ended and
 * what the former handler saw decide.
 *
 * Rules: [M-51].
 */
#define _GNU_SOURCE
#include <criterion/criterion.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "child.h"
#include "track/address.h"
#include "track/fault.h"

#define PAGE TRK_HOST_PAGE_BYTES

/* Children say what happened by their exit code. */
enum {
    END_SURVIVED = 10,
    END_SET_UP_FAILED = 11,
    END_HANDLER_GOOD = 12,
    END_HANDLER_BAD = 13,
    END_OWNER_ASKED = 14,
};

enum disposition {
    FORMER_DEFAULT,
    FORMER_IGNORE,
    FORMER_PLAIN,
    FORMER_INFO,
    FORMER_INFO_NODEFER,
    FORMER_RESET,
    FORMER_JUMPS,
};

enum cause {
    CAUSE_STORE,        /* a store to a closed page */
    CAUSE_BUS,          /* a load behind a file's end */
    CAUSE_NO_CANONICAL, /* an address that is none */
    CAUSE_KILL,         /* kill(2) to ourselves */
};

struct chain_case {
    const char *name;
    int signal_number;
    enum disposition former;
    enum cause cause;
    bool owner_asked;
    int exit_code, end_signal; /* how the child must end */
};

static unsigned char *closed_page;
static volatile int owner_calls, handler_calls;
static sigjmp_buf jump;
static const struct chain_case *running;

static enum trk_fault_outcome decline(void *context, uint64_t host_addr, enum trk_access access)
{
    (void)context;
    (void)host_addr;
    (void)access;
    owner_calls++;
    errno = EDOM;
    return TRK_FAULT_UNHANDLED;
}

static bool mask_is_as_by_kernel(bool defer)
{
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    return sigismember(&mask, SIGUSR1) && sigismember(&mask, SIGUSR2) &&
           !sigismember(&mask, SIGTERM) && sigismember(&mask, running->signal_number) == defer;
}

static void former_plain(int signal_number)
{
    bool good =
        signal_number == running->signal_number && mask_is_as_by_kernel(true) && errno == ENOTTY;
    _exit(good ? END_HANDLER_GOOD : END_HANDLER_BAD);
}

static void former_info(int signal_number, siginfo_t *info, void *context)
{
    bool good = signal_number == running->signal_number && context != NULL && errno == ENOTTY;
    good = good && mask_is_as_by_kernel(running->former != FORMER_INFO_NODEFER);
    if (running->cause == CAUSE_STORE)
        good = good && info->si_addr == closed_page + 3 && info->si_code == SEGV_ACCERR;
    if (running->cause == CAUSE_KILL)
        good = good && info->si_code == SI_USER && info->si_pid == getpid();
    _exit(good ? END_HANDLER_GOOD : END_HANDLER_BAD);
}

/* Runs once, returns, and must not run a second time. */
static void former_reset(int signal_number)
{
    (void)signal_number;
    if (++handler_calls > 1)
        _exit(END_HANDLER_BAD);
}

static void former_jumps(int signal_number)
{
    (void)signal_number;
    siglongjmp(jump, 1);
}

static int set_former(const struct chain_case *c)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    sigemptyset(&action.sa_mask);
    sigaddset(&action.sa_mask, SIGUSR2);
    action.sa_handler = SIG_DFL;
    if (c->former == FORMER_IGNORE)
        action.sa_handler = SIG_IGN;
    if (c->former == FORMER_PLAIN)
        action.sa_handler = former_plain;
    if (c->former == FORMER_JUMPS)
        action.sa_handler = former_jumps;
    if (c->former == FORMER_RESET) {
        action.sa_handler = former_reset;
        action.sa_flags = (int)SA_RESETHAND;
    }
    if (c->former == FORMER_INFO || c->former == FORMER_INFO_NODEFER) {
        action.sa_sigaction = former_info;
        action.sa_flags = SA_SIGINFO | (c->former == FORMER_INFO_NODEFER ? SA_NODEFER : 0);
    }
    return sigaction(c->signal_number, &action, NULL);
}

static int cause(const struct chain_case *c)
{
    errno = ENOTTY;
    switch (c->cause) {
    case CAUSE_STORE:
        *(volatile unsigned char *)(closed_page + 3) = 1;
        break;
    case CAUSE_BUS: {
        int fd = memfd_create("empty", 0);
        volatile unsigned char *memory = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
        errno = ENOTTY;
        (void)*memory;
        break;
    }
    case CAUSE_NO_CANONICAL: {
        uintptr_t nowhere = (uintptr_t)1 << 62;
        __asm__ volatile("" : "+r"(nowhere));
        *(volatile unsigned char *)nowhere = 1;
        break;
    }
    case CAUSE_KILL:
        kill(getpid(), c->signal_number);
        break;
    }
    return END_SURVIVED;
}

static int child(const void *argument)
{
    running = argument;
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    pthread_sigmask(SIG_SETMASK, &blocked, NULL);
    closed_page = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (set_former(running) != 0 || trk_fault_install(decline, NULL, NULL) != TRK_OK ||
        trk_fault_thread_enter(NULL) != TRK_OK)
        return END_SET_UP_FAILED;
    if (sigsetjmp(jump, 1) != 0)
        return mask_is_as_by_kernel(false) ? END_HANDLER_BAD : END_HANDLER_GOOD;
    int end = cause(running);
    return owner_calls != 0 ? END_OWNER_ASKED : end;
}

static const struct chain_case chain_cases[] = {
    {"fault, default", SIGSEGV, FORMER_DEFAULT, CAUSE_STORE, true, -1, SIGSEGV},
    {"fault, ignored: the kernel kills", SIGSEGV, FORMER_IGNORE, CAUSE_STORE, true, -1, SIGSEGV},
    {"fault, plain handler", SIGSEGV, FORMER_PLAIN, CAUSE_STORE, true, END_HANDLER_GOOD, 0},
    {"fault, info handler", SIGSEGV, FORMER_INFO, CAUSE_STORE, true, END_HANDLER_GOOD, 0},
    {"fault, nodefer", SIGSEGV, FORMER_INFO_NODEFER, CAUSE_STORE, true, END_HANDLER_GOOD, 0},
    {"fault, one-shot handler", SIGSEGV, FORMER_RESET, CAUSE_STORE, true, -1, SIGSEGV},
    {"fault, handler that jumps", SIGSEGV, FORMER_JUMPS, CAUSE_STORE, true, END_HANDLER_GOOD, 0},
    {"bus error, default", SIGBUS, FORMER_DEFAULT, CAUSE_BUS, true, -1, SIGBUS},
    {"bus error, ignored", SIGBUS, FORMER_IGNORE, CAUSE_BUS, true, -1, SIGBUS},
    {"bus error, info handler", SIGBUS, FORMER_INFO, CAUSE_BUS, true, END_HANDLER_GOOD, 0},
    {"sent, default", SIGSEGV, FORMER_DEFAULT, CAUSE_KILL, false, -1, SIGSEGV},
    {"sent, ignored: nothing", SIGSEGV, FORMER_IGNORE, CAUSE_KILL, false, END_SURVIVED, 0},
    {"sent, plain handler", SIGSEGV, FORMER_PLAIN, CAUSE_KILL, false, END_HANDLER_GOOD, 0},
    {"sent, info handler", SIGSEGV, FORMER_INFO, CAUSE_KILL, false, END_HANDLER_GOOD, 0},
    {"sent bus error, default", SIGBUS, FORMER_DEFAULT, CAUSE_KILL, false, -1, SIGBUS},
    {"sent bus error, ignored", SIGBUS, FORMER_IGNORE, CAUSE_KILL, false, END_SURVIVED, 0},
#if defined(__x86_64__)
    {"no canonical address, default", SIGSEGV, FORMER_DEFAULT, CAUSE_NO_CANONICAL, false, -1,
     SIGSEGV},
    {"no canonical address, info handler", SIGSEGV, FORMER_INFO, CAUSE_NO_CANONICAL, false,
     END_HANDLER_GOOD, 0},
#endif
};

Test(fault_chain, former_disposition_takes_its_course)
{
    for (size_t i = 0; i < sizeof chain_cases / sizeof chain_cases[0]; i++) {
        const struct chain_case *c = &chain_cases[i];
        struct child_end end = child_run(child, c);
        cr_expect_eq(end.exit_code, c->exit_code, "%s: exit code %d", c->name, end.exit_code);
        cr_expect_eq(end.signal_number, c->end_signal, "%s: signal %d", c->name, end.signal_number);
    }
}

/* The owner says so by another exit code than any above, before it declines. */
static enum trk_fault_outcome say_asked(void *context, uint64_t host_addr, enum trk_access access)
{
    (void)context;
    (void)host_addr;
    (void)access;
    _exit(END_OWNER_ASKED);
}

static int child_owner_asked(const void *argument)
{
    running = argument;
    closed_page = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (set_former(running) != 0 || trk_fault_install(say_asked, NULL, NULL) != TRK_OK)
        return END_SET_UP_FAILED;
    return cause(running);
}

Test(fault_chain, owner_is_asked_for_page_faults_only)
{
    for (size_t i = 0; i < sizeof chain_cases / sizeof chain_cases[0]; i++) {
        const struct chain_case *c = &chain_cases[i];
        struct child_end end = child_run(child_owner_asked, c);
        cr_expect_eq(end.exit_code == END_OWNER_ASKED, c->owner_asked, "%s: exit code %d", c->name,
                     end.exit_code);
    }
}

/* ---- signals while a fault is served ---- */

static sigset_t mask_of_owner;

static enum trk_fault_outcome look_at_mask(void *context, uint64_t host_addr,
                                           enum trk_access access)
{
    pthread_sigmask(SIG_SETMASK, NULL, &mask_of_owner);
    (void)context;
    (void)access;
    mprotect((void *)(uintptr_t)(host_addr & ~(PAGE - 1)), PAGE, PROT_READ | PROT_WRITE);
    return TRK_FAULT_SERVED;
}

/* Others' signals wait while a fault is served; what an instruction raises does not. */
Test(fault_chain, signals_in_the_handler)
{
    static const int raised[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS, SIGABRT};
    static const int sent[] = {SIGUSR1, SIGALRM, SIGTERM, SIGPROF, SIGINT, SIGCHLD};
    unsigned char *memory = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert_eq(trk_fault_install(look_at_mask, NULL, NULL), TRK_OK);
    *(volatile unsigned char *)memory = 1;
    for (size_t i = 0; i < sizeof raised / sizeof raised[0]; i++)
        cr_expect_eq(sigismember(&mask_of_owner, raised[i]), 0, "signal %d", raised[i]);
    for (size_t i = 0; i < sizeof sent / sizeof sent[0]; i++)
        cr_expect_eq(sigismember(&mask_of_owner, sent[i]), 1, "signal %d", sent[i]);
    munmap(memory, PAGE);
    cr_expect_eq(trk_fault_uninstall(NULL), TRK_OK);
}

/* The kernel ends a process whose thread has blocked what its own instruction raises. */
Test(fault_chain, a_thread_that_had_them_blocked)
{
    static const int blocked[] = {SIGSEGV, SIGBUS, SIGILL};
    sigset_t mask = {{0}};
    for (size_t i = 0; i < 3; i++)
        sigaddset(&mask, blocked[i]);
    unsigned char *memory = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert_eq(trk_fault_install(look_at_mask, NULL, NULL), TRK_OK);
    pthread_sigmask(SIG_BLOCK, &mask, NULL);
    cr_assert_eq(trk_fault_thread_enter(NULL), TRK_OK);
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    for (size_t i = 0; i < 3; i++)
        cr_assert_eq(sigismember(&mask, blocked[i]), 0, "signal %d", blocked[i]);
    *(volatile unsigned char *)memory = 1;
    trk_fault_thread_leave();
    munmap(memory, PAGE);
    cr_expect_eq(trk_fault_uninstall(NULL), TRK_OK);
}

/* ---- installing and taking away ---- */

static void on_top(int signal_number)
{
    (void)signal_number;
}

Test(fault_chain, installed_once)
{
    int one, two;
    struct trk_error error;
    cr_assert_eq(trk_fault_install(decline, &one, &error), TRK_OK);
    cr_expect_eq(trk_fault_install(decline, &one, &error), TRK_OK, "the same owner again");
    cr_expect_eq(trk_fault_install(decline, &two, &error), TRK_E_EXISTS, "another context");
    cr_expect_eq(trk_fault_install(say_asked, &one, &error), TRK_E_EXISTS, "another owner");
    cr_expect_eq(trk_fault_install(say_asked, &one, NULL), TRK_E_EXISTS);
    cr_expect_eq(trk_fault_uninstall(&error), TRK_OK);
    cr_expect_eq(trk_fault_install(say_asked, &two, &error), TRK_OK, "free again");
    cr_expect_eq(trk_fault_uninstall(&error), TRK_OK);
    cr_expect_eq(trk_fault_uninstall(&error), TRK_OK, "nothing to take away");
}

Test(fault_chain, uninstall_puts_the_former_handlers_back)
{
    struct sigaction segv = {.sa_handler = former_jumps}, bus = {.sa_handler = SIG_IGN}, after;
    cr_assert_eq(sigaction(SIGSEGV, &segv, NULL), 0);
    cr_assert_eq(sigaction(SIGBUS, &bus, NULL), 0);
    cr_assert_eq(trk_fault_install(decline, NULL, NULL), TRK_OK);
    cr_assert_eq(trk_fault_uninstall(NULL), TRK_OK);
    sigaction(SIGSEGV, NULL, &after);
    cr_expect_eq(after.sa_handler, former_jumps);
    sigaction(SIGBUS, NULL, &after);
    cr_expect_eq(after.sa_handler, SIG_IGN);
}

/* A handler for one signal that has had it is gone, as the kernel would have left it. */
Test(fault_chain, uninstall_leaves_the_default_for_a_spent_handler)
{
    struct sigaction once = {.sa_handler = former_reset, .sa_flags = (int)SA_RESETHAND};
    struct sigaction after, before;
    cr_assert_eq(sigaction(SIGBUS, &once, &before), 0);
    cr_assert_eq(trk_fault_install(decline, NULL, NULL), TRK_OK);
    raise(SIGBUS);
    cr_expect_eq(handler_calls, 1);
    cr_expect_eq(trk_fault_uninstall(NULL), TRK_OK);
    cr_assert_eq(sigaction(SIGBUS, &before, &after), 0);
    cr_expect(after.sa_handler == SIG_DFL);
}

Test(fault_chain, uninstall_leaves_a_later_handler_alone)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGILL};
    for (size_t i = 0; i < 3; i++) {
        struct sigaction later = {.sa_handler = on_top}, ours, after;
        cr_assert_eq(trk_fault_install(decline, NULL, NULL), TRK_OK);
        cr_assert_eq(sigaction(signals[i], &later, &ours), 0);
        cr_expect_eq(trk_fault_uninstall(NULL), TRK_E_EXISTS);
        sigaction(signals[i], NULL, &after);
        cr_expect_eq(after.sa_handler, on_top);
        sigaction(signals[(i + 1) % 3], NULL, &after);
        cr_expect_eq(after.sa_sigaction, ours.sa_sigaction, "the other one stays ours");
        cr_assert_eq(sigaction(signals[i], &ours, NULL), 0);
        cr_expect_eq(trk_fault_uninstall(NULL), TRK_OK);
    }
}

static struct sigaction ours_below;
static unsigned char *first_page, *second_page;

static void hand_on(int signal_number, siginfo_t *info, void *context)
{
    ours_below.sa_sigaction(signal_number, info, context);
}

/* Opens the page; for the first one only after a fault of its own. */
static enum trk_fault_outcome open_with_a_fault(void *context, uint64_t host_addr,
                                                enum trk_access access)
{
    (void)context;
    (void)access;
    unsigned char *page = host_addr - (uintptr_t)first_page < PAGE ? first_page : second_page;
    owner_calls++;
    if (page == first_page)
        *(volatile unsigned char *)second_page = 2;
    mprotect(page, PAGE, PROT_READ | PROT_WRITE);
    return TRK_FAULT_SERVED;
}

/* A handler that was installed later and hands on, whatever its flags: faults are served through
 * it, and the mask that it had comes back to it. */
Test(fault_chain, later_handler_that_hands_on)
{
    static const int flags[] = {SA_SIGINFO, SA_SIGINFO | SA_ONSTACK, SA_SIGINFO | SA_NODEFER};
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        struct sigaction later = {.sa_sigaction = hand_on, .sa_flags = flags[i]};
        first_page = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        second_page = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        cr_assert_eq(trk_fault_install(open_with_a_fault, NULL, NULL), TRK_OK);
        cr_assert_eq(sigaction(SIGSEGV, &later, &ours_below), 0);
        cr_expect_eq(trk_fault_check(NULL), TRK_E_EXISTS);
        owner_calls = 0;
        *(volatile unsigned char *)first_page = 1;
        cr_expect_eq(owner_calls, 2, "flags 0x%x: %d calls", (unsigned)flags[i], owner_calls);
        cr_expect_eq(first_page[0] + second_page[0], 3);
        cr_assert_eq(sigaction(SIGSEGV, &ours_below, NULL), 0);
        cr_expect_eq(trk_fault_uninstall(NULL), TRK_OK);
        munmap(first_page, PAGE);
        munmap(second_page, PAGE);
    }
}

struct other_case {
    const char *name;
    struct sigaction action;
    const char *said;
};

/* Who stands in our place is named, by signal and module. */
Test(fault_chain, others_are_named)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGILL};
    static const char *const names[] = {"SIGSEGV", "SIGBUS", "SIGILL"};
    const struct other_case cases[] = {
        {"a handler", {.sa_handler = on_top}, ": a handler of (program) (+0x"},
        {"libc's", {.sa_handler = (void (*)(int))(uintptr_t)abs}, ": a handler of /"},
        {"nobody's", {.sa_handler = (void (*)(int))(uintptr_t)64}, ": a handler of ? (+0x40)"},
        {"the default", {.sa_handler = SIG_DFL}, ": the default is back in our place"},
        {"ignored", {.sa_handler = SIG_IGN}, " is ignored in our place"},
    };
    struct trk_error error;
    cr_expect_eq(trk_fault_check(&error), TRK_E_ARGUMENT);
    cr_assert_eq(trk_fault_install(decline, NULL, NULL), TRK_OK);
    cr_expect_eq(trk_fault_check(&error), TRK_OK);
    for (size_t i = 0; i < 3; i++) {
        for (size_t j = 0; j < sizeof cases / sizeof cases[0]; j++) {
            struct sigaction ours;
            char said[64];
            cr_assert_eq(sigaction(signals[i], &cases[j].action, &ours), 0);
            cr_expect_eq(trk_fault_check(&error), TRK_E_EXISTS, "%s", cases[j].name);
            cr_expect_eq(trk_fault_check(NULL), TRK_E_EXISTS);
            snprintf(said, sizeof said, "%s%s", names[i], cases[j].said);
            cr_expect_eq(strncmp(error.text, said, strlen(said)), 0, "%s: %s", cases[j].name,
                         error.text);
            cr_assert_eq(sigaction(signals[i], &ours, NULL), 0);
        }
    }
    cr_expect_eq(trk_fault_check(NULL), TRK_OK);
    cr_expect_eq(trk_fault_uninstall(NULL), TRK_OK);
}

Test(fault_chain, install_needs_an_owner)
{
    cr_expect_eq(trk_fault_install(NULL, NULL, NULL), TRK_E_ARGUMENT);
}
