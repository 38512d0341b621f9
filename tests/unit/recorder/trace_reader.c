/*
 * Goal: the reader takes what is a trace, refuses what is none or needs a newer reader, and says of
 * everything between what is missing [F-2] to [F-17].
 * Method: files of the real writer, cut into their frames; each named case changes, drops, repeats
 * or reorders frames, sealing them anew where the checksums are not the matter.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format.h"
#include "trace_support.h"

#define PIECES_MAX 32

/* A file as its frames: [0] the file header, then chunks, last the end mark. */
struct pieces {
    uint8_t *bytes[PIECES_MAX];
    size_t size_bytes[PIECES_MAX];
    size_t count;
    uint8_t sync[TRK_FORMAT_SYNC_BYTES];
};

static struct pieces cut_up(const struct trace_file *file)
{
    struct pieces pieces = {.count = 0};
    struct trk_format_file header;
    cr_assert_eq(trk_format_get_file(file->bytes, &header, NULL), TRK_OK);
    memcpy(pieces.sync, header.sync, sizeof pieces.sync);
    size_t size_bytes = TRK_FORMAT_FILE_BYTES;
    for (size_t at = 0; at < file->size_bytes; at += size_bytes) {
        struct trk_format_chunk chunk;
        if (at > 0) {
            size_bytes = TRK_FORMAT_END_BYTES;
            if (at + TRK_FORMAT_CHUNK_BYTES <= file->size_bytes &&
                trk_format_get_chunk(file->bytes + at, header.sync, &chunk)) {
                size_bytes = TRK_FORMAT_CHUNK_BYTES + chunk.packed_bytes;
            }
        }
        cr_assert_lt(pieces.count, PIECES_MAX);
        pieces.bytes[pieces.count] = malloc(size_bytes);
        memcpy(pieces.bytes[pieces.count], file->bytes + at, size_bytes);
        pieces.size_bytes[pieces.count++] = size_bytes;
    }
    return pieces;
}

/*
 * The file that all cases start from. Pieces: 0 file header, 1 HEADER, 2 and 3 notes of streams 5
 * and 6, 4 to 7 one event each of streams 5, 6, 5, 6, 8 END, 9 end mark.
 */
enum {
    FILE_PIECE,
    HEADER_PIECE,
    NOTE_5,
    NOTE_6,
    EVENT_A,
    EVENT_B,
    EVENT_C,
    EVENT_D,
    END_CHUNK,
    END_MARK,
    ALL_PIECES
};

static struct pieces model(void)
{
    struct trace_file file;
    trace_file_start(&file, 0);
    trace_file_name(&file, 5, "five");
    trace_file_name(&file, 6, "six");
    for (uint64_t i = 0; i < 4; i++) {
        struct trk_record record = {100 + i, {.type = TRK_EVENT_MARK, .argument = 'a' + i}};
        trace_file_add(&file, 5 + i % 2, &record, 1, 0);
        trace_file_flush(&file);
    }
    trace_file_end(&file, 0);
    struct pieces pieces = cut_up(&file);
    cr_assert_eq(pieces.count, ALL_PIECES);
    trace_file_free(&file);
    return pieces;
}

static void pieces_free(struct pieces *pieces)
{
    for (size_t i = 0; i < pieces->count; i++) {
        free(pieces->bytes[i]);
    }
}

static void drop(struct pieces *pieces, size_t at)
{
    free(pieces->bytes[at]);
    pieces->count--;
    memmove(&pieces->bytes[at], &pieces->bytes[at + 1],
            (pieces->count - at) * sizeof pieces->bytes[0]);
    memmove(&pieces->size_bytes[at], &pieces->size_bytes[at + 1],
            (pieces->count - at) * sizeof pieces->size_bytes[0]);
}

static void insert(struct pieces *pieces, size_t at, const uint8_t *bytes, size_t size_bytes)
{
    uint8_t *copy = malloc(size_bytes);
    memcpy(copy, bytes, size_bytes);
    memmove(&pieces->bytes[at + 1], &pieces->bytes[at],
            (pieces->count - at) * sizeof pieces->bytes[0]);
    memmove(&pieces->size_bytes[at + 1], &pieces->size_bytes[at],
            (pieces->count - at) * sizeof pieces->size_bytes[0]);
    pieces->bytes[at] = copy;
    pieces->size_bytes[at] = size_bytes;
    pieces->count++;
}

static void swap(struct pieces *pieces, size_t a, size_t b)
{
    uint8_t *bytes = pieces->bytes[a];
    size_t size_bytes = pieces->size_bytes[a];
    pieces->bytes[a] = pieces->bytes[b];
    pieces->size_bytes[a] = pieces->size_bytes[b];
    pieces->bytes[b] = bytes;
    pieces->size_bytes[b] = size_bytes;
}

static struct trk_format_chunk chunk_of(const struct pieces *pieces, size_t at)
{
    struct trk_format_chunk chunk;
    cr_assert(trk_format_get_chunk(pieces->bytes[at], pieces->sync, &chunk));
    return chunk;
}

static void reseal(struct pieces *pieces, size_t at, const struct trk_format_chunk *chunk)
{
    trk_format_put_chunk(pieces->bytes[at], pieces->sync, chunk);
}

/* Add an empty-payload chunk of another kind before END; the chunks behind it move up by one. */
static void add_kind(struct pieces *pieces, uint8_t kind, uint8_t flags)
{
    struct trk_format_chunk chunk = chunk_of(pieces, NOTE_5);
    insert(pieces, EVENT_A, pieces->bytes[NOTE_5], pieces->size_bytes[NOTE_5]);
    chunk.kind = kind;
    chunk.flags = flags;
    chunk.stream = TRK_FORMAT_NO_STREAM;
    chunk.file_chunk = 3;
    reseal(pieces, EVENT_A, &chunk);
    for (size_t i = EVENT_A + 1; i <= END_CHUNK; i++) {
        chunk = chunk_of(pieces, i);
        chunk.file_chunk++;
        reseal(pieces, i, &chunk);
    }
}

/* ---- edits of the chunks --------------------------------------------------------------------- */

static void edit_nothing(struct pieces *p)
{
    (void)p;
}
static void edit_drop_end_mark(struct pieces *p)
{
    drop(p, END_MARK);
}
static void edit_drop_ends(struct pieces *p)
{
    drop(p, END_MARK);
    drop(p, END_CHUNK);
}
static void edit_drop_totals(struct pieces *p)
{
    drop(p, END_CHUNK);
}
static void edit_drop_last_events(struct pieces *p)
{
    drop(p, EVENT_D);
}
static void edit_drop_first_events(struct pieces *p)
{
    drop(p, EVENT_A);
}
static void edit_drop_a_note(struct pieces *p)
{
    drop(p, NOTE_6);
}
static void edit_repeat(struct pieces *p)
{
    insert(p, EVENT_B, p->bytes[EVENT_A], p->size_bytes[EVENT_A]);
}
static void edit_swap(struct pieces *p)
{
    swap(p, EVENT_A, EVENT_C);
}
static void edit_end_twice(struct pieces *p)
{
    insert(p, END_MARK, p->bytes[END_MARK], p->size_bytes[END_MARK]);
}
static void edit_trailing_byte(struct pieces *p)
{
    insert(p, ALL_PIECES, (const uint8_t *)"x", 1);
}
static void edit_garbage_between(struct pieces *p)
{
    insert(p, EVENT_B, (const uint8_t *)"here is something else", 22);
}
static void edit_foreign_skippable(struct pieces *p)
{
    insert(p, EVENT_B, (const uint8_t *)"\x50\x2a\x4d\x18\x02\x00\x00\x00xx", 10);
}
static void edit_optional_kind(struct pieces *p)
{
    add_kind(p, 77, 0);
}
static void edit_required_kind(struct pieces *p)
{
    add_kind(p, 77, TRK_FORMAT_FLAG_REQUIRED);
}
static void edit_codec(struct pieces *p)
{
    struct trk_format_chunk chunk = chunk_of(p, EVENT_B);
    chunk.codec = 9;
    reseal(p, EVENT_B, &chunk);
}
static void edit_payload_crc(struct pieces *p)
{
    struct trk_format_chunk chunk = chunk_of(p, EVENT_B);
    chunk.payload_crc ^= 1;
    reseal(p, EVENT_B, &chunk);
}
static void edit_raw_size(struct pieces *p)
{
    struct trk_format_chunk chunk = chunk_of(p, EVENT_B);
    chunk.raw_bytes++;
    reseal(p, EVENT_B, &chunk);
}
static void edit_event_count(struct pieces *p)
{
    struct trk_format_chunk chunk = chunk_of(p, EVENT_D);
    chunk.events = 2;
    reseal(p, EVENT_D, &chunk);
}
static void edit_too_many_events(struct pieces *p)
{
    struct trk_format_chunk chunk = chunk_of(p, EVENT_D);
    chunk.events = TRK_FORMAT_EVENTS_MAX + 1;
    reseal(p, EVENT_D, &chunk);
}
static void edit_huge_sizes(struct pieces *p)
{
    struct trk_format_chunk chunk = chunk_of(p, EVENT_D);
    chunk.packed_bytes = UINT32_MAX;
    chunk.raw_bytes = UINT32_MAX;
    reseal(p, EVENT_D, &chunk);
}
static void edit_time(struct pieces *p)
{
    struct trk_format_chunk chunk = chunk_of(p, EVENT_B);
    chunk.last_tsc += 5;
    reseal(p, EVENT_B, &chunk);
}
static void edit_dropped(struct pieces *p)
{
    struct trk_format_chunk chunk = chunk_of(p, EVENT_B);
    chunk.dropped = 3;
    reseal(p, EVENT_B, &chunk);
}
static void edit_ordinal_back(struct pieces *p)
{
    struct trk_format_chunk chunk = chunk_of(p, EVENT_C);
    chunk.first_ordinal = 0;
    reseal(p, EVENT_C, &chunk);
}
static void edit_ordinal_wraps(struct pieces *p)
{
    struct trk_format_chunk chunk = chunk_of(p, EVENT_C);
    chunk.first_ordinal = UINT64_MAX;
    reseal(p, EVENT_C, &chunk);
}

struct edit_case {
    const char *name;
    void (*edit)(struct pieces *pieces);
    enum trk_status status;
    bool complete;
    const char *events; /* letters of those given */
    uint64_t dropped;
    uint64_t damaged_chunks;
    size_t damage_piece; /* first damage at the start of it; PIECES_MAX: none */
};

static const struct edit_case edit_cases[] = {
    {"as written", edit_nothing, TRK_OK, true, "abcd", 0, 0, PIECES_MAX},
    {"no end mark", edit_drop_end_mark, TRK_OK, false, "abcd", 0, 0, END_MARK},
    {"no END chunk and no end mark", edit_drop_ends, TRK_OK, false, "abcd", 0, 0, END_CHUNK},
    {"no END chunk", edit_drop_totals, TRK_OK, false, "abcd", 0, 0, END_CHUNK},
    {"last events missing", edit_drop_last_events, TRK_OK, false, "abc", 1, 1, EVENT_D},
    {"first events missing", edit_drop_first_events, TRK_OK, false, "bcd", 1, 1, EVENT_A},
    {"note missing", edit_drop_a_note, TRK_OK, false, "abcd", 0, 1, NOTE_6},
    {"chunk twice", edit_repeat, TRK_OK, false, "abcd", 0, 1, EVENT_B},
    {"chunks swapped", edit_swap, TRK_OK, false, "cd", 2, 4, EVENT_A},
    {"end mark twice", edit_end_twice, TRK_OK, false, "abcd", 0, 0, END_MARK + 1},
    {"a byte behind the end", edit_trailing_byte, TRK_OK, false, "abcd", 0, 0, ALL_PIECES},
    {"garbage between chunks", edit_garbage_between, TRK_OK, false, "abcd", 0, 0, EVENT_B},
    {"foreign skippable frame", edit_foreign_skippable, TRK_OK, false, "abcd", 0, 0, EVENT_B},
    {"unknown optional kind", edit_optional_kind, TRK_OK, false, "abcd", 0, 1, END_CHUNK + 1},
    {"unknown required kind", edit_required_kind, TRK_E_VERSION, false, "", 0, 0, EVENT_A},
    {"unknown codec", edit_codec, TRK_E_VERSION, false, "", 0, 0, EVENT_B},
    {"payload checksum", edit_payload_crc, TRK_OK, false, "acd", 1, 1, EVENT_B},
    {"raw size disagrees with the frame", edit_raw_size, TRK_OK, false, "acd", 1, 1, EVENT_B},
    {"event count disagrees with the columns", edit_event_count, TRK_OK, false, "abc", 2, 1,
     EVENT_D},
    {"more events than a chunk may have", edit_too_many_events, TRK_OK, false, "abc", 1, 1,
     EVENT_D},
    {"sizes above every limit", edit_huge_sizes, TRK_OK, false, "abc", 1, 1, EVENT_D},
    {"last time disagrees with the events", edit_time, TRK_OK, false, "acd", 1, 1, EVENT_B},
    {"losses disagree with the events", edit_dropped, TRK_OK, false, "acd", 4, 1, EVENT_B},
    {"ordinal goes back", edit_ordinal_back, TRK_OK, false, "abd", 1, 1, EVENT_C},
    {"ordinal wraps", edit_ordinal_wraps, TRK_OK, false, "abd", 1, 1, EVENT_C},
};

static uint8_t *join(const struct pieces *pieces, size_t *size_bytes)
{
    *size_bytes = 0;
    for (size_t i = 0; i < pieces->count; i++) {
        *size_bytes += pieces->size_bytes[i];
    }
    uint8_t *bytes = malloc(*size_bytes + 1);
    size_t at = 0;
    for (size_t i = 0; i < pieces->count; i++) {
        memcpy(bytes + at, pieces->bytes[i], pieces->size_bytes[i]);
        at += pieces->size_bytes[i];
    }
    return bytes;
}

static void run_edit_case(const struct edit_case *c)
{
    struct pieces pieces = model();
    c->edit(&pieces);
    size_t size_bytes;
    uint8_t *bytes = join(&pieces, &size_bytes);
    struct trace_events events = trace_read_bytes(bytes, size_bytes);
    cr_expect_eq(events.status, c->status, "%s: %s", c->name, events.error.text);
    uint64_t offset = 0;
    for (size_t i = 0; i < c->damage_piece && i < pieces.count; i++) {
        offset += pieces.size_bytes[i];
    }
    if (c->status == TRK_OK) {
        char letters[PIECES_MAX] = "";
        for (size_t i = 0; i < events.count; i++) {
            letters[i] = (char)events.events[i].event.argument;
        }
        cr_expect_str_eq(letters, c->events, "%s: events %s", c->name, letters);
        cr_expect_eq(events.state.complete, c->complete, "%s", c->name);
        cr_expect_eq(events.state.dropped, c->dropped, "%s: dropped %llu", c->name,
                     (unsigned long long)events.state.dropped);
        cr_expect_eq(events.state.damaged_chunks, c->damaged_chunks, "%s: %llu chunks", c->name,
                     (unsigned long long)events.state.damaged_chunks);
        uint64_t expected = c->damage_piece == PIECES_MAX ? TRK_NOT_KNOWN : offset;
        cr_expect_eq(events.state.first_damage_offset, expected, "%s: at %llu not %llu: %s",
                     c->name, (unsigned long long)events.state.first_damage_offset,
                     (unsigned long long)expected, events.state.damage);
        cr_expect_eq(events.state.damage[0] == '\0', expected == TRK_NOT_KNOWN, "%s", c->name);
    } else {
        cr_expect_eq(events.error.file_offset, offset, "%s", c->name);
    }
    trace_events_free(&events);
    free(bytes);
    pieces_free(&pieces);
}

Test(reader, edited_chunks)
{
    for (size_t i = 0; i < sizeof edit_cases / sizeof edit_cases[0]; i++) {
        run_edit_case(&edit_cases[i]);
    }
}

/* ---- opening --------------------------------------------------------------------------------- */

struct version_case {
    const char *name;
    struct trk_format_file file;
    enum trk_status status;
};

static const struct version_case version_cases[] = {
    {"this version", {.minor = 1, .min_reader_minor = 1}, TRK_OK},
    {"newer, but readable", {.major = 3, .minor = 7, .min_reader_minor = 1}, TRK_OK},
    {"needs a newer minor", {.minor = 9, .min_reader_minor = 2}, TRK_E_VERSION},
    {"needs a newer major", {.major = 1, .min_reader_major = 1}, TRK_E_VERSION},
    {"unknown optional feature", {.minor = 1, .optional_features = 1}, TRK_OK},
    {"unknown required feature", {.minor = 1, .required_features = 1}, TRK_E_VERSION},
    {"last required feature", {.required_features = UINT64_C(1) << 63}, TRK_E_VERSION},
};

Test(reader, versions_and_features)
{
    for (size_t i = 0; i < sizeof version_cases / sizeof version_cases[0]; i++) {
        const struct version_case *c = &version_cases[i];
        struct pieces pieces = model();
        struct trk_format_file file = c->file;
        memcpy(file.sync, pieces.sync, sizeof file.sync);
        trk_format_put_file(pieces.bytes[FILE_PIECE], &file);
        size_t size_bytes;
        uint8_t *bytes = join(&pieces, &size_bytes);
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
    struct pieces pieces = model();
    edit_event_count(&pieces); /* a chunk that is found bad only when it is decoded */
    size_t size_bytes;
    uint8_t *bytes = join(&pieces, &size_bytes);
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
