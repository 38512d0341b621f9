/*
 * Goal: of a file whose frames were lost, repeated, moved or changed, the reader gives what is
 * right and says what is missing, and where [F-6] to [F-17]; who follows it gets what stands
 * before. Method: files of the real writer cut into their frames; each named case changes them,
 * sealing them anew where the checksums are not the matter.
 */
#define _GNU_SOURCE /* memfd_create */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "recorder/follow.h"
#include "trace_pieces.h"

/* Add an empty-payload chunk of another kind before END; the chunks behind it move up by one. */
static void add_kind(struct pieces *pieces, uint8_t kind, uint8_t flags)
{
    struct trk_format_chunk chunk = pieces_chunk(pieces, NOTE_5);
    pieces_insert(pieces, EVENT_A, pieces->bytes[NOTE_5], pieces->size_bytes[NOTE_5]);
    chunk.kind = kind;
    chunk.flags = flags;
    chunk.stream = TRK_FORMAT_NO_STREAM;
    chunk.file_chunk = 3;
    pieces_reseal(pieces, EVENT_A, &chunk);
    for (size_t i = EVENT_A + 1; i <= END_CHUNK; i++) {
        chunk = pieces_chunk(pieces, i);
        chunk.file_chunk++;
        pieces_reseal(pieces, i, &chunk);
    }
}

static void edit_nothing(struct pieces *p)
{
    (void)p;
}
static void edit_drop_end_mark(struct pieces *p)
{
    pieces_drop(p, END_MARK);
}
static void edit_drop_ends(struct pieces *p)
{
    pieces_drop(p, END_MARK);
    pieces_drop(p, END_CHUNK);
}
static void edit_drop_totals(struct pieces *p)
{
    pieces_drop(p, END_CHUNK);
}
static void edit_drop_last_events(struct pieces *p)
{
    pieces_drop(p, EVENT_D);
}
static void edit_drop_first_events(struct pieces *p)
{
    pieces_drop(p, EVENT_A);
}
static void edit_drop_a_note(struct pieces *p)
{
    pieces_drop(p, NOTE_6);
}
static void edit_repeat(struct pieces *p)
{
    pieces_insert(p, EVENT_B, p->bytes[EVENT_A], p->size_bytes[EVENT_A]);
}
static void edit_swap(struct pieces *p)
{
    pieces_swap(p, EVENT_A, EVENT_C);
}
static void edit_end_twice(struct pieces *p)
{
    pieces_insert(p, END_MARK, p->bytes[END_MARK], p->size_bytes[END_MARK]);
}
static void edit_trailing_byte(struct pieces *p)
{
    pieces_insert(p, ALL_PIECES, "x", 1);
}
static void edit_garbage_between(struct pieces *p)
{
    pieces_insert(p, EVENT_B, "here is something else", 22);
}
static void edit_foreign_skippable(struct pieces *p)
{
    pieces_insert(p, EVENT_B, "\x50\x2a\x4d\x18\x02\x00\x00\x00xx", 10);
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
    struct trk_format_chunk chunk = pieces_chunk(p, EVENT_B);
    chunk.codec = 9;
    pieces_reseal(p, EVENT_B, &chunk);
}
static void edit_payload_crc(struct pieces *p)
{
    struct trk_format_chunk chunk = pieces_chunk(p, EVENT_B);
    chunk.payload_crc ^= 1;
    pieces_reseal(p, EVENT_B, &chunk);
}
static void edit_raw_size(struct pieces *p)
{
    struct trk_format_chunk chunk = pieces_chunk(p, EVENT_B);
    chunk.raw_bytes++;
    pieces_reseal(p, EVENT_B, &chunk);
}
static void edit_event_count(struct pieces *p)
{
    struct trk_format_chunk chunk = pieces_chunk(p, EVENT_D);
    chunk.events = 2;
    pieces_reseal(p, EVENT_D, &chunk);
}
static void edit_too_many_events(struct pieces *p)
{
    struct trk_format_chunk chunk = pieces_chunk(p, EVENT_D);
    chunk.events = TRK_FORMAT_EVENTS_MAX + 1;
    pieces_reseal(p, EVENT_D, &chunk);
}
static void edit_huge_sizes(struct pieces *p)
{
    struct trk_format_chunk chunk = pieces_chunk(p, EVENT_D);
    chunk.packed_bytes = UINT32_MAX;
    chunk.raw_bytes = UINT32_MAX;
    pieces_reseal(p, EVENT_D, &chunk);
}
static void edit_time(struct pieces *p)
{
    struct trk_format_chunk chunk = pieces_chunk(p, EVENT_B);
    chunk.last_tsc += 5;
    pieces_reseal(p, EVENT_B, &chunk);
}
static void edit_dropped(struct pieces *p)
{
    struct trk_format_chunk chunk = pieces_chunk(p, EVENT_B);
    chunk.dropped = 3;
    pieces_reseal(p, EVENT_B, &chunk);
}
static void edit_ordinal_back(struct pieces *p)
{
    struct trk_format_chunk chunk = pieces_chunk(p, EVENT_C);
    chunk.first_ordinal = 0;
    pieces_reseal(p, EVENT_C, &chunk);
}
static void edit_ordinal_wraps(struct pieces *p)
{
    struct trk_format_chunk chunk = pieces_chunk(p, EVENT_C);
    chunk.first_ordinal = UINT64_MAX;
    pieces_reseal(p, EVENT_C, &chunk);
}

struct edit_case {
    const char *name;
    void (*edit)(struct pieces *pieces);
    enum trk_status status;
    bool complete;
    const char *events; /* letters of those given */
    uint64_t dropped;
    uint64_t damaged_chunks;
    size_t damage_piece;      /* first damage at the start of it; PIECES_MAX: none */
    enum trk_status followed; /* how it ends for who follows it */
    const char *before;       /* letters given until then */
};

static const struct edit_case edit_cases[] = {
    {"as written", edit_nothing, TRK_OK, true, "abcd", 0, 0, PIECES_MAX, TRK_E_END, "abcd"},
    {"no end mark", edit_drop_end_mark, TRK_OK, false, "abcd", 0, 0, END_MARK, TRK_E_INCOMPLETE,
     "abcd"},
    {"no END chunk and no end mark", edit_drop_ends, TRK_OK, false, "abcd", 0, 0, END_CHUNK,
     TRK_E_INCOMPLETE, "abcd"},
    {"no END chunk", edit_drop_totals, TRK_OK, false, "abcd", 0, 0, END_CHUNK, TRK_E_DAMAGED,
     "abcd"},
    {"last events missing", edit_drop_last_events, TRK_OK, false, "abc", 1, 1, EVENT_D,
     TRK_E_DAMAGED, "abc"},
    {"first events missing", edit_drop_first_events, TRK_OK, false, "bcd", 1, 1, EVENT_A,
     TRK_E_DAMAGED, ""},
    {"note missing", edit_drop_a_note, TRK_OK, false, "abcd", 0, 1, NOTE_6, TRK_E_DAMAGED, ""},
    {"chunk twice", edit_repeat, TRK_OK, false, "abcd", 0, 1, EVENT_B, TRK_E_DAMAGED, "a"},
    {"chunks swapped", edit_swap, TRK_OK, false, "cd", 2, 4, EVENT_A, TRK_E_DAMAGED, ""},
    {"end mark twice", edit_end_twice, TRK_OK, false, "abcd", 0, 0, END_MARK + 1, TRK_E_END,
     "abcd"},
    {"a byte behind the end", edit_trailing_byte, TRK_OK, false, "abcd", 0, 0, ALL_PIECES,
     TRK_E_END, "abcd"},
    {"garbage between chunks", edit_garbage_between, TRK_OK, false, "abcd", 0, 0, EVENT_B,
     TRK_E_DAMAGED, "a"},
    {"foreign skippable frame", edit_foreign_skippable, TRK_OK, false, "abcd", 0, 0, EVENT_B,
     TRK_E_DAMAGED, "a"},
    {"unknown optional kind", edit_optional_kind, TRK_OK, false, "abcd", 0, 1, END_CHUNK + 1,
     TRK_E_DAMAGED, "abcd"},
    {"unknown required kind", edit_required_kind, TRK_E_VERSION, false, "", 0, 0, EVENT_A,
     TRK_E_VERSION, ""},
    {"unknown codec", edit_codec, TRK_E_VERSION, false, "", 0, 0, EVENT_B, TRK_E_VERSION, "a"},
    {"payload checksum", edit_payload_crc, TRK_OK, false, "acd", 1, 1, EVENT_B, TRK_E_DAMAGED, "a"},
    {"raw size disagrees with the frame", edit_raw_size, TRK_OK, false, "acd", 1, 1, EVENT_B,
     TRK_E_DAMAGED, "a"},
    {"event count disagrees with the columns", edit_event_count, TRK_OK, false, "abc", 2, 1,
     EVENT_D, TRK_E_DAMAGED, "abc"},
    {"more events than a chunk may have", edit_too_many_events, TRK_OK, false, "abc", 1, 1, EVENT_D,
     TRK_E_DAMAGED, "abc"},
    {"sizes above every limit", edit_huge_sizes, TRK_OK, false, "abc", 1, 1, EVENT_D, TRK_E_DAMAGED,
     "abc"},
    {"last time disagrees with the events", edit_time, TRK_OK, false, "acd", 1, 1, EVENT_B,
     TRK_E_DAMAGED, "a"},
    {"losses disagree with the events", edit_dropped, TRK_OK, false, "acd", 4, 1, EVENT_B,
     TRK_E_DAMAGED, "a"},
    {"ordinal goes back", edit_ordinal_back, TRK_OK, false, "abd", 1, 1, EVENT_C, TRK_E_DAMAGED,
     "ab"},
    {"ordinal wraps", edit_ordinal_wraps, TRK_OK, false, "abd", 1, 1, EVENT_C, TRK_E_DAMAGED, "ab"},
};

/* Give the file to who follows it. */
static void follow(const struct edit_case *c, const uint8_t *bytes, size_t size_bytes)
{
    char path[40];
    char letters[PIECES_MAX] = "";
    size_t count = 0;
    struct trk_follow *follow = NULL;
    struct trk_trace_event event;
    struct trk_error error = {.text = ""};
    int fd = memfd_create("followed", MFD_CLOEXEC);
    cr_assert(fd >= 0 && write(fd, bytes, size_bytes) == (ssize_t)size_bytes);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    enum trk_status status = trk_follow_open(&follow, path, &error);
    while (status == TRK_OK && (status = trk_follow_next(follow, &event, &error)) == TRK_OK) {
        letters[count++] = (char)event.event.argument;
    }
    cr_expect_eq(status, c->followed, "%s: followed to %d: %s", c->name, status, error.text);
    cr_expect_str_eq(letters, c->before, "%s: followed %s", c->name, letters);
    trk_follow_close(follow);
    close(fd);
}

static void run_edit_case(const struct edit_case *c)
{
    struct pieces pieces = pieces_model();
    c->edit(&pieces);
    size_t size_bytes;
    uint8_t *bytes = pieces_join(&pieces, &size_bytes);
    struct trace_events events = trace_read_bytes(bytes, size_bytes);
    cr_expect_eq(events.status, c->status, "%s: %s", c->name, events.error.text);
    follow(c, bytes, size_bytes);
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
