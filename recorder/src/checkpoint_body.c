/* A checkpoint for a trace that is written again. */
#include <stdlib.h>

#include "checkpoint_list.h"
#include "reader.h"
#include "recorder/checkpoint.h"

/* Lists of numbers with values: domains and timelines. */
#define POINT_LISTS 2u

static void skip_points(struct trk_unpacking *in)
{
    uint64_t count = trk_unpacking_number(in, UINT64_MAX);
    for (uint64_t i = 0; i < 2 * count && !in->failed; i++) {
        (void)trk_unpacking_number(in, UINT64_MAX);
    }
}

static void pack_prologue(const struct trk_trace *trace, struct trk_packing *out)
{
    size_t count;
    const struct trk_trace_event *prologue = trk_trace_prologue(trace, &count);
    trk_packing_number(out, count);
    for (size_t i = 0; i < count; i++) {
        const struct trk_event *event = &prologue[i].event;
        const uint64_t words[] = {trk_trace_stream(trace, prologue[i].stream)->stream_id,
                                  prologue[i].tsc,
                                  event->type,
                                  event->flags,
                                  event->context,
                                  event->page,
                                  event->pages,
                                  event->domain,
                                  event->seq,
                                  event->argument};
        for (size_t word = 0; word < sizeof words / sizeof words[0]; word++) {
            trk_packing_number(out, words[word]);
        }
    }
}

/* All that is known at the place where the trace stands. */
static bool pack_state(const struct trk_trace *trace, struct trk_packing *out)
{
    const uint8_t *end;
    const uint8_t *snapshot = trk_trace_snapshot(trace, &end);
    struct trk_unpacking in = {.at = snapshot, .end = snapshot != NULL ? end : NULL};
    for (unsigned i = 0; i < POINT_LISTS; i++) {
        skip_points(&in);
    }
    if (snapshot == NULL || in.failed) {
        return false;
    }
    trk_packing_bytes(out, snapshot, (size_t)(in.at - snapshot));
    pack_prologue(trace, out);
    trk_packing_bytes(out, in.at, (size_t)(in.end - in.at));
    return true;
}

/* What the chunk says behind its streams, as it stands there. */
static enum trk_status copy_payload(struct trk_trace *trace, size_t index,
                                    struct trk_checkpoint_body *out, struct trk_error *error)
{
    uint8_t *bytes;
    size_t size_bytes;
    enum trk_status status = trk_checkpoint_read(trace, index, &bytes, &size_bytes, error);
    if (status != TRK_OK) {
        return status;
    }
    struct trk_unpacking in = {.at = bytes, .end = bytes + size_bytes};
    out->full = (trk_unpacking_number(&in, UINT32_MAX) & TRK_CHECKPOINT_FULL) != 0;
    skip_points(&in); /* a stream's id and ordinal */
    if (!in.failed) {
        trk_packing_bytes(&out->rest, in.at, (size_t)(in.end - in.at));
    }
    free(bytes);
    return in.failed ? TRK_E_DAMAGED : TRK_OK;
}

enum trk_status trk_trace_checkpoint_body(struct trk_trace *trace, size_t index, bool full,
                                          struct trk_checkpoint_body *out, struct trk_error *error)
{
    *out = (struct trk_checkpoint_body){.full = full};
    enum trk_status status = TRK_OK;
    if (!full) {
        status = copy_payload(trace, index, out, error);
    } else if (!pack_state(trace, &out->rest)) {
        status = TRK_E_DAMAGED;
    }
    if (status == TRK_OK && out->rest.failed) {
        status = TRK_E_MEMORY;
    }
    if (status != TRK_OK) {
        free(out->rest.bytes);
        *out = (struct trk_checkpoint_body){.full = false};
        return trk_error_set(error, status, "a checkpoint is not readable");
    }
    return TRK_OK;
}
