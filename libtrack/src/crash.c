/*
 * Branch 3: a fault that is nobody's is described, and the recorder is told.
 *
 * It runs in the handler of a thread that is about to die, maybe with a broken stack, maybe because
 * the handler itself is broken. So the text is put together in memory of its own, everything is
 * read through the kernel, one thread at a time reports, and a fault inside the report ends it.
 *
 * Rules: [M-60].
 */
#define _GNU_SOURCE
#include "track/crash.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "crash_parts.h"
#include "peek.h"

#define TLS_INITIAL_EXEC __attribute__((tls_model("initial-exec")))

static _Thread_local struct {
    bool guest;
    char name[TRK_CRASH_NAME_BYTES];
} own_thread TLS_INITIAL_EXEC;

static int report_which = TRK_CRASH_REPORT_ALL;
static int report_fd = STDERR_FILENO;
static trk_crash_fn *trigger_function;
static void *trigger_context;

/*
 * The thread that reports, by the kernel's ids of its process (high half) and its own; 0: none. It
 * owns the text. A process that was forked meanwhile finds its parent's here, who never ends.
 */
static uint64_t reporter;
/* Where its handler's frame is: known to that thread alone. */
static uintptr_t reporter_frame;
static struct crash_text report_text;

void trk_crash_thread_guest(const char *name)
{
    own_thread.guest = true;
    size_t length = 0;
    for (; name != NULL && name[length] != '\0' && length + 1 < sizeof own_thread.name; length++)
        own_thread.name[length] = name[length] >= ' ' && name[length] < 127 ? name[length] : '?';
    own_thread.name[length] = '\0';
}

void trk_crash_thread_host(void)
{
    own_thread.guest = false;
}

/* "(host thread)", "(unnamed guest thread)" or the guest's name of the calling thread. */
static const char *thread_text(void)
{
    if (!own_thread.guest)
        return "(host thread)";
    return own_thread.name[0] != '\0' ? own_thread.name : "(unnamed guest thread)";
}

void trk_crash_reports_set(enum trk_crash_reports which, int fd)
{
    __atomic_store_n(&report_fd, fd, __ATOMIC_RELAXED);
    __atomic_store_n(&report_which, (int)which, __ATOMIC_RELEASE);
}

void trk_crash_trigger_set(trk_crash_fn *trigger, void *context)
{
    __atomic_store_n(&trigger_function, (trk_crash_fn *)NULL, __ATOMIC_RELEASE);
    trigger_context = context;
    __atomic_store_n(&trigger_function, trigger, __ATOMIC_RELEASE);
}

/* ---- the processor's part ---- */

#if defined(__x86_64__)

struct named_register {
    const char *name;
    int place;
};

static const struct named_register registers[] = {
    {"rax", REG_RAX}, {"rbx", REG_RBX}, {"rcx", REG_RCX}, {"rdx", REG_RDX},
    {"rsi", REG_RSI}, {"rdi", REG_RDI}, {"rbp", REG_RBP}, {"rsp", REG_RSP},
    {"r8", REG_R8},   {"r9", REG_R9},   {"r10", REG_R10}, {"r11", REG_R11},
    {"r12", REG_R12}, {"r13", REG_R13}, {"r14", REG_R14}, {"r15", REG_R15},
};

static uint64_t register_value(const ucontext_t *context, int place)
{
    return (uint64_t)context->uc_mcontext.gregs[place];
}

#define PROGRAM_COUNTER REG_RIP
#define STACK_POINTER   REG_RSP
#define FRAME_POINTER   REG_RBP

#else

struct named_register {
    const char *name;
    int place;
};

/* The places are those of __aarch64__; 31 is the stack pointer and 32 the program counter. */
static const struct named_register registers[] = {
    {"x0", 0},   {"x1", 1},   {"x2", 2},   {"x3", 3},   {"x4", 4},   {"x5", 5},
    {"x6", 6},   {"x7", 7},   {"x8", 8},   {"x16", 16}, {"x17", 17}, {"x18", 18},
    {"x19", 19}, {"x29", 29}, {"x30", 30}, {"sp", 31},
};

static uint64_t register_value(const ucontext_t *context, int place)
{
    return place == 31   ? context->uc_mcontext.sp
           : place == 32 ? context->uc_mcontext.pc
                         : context->uc_mcontext.regs[place];
}

#define PROGRAM_COUNTER 32
#define STACK_POINTER   31
#define FRAME_POINTER   29

#endif

static void print_registers(struct crash_text *text, const ucontext_t *context)
{
    for (size_t i = 0; i < sizeof registers / sizeof registers[0]; i++) {
        trk_crash_text_add(text, registers[i].name);
        trk_crash_text_add(text, "=");
        trk_crash_text_hex(text, register_value(context, registers[i].place), 16);
        trk_crash_text_add(text, i % 4 == 3 ? "\n" : " ");
    }
}

/* ---- blocks of memory, each whole or not at all ---- */

#define CODE_BYTES_BEFORE  48u
#define CODE_BYTES         96u
#define CODE_BYTES_A_LINE  16u
#define STACK_WORDS        32u
#define STACK_WORDS_A_LINE 4u

static void print_address(struct crash_text *text, uint64_t host_addr)
{
    trk_crash_text_add(text, "0x");
    trk_crash_text_hex(text, host_addr, 16);
    trk_crash_text_add(text, ":");
}

static void print_code(struct crash_text *text, uint64_t pc)
{
    unsigned char code[CODE_BYTES];
    uint64_t first = pc - CODE_BYTES_BEFORE;
    if (trk_peek(first, code, sizeof code) != sizeof code)
        return;
    trk_crash_text_add(text, "Code bytes:\n");
    for (unsigned i = 0; i < CODE_BYTES; i++) {
        if (i % CODE_BYTES_A_LINE == 0)
            print_address(text, first + i);
        trk_crash_text_add(text, " ");
        trk_crash_text_hex(text, code[i], 2);
        if (i % CODE_BYTES_A_LINE == CODE_BYTES_A_LINE - 1)
            trk_crash_text_add(text, "\n");
    }
}

static void print_stack(struct crash_text *text, uint64_t stack_addr)
{
    uint64_t words[STACK_WORDS];
    if (trk_peek(stack_addr, words, sizeof words) != sizeof words)
        return;
    trk_crash_text_add(text, "Stack:\n");
    for (unsigned i = 0; i < STACK_WORDS; i++) {
        if (i % STACK_WORDS_A_LINE == 0)
            print_address(text, stack_addr + i * sizeof words[0]);
        trk_crash_text_add(text, " ");
        trk_crash_text_hex(text, words[i], 16);
        if (i % STACK_WORDS_A_LINE == STACK_WORDS_A_LINE - 1)
            trk_crash_text_add(text, "\n");
    }
}

static void print_last_line(struct crash_text *text, const struct trk_crash *crash)
{
    static const char *const accesses[] = {
        [TRK_ACCESS_READ] = "read", [TRK_ACCESS_WRITE] = "write", [TRK_ACCESS_EXECUTE] = "execute"};
    trk_crash_text_add(text, "Unhandled host exception: type=");
    trk_crash_text_add(text, crash->signal_number == SIGSEGV  ? "SIGSEGV"
                             : crash->signal_number == SIGBUS ? "SIGBUS"
                                                              : "SIGILL");
    trk_crash_text_add(text, " code=");
    trk_crash_text_decimal(text, crash->code);
    trk_crash_text_add(text, " pc=0x");
    trk_crash_text_hex(text, crash->pc, 16);
    trk_crash_text_add(text, " access=");
    trk_crash_text_add(text,
                       crash->access == TRK_CRASH_NO_ACCESS ? "none" : accesses[crash->access]);
    trk_crash_text_add(text, " address=0x");
    trk_crash_text_hex(text, crash->host_addr, 16);
    trk_crash_text_add(text, "\n");
}

static void report(const struct fault *fault, const struct trk_crash *crash)
{
    struct crash_text *text = &report_text;
    uint64_t stack_addr = register_value(fault->context, STACK_POINTER);
    text->used = 0;
    trk_crash_text_add(text, "--- Guest fault context ---\nthread: ");
    trk_crash_text_add(text, thread_text());
    trk_crash_text_add(text, "\n");
    print_registers(text, fault->context);
    print_code(text, crash->pc);
    print_stack(text, stack_addr);
    trk_crash_walk(text, stack_addr, register_value(fault->context, FRAME_POINTER));
    print_last_line(text, crash);
    trk_crash_text_write(text, __atomic_load_n(&report_fd, __ATOMIC_RELAXED));
}

/* ---- one at a time ---- */

/* Crashes come in flocks: the others wait, but not for a reporter that never ends. */
#define WAIT_STEPS   1000u
#define WAIT_STEP_NS 1000000

static bool replace_reporter(uint64_t *former, uint64_t self)
{
    return __atomic_compare_exchange_n(&reporter, former, self, false, __ATOMIC_ACQUIRE,
                                       __ATOMIC_RELAXED);
}

/*
 * False: this thread reports already, or another does not end. A former handler may have jumped out
 * of a fault inside the report; the handler's frame then stands no deeper than that one's.
 */
static bool become_reporter(uint64_t self, uintptr_t frame)
{
    for (unsigned step = 0; step < WAIT_STEPS; step++) {
        uint64_t former = 0;
        bool mine = replace_reporter(&former, self);
        if (!mine && former == self)
            mine = frame >= reporter_frame;
        else if (!mine && former >> 32 != self >> 32)
            mine = replace_reporter(&former, self);
        if (mine)
            reporter_frame = frame;
        if (mine || former == self)
            return mine;
        struct timespec wait = {0, WAIT_STEP_NS};
        (void)nanosleep(&wait, NULL);
    }
    return false;
}

void trk_crash_tell(const struct fault *fault, bool fatal)
{
    if (trk_fault_sent(fault))
        return;
    int former_errno = errno;
    struct trk_crash crash = {
        .signal_number = fault->signal_number,
        .code = fault->info.si_code,
        .thread_id = (uint32_t)syscall(SYS_gettid),
        .access = TRK_CRASH_NO_ACCESS,
        .pc = register_value(fault->context, PROGRAM_COUNTER),
        .host_addr = trk_fault_host_addr(fault),
    };
    enum trk_access access;
    if (trk_fault_access(fault, &access))
        crash.access = (uint32_t)access;
    int which = __atomic_load_n(&report_which, __ATOMIC_ACQUIRE);
    trk_crash_fn *trigger = __atomic_load_n(&trigger_function, __ATOMIC_ACQUIRE);
    bool wanted = which == TRK_CRASH_REPORT_ALL || (which == TRK_CRASH_REPORT_FATAL && fatal);
    uint64_t self = (uint64_t)(uint32_t)getpid() << 32 | crash.thread_id;
    uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
    if ((wanted || trigger != NULL) && become_reporter(self, frame)) {
        if (wanted)
            report(fault, &crash);
        if (trigger != NULL)
            trigger(trigger_context, &crash);
        __atomic_store_n(&reporter, 0, __ATOMIC_RELEASE);
    }
    errno = former_errno;
}
