/*
 * Goal: a trace that is read from a checkpoint, or from any event, gives what it gives when it is
 * read from the beginning, with the state that the checkpoints say together; what is damaged is
 * told and never believed [F-40]. Method: two streams with holds and signals between them and a
 * checkpoint behind each round, full ones and others by turns; payloads made by hand.
 */
#define _GNU_SOURCE /* memfd_create */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "format.h"
#include "recorder/checkpoint.h"
#include "recorder/packing.h"
#include "recorder/recover.h"
#include "recorder/text.h"
#include "trace_support.h"

#define ROUNDS       12u
#define ROUND_EVENTS 8u /* of both streams together */
#define EVENTS       (ROUNDS * ROUND_EVENTS)
#define FULL_EVERY   4u
#define DOMAIN       ((uint32_t)TRK_DOMAIN_REGION << 28 | 0x800)
#define TIMELINE     5u

/* Holds 3 n and 3 n + 1 of one stream, 3 n + 2 of the other, whose clock is far behind. */
static void add_round(struct trace_file *file, uint32_t round)
{
    uint32_t seq = 3 * round + 1;
    uint64_t at = 1000 + 100 * (uint64_t)round;
    const struct trk_record first[] = {
        {at + 0, {.type = TRK_EVENT_LOCK, .domain = DOMAIN, .seq = seq}},
        {at + 1, {.type = TRK_EVENT_UNLOCK, .domain = DOMAIN, .seq = seq}},
        {at + 2, {.type = TRK_EVENT_LOCK, .domain = DOMAIN, .seq = seq + 1}},
        {at + 3, {.type = TRK_EVENT_UNLOCK, .domain = DOMAIN, .seq = seq + 1}},
        {at + 4, {.type = TRK_EVENT_SIGNAL, .domain = TIMELINE, .argument = round + 1}},
    };
    const struct trk_record second[] = {
        {at - 500, {.type = TRK_EVENT_AWAIT, .domain = TIMELINE, .argument = round + 1}},
        {at - 499, {.type = TRK_EVENT_LOCK, .domain = DOMAIN, .seq = seq + 2}},
        {at - 498, {.type = TRK_EVENT_UNLOCK, .domain = DOMAIN, .seq = seq + 2}},
    };
    trace_file_add(file, 9, second, 3, 0);
    trace_file_add(file, 4, first, 5, 0);
}

static void number(struct trk_packing *packing, uint64_t value)
{
    trk_packing_number(packing, value);
}

/* Regions `round` and 0 of tracker 1: the latter has the round in its first set. */
static void add_regions(struct trk_packing *packing, uint32_t round, bool full)
{
    uint8_t set[128] = {(uint8_t)(round + 1)};
    uint32_t first = full ? 1 : round;
    number(packing, 1); /* trackers */
    number(packing, 1); /* id */
    number(packing, round % 4);
    number(packing, 1 + (full ? round : round > 0));
    number(packing, 0);
    number(packing, round);
    number(packing, 7);
    number(packing, 1); /* one set */
    trk_packing_bytes(packing, set, sizeof set);
    number(packing, 1); /* a span */
    number(packing, 16);
    number(packing, 32);
    for (uint32_t region = first; region > 0 && region <= round; region++) {
        number(packing, region);
        number(packing, 100 + region);
        number(packing, 0);
        number(packing, 0);
        number(packing, 0);
    }
}

static void add_checkpoint(struct trace_file *file, uint32_t round)
{
    bool full = round % FULL_EVERY == 0;
    struct trk_packing packing = {0};
    number(&packing, full ? TRK_CHECKPOINT_FULL : 0);
    number(&packing, 2);
    number(&packing, 9);
    number(&packing, 3 * (uint64_t)(round + 1));
    number(&packing, 4);
    number(&packing, 5 * (uint64_t)(round + 1));
    number(&packing, 1);
    number(&packing, DOMAIN);
    number(&packing, 3 * (uint64_t)(round + 1));
    number(&packing, 1);
    number(&packing, TIMELINE);
    number(&packing, round + 1);
    uint32_t events = full ? round + 1 : 1; /* a prologue of as many events as rounds */
    number(&packing, events);
    for (uint32_t i = round + 1 - events; i <= round; i++) {
        const uint64_t words[] = {4, 50 + i, TRK_EVENT_MAP, 0, 0, 0, 0, 0, 4096, 0x1000 * i};
        for (size_t word = 0; word < sizeof words / sizeof words[0]; word++) {
            number(&packing, words[word]);
        }
    }
    add_regions(&packing, round, full);
    cr_assert_eq(trk_writer_checkpoint(file->writer, ROUND_EVENTS * (uint64_t)(round + 1),
                                       packing.bytes, packing.size_bytes, NULL),
                 TRK_OK);
    free(packing.bytes);
}

static void make_file(struct trace_file *file)
{
    trace_file_start(file, 0);
    trace_file_name(file, 9, "late");
    trace_file_name(file, 4, "early");
    for (uint32_t round = 0; round < ROUNDS; round++) {
        add_round(file, round);
        add_checkpoint(file, round);
    }
    trace_file_end(file, 0);
}

static struct trk_trace *open_bytes(const uint8_t *bytes, size_t size_bytes)
{
    struct trk_trace *trace;
    cr_assert_eq(trk_trace_open_bytes(&trace, bytes, size_bytes, NULL), TRK_OK);
    return trace;
}

/* The rest of the trace is that of the original from an event on. */
static void expect_rest(struct trk_trace *trace, const struct trace_events *all, uint64_t from)
{
    struct trk_trace_event event;
    for (uint64_t i = from; i < all->count; i++) {
        const struct trk_trace_event *expected = &all->events[i];
        cr_assert_eq(trk_trace_next(trace, &event, NULL), TRK_OK, "event %d of %d", (int)i,
                     (int)from);
        cr_assert_eq(event.number, i);
        cr_assert_eq(event.tsc, expected->tsc, "event %d from %d", (int)i, (int)from);
        cr_assert_eq(trk_trace_stream(trace, event.stream)->stream_id, expected->stream);
        cr_assert(trace_event_equal(&event.event, &expected->event));
    }
    cr_assert_eq(trk_trace_next(trace, &event, NULL), TRK_E_END);
    cr_assert_eq(trk_trace_state(trace).order_gaps, 0);
}

/* What the checkpoints say together behind a round. */
static void expect_state(struct trk_trace *trace, uint32_t round)
{
    struct trk_unpacking in = {0};
    in.at = trk_trace_snapshot(trace, &in.end);
    const uint64_t points[] = {
        1, DOMAIN, 3 * (uint64_t)(round + 1), 1, TIMELINE, round + 1, 1, 1, round % 4, 1 + round};
    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++) {
        cr_assert_eq(trk_unpacking_number(&in, UINT64_MAX), points[i], "number %d", (int)i);
    }
    cr_assert_eq(trk_unpacking_number(&in, UINT64_MAX), 0); /* region */
    cr_assert_eq(trk_unpacking_number(&in, UINT64_MAX), round);
    cr_assert_eq(trk_unpacking_number(&in, UINT64_MAX), 7);
    cr_assert_eq(trk_unpacking_number(&in, UINT64_MAX), 1);
    cr_assert_eq(trk_unpacking_bytes(&in, 128)[0], round + 1);
    cr_assert_eq(trk_unpacking_number(&in, UINT64_MAX), 1);
    cr_assert_eq(trk_unpacking_number(&in, UINT64_MAX), 16);
    cr_assert_eq(trk_unpacking_number(&in, UINT64_MAX), 32);
    for (uint32_t region = 1; region <= round; region++) {
        cr_assert_eq(trk_unpacking_number(&in, UINT64_MAX), region);
        cr_assert_eq(trk_unpacking_number(&in, UINT64_MAX), 100 + region);
        for (int i = 0; i < 3; i++) {
            cr_assert_eq(trk_unpacking_number(&in, UINT64_MAX), 0);
        }
    }
    cr_assert(!in.failed && in.at == in.end);
    size_t count;
    const struct trk_trace_event *prologue = trk_trace_prologue(trace, &count);
    cr_assert_eq(count, round + 1);
    for (size_t i = 0; i < count; i++) {
        cr_assert_eq(prologue[i].stream, 1, "index of stream 4");
        cr_assert_eq(prologue[i].event.argument, 0x1000 * i);
    }
}

Test(checkpoints, each_gives_the_rest_and_the_state)
{
    struct trace_file file;
    make_file(&file);
    struct trace_events all = trace_read_bytes(file.bytes, file.size_bytes);
    cr_assert(all.state.complete, "%s", all.state.damage);
    cr_assert_eq(all.count, EVENTS);
    for (int quick = 0; quick < 2; quick++) {
        struct trk_trace *trace = open_bytes(file.bytes, file.size_bytes);
        cr_assert_eq(quick ? trk_trace_scan_quick(trace, NULL) : trk_trace_scan(trace, NULL),
                     TRK_OK);
        cr_assert_eq(trk_trace_state(trace).quick, quick == 1);
        cr_assert_eq(trk_trace_checkpoint_count(trace), ROUNDS);
        for (uint32_t i = 0; i < ROUNDS; i++) {
            uint32_t round = i * 5 % ROUNDS;
            struct trk_trace_checkpoint place;
            cr_assert_eq(trk_trace_go_to(trace, round, &place, NULL), TRK_OK);
            cr_expect_eq(place.event_number, ROUND_EVENTS * (round + 1));
            cr_expect(place.whole_behind);
            cr_expect_eq(trk_trace_before(trace, 0), 3 * (round + 1));
            expect_state(trace, round);
            expect_rest(trace, &all, place.event_number);
        }
        const uint8_t *end;
        cr_assert_eq(trk_trace_rewind(trace, NULL), TRK_OK);
        cr_expect_null(trk_trace_snapshot(trace, &end));
        expect_rest(trace, &all, 0);
        trk_trace_close(trace);
    }
    trace_events_free(&all);
    trace_file_free(&file);
}

Test(checkpoints, seek_to_every_event)
{
    struct trace_file file;
    make_file(&file);
    struct trace_events all = trace_read_bytes(file.bytes, file.size_bytes);
    struct trk_trace *trace = open_bytes(file.bytes, file.size_bytes);
    for (uint64_t i = 0; i <= EVENTS; i++) {
        uint64_t event = i * 37 % (EVENTS + 1);
        cr_assert_eq(trk_trace_seek(trace, event, NULL), TRK_OK, "event %d", (int)event);
        expect_rest(trace, &all, event);
    }
    cr_expect_eq(trk_trace_seek(trace, EVENTS + 1, NULL), TRK_E_END);
    trk_trace_close(trace);
    trace_events_free(&all);
    trace_file_free(&file);
}

/* The offset of the nth chunk of a kind. */
static size_t find_chunk(const struct trace_file *file, uint8_t kind, unsigned nth)
{
    struct trk_format_chunk chunk;
    size_t at = TRK_FORMAT_FILE_BYTES;
    while (trk_format_get_chunk(file->bytes + at, file->bytes + 40, &chunk)) {
        if (chunk.kind == kind && nth-- == 0) {
            return at;
        }
        at += (size_t)trk_format_chunk_span(&chunk);
    }
    cr_assert_fail("no such chunk");
    return 0;
}

/* One that does not decode is not used, nor are those that rest on it; seeking goes another way. */
Test(checkpoints, a_damaged_one_is_not_used)
{
    struct trace_file file;
    make_file(&file);
    struct trace_events all = trace_read_bytes(file.bytes, file.size_bytes);
    size_t at = find_chunk(&file, TRK_FORMAT_CHECKPOINT, 5);
    file.bytes[at + TRK_FORMAT_CHUNK_BYTES + 12] ^= 1;
    struct trk_trace *trace = open_bytes(file.bytes, file.size_bytes);
    cr_assert_eq(trk_trace_scan_quick(trace, NULL), TRK_OK);
    for (size_t i = 0; i < ROUNDS; i++) {
        struct trk_error error = {.file_offset = 0};
        bool bad = i >= 5 && i < 8; /* 8 is full */
        cr_expect_eq(trk_trace_go_to(trace, i, NULL, &error), bad ? TRK_E_DAMAGED : TRK_OK,
                     "checkpoint %d", (int)i);
        cr_expect(!bad || error.file_offset == trk_trace_state(trace).first_damage_offset ||
                  error.file_offset >= at);
    }
    cr_assert_eq(trk_trace_seek(trace, 60, NULL), TRK_OK);
    expect_rest(trace, &all, 60);
    trk_trace_close(trace);
    /* Read as a whole it is damage, and it is not there, nor are those that rest on it. */
    trace = open_bytes(file.bytes, file.size_bytes);
    cr_assert_eq(trk_trace_scan(trace, NULL), TRK_OK);
    cr_expect_eq(trk_trace_checkpoint_count(trace), ROUNDS - 3);
    cr_expect_eq(trk_trace_state(trace).first_damage_offset, at);
    trk_trace_close(trace);
    trace_events_free(&all);
    trace_file_free(&file);
}

static struct trk_trace *recovered(const struct trace_file *file, uint64_t *dropped)
{
    int fd = memfd_create("recovered", MFD_CLOEXEC);
    struct trk_recover_result result;
    struct trk_trace *trace;
    char path[40];
    cr_assert_eq(trk_recover_bytes(file->bytes, file->size_bytes, fd, &result, NULL), TRK_OK);
    *dropped = result.dropped;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    cr_assert_eq(trk_trace_open(&trace, path, NULL), TRK_OK);
    cr_assert_eq(trk_trace_scan(trace, NULL), TRK_OK);
    close(fd);
    return trace;
}

/* Behind a damaged chunk of events: numbers are other ones, and what comes is what there is. */
Test(checkpoints, behind_lost_events)
{
    struct trace_file file;
    make_file(&file);
    file.bytes[find_chunk(&file, TRK_FORMAT_EVENTS, 2) + TRK_FORMAT_CHUNK_BYTES + 60] ^= 1;
    for (int recover = 0; recover < 2; recover++) {
        uint64_t dropped = 0;
        struct trk_trace *trace =
            recover ? recovered(&file, &dropped) : open_bytes(file.bytes, file.size_bytes);
        cr_assert_eq(trk_trace_scan(trace, NULL), TRK_OK);
        uint64_t lost = trk_trace_state(trace).dropped;
        cr_assert(lost == 3 || lost == 5, "%d", (int)lost);
        cr_assert(!recover || dropped == lost);
        cr_assert_eq(trk_trace_checkpoint_count(trace), ROUNDS);
        struct trk_trace_checkpoint place;
        cr_assert_eq(trk_trace_go_to(trace, 0, &place, NULL), TRK_OK);
        cr_expect_not(place.whole_behind);
        cr_assert_eq(trk_trace_go_to(trace, 6, &place, NULL), TRK_OK);
        cr_expect(place.whole_behind);
        cr_expect_eq(place.event_number, 7 * ROUND_EVENTS - lost + (unsigned)recover);
        expect_state(trace, 6);
        struct trk_trace_event event;
        for (uint64_t i = place.event_number; i < EVENTS - lost + (unsigned)recover; i++) {
            cr_assert_eq(trk_trace_next(trace, &event, NULL), TRK_OK);
            cr_assert_eq(event.number, i);
            cr_assert_neq(event.event.type, TRK_EVENT_DROP);
        }
        cr_assert_eq(trk_trace_next(trace, &event, NULL), TRK_E_END);
        cr_expect_eq(trk_trace_state(trace).order_gaps, 0);
        trk_trace_close(trace);
    }
    trace_file_free(&file);
}

/* The round whose state a trace stands at, by the newest hold. */
static uint32_t round_of(const struct trk_trace *trace)
{
    struct trk_unpacking in = {0};
    in.at = trk_trace_snapshot(trace, &in.end);
    (void)trk_unpacking_number(&in, UINT64_MAX);
    (void)trk_unpacking_number(&in, UINT64_MAX);
    return (uint32_t)trk_unpacking_number(&in, UINT64_MAX) / 3 - 1;
}

/* A checkpoint that rests on a lost one would say less than was: none does, nor in what is
 * repaired. */
Test(checkpoints, what_rests_on_a_lost_one)
{
    static const struct {
        const char *name;
        uint8_t kind;
        unsigned number;
        size_t at;              /* of the byte that is damaged */
        size_t left, recovered; /* checkpoints that are there */
    } cases[] = {
        {"payload", TRK_FORMAT_CHECKPOINT, 5, TRK_FORMAT_CHUNK_BYTES + 12, ROUNDS - 3, ROUNDS - 3},
        {"header", TRK_FORMAT_CHECKPOINT, 5, 40, ROUNDS - 3, ROUNDS - 3},
        {"a full one's header", TRK_FORMAT_CHECKPOINT, 4, 40, ROUNDS - 4, ROUNDS - 4},
        {"header of events", TRK_FORMAT_EVENTS, 10, 40, ROUNDS, ROUNDS},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct trace_file file;
        make_file(&file);
        file.bytes[find_chunk(&file, cases[i].kind, cases[i].number) + cases[i].at] ^= 1;
        for (int recover = 0; recover < 2; recover++) {
            uint64_t dropped;
            struct trk_trace *trace =
                recover ? recovered(&file, &dropped) : open_bytes(file.bytes, file.size_bytes);
            cr_assert_eq(trk_trace_scan(trace, NULL), TRK_OK);
            size_t count = trk_trace_checkpoint_count(trace);
            cr_expect_eq(count, recover ? cases[i].recovered : cases[i].left, "%s: %d",
                         cases[i].name, (int)count);
            for (size_t at = 0; at < count; at++) {
                cr_assert_eq(trk_trace_go_to(trace, at, NULL, NULL), TRK_OK);
                expect_state(trace, round_of(trace));
            }
            trk_trace_close(trace);
        }
        trace_file_free(&file);
    }
}

/* Any bytes in a payload with right checksums are refused or give a state that can be read. */
Test(checkpoints, any_payload)
{
    struct trace_random random = {7};
    for (unsigned round = 0; round < 400; round++) {
        uint8_t bytes[64];
        size_t size_bytes = trace_random_below(&random, sizeof bytes);
        for (size_t i = 0; i < size_bytes; i++) {
            bytes[i] = (uint8_t)trace_random_below(&random, i == 0 ? 2 : round % 2 ? 4 : 256);
        }
        struct trace_file file;
        trace_file_start(&file, 0);
        trace_file_name(&file, 1, "one");
        cr_assert_eq(trk_writer_checkpoint(file.writer, 0, bytes, size_bytes, NULL), TRK_OK);
        trace_file_end(&file, 0);
        struct trk_trace *whole = open_bytes(file.bytes, file.size_bytes);
        cr_assert_eq(trk_trace_scan(whole, NULL), TRK_OK);
        cr_assert_eq(trk_trace_checkpoint_count(whole),
                     trk_trace_state(whole).damaged_chunks == 0 ? 1 : 0);
        struct trk_trace *trace = open_bytes(file.bytes, file.size_bytes);
        cr_assert_eq(trk_trace_scan_quick(trace, NULL), TRK_OK);
        enum trk_status status = trk_trace_go_to(trace, 0, NULL, NULL);
        cr_assert(status == TRK_E_DAMAGED || trk_trace_checkpoint_count(whole) == 1);
        trk_trace_close(whole);
        struct trk_trace_event event;
        cr_assert(status == TRK_OK || status == TRK_E_DAMAGED);
        cr_assert_eq(trk_trace_next(trace, &event, NULL), TRK_E_END);
        trk_trace_close(trace);
        trace_file_free(&file);
    }
}
