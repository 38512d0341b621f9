/*
 * Goal: whatever a thread dies of, the report is there with every part that can be read and no
 * other, and the process ends by the signal that it would have ended by.
 * Method: each crash in a child of its own; its standard error is searched for the parts.
 *
 * Rules: [M-60].
 */
#define _GNU_SOURCE
#include <criterion/criterion.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "child.h"
#include "track/address.h"
#include "track/crash.h"
#include "track/fault.h"

#if defined(__x86_64__)

#define PAGE TRK_HOST_PAGE_BYTES

enum { END_FORMER = 31, END_SURVIVED = 32, END_SET_UP_FAILED = 33 };

static unsigned char *closed; /* two pages that nobody may touch */
static volatile bool owner_faults;

static enum trk_fault_outcome owner(void *context, uint64_t host_addr, enum trk_access access)
{
    (void)context;
    (void)host_addr;
    (void)access;
    if (owner_faults) {
        owner_faults = false;
        *(volatile unsigned char *)(closed + PAGE) = 2;
    }
    return TRK_FAULT_UNHANDLED;
}

/* ---- ways to die ---- */

static void plain_store(void)
{
    __asm__ volatile("mov $0x1111111111111111, %%rbx\n"
                     "mov $0x2222222222222222, %%r15\n"
                     "movb $1, 5(%[at])\n"
                     :
                     : [at] "a"(closed)
                     : "rbx", "r15", "memory");
}

static void plain_load(void)
{
    (void)*(volatile unsigned char *)(closed + 1);
}

static void undefined_instruction(void)
{
    __asm__ volatile("ud2");
}

static void beyond_a_file(void)
{
    int fd = memfd_create("empty", 0);
    volatile unsigned char *memory = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
    (void)*memory;
}

static void push_on_closed_stack(void)
{
    __asm__ volatile("mov %[top], %%rsp\n push %%rax\n" : : [top] "r"(closed + PAGE) : "memory");
}

static void bad_stack_pointer(void)
{
    __asm__ volatile("mov $0x10, %%rsp\n movb $1, (%[at])\n" : : [at] "r"(closed) : "memory");
}

static void bad_program_counter(void)
{
    __asm__ volatile("call *%[at]\n" : : [at] "r"(closed) : "memory");
}

static volatile int depth;

/* Not a tail call, and nothing that a compiler may turn into a loop. */
static __attribute__((noinline)) int recurse(volatile int *above)
{
    volatile int here[64];
    here[0] = *above + 1;
    depth = here[0];
    if (depth < 0)
        return 0;
    return recurse(here) + here[1 + (here[0] & 1)];
}

static void overflow_the_stack(void)
{
    volatile int start = 0;
    depth = recurse(&start);
}

static void fault_inside_the_owner(void)
{
    owner_faults = true;
    plain_load();
}

/* A trap: the processor stands behind the instruction, which will not raise it again. */
static void overflow_trap(void)
{
    __asm__ volatile("int $4");
}

static void not_on_this_stack(int signal_number)
{
    (void)signal_number;
}

/* A signal for which there is no room: the kernel sends SIGSEGV in its place, once. */
static void no_room_for_a_frame(void)
{
    signal(SIGUSR1, not_on_this_stack);
    __asm__ volatile("mov %%rsp, %%r12\n"
                     "mov $0x10, %%rsp\n"
                     "syscall\n"
                     "mov %%r12, %%rsp\n"
                     :
                     : "a"(SYS_tgkill), "D"(getpid()), "S"(gettid()), "d"(SIGUSR1)
                     : "rcx", "r11", "r12", "memory");
}

static void send_to_myself(void)
{
    kill(getpid(), SIGSEGV);
}

/* ---- cases ---- */

enum who { GUEST_NAMED, GUEST_UNNAMED, HOST, GUEST_NO_MORE };
enum former { FORMER_DEFAULT, FORMER_HANDLER };

struct crash_case {
    const char *name;
    void (*dies)(void);
    enum who who;
    enum former former;
    enum trk_crash_reports reports;
    int signal_number; /* 0: exit code END_FORMER */
    bool report, code, stack;
    const char *last; /* the last line up to pc; then comes access */
    const char *access;
};

static const struct crash_case *running;

static void former(int signal_number)
{
    (void)signal_number;
    _exit(END_FORMER);
}

static void *body(void *unused)
{
    if (trk_fault_thread_enter(NULL) != TRK_OK)
        _exit(END_SET_UP_FAILED);
    if (running->who == GUEST_NAMED)
        trk_crash_thread_guest("render");
    if (running->who == GUEST_UNNAMED)
        trk_crash_thread_guest(NULL);
    if (running->who == GUEST_NO_MORE) {
        trk_crash_thread_guest("render");
        trk_crash_thread_host();
    }
    running->dies();
    return unused;
}

/* A sanitizer has handlers of its own. */
static void set_formers(void (*segv)(int))
{
    signal(SIGSEGV, segv);
    signal(SIGBUS, SIG_DFL);
    signal(SIGILL, SIG_DFL);
}

static int child(const void *argument)
{
    running = argument;
    closed = mmap(NULL, 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    set_formers(running->former == FORMER_HANDLER ? former : SIG_DFL);
    trk_crash_reports_set(running->reports, STDERR_FILENO);
    pthread_t thread;
    if (closed == MAP_FAILED || trk_fault_install(owner, NULL, NULL) != TRK_OK ||
        pthread_create(&thread, NULL, body, NULL) != 0)
        return END_SET_UP_FAILED;
    pthread_join(thread, NULL);
    return END_SURVIVED;
}

#define ALL   TRK_CRASH_REPORT_ALL
#define FATAL TRK_CRASH_REPORT_FATAL
#define NONE  TRK_CRASH_REPORT_NONE

static const struct crash_case crash_cases[] = {
    {"a store", plain_store, GUEST_NAMED, FORMER_DEFAULT, ALL, SIGSEGV, true, true, true,
     "type=SIGSEGV code=2 pc=0x", "access=write"},
    {"a load on a host's thread", plain_load, HOST, FORMER_DEFAULT, ALL, SIGSEGV, true, true, true,
     "type=SIGSEGV code=2 pc=0x", "access=read"},
    {"a load on a thread that is the host's again", plain_load, GUEST_NO_MORE, FORMER_DEFAULT, ALL,
     SIGSEGV, true, true, true, "type=SIGSEGV code=2 pc=0x", "access=read"},
    {"an unnamed thread", plain_load, GUEST_UNNAMED, FORMER_DEFAULT, ALL, SIGSEGV, true, true, true,
     "type=SIGSEGV code=2 pc=0x", "access=read"},
    {"an illegal instruction", undefined_instruction, GUEST_NAMED, FORMER_DEFAULT, ALL, SIGILL,
     true, true, true, "type=SIGILL code=2 pc=0x", "access=none"},
    {"a bus error", beyond_a_file, GUEST_NAMED, FORMER_DEFAULT, ALL, SIGBUS, true, true, true,
     "type=SIGBUS code=2 pc=0x", "access=read"},
    {"guest stack page protected", push_on_closed_stack, GUEST_NAMED, FORMER_DEFAULT, ALL, SIGSEGV,
     true, true, false, "type=SIGSEGV code=2 pc=0x", "access=write"},
    {"unreadable stack pointer", bad_stack_pointer, GUEST_NAMED, FORMER_DEFAULT, ALL, SIGSEGV, true,
     true, false, "type=SIGSEGV code=2 pc=0x", "access=write"},
    {"unreadable pc", bad_program_counter, GUEST_NAMED, FORMER_DEFAULT, ALL, SIGSEGV, true, false,
     true, "type=SIGSEGV code=2 pc=0x", "access=execute"},
    {"handler re-entered", fault_inside_the_owner, GUEST_NAMED, FORMER_DEFAULT, ALL, SIGSEGV, true,
     true, true, "type=SIGSEGV code=2 pc=0x", "access=write"},
    {"a trap", overflow_trap, GUEST_NAMED, FORMER_DEFAULT, ALL, SIGSEGV, true, true, true,
     "type=SIGSEGV code=128 pc=0x", "access=none"},
    {"no room for a frame", no_room_for_a_frame, GUEST_NAMED, FORMER_DEFAULT, ALL, SIGSEGV, true,
     true, false, "type=SIGSEGV code=128 pc=0x", "access=none"},
    {"a former handler", plain_load, GUEST_NAMED, FORMER_HANDLER, ALL, 0, true, true, true,
     "type=SIGSEGV code=2 pc=0x", "access=read"},
    {"a former handler, fatal ones only", plain_load, GUEST_NAMED, FORMER_HANDLER, FATAL, 0, false,
     false, false, NULL, NULL},
    {"default, fatal ones only", plain_load, GUEST_NAMED, FORMER_DEFAULT, FATAL, SIGSEGV, true,
     true, true, "type=SIGSEGV code=2 pc=0x", "access=read"},
    {"no reports", plain_load, GUEST_NAMED, FORMER_DEFAULT, NONE, SIGSEGV, false, false, false,
     NULL, NULL},
    {"a signal that was sent", send_to_myself, GUEST_NAMED, FORMER_DEFAULT, ALL, SIGSEGV, false,
     false, false, NULL, NULL},
};

static unsigned lines_between(const char *from, const char *words)
{
    unsigned lines = 0;
    const char *at = strstr(from, words);
    if (at == NULL)
        return 0;
    at = strchr(at, '\n') + 1;
    for (; strncmp(at, "0x", 2) == 0; at = strchr(at, '\n') + 1)
        lines++;
    return lines;
}

static void check_report(const struct crash_case *c, const char *text)
{
    static const char *const threads[] = {"thread: render\n", "thread: (unnamed guest thread)\n",
                                          "thread: (host thread)\n", "thread: (host thread)\n"};
    static const char *const lines[] = {"\nrax=", "\nrsi=", "\nr8=", "\nr12="};
    const char *start = strstr(text, "--- Guest fault context ---\nthread: ");
    cr_assert_neq(start, NULL, "%s: no report: %s", c->name, text);
    cr_expect_eq(strstr(start + 1, "--- Guest"), NULL, "%s: two reports", c->name);
    cr_expect(strstr(start, threads[c->who]) != NULL, "%s: thread", c->name);
    for (size_t i = 0; i < 4; i++) {
        const char *line = strstr(start, lines[i]);
        cr_assert_neq(line, NULL, "%s: %s", c->name, lines[i] + 1);
        int length = (int)strcspn(line + 1, "\n");
        cr_expect_eq(length, i < 2 ? 83 : i == 2 ? 81 : 83, "%s: a line of %d", c->name, length);
    }
    cr_expect_eq(lines_between(start, "Code bytes:\n"), c->code ? 6 : 0, "%s: code", c->name);
    cr_expect_eq(lines_between(start, "Stack:\n"), c->stack ? 8 : 0, "%s: stack", c->name);
    const char *last = strstr(start, "Unhandled host exception: ");
    cr_assert_neq(last, NULL, "%s: no last line", c->name);
    cr_expect_eq(strncmp(last + 26, c->last, strlen(c->last)), 0, "%s: %s", c->name, last);
    cr_expect(strstr(last, c->access) != NULL, "%s: %s", c->name, last);
    cr_expect_eq(strchr(last, '\n')[1], '\0', "%s: text behind the last line", c->name);
}

Test(crash, reports_and_ends)
{
    for (size_t i = 0; i < sizeof crash_cases / sizeof crash_cases[0]; i++) {
        const struct crash_case *c = &crash_cases[i];
        struct child_end end = child_run(child, c);
        cr_expect_eq(end.signal_number, c->signal_number, "%s: signal %d, exit code %d", c->name,
                     end.signal_number, end.exit_code);
        if (c->signal_number == 0)
            cr_expect_eq(end.exit_code, END_FORMER, "%s: exit code %d", c->name, end.exit_code);
        if (c->report)
            check_report(c, end.output);
        else
            cr_expect_str_empty(end.output, "%s: %s", c->name, end.output);
    }
}

/* How much of the stack can be read at its end depends on where the last frame came to lie. */
Test(crash, stack_overflow)
{
    static const struct crash_case c = {.name = "stack overflow", .dies = overflow_the_stack};
    struct child_end end = child_run(child, &c);
    cr_expect_eq(end.signal_number, SIGSEGV);
    cr_expect(strstr(end.output, "--- Guest fault context ---\n") != NULL);
    cr_expect_eq(lines_between(end.output, "Code bytes:\n"), 6);
    cr_expect(strstr(end.output, "Unhandled host exception: type=SIGSEGV") != NULL);
}

/* What stands in the report is what was in the registers, in the code and on the stack. */
Test(crash, values)
{
    struct child_end end = child_run(child, &crash_cases[0]);
    const char *text = end.output;
    cr_expect(strstr(text, "rbx=1111111111111111 ") != NULL);
    cr_expect(strstr(text, "r15=2222222222222222\n") != NULL);
    cr_expect(strstr(text, " c6 40 05 01") != NULL, "the store itself");
    const char *rax = strstr(text, "rax=");
    unsigned long long at = strtoull(rax + 4, NULL, 16);
    char address[40];
    snprintf(address, sizeof address, "address=0x%016llx\n", at + 5);
    cr_expect(strstr(text, address) != NULL, "%s", address);
    /* 48 bytes before pc and 47 behind: the fourth line begins with pc. */
    const char *pc = strstr(text, " pc=0x");
    char line[40];
    snprintf(line, sizeof line, "\n0x%.16s: c6 40 05 01", pc + 6);
    cr_expect(strstr(text, line) != NULL, "%s", line);
}

#endif
