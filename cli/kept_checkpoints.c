#include "kept_checkpoints.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/checkpoint.h"
#include "terminal.h"

struct trk_kept_checkpoint {
    size_t index;          /* in the source */
    uint64_t event_number; /* of the event behind it in the source */
    uint64_t place;        /* how many events each stream has before it, mixed */
    struct trk_checkpoint_body body;
};

static enum trk_status no_memory(struct trk_error *error)
{
    return trk_error_set(error, TRK_E_MEMORY, "out of memory");
}

static uint64_t mix(uint64_t place, uint64_t events)
{
    place = (place ^ events) * UINT64_C(0x9e3779b97f4a7c15);
    return place ^ place >> 29;
}

static uint64_t place_of(const struct trk_trace *trace)
{
    uint64_t place = 1;
    for (size_t i = 0; i < trk_trace_stream_count(trace); i++) {
        place = mix(place, trk_trace_before(trace, i));
    }
    return place;
}

static uint64_t place_seen(const struct trk_kept_checkpoints *kept)
{
    uint64_t place = 1;
    for (size_t i = 0; i < kept->stream_count; i++) {
        place = mix(place, kept->seen[i]);
    }
    return place;
}

/* What the checkpoint says, where the trace stands at it. */
static enum trk_status take_body(struct trk_kept_checkpoints *kept, size_t at,
                                 struct trk_trace *trace, struct trk_error *error)
{
    struct trk_kept_checkpoint *out = &kept->list[at];
    /* What it rests on is not kept. */
    bool full = at == 0 || out[-1].index + 1 != out->index;
    return trk_trace_checkpoint_body(trace, out->index, full, &out->body, error);
}

static enum trk_status take_bodies(struct trk_kept_checkpoints *kept, struct trk_trace *trace,
                                   struct trk_error *error)
{
    enum trk_status status = TRK_OK;
    for (size_t i = 0; i < kept->count && status == TRK_OK; i++) {
        status = trk_trace_go_to(trace, kept->list[i].index, NULL, error);
        if (status == TRK_OK) {
            status = take_body(kept, i, trace, error);
        }
    }
    return status;
}

/* Only those that have before them what comes before them in the trace's order. */
static enum trk_status keep_fitting(struct trk_kept_checkpoints *kept, struct trk_trace *trace,
                                    struct trk_error *error)
{
    struct trk_trace_event event;
    size_t next = 0;
    size_t fitting = 0;
    enum trk_status status = trk_trace_rewind(trace, error);
    while (status == TRK_OK && next < kept->count &&
           (status = trk_trace_next(trace, &event, error)) == TRK_OK) {
        for (; next < kept->count && kept->list[next].event_number <= event.number; next++) {
            if (kept->list[next].event_number == event.number &&
                kept->list[next].place == place_seen(kept)) {
                kept->list[fitting++] = kept->list[next];
            }
        }
        kept->seen[event.stream]++;
    }
    kept->left_out += next - fitting;
    while (next < kept->count) { /* behind the last event */
        kept->list[fitting++] = kept->list[next++];
    }
    kept->count = fitting;
    memset(kept->seen, 0, kept->stream_count * sizeof *kept->seen);
    return status == TRK_E_END ? TRK_OK : status;
}

enum trk_status trk_kept_checkpoints_find(struct trk_kept_checkpoints *kept,
                                          struct trk_trace *trace, uint64_t first, uint64_t end,
                                          struct trk_error *error)
{
    size_t count = trk_trace_checkpoint_count(trace);
    bool lossy = trk_trace_state(trace).dropped > 0;
    enum trk_status status = TRK_OK;
    if (count == 0) {
        return TRK_OK;
    }
    kept->stream_count = trk_trace_stream_count(trace);
    kept->list = calloc(count, sizeof *kept->list);
    kept->seen = calloc(kept->stream_count + 1, sizeof *kept->seen);
    if (!kept->list || !kept->seen) {
        return no_memory(error);
    }
    for (size_t i = 0; i < count && status == TRK_OK; i++) {
        struct trk_trace_checkpoint place;
        status = trk_trace_go_to(trace, i, &place, error);
        if (status == TRK_OK && place.event_number > first && place.event_number < end) {
            kept->list[kept->count++] = (struct trk_kept_checkpoint){
                .index = i, .event_number = place.event_number, .place = place_of(trace)};
            status = lossy ? TRK_OK : take_body(kept, kept->count - 1, trace, error);
        }
    }
    if (status == TRK_OK && lossy) {
        status = keep_fitting(kept, trace, error);
    }
    if (status == TRK_OK && lossy) {
        status = take_bodies(kept, trace, error);
    }
    return status == TRK_OK ? trk_trace_rewind(trace, error) : status;
}

/* The payload, with the places of the new file's streams. */
static enum trk_status write_one(const struct trk_kept_checkpoint *checkpoint,
                                 struct trk_rewrite *rewrite, struct trk_error *error)
{
    struct trk_packing payload = {.bytes = NULL};
    uint64_t events = 0;
    trk_packing_number(&payload, checkpoint->body.full ? TRK_CHECKPOINT_FULL : 0);
    trk_packing_number(&payload, rewrite->stream_count);
    for (size_t i = 0; i < rewrite->stream_count; i++) {
        trk_packing_number(&payload, rewrite->streams[i].stream_id);
        trk_packing_number(&payload, rewrite->streams[i].events);
        events += rewrite->streams[i].events;
    }
    trk_packing_bytes(&payload, checkpoint->body.rest.bytes, checkpoint->body.rest.size_bytes);
    enum trk_status status = payload.failed
                                 ? no_memory(error)
                                 : trk_writer_checkpoint(rewrite->writer, events, payload.bytes,
                                                         payload.size_bytes, error);
    free(payload.bytes);
    return status;
}

enum trk_status trk_kept_checkpoints_event(struct trk_kept_checkpoints *kept,
                                           struct trk_rewrite *rewrite,
                                           const struct trk_trace_event *event,
                                           struct trk_error *error)
{
    enum trk_status status = TRK_OK;
    while (status == TRK_OK && kept->next < kept->count &&
           kept->list[kept->next].event_number <= event->number) {
        const struct trk_kept_checkpoint *due = &kept->list[kept->next];
        if (due->event_number < event->number || due->place != place_seen(kept)) {
            kept->left_out += kept->count - kept->next; /* the others rest on it */
            kept->next = kept->count;
            return TRK_OK;
        }
        status = write_one(due, rewrite, error);
        kept->next++;
    }
    if (kept->seen) {
        kept->seen[event->stream]++;
    }
    return status;
}

void trk_kept_checkpoints_deinit(struct trk_kept_checkpoints *kept)
{
    for (size_t i = 0; i < kept->count; i++) {
        free(kept->list[i].body.rest.bytes);
    }
    free(kept->list);
    free(kept->seen);
    *kept = (struct trk_kept_checkpoints){.list = NULL};
}

void trk_kept_checkpoints_say(const struct trk_options *options, const char *path, uint64_t count,
                              const char *why)
{
    if (count > 0) {
        trk_terminal_say(options->command->name, "%s: %" PRIu64 " checkpoint%s left out: %s", path,
                         count, count == 1 ? " is" : "s are", why);
    }
}
