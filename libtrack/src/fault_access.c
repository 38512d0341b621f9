/*
 * What a signal tells of the access that raised it: whether it was one, its kind, its address.
 *
 * Rules: [M-53].
 */
#define _GNU_SOURCE
#include "fault_parts.h"

#include <string.h>

#if defined(__aarch64__)
#include <asm/sigcontext.h>
#endif

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

static uint64_t program_counter(const ucontext_t *context)
{
    return (uint64_t)context->uc_mcontext.gregs[REG_RIP];
}

static uint64_t stack_pointer(const ucontext_t *context)
{
    return (uint64_t)context->uc_mcontext.gregs[REG_RSP];
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

static uint64_t program_counter(const ucontext_t *context)
{
    return context->uc_mcontext.pc;
}

static uint64_t stack_pointer(const ucontext_t *context)
{
    return context->uc_mcontext.sp;
}

#else
#error "no access decoder for this machine"
#endif

/* Whether the kernel raised the signal because of an access to a page that did not let it. */
static bool is_page_access(const struct fault *fault)
{
    int code = fault->info.si_code;
    if (fault->signal_number == SIGSEGV)
        return code == SEGV_MAPERR || code == SEGV_ACCERR;
    return fault->signal_number == SIGBUS && code == BUS_ADRERR;
}

bool trk_fault_access(const struct fault *fault, enum trk_access *out)
{
    return is_page_access(fault) && decode_access(fault->context, out);
}

bool trk_fault_sent(const struct fault *fault)
{
    int code = fault->info.si_code;
    return code <= 0 || (fault->signal_number == SIGBUS && code == BUS_MCEERR_AO);
}

uint64_t trk_fault_host_addr(const struct fault *fault)
{
    return (uint64_t)(uintptr_t)fault->info.si_addr;
}

struct env_interrupted trk_fault_interrupted_code(const struct fault *fault)
{
    const bool decoded = fault->signal_number == SIGILL; /* what it accesses is not told */
    const uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
    const uintptr_t floor = (uintptr_t)fault->context->uc_stack.ss_sp;
    const bool alternate = frame >= floor && frame - floor < fault->context->uc_stack.ss_size;
    return (struct env_interrupted){
        .pc = program_counter(fault->context),
        .stack_addr = stack_pointer(fault->context),
        .source = decoded ? TRK_SOURCE_INSTRUCTION : TRK_SOURCE_PROCESSOR,
        .host_addr = decoded ? 0 : trk_fault_host_addr(fault),
        .floor = alternate ? floor : 0,
    };
}
