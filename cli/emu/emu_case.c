#define _GNU_SOURCE
#include "emu_case.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <asm/prctl.h>
#endif

#include "simulator/chance.h"
#include "track/address.h"

#define PAGE TRK_HOST_PAGE_BYTES

static unsigned below(struct emu_random *random, unsigned bound)
{
    return (unsigned)(trk_chance_next(&random->state) % bound);
}

static bool one_in(struct emu_random *random, unsigned count)
{
    return below(random, count) == 0;
}

/* ---- memory ---- */

enum trk_status emu_memory_open(struct emu_memory *memory, struct trk_error *error)
{
    unsigned char *all = mmap(NULL, EMU_OPEN_BYTES + 2 * PAGE, PROT_NONE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    if (all == MAP_FAILED || mprotect(all + PAGE, EMU_OPEN_BYTES, PROT_READ | PROT_WRITE) != 0)
        return trk_error_set(error, TRK_E_SYSTEM, "no memory for operands: %s", strerror(errno));
    memory->first = all + PAGE;
    return TRK_OK;
}

void emu_memory_close(struct emu_memory *memory)
{
    munmap(memory->first - PAGE, EMU_OPEN_BYTES + 2 * PAGE);
}

/* ---- what each instruction looks like ---- */

enum operands { REGISTERS, EITHER, MEMORY, NO_OPERANDS };

struct shape {
    unsigned char prefix; /* 0: none may be there */
    unsigned char opcode[3];
    unsigned opcode_bytes;
    enum operands operands;
    int extension; /* ModRM.reg, or -1: a register */
    unsigned immediates;
    unsigned operand_bytes; /* in memory */
};

static const struct shape shapes[TRK_INSTRUCTION_COUNT] = {
    [TRK_INSTRUCTION_SHA1NEXTE] = {0, {0x0f, 0x38, 0xc8}, 3, EITHER, -1, 0, 16},
    [TRK_INSTRUCTION_SHA1MSG1] = {0, {0x0f, 0x38, 0xc9}, 3, EITHER, -1, 0, 16},
    [TRK_INSTRUCTION_SHA1MSG2] = {0, {0x0f, 0x38, 0xca}, 3, EITHER, -1, 0, 16},
    [TRK_INSTRUCTION_SHA1RNDS4] = {0, {0x0f, 0x3a, 0xcc}, 3, EITHER, -1, 1, 16},
    [TRK_INSTRUCTION_SHA256RNDS2] = {0, {0x0f, 0x38, 0xcb}, 3, EITHER, -1, 0, 16},
    [TRK_INSTRUCTION_SHA256MSG1] = {0, {0x0f, 0x38, 0xcc}, 3, EITHER, -1, 0, 16},
    [TRK_INSTRUCTION_SHA256MSG2] = {0, {0x0f, 0x38, 0xcd}, 3, EITHER, -1, 0, 16},
    [TRK_INSTRUCTION_EXTRQ_IMMEDIATE] = {0x66, {0x0f, 0x78}, 2, REGISTERS, 0, 2, 1},
    [TRK_INSTRUCTION_EXTRQ] = {0x66, {0x0f, 0x79}, 2, REGISTERS, -1, 0, 1},
    [TRK_INSTRUCTION_INSERTQ_IMMEDIATE] = {0xf2, {0x0f, 0x78}, 2, REGISTERS, -1, 2, 1},
    [TRK_INSTRUCTION_INSERTQ] = {0xf2, {0x0f, 0x79}, 2, REGISTERS, -1, 0, 1},
    [TRK_INSTRUCTION_MONITORX] = {0, {0x0f, 0x01, 0xfa}, 3, NO_OPERANDS, -1, 0, 1},
    [TRK_INSTRUCTION_MWAITX] = {0, {0x0f, 0x01, 0xfb}, 3, NO_OPERANDS, -1, 0, 1},
    [TRK_INSTRUCTION_RDPID] = {0xf3, {0x0f, 0xc7}, 2, REGISTERS, 7, 0, 1},
    [TRK_INSTRUCTION_CLWB] = {0x66, {0x0f, 0xae}, 2, MEMORY, 6, 0, 1},
};

/* ---- encoding ---- */

struct address {
    bool sib, pc_relative, has_base, has_index, address_32, fs, gs;
    uint8_t base, index, scale_shift;
    unsigned mode; /* ModRM.mod */
    uint64_t segment_base;
};

struct maker {
    struct emu_case *c;
    const struct shape *shape;
    struct emu_random *random;
    struct address address;
    uint64_t pc;
};

static void put(struct emu_case *c, unsigned byte)
{
    c->code[c->code_bytes++] = (unsigned char)byte;
}

/* The legacy prefixes: what the instruction needs, and some without meaning, in any order. */
static void put_prefixes(struct maker *maker)
{
    static const unsigned char idle[] = {0x26, 0x2e, 0x36, 0x3e};
    unsigned char all[5];
    size_t count = 0;
    if (maker->shape->prefix != 0)
        all[count++] = maker->shape->prefix;
    if (maker->address.address_32)
        all[count++] = 0x67;
    if (maker->address.fs || maker->address.gs)
        all[count++] = maker->address.fs ? 0x64 : 0x65;
    else if (one_in(maker->random, 4))
        all[count++] = idle[below(maker->random, sizeof idle)];
    if (maker->shape->prefix != 0 && one_in(maker->random, 8))
        all[count++] = 0x66; /* beside another one it means nothing, and twice neither */
    for (size_t i = count; i > 1; i--) {
        size_t j = below(maker->random, (unsigned)i);
        unsigned char moved = all[i - 1];
        all[i - 1] = all[j];
        all[j] = moved;
    }
    for (size_t i = 0; i < count; i++)
        put(maker->c, all[i]);
}

static void put_rex(struct maker *maker, unsigned reg, unsigned rm)
{
    const struct address *address = &maker->address;
    unsigned rex = reg >= 8 ? 4 : 0;
    if (!maker->c->memory)
        rex |= rm >= 8 ? 1 : 0;
    else
        rex |= (address->has_base && address->base >= 8 ? 1u : 0) |
               (address->has_index && address->index >= 8 ? 2u : 0);
    if (maker->c->memory && !address->has_base)
        rex |= one_in(maker->random, 2) ? 1 : 0; /* of no meaning without a base */
    if (one_in(maker->random, 4))
        rex |= 8;
    if (rex != 0 || one_in(maker->random, 4))
        put(maker->c, 0x40 | rex);
}

static void put_little(struct emu_case *c, uint32_t value, unsigned size_bytes)
{
    for (unsigned i = 0; i < size_bytes; i++)
        put(c, (value >> (8 * i)) & 0xff);
}

/*
 * Choose register values so that the operand lies at host_addr, and put ModRM, SIB, displacement.
 * `behind` is what comes after them: RIP-relative counts from the end of the instruction.
 */
static void put_memory(struct maker *maker, unsigned reg, unsigned behind)
{
    struct address *a = &maker->address;
    struct emu_case *c = maker->c;
    uint64_t *general = c->before.general;
    bool bare = !a->has_base && !a->pc_relative; /* a displacement of four bytes without a base */
    unsigned bytes = a->pc_relative || bare ? 4 : a->mode == 1 ? 1 : a->mode == 2 ? 4 : 0;
    uint64_t target = c->host_addr - a->segment_base;
    uint32_t displacement = 0;

    put(c, (a->mode << 6) | (reg & 7) << 3 | (a->sib ? 4 : a->pc_relative ? 5 : a->base & 7u));
    if (a->sib)
        put(c, (unsigned)a->scale_shift << 6 | (a->has_index ? a->index & 7u : 4u) << 3 |
                   (a->has_base ? a->base & 7u : 5u));
    if (a->pc_relative) {
        displacement = (uint32_t)(target - (maker->pc + c->code_bytes + 4 + behind));
    } else {
        int64_t random = (int64_t)trk_chance_next(&maker->random->state);
        displacement = bytes == 1 ? (uint32_t)(int8_t)random : bytes == 4 ? (uint32_t)random : 0;
        uint64_t reached = (uint64_t)(int64_t)(int32_t)displacement;
        if (a->has_index)
            reached += general[a->index] << a->scale_shift;
        if (a->has_base)
            general[a->base] = target - reached +
                               (a->address_32 ? trk_chance_next(&maker->random->state) << 32 : 0);
        else
            displacement =
                (uint32_t)(target - (reached - (uint64_t)(int64_t)(int32_t)displacement));
    }
    put_little(c, displacement, bytes);
}

uint64_t emu_segment_base(bool gs)
{
    uint64_t base = 0;
#if defined(__x86_64__)
    (void)syscall(SYS_arch_prctl, gs ? ARCH_GET_GS : ARCH_GET_FS, &base);
#else
    (void)gs;
#endif
    return base;
}

/* Any form of address that can reach any target. */
static void choose_address(struct maker *maker)
{
    struct address *a = &maker->address;
    struct emu_random *random = maker->random;
    a->pc_relative = one_in(random, 6);
    if (a->pc_relative) {
        a->address_32 = one_in(random, 4);
        return;
    }
    a->has_base = !one_in(random, 6);
    a->has_index = one_in(random, 2);
    a->base = (uint8_t)below(random, 16);
    a->index = (uint8_t)below(random, 16);
    if (a->index == 4 || (a->has_base && a->index == a->base))
        a->has_index = false;
    a->scale_shift = (uint8_t)below(random, 4);
    a->sib = a->has_index || !a->has_base || (a->base & 7) == 4 || one_in(random, 4);
    a->mode = a->has_base ? below(random, 3) : 0;
    if (a->has_base && (a->base & 7) == 5 && a->mode == 0)
        a->mode = 1 + below(random, 2);
    if (!a->has_base && a->has_index) /* its displacement has 32 bits: the index must be near */
        maker->c->before.general[a->index] = below(random, 1u << 20);
    a->gs = one_in(random, 8);
    a->segment_base = a->gs ? emu_segment_base(true) : 0;
    if (a->has_base && !a->gs && one_in(random, 8)) {
        a->fs = true;
        a->segment_base = emu_segment_base(false);
    } else {
        a->address_32 = one_in(random, 4);
    }
    maker->c->stack_segment = a->has_base && (a->base == 4 || a->base == 5) && !a->fs && !a->gs;
}

/* A place that the operand cannot be read from, and what the processor says to it. */
static void choose_fault(struct maker *maker, const struct emu_memory *memory)
{
    struct emu_case *c = maker->c;
    struct emu_end *fault = &c->fault;
    uint64_t first = (uint64_t)(uintptr_t)memory->first;
    bool near = maker->address.pc_relative || !maker->address.has_base || maker->address.address_32;
    unsigned bytes = maker->shape->operand_bytes;
    *fault = (struct emu_end){SIGSEGV, SEGV_ACCERR, TRK_VECTOR_PAGE, 0, 0};
    switch (below(maker->random, 4)) {
    case 0: /* over the edge: the first byte behind it is told */
        c->host_addr = first + EMU_OPEN_BYTES - below(maker->random, bytes);
        fault->fault_addr = first + EMU_OPEN_BYTES;
        break;
    case 1:
        c->host_addr = first - 1 - below(maker->random, bytes);
        fault->fault_addr = c->host_addr;
        break;
    case 2:
        c->host_addr = first + EMU_OPEN_BYTES + below(maker->random, PAGE - bytes);
        fault->fault_addr = c->host_addr;
        break;
    default: /* no address at all */
        if (near) {
            fault->signal_number = 0;
            break;
        }
        c->host_addr = UINT64_C(1) << 63 | trk_chance_next(&maker->random->state) >> 2;
        fault->code = SI_KERNEL;
        fault->trap = c->stack_segment ? TRK_VECTOR_STACK : TRK_VECTOR_PROTECTION;
        fault->signal_number = c->stack_segment ? SIGBUS : SIGSEGV;
        break;
    }
    if (fault->signal_number == 0)
        memset(fault, 0, sizeof *fault);
}

static void choose_memory(struct maker *maker, const struct emu_memory *memory)
{
    struct emu_case *c = maker->c;
    unsigned offset = below(maker->random, EMU_OPEN_BYTES - TRK_VECTOR_BYTES + 1);
    if (!one_in(maker->random, 4))
        offset &= ~(TRK_VECTOR_BYTES - 1);
    c->memory = true;
    choose_address(maker);
    c->host_addr = (uint64_t)(uintptr_t)memory->first + offset;
    for (unsigned i = 0; i < sizeof c->operand; i += 8) {
        uint64_t word = trk_chance_next(&maker->random->state);
        memcpy(c->operand + i, &word, sizeof word);
    }
    memcpy(memory->first + offset, c->operand, sizeof c->operand);
    if (one_in(maker->random, 8))
        choose_fault(maker, memory);
    c->unaligned = c->host_addr % maker->shape->operand_bytes != 0;
}

/* The status flags alone: the others are the system's. */
#define FLAGS_STATUS (1u | 4u | 16u | 64u | 128u | 2048u)
#define FLAGS_ALWAYS 0x202u /* interrupts on, and bit 1, which is always set */

static void choose_registers(struct emu_case *c, struct emu_random *random)
{
    for (unsigned i = 0; i < TRK_GENERAL_REGISTERS; i++)
        c->before.general[i] = trk_chance_next(&random->state);
    for (unsigned i = 0; i < sizeof c->before.vector; i += 8) {
        uint64_t word = trk_chance_next(&random->state);
        memcpy(&c->before.vector[0][0] + i, &word, sizeof word);
    }
    c->before.flags = FLAGS_ALWAYS | (trk_chance_next(&random->state) & FLAGS_STATUS);
}

/* What a monitor wants: a place that it may watch, no extensions, and a wait that ends at once. */
static void choose_monitor(struct emu_case *c, const struct emu_memory *memory)
{
    bool waits = c->instruction == TRK_INSTRUCTION_MWAITX;
    c->before.general[0] = waits ? 0 : (uint64_t)(uintptr_t)memory->first;
    c->before.general[1] = waits ? 2 : 0; /* ECX bit 1: EBX says how long at most */
    c->before.general[2] = 0;
    c->before.general[3] = 1;
}

void emu_case_make(struct emu_case *out, enum trk_instruction instruction, uint64_t pc,
                   const struct emu_memory *memory, struct emu_random *random)
{
    const struct shape *shape = &shapes[instruction];
    struct maker maker = {.c = out, .shape = shape, .random = random, .pc = pc};
    memset(out, 0, sizeof *out);
    out->instruction = instruction;
    choose_registers(out, random);
    out->reg = (uint8_t)below(random, 16);
    out->rm = (uint8_t)below(random, 16);
    if (shape->operands == MEMORY || (shape->operands == EITHER && one_in(random, 2)))
        choose_memory(&maker, memory);
    if (shape->operands == NO_OPERANDS)
        choose_monitor(out, memory);

    unsigned reg = shape->extension >= 0 ? (unsigned)shape->extension : out->reg;
    put_prefixes(&maker);
    if (shape->operands != NO_OPERANDS)
        put_rex(&maker, reg, out->rm);
    for (unsigned i = 0; i < shape->opcode_bytes; i++)
        put(out, shape->opcode[i]);
    if (out->memory)
        put_memory(&maker, reg, shape->immediates);
    else if (shape->operands != NO_OPERANDS)
        put(out, 0xc0 | (reg & 7) << 3 | (out->rm & 7u));
    for (unsigned i = 0; i < shape->immediates; i++) {
        out->immediate[i] = (uint8_t)trk_chance_next(&random->state);
        put(out, out->immediate[i]);
    }
}
