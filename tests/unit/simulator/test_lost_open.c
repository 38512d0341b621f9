/*
 * Goal: a program that is right is accused of nothing, whichever of its events are lost or damaged:
 * above all what was open when they were lost (uploads, their callbacks, holds, copies) is not
 * taken for open behind the loss, and an order that the events gave is not taken for known.
 *
 * Method: right programs of two threads on a tape. Every run of 1 to 5 events is taken out in
 * turn, with a mark of the loss at its place and without time, with one that says the time, and
 * with one at the end of the stream; then every chunk of the file is damaged in turn. All is judged
 * with the core and by the oracle alone.
 */
#define _GNU_SOURCE /* memfd_create */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tape.h"

#define ROUNDS 4u

static void uploads(struct tape *tape)
{
    uint32_t stamp = 0;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        uint64_t page = TAPE_A + i % 2 * TAPE_P;
        tape_as(tape, 1);
        tape_store_faulting(tape, page, ++stamp);
        tape_signal(tape, 5, 2 * i + 1);
        tape_as(tape, 0);
        tape_await(tape, 5, 2 * i + 1);
        tape_upload_copying(tape, TAPE_A, 2 * TAPE_P);
        tape_check(tape, TAPE_GPU, page, stamp);
        tape_upload_copying(tape, TAPE_A + 4 * TAPE_P, TAPE_P);
        tape_upload(tape, TAPE_A + 8 * TAPE_P, TAPE_P, false);
        tape_signal(tape, 5, 2 * i + 2);
        tape_as(tape, 1);
        tape_await(tape, 5, 2 * i + 2);
    }
}

/* What the GPU wrote comes home by a guest's fault; meanwhile it writes again. */
static void fetches(struct tape *tape)
{
    uint32_t stamp = 0;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        tape_upload(tape, TAPE_A, TAPE_P, true);
        tape_store(tape, TAPE_GPU, TAPE_A, ++stamp);
        tape_signal(tape, 5, 2 * i + 1);
        tape_as(tape, 1);
        tape_await(tape, 5, 2 * i + 1);
        trk_tracker_fault(tape->tracker, TAPE_A, TRK_ACCESS_READ);
        tape_check(tape, TAPE_CPU, TAPE_A, stamp);
        tape_signal(tape, 6, i + 1);
        tape_as(tape, 0);
        tape_upload(tape, TAPE_A, TAPE_P, true);
        tape_store(tape, TAPE_GPU, TAPE_A, ++stamp);
        tape_await(tape, 6, i + 1);
    }
}

/*
 * A page shows one frame and then another, and the first one again: what is read there is older
 * than what was stored there last, and right. Long pauses: what is lost in one is over in the next.
 */
static void switches(struct tape *tape, unsigned flags)
{
    uint32_t stamps[2] = {0}, stamp = 0;
    for (uint32_t i = 0; i < 6; i++) {
        struct trk_event gone = {.type = TRK_EVENT_UNMAP, .argument = TAPE_A};
        trk_event_set_size(&gone, TAPE_P);
        tape->tsc += i % 2 * 100000;
        tape_as(tape, 0);
        tape_put(tape, &gone);
        tape_map(tape, TAPE_A, TAPE_P, 16 + i % 2 * 16, flags);
        tape_signal(tape, 5, 2 * i + 1);
        tape_as(tape, 1);
        tape_await(tape, 5, 2 * i + 1);
        ignore(trk_tracker_invalidate(tape->tracker, TAPE_A, TAPE_P, NULL, NULL));
        if (i < 2)
            tape_store(tape, TAPE_CPU, TAPE_A, stamps[i] = ++stamp);
        tape_signal(tape, 5, 2 * i + 2);
        tape_as(tape, 0);
        tape_await(tape, 5, 2 * i + 2);
        tape_upload_copying(tape, TAPE_A, TAPE_P);
        tape_gpu_read(tape, TAPE_A, 64);
        tape_check(tape, TAPE_GPU, TAPE_A, stamps[i % 2]);
    }
}

static void switches_between_fresh(struct tape *tape)
{
    switches(tape, 0);
}

static void switches_between_kept(struct tape *tape)
{
    switches(tape, TRK_MAP_ALIAS);
}

/* As the first, and nothing but a hold of a lock orders a store before the change of frames. */
static void switch_behind_hold(struct tape *tape)
{
    tape_map(tape, TAPE_A, TAPE_P, 16, TRK_MAP_ALIAS);
    tape_store(tape, TAPE_CPU, TAPE_A, 1);
    tape_upload_copying(tape, TAPE_A, TAPE_P);
    tape_map(tape, TAPE_A, TAPE_P, 32, TRK_MAP_ALIAS);
    tape_as(tape, 1);
    ignore(trk_tracker_invalidate(tape->tracker, TAPE_A, TAPE_P, NULL, NULL));
    tape_store(tape, TAPE_CPU, TAPE_A, 2);
    tape->tsc += 100000;
    tape_as(tape, 0);
    tape_map(tape, TAPE_A, TAPE_P, 16, TRK_MAP_ALIAS);
    tape_upload_copying(tape, TAPE_A, TAPE_P);
    tape_signal(tape, 5, 1);
    tape_as(tape, 1);
    tape_await(tape, 5, 1);
    tape_check(tape, TAPE_GPU, TAPE_A, 1);
}

/* Nothing but time orders the two threads: a hold that is missing leaves nothing of that. */
static void switch_by_time(struct tape *tape)
{
    tape_map(tape, TAPE_A, TAPE_P, 16, TRK_MAP_ALIAS);
    tape_store(tape, TAPE_CPU, TAPE_A, 1);
    tape_upload_copying(tape, TAPE_A, TAPE_P);
    tape_check(tape, TAPE_GPU, TAPE_A, 1);
    tape->tsc += 100000;
    tape_map(tape, TAPE_A, TAPE_P, 32, TRK_MAP_ALIAS);
    tape->tsc += 100000;
    tape_as(tape, 1);
    ignore(trk_tracker_invalidate(tape->tracker, TAPE_A, TAPE_P, NULL, NULL));
    tape_store(tape, TAPE_CPU, TAPE_A, 7);
    tape->tsc += 100000;
    tape_as(tape, 0);
    tape_map(tape, TAPE_A, TAPE_P, 16, TRK_MAP_ALIAS);
    tape_upload_copying(tape, TAPE_A, TAPE_P);
    tape->tsc += 100000;
    tape_as(tape, 1);
    tape_gpu_read(tape, TAPE_A, 64);
    tape_check(tape, TAPE_GPU, TAPE_A, 1);
}

/* One thread stores and has the GPU read, by time alone the other uploads in between. */
static void uploads_by_time(struct tape *tape)
{
    for (uint32_t i = 0; i < 3; i++) {
        tape_upload_copying(tape, TAPE_A, TAPE_P);
        tape_signal(tape, 5, i + 1);
        tape->tsc += 100000;
        tape_as(tape, 1);
        tape_await(tape, 5, i + 1);
        trk_tracker_fault(tape->tracker, TAPE_A, TRK_ACCESS_WRITE);
        tape->tsc += 100000;
        tape_store(tape, TAPE_CPU, TAPE_A, i + 1);
        tape->tsc += 100000;
        tape_as(tape, 0);
        tape_upload_copying(tape, TAPE_A, TAPE_P);
        tape->tsc += 100000;
        tape_as(tape, 1);
        tape_gpu_read(tape, TAPE_A, 64);
    }
}

static void (*const programs[])(struct tape *tape) = {uploads,
                                                      fetches,
                                                      switches_between_fresh,
                                                      switches_between_kept,
                                                      switch_behind_hold,
                                                      switch_by_time,
                                                      uploads_by_time};

#define PROGRAMS (sizeof programs / sizeof programs[0])

/* Nothing is wrong, or nothing can be known. */
static void expect_innocent(const struct trk_sim_report *report, const char *what, uint32_t stream,
                            size_t at, size_t count)
{
    cr_expect(report->verdict == TRK_VERDICT_OK ||
                  report->verdict == TRK_VERDICT_TRACE_INCOMPLETE ||
                  report->verdict == TRK_VERDICT_UNKNOWN,
              "%s: events %zu to %zu of stream %u: %s: %s", what, at, at + count - 1, stream,
              trk_verdict_name(report), report->text);
}

enum mark {
    MARK_AT_PLACE, /* that says nothing of the time */
    MARK_WITH_TIME,
    MARK_AT_END, /* of the stream */
    MARKS,
};

static const char *const mark_names[MARKS] = {"a mark", "a mark with its time", "a late mark"};

/* A mark that stands for several types names the first, but for a change of views among them: a
 * recorder, which marks each type, would name that, too. */
static uint16_t told_type(const struct trk_record *lost, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (lost[i].event.type == TRK_EVENT_MAP || lost[i].event.type == TRK_EVENT_UNMAP)
            return lost[i].event.type;
    }
    return lost->event.type;
}

/* false: there are no such events. */
static bool lose(struct tape_stream *stream, size_t at, size_t count, enum mark mark)
{
    if (at + count + 1 > stream->count)
        return false;
    struct trk_record *lost = &stream->records[at];
    struct trk_record drop = {.tsc = lost->tsc,
                              .event = {.type = TRK_EVENT_DROP, .argument = count}};
    if (mark == MARK_WITH_TIME) {
        drop.event.context = told_type(lost, count);
        trk_event_set_size(&drop.event, lost[count - 1].tsc - lost->tsc);
    }
    memmove(lost + 1, lost + count, (stream->count - at - count) * sizeof *lost);
    stream->count -= count - 1;
    *lost = drop;
    if (mark == MARK_AT_END) {
        memmove(lost, lost + 1, (stream->count - at - 1) * sizeof *lost);
        drop.tsc = stream->records[stream->count - 2].tsc;
        stream->records[stream->count - 1] = drop;
    }
    return true;
}

static bool try_loss(size_t program, uint32_t stream, size_t at, size_t count, enum mark mark)
{
    struct tape *tape = tape_create("default");
    programs[program](tape);
    bool there = lose(&tape->streams[stream], at, count, mark);
    if (there) {
        struct trk_sim_report report = tape_judge(tape);
        expect_innocent(&report, mark_names[mark], stream, at, count);
        report = tape_judge_alone(tape, 1);
        expect_innocent(&report, mark_names[mark], stream, at, count);
    }
    tape_destroy(tape);
    return there;
}

Test(lost_open, any_events)
{
    size_t tried = 0;
    for (size_t program = 0; program < PROGRAMS; program++)
        for (enum mark mark = MARK_AT_PLACE; mark < MARKS; mark++)
            for (uint32_t stream = 0; stream < 2; stream++)
                for (size_t count = 1; count <= 5; count += 2)
                    for (size_t at = 0; try_loss(program, stream, at, count, mark); at++)
                        tried++;
    cr_expect_gt(tried, 1000);
}

/* false: there are no such events of the first stream. */
static bool try_two_losses(size_t program, size_t at, size_t count, size_t *tried)
{
    for (size_t second = 0;; second++) {
        struct tape *tape = tape_create("default");
        programs[program](tape);
        bool there = lose(&tape->streams[0], at, count, MARK_WITH_TIME);
        bool both = there && lose(&tape->streams[1], second, count, MARK_WITH_TIME);
        if (both) {
            struct trk_sim_report report = tape_judge(tape);
            expect_innocent(&report, "two losses", 0, at, count);
            report = tape_judge_alone(tape, 1);
            expect_innocent(&report, "two losses", 1, second, count);
            (*tried)++;
        }
        tape_destroy(tape);
        if (!both)
            return there;
    }
}

/* Of each thread something: neither waits for the other any more. */
Test(lost_open, of_both_threads)
{
    size_t tried = 0;
    for (size_t program = 4; program < 6; program++)
        for (size_t count = 1; count <= 3; count += 2)
            for (size_t at = 0; try_two_losses(program, at, count, &tried); at++)
                ;
    cr_expect_gt(tried, 300);
}

/* ---- damage ---------------------------------------------------------------------------------- */

/* The tape in chunks of a few events. */
static unsigned char *write_small_chunks(const struct tape *tape, size_t *size_bytes)
{
    struct trk_writer_options options = trk_writer_options_default();
    options.clock_shift = 0;
    options.chunk_events = 3;
    int fd = memfd_create("tape", MFD_CLOEXEC);
    struct trk_writer *writer;
    cr_assert_eq(trk_writer_create(&writer, fd, &options, "{}", NULL), TRK_OK);
    for (uint32_t s = 0; s < 2; s++) {
        struct trk_trace_stream stream = {.stream_id = s, .thread_id = 100 + s};
        cr_assert_eq(trk_writer_stream(writer, &stream, NULL), TRK_OK);
        cr_assert_eq(
            trk_writer_append(writer, s, tape->streams[s].records, tape->streams[s].count, 0, NULL),
            TRK_OK);
    }
    cr_assert_eq(trk_writer_end(writer, 0, NULL), TRK_OK);
    *size_bytes = (size_t)lseek(fd, 0, SEEK_END);
    unsigned char *bytes = malloc(*size_bytes);
    cr_assert_eq(pread(fd, bytes, *size_bytes, 0), (ssize_t)*size_bytes);
    close(fd);
    return bytes;
}

/* Whether there was something left to judge. */
static bool judge_damaged(const unsigned char *bytes, size_t size_bytes, size_t at,
                          enum trk_sim_mode mode)
{
    struct trk_sim_options options = trk_sim_options_default();
    struct trk_sim_report report;
    struct trk_trace *trace;
    options.mode = mode;
    if (trk_trace_open_bytes(&trace, bytes, size_bytes, NULL) != TRK_OK)
        return false;
    bool judged = trk_sim_trace_with(trace, &options, &report, NULL) == TRK_OK;
    if (judged)
        expect_innocent(&report, "damage of a byte", 0, at, 1);
    trk_trace_close(trace);
    return judged;
}

static size_t damage_chunks(size_t program)
{
    size_t size_bytes, judged = 0;
    struct tape *tape = tape_create("default");
    programs[program](tape);
    unsigned char *bytes = write_small_chunks(tape, &size_bytes);
    cr_expect(judge_damaged(bytes, size_bytes, 0, TRK_SIM_ALL));
    for (size_t at = 64; at < size_bytes; at += 16) {
        bytes[at] ^= 0x5a;
        judged += judge_damaged(bytes, size_bytes, at, TRK_SIM_ALL);
        judged += judge_damaged(bytes, size_bytes, at, TRK_SIM_ORACLE_ONLY);
        bytes[at] ^= 0x5a;
    }
    free(bytes);
    tape_destroy(tape);
    return judged;
}

Test(lost_open, any_chunk)
{
    for (size_t program = 0; program < PROGRAMS; program++)
        cr_expect_gt(damage_chunks(program), 200);
}
