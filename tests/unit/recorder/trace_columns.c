/*
 * Goal: a chunk's payload gives back exactly the events that went in, whatever they hold, and a
 * payload that is not one of that many events is refused [F-18] to [F-26].
 * Method: random events of every type with extreme values, from a seed that a failure prints
 * (TRK_SEED sets it); then damaged payloads, each a named case.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "columns.h"
#include "trace_support.h"

static struct trk_record records[TRK_CHUNK_EVENTS];
static struct trk_record decoded[TRK_CHUNK_EVENTS];

static uint64_t seed(void)
{
    const char *text = getenv("TRK_SEED");
    return text != NULL ? strtoull(text, NULL, 0) : 1;
}

static enum trk_status decode(const uint8_t *payload, size_t size_bytes, size_t count,
                              unsigned clock_shift)
{
    struct trk_columns *decoder;
    cr_assert_eq(trk_columns_create_decoder(&decoder), TRK_OK);
    struct trk_columns_input input = {payload,     size_bytes,     count,
                                      clock_shift, records[0].tsc, NULL};
    enum trk_status status = trk_columns_decode(decoder, &input, decoded);
    trk_columns_destroy(decoder);
    return status;
}

static void check_round_trip(size_t count, unsigned clock_shift, const char *what)
{
    struct trk_columns *encoder;
    cr_assert_eq(trk_columns_create_encoder(&encoder, TRK_CHUNK_EVENTS), TRK_OK);
    const uint8_t *payload;
    size_t size_bytes = trk_columns_encode(encoder, records, count, clock_shift, &payload);
    cr_assert_eq(decode(payload, size_bytes, count, clock_shift), TRK_OK, "%s, TRK_SEED=%llu", what,
                 (unsigned long long)seed());
    for (size_t i = 0; i < count; i++) {
        cr_assert_eq(decoded[i].tsc, records[i].tsc >> clock_shift << clock_shift,
                     "%s, time of %zu, TRK_SEED=%llu", what, i, (unsigned long long)seed());
        cr_assert(trace_event_equal(&decoded[i].event, &records[i].event),
                  "%s, event %zu of type %u, TRK_SEED=%llu", what, i, records[i].event.type,
                  (unsigned long long)seed());
    }
    trk_columns_destroy(encoder);
}

Test(columns, every_type_alone_and_repeated)
{
    struct trace_random random = {seed()};
    for (size_t t = 0; t < trace_event_type_count; t++) {
        for (size_t i = 0; i < 200; i++) {
            records[i].tsc = trace_random_next(&random);
            records[i].event = trace_random_event(&random, trace_event_types[t]);
        }
        check_round_trip(1, 0, trk_event_type_name(trace_event_types[t]));
        check_round_trip(200, 0, trk_event_type_name(trace_event_types[t]));
    }
}

Test(columns, full_chunk_of_mixed_types)
{
    struct trace_random random = {seed() + 1};
    for (size_t i = 0; i < TRK_CHUNK_EVENTS; i++) {
        uint8_t type = trace_event_types[trace_random_below(&random, trace_event_type_count)];
        records[i].tsc = trace_random_next(&random);
        records[i].event = trace_random_event(&random, type);
    }
    check_round_trip(TRK_CHUNK_EVENTS, 0, "mixed");
    check_round_trip(TRK_CHUNK_EVENTS, 5, "mixed, clock shift 5");
    check_round_trip(TRK_CHUNK_EVENTS, 31, "mixed, clock shift 31");
}

/* Types newer than this reader, and fields that a type should not use, are kept too [F-21]. */
Test(columns, full_chunk_of_anything)
{
    struct trace_random random = {seed() + 2};
    for (size_t i = 0; i < TRK_CHUNK_EVENTS; i++) {
        records[i].tsc = trace_random_next(&random) >> 20;
        records[i].event = trace_random_any_event(&random);
    }
    check_round_trip(TRK_CHUNK_EVENTS, 0, "anything");
    for (size_t i = 0; i < TRK_CHUNK_EVENTS; i++) {
        memset(&records[i].event, 0xff, sizeof records[i].event);
    }
    check_round_trip(TRK_CHUNK_EVENTS, 0, "all ones: no column may outgrow its room");
}

/* Every event of a chunk in a domain of its own: the table of domains is as full as it gets. */
Test(columns, as_many_domains_as_events)
{
    for (uint32_t i = 0; i < TRK_CHUNK_EVENTS; i++) {
        records[i] = (struct trk_record){
            .tsc = i,
            .event = {.type = TRK_EVENT_LOCK, .domain = i * 0x10001u, .seq = ~i},
        };
    }
    check_round_trip(TRK_CHUNK_EVENTS, 0, "domains");
}

/* [F-22] A chunk decodes alone: nothing of the one before is left in the encoder. */
Test(columns, encoding_does_not_depend_on_the_chunk_before)
{
    struct trace_random random = {seed() + 3};
    for (size_t i = 0; i < 100; i++) {
        uint8_t type = trace_event_types[trace_random_below(&random, trace_event_type_count)];
        records[i] = (struct trk_record){i, trace_random_event(&random, type)};
    }
    struct trk_columns *encoder;
    cr_assert_eq(trk_columns_create_encoder(&encoder, TRK_CHUNK_EVENTS), TRK_OK);
    const uint8_t *payload;
    size_t first = trk_columns_encode(encoder, records, 100, 0, &payload);
    uint8_t *kept = malloc(first);
    memcpy(kept, payload, first);
    size_t second = trk_columns_encode(encoder, records, 100, 0, &payload);
    cr_assert_eq(second, first);
    cr_expect_arr_eq(payload, kept, first);
    free(kept);
    trk_columns_destroy(encoder);
}

/* A payload of three LOCK events, as columns of type, time, domain and seq. */
static const uint8_t good[] = {
    TRK_COLUMN_TYPE,
    TRK_ENCODING_BYTES,
    3,
    TRK_EVENT_LOCK,
    TRK_EVENT_LOCK,
    TRK_EVENT_LOCK,
    TRK_COLUMN_TIME,
    TRK_ENCODING_ZIGZAG,
    3,
    0,
    2,
    2,
    TRK_COLUMN_DOMAIN,
    TRK_ENCODING_ZIGZAG,
    3,
    14,
    0,
    0,
    TRK_COLUMN_SEQ,
    TRK_ENCODING_ZIGZAG,
    3,
    0,
    2,
    2,
};

Test(columns, written_by_hand)
{
    records[0].tsc = 100;
    cr_assert_eq(decode(good, sizeof good, 3, 0), TRK_OK);
    for (uint32_t i = 0; i < 3; i++) {
        cr_expect_eq(decoded[i].tsc, 100 + i);
        cr_expect_eq(decoded[i].event.type, TRK_EVENT_LOCK);
        cr_expect_eq(decoded[i].event.domain, 7);
        cr_expect_eq(decoded[i].event.seq, 1 + i);
    }
}

struct change {
    const char *name;
    size_t at;
    uint8_t byte;
};

/* Each makes a bad payload of the good one. */
static const struct change changes[] = {
    {"unknown column", 0, TRK_COLUMN_COUNT},
    {"column 0", 0, 0},
    {"columns not ascending", 6, TRK_COLUMN_TYPE},
    {"the same column twice", 12, TRK_COLUMN_TIME},
    {"unknown encoding", 7, 9},
    {"encoding of another column", 1, TRK_ENCODING_LEB},
    {"column longer than the payload", 20, 4},
    {"column shorter than its numbers", 8, 2},
    {"unknown type", 3, 150},
    {"domain of more than 32 bits is cut off", 15, 0xff},
    {"number without its end", 23, 0x80},
    {"time column of another length", 14, 2},
};

Test(columns, refused)
{
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        uint8_t bad[sizeof good];
        memcpy(bad, good, sizeof good);
        bad[changes[i].at] = changes[i].byte;
        cr_expect_eq(decode(bad, sizeof bad, 3, 0), TRK_E_DAMAGED, "%s", changes[i].name);
    }
    cr_expect_eq(decode(good, sizeof good, 2, 0), TRK_E_DAMAGED, "events left over");
    cr_expect_eq(decode(good, sizeof good, 4, 0), TRK_E_DAMAGED, "events missing");
    for (size_t cut = 0; cut < sizeof good; cut++) {
        cr_expect_eq(decode(good, cut, 3, 0), TRK_E_DAMAGED, "cut to %zu bytes", cut);
    }
}

/* Numbers that do not fit the field they are for. */
Test(columns, refuses_numbers_out_of_range)
{
    static const uint8_t domain[] = {
        TRK_COLUMN_TYPE,
        TRK_ENCODING_BYTES,
        1,
        TRK_EVENT_LOCK,
        TRK_COLUMN_TIME,
        TRK_ENCODING_ZIGZAG,
        1,
        0,
        TRK_COLUMN_DOMAIN,
        TRK_ENCODING_ZIGZAG,
        5,
        0x80,
        0x80,
        0x80,
        0x80,
        0x10,
        TRK_COLUMN_SEQ,
        TRK_ENCODING_ZIGZAG,
        1,
        0,
    };
    static const uint8_t pages[] = {
        TRK_COLUMN_TYPE,
        TRK_ENCODING_BYTES,
        1,
        TRK_EVENT_WATCH,
        TRK_COLUMN_TIME,
        TRK_ENCODING_ZIGZAG,
        1,
        0,
        TRK_COLUMN_DOMAIN,
        TRK_ENCODING_ZIGZAG,
        1,
        0,
        TRK_COLUMN_SEQ,
        TRK_ENCODING_ZIGZAG,
        1,
        0,
        TRK_COLUMN_PAGES,
        TRK_ENCODING_LEB,
        3,
        0x80,
        0x80,
        0x04,
    };
    static const uint8_t context[] = {
        TRK_COLUMN_TYPE,
        TRK_ENCODING_BYTES,
        1,
        TRK_EVENT_CALLBACK,
        TRK_COLUMN_TIME,
        TRK_ENCODING_ZIGZAG,
        1,
        0,
        TRK_COLUMN_CONTEXT,
        TRK_ENCODING_LEB,
        3,
        0x80,
        0x80,
        0x04,
    };
    cr_expect_eq(decode(domain, sizeof domain, 1, 0), TRK_E_DAMAGED);
    cr_expect_eq(decode(pages, sizeof pages, 1, 0), TRK_E_DAMAGED);
    cr_expect_eq(decode(context, sizeof context, 1, 0), TRK_E_DAMAGED);
}
