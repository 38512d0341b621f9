/*
 * The store, in assembly: no compiler uses the red zone and every register at once.
 *
 * Everything is reached relative to the program counter, because all registers carry patterns.
 * Flags are looked at last, with the red zone already told: pushing them writes over it.
 */
#include "restored.h"

#include <stddef.h>
#include <string.h>

#if defined(__x86_64__)

extern void restored_asm(void);
struct restored_state restored_in __attribute__((visibility("hidden")));
struct restored_state restored_out __attribute__((visibility("hidden")));
void *restored_where __attribute__((visibility("hidden")));

_Static_assert(offsetof(struct restored_state, registers) == 128, "the assembly says 128");
_Static_assert(offsetof(struct restored_state, flags) == 240, "the assembly says 240");
_Static_assert(offsetof(struct restored_state, vectors) == 248, "the assembly says 248");
_Static_assert(offsetof(struct restored_state, vector_control) == 504, "the assembly says 504");
_Static_assert(offsetof(struct restored_state, x87_control) == 508, "the assembly says 508");

/* clang-format off */
#define ZONE_IN(n)  "movq restored_in+" #n "*8(%rip), %rcx\n movq %rcx, -8*(" #n "+1)(%rsp)\n"
#define ZONE_OUT(n) "movq -8*(" #n "+1)(%rsp), %rcx\n movq %rcx, restored_out+" #n "*8(%rip)\n"
#define REG_IN(n, name)  "movq restored_in+128+" #n "*8(%rip), %" name "\n"
#define REG_OUT(n, name) "movq %" name ", restored_out+128+" #n "*8(%rip)\n"
#define VEC_IN(n)  "movups restored_in+248+" #n "*16(%rip), %xmm" #n "\n"
#define VEC_OUT(n) "movups %xmm" #n ", restored_out+248+" #n "*16(%rip)\n"
#define ZONES(M) M(0) M(1) M(2) M(3) M(4) M(5) M(6) M(7) M(8) M(9) M(10) M(11) M(12) M(13) M(14) M(15)
#define REGS(M) M(0, "rbx") M(1, "rcx") M(2, "rdx") M(3, "rsi") M(4, "rdi") M(5, "rbp") M(6, "r8") \
    M(7, "r9") M(8, "r10") M(9, "r11") M(10, "r12") M(11, "r13") M(12, "r14") M(13, "r15")

__asm__(
    ".text\n.type restored_asm, @function\nrestored_asm:\n"
    "pushq %rbx\n pushq %rbp\n pushq %r12\n pushq %r13\n pushq %r14\n pushq %r15\n"
    "subq $24, %rsp\n stmxcsr 8(%rsp)\n fnstcw 16(%rsp)\n"
    "pushq restored_in+240(%rip)\n popfq\n"
    "ldmxcsr restored_in+504(%rip)\n fldcw restored_in+508(%rip)\n"
    ZONES(VEC_IN) ZONES(ZONE_IN) REGS(REG_IN)
    "movq restored_where(%rip), %rax\n"
    "movb $77, (%rax)\n"
    REGS(REG_OUT) ZONES(ZONE_OUT)
    "pushfq\n popq restored_out+240(%rip)\n cld\n"
    "stmxcsr restored_out+504(%rip)\n fnstcw restored_out+508(%rip)\n"
    ZONES(VEC_OUT)
    "ldmxcsr 8(%rsp)\n fldcw 16(%rsp)\n addq $24, %rsp\n"
    "popq %r15\n popq %r14\n popq %r13\n popq %r12\n popq %rbp\n popq %rbx\n ret\n"
    ".size restored_asm, . - restored_asm\n");
/* clang-format on */

bool restored_is_here(void)
{
    return true;
}

void restored_store(volatile unsigned char *where, const struct restored_state *before,
                    struct restored_state *after)
{
    restored_where = (void *)(uintptr_t)where;
    restored_in = *before;
    memset(&restored_out, 0, sizeof(restored_out));
    restored_asm();
    *after = restored_out;
}

#else

bool restored_is_here(void)
{
    return false;
}

void restored_store(volatile unsigned char *where, const struct restored_state *before,
                    struct restored_state *after)
{
    *after = *before;
    *where = 77;
}

#endif
