/*
 * Carrying out one instruction: operands in, result out, pc behind it.
 *
 * Rules: [M-54].
 */
#include "track/emulate.h"

#include <string.h>

#include "emulate_decode.h"
#include "emulate_vector.h"

static const char *const names[TRK_INSTRUCTION_COUNT] = {
    [TRK_INSTRUCTION_NONE] = "none",
    [TRK_INSTRUCTION_SHA1NEXTE] = "sha1nexte",
    [TRK_INSTRUCTION_SHA1MSG1] = "sha1msg1",
    [TRK_INSTRUCTION_SHA1MSG2] = "sha1msg2",
    [TRK_INSTRUCTION_SHA1RNDS4] = "sha1rnds4",
    [TRK_INSTRUCTION_SHA256RNDS2] = "sha256rnds2",
    [TRK_INSTRUCTION_SHA256MSG1] = "sha256msg1",
    [TRK_INSTRUCTION_SHA256MSG2] = "sha256msg2",
    [TRK_INSTRUCTION_EXTRQ_IMMEDIATE] = "extrq-imm",
    [TRK_INSTRUCTION_EXTRQ] = "extrq",
    [TRK_INSTRUCTION_INSERTQ_IMMEDIATE] = "insertq-imm",
    [TRK_INSTRUCTION_INSERTQ] = "insertq",
    [TRK_INSTRUCTION_MONITORX] = "monitorx",
    [TRK_INSTRUCTION_MWAITX] = "mwaitx",
    [TRK_INSTRUCTION_RDPID] = "rdpid",
    [TRK_INSTRUCTION_CLWB] = "clwb",
};

const char *trk_emulate_name(enum trk_instruction instruction)
{
    return (unsigned)instruction < TRK_INSTRUCTION_COUNT ? names[instruction] : names[0];
}

enum trk_instruction trk_emulate_identify(const unsigned char *code, size_t code_bytes,
                                          size_t *length_bytes)
{
    struct emulate_instruction instruction;
    if (!trk_emulate_decode(code, code_bytes, &instruction))
        return TRK_INSTRUCTION_NONE;
    if (length_bytes != NULL)
        *length_bytes = instruction.length_bytes;
    return instruction.kind;
}

/* The operands of one step. */
struct step {
    struct emulate_instruction instruction;
    struct trk_registers *registers;
    const struct trk_emulate_world *world;
    struct trk_emulate_fault *fault;
};

static struct emulate_words vector(const struct step *step, unsigned number)
{
    struct emulate_words words;
    memcpy(&words, step->registers->vector[number], sizeof words);
    return words;
}

static uint64_t operand_address(const struct step *step)
{
    const struct emulate_instruction *instruction = &step->instruction;
    const uint64_t *general = step->registers->general;
    uint64_t host_addr = (uint64_t)(int64_t)instruction->displacement;
    if (instruction->pc_relative)
        host_addr += step->registers->pc + instruction->length_bytes;
    if (instruction->base != EMULATE_NO_REGISTER)
        host_addr += general[instruction->base];
    if (instruction->index != EMULATE_NO_REGISTER)
        host_addr += general[instruction->index] << instruction->scale_shift;
    if (instruction->address_32)
        host_addr = (uint32_t)host_addr;
    if (instruction->segment != EMULATE_SEGMENT_FLAT)
        host_addr += step->world->segment_base(step->world->context,
                                               instruction->segment == EMULATE_SEGMENT_GS);
    return host_addr;
}

static bool canonical(uint64_t host_addr)
{
    uint64_t top = host_addr >> 47;
    return top == 0 || top == 0x1ffff;
}

static bool raise(const struct step *step, uint32_t vector_number, uint64_t host_addr)
{
    *step->fault = (struct trk_emulate_fault){vector_number, host_addr};
    return false;
}

/*
 * In the processor's order: canonical, readable. Alignment is not asked for: the manuals want it of
 * the SHA instructions, and Zen, which the consoles have, does not (decision 0010).
 */
static bool load_operand(const struct step *step, void *into, size_t size_bytes)
{
    uint64_t host_addr = operand_address(step), fault_addr = 0;
    if (!canonical(host_addr) || !canonical(host_addr + size_bytes - 1))
        return raise(step,
                     step->instruction.stack_segment ? TRK_VECTOR_STACK : TRK_VECTOR_PROTECTION, 0);
    if (!step->world->load(step->world->context, host_addr, into, size_bytes, &fault_addr))
        return raise(step, TRK_VECTOR_PAGE, fault_addr);
    return true;
}

/* The second operand of a SHA instruction, from a register or from memory. */
static bool second_operand(const struct step *step, struct emulate_words *out)
{
    if (step->instruction.memory)
        return load_operand(step, out, sizeof *out);
    *out = vector(step, step->instruction.rm);
    return true;
}

static bool do_sha(const struct step *step)
{
    struct emulate_words second;
    if (!second_operand(step, &second))
        return false;
    unsigned to = step->instruction.reg;
    struct emulate_words result = trk_emulate_sha(step->instruction.kind, vector(step, to), second,
                                                  vector(step, 0), step->instruction.immediate[0]);
    memcpy(step->registers->vector[to], &result, sizeof result);
    return true;
}

/* EXTRQ names its register in ModRM.rm with immediates, in ModRM.reg without. */
static bool do_field(const struct step *step)
{
    const struct emulate_instruction *instruction = &step->instruction;
    struct emulate_words from = vector(step, instruction->rm), result;
    unsigned to = instruction->reg;
    switch (instruction->kind) {
    case TRK_INSTRUCTION_EXTRQ_IMMEDIATE:
        to = instruction->rm;
        result = trk_emulate_extract(from, instruction->immediate[0], instruction->immediate[1]);
        break;
    case TRK_INSTRUCTION_EXTRQ:
        result = trk_emulate_extract(vector(step, to), from.word[0], from.word[0] >> 8);
        break;
    case TRK_INSTRUCTION_INSERTQ_IMMEDIATE:
        result = trk_emulate_insert(vector(step, to), from, instruction->immediate[0],
                                    instruction->immediate[1]);
        break;
    default:
        result = trk_emulate_insert(vector(step, to), from, from.word[2], from.word[2] >> 8);
        break;
    }
    memcpy(step->registers->vector[to], &result, sizeof result);
    return true;
}

/* CLWB faults as a load of its byte would. */
static bool do_write_back(const struct step *step)
{
    unsigned char byte;
    if (!load_operand(step, &byte, sizeof byte))
        return false;
    step->world->write_back(step->world->context, operand_address(step));
    return true;
}

static bool carry_out(const struct step *step)
{
    const struct trk_emulate_world *world = step->world;
    switch (step->instruction.kind) {
    case TRK_INSTRUCTION_EXTRQ_IMMEDIATE:
    case TRK_INSTRUCTION_EXTRQ:
    case TRK_INSTRUCTION_INSERTQ_IMMEDIATE:
    case TRK_INSTRUCTION_INSERTQ:
        return do_field(step);
    case TRK_INSTRUCTION_MONITORX:
        return true;
    case TRK_INSTRUCTION_MWAITX:
        world->yield(world->context);
        return true;
    case TRK_INSTRUCTION_RDPID:
        step->registers->general[step->instruction.rm] = world->processor(world->context);
        return true;
    case TRK_INSTRUCTION_CLWB:
        return do_write_back(step);
    default:
        return do_sha(step);
    }
}

enum trk_emulate_result trk_emulate(const unsigned char *code, size_t code_bytes,
                                    struct trk_registers *registers,
                                    const struct trk_emulate_world *world,
                                    struct trk_emulate_fault *fault)
{
    struct step step = {.registers = registers, .world = world, .fault = fault};
    if (!trk_emulate_decode(code, code_bytes, &step.instruction))
        return TRK_EMULATE_DECLINED;
    if (!carry_out(&step))
        return TRK_EMULATE_FAULT;
    registers->pc += step.instruction.length_bytes;
    return TRK_EMULATE_DONE;
}
