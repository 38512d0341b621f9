/*
 * Goal: the fault handler tells its owner the exact byte and kind of access, and a served access
 * runs again as if nothing had happened: registers, red zone, errno, mask, whatever stack.
 * Method: real faults on mappings of our own; the owner opens the page.
 *
 * Rules: [M-52] [M-53].
 */
#define _GNU_SOURCE
#include <criterion/criterion.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "track/address.h"
#include "track/fault.h"

#define PAGE TRK_HOST_PAGE_BYTES
#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif

/* What the owner below saw last; the tests are single-threaded where they look at it. */
static struct {
    volatile int calls;
    volatile uint64_t host_addr;
    volatile enum trk_access access;
    volatile uintptr_t stack_addr; /* a local of the handler */
} seen;

/* Open the faulting page for everything that its test needs. */
static enum trk_fault_outcome open_page(void *context, uint64_t host_addr, enum trk_access access)
{
    int local;
    seen.calls++;
    seen.host_addr = host_addr;
    seen.access = access;
    seen.stack_addr = (uintptr_t)&local;
    int rights = access == TRK_ACCESS_EXECUTE ? PROT_READ | PROT_EXEC : PROT_READ | PROT_WRITE;
    mprotect((void *)(uintptr_t)(host_addr & ~(PAGE - 1)), PAGE, rights);
    errno = EDOM;
    (void)context;
    return TRK_FAULT_SERVED;
}

static unsigned char *map_pages(size_t pages, int rights)
{
    unsigned char *memory = mmap(NULL, pages * PAGE, rights, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(memory, MAP_FAILED);
    return memory;
}

static void setup(void)
{
    seen.calls = 0;
    cr_assert_eq(trk_fault_install(open_page, NULL, NULL), TRK_OK);
}

static void teardown(void)
{
    cr_assert_eq(trk_fault_uninstall(NULL), TRK_OK);
}

TestSuite(fault, .init = setup, .fini = teardown);

enum kind { LOAD, STORE, MODIFY };

struct access_case {
    const char *name;
    enum kind kind;
    int rights;      /* of the second of two pages; the first is rw */
    size_t offset;   /* of the access, from the first page */
    size_t size;     /* 1 or 8 bytes */
    size_t fault_at; /* the byte that the owner is told; 0: no fault */
    enum trk_access access;
};

static const struct access_case access_cases[] = {
    {"store to an armed page", STORE, PROT_READ, PAGE, 1, PAGE, TRK_ACCESS_WRITE},
    {"store to its last byte", STORE, PROT_READ, 2 * PAGE - 1, 1, 2 * PAGE - 1, TRK_ACCESS_WRITE},
    {"store to a closed page", STORE, PROT_NONE, PAGE + 8, 8, PAGE + 8, TRK_ACCESS_WRITE},
    {"load from a closed page", LOAD, PROT_NONE, PAGE + 16, 8, PAGE + 16, TRK_ACCESS_READ},
    {"load from an armed page", LOAD, PROT_READ, PAGE, 8, 0, TRK_ACCESS_READ},
    {"straddling store", STORE, PROT_READ, PAGE - 3, 8, PAGE, TRK_ACCESS_WRITE},
    {"straddling load", LOAD, PROT_NONE, PAGE - 3, 8, PAGE, TRK_ACCESS_READ},
    {"store beside the armed page", STORE, PROT_READ, PAGE - 8, 8, 0, TRK_ACCESS_WRITE},
    {"read-modify-write of an armed page", MODIFY, PROT_READ, PAGE, 8, PAGE, TRK_ACCESS_WRITE},
};

/* One access of 8 bytes at any alignment. */
struct word {
    uint64_t value;
} __attribute__((packed));

static void access_run(const struct access_case *c, unsigned char *memory)
{
    volatile unsigned char *byte = memory + c->offset;
    volatile struct word *word = (volatile struct word *)byte;
    switch (c->kind) {
    case LOAD:
        if (c->size == 8)
            (void)word->value;
        else
            (void)*byte;
        break;
    case STORE:
        if (c->size == 8)
            word->value = UINT64_C(0x1122334455667788);
        else
            *byte = 0x88;
        break;
    case MODIFY:
        __atomic_fetch_add((uint64_t *)(void *)(memory + c->offset), 0x88, __ATOMIC_RELAXED);
        break;
    }
}

Test(fault, accesses)
{
    for (size_t i = 0; i < sizeof access_cases / sizeof access_cases[0]; i++) {
        const struct access_case *c = &access_cases[i];
        unsigned char *memory = map_pages(2, PROT_READ | PROT_WRITE);
        mprotect(memory + PAGE, PAGE, c->rights);
        seen.calls = 0;
        errno = ENOTTY;
        access_run(c, memory);
        cr_expect_eq(errno, ENOTTY, "%s: errno is %d", c->name, errno);
        cr_expect_eq(seen.calls, c->fault_at != 0, "%s: %d faults", c->name, seen.calls);
        if (c->fault_at != 0) {
            cr_expect_eq(seen.host_addr, (uintptr_t)memory + c->fault_at, "%s: byte", c->name);
            cr_expect_eq(seen.access, c->access, "%s: access %d", c->name, seen.access);
        }
        if (c->kind != LOAD)
            cr_expect_eq(memory[c->offset], 0x88, "%s: the store arrived", c->name);
        munmap(memory, 2 * PAGE);
    }
}

Test(fault, execute)
{
#if defined(__x86_64__)
    static const unsigned char code[] = {0xb8, 0x2a, 0, 0, 0, 0xc3}; /* mov eax, 42; ret */
#else
    static const unsigned char code[] = {0x40, 0x05, 0x80, 0x52, 0xc0, 0x03, 0x5f, 0xd6};
#endif
    unsigned char *memory = map_pages(1, PROT_READ | PROT_WRITE);
    memcpy(memory, code, sizeof code);
    __builtin___clear_cache((char *)memory, (char *)memory + sizeof code);
    int (*function)(void);
    memcpy(&function, &memory, sizeof function);
    cr_expect_eq(function(), 42);
    cr_expect_eq(seen.calls, 1);
    cr_expect_eq(seen.access, TRK_ACCESS_EXECUTE);
    cr_expect_eq(seen.host_addr, (uintptr_t)memory);
    munmap(memory, PAGE);
}

static int bus_fd;

static enum trk_fault_outcome grow_file(void *context, uint64_t host_addr, enum trk_access access)
{
    (void)context;
    seen.calls++;
    seen.host_addr = host_addr;
    seen.access = access;
    return ftruncate(bus_fd, (off_t)PAGE) == 0 ? TRK_FAULT_RETRY : TRK_FAULT_UNHANDLED;
}

Test(fault, bus_error_behind_a_file)
{
    teardown();
    cr_assert_eq(trk_fault_install(grow_file, NULL, NULL), TRK_OK);
    bus_fd = memfd_create("bus", 0);
    cr_assert(bus_fd >= 0);
    volatile unsigned char *memory =
        mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, bus_fd, 0);
    seen.calls = 0;
    memory[5] = 9;
    cr_expect_eq(seen.calls, 1);
    cr_expect_eq(seen.access, TRK_ACCESS_WRITE);
    cr_expect_eq(seen.host_addr, (uintptr_t)memory + 5);
    cr_expect_eq(memory[5], 9);
    close(bus_fd);
    munmap((void *)(uintptr_t)memory, PAGE);
}

#if defined(__x86_64__)

/* Fill the red zone, fault, and say how many of its 16 words have changed. */
static __attribute__((noinline)) unsigned long red_zone_words_lost(unsigned char *page)
{
    unsigned long lost = 0;
    __asm__ volatile("mov $-128, %%rcx\n"
                     "1: lea 0x5a5a(%%rcx), %%rdx\n"
                     "mov %%rdx, (%%rsp, %%rcx)\n"
                     "add $8, %%rcx\n"
                     "jnz 1b\n"
                     "movb $1, (%[page])\n" /* faults */
                     "mov $-128, %%rcx\n"
                     "2: lea 0x5a5a(%%rcx), %%rdx\n"
                     "cmp %%rdx, (%%rsp, %%rcx)\n"
                     "je 3f\n"
                     "inc %[lost]\n"
                     "3: add $8, %%rcx\n"
                     "jnz 2b\n"
                     : [lost] "+r"(lost)
                     : [page] "r"(page)
                     : "rcx", "rdx", "memory", "cc");
    return lost;
}

/* The asm uses the area below rsp, which a leaf function without locals leaves alone. */
Test(fault, red_zone_with_and_without_an_alternate_stack)
{
    unsigned char *memory = map_pages(1, PROT_READ);
    cr_expect_eq(red_zone_words_lost(memory), 0);
    cr_expect_eq(seen.calls, 1);
    mprotect(memory, PAGE, PROT_READ);
    cr_assert_eq(trk_fault_thread_enter(NULL), TRK_OK);
    cr_expect_eq(red_zone_words_lost(memory), 0);
    cr_expect_eq(seen.calls, 2);
    trk_fault_thread_leave();
    munmap(memory, PAGE);
}

Test(fault, vector_and_flag_registers_come_back)
{
    unsigned char *memory = map_pages(1, PROT_READ);
    uint64_t vector = 0, carry = 0;
    __asm__ volatile("mov $0x123456789abcdef, %%rax\n"
                     "movq %%rax, %%xmm7\n"
                     "stc\n"
                     "movb $1, (%[page])\n" /* faults; movb touches no flags */
                     "setc %b[carry]\n"
                     "movq %%xmm7, %[vector]\n"
                     : [vector] "=&r"(vector), [carry] "+&r"(carry)
                     : [page] "r"(memory)
                     : "rax", "xmm7", "memory", "cc");
    cr_expect_eq(vector, UINT64_C(0x123456789abcdef));
    cr_expect_eq(carry, 1);
    cr_expect_eq(seen.calls, 1);
    munmap(memory, PAGE);
}

#endif

Test(fault, signal_mask_comes_back)
{
    sigset_t blocked, after;
    unsigned char *memory = map_pages(1, PROT_READ);
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    pthread_sigmask(SIG_SETMASK, &blocked, NULL);
    *(volatile unsigned char *)memory = 1;
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    for (int s = 1; s < 32; s++)
        cr_expect_eq(sigismember(&after, s), s == SIGUSR1, "signal %d", s);
    munmap(memory, PAGE);
}

static unsigned char *nested_page;

static enum trk_fault_outcome touch_and_open(void *context, uint64_t host_addr,
                                             enum trk_access access)
{
    if (host_addr < (uintptr_t)nested_page || host_addr >= (uintptr_t)nested_page + PAGE)
        *(volatile unsigned char *)nested_page = 7; /* faults inside the handler */
    return open_page(context, host_addr, access);
}

Test(fault, owner_may_fault_itself)
{
    teardown();
    cr_assert_eq(trk_fault_install(touch_and_open, NULL, NULL), TRK_OK);
    nested_page = map_pages(1, PROT_READ);
    unsigned char *memory = map_pages(1, PROT_READ);
    cr_assert_eq(trk_fault_thread_enter(NULL), TRK_OK);
    *(volatile unsigned char *)memory = 1;
    cr_expect_eq(seen.calls, 2);
    cr_expect_eq(nested_page[0], 7);
    cr_expect_eq(memory[0], 1);
    trk_fault_thread_leave();
    munmap(memory, PAGE);
    munmap(nested_page, PAGE);
}

/* ---- alternate stacks ---- */

static stack_t current_stack(void)
{
    stack_t stack;
    cr_assert_eq(sigaltstack(NULL, &stack), 0);
    return stack;
}

Test(fault, alternate_stack_s_shape)
{
    stack_t before = current_stack();
    cr_assert_eq(trk_fault_thread_enter(NULL), TRK_OK);
    stack_t stack = current_stack();
    cr_expect_eq(stack.ss_flags & SS_DISABLE, 0);
    /* The kernel's frame, which grows with the vector state, on top of what a handler needs. */
    cr_expect(stack.ss_size >= 64 * 1024 + getauxval(AT_MINSIGSTKSZ));
    cr_expect_eq((uintptr_t)stack.ss_sp % PAGE, 0);
    cr_assert_eq(trk_fault_thread_enter(NULL), TRK_OK, "entering twice is harmless");
    cr_expect_eq(current_stack().ss_sp, stack.ss_sp);

    /* The guard: the kernel cannot read the byte below the stack, and can read its first. */
    int fds[2];
    cr_assert_eq(pipe(fds), 0);
    cr_expect_eq(write(fds[1], (unsigned char *)stack.ss_sp - 1, 1), -1);
    cr_expect_eq(errno, EFAULT);
    cr_expect_eq(write(fds[1], stack.ss_sp, 1), 1);
    close(fds[0]);
    close(fds[1]);

    trk_fault_thread_leave();
    stack_t after = current_stack();
    cr_expect_eq(after.ss_flags, before.ss_flags);
    if (!(before.ss_flags & SS_DISABLE))
        cr_expect_eq(after.ss_sp, before.ss_sp);
    trk_fault_thread_leave(); /* leaving twice is harmless */
}

Test(fault, former_alternate_stack_comes_back)
{
    stack_t former = {map_pages(16, PROT_READ | PROT_WRITE), INT_MIN,
                      16 * PAGE}; /* SS_AUTODISARM */
    cr_assert_eq(sigaltstack(&former, NULL), 0);
    cr_assert_eq(trk_fault_thread_enter(NULL), TRK_OK);
    cr_expect_neq(current_stack().ss_sp, former.ss_sp);
    trk_fault_thread_leave();
    cr_expect_eq(current_stack().ss_sp, former.ss_sp);
    cr_expect_eq(current_stack().ss_size, former.ss_size);
    cr_expect_eq(current_stack().ss_flags, former.ss_flags);
}

Test(fault, stack_set_over_ours_is_left_alone)
{
    stack_t later = {.ss_sp = map_pages(16, PROT_READ | PROT_WRITE), .ss_size = 16 * PAGE};
    cr_assert_eq(trk_fault_thread_enter(NULL), TRK_OK);
    cr_assert_eq(sigaltstack(&later, NULL), 0);
    trk_fault_thread_leave();
    cr_expect_eq(current_stack().ss_sp, later.ss_sp);
}

/* Close the stack pages below this frame, then use them: the handler must stand elsewhere. */
static __attribute__((noinline)) int use_deep_stack(void)
{
    volatile unsigned char deep[6 * PAGE];
    for (size_t i = 0; i < sizeof deep; i += PAGE / 2)
        deep[sizeof deep - 1 - i] = (unsigned char)i;
    return deep[sizeof deep - 1];
}

static void *fault_on_own_stack(void *bottom)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    if (trk_fault_thread_enter(NULL) != TRK_OK)
        return (void *)1;
    stack_t stack;
    sigaltstack(NULL, &stack);

    /* Leave the page that is in use and one more, for the call of mprotect itself. */
    uintptr_t closed_end = (here & ~(PAGE - 1)) - 2 * PAGE;
    if (mprotect(bottom, closed_end - (uintptr_t)bottom, PROT_NONE) != 0)
        return (void *)2;
    (void)use_deep_stack();
    if (seen.calls < 2)
        return (void *)3;
    if (seen.stack_addr < (uintptr_t)stack.ss_sp ||
        seen.stack_addr >= (uintptr_t)stack.ss_sp + stack.ss_size)
        return (void *)4;
    mprotect(bottom, closed_end - (uintptr_t)bottom, PROT_READ | PROT_WRITE);
    return NULL; /* without leaving: the thread's end gives the stack back */
}

Test(fault, own_stack_page_is_closed)
{
    size_t size = 64 * PAGE;
    unsigned char *stack = map_pages(64, PROT_READ | PROT_WRITE);
    pthread_attr_t attributes;
    pthread_t thread;
    void *result = NULL;
    pthread_attr_init(&attributes);
    cr_assert_eq(pthread_attr_setstack(&attributes, stack, size), 0);
    cr_assert_eq(pthread_create(&thread, &attributes, fault_on_own_stack, stack), 0);
    pthread_join(thread, &result);
    cr_expect_null(result, "step %d failed", (int)(intptr_t)result);
    pthread_attr_destroy(&attributes);
    munmap(stack, size);
}

static void *enter_only(void *out)
{
    stack_t stack;
    if (trk_fault_thread_enter(NULL) == TRK_OK && sigaltstack(NULL, &stack) == 0)
        *(void **)out = stack.ss_sp;
    return NULL;
}

Test(fault, thread_s_end_gives_the_stack_back)
{
    void *stack = NULL;
    pthread_t thread;
    cr_assert_eq(pthread_create(&thread, NULL, enter_only, &stack), 0);
    pthread_join(thread, NULL);
    cr_assert_not_null(stack);
    unsigned char resident;
    cr_expect_eq(mincore(stack, PAGE, &resident), -1, "the mapping is gone");
    cr_expect_eq(errno, ENOMEM);
}

/* ---- many threads at once ---- */

#define THREADS 4
#define ROUNDS  500

static void *fault_often(void *argument)
{
    volatile unsigned char *page = argument;
    if (trk_fault_thread_enter(NULL) != TRK_OK)
        return (void *)1;
    for (int i = 0; i < ROUNDS; i++) {
        mprotect((void *)(uintptr_t)page, PAGE, i % 2 ? PROT_NONE : PROT_READ);
        *page = (unsigned char)i;
        if (*page != (unsigned char)i)
            return (void *)2;
    }
    trk_fault_thread_leave();
    return NULL;
}

Test(fault, threads_fault_side_by_side)
{
    pthread_t threads[THREADS];
    unsigned char *memory = map_pages(THREADS, PROT_READ | PROT_WRITE);
    for (size_t i = 0; i < THREADS; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, fault_often, memory + i * PAGE), 0);
    for (size_t i = 0; i < THREADS; i++) {
        void *result = NULL;
        pthread_join(threads[i], &result);
        cr_expect_null(result);
    }
    munmap(memory, THREADS * PAGE);
}
