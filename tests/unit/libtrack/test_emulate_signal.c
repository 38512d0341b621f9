/*
 * Goal: through a real SIGILL an instruction of the list is carried out and nothing else of the
 * interrupted code changes; its memory operand is the guest's access, served or crashed with; what
 * is no instruction of the list reaches the former handler as it came.
 * Method: `ud2` stands before the instruction, and a handler on top of ours steps over it, so that
 * also what this processor has is emulated. Ends are looked at in children.
 *
 * Rules: [M-51] [M-54].
 */
#define _GNU_SOURCE
#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "child.h"
#include "track/address.h"
#include "track/fault.h"

#if defined(__x86_64__)

#define PAGE TRK_HOST_PAGE_BYTES

static struct sigaction ours;
static unsigned char *page; /* of the memory operand */
static volatile int owner_calls, former_calls;
static volatile uint64_t owner_addr;
static volatile enum trk_access owner_access;

static void step_over_ud2(int signal_number, siginfo_t *info, void *opaque)
{
    ucontext_t *context = opaque;
    context->uc_mcontext.gregs[REG_RIP] += 2;
    ours.sa_sigaction(signal_number, info, opaque);
}

static enum trk_fault_outcome owner(void *context, uint64_t host_addr, enum trk_access access)
{
    owner_calls++;
    owner_addr = host_addr;
    owner_access = access;
    errno = EDOM;
    if (context == NULL)
        return TRK_FAULT_UNHANDLED;
    mprotect(page, PAGE, PROT_READ | PROT_WRITE);
    return TRK_FAULT_SERVED;
}

/* Install ours over the former handlers, and the stepper on top. */
static void install(bool serves)
{
    struct sigaction action = {.sa_sigaction = step_over_ud2, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    if (trk_fault_install(owner, serves ? &ours : NULL, NULL) != TRK_OK ||
        trk_fault_thread_enter(NULL) != TRK_OK || sigaction(SIGILL, &action, &ours) != 0)
        abort();
}

static void uninstall(void)
{
    sigaction(SIGILL, &ours, NULL);
    cr_expect_eq(trk_fault_uninstall(NULL), TRK_OK);
}

/* ud2 and sha1nexte xmm1, [rax]; the red zone below the stack pointer is filled and looked at. */
static unsigned red_zone_words_lost(const void *operand, uint32_t result[4])
{
    unsigned long lost = 0;
    __asm__ volatile("mov $-128, %%rcx\n"
                     "1: lea 0x5a5a(%%rcx), %%rdx\n"
                     "mov %%rdx, (%%rsp, %%rcx)\n"
                     "add $8, %%rcx\n"
                     "jnz 1b\n"
                     "pxor %%xmm1, %%xmm1\n"
                     "ud2\n"
                     ".byte 0x0f, 0x38, 0xc8, 0x08\n"
                     "movups %%xmm1, (%[result])\n"
                     "mov $-128, %%rcx\n"
                     "2: lea 0x5a5a(%%rcx), %%rdx\n"
                     "cmp %%rdx, (%%rsp, %%rcx)\n"
                     "je 3f\n"
                     "inc %[lost]\n"
                     "3: add $8, %%rcx\n"
                     "jnz 2b\n"
                     : [lost] "+r"(lost)
                     : "a"(operand), [result] "r"(result)
                     : "rcx", "rdx", "xmm1", "memory", "cc");
    return (unsigned)lost;
}

Test(emulate_signal, operand_on_a_closed_page_is_brought_home)
{
    uint32_t result[4];
    page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(page, 7, PAGE);
    mprotect(page, PAGE, PROT_NONE);
    install(true);
    errno = ENOTTY;
    unsigned lost = red_zone_words_lost(page + 16, result);
    cr_expect_eq(errno, ENOTTY);
    uninstall();
    cr_expect_eq(lost, 0, "%u words of the red zone", lost);
    cr_expect_eq(owner_calls, 1);
    cr_expect_eq(owner_addr, (uintptr_t)page + 16);
    cr_expect_eq(owner_access, TRK_ACCESS_READ);
    for (unsigned i = 0; i < 4; i++)
        cr_expect_eq(result[i], 0x07070707);
    munmap(page, PAGE);
}

/* ---- operands that nobody serves ---- */

struct crash_case {
    const char *name;
    bool handler; /* a former handler stands below */
    bool mapped;  /* the operand's page */
    int signal_number, code;
};

enum { END_GOOD = 21, END_BAD = 22, END_RETURNED = 23 };
static const struct crash_case *running;

static void former(int signal_number, siginfo_t *info, void *opaque)
{
    const ucontext_t *context = opaque;
    static const unsigned char code[] = {0x0f, 0x38, 0xc8, 0x08};
    const unsigned char *pc;
    memcpy(&pc, &context->uc_mcontext.gregs[REG_RIP], sizeof pc);
    bool good = signal_number == running->signal_number && info->si_code == running->code &&
                memcmp(pc, code, sizeof code) == 0 &&
                context->uc_mcontext.gregs[REG_TRAPNO] == 14 && info->si_addr == page + 32;
    _exit(good ? END_GOOD : END_BAD);
}

static int crash(const void *argument)
{
    uint32_t result[4];
    running = argument;
    struct sigaction action = {.sa_sigaction = former, .sa_flags = SA_SIGINFO};
    if (!running->handler)
        action = (struct sigaction){.sa_handler = SIG_DFL}; /* a sanitizer has one of its own */
    sigaction(running->signal_number, &action, NULL);
    page = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!running->mapped)
        munmap(page, PAGE);
    install(false);
    (void)red_zone_words_lost(page + 32, result);
    return END_RETURNED;
}

static const struct crash_case crash_cases[] = {
    {"closed, a handler below", true, true, SIGSEGV, SEGV_ACCERR},
    {"not mapped, a handler below", true, false, SIGSEGV, SEGV_MAPERR},
    {"closed, default", false, true, SIGSEGV, SEGV_ACCERR},
    {"not mapped, default", false, false, SIGSEGV, SEGV_MAPERR},
};

Test(emulate_signal, operand_that_nobody_serves)
{
    for (size_t i = 0; i < sizeof crash_cases / sizeof crash_cases[0]; i++) {
        const struct crash_case *c = &crash_cases[i];
        struct child_end end = child_run(crash, c);
        cr_expect_eq(end.exit_code, c->handler ? END_GOOD : -1, "%s: exit code %d", c->name,
                     end.exit_code);
        cr_expect_eq(end.signal_number, c->handler ? 0 : SIGSEGV, "%s: signal %d", c->name,
                     end.signal_number);
    }
}

/* ---- code that cannot be read at that moment ---- */

static bool stepped;

/* Another thread closes a page of the code between the signal and our look; then it is as it is. */
static void step_and_close(int signal_number, siginfo_t *info, void *opaque)
{
    ucontext_t *context = opaque;
    if (!stepped) {
        context->uc_mcontext.gregs[REG_RIP] += 2;
        mprotect(page, PAGE, PROT_NONE);
    }
    stepped = true;
    ours.sa_sigaction(signal_number, info, opaque);
}

static enum trk_fault_outcome code_owner(void *context, uint64_t host_addr, enum trk_access access)
{
    owner_calls++;
    owner_addr = host_addr;
    owner_access = access;
    mprotect(page, PAGE, PROT_READ | PROT_EXEC);
    return context == NULL ? TRK_FAULT_RETRY : TRK_FAULT_SERVED;
}

/* Wherever the closed page begins in the instruction, it is brought home as code and run again. */
Test(emulate_signal, code_on_a_closed_page_is_brought_home)
{
    static const unsigned char bytes[] = {0x0f, 0x0b, 0x0f, 0x38, 0xc8, 0xc1, 0xc3};
    struct sigaction action = {.sa_sigaction = step_and_close, .sa_flags = SA_SIGINFO}, before;
    unsigned char *code = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    sigaction(SIGILL, NULL, &before);
    cr_assert_eq(trk_fault_install(code_owner, NULL, NULL), TRK_OK);
    cr_assert_eq(sigaction(SIGILL, &action, &ours), 0);
    for (size_t open = 2; open < 6; open++) { /* that many bytes before the closed page */
        page = code + PAGE;
        cr_assert_eq(mprotect(page, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC), 0);
        unsigned char *at = page - open;
        memcpy(at, bytes, sizeof bytes);
        stepped = false;
        owner_calls = 0;
        __asm__ volatile("call *%[at]\n" : : [at] "r"(at) : "memory", "cc", "xmm0");
        cr_expect_eq(owner_calls, 1, "%zu: %d calls", open, owner_calls);
        cr_expect_eq(owner_addr, (uintptr_t)page, "%zu", open);
        cr_expect_eq(owner_access, TRK_ACCESS_EXECUTE, "%zu", open);
    }
    sigaction(SIGILL, &ours, NULL);
    cr_expect_eq(trk_fault_uninstall(NULL), TRK_OK);
    sigaction(SIGILL, &before, NULL);
    munmap(code, 2 * PAGE);
}

/* ---- what is not of the list ---- */

struct foreign_case {
    const char *name;
    unsigned char code[8];
};

static const struct foreign_case foreign_cases[] = {
    {"ud2", {0x0f, 0x0b}},
    {"sha1nexte behind 66", {0x66, 0x0f, 0x38, 0xc8, 0xc1}},
    {"extrq with an extension", {0x66, 0x0f, 0x78, 0xc9, 1, 1}},
    {"insertq behind F3", {0xf3, 0x0f, 0x79, 0xc1}},
    {"a locked clwb", {0xf0, 0x66, 0x0f, 0xae, 0x30}},
    {"monitorx behind 66", {0x66, 0x0f, 0x01, 0xfa}},
    {"rdpid behind F2", {0xf2, 0x0f, 0xc7, 0xf8}},
};

static const unsigned char *foreign_code;
static gregset_t seen_registers;

/* The former handler: keep what it was given, and leave the code by its return. */
static void note_foreign(int signal_number, siginfo_t *info, void *opaque)
{
    ucontext_t *context = opaque;
    former_calls++;
    memcpy(seen_registers, context->uc_mcontext.gregs, sizeof seen_registers);
    cr_assert_eq(signal_number, SIGILL);
    cr_assert_eq(info->si_addr, foreign_code);
    uint64_t *stack;
    memcpy(&stack, &context->uc_mcontext.gregs[REG_RSP], sizeof stack);
    context->uc_mcontext.gregs[REG_RIP] = (greg_t)*stack;
    context->uc_mcontext.gregs[REG_RSP] += 8;
}

Test(emulate_signal, everything_else_goes_on_untouched)
{
    struct sigaction action = {.sa_sigaction = note_foreign, .sa_flags = SA_SIGINFO}, before;
    unsigned char *code =
        mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert_eq(sigaction(SIGILL, &action, &before), 0);
    cr_assert_eq(trk_fault_install(owner, NULL, NULL), TRK_OK);
    for (size_t i = 0; i < sizeof foreign_cases / sizeof foreign_cases[0]; i++) {
        const struct foreign_case *c = &foreign_cases[i];
        /* The last: at the very end of what can be read. */
        for (int at_end = 0; at_end < 2; at_end++) {
            size_t size = sizeof c->code;
            while (size > 2 && c->code[size - 1] == 0)
                size--;
            unsigned char *at = at_end ? code + PAGE - size : code;
            memcpy(at, c->code, size);
            foreign_code = at;
            former_calls = 0;
            uint64_t marker = UINT64_C(0x1234567890abcdef);
            __asm__ volatile("call *%[at]\n"
                             :
                             : [at] "r"(at), "a"(marker), "d"(marker + 1), "b"(marker + 2)
                             : "memory", "cc");
            cr_expect_eq(former_calls, 1, "%s", c->name);
            cr_expect_eq((uintptr_t)seen_registers[REG_RIP], (uintptr_t)at, "%s: pc", c->name);
            cr_expect_eq((uint64_t)seen_registers[REG_RAX], marker, "%s: rax", c->name);
            cr_expect_eq((uint64_t)seen_registers[REG_RDX], marker + 1, "%s: rdx", c->name);
        }
    }
    cr_expect_eq(trk_fault_uninstall(NULL), TRK_OK);
    sigaction(SIGILL, &before, NULL);
    munmap(code, PAGE);
}

#endif
