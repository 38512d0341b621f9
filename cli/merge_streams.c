#include "merge_streams.h"

#include <stdlib.h>
#include <string.h>

static struct trk_merge_stream *find(struct trk_merge_streams *streams, uint32_t stream_id)
{
    for (size_t i = streams->count; i > 0; i--) {
        if (streams->list[i - 1].stream_id == stream_id) {
            return &streams->list[i - 1];
        }
    }
    return NULL;
}

static struct trk_merge_stream *touch(struct trk_merge_streams *streams, uint32_t stream_id)
{
    struct trk_merge_stream *stream = find(streams, stream_id);
    if (stream) {
        return stream;
    }
    if (streams->count == streams->room) {
        size_t room = streams->room > 0 ? 2 * streams->room : 16;
        void *list = realloc(streams->list, room * sizeof streams->list[0]);
        if (!list) {
            return NULL;
        }
        streams->list = list;
        streams->room = room;
    }
    stream = &streams->list[streams->count++];
    memset(stream, 0, sizeof *stream);
    stream->stream_id = stream_id;
    stream->fits = true;
    return stream;
}

void trk_merge_streams_deinit(struct trk_merge_streams *streams)
{
    free(streams->list);
    *streams = (struct trk_merge_streams){.list = NULL};
}

void trk_merge_streams_begin(struct trk_merge_streams *streams)
{
    for (size_t i = 0; i < streams->count; i++) {
        struct trk_merge_stream *stream = &streams->list[i];
        stream->seen.count = 0;
        stream->seen_position = 0;
        stream->seen_opened = false;
        stream->exact = false;
        stream->skip = 0;
        stream->fits = true;
        stream->begun = false;
        stream->kept = 0;
        stream->taken = 0;
        stream->told = stream->before > stream->told ? stream->before : stream->told;
        stream->before = 0;
    }
}

static const struct trk_record *from_end(const struct trk_merge_tail *tail, uint64_t back)
{
    return &tail->records[(tail->count - 1 - back) % TRK_MERGE_TAIL];
}

static void push(struct trk_merge_tail *tail, const struct trk_record *record)
{
    tail->records[tail->count % TRK_MERGE_TAIL] = *record;
    tail->count++;
}

static bool same(const struct trk_record *a, const struct trk_record *b)
{
    const struct trk_event *x = &a->event;
    const struct trk_event *y = &b->event;
    return a->tsc == b->tsc && x->type == y->type && x->flags == y->flags &&
           x->context == y->context && x->page == y->page && x->pages == y->pages &&
           x->domain == y->domain && x->seq == y->seq && x->argument == y->argument;
}

/*
 * Whether two tails end alike, as far back as both have no loss and the first has so many records:
 * what a part has forgotten differs.
 */
static bool alike(const struct trk_merge_tail *a, uint64_t most, const struct trk_merge_tail *b)
{
    for (uint64_t back = 0; back < TRK_MERGE_TAIL && back < most && back < b->count; back++) {
        const struct trk_record *x = from_end(a, back);
        const struct trk_record *y = from_end(b, back);
        if (x->event.type == TRK_EVENT_DROP || y->event.type == TRK_EVENT_DROP) {
            return true;
        }
        if (!same(x, y)) {
            return false;
        }
    }
    return true;
}

/* A flight ring keeps what was declared in the time that it has forgotten. */
static bool is_kept(const struct trk_merge_stream *stream, const struct trk_record *record)
{
    uint8_t type = record->event.type;
    bool declares = type == TRK_EVENT_TRACKER || type == TRK_EVENT_FOREIGN ||
                    type == TRK_EVENT_LOCKS || type == TRK_EVENT_MAP || type == TRK_EVENT_UNMAP;
    return declares && stream->written.count > 0 &&
           record->tsc <= from_end(&stream->written, 0)->tsc;
}

/* What a ring had forgotten stands before what it has, as events of no known type. */
bool trk_merge_streams_forgotten(const struct trk_record *record)
{
    return record->event.type == TRK_EVENT_DROP && record->event.context == TRK_EVENT_NONE;
}

/* [F-32] And what was between two parts, when these were merged before: at no known time. */
static bool is_between(const struct trk_record *record)
{
    return trk_merge_streams_forgotten(record) && trk_event_size(&record->event) == 0;
}

/* How many events of its stream a record stands for: events may have been lost before it. */
static uint64_t events_of(const struct trk_record *record, bool opened)
{
    if (record->event.type != TRK_EVENT_DROP) {
        return 1;
    }
    return trk_merge_streams_forgotten(record) && (!opened || is_between(record))
               ? record->event.argument
               : 0;
}

bool trk_merge_streams_opens(const struct trk_record *record)
{
    return record->event.type != TRK_EVENT_DROP && record->event.type != TRK_EVENT_TRACKER;
}

bool trk_merge_streams_before(struct trk_merge_streams *streams, uint32_t stream_id,
                              uint64_t events, bool first)
{
    struct trk_merge_stream *stream = touch(streams, stream_id);
    if (!stream) {
        return false;
    }
    if (first) {
        stream->position = events;
        stream->start = events;
    } else {
        stream->before = events;
    }
    stream->seen_position = events;
    return true;
}

bool trk_merge_streams_tell(struct trk_merge_streams *streams, uint32_t stream_id, uint64_t events)
{
    struct trk_merge_stream *stream = touch(streams, stream_id);
    if (stream && events > stream->told) {
        stream->told = events;
    }
    return stream != NULL;
}

/*
 * What was looked at last is as what was written last. Equal events may follow each other: the
 * place in the stream says which one it is, where that is known, else it is the last that fits.
 */
static void meet_last(struct trk_merge_stream *stream)
{
    bool fits = alike(&stream->seen, stream->seen.count - stream->kept, &stream->written);
    if (stream->exact || (!fits && stream->skip > 0)) {
        return;
    }
    stream->exact = fits && stream->seen_position == stream->position;
    stream->skip = stream->seen.count;
    stream->fits = fits;
}

bool trk_merge_streams_look(struct trk_merge_streams *streams, uint32_t stream_id,
                            const struct trk_record *record)
{
    struct trk_merge_stream *stream = touch(streams, stream_id);
    if (!stream) {
        return false;
    }
    push(&stream->seen, record);
    if (!stream->begun && record->event.type != TRK_EVENT_DROP && !is_kept(stream, record)) {
        stream->begun = true;
        stream->first_tsc = record->tsc;
        stream->kept = stream->seen.count - 1;
        stream->seen_begin = stream->seen_position;
    }
    stream->seen_position += events_of(record, stream->seen_opened);
    stream->seen_opened |= trk_merge_streams_opens(record);
    if (stream->written.count > 0 && same(record, from_end(&stream->written, 0))) {
        meet_last(stream);
    }
    return true;
}

/* Whether all that was looked at comes before what was written last. */
static bool is_behind(const struct trk_merge_stream *stream)
{
    return stream->seen.count > 0 && stream->written.count > 0 &&
           from_end(&stream->seen, 0)->tsc < from_end(&stream->written, 0)->tsc &&
           stream->seen_position <= stream->position;
}

bool trk_merge_streams_fit(struct trk_merge_streams *streams, uint32_t *stream_id)
{
    for (size_t i = 0; i < streams->count; i++) {
        struct trk_merge_stream *stream = &streams->list[i];
        streams->any_loss |= stream->begun && stream->seen_begin < stream->start;
        if (stream->skip == 0 && is_behind(stream)) {
            stream->skip = stream->seen.count;
        }
        bool apart = stream->skip > 0 || stream->written.count == 0 || !stream->begun ||
                     stream->first_tsc >= from_end(&stream->written, 0)->tsc;
        if (!stream->fits || !apart) {
            *stream_id = stream->stream_id;
            return false;
        }
    }
    return true;
}

static void note_written(struct trk_merge_streams *streams, struct trk_merge_stream *stream,
                         const struct trk_record *record)
{
    streams->any_loss |= record->event.type == TRK_EVENT_DROP;
    stream->position += events_of(record, stream->opened);
    stream->opened |= trk_merge_streams_opens(record);
    push(&stream->written, record);
}

/* A part that goes on behind a gap: its first event, with what is missing before it. */
static unsigned go_on(struct trk_merge_streams *streams, struct trk_merge_stream *stream,
                      struct trk_record records[2])
{
    uint64_t gap = stream->before > stream->position ? stream->before - stream->position : 0;
    stream->skip = stream->taken; /* the gap is closed */
    if (gap == 0) {
        note_written(streams, stream, &records[0]);
        return 1;
    }
    records[1] = records[0];
    records[0] = (struct trk_record){records[1].tsc,
                                     {.type = TRK_EVENT_DROP, .argument = gap, .context = 0}};
    note_written(streams, stream, &records[0]);
    stream->position = stream->before;
    note_written(streams, stream, &records[1]);
    return 2;
}

unsigned trk_merge_streams_take(struct trk_merge_streams *streams, uint32_t stream_id,
                                struct trk_record records[2])
{
    struct trk_merge_stream *stream = find(streams, stream_id);
    bool known = stream->written.count > 0;
    bool gap = stream->skip == 0 && (known || stream->before > 0);
    unsigned count = 0;
    stream->taken++;
    if (gap && (trk_merge_streams_forgotten(&records[0]) || is_kept(stream, &records[0]))) {
        stream->before += trk_merge_streams_forgotten(&records[0]) ? records[0].event.argument : 1;
        return 0;
    }
    if (gap) {
        count = go_on(streams, stream, records);
    } else if (!known || stream->taken > stream->skip) {
        note_written(streams, stream, &records[0]);
        count = 1;
    }
    /* A new stream is written from its first record on. */
    if (!known) {
        stream->skip = stream->taken;
    }
    return count;
}

bool trk_merge_streams_end(struct trk_merge_streams *streams, uint32_t *stream_id,
                           struct trk_record *loss)
{
    trk_merge_streams_begin(streams); /* what the last part tells counts, too */
    for (size_t i = 0; i < streams->count; i++) {
        struct trk_merge_stream *stream = &streams->list[i];
        if (stream->told <= stream->position) {
            continue;
        }
        const struct trk_record *last =
            stream->written.count > 0 ? from_end(&stream->written, 0) : NULL;
        *stream_id = stream->stream_id;
        *loss = (struct trk_record){
            last ? last->tsc : streams->first_tsc,
            {.type = TRK_EVENT_DROP, .argument = stream->told - stream->position}};
        note_written(streams, stream, loss);
        stream->position = stream->told;
        return true;
    }
    return false;
}
