/*
 * Goal: the reader takes what is a trace and refuses what is none or needs a newer reader; reading
 * on, again, or in a file that shrinks gives right events or says why not [F-2] to [F-5].
 * Method: tables of beginnings and versions; files of the real writer.
 */
#define _GNU_SOURCE /* memfd_create */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "trace_pieces.h"

struct version_case {
    const char *name;
    struct trk_format_file file;
    enum trk_status status;
};

static const struct version_case version_cases[] = {
    {"this version",
     {TRK_FORMAT_MAJOR, TRK_FORMAT_MINOR, TRK_FORMAT_MAJOR, TRK_FORMAT_MINOR, .zstd_level = 3},
     TRK_OK},
    {"the first version", {.minor = 1, .min_reader_minor = 1}, TRK_OK},
    {"newer, but readable",
     {.major = TRK_FORMAT_MAJOR + 2, .minor = 7, .min_reader_major = TRK_FORMAT_MAJOR},
     TRK_OK},
    {"needs a newer minor",
     {.minor = 9, .min_reader_major = TRK_FORMAT_MAJOR, .min_reader_minor = TRK_FORMAT_MINOR + 1},
     TRK_E_VERSION},
    {"needs a newer major",
     {.major = TRK_FORMAT_MAJOR + 1, .min_reader_major = TRK_FORMAT_MAJOR + 1},
     TRK_E_VERSION},
    {"unknown optional feature", {.minor = 1, .optional_features = 1}, TRK_OK},
    {"unknown required feature", {.minor = 1, .required_features = 1}, TRK_E_VERSION},
    {"last required feature", {.required_features = UINT64_C(1) << 63}, TRK_E_VERSION},
};

Test(reader, versions_and_features)
{
    for (size_t i = 0; i < sizeof version_cases / sizeof version_cases[0]; i++) {
        const struct version_case *c = &version_cases[i];
        struct pieces pieces = pieces_model();
        struct trk_format_file file = c->file;
        memcpy(file.sync, pieces.sync, sizeof file.sync);
        trk_format_put_file(pieces.bytes[FILE_PIECE], &file);
        size_t size_bytes;
        uint8_t *bytes = pieces_join(&pieces, &size_bytes);
        struct trk_trace *trace;
        struct trk_error error = {.file_offset = 1};
        cr_expect_eq(trk_trace_open_bytes(&trace, bytes, size_bytes, &error), c->status, "%s",
                     c->name);
        if (c->status != TRK_OK) {
            cr_expect_eq(error.file_offset, 0, "%s", c->name);
            cr_expect_null(trace, "%s", c->name);
        }
        trk_trace_close(trace);
        free(bytes);
        pieces_free(&pieces);
    }
}

struct text_case {
    const char *name;
    const char *bytes;
    size_t size_bytes;
    enum trk_status status;
};

static const struct text_case text_cases[] = {
    {"empty file", "", 0, TRK_E_INCOMPLETE},
    {"one byte of a trace", "\x54", 1, TRK_E_INCOMPLETE},
    {"one byte of something else", "x", 1, TRK_E_DAMAGED},
    {"short text", "hello", 5, TRK_E_DAMAGED},
    {"long text",
     "hello hello hello hello hello hello hello hello hello hello hello hello hello hello", 83,
     TRK_E_DAMAGED},
    {"frame of another program", "\x54\x2a\x4d\x18\x38\0\0\0\x89PNG\r\n\x1a\n", 16, TRK_E_DAMAGED},
    {"beginning and no more", "\x54\x2a\x4d\x18\x38\0\0\0\x89TRK\r\n\x1a\n", 16, TRK_E_INCOMPLETE},
    {"carriage returns lost", "\x54\x2a\x4d\x18\x38\0\0\0\x89TRK\n\x1a\n", 15, TRK_E_DAMAGED},
};

Test(reader, refuses_what_is_no_trace)
{
    for (size_t i = 0; i < sizeof text_cases / sizeof text_cases[0]; i++) {
        const struct text_case *c = &text_cases[i];
        struct trk_trace *trace;
        struct trk_error error;
        cr_expect_eq(trk_trace_open_bytes(&trace, c->bytes, c->size_bytes, &error), c->status,
                     "%s: %s", c->name, error.text);
        cr_expect_neq(error.file_offset, TRK_NOT_KNOWN, "%s", c->name);
        cr_expect_null(trace, "%s", c->name);
    }
}

Test(reader, refuses_what_is_no_file)
{
    struct trk_trace *trace;
    struct trk_error error;
    cr_expect_eq(trk_trace_open(&trace, "/nonexistent/x.trk", &error), TRK_E_SYSTEM);
    cr_expect_neq(error.os_errno, 0);
    cr_expect_eq(trk_trace_open(&trace, "/tmp", &error), TRK_E_ARGUMENT);
    cr_expect_eq(trk_trace_open(&trace, "/dev/null", &error), TRK_E_ARGUMENT);
    cr_expect_null(trace);
}

/* A file that is cut while it is read: no signal, no wrong event, and the state says so. */
Test(reader, file_cut_short_meanwhile)
{
    struct trace_file file;
    trace_file_start(&file, 0);
    trace_file_name(&file, 0, "one");
    for (uint64_t i = 0; i < 10; i++) {
        struct trk_record record = {i, {.type = TRK_EVENT_MARK, .argument = i}};
        trace_file_add(&file, 0, &record, 1, 0);
        trace_file_flush(&file);
    }
    trace_file_end(&file, 0);
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", file.fd);
    struct trk_trace *trace;
    struct trk_trace_event event;
    cr_assert_eq(trk_trace_open(&trace, path, NULL), TRK_OK);
    cr_assert_eq(trk_trace_next(trace, &event, NULL), TRK_OK);
    cr_expect(trk_trace_state(trace).complete);
    cr_assert_eq(ftruncate(file.fd, (off_t)file.size_bytes / 2), 0);
    uint64_t given = 1;
    while (trk_trace_next(trace, &event, NULL) == TRK_OK) {
        cr_assert_eq(event.event.argument, given);
        given++;
    }
    struct trk_trace_state state = trk_trace_state(trace);
    cr_expect_lt(given, 10);
    cr_expect_not(state.complete);
    cr_expect_neq(state.first_damage_offset, TRK_NOT_KNOWN);
    cr_expect_eq(state.dropped, 10 - given);
    trk_trace_close(trace);
    trace_file_free(&file);
}

Test(reader, rewind_gives_the_same_again)
{
    struct pieces pieces = pieces_model();
    /* A chunk that is found bad only when it is decoded. */
    struct trk_format_chunk chunk = pieces_chunk(&pieces, EVENT_D);
    chunk.events = 2;
    pieces_reseal(&pieces, EVENT_D, &chunk);
    size_t size_bytes;
    uint8_t *bytes = pieces_join(&pieces, &size_bytes);
    struct trk_trace *trace;
    cr_assert_eq(trk_trace_open_bytes(&trace, bytes, size_bytes, NULL), TRK_OK);
    cr_expect_not(trk_trace_state(trace).complete, "nothing has been looked at yet");
    struct trk_trace_state first = {.complete = true};
    for (int round = 0; round < 3; round++) {
        struct trk_trace_event event;
        for (uint64_t i = 0; i < 3; i++) {
            cr_assert_eq(trk_trace_next(trace, &event, NULL), TRK_OK);
            cr_expect_eq(event.number, i);
            cr_expect_eq(event.event.argument, 'a' + i);
        }
        cr_expect_eq(trk_trace_next(trace, &event, NULL), TRK_E_END);
        cr_expect_eq(trk_trace_next(trace, &event, NULL), TRK_E_END);
        struct trk_trace_state state = trk_trace_state(trace);
        if (round == 0) {
            first = state;
        }
        cr_expect_eq(state.dropped, first.dropped);
        cr_expect_eq(state.damaged_chunks, first.damaged_chunks);
        cr_assert_eq(trk_trace_rewind(trace, NULL), TRK_OK);
    }
    trk_trace_close(trace);
    free(bytes);
    pieces_free(&pieces);
}

/* Another file gets the name of one that is open: the copy is of that which is open. */
Test(reader, copies_what_it_opened)
{
    struct trace_file file;
    char name[] = "/tmp/trk-copy-XXXXXX";
    trace_file_start(&file, 0);
    trace_file_name(&file, 0, "one");
    struct trace_random random = {7};
    for (uint64_t i = 0; i < 20000; i++) {
        struct trk_record record = {
            i, {.type = TRK_EVENT_MARK, .argument = trace_random_next(&random)}};
        trace_file_add(&file, 0, &record, 1, 0);
    }
    trace_file_end(&file, 0);
    cr_assert_gt(file.size_bytes, (size_t)65536, "more than a piece");
    int named = mkstemp(name);
    cr_assert_geq(named, 0);
    cr_assert_eq(write(named, file.bytes, file.size_bytes), (ssize_t)file.size_bytes);
    struct trk_trace *trace;
    cr_assert_eq(trk_trace_open(&trace, name, NULL), TRK_OK);
    cr_assert_eq(unlink(name), 0);
    int copy = memfd_create("copy", MFD_CLOEXEC);
    cr_assert_geq(copy, 0);
    cr_assert_eq(trk_trace_copy(trace, copy, NULL), TRK_OK);
    uint8_t *bytes = malloc(file.size_bytes + 1);
    cr_assert_eq(pread(copy, bytes, file.size_bytes + 1, 0), (ssize_t)file.size_bytes);
    cr_expect(memcmp(bytes, file.bytes, file.size_bytes) == 0);

    struct trk_error error;
    cr_assert_eq(ftruncate(named, (off_t)file.size_bytes / 2), 0);
    cr_expect_eq(trk_trace_copy(trace, copy, &error), TRK_E_INCOMPLETE);
    free(bytes);
    close(copy);
    close(named);
    trk_trace_close(trace);
    trace_file_free(&file);
}
