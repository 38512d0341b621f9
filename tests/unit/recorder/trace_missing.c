/*
 * Goal: of a file that was damaged or cut off the reader says which events of which stream are not
 * there, and between which times; and it stops reading where a flag says so.
 * Method: files of the real writer with pieces taken out or spoilt, each a named case with what is
 * missing then; a flag that is raised and lowered.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace_pieces.h"

#define ANY UINT32_MAX

static void nothing(struct pieces *p)
{
    (void)p;
}
static void first(struct pieces *p)
{
    pieces_drop(p, EVENT_A);
}
static void last(struct pieces *p)
{
    pieces_drop(p, EVENT_C);
}
static void both_of_six(struct pieces *p)
{
    pieces_drop(p, EVENT_D);
    pieces_drop(p, EVENT_B);
}
static void spoilt(struct pieces *p)
{
    p->bytes[EVENT_B][p->size_bytes[EVENT_B] - 1] ^= 1;
}
static void ends(struct pieces *p)
{
    pieces_drop(p, END_MARK);
    pieces_drop(p, END_CHUNK);
}
static void ends_and_last(struct pieces *p)
{
    ends(p);
    pieces_drop(p, EVENT_D);
}
static void ends_and_first(struct pieces *p)
{
    ends(p);
    pieces_drop(p, EVENT_A);
}
static void end_mark(struct pieces *p)
{
    pieces_drop(p, END_MARK);
}

static void end_mark_spoilt(struct pieces *p)
{
    p->bytes[END_MARK][20] ^= 1;
}

/* It may have been what the events begin with. */
static void before_the_events(struct pieces *p)
{
    p->bytes[NOTE_6][p->size_bytes[NOTE_6] - 1] ^= 1;
}

static const struct missing_case {
    const char *name;
    void (*edit)(struct pieces *pieces);
    size_t count;
    struct trk_trace_missing missing[4];
} cases[] = {
    {"nothing", nothing, 0, {{0}}},
    {"the first of five", first, 1, {{0, 1, 0, 102}}},
    {"the last of five", last, 1, {{0, 1, 100, UINT64_MAX}}},
    {"all of six", both_of_six, 1, {{1, 2, 0, UINT64_MAX}}},
    {"contents", spoilt, 1, {{1, 1, 0, 103}}},
    {"the end mark alone", end_mark, 0, {{0}}},
    {"the end mark's checksum", end_mark_spoilt, 0, {{0}}},
    {"what is before the events", before_the_events, 0, {{0}}},
    {"the end",
     ends,
     2,
     {{0, TRK_NOT_KNOWN, 102, UINT64_MAX}, {1, TRK_NOT_KNOWN, 103, UINT64_MAX}}},
    {"the end and the last",
     ends_and_last,
     2,
     {{0, TRK_NOT_KNOWN, 102, UINT64_MAX}, {1, TRK_NOT_KNOWN, 101, UINT64_MAX}}},
    /* What was before may have been of a stream of which nothing is left. */
    {"the end and the first",
     ends_and_first,
     4,
     {{0, 1, 0, 102},
      {0, TRK_NOT_KNOWN, 102, UINT64_MAX},
      {1, TRK_NOT_KNOWN, 103, UINT64_MAX},
      {ANY, TRK_NOT_KNOWN, 0, UINT64_MAX}}},
};

static void run_case(const struct missing_case *with)
{
    struct pieces pieces = pieces_model();
    struct trk_trace *trace;
    struct trk_trace_missing *missing;
    struct trk_error error;
    size_t size_bytes, count;
    with->edit(&pieces);
    uint8_t *bytes = pieces_join(&pieces, &size_bytes);
    cr_assert_eq(trk_trace_open_bytes(&trace, bytes, size_bytes, &error), TRK_OK);
    cr_assert_eq(trk_trace_scan(trace, &error), TRK_OK);
    cr_assert_eq(trk_trace_missing(trace, &missing, &count), TRK_OK);
    cr_expect_eq(count, with->count, "%s: %zu", with->name, count);
    cr_expect_eq(trk_trace_gapless(trace), count == 0 && with->edit != before_the_events,
                 "%s: gapless", with->name);
    for (size_t i = 0; i < count && i < with->count; i++) {
        const struct trk_trace_missing *has = &missing[i], *wanted = &with->missing[i];
        cr_expect_eq(has->stream, wanted->stream, "%s, %zu: stream", with->name, i);
        cr_expect_eq(has->events, wanted->events, "%s, %zu: events", with->name, i);
        cr_expect_eq(has->first_tsc, wanted->first_tsc, "%s, %zu: first", with->name, i);
        cr_expect_eq(has->end_tsc, wanted->end_tsc, "%s, %zu: end", with->name, i);
    }
    free(missing);
    trk_trace_close(trace);
    free(bytes);
    pieces_free(&pieces);
}

Test(trace_missing, streams_and_times)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        run_case(&cases[i]);
    }
}

Test(trace_missing, reading_stops_where_a_flag_says_so)
{
    struct pieces pieces = pieces_model();
    struct trk_trace *trace;
    struct trk_trace_event event;
    struct trk_error error;
    volatile sig_atomic_t flag = 0;
    size_t size_bytes;
    uint8_t *bytes = pieces_join(&pieces, &size_bytes);
    cr_assert_eq(trk_trace_open_bytes(&trace, bytes, size_bytes, &error), TRK_OK);
    trk_trace_stop_on(trace, &flag);
    cr_assert_eq(trk_trace_next(trace, &event, &error), TRK_OK);
    flag = 1;
    cr_assert_eq(trk_trace_next(trace, &event, &error), TRK_E_SYSTEM);
    cr_expect_eq(error.os_errno, EINTR);
    flag = 0;
    cr_assert_eq(trk_trace_next(trace, &event, &error), TRK_OK);
    cr_expect_eq(event.number, 1);
    trk_trace_close(trace);
    free(bytes);
    pieces_free(&pieces);
}
