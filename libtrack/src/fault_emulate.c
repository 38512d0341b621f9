/*
 * Branch 1: the instruction that raised SIGILL is carried out on the interrupted registers.
 *
 * Memory operands are read as the guest would have read them: a page of the GPU's is brought home
 * by the owner first, and what cannot be read becomes the fault that the processor would have
 * raised, at the same instruction. Vector registers are changed in the kernel's frame, which keeps
 * their upper parts elsewhere.
 *
 * Rules: [M-54].
 */
#define _GNU_SOURCE
#include "fault_parts.h"

#if defined(__x86_64__)

#include <asm/prctl.h>
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "peek.h"
#include "track/address.h"
#include "track/emulate.h"

/* The frame's general registers in the order of their encoding. */
static const int general_registers[TRK_GENERAL_REGISTERS] = {
    REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
    REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15,
};

/* The extended part of the frame: the kernel's mark in the legacy part, and the header behind it.
 */
#define FRAME_MARK_OFFSET   464u
#define FRAME_MARK          0x46505853u
#define FRAME_HEADER_OFFSET 512u
#define FRAME_HAS_SSE       UINT64_C(2)

static void registers_take(const ucontext_t *context, struct trk_registers *out)
{
    for (unsigned i = 0; i < TRK_GENERAL_REGISTERS; i++)
        out->general[i] = (uint64_t)context->uc_mcontext.gregs[general_registers[i]];
    out->pc = (uint64_t)context->uc_mcontext.gregs[REG_RIP];
    memcpy(out->vector, context->uc_mcontext.fpregs->_xmm, sizeof out->vector);
}

static void registers_give(ucontext_t *context, const struct trk_registers *from)
{
    for (unsigned i = 0; i < TRK_GENERAL_REGISTERS; i++)
        context->uc_mcontext.gregs[general_registers[i]] = (greg_t)from->general[i];
    context->uc_mcontext.gregs[REG_RIP] = (greg_t)from->pc;

    unsigned char *frame = (unsigned char *)context->uc_mcontext.fpregs;
    memcpy(context->uc_mcontext.fpregs->_xmm, from->vector, sizeof from->vector);
    uint32_t mark;
    memcpy(&mark, frame + FRAME_MARK_OFFSET, sizeof mark);
    if (mark == FRAME_MARK) {
        /* A part that is said to be in its initial state would be restored to that. */
        uint64_t present;
        memcpy(&present, frame + FRAME_HEADER_OFFSET, sizeof present);
        present |= FRAME_HAS_SSE;
        memcpy(frame + FRAME_HEADER_OFFSET, &present, sizeof present);
    }
}

static bool world_load(void *context, uint64_t host_addr, void *into, size_t size_bytes,
                       uint64_t *fault_addr)
{
    const struct fault *fault = context;
    for (;;) {
        size_t got = trk_peek(host_addr, into, size_bytes);
        if (got == size_bytes)
            return true;
        *fault_addr = host_addr + got;
        /* The owner counts fruitless services of one page and ends them. */
        if (fault->owner == NULL ||
            fault->owner(fault->owner_context, *fault_addr, TRK_ACCESS_READ) == TRK_FAULT_UNHANDLED)
            return false;
    }
}

/*
 * Code that cannot be read to the end of the longest instruction: another thread has closed its
 * page since the processor read it, or the instruction goes on in a page of the GPU's. When the
 * owner opens that page it is run again. (A page that may be executed but not read is never read.)
 */
static bool code_comes_home(const struct fault *fault, uint64_t host_addr)
{
    return fault->owner != NULL &&
           fault->owner(fault->owner_context, host_addr, TRK_ACCESS_EXECUTE) != TRK_FAULT_UNHANDLED;
}

/* CLFLUSH does all that CLWB does, and every 64-bit processor has it. */
static void world_write_back(void *context, uint64_t host_addr)
{
    (void)context;
    __asm__ volatile("clflush (%0)" : : "r"(host_addr) : "memory");
}

static uint64_t world_segment_base(void *context, bool gs)
{
    (void)context;
    uint64_t base = 0;
    (void)syscall(SYS_arch_prctl, gs ? ARCH_GET_GS : ARCH_GET_FS, &base);
    return base;
}

/* As Linux sets the register that RDPID reads. */
#define NODE_SHIFT 12

static uint32_t world_processor(void *context)
{
    (void)context;
    unsigned processor = 0, node = 0;
    (void)syscall(SYS_getcpu, &processor, &node, NULL);
    return node << NODE_SHIFT | processor;
}

static void world_yield(void *context)
{
    (void)context;
    sched_yield();
}

static bool page_mapped(uint64_t host_addr)
{
    unsigned char resident;
    uint64_t page = host_addr & ~(TRK_HOST_PAGE_BYTES - 1);
    return syscall(SYS_mincore, page, TRK_HOST_PAGE_BYTES, &resident) == 0;
}

#define ERROR_PRESENT 1
#define ERROR_USER    4

/* Turn the fault into what the memory operand would have raised. */
static void becomes(struct fault *fault, const struct trk_emulate_fault *raised)
{
    greg_t *general = fault->context->uc_mcontext.gregs;
    siginfo_t *info = &fault->info;
    memset(info, 0, sizeof *info);
    fault->signal_number = raised->vector == TRK_VECTOR_STACK ? SIGBUS : SIGSEGV;
    info->si_signo = fault->signal_number;
    info->si_code = SI_KERNEL;
    general[REG_TRAPNO] = raised->vector;
    general[REG_ERR] = 0;
    if (raised->vector != TRK_VECTOR_PAGE)
        return;
    bool mapped = page_mapped(raised->host_addr);
    info->si_code = mapped ? SEGV_ACCERR : SEGV_MAPERR;
    memcpy(&info->si_addr, &raised->host_addr, sizeof info->si_addr);
    general[REG_ERR] = ERROR_USER | (mapped ? ERROR_PRESENT : 0);
    general[REG_CR2] = (greg_t)raised->host_addr;
}

bool trk_fault_emulate(struct fault *fault)
{
    if (fault->signal_number != SIGILL || trk_fault_sent(fault) ||
        fault->context->uc_mcontext.fpregs == NULL)
        return false;
    struct trk_emulate_world world = {
        .context = fault,
        .load = world_load,
        .write_back = world_write_back,
        .segment_base = world_segment_base,
        .processor = world_processor,
        .yield = world_yield,
    };
    unsigned char code[TRK_INSTRUCTION_BYTES_MAX];
    struct trk_registers registers;
    struct trk_emulate_fault raised;
    registers_take(fault->context, &registers);
    size_t code_bytes = trk_peek(registers.pc, code, sizeof code);
    switch (trk_emulate(code, code_bytes, &registers, &world, &raised)) {
    case TRK_EMULATE_DONE:
        registers_give(fault->context, &registers);
        return true;
    case TRK_EMULATE_FAULT:
        becomes(fault, &raised);
        return false;
    case TRK_EMULATE_DECLINED:
        break;
    }
    return code_bytes < sizeof code && code_comes_home(fault, registers.pc + code_bytes);
}

#else

bool trk_fault_emulate(struct fault *fault)
{
    (void)fault;
    return false;
}

#endif
