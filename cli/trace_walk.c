#include "trace_walk.h"

#include <stdlib.h>
#include <string.h>

#include "recorder/chunks.h"
#include "trace_item.h"
#include "track/address.h"

enum trk_status trk_walk_init(struct trk_walk *walk, struct trk_trace *trace)
{
    walk->trace = trace;
    walk->count = trk_trace_stream_count(trace);
    walk->streams = calloc(walk->count + 1, sizeof *walk->streams);
    for (size_t i = 0; walk->streams != NULL && i < walk->count; i++)
        walk->streams[i] = (struct trk_walk_stream){
            .chunk = trk_trace_first_chunk(trace, i),
            .torn = walk->part,
        };
    return walk->streams != NULL ? TRK_OK : TRK_E_MEMORY;
}

void trk_walk_free(struct trk_walk *walk)
{
    free(walk->streams);
    walk->streams = NULL;
}

/* ---- what is missing ------------------------------------------------------------------------- */

/* What a part has in front of its piece: what there is since before. */
static bool is_prologue(unsigned type)
{
    return type == TRK_EVENT_TRACKER || type == TRK_EVENT_FOREIGN || type == TRK_EVENT_LOCKS ||
           type == TRK_EVENT_MAP || type == TRK_EVENT_UNMAP || type == TRK_EVENT_FRAME ||
           type == TRK_EVENT_DROP;
}

/* Whether losses of a type leave it open which operation is under way. */
static bool type_tears(unsigned type)
{
    return type == TRK_EVENT_NONE || type == TRK_EVENT_OP_BEGIN || type == TRK_EVENT_OP_END ||
           type == TRK_EVENT_FAULT;
}

/* [F-13] The event's place in its stream, by its chunk. */
static uint64_t ordinal_of(struct trk_walk *walk, const struct trk_trace_event *event)
{
    struct trk_walk_stream *stream = &walk->streams[event->stream];
    struct trk_trace_chunk chunk = trk_trace_chunk(walk->trace, stream->chunk);
    while (chunk.file_offset != event->file_offset && chunk.next != TRK_TRACE_NO_CHUNK) {
        stream->chunk = chunk.next;
        stream->index = 0;
        chunk = trk_trace_chunk(walk->trace, chunk.next);
    }
    return chunk.first_ordinal + stream->index++;
}

/* [F-32] Of others of the same stream behind this one. */
static void note_drop(const struct trk_walk *walk, struct trk_walk_stream *stream,
                      const struct trk_event *drop)
{
    stream->told += drop->argument;
    bool any = drop->context == TRK_EVENT_NONE;
    stream->dropped |= any || trk_item_type_counts(drop->context, walk->asked);
    stream->tears |= type_tears(drop->context);
}

void trk_walk_event(struct trk_walk *walk, const struct trk_trace_event *event,
                    struct trk_walked *out)
{
    struct trk_walk_stream *stream = &walk->streams[event->stream];
    const unsigned type = event->event.type;
    *out = (struct trk_walked){.ordinal = ordinal_of(walk, event)};
    bool gap = out->ordinal > stream->next;
    bool edge = walk->part && !stream->inside;
    bool before = walk->unplaced && !stream->begun;
    out->lost =
        gap || walk->sparse || edge || before || (stream->dropped && type != TRK_EVENT_DROP);
    out->loss =
        (struct trk_loss){.first = 1, .first_tsc = stream->last_tsc, .last_tsc = event->tsc};
    if (stream->dropped && !gap && type != TRK_EVENT_DROP) { /* these have ordinals themselves */
        out->loss.told = true;
        out->loss.first = out->ordinal;
        out->loss.last = out->ordinal - 1;
    }
    if (gap) {
        out->loss.first = stream->next;
        out->loss.last = out->ordinal - 1;
        stream->told += out->ordinal - stream->next;
    }
    if (gap || edge || (stream->tears && type != TRK_EVENT_DROP)) {
        stream->torn = true;
        stream->depth = 0;
        stream->tears = false;
    }
    stream->begun = true;
    stream->inside |= !is_prologue(type);
    stream->next = out->ordinal + 1;
    if (type == TRK_EVENT_DROP) { /* its time is that of the first one that is lost */
        note_drop(walk, stream, &event->event);
        return;
    }
    stream->dropped = false;
    stream->last_tsc = event->tsc;
    stream->kept++;
}

bool trk_walk_end(const struct trk_walk *walk, uint32_t stream, struct trk_loss *loss)
{
    const struct trk_walk_stream *at = &walk->streams[stream];
    const struct trk_trace_state state = trk_trace_state(walk->trace);
    bool stops = !state.ended || state.cut || !state.counted ||
                 trk_trace_stream(walk->trace, stream)->dropped != at->told;
    const bool told = !stops && at->dropped;
    *loss = (struct trk_loss){
        .first = stops || told ? at->next : 1,
        .last = stops  ? UINT64_MAX
                : told ? at->next - 1
                       : 0,
        .first_tsc = at->last_tsc,
        .last_tsc = UINT64_MAX,
        .told = told,
    };
    return stops || at->dropped || walk->part;
}

bool trk_walk_lacks_threads(const struct trk_walk *walk)
{
    const struct trk_trace_state state = trk_trace_state(walk->trace);
    return !state.ended || state.cut || !state.counted || state.damaged_chunks > 0 || walk->part ||
           walk->unplaced;
}

/* ---- places ---------------------------------------------------------------------------------- */

static uint64_t page_of(uint64_t guest_addr)
{
    bool low = guest_addr >= TRK_LOW_FIRST && guest_addr < TRK_LOW_END;
    bool arena = guest_addr >= TRK_ARENA_FIRST && guest_addr < TRK_ARENA_END;
    return low || arena ? guest_addr / TRK_HOST_PAGE_BYTES : TRK_PLACE_NONE;
}

static uint64_t outermost(const struct trk_walk_stream *stream)
{
    return stream->torn ? TRK_PLACE_UNKNOWN : TRK_PLACE_NONE;
}

static uint64_t push(struct trk_walk_stream *stream, uint64_t place)
{
    if (stream->depth == TRK_WALK_NEST) { /* the oldest one is forgotten */
        memmove(stream->places, stream->places + 1, sizeof stream->places - sizeof place);
        stream->depth--;
        stream->torn = true;
    }
    stream->places[stream->depth++] = place;
    return place;
}

uint64_t trk_walk_place(struct trk_walk *walk, uint32_t at, const struct trk_event *event)
{
    struct trk_walk_stream *stream = &walk->streams[at];
    switch (event->type) {
    case TRK_EVENT_OP_BEGIN:
    case TRK_EVENT_FAULT:
        return push(stream, page_of(event->argument));
    case TRK_EVENT_OP_END:
        return stream->depth > 0 ? stream->places[--stream->depth] : outermost(stream);
    case TRK_EVENT_CALLBACK:
    case TRK_EVENT_RANGE: /* what comes of an operation is where that is */
        return stream->depth > 0 ? stream->places[stream->depth - 1] : outermost(stream);
    case TRK_EVENT_SIGNAL:
    case TRK_EVENT_AWAIT:
        return TRK_PLACE_TIMELINE | event->domain;
    case TRK_EVENT_MASK:
    case TRK_EVENT_OPERAND:
    case TRK_EVENT_TRACKER:
    case TRK_EVENT_FOREIGN:
    case TRK_EVENT_FRAME:
    case TRK_EVENT_MARK:
        return TRK_PLACE_NONE;
    default:
        return page_of(event->argument);
    }
}
