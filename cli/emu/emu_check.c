#include "emu_check.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "emu_reference.h"
#include "track/emulate.h"

/* What RDPID gives on Linux: the node above twelve bits of processor. */
static uint32_t processor_now(void)
{
    unsigned processor = 0, node = 0;
    (void)syscall(SYS_getcpu, &processor, &node, NULL);
    return node << 12 | processor;
}

/* ---- the world of the emulator as a function ---- */

struct world {
    const struct emu_memory *memory;
    uint32_t processor;
    unsigned yields, write_backs;
    uint64_t write_back_addr;
};

static bool world_load(void *context, uint64_t host_addr, void *into, size_t size_bytes,
                       uint64_t *fault_addr)
{
    const struct world *world = context;
    uint64_t offset = host_addr - (uint64_t)(uintptr_t)world->memory->first;
    if (offset >= EMU_OPEN_BYTES || offset + size_bytes > EMU_OPEN_BYTES) {
        *fault_addr = host_addr;
        if (offset < EMU_OPEN_BYTES)
            *fault_addr += EMU_OPEN_BYTES - offset;
        return false;
    }
    memcpy(into, world->memory->first + offset, size_bytes);
    return true;
}

static void world_write_back(void *context, uint64_t host_addr)
{
    struct world *world = context;
    world->write_backs++;
    world->write_back_addr = host_addr;
}

static uint64_t world_segment_base(void *context, bool gs)
{
    (void)context;
    return emu_segment_base(gs);
}

static uint32_t world_processor(void *context)
{
    return ((const struct world *)context)->processor;
}

static void world_yield(void *context)
{
    ((struct world *)context)->yields++;
}

static void registers_take(struct trk_registers *out, const struct emu_state *state, uint64_t pc)
{
    memcpy(out->general, state->general, sizeof out->general);
    out->pc = pc;
    for (unsigned i = 0; i < TRK_VECTOR_REGISTERS; i++)
        memcpy(out->vector[i], state->vector[i], TRK_VECTOR_BYTES);
}

static void registers_give(const struct trk_registers *from, struct emu_state *state)
{
    memcpy(state->general, from->general, sizeof state->general);
    for (unsigned i = 0; i < TRK_VECTOR_REGISTERS; i++)
        memcpy(state->vector[i], from->vector[i], TRK_VECTOR_BYTES);
}

/* ---- comparing ---- */

struct check {
    struct emu_tally *tally;
    const struct emu_memory *memory;
    const struct emu_case *c;
    struct emu_state wanted;
    struct emu_end wanted_end;
};

static void differ(const struct check *check, const char *way, const char *what)
{
    struct emu_tally *tally = check->tally;
    const struct emu_case *c = check->c;
    if (tally->differences++ > 0)
        return;
    int used = snprintf(tally->first, sizeof tally->first, "case %" PRIu64 ", %s: %s;",
                        tally->cases, way, what);
    for (size_t i = 0; i < c->code_bytes && used > 0 && (size_t)used < sizeof tally->first; i++)
        used +=
            snprintf(tally->first + used, sizeof tally->first - (size_t)used, " %02x", c->code[i]);
}

static void compare(const struct check *check, const char *way, const struct emu_state *got,
                    const struct emu_end *end)
{
    const struct emu_case *c = check->c;
    char what[64];
    const char *found = NULL;
    if (memcmp(end, &check->wanted_end, sizeof *end) != 0) {
        snprintf(what, sizeof what, "signal %d code %d trap %" PRIu64 " at 0x%" PRIx64,
                 end->signal_number, end->code, end->trap, end->fault_addr);
        found = what;
    }
    for (unsigned i = 0; found == NULL && i < TRK_GENERAL_REGISTERS; i++) {
        if (got->general[i] != check->wanted.general[i]) {
            snprintf(what, sizeof what, "register %u is 0x%" PRIx64 ", not 0x%" PRIx64, i,
                     got->general[i], check->wanted.general[i]);
            found = what;
        }
    }
    for (unsigned i = 0; found == NULL && i < TRK_VECTOR_REGISTERS; i++) {
        if (memcmp(got->vector[i], check->wanted.vector[i], EMU_VECTOR_BYTES) != 0) {
            snprintf(what, sizeof what, "xmm%u", i);
            found = what;
        }
    }
    if (found == NULL && got->flags != check->wanted.flags)
        found = "flags";
    if (found == NULL && c->memory && c->fault.signal_number == 0) {
        const unsigned char *at =
            check->memory->first + (c->host_addr - (uint64_t)(uintptr_t)check->memory->first);
        if (memcmp(at, c->operand, sizeof c->operand) != 0)
            found = "memory";
    }
    if (found != NULL)
        differ(check, way, found);
}

/* ---- the ways ---- */

static void by_function(const struct check *check, uint64_t pc, uint32_t processor)
{
    const struct emu_case *c = check->c;
    struct world world = {.memory = check->memory, .processor = processor};
    struct trk_emulate_world ways = {.context = &world,
                                     .load = world_load,
                                     .write_back = world_write_back,
                                     .segment_base = world_segment_base,
                                     .processor = world_processor,
                                     .yield = world_yield};
    struct trk_registers registers;
    struct trk_emulate_fault fault = {0};
    struct emu_state got = c->before;
    struct emu_end end = {0};
    registers_take(&registers, &got, pc);
    enum trk_emulate_result result = trk_emulate(c->code, c->code_bytes, &registers, &ways, &fault);
    registers_give(&registers, &got);
    if (result == TRK_EMULATE_DECLINED) {
        differ(check, "function", "declined");
        return;
    }
    if (result == TRK_EMULATE_FAULT) {
        end = check->wanted_end; /* signal and code are the handler's choice */
        end.trap = fault.vector;
        end.fault_addr = fault.host_addr;
    } else if (registers.pc != pc + c->code_bytes) {
        differ(check, "function", "length");
    }
    bool good = result == TRK_EMULATE_DONE;
    if (world.yields != (good && c->instruction == TRK_INSTRUCTION_MWAITX) ||
        world.write_backs != (good && c->instruction == TRK_INSTRUCTION_CLWB) ||
        (world.write_backs == 1 && world.write_back_addr != c->host_addr))
        differ(check, "function", "what it asked of the world");
    compare(check, "function", &got, &end);
}

static void by_running(const struct check *check, enum emu_way way)
{
    struct emu_state got = check->c->before;
    struct emu_end end = emu_native_run(way, check->c->code, check->c->code_bytes, &got);
    /* The processors of one maker want operands aligned; the emulator never does. */
    bool strict = way == EMU_BY_PROCESSOR && check->c->unaligned &&
                  end.trap == TRK_VECTOR_PROTECTION && check->wanted_end.trap != end.trap;
    if (!strict)
        compare(check, way == EMU_BY_PROCESSOR ? "processor" : "handler", &got, &end);
}

static void check_case(const struct check *base, const struct emu_case *c, enum emu_way way)
{
    struct check check = *base;
    uint32_t processor = processor_now();
    check.c = c;
    check.wanted = c->before;
    check.wanted_end = c->fault;
    if (c->fault.signal_number == 0)
        emu_reference_run(c, processor, &check.wanted);
    if (way == EMU_BY_PROCESSOR)
        by_function(&check, emu_native_pc(way), processor);
    if (way == EMU_BY_HANDLER || check.tally->processor_has)
        by_running(&check, way);
}

/* A case without a fault says whether the processor has the instruction. */
static bool processor_has(enum trk_instruction instruction, const struct emu_memory *memory)
{
    struct emu_random random = {.state = 0};
    struct emu_case c;
    do
        emu_case_make(&c, instruction, emu_native_pc(EMU_BY_PROCESSOR), memory, &random);
    while (c.fault.signal_number != 0);
    struct emu_state state = c.before;
    return emu_native_run(EMU_BY_PROCESSOR, c.code, c.code_bytes, &state).signal_number == 0;
}

void emu_check(enum trk_instruction instruction, uint64_t cases, uint64_t seed,
               const struct emu_memory *memory, struct emu_tally *out)
{
    struct check check = {.tally = out, .memory = memory};
    struct emu_random random = {.state = seed ^ (uint64_t)instruction << 56};
    struct emu_case c;
    memset(out, 0, sizeof *out);
    out->processor_has = processor_has(instruction, memory);
    for (; out->cases < cases; out->cases++) {
        for (int way = EMU_BY_PROCESSOR; way <= EMU_BY_HANDLER; way++) {
            struct emu_random same = random;
            emu_case_make(&c, instruction, emu_native_pc((enum emu_way)way), memory, &same);
            check_case(&check, &c, (enum emu_way)way);
            if (way == EMU_BY_HANDLER)
                random = same;
        }
        out->memory += c.memory;
        out->faults += c.fault.signal_number != 0;
        out->by_processor += out->processor_has;
        out->by_handler++;
    }
}
