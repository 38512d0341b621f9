#include "kept_checkpoints.h"

#include <inttypes.h>
#include <stdlib.h>

#include "recorder/checkpoint.h"
#include "terminal.h"

struct trk_kept_checkpoint {
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

static enum trk_status take(struct trk_kept_checkpoints *kept, struct trk_trace *trace,
                            size_t index, uint64_t event_number, struct trk_error *error)
{
    struct trk_kept_checkpoint *out = &kept->list[kept->count];
    *out = (struct trk_kept_checkpoint){.event_number = event_number, .place = place_of(trace)};
    /* What the first one rests on is not kept. */
    enum trk_status status =
        trk_trace_checkpoint_body(trace, index, kept->count == 0, &out->body, error);
    kept->count += status == TRK_OK;
    return status;
}

enum trk_status trk_kept_checkpoints_find(struct trk_kept_checkpoints *kept,
                                          struct trk_trace *trace, uint64_t first, uint64_t end,
                                          struct trk_error *error)
{
    size_t count = trk_trace_checkpoint_count(trace);
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
            status = take(kept, trace, i, place.event_number, error);
        }
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
