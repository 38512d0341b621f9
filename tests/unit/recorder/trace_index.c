/*
 * Goal: an INDEX that says of a chunk anything else than its header, that passes one over, or that
 * says of places what is not so of its events, is damage; the events are there all the same [F-35]
 * [F-42]. What a later minor version has behind END's known bytes is passed over [F-41].
 * Method: the INDEX of a file of the real writer is taken out, changed in one field, and put back
 * with right checksums; so is END.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "bytes.h"
#include "crc32c.h"
#include "recorder/checkpoint.h"
#include "trace_pieces.h"

#define CHUNKS      3u
#define PLACE       UINT64_C(0x200000000) /* the byte that the events are about */
#define HEAD_BYTES  16u
#define ENTRY_BYTES 56u

static struct pieces make(void)
{
    struct trace_file file;
    trace_file_start(&file, 0);
    trace_file_name(&file, 5, "five");
    trace_file_name(&file, 6, "six");
    const uint8_t nothing[6] = {1}; /* full, and of nothing */
    cr_assert_eq(trk_writer_snapshot(file.writer, nothing + 1, 3, NULL), TRK_OK);
    for (uint64_t i = 0; i < CHUNKS; i++) {
        struct trk_record record = {
            100 + i, {.type = TRK_EVENT_WITNESS_STORE, .argument = PLACE + i, .seq = 1}};
        trace_file_add(&file, 5 + i % 2, &record, 1, 0);
        trace_file_flush(&file);
    }
    cr_assert_eq(trk_writer_checkpoint(file.writer, CHUNKS, nothing, sizeof nothing, NULL), TRK_OK);
    trace_file_end(&file, 0);
    struct pieces pieces = pieces_of(&file);
    trace_file_free(&file);
    return pieces;
}

static size_t find(const struct pieces *pieces, uint8_t kind)
{
    size_t at = 1;
    while (pieces_chunk(pieces, at).kind != kind) {
        at++;
    }
    return at;
}

/* Put another payload into a chunk; the end mark follows. */
static void put_payload(struct pieces *pieces, size_t at, const uint8_t *raw, size_t size)
{
    struct trk_format_chunk chunk = pieces_chunk(pieces, at);
    size_t bound = ZSTD_compressBound(size);
    uint8_t *piece = malloc(TRK_FORMAT_CHUNK_BYTES + bound);
    size_t packed = ZSTD_compress(piece + TRK_FORMAT_CHUNK_BYTES, bound, raw, size, 1);
    cr_assert_not(ZSTD_isError(packed));
    free(pieces->bytes[at]);
    pieces->bytes[at] = piece;
    pieces->size_bytes[at] = TRK_FORMAT_CHUNK_BYTES + packed;
    chunk.raw_bytes = (uint32_t)size;
    chunk.packed_bytes = (uint32_t)packed;
    chunk.payload_crc = trk_crc32c_update(0, piece + TRK_FORMAT_CHUNK_BYTES, packed);
    pieces_reseal(pieces, at, &chunk);
    struct trk_format_end end = {.child_status = 0};
    for (size_t i = 0; i < pieces->count - 2; i++) {
        end.chunk_offset += pieces->size_bytes[i];
    }
    trk_format_put_end(pieces->bytes[pieces->count - 1], pieces->sync, &end);
}

static size_t take_payload(const struct pieces *pieces, size_t at, uint8_t *out, size_t room)
{
    size_t got = ZSTD_decompress(out, room, pieces->bytes[at] + TRK_FORMAT_CHUNK_BYTES,
                                 pieces->size_bytes[at] - TRK_FORMAT_CHUNK_BYTES);
    cr_assert_not(ZSTD_isError(got));
    return got;
}

/* Where the INDEX has the ith chunk of a kind. */
static size_t entry_of(const uint8_t *raw, uint8_t kind, size_t i)
{
    size_t at = HEAD_BYTES;
    while (raw[at + 20] != kind || i-- > 0) {
        at += ENTRY_BYTES;
    }
    return at;
}

static void count_damage(void *context, const struct trk_trace_damage *damage)
{
    cr_assert_gt(strlen(damage->text), 0u);
    ++*(unsigned *)context;
}

/* As trk doctor reads: all events, twice, and what is wrong is told once. told NULL: as others do.
 */
static struct trk_trace_state examine(const struct pieces *pieces, unsigned *told, unsigned *events)
{
    size_t size_bytes;
    uint8_t *bytes = pieces_join(pieces, &size_bytes);
    struct trk_trace *trace = NULL;
    struct trk_error error = {.text = ""};
    struct trk_trace_event event;
    cr_assert_eq(trk_trace_open_bytes(&trace, bytes, size_bytes, &error), TRK_OK, "%s", error.text);
    *events = 0;
    if (told != NULL) {
        *told = 0;
        trk_trace_on_damage(trace, count_damage, told);
    }
    cr_assert_eq(trk_trace_scan(trace, &error), TRK_OK, "%s", error.text);
    for (int round = 0; round < 2; round++) {
        while (trk_trace_next(trace, &event, &error) == TRK_OK) {
            ++*events;
        }
        cr_assert_eq(trk_trace_rewind(trace, &error), TRK_OK);
    }
    struct trk_trace_state state = trk_trace_state(trace);
    trk_trace_close(trace);
    free(bytes);
    return state;
}

Test(index, changed)
{
    static const struct {
        const char *name;
        size_t entry, at; /* a byte of it */
    } cases[] = {
        {"offset", 1, 0},      {"stream", 1, 8},     {"number in the file", 0, 12},
        {"events", 2, 16},     {"kind", 1, 20},      {"first ordinal", 2, 24},
        {"first time", 1, 32}, {"last time", 0, 40}, {"losses", 1, 48},
    };
    uint8_t raw[1024];
    unsigned told, events;
    struct pieces good = make();
    struct trk_trace_state state = examine(&good, &told, &events);
    cr_assert(state.complete && told == 0 && events == 2 * CHUNKS);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct pieces pieces = make();
        size_t at = find(&pieces, TRK_FORMAT_INDEX);
        size_t size = take_payload(&pieces, at, raw, sizeof raw);
        raw[entry_of(raw, TRK_FORMAT_EVENTS, cases[i].entry) + cases[i].at] ^= 8;
        put_payload(&pieces, at, raw, size);
        state = examine(&pieces, &told, &events);
        cr_expect_not(state.complete, "%s", cases[i].name);
        cr_expect_eq(state.damaged_chunks, 1u, "%s: %s", cases[i].name, state.damage);
        cr_expect_eq(told, 1u, "%s", cases[i].name);
        cr_expect_eq(events, 2 * CHUNKS, "%s", cases[i].name);
        pieces_free(&pieces);
    }
    pieces_free(&good);
}

/* The damage of a file whose INDEX has been changed is told once, and costs no event. */
static void expect_damage(struct pieces *pieces, const uint8_t *raw, size_t size, const char *name,
                          unsigned kind)
{
    unsigned told, events;
    put_payload(pieces, find(pieces, TRK_FORMAT_INDEX), raw, size);
    struct trk_trace_state state = examine(pieces, &told, &events);
    cr_expect_not(state.complete, "%s of kind %u", name, kind);
    cr_expect_eq(state.damaged_chunks, 1u, "%s of kind %u: %s", name, kind, state.damage);
    cr_expect_eq(told, 1u, "%s of kind %u", name, kind);
    cr_expect_eq(events, 2 * CHUNKS, "%s of kind %u", name, kind);
}

static const uint8_t indexed[] = {TRK_FORMAT_EVENTS, TRK_FORMAT_NOTE, TRK_FORMAT_SNAPSHOT,
                                  TRK_FORMAT_CHECKPOINT};

Test(index, of_every_kind)
{
    static const struct {
        const char *name;
        size_t at;
    } fields[] = {{"offset", 0}, {"stream", 8},         {"number in the file", 12}, {"events", 16},
                  {"kind", 20},  {"first ordinal", 24}, {"first time", 32},         {"losses", 48}};
    uint8_t raw[1024];
    for (size_t i = 0; i < sizeof indexed; i++) {
        for (size_t f = 0; f < sizeof fields / sizeof fields[0]; f++) {
            struct pieces pieces = make();
            size_t size = take_payload(&pieces, find(&pieces, TRK_FORMAT_INDEX), raw, sizeof raw);
            raw[entry_of(raw, indexed[i], 0) + fields[f].at] ^= 1;
            expect_damage(&pieces, raw, size, fields[f].name, indexed[i]);
            pieces_free(&pieces);
        }
    }
}

Test(index, passes_one_over)
{
    uint8_t raw[1024];
    for (size_t i = 0; i < sizeof indexed; i++) {
        struct pieces pieces = make();
        size_t size = take_payload(&pieces, find(&pieces, TRK_FORMAT_INDEX), raw, sizeof raw);
        size_t at = entry_of(raw, indexed[i], 0);
        size -= ENTRY_BYTES;
        memmove(raw + at, raw + at + ENTRY_BYTES, size - at);
        trk_bytes_put32(raw + 8, (uint32_t)((size - HEAD_BYTES) / ENTRY_BYTES));
        expect_damage(&pieces, raw, size, "passed over", indexed[i]);
        pieces_free(&pieces);
    }
}

Test(index, names_one_twice)
{
    uint8_t raw[1024];
    for (size_t i = 0; i < sizeof indexed; i++) {
        struct pieces pieces = make();
        size_t size = take_payload(&pieces, find(&pieces, TRK_FORMAT_INDEX), raw, sizeof raw);
        size_t at = entry_of(raw, indexed[i], 0);
        memmove(raw + at + ENTRY_BYTES, raw + at, size - at);
        size += ENTRY_BYTES;
        trk_bytes_put32(raw + 8, (uint32_t)((size - HEAD_BYTES) / ENTRY_BYTES));
        expect_damage(&pieces, raw, size, "twice", indexed[i]);
        pieces_free(&pieces);
    }
}

/* What a newer writer names beside is passed over. */
Test(index, names_an_unknown_kind)
{
    uint8_t raw[1024];
    unsigned told, events;
    struct pieces pieces = make();
    size_t at = find(&pieces, TRK_FORMAT_INDEX);
    size_t size = take_payload(&pieces, at, raw, sizeof raw);
    memset(raw + size, 0, ENTRY_BYTES);
    raw[size + 20] = 200;
    size += ENTRY_BYTES;
    trk_bytes_put32(raw + 8, (uint32_t)((size - HEAD_BYTES) / ENTRY_BYTES));
    put_payload(&pieces, at, raw, size);
    cr_expect(examine(&pieces, &told, &events).complete);
    cr_expect_eq(told, 0u);
    pieces_free(&pieces);
}

Test(index, places)
{
    static const struct {
        uint32_t places; /* of 24 bits */
        bool damage;
    } cases[] = {
        {0, false},        /* not said */
        {0xffffff, false}, /* a newer writer may know less than it says */
        {0x800000, true},  /* nowhere */
        {0x800000 | 1u << (PLACE >> 22) % 23, false},
        {0x800000 | 1u << ((PLACE >> 22) + 1) % 23, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint8_t raw[1024];
        unsigned told, events;
        struct pieces pieces = make();
        size_t at = find(&pieces, TRK_FORMAT_INDEX);
        size_t size = take_payload(&pieces, at, raw, sizeof raw);
        trk_bytes_put32(raw + entry_of(raw, TRK_FORMAT_EVENTS, 1) + 20,
                        cases[i].places << 8 | TRK_FORMAT_EVENTS);
        put_payload(&pieces, at, raw, size);
        struct trk_trace_state state = examine(&pieces, &told, &events);
        cr_expect_eq(state.complete, !cases[i].damage, "case %zu: %s", i, state.damage);
        cr_expect_eq(told, (unsigned)cases[i].damage, "case %zu", i);
        cr_expect_eq(events, 2 * CHUNKS, "case %zu", i);
        state = examine(&pieces, NULL, &events);
        cr_expect_eq(state.complete, !cases[i].damage, "case %zu, nobody told", i);
        cr_expect_eq(state.damaged_chunks, (unsigned)cases[i].damage, "case %zu", i);
        pieces_free(&pieces);
    }
}

/* [F-16] [F-41] The scan and the look from the end know the same bytes of END. */
Test(index, end_of_another_length)
{
    static const struct {
        const char *name;
        int more; /* bytes */
        bool whole, quick;
    } cases[] = {
        {"as it is", 0, true, true},
        {"a byte more", 1, true, true},
        {"a later version's", 16, true, true},
        {"as much as another stream has", 24, true, true},
        {"as in 0.1", -8, true, false},
        {"less than where the INDEX is", -1, false, false},
        {"less than its streams", -9, false, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct pieces pieces = make();
        uint8_t raw[256];
        size_t size = take_payload(&pieces, pieces.count - 2, raw, sizeof raw);
        memset(raw + size, 0x5a, sizeof raw - size);
        size = cases[i].more < 0 ? size - (size_t)-cases[i].more : size + (size_t)cases[i].more;
        put_payload(&pieces, pieces.count - 2, raw, size);
        unsigned events;
        struct trk_trace_state state = examine(&pieces, NULL, &events);
        cr_expect_eq(state.complete, cases[i].whole, "%s: %s", cases[i].name, state.damage);
        cr_expect_eq(state.counted, cases[i].whole, "%s", cases[i].name);
        cr_expect_eq(events, 2 * CHUNKS, "%s", cases[i].name);
        size_t size_bytes;
        uint8_t *bytes = pieces_join(&pieces, &size_bytes);
        struct trk_trace *trace = NULL;
        cr_assert_eq(trk_trace_open_bytes(&trace, bytes, size_bytes, NULL), TRK_OK);
        cr_assert_eq(trk_trace_scan_quick(trace, NULL), TRK_OK);
        cr_expect_eq(trk_trace_state(trace).quick, cases[i].quick, "%s", cases[i].name);
        cr_expect_eq(trk_trace_state(trace).complete, cases[i].whole, "%s", cases[i].name);
        trk_trace_close(trace);
        free(bytes);
        pieces_free(&pieces);
    }
}
