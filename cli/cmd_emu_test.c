/* trk emu-test: whether this machine's instructions and the emulated ones are the same. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "emu/emu_check.h"
#include "json_out.h"
#include "options.h"
#include "terminal.h"

#define SCHEMA     "trk-emu-test/1"
#define CASES_MOST 100000000

static const struct trk_option emu_test_options[] = {
    {.name = "cases",
     .kind = TRK_OPTION_NUMBER,
     .value = "N",
     .fallback = "10000",
     .least = 1,
     .most = CASES_MOST,
     .about = "Random operand sets for each instruction."},
    {.name = "seed",
     .kind = TRK_OPTION_NUMBER,
     .value = "N",
     .fallback = "1",
     .most = UINT64_MAX,
     .about = "Where the random numbers begin."},
    {.name = "json", .about = "One JSON object, schema " SCHEMA "."},
    {.name = NULL},
};

/* RDPID names a processor: stay on one, so that two answers in a row are the same. */
static void stay_here(void)
{
    cpu_set_t here;
    int processor = sched_getcpu();
    if (processor >= 0 && processor < CPU_SETSIZE) {
        CPU_ZERO(&here);
        CPU_SET((unsigned)processor, &here);
        (void)sched_setaffinity(0, sizeof here, &here);
    }
}

static void print_text(const struct emu_tally *tallies, uint64_t cases, uint64_t seed)
{
    uint64_t differences = 0;
    printf("%-12s %-9s %10s %10s %10s %10s %10s\n", "instruction", "here", "cases", "memory",
           "faults", "processor", "handler");
    for (int i = 1; i < TRK_INSTRUCTION_COUNT; i++) {
        const struct emu_tally *tally = &tallies[i];
        printf("%-12s %-9s %10" PRIu64 " %10" PRIu64 " %10" PRIu64 " %10" PRIu64 " %10" PRIu64 "\n",
               trk_emulate_name((enum trk_instruction)i), tally->processor_has ? "yes" : "emulated",
               tally->cases, tally->memory, tally->faults, tally->by_processor, tally->by_handler);
        if (tally->differences > 0)
            printf("  %" PRIu64 " differences; %s\n", tally->differences, tally->first);
        differences += tally->differences;
    }
    if (differences > 0)
        printf("again: trk emu-test --seed %" PRIu64 " --cases %" PRIu64 "\n", seed, cases);
}

static void print_json(const struct emu_tally *tallies, uint64_t cases, uint64_t seed)
{
    cJSON *object = trk_json_out_object(SCHEMA);
    uint64_t differences = 0;
    trk_json_out_number(object, "cases", cases);
    trk_json_out_number(object, "seed", seed);
    cJSON *list = cJSON_AddArrayToObject(object, "instructions");
    for (int i = 1; i < TRK_INSTRUCTION_COUNT; i++) {
        const struct emu_tally *tally = &tallies[i];
        cJSON *entry = cJSON_CreateObject();
        trk_json_out_text(entry, "name", trk_emulate_name((enum trk_instruction)i));
        cJSON_AddBoolToObject(entry, "processor", tally->processor_has);
        trk_json_out_number(entry, "cases", tally->cases);
        trk_json_out_number(entry, "memory", tally->memory);
        trk_json_out_number(entry, "faults", tally->faults);
        trk_json_out_number(entry, "by_processor", tally->by_processor);
        trk_json_out_number(entry, "by_handler", tally->by_handler);
        trk_json_out_number(entry, "differences", tally->differences);
        trk_json_out_text(entry, "first", tally->differences > 0 ? tally->first : NULL);
        cJSON_AddItemToArray(list, entry);
        differences += tally->differences;
    }
    trk_json_out_number(object, "differences", differences);
    trk_json_out_print(object);
}

static int run_emu_test(const struct trk_options *options)
{
    static struct emu_tally tallies[TRK_INSTRUCTION_COUNT];
    uint64_t cases = trk_options_number(options, "cases");
    uint64_t seed = trk_options_number(options, "seed");
    bool json = trk_options_flag(options, "json");
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    struct emu_memory memory;
    stay_here();
    if (emu_memory_open(&memory, &error) != TRK_OK)
        return trk_terminal_error("emu-test", NULL, &error);
    if (emu_native_open(&error) != TRK_OK) {
        emu_memory_close(&memory);
        return trk_terminal_error("emu-test", NULL, &error);
    }
    uint64_t differences = 0;
    for (int i = 1; i < TRK_INSTRUCTION_COUNT; i++) {
        emu_check((enum trk_instruction)i, cases, seed, &memory, &tallies[i]);
        differences += tallies[i].differences;
    }
    emu_native_close();
    emu_memory_close(&memory);
    (json ? print_json : print_text)(tallies, cases, seed);
    return differences == 0 ? TRK_EXIT_OK : TRK_EXIT_BROKEN;
}

const struct trk_command trk_cmd_emu_test = {
    .name = "emu-test",
    .about = "compare the emulated instructions with the processor",
    .operands = "",
    .text =
        "The fault handler carries out instructions of a console's processor that the host may "
        "lack: "
        "the SHA family, EXTRQ and INSERTQ, MONITORX and MWAITX, RDPID, CLWB. This command says "
        "which of them the machine has, and runs each with random operands, in registers and in "
        "memory, readable and not: as a function, by a second implementation, by the processor "
        "itself where it has the instruction, and through a real signal. Registers, flags, memory "
        "and faults must agree bit by bit.\n\n"
        "Without the instruction the column processor is 0 and the second implementation decides.",
    .examples = "trk emu-test\ntrk emu-test --cases 1000000 --seed 7\ntrk emu-test --json",
    .exits = "0 all agree; 1 a difference was found; 2 the command line cannot be meant; 4 the "
             "machine is of another kind",
    .schema = SCHEMA,
    .options = emu_test_options,
    .run = run_emu_test,
};
