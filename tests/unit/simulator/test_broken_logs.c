/*
 * Goal: whatever stands in a log, the simulator ends, with a verdict, and so does its exploration;
 * twice the same.
 *
 * Method: a tape of several threads and nested callbacks is changed at random: fields, order, lost
 * and doubled events, streams cut short. A failing seed is printed; TRK_SEED runs from there.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "environment.h"
#include "simulator/explore.h"
#include "tape.h"

#define RUNS 400u

static uint64_t random_state;

static uint32_t draw(uint32_t below)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(random_state >> 33) % below;
}

static void drain_in_flush(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    tape_drain(context, guest_addr, size_bytes);
}

static void record(struct tape *tape)
{
    struct trk_resource_layer layer = {
        .flush = drain_in_flush, .read_back = drain_in_flush, .context = tape};
    cr_assert_eq(trk_tracker_set_resource_layer(tape->tracker, &layer), TRK_OK);
    tape_map(tape, TAPE_A, 16 * TAPE_P, 0, 0);
    for (uint32_t i = 0; i < 60; i++) {
        uint64_t at = TAPE_A + i % 7 * TAPE_P;
        tape_as(tape, i % 3);
        tape_store_faulting(tape, at, i + 1);
        tape_signal(tape, i % 3, i + 1);
        tape_as(tape, (i + 1) % 3);
        tape_await(tape, i % 3, i + 1);
        if (i % 5 == 0)
            tape_upload_copying(tape, TAPE_A, 8 * TAPE_P);
        if (i % 9 == 0)
            tape_upload(tape, at, TAPE_P, true);
        tape_check(tape, TAPE_CPU, at, i + 1);
    }
}

static void break_one(struct tape *tape)
{
    struct tape_stream *stream = &tape->streams[draw(3)];
    if (stream->count < 2)
        return;
    uint32_t at = draw((uint32_t)stream->count - 1);
    struct trk_record *record = &stream->records[at];
    switch (draw(5)) {
    case 0: { /* a bit of the event */
        unsigned char bytes[sizeof record->event];
        memcpy(bytes, &record->event, sizeof bytes);
        uint32_t bit = draw(8 * sizeof bytes);
        bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
        memcpy(&record->event, bytes, sizeof bytes);
        break;
    }
    case 1: /* swapped with the next */
    {
        struct trk_event event = record->event;
        record->event = record[1].event;
        record[1].event = event;
        break;
    }
    case 2: /* lost */
        memmove(record, record + 1, (stream->count - at - 1) * sizeof *record);
        stream->count--;
        break;
    case 3: /* become another's */
        record->event = tape->streams[0].records[draw((uint32_t)tape->streams[0].count)].event;
        break;
    default: /* the stream ends here */
        if (draw(4) == 0)
            stream->count = at + 1;
        break;
    }
}

Test(broken_logs, always_a_verdict, .timeout = 300)
{
    uint64_t seed = environment_number("TRK_SEED", 1);
    unsigned verdicts[16] = {0};
    for (uint64_t run = 0; run < RUNS; run++, seed++) {
        random_state = seed * 77;
        struct tape *tape = tape_create("default");
        record(tape);
        for (uint32_t i = draw(3) + 1; i > 0; i--)
            break_one(tape);
        struct trk_sim_report report = tape_judge(tape);
        struct trk_sim_report again = tape_judge(tape);
        cr_assert(tape_reports_equal(&report, &again),
                  "two runs differ: TRK_SEED=%llu unit_simulator_broken_logs",
                  (unsigned long long)seed);
        verdicts[report.verdict]++;
        tape_destroy(tape);
    }
    cr_expect_gt(verdicts[TRK_VERDICT_DIVERGENCE], RUNS / 10, "most changes contradict the core");
}

/* One thread waits for what another one, as far as the log says, did or did not signal. */
static struct tape *await_first_store(bool signalled)
{
    struct tape *tape = tape_create("default");
    tape_as(tape, 0);
    tape_store_faulting(tape, TAPE_A, 1);
    if (signalled)
        tape_signal(tape, 9, 1);
    tape_as(tape, 1);
    tape_await(tape, 9, 1);
    tape_check(tape, TAPE_CPU, TAPE_A, 1);
    return tape;
}

Test(broken_logs, what_has_no_order_is_not_ok)
{
    struct tape *tape = await_first_store(true);
    cr_expect_eq(tape_judge(tape).verdict, TRK_VERDICT_OK);
    cr_expect(tape_judge(tape).complete);
    tape_destroy(tape);

    tape = await_first_store(false);
    struct trk_sim_report report = tape_judge(tape);
    cr_expect_eq(report.verdict, TRK_VERDICT_TRACE_INCOMPLETE, "%s", report.text);
    cr_expect_not(report.complete);
    cr_expect_not_null(strstr(report.text, "the order of 1 events is a guess"), "%s", report.text);
    report = tape_judge_alone(tape, 1);
    cr_expect_eq(report.verdict, TRK_VERDICT_TRACE_INCOMPLETE, "%s", report.text);
    cr_expect_not(report.complete);
    tape_destroy(tape);
}

/* Whoever should have signalled is not in the file at all, and may have copied anything: whatever
 * else the file lacks, or whether it lacks anything else. */
Test(broken_logs, an_await_of_nobody_excuses_what_was_before)
{
    for (unsigned way = 0; way < 8; way++) {
        const bool awaited = way % 2 > 0, end = way / 2 % 2 > 0, lost = way / 4 > 0;
        struct tape *tape = tape_create("default");
        tape->end = end;
        if (lost) {
            struct trk_event drop = {
                .type = TRK_EVENT_DROP, .context = TRK_EVENT_WITNESS_CHECK, .argument = 1};
            tape_put(tape, &drop);
        }
        tape_store(tape, TAPE_CPU, TAPE_A, 1);
        tape_copy(tape, TRK_COPY_UP, TAPE_A, TAPE_P);
        tape_store(tape, TAPE_CPU, TAPE_A, 2);
        if (awaited)
            tape_await(tape, 9, 1);
        tape_gpu_read(tape, TAPE_A, 16);
        tape->tsc += 100000; /* far from what a file without an end has lost */
        tape_store(tape, TAPE_CPU, TAPE_A + TAPE_P, 3);
        struct trk_sim_report reports[] = {tape_judge(tape), tape_judge_alone(tape, 1)};
        for (size_t i = 0; i < 2; i++)
            cr_expect_eq(reports[i].verdict,
                         awaited ? TRK_VERDICT_TRACE_INCOMPLETE : TRK_VERDICT_STALE_GPU_READ,
                         "%u: %s", way, reports[i].text);
        tape_destroy(tape);
    }
}

/* A hold comes that was before: which of both was first is not known. */
Test(broken_logs, a_hold_twice_is_not_ok)
{
    struct tape *tape = tape_create("default");
    tape_as(tape, 0);
    tape_store_faulting(tape, TAPE_A, 1);
    tape_upload_copying(tape, TAPE_A, TAPE_P);
    tape_store_faulting(tape, TAPE_A, 2);
    tape_as(tape, 1);
    tape_put(tape, tape_find(tape, TRK_EVENT_PROTECT, 0));
    tape_check(tape, TAPE_CPU, TAPE_A, 2);
    struct trk_sim_report report = tape_judge_alone(tape, 1);
    cr_expect_eq(report.verdict, TRK_VERDICT_TRACE_INCOMPLETE, "%s", report.text);
    cr_expect_neq(tape_judge(tape).verdict, TRK_VERDICT_OK);
    tape_destroy(tape);
}

/* In an order that is a guess the layer can be gone while a fault that has met it is under way. */
Test(broken_logs, a_layer_put_away_under_a_fault)
{
    static const enum trk_access accesses[] = {TRK_ACCESS_READ, TRK_ACCESS_WRITE};
    for (size_t i = 0; i < 2; i++) {
        struct tape *tape = tape_create("default");
        struct trk_resource_layer layer = {
            .flush = drain_in_flush, .read_back = drain_in_flush, .context = tape};
        cr_assert_eq(trk_tracker_set_resource_layer(tape->tracker, &layer), TRK_OK);
        tape_upload(tape, TAPE_A, TAPE_P, true);
        tape_as(tape, 1);
        (void)trk_tracker_fault(tape->tracker, TAPE_A, accesses[i]);
        tape_as(tape, 2);
        cr_assert_eq(trk_tracker_set_resource_layer(tape->tracker, NULL), TRK_OK);

        const struct tape_stream *fault = &tape->streams[1];
        struct tape_stream *away = &tape->streams[2];
        size_t at = 0;
        while (at < fault->count && fault->records[at].event.type != TRK_EVENT_CALLBACK)
            at++;
        cr_assert_lt(at, fault->count, "no callback");
        cr_assert_eq(away->count, 2);
        away->records[0].tsc = fault->records[at].tsc + 1;
        away->records[1].tsc = fault->records[at].tsc + 2;
        struct trk_sim_report report = tape_judge(tape);
        cr_expect_eq(report.verdict, TRK_VERDICT_OK, "%s", report.text);
        tape_destroy(tape);
    }
}

#define EXPLORED 60u

Test(broken_logs, always_explored_alike, .timeout = 300)
{
    static struct trk_explore_report report, again;
    uint64_t seed = environment_number("TRK_SEED", 1);
    struct trk_explore_options options = trk_explore_options_default();
    struct trk_error error;
    options.schedules = 20;
    options.steps = 6;
    options.engine = TRK_EXPLORE_PCT;
    for (uint64_t run = 0; run < EXPLORED; run++, seed++) {
        random_state = seed * 77;
        options.pages = 1 + draw(4);
        options.guest_addr = draw(2) == 0 ? TRK_NOT_KNOWN : TAPE_A;
        struct tape *tape = tape_create("default");
        record(tape);
        for (uint32_t i = draw(3); i > 0; i--)
            break_one(tape);
        (void)tape_judge(tape);
        enum trk_status status = trk_explore_trace(tape->trace, &options, &report, &error);
        cr_assert_eq(status, trk_explore_trace(tape->trace, &options, &again, &error));
        cr_assert(status == TRK_OK, "%s: TRK_SEED=%llu unit_simulator_broken_logs", error.text,
                  (unsigned long long)seed);
        cr_assert(memcmp(&report, &again, sizeof report) == 0,
                  "two reports differ: TRK_SEED=%llu unit_simulator_broken_logs",
                  (unsigned long long)seed);
        tape_destroy(tape);
    }
}
