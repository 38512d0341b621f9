#include "recorder/digest.h"

#include <stdlib.h>

static uint64_t mix(uint64_t sum, uint64_t value)
{
    sum = (sum ^ value) * UINT64_C(0x9E3779B97F4A7C15);
    return sum ^ sum >> 32;
}

void trk_digest_add(struct trk_digest *digest, uint32_t stream_id, uint64_t ordinal,
                    const struct trk_record *record)
{
    const struct trk_event *event = &record->event;
    uint64_t sum = mix(stream_id, ordinal);
    sum = mix(sum, record->tsc);
    sum = mix(sum, event->argument);
    sum = mix(sum, (uint64_t)event->domain << 32 | event->seq);
    sum = mix(sum, (uint64_t)event->page << 48 | (uint64_t)event->pages << 32 |
                       (uint64_t)event->context << 16 | (uint64_t)event->flags << 8 | event->type);
    digest->records++;
    digest->sum += sum;
}

static enum trk_status read_all(struct trk_trace *trace, struct trk_digest *found,
                                struct trk_error *error)
{
    uint64_t *ordinals = calloc(trk_trace_stream_count(trace) + 1, sizeof *ordinals);
    if (ordinals == NULL) {
        return trk_error_set(error, TRK_E_MEMORY, "no memory to read the trace again");
    }
    enum trk_status status;
    struct trk_trace_event event;
    while ((status = trk_trace_next(trace, &event, error)) == TRK_OK) {
        struct trk_record record = {event.tsc, event.event};
        trk_digest_add(found, trk_trace_stream(trace, event.stream)->stream_id,
                       ordinals[event.stream]++, &record);
    }
    free(ordinals);
    return status == TRK_E_END ? TRK_OK : status;
}

enum trk_status trk_trace_verify(const char *path, const struct trk_digest *expected,
                                 struct trk_error *error)
{
    struct trk_trace *trace;
    struct trk_digest found = {0};
    enum trk_status status = trk_trace_open(&trace, path, error);
    if (status != TRK_OK) {
        return status;
    }
    status = trk_trace_scan(trace, error);
    if (status == TRK_OK) {
        status = read_all(trace, &found, error);
    }
    struct trk_trace_state state = trk_trace_state(trace);
    if (status == TRK_OK && state.first_damage_offset != TRK_NOT_KNOWN) {
        status = trk_error_set(error, TRK_E_DAMAGED, "read again: %.100s", state.damage);
        if (error != NULL) {
            error->file_offset = state.first_damage_offset;
        }
    } else if (status == TRK_OK &&
               (found.records != expected->records || found.sum != expected->sum)) {
        status = trk_error_set(
            error, TRK_E_DAMAGED, "read again: other events than were written (%llu, not %llu)",
            (unsigned long long)found.records, (unsigned long long)expected->records);
    }
    trk_trace_close(trace);
    return status;
}
