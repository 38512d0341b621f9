/*
 * Moves the addresses of a trace up, for tests of the redaction, which moves them down.
 *
 *     lift_trace IN OUT     prints by how many regions each band was moved: LOW ARENA
 *
 * Which fields are addresses it takes from the redaction. What that forgets stays where it was, and
 * the trace that comes out diverges.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "recorder/checkpoint.h"
#include "recorder/writer.h"
#include "redact.h"

#define FURTHER 4096u /* regions: 16 GiB */
#define STREAMS 64u

static struct trk_redact redact;

/* An OPERAND is held back: what it means the event behind it says. */
static struct trk_record operands[STREAMS];
static bool has_operand[STREAMS];

static void check(enum trk_status status, const struct trk_error *error, const char *what)
{
    if (status != TRK_OK) {
        fprintf(stderr, "lift_trace: %s: %s\n", what, error->text);
        exit(1);
    }
}

static void take(struct trk_writer *writer, uint32_t id, struct trk_record *record,
                 const struct trk_event *begin)
{
    struct trk_error error;
    if (writer == NULL) {
        trk_redact_note(&redact, &record->event, begin);
        return;
    }
    trk_redact_event(&redact, &record->event, begin);
    check(trk_writer_append(writer, id, record, 1, 0, &error), &error, "event");
}

/* All events, into the writer; NULL: into the notes. */
static void pass(struct trk_trace *trace, struct trk_writer *writer)
{
    struct trk_trace_event event;
    struct trk_error error;
    check(trk_trace_rewind(trace, &error), &error, "trace");
    while (trk_trace_next(trace, &event, &error) == TRK_OK) {
        uint32_t id = trk_trace_stream(trace, event.stream)->stream_id;
        struct trk_record record = {event.tsc, event.event};
        bool begins = record.event.type == TRK_EVENT_OP_BEGIN;
        if (has_operand[event.stream])
            take(writer, id, &operands[event.stream], begins ? &event.event : NULL);
        has_operand[event.stream] = record.event.type == TRK_EVENT_OPERAND;
        if (has_operand[event.stream])
            operands[event.stream] = record;
        else
            take(writer, id, &record, NULL);
    }
    for (size_t i = 0; i < trk_trace_stream_count(trace); i++) {
        if (has_operand[i])
            take(writer, trk_trace_stream(trace, i)->stream_id, &operands[i], NULL);
        has_operand[i] = false;
    }
    if (!trk_trace_state(trace).complete) {
        fprintf(stderr, "lift_trace: the trace is not whole\n");
        exit(1);
    }
}

/* As far up as fits, below end; how far. */
static uint64_t lift(struct trk_redact_band *band, uint32_t first, uint32_t end)
{
    uint32_t top = band->stays < end ? band->stays : end;
    uint32_t above = top;
    while (above > first && (redact.used[(above - 1) / 64] >> (above - 1) % 64 & 1) == 0)
        above--;
    uint64_t room = above > first ? top - above : 0;
    uint64_t regions = room < FURTHER ? room : FURTHER;
    band->regions = 0 - regions;
    return regions;
}

int main(int argc, char **argv)
{
    struct trk_error error;
    struct trk_trace *trace;
    struct trk_writer *writer;
    struct trk_writer_options options = trk_writer_options_default();
    const uint8_t *end;
    if (argc != 3)
        return 2;
    check(trk_trace_open(&trace, argv[1], &error), &error, argv[1]);
    check(trk_trace_scan(trace, &error), &error, argv[1]);
    if (trk_trace_stream_count(trace) > STREAMS || trk_trace_snapshot(trace, &end) != NULL) {
        fprintf(stderr, "lift_trace: %s: many threads, or a part of a trace\n", argv[1]);
        return 1;
    }
    trk_redact_init(&redact, trace);
    pass(trace, NULL);
    trk_redact_decide(&redact);
    uint32_t arena = trk_region_index(TRK_ARENA_FIRST);
    uint64_t low = lift(&redact.low, 0, arena);
    for (uint32_t i = 0; i < redact.other.count; i++) /* farther apart, too */
        redact.other.runs[i].to += UINT64_C(1000) * (i + 1);
    redact.other.moves = redact.other.count > 0;
    printf("%" PRIu64 " %" PRIu64 "\n", low, lift(&redact.arena, arena, TRK_REGION_COUNT));

    int fd = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    char *header = trk_redact_header(&redact, trk_trace_header_json(trace));
    options.clock_shift = trk_trace_clock_shift(trace);
    check(trk_writer_create(&writer, fd, &options, header, &error), &error, argv[2]);
    cJSON_free(header);
    for (size_t i = 0; i < trk_trace_stream_count(trace); i++)
        check(trk_writer_stream(writer, trk_trace_stream(trace, i), &error), &error, argv[2]);
    pass(trace, writer);
    check(trk_writer_end(writer, trk_trace_state(trace).child_status, &error), &error, argv[2]);
    trk_trace_close(trace);
    return close(fd) == 0 ? 0 : 1;
}
