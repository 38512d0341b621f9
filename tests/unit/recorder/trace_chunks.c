/*
 * Goal: chunks read alone give the events that the whole trace gives, their domains are those of
 * their events, and what is damaged is told. Method: random events of several streams, many chunks;
 * read in order, then chunk by chunk, also by the file's index; a payload is flipped.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/chunks.h"
#include "trace_support.h"

#define STREAMS 3u
#define ROUNDS  24u
#define BATCH   40u

static struct trace_file make(bool plain)
{
    struct trace_file file;
    struct trace_random random = {plain ? 7u : 5u};
    uint64_t tsc = 1000;
    (plain ? trace_file_start_plain : trace_file_start)(&file, 0);
    for (uint32_t i = 0; i < STREAMS; i++) {
        trace_file_name(&file, i, "");
    }
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct trk_record records[BATCH];
        for (unsigned i = 0; i < BATCH; i++) {
            uint64_t type = trace_random_below(&random, trace_event_type_count);
            records[i].tsc = tsc += 1 + trace_random_below(&random, 50);
            records[i].event = trace_random_event(&random, trace_event_types[type]);
            if (records[i].event.type == TRK_EVENT_DROP) {
                records[i].event = trk_event_of(TRK_EVENT_MARK, i);
            }
        }
        trace_file_add(&file, round % STREAMS, records, BATCH, 0);
        trace_file_flush(&file);
    }
    trace_file_end(&file, 0);
    return file;
}

static struct trk_trace *open_trace(const struct trace_file *file, bool quick)
{
    struct trk_trace *trace;
    cr_assert_eq(trk_trace_open_bytes(&trace, file->bytes, file->size_bytes, NULL), TRK_OK);
    cr_assert_eq((quick ? trk_trace_scan_quick : trk_trace_scan)(trace, NULL), TRK_OK);
    return trace;
}

/* A FAULT of no region names its tracker in class 0, where others name a hold. */
static bool names_domain(const struct trk_event *event)
{
    return trk_event_in_hold(event) || event->type == TRK_EVENT_FAULT;
}

/* Each domain of a hold is in the list, and nothing else is. */
static void check_domains(const struct trk_trace_domains *domains, const struct trk_record *records,
                          uint32_t count)
{
    bool seen[BATCH] = {false};
    for (uint32_t i = 0; i < count; i++) {
        bool found = false;
        for (size_t j = 0; j < domains->count && names_domain(&records[i].event); j++) {
            if (domains->at[j].domain == records[i].event.domain) {
                found = seen[j] = true;
            }
        }
        cr_expect_eq(found, names_domain(&records[i].event));
    }
    for (size_t j = 0; j < domains->count; j++) {
        cr_expect(seen[j], "domain %08x of no event", domains->at[j].domain);
    }
}

static void check(bool quick)
{
    struct trace_file file = make(false);
    struct trace_events all = trace_read_bytes(file.bytes, file.size_bytes);
    struct trk_trace *trace = open_trace(&file, quick);
    struct trk_trace_domains domains = {.at = NULL};
    uint64_t next[STREAMS] = {0};
    cr_assert_eq(trk_trace_chunk_count(trace), ROUNDS);
    for (size_t i = 0; i < ROUNDS; i++) {
        struct trk_trace_chunk chunk = trk_trace_chunk(trace, i);
        struct trk_record records[BATCH];
        cr_assert_eq(chunk.events, BATCH);
        cr_assert_eq(trk_trace_chunk_read(trace, i, records, NULL), TRK_OK);
        cr_expect_eq(chunk.first_ordinal, next[chunk.stream]);
        cr_expect_eq(chunk.first_tsc, records[0].tsc);
        cr_expect_eq(chunk.last_tsc, records[BATCH - 1].tsc);
        uint64_t ordinal = 0;
        uint32_t same = 0;
        for (size_t j = 0; j < all.count; j++) {
            if (all.events[j].stream == chunk.stream) {
                uint64_t at = ordinal++ - chunk.first_ordinal;
                same += at < BATCH && all.events[j].tsc == records[at].tsc &&
                        trace_event_equal(&all.events[j].event, &records[at].event);
            }
        }
        cr_expect_eq(same, BATCH);
        next[chunk.stream] += BATCH;
        cr_assert_eq(trk_trace_chunk_domains(trace, i, &domains, NULL), TRK_OK);
        check_domains(&domains, records, BATCH);
    }
    for (uint32_t i = 0; i < STREAMS; i++) {
        uint32_t count = 0;
        for (uint32_t at = trk_trace_first_chunk(trace, i); at != TRK_TRACE_NO_CHUNK;
             at = trk_trace_chunk(trace, at).next) {
            cr_expect_eq(trk_trace_chunk(trace, at).stream, i);
            count++;
        }
        cr_expect_eq(count, ROUNDS / STREAMS);
    }
    trk_trace_domains_deinit(&domains);
    trk_trace_close(trace);
    trace_events_free(&all);
    trace_file_free(&file);
}

Test(trace_chunks, as_in_the_whole)
{
    check(false);
    check(true);
}

Test(trace_chunks, counts_what_is_read)
{
    struct trace_file file = make(false);
    struct trk_trace *trace = open_trace(&file, true);
    struct trk_record records[BATCH];
    uint64_t before = trk_trace_bytes_read(trace);
    cr_expect_gt(before, 0);
    cr_expect_lt(before, file.size_bytes);
    cr_assert_eq(trk_trace_chunk_read(trace, 3, records, NULL), TRK_OK);
    uint64_t size_bytes =
        trk_trace_chunk(trace, 4).file_offset - trk_trace_chunk(trace, 3).file_offset;
    cr_expect_eq(trk_trace_bytes_read(trace) - before, size_bytes);
    trk_trace_close(trace);
    trace_file_free(&file);
}

Test(trace_chunks, damaged)
{
    struct trace_file file = make(false);
    struct trk_trace *trace = open_trace(&file, true);
    struct trk_record records[BATCH];
    uint64_t end = trk_trace_chunk(trace, 4).file_offset;
    file.bytes[end - 9] ^= 1; /* in the payload of chunk 3 */
    cr_expect_eq(trk_trace_chunk_read(trace, 3, records, NULL), TRK_E_DAMAGED);
    cr_expect_eq(trk_trace_chunk_read(trace, 3, records, NULL), TRK_E_DAMAGED);
    cr_expect_eq(trk_trace_chunk_read(trace, 4, records, NULL), TRK_OK);
    struct trk_trace_state state = trk_trace_state(trace);
    cr_expect(!state.complete);
    cr_expect_eq(state.damaged_chunks, 1);
    cr_expect_eq(state.dropped, BATCH);
    trk_trace_close(trace);
    trace_file_free(&file);
}

Test(trace_chunks, without_summaries)
{
    struct trace_file file = make(true);
    struct trk_trace *trace = open_trace(&file, false);
    struct trk_trace_domains domains = {.at = NULL};
    cr_expect_eq(trk_trace_chunk_domains(trace, 0, &domains, NULL), TRK_E_UNSUPPORTED);
    trk_trace_domains_deinit(&domains);
    trk_trace_close(trace);
    trace_file_free(&file);
}
