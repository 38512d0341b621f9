/*
 * Goal: a chunk header is taken up to each limit that docs/format.md names, and none beyond [F-3].
 * Method: a table with the numbers of the text; the greatest that is allowed, and one more.
 */
#include <criterion/criterion.h>

#include "format.h"

static const uint8_t sync_marker[TRK_FORMAT_SYNC_BYTES] = {1, 2, 3};

enum field { RAW, PACKED, SUMMARY, EVENTS, SHIFT };

static const struct {
    const char *name;
    enum trk_format_kind kind;
    enum field field;
    uint32_t most;
} limits[] = {
    {"HEADER", TRK_FORMAT_HEADER, RAW, 1 << 20},
    {"SCHEMA", TRK_FORMAT_SCHEMA, RAW, 1 << 20},
    {"NOTE", TRK_FORMAT_NOTE, RAW, 1 << 20},
    {"BLOB", TRK_FORMAT_BLOB, RAW, 1 << 20},
    {"EVENTS", TRK_FORMAT_EVENTS, RAW, 8 << 20},
    {"INDEX", TRK_FORMAT_INDEX, RAW, 8 << 20},
    {"SNAPSHOT", TRK_FORMAT_SNAPSHOT, RAW, 8 << 20},
    {"CHECKPOINT", TRK_FORMAT_CHECKPOINT, RAW, 8 << 20},
    {"END", TRK_FORMAT_END, RAW, 8 << 20},
    {"a payload, compressed", TRK_FORMAT_EVENTS, PACKED, 9 << 20},
    {"a summary", TRK_FORMAT_EVENTS, SUMMARY, 4 << 20},
    {"events", TRK_FORMAT_EVENTS, EVENTS, 131072},
    {"events of a chunk that has none", TRK_FORMAT_NOTE, EVENTS, 0},
    {"the clock shift", TRK_FORMAT_EVENTS, SHIFT, 31},
};

static bool is_taken(enum trk_format_kind kind, enum field field, uint32_t value)
{
    uint8_t bytes[TRK_FORMAT_CHUNK_BYTES];
    struct trk_format_chunk chunk = {.kind = (uint8_t)kind, .codec = 1};
    switch (field) {
    case RAW:
        chunk.raw_bytes = value;
        break;
    case PACKED:
        chunk.packed_bytes = value;
        break;
    case SUMMARY:
        chunk.summary_bytes = value;
        break;
    case EVENTS:
        chunk.events = value;
        break;
    case SHIFT:
        chunk.clock_shift = (uint8_t)value;
        break;
    }
    trk_format_put_chunk(bytes, sync_marker, &chunk);
    return trk_format_get_chunk(bytes, sync_marker, &chunk);
}

Test(limits, each_is_met_and_not_passed)
{
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        cr_expect(is_taken(limits[i].kind, limits[i].field, limits[i].most), "%s", limits[i].name);
        cr_expect_not(is_taken(limits[i].kind, limits[i].field, limits[i].most + 1), "%s",
                      limits[i].name);
    }
}
