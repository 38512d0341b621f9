#define _GNU_SOURCE
#include "emu_native.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "track/crash.h"
#include "track/fault.h"

#if defined(__x86_64__)

static const int signals[] = {SIGSEGV, SIGBUS, SIGILL};
#define SIGNALS (sizeof signals / sizeof signals[0])

/* ud2: the one instruction that is promised never to exist. */
#define UD2_BYTES 2u
static const unsigned char ud2[UD2_BYTES] = {0x0f, 0x0b};

/* What the assembly below reads and writes. */
struct emu_state emu_native_state;
uint64_t emu_native_code; /* where to jump to */
uint64_t emu_native_stack;
uint64_t emu_native_avx;

void emu_native_enter(void);
extern const unsigned char emu_native_back[];

_Static_assert(offsetof(struct emu_state, flags) == 128, "the assembly says 128");
_Static_assert(offsetof(struct emu_state, vector) == 136, "the assembly says 136");

#define EACH_GENERAL(X)                                                                            \
    X("rax", "0")                                                                                  \
    X("rcx", "8")                                                                                  \
    X("rdx", "16")                                                                                 \
    X("rbx", "24")                                                                                 \
    X("rsp", "32")                                                                                 \
    X("rbp", "40")                                                                                 \
    X("rsi", "48")                                                                                 \
    X("rdi", "56")                                                                                 \
    X("r8", "64")                                                                                  \
    X("r9", "72")                                                                                  \
    X("r10", "80")                                                                                 \
    X("r11", "88")                                                                                 \
    X("r12", "96")                                                                                 \
    X("r13", "104")                                                                                \
    X("r14", "112")                                                                                \
    X("r15", "120")
#define EACH_VECTOR(X)                                                                             \
    X("0")                                                                                         \
    X("1")                                                                                         \
    X("2")                                                                                         \
    X("3")                                                                                         \
    X("4")                                                                                         \
    X("5")                                                                                         \
    X("6")                                                                                         \
    X("7")                                                                                         \
    X("8")                                                                                         \
    X("9")                                                                                         \
    X("10")                                                                                        \
    X("11")                                                                                        \
    X("12")                                                                                        \
    X("13")                                                                                        \
    X("14")                                                                                        \
    X("15")

#define STATE(offset)       "emu_native_state+" offset "(%rip)"
#define VECTOR(n)           "emu_native_state+136+32*" n "(%rip)"
#define LOAD_GENERAL(r, o)  "mov " STATE(o) ", %" r "\n"
#define STORE_GENERAL(r, o) "mov %" r ", " STATE(o) "\n"
#define LOAD_XMM(n)         "movups " VECTOR(n) ", %xmm" n "\n"
#define STORE_XMM(n)        "movups %xmm" n ", " VECTOR(n) "\n"
#define LOAD_YMM(n)         "vmovups " VECTOR(n) ", %ymm" n "\n"
#define STORE_YMM(n)        "vmovups %ymm" n ", " VECTOR(n) "\n"

/* The general registers come last and leave first: nothing else is free to hold an address. */
/* clang-format off */
__asm__(".pushsection .text\n"
        ".type emu_native_enter, @function\n"
        "emu_native_enter:\n"
        "push %rbx\n push %rbp\n push %r12\n push %r13\n push %r14\n push %r15\n"
        "cmpq $0, emu_native_avx(%rip)\n"
        "jne 1f\n"
        EACH_VECTOR(LOAD_XMM)
        "jmp 2f\n"
        "1:\n"
        EACH_VECTOR(LOAD_YMM)
        "2:\n"
        "pushq " STATE("128") "\n"
        "popfq\n"
        "mov %rsp, emu_native_stack(%rip)\n"
        EACH_GENERAL(LOAD_GENERAL)
        "jmp *emu_native_code(%rip)\n"
        ".globl emu_native_back\n"
        ".hidden emu_native_back\n"
        "emu_native_back:\n"
        EACH_GENERAL(STORE_GENERAL)
        "mov emu_native_stack(%rip), %rsp\n"
        "pushfq\n"
        "popq " STATE("128") "\n"
        "cld\n"
        "cmpq $0, emu_native_avx(%rip)\n"
        "jne 3f\n"
        EACH_VECTOR(STORE_XMM)
        "jmp 4f\n"
        "3:\n"
        EACH_VECTOR(STORE_YMM)
        "vzeroupper\n"
        "4:\n"
        "pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbp\n pop %rbx\n"
        "ret\n"
        ".size emu_native_enter, . - emu_native_enter\n"
        ".popsection\n");
/* clang-format on */

static struct {
    unsigned char *page;
    struct sigaction former[SIGNALS];
    struct sigaction emulator; /* trk_fault's, for SIGILL */
    volatile bool running;
    volatile enum emu_way way;
    struct emu_end end;
} native;

static unsigned char *code_of(enum emu_way way)
{
    return native.page + (way == EMU_BY_HANDLER ? UD2_BYTES : 0);
}

/* What the code that runs did not raise is none of its ends: the process ends by it. */
static void end_by(int signal_number, const siginfo_t *info)
{
    struct sigaction action = {.sa_handler = SIG_DFL};
    (void)sigaction(signal_number, &action, NULL);
    /* A fault happens again. What was sent does not: blocked for now, it arrives with the return.
     */
    if (info->si_code <= 0)
        (void)raise(signal_number);
}

static void note_end(int signal_number, siginfo_t *info, void *opaque)
{
    ucontext_t *context = opaque;
    uint64_t pc = (uint64_t)context->uc_mcontext.gregs[REG_RIP];
    bool in_page = pc - (uint64_t)(uintptr_t)native.page < TRK_HOST_PAGE_BYTES;
    if (!native.running || !in_page || info->si_code <= 0) {
        end_by(signal_number, info);
        return;
    }
    native.end = (struct emu_end){
        .signal_number = signal_number,
        .code = info->si_code,
        .trap = (uint64_t)context->uc_mcontext.gregs[REG_TRAPNO],
        .pc_offset = pc - (uint64_t)(uintptr_t)native.page,
    };
    if (native.end.trap == TRK_VECTOR_PAGE)
        native.end.fault_addr = (uint64_t)(uintptr_t)info->si_addr;
    context->uc_mcontext.gregs[REG_RIP] = (greg_t)(uintptr_t)emu_native_back;
}

/* Over the fault handler: step behind ud2 and let it look at what stands there, if it shall. */
static void skip_ud2(int signal_number, siginfo_t *info, void *opaque)
{
    ucontext_t *context = opaque;
    if (native.running && native.way == EMU_BY_PROCESSOR) {
        note_end(signal_number, info, opaque);
        return;
    }
    if (native.running &&
        (uint64_t)context->uc_mcontext.gregs[REG_RIP] == (uint64_t)(uintptr_t)native.page)
        context->uc_mcontext.gregs[REG_RIP] += UD2_BYTES;
    native.emulator.sa_sigaction(signal_number, info, opaque);
}

static enum trk_fault_outcome nobodys(void *context, uint64_t host_addr, enum trk_access access)
{
    (void)context;
    (void)host_addr;
    (void)access;
    return TRK_FAULT_UNHANDLED;
}

static enum trk_status failed(struct trk_error *error, const char *what)
{
    return trk_error_set_errno(error, TRK_E_SYSTEM, errno, "%s", what);
}

static enum trk_status install(struct trk_error *error)
{
    struct sigaction action = {.sa_sigaction = note_end, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    for (size_t i = 0; i < SIGNALS; i++) {
        if (sigaction(signals[i], &action, &native.former[i]) != 0)
            return failed(error, "cannot install a signal handler");
    }
    trk_crash_reports_set(TRK_CRASH_REPORT_NONE, STDERR_FILENO); /* faults are meant here */
    enum trk_status status = trk_fault_install(nobodys, NULL, error);
    if (status != TRK_OK)
        return status;
    action.sa_sigaction = skip_ud2;
    return sigaction(SIGILL, &action, &native.emulator) == 0
               ? TRK_OK
               : failed(error, "cannot install a signal handler");
}

enum trk_status emu_native_open(struct trk_error *error)
{
    emu_native_avx = __builtin_cpu_supports("avx") != 0;
    native.page = mmap(NULL, TRK_HOST_PAGE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    if (native.page == MAP_FAILED)
        return failed(error, "no memory for code");
    enum trk_status status = trk_fault_thread_enter(error);
    return status == TRK_OK ? install(error) : status;
}

void emu_native_close(void)
{
    (void)sigaction(SIGILL, &native.emulator, NULL);
    if (trk_fault_uninstall(NULL) != TRK_OK)
        return; /* somebody installed over us: what is there stays */
    for (size_t i = 0; i < SIGNALS; i++)
        (void)sigaction(signals[i], &native.former[i], NULL);
    trk_fault_thread_leave();
    munmap(native.page, TRK_HOST_PAGE_BYTES);
}

uint64_t emu_native_pc(enum emu_way way)
{
    return (uint64_t)(uintptr_t)code_of(way);
}

struct emu_end emu_native_run(enum emu_way way, const unsigned char *code, size_t code_bytes,
                              struct emu_state *state)
{
    /* jmp *0(%rip), and where to. */
    static const unsigned char jump[] = {0xff, 0x25, 0, 0, 0, 0};
    const unsigned char *back = emu_native_back;
    unsigned char *at = code_of(way);
    memcpy(native.page, ud2, sizeof ud2);
    memcpy(at, code, code_bytes);
    memcpy(at + code_bytes, jump, sizeof jump);
    memcpy(at + code_bytes + sizeof jump, &back, sizeof back);

    native.end = (struct emu_end){0};
    native.way = way;
    emu_native_state = *state;
    emu_native_code = (uint64_t)(uintptr_t)native.page;
    native.running = true;
    __asm__ volatile("" : : : "memory");
    emu_native_enter();
    __asm__ volatile("" : : : "memory");
    native.running = false;
    *state = emu_native_state;
    if (native.end.signal_number != 0 && way == EMU_BY_HANDLER)
        native.end.pc_offset -= UD2_BYTES;
    return native.end;
}

#else

enum trk_status emu_native_open(struct trk_error *error)
{
    return trk_error_set(error, TRK_E_UNSUPPORTED, "no processor of this kind");
}

void emu_native_close(void)
{
}

uint64_t emu_native_pc(enum emu_way way)
{
    (void)way;
    return 0;
}

struct emu_end emu_native_run(enum emu_way way, const unsigned char *code, size_t code_bytes,
                              struct emu_state *state)
{
    (void)way;
    (void)code;
    (void)code_bytes;
    (void)state;
    return (struct emu_end){.signal_number = SIGILL};
}

#endif
