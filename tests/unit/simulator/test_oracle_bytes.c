/*
 * Goal: the oracle never calls a byte good of which it knows too little, tells the pages of one
 * store apart, and a story names what each copy began with.
 *
 * Method: tapes of annotations, judged by the oracle alone.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "tape_programs.h"

/* Bytes of the first page are stored to and copied to the GPU. */
static void copied(struct tape *tape)
{
    tape_store(tape, TAPE_CPU, TAPE_A, 1);
    tape_copy(tape, TRK_COPY_UP, TAPE_A, TAPE_P);
}

/* A store whose content is not known. */
static void put_access(struct tape *tape, enum trk_agent agent)
{
    struct trk_event event = {.type = TRK_EVENT_ACCESS,
                              .flags = (uint8_t)agent,
                              .context = TRK_ACCESS_WRITE,
                              .argument = TAPE_A};
    trk_event_set_size(&event, 64);
    tape_put(tape, &event);
}

static void store_part(struct tape *tape, uint32_t stamp)
{
    tape_put(tape,
             &(struct trk_event){
                 .type = TRK_EVENT_WITNESS_STORE, .argument = TAPE_A, .seq = 16, .domain = stamp});
}

static void check_part(struct tape *tape, uint32_t stamp)
{
    tape_put(tape, &(struct trk_event){.type = TRK_EVENT_WITNESS_CHECK,
                                       .flags = TRK_AGENT_GPU,
                                       .argument = TAPE_A,
                                       .seq = 16,
                                       .domain = stamp});
}

static void old_part(struct tape *tape)
{
    copied(tape);
    store_part(tape, 2);
    check_part(tape, 1);
}

static void part_seen(struct tape *tape)
{
    copied(tape);
    store_part(tape, 2);
    check_part(tape, 2);
}

static void part_then_all(struct tape *tape)
{
    store_part(tape, 1);
    tape_store(tape, TAPE_CPU, TAPE_A, 2);
    tape_check(tape, TAPE_GPU, TAPE_A, 2);
}

static void part_not_copied(struct tape *tape)
{
    copied(tape);
    store_part(tape, 2);
    tape_gpu_read(tape, TAPE_A, 16);
}

static void part_copied(struct tape *tape)
{
    part_not_copied(tape);
    tape_copy(tape, TRK_COPY_UP, TAPE_A, TAPE_P);
    tape_gpu_read(tape, TAPE_A, 16);
}

static void never_copied(struct tape *tape)
{
    tape_copy(tape, TRK_COPY_UP, TAPE_A + TAPE_P, TAPE_P);
    tape_store(tape, TAPE_CPU, TAPE_A, 1);
    tape_gpu_read(tape, TAPE_A, 64);
}

static void unknown_store_not_copied(struct tape *tape)
{
    copied(tape);
    put_access(tape, TRK_AGENT_KERNEL);
    tape_check(tape, TAPE_GPU, TAPE_A, 1);
}

static void unknown_store_copied(struct tape *tape)
{
    copied(tape);
    put_access(tape, TRK_AGENT_KERNEL);
    tape_copy(tape, TRK_COPY_UP, TAPE_A, TAPE_P);
    tape_check(tape, TAPE_GPU, TAPE_A, 1);
}

static void unknown_store_races(struct tape *tape)
{
    copied(tape);
    tape_as(tape, 1);
    put_access(tape, TRK_AGENT_KERNEL);
    tape_as(tape, 0);
    tape_check(tape, TAPE_GPU, TAPE_A, 1);
}

static const struct {
    const char *name;
    void (*record)(struct tape *tape);
    uint32_t granule_bytes;
    const char *verdict;
    uint64_t unknown;
} known[] = {
    {"old bytes of a part", old_part, 16, "stale-gpu-read", 0},
    {"old bytes of a part of a granule", old_part, 64, "unknown", 1},
    {"new bytes of a part of a granule", part_seen, 64, "unknown", 1},
    {"a granule stored to behind a part of it", part_then_all, 64, "ok", 0},
    {"a part not copied", part_not_copied, 16, "stale-gpu-read", 0},
    {"a part of a granule not copied", part_not_copied, 64, "unknown", 1},
    {"a part of a granule copied", part_copied, 64, "ok", 1},
    {"no copy was ever noted", never_copied, 1, "unknown", 1},
    {"unknown bytes not copied", unknown_store_not_copied, 1, "stale-gpu-read", 0},
    {"unknown bytes copied", unknown_store_copied, 1, "unknown", 1},
    {"unknown bytes race", unknown_store_races, 1, "ok", 0},
};

Test(oracle_bytes, what_is_not_known_is_not_good)
{
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        struct tape *tape = tape_create("default");
        known[i].record(tape);
        struct trk_sim_report report = tape_judge_alone(tape, known[i].granule_bytes);
        cr_expect_str_eq(trk_verdict_name(&report), known[i].verdict, "%s: %s (%s)", known[i].name,
                         trk_verdict_name(&report), report.text);
        cr_expect_eq(report.unknown, known[i].unknown, "%s: %u", known[i].name,
                     (unsigned)report.unknown);
        tape_destroy(tape);
    }
}

/* The kernel stores to two pages of which one is open: the other is the one that is missed. */
Test(oracle_bytes, pages_of_a_store_are_told_apart)
{
    for (unsigned open = 0; open < 2; open++) {
        struct tape *tape = tape_create("default");
        tape_store_faulting(tape, TAPE_A, 1);
        tape_store_faulting(tape, TAPE_A + TAPE_P, 1);
        tape_upload_copying(tape, TAPE_A, 2 * TAPE_P);
        ignore(trk_tracker_mark_cpu(tape->tracker, TAPE_A + open * TAPE_P, TAPE_P));
        tape_put(tape, &(struct trk_event){.type = TRK_EVENT_WITNESS_STORE,
                                           .flags = TRK_AGENT_KERNEL,
                                           .argument = TAPE_A,
                                           .seq = 2 * TAPE_P,
                                           .domain = 2});
        tape_check(tape, TAPE_GPU, TAPE_A + TAPE_P, 1);
        struct trk_sim_report report = tape_judge_alone(tape, 1);
        cr_expect_str_eq(trk_verdict_name(&report), "stale-gpu-read", "%u: %s", open, report.text);
        cr_expect_str_eq(report.detail,
                         open == 1 ? "copied, never re-read" : "stored without invalidate",
                         "%u: %s", open, report.text);
        cr_expect_not_null(strstr(report.teller, open == 1 ? "open to the CPU" : "CLEAN"), "%u: %s",
                           open, report.teller);
        tape_destroy(tape);
    }
}

/* All begin, then the store, then all end, as a batch is noted: they took older bytes. */
Test(oracle_bytes, copies_under_way_at_once)
{
    const unsigned counts[] = {20, 60}; /* of these more than are kept */
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        struct tape *tape = tape_create("default");
        tape_store(tape, TAPE_CPU, TAPE_A, 1);
        for (unsigned k = 0; k < 2 * counts[i]; k++) {
            struct trk_event copy = {.type =
                                         k < counts[i] ? TRK_EVENT_COPY_BEGIN : TRK_EVENT_COPY_END,
                                     .argument = TAPE_A + k % counts[i] * TAPE_P};
            if (k == counts[i])
                tape_store(tape, TAPE_CPU, TAPE_A, 2);
            trk_event_set_size(&copy, TAPE_P);
            tape_put(tape, &copy);
        }
        tape_check(tape, TAPE_GPU, TAPE_A, 1);
        struct trk_sim_report report = tape_judge_alone(tape, 1);
        cr_expect_str_eq(trk_verdict_name(&report), "stale-gpu-read", "%zu: %s", i, report.text);
        cr_expect_str_eq(report.detail, "copied, never re-read", "%zu: %s", i, report.text);
        cr_expect_eq(strstr(report.story[i].text, "ends a copy") != NULL, i == 1, "%zu: %s", i,
                     report.story[i].text);
        tape_destroy(tape);
    }
}

/* A write of the GPU has the low 32 bits of its tick, a completion all of them. */
Test(oracle_bytes, ticks_beyond_32_bits)
{
    const struct {
        uint32_t tick;
        uint64_t done;
        const char *detail;
    } wanted[] = {
        {UINT32_MAX - 15, (UINT64_C(1) << 32) + 5, "downloaded older bytes"},
        {7, (UINT64_C(1) << 32) - 2, "read back before the GPU was done"},
        {7, (UINT64_C(1) << 32) + 6, "read back before the GPU was done"},
        {7, (UINT64_C(1) << 32) + 7, "downloaded older bytes"},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        struct tape *tape = tape_create("default");
        tape_early_read_back(tape);
        trk_event_set_number32(tape_find(tape, TRK_EVENT_GPU_WRITE, 0), wanted[i].tick);
        tape_find(tape, TRK_EVENT_GPU_COMPLETE, 0)->argument = wanted[i].done;
        struct trk_sim_report report = tape_judge_alone(tape, 1);
        cr_expect_str_eq(report.detail, wanted[i].detail, "%zu: %s", i, report.text);
        tape_destroy(tape);
    }
}
