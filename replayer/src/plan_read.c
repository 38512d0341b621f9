/* From the events of a trace to the list of what was done to bytes. */
#include "plan_internal.h"

#include <stdlib.h>
#include <string.h>

#include "simulator/oracle.h"
#include "track/address.h"

/* What is larger is refused. */
#define ITEM_BYTES_MAX (UINT64_C(1) << 40)
#define DEPTH_MAX      8u
/* Hashes of pages between a copy's begin and its end. */
#define HASHES_MAX 65536u

struct read_hash {
    uint64_t guest_addr, hash;
};

struct read_stream {
    uint32_t depth;
    uint8_t operations[DEPTH_MAX];
    uint64_t operation; /* number of the newest that began */
    struct plan_shape shape;
    struct read_hash *hashes;
    size_t hash_count, hash_capacity;
};

struct read {
    struct plan_raws *raws;
    struct trk_oracle *oracle;
    struct plan_views views;
    struct read_stream *streams;
    size_t stream_count;
    uint64_t operations;
    uint32_t frame;
    struct plan_undone undone;
};

/* Add an item, in pieces where views cut it. what: all but offset; size and address of all. */
static enum trk_status read_add(struct read *read, const struct plan_raw *what)
{
    struct plan_raws *raws = read->raws;
    uint64_t left = what->item.size_bytes, guest_addr = what->item.guest_addr;
    if (left == 0) {
        return TRK_OK;
    }
    if (left > ITEM_BYTES_MAX || guest_addr + left < guest_addr) {
        return TRK_E_UNSUPPORTED;
    }
    while (left > 0) {
        if (!plan_raws_grow(raws)) {
            return TRK_E_MEMORY;
        }
        struct plan_raw *raw = &raws->all[raws->count];
        uint64_t piece = left;
        *raw = *what;
        raw->item.offset = plan_views_key(&read->views, guest_addr, &piece);
        raw->item.guest_addr = guest_addr;
        raw->item.size_bytes = piece;
        raw->order = 2 * (uint64_t)raws->count + 1;
        raw->frame = read->frame;
        raws->count++;
        guest_addr += piece;
        left -= piece;
    }
    return TRK_OK;
}

static struct plan_raw read_raw(const struct trk_trace_event *event, enum trk_plan_kind kind,
                                uint64_t size_bytes)
{
    return (struct plan_raw){
        .item = {.event = event->number,
                 .guest_addr = event->event.argument,
                 .size_bytes = size_bytes,
                 .kind = (uint16_t)kind,
                 .content =
                     kind == TRK_PLAN_STORE || kind == TRK_PLAN_GPU_WRITE ? event->number : 0},
    };
}

/* ---- stores and writes ----------------------------------------------------------------------- */

static enum trk_status read_gpu_write(struct read *read, const struct plan_raw *raw)
{
    size_t first = read->raws->count;
    enum trk_status status = read_add(read, raw);
    for (size_t i = first; i < read->raws->count && raw->tick != 0; i++) {
        plan_undone_add(&read->undone, i);
    }
    return status;
}

/* ---- copies ---------------------------------------------------------------------------------- */

/* What a trace without witnesses says of the bytes that go up: page by page, a hash or nothing. */
static enum trk_status read_versions(struct read *read, struct read_stream *stream,
                                     const struct plan_raw *copy)
{
    struct plan_raw store = *copy;
    uint64_t at = copy->item.guest_addr, end = at + copy->item.size_bytes;
    enum trk_status status = TRK_OK;
    size_t next = 0;
    store.item.kind = TRK_PLAN_STORE;
    store.item.content = copy->item.event;
    store.item.image = 0;
    store.synthetic = true;
    while (at < end && status == TRK_OK) {
        while (next < stream->hash_count && stream->hashes[next].guest_addr < at) {
            next++;
        }
        bool known = next < stream->hash_count && stream->hashes[next].guest_addr == at &&
                     end - at >= TRK_PLAN_PAGE_BYTES;
        uint64_t stop = known                       ? at + TRK_PLAN_PAGE_BYTES
                        : next < stream->hash_count ? stream->hashes[next].guest_addr
                                                    : end;
        if (stop > end || stop <= at) {
            stop = end;
        }
        store.item.guest_addr = at;
        store.item.size_bytes = stop - at;
        store.item.content = known ? stream->hashes[next].hash : copy->item.event;
        store.hashed = known;
        status = read_add(read, &store);
        at = stop;
    }
    stream->hash_count = 0;
    return status;
}

static enum trk_status read_copy(struct read *read, struct read_stream *stream,
                                 const struct trk_trace_event *event)
{
    bool down = event->event.context == TRK_COPY_DOWN;
    struct plan_raw raw =
        read_raw(event, down ? TRK_PLAN_DOWNLOAD : TRK_PLAN_UPLOAD, trk_event_size(&event->event));
    raw.item.resource = event->event.page;
    raw.item.image = stream->shape.image;
    stream->shape.image = 0;
    raw.operation = stream->operation;
    read->raws->copies = true;
    enum trk_status status = down ? TRK_OK : read_versions(read, stream, &raw);
    size_t first = read->raws->count;
    if (status == TRK_OK) {
        status = read_add(read, &raw);
    }
    return status == TRK_OK && down ? plan_undone_down(&read->undone, read->raws, first) : status;
}

static enum trk_status read_range(struct read *read, struct read_stream *stream,
                                  const struct trk_trace_event *event)
{
    if (stream->depth == 0 || stream->depth > DEPTH_MAX) {
        return TRK_OK;
    }
    uint8_t op = stream->operations[stream->depth - 1];
    if (op != TRK_OP_UPLOAD && op != TRK_OP_DOWNLOAD && op != TRK_OP_DRAIN) {
        return TRK_OK;
    }
    struct plan_raw raw = read_raw(event, op == TRK_OP_UPLOAD ? TRK_PLAN_UPLOAD : TRK_PLAN_DOWNLOAD,
                                   (uint64_t)event->event.pages * TRK_PLAN_PAGE_BYTES);
    raw.item.guest_addr = trk_region_address(trk_domain_region(event->event.domain)) +
                          (uint64_t)event->event.page * TRK_PLAN_PAGE_BYTES;
    raw.operation = stream->operation;
    raw.from_range = true;
    struct read_stream none = {.depth = 0};
    struct plan_raw copy = raw;
    enum trk_status status = op == TRK_OP_UPLOAD ? read_versions(read, &none, &copy) : TRK_OK;
    return status == TRK_OK ? read_add(read, &raw) : status;
}

static enum trk_status read_page(struct read_stream *stream, const struct trk_trace_event *event)
{
    if (event->event.flags != TRK_PAGE_COPIED || stream->hash_count == HASHES_MAX) {
        return TRK_OK;
    }
    void *hashes = plan_grow(stream->hashes, stream->hash_count, &stream->hash_capacity,
                             sizeof *stream->hashes);
    if (hashes == NULL) {
        return TRK_E_MEMORY;
    }
    stream->hashes = hashes;
    stream->hashes[stream->hash_count++] =
        (struct read_hash){event->event.argument, trk_event_size(&event->event)};
    return TRK_OK;
}

/* ---- checks ---------------------------------------------------------------------------------- */

static enum trk_status read_finding(struct read *read, const struct trk_oracle_finding *found)
{
    struct plan_raws *raws = read->raws;
    const struct trk_plan_finding *last =
        raws->finding_count > 0 ? &raws->findings[raws->finding_count - 1] : NULL;
    if (last != NULL && found->store_event == TRK_NOT_KNOWN && last->verdict == found->verdict &&
        last->event_at == found->event_at && last->store_event == TRK_NOT_KNOWN) {
        return TRK_OK; /* it is told again at each event */
    }
    void *findings = plan_grow(raws->findings, raws->finding_count, &raws->finding_capacity,
                               sizeof *raws->findings);
    if (findings == NULL) {
        return TRK_E_MEMORY;
    }
    raws->findings = findings;
    raws->findings[raws->finding_count++] = (struct trk_plan_finding){
        .verdict = found->verdict,
        .failure_class = found->failure_class,
        .frame = read->frame,
        .event_at = found->event_at,
        .event_visible = found->event_visible,
        .guest_addr = found->guest_addr,
        .size_bytes = found->size_bytes,
        .store_event = found->store_event,
        .content = found->store_event,
        .by_gpu = found->by_gpu,
    };
    if (found->store_event == TRK_NOT_KNOWN) {
        return TRK_OK; /* no bytes to look at */
    }
    struct plan_raw raw = {
        .item = {.event = found->event_visible,
                 .guest_addr = found->guest_addr,
                 .size_bytes = found->size_bytes,
                 .kind = TRK_PLAN_CHECK,
                 .side = found->in_gpu_copy ? TRK_PLAN_DEVICE : TRK_PLAN_GUEST,
                 .finding = (uint32_t)raws->finding_count},
    };
    return read_add(read, &raw);
}

/*
 * Bytes of a read that nothing is wrong with: cut where the oracle says that they are of another
 * store. Only what the program saw the stamp of is held against the oracle.
 */
static enum trk_status read_current(struct read *read, const struct plan_raw *check, uint32_t seen)
{
    const uint64_t end = check->item.guest_addr + check->item.size_bytes;
    struct plan_raw raw = *check;
    enum trk_status status = TRK_OK;
    raw.item.size_bytes = 0;
    for (uint64_t at = check->item.guest_addr; at < end && status == TRK_OK;) {
        struct trk_oracle_current current = {.size_bytes = end - at, .store_event = TRK_NOT_KNOWN};
        if (seen != 0) {
            trk_oracle_current(read->oracle, at, check->item.side == TRK_PLAN_DEVICE, &current);
        }
        const bool sure = current.store_event != TRK_NOT_KNOWN && current.stamp == seen;
        const uint64_t content = sure ? current.store_event : 0;
        const uint64_t size = current.size_bytes < end - at ? current.size_bytes : end - at;
        if (raw.item.size_bytes > 0 && raw.item.content != content) {
            status = read_add(read, &raw);
            raw.item.guest_addr = at;
            raw.item.size_bytes = 0;
        }
        raw.item.content = content;
        raw.item.by_gpu = sure && current.by_gpu;
        raw.item.size_bytes += size;
        at += size;
    }
    return status == TRK_OK ? read_add(read, &raw) : status;
}

/* The bytes of a read that nothing is wrong with. */
static enum trk_status read_check(struct read *read, const struct trk_trace_event *event,
                                  enum trk_plan_side side, const struct trk_oracle_finding *found)
{
    struct plan_raw raw = read_raw(event, TRK_PLAN_CHECK, event->event.seq);
    uint64_t first = raw.item.guest_addr, end = first + raw.item.size_bytes;
    enum trk_status status = TRK_OK;
    raw.item.side = (uint16_t)side;
    if (first + raw.item.size_bytes < first || raw.item.size_bytes > ITEM_BYTES_MAX) {
        return TRK_OK; /* no bytes of any memory */
    }
    if (!found->found) {
        return read_current(read, &raw, event->event.domain);
    }
    if (found->guest_addr > first && found->guest_addr <= end) {
        raw.item.size_bytes = found->guest_addr - first;
        status = read_current(read, &raw, event->event.domain);
    }
    uint64_t behind = found->guest_addr + found->size_bytes;
    if (status == TRK_OK && behind > first && behind < end) {
        raw.item.guest_addr = behind;
        raw.item.size_bytes = end - behind;
        status = read_current(read, &raw, event->event.domain);
    }
    return status;
}

/* ---- all events ------------------------------------------------------------------------------ */

static void read_operation(struct read *read, struct read_stream *stream,
                           const struct trk_event *event)
{
    if (event->type == TRK_EVENT_OP_END) {
        stream->depth -= stream->depth > 0;
        return;
    }
    if (stream->depth < DEPTH_MAX) {
        stream->operations[stream->depth] =
            event->type == TRK_EVENT_FAULT ? TRK_OP_FAULT : (uint8_t)event->context;
    }
    stream->depth++;
    stream->operation = ++read->operations;
}

static enum trk_status read_frame(struct read *read, uint64_t number)
{
    struct plan_raws *raws = read->raws;
    void *frames =
        plan_grow(raws->frames, raws->frame_count, &raws->frame_capacity, sizeof *raws->frames);
    if (frames == NULL) {
        return TRK_E_MEMORY;
    }
    raws->frames = frames;
    raws->frames[raws->frame_count++] = number;
    read->frame = (uint32_t)(raws->frame_count - 1);
    return TRK_OK;
}

static enum trk_status read_store(struct read *read, const struct trk_trace_event *event)
{
    bool gpu = event->event.type == TRK_EVENT_GPU_WRITE || event->event.flags == TRK_AGENT_GPU;
    struct plan_raw raw =
        read_raw(event, gpu ? TRK_PLAN_GPU_WRITE : TRK_PLAN_STORE, event->event.seq);
    if (event->event.type == TRK_EVENT_GPU_WRITE) {
        raw.tick = trk_event_number32(&event->event);
        raw.item.dispatch = read->streams[event->stream].shape.dispatched;
    }
    read->raws->witnessed |= !gpu;
    return gpu ? read_gpu_write(read, &raw) : read_add(read, &raw);
}

static enum trk_status read_event(struct read *read, const struct trk_trace_event *event,
                                  const struct trk_oracle_finding *found)
{
    struct read_stream *stream = &read->streams[event->stream];
    enum trk_status status =
        plan_shape_take(&stream->shape, read->raws, &read->views, &event->event);
    if (status != TRK_OK) {
        return status;
    }
    switch (event->event.type) {
    case TRK_EVENT_OP_BEGIN:
    case TRK_EVENT_FAULT:
    case TRK_EVENT_OP_END:
        read_operation(read, stream, &event->event);
        return TRK_OK;
    case TRK_EVENT_RANGE:
        return read_range(read, stream, event);
    case TRK_EVENT_COPY_BEGIN:
        stream->hash_count = 0;
        return TRK_OK;
    case TRK_EVENT_COPY_END:
        return read_copy(read, stream, event);
    case TRK_EVENT_PAGE:
        return read_page(stream, event);
    case TRK_EVENT_WITNESS_STORE:
    case TRK_EVENT_GPU_WRITE:
        return read_store(read, event);
    case TRK_EVENT_GPU_READ:
        return read_check(read, event, TRK_PLAN_DEVICE, found);
    case TRK_EVENT_WITNESS_CHECK: /* of the GPU: its GPU_READ was the look */
        return event->event.flags == TRK_AGENT_GPU ? TRK_OK
                                                   : read_check(read, event, TRK_PLAN_GUEST, found);
    case TRK_EVENT_GPU_COMPLETE:
        plan_undone_complete(&read->undone, read->raws, event->event.argument);
        return TRK_OK;
    case TRK_EVENT_MAP:
    case TRK_EVENT_UNMAP:
        return plan_views_set(&read->views, event->event.argument, trk_event_size(&event->event),
                              event->event.type == TRK_EVENT_MAP,
                              trk_event_number32(&event->event));
    case TRK_EVENT_FRAME:
        return read_frame(read, event->event.argument);
    default:
        return TRK_OK;
    }
}

static enum trk_status read_all(struct read *read, struct trk_trace *trace,
                                struct trk_oracle *oracle, struct trk_error *error)
{
    struct trk_oracle_finding found = {.found = false};
    struct trk_trace_event event;
    enum trk_status status = trk_trace_next(trace, &event, error);
    while (status == TRK_OK) {
        if (event.stream >= read->stream_count) {
            return trk_error_set(error, TRK_E_DAMAGED,
                                 "event %llu is of a thread that is not there",
                                 (unsigned long long)event.number);
        }
        read->raws->events++;
        status = trk_oracle_take(oracle, &event, &found, error);
        if (status != TRK_OK) {
            return status;
        }
        status = read_event(read, &event, &found);
        if (status == TRK_OK && found.found) {
            status = read_finding(read, &found);
        }
        if (status != TRK_OK) {
            return trk_error_set(error, status, "%s, at event %llu",
                                 status == TRK_E_DAMAGED ? "an image that cannot be"
                                 : status == TRK_E_UNSUPPORTED
                                     ? "a range of more than 1 TiB, or behind the last address"
                                     : "no memory for the plan",
                                 (unsigned long long)event.number);
        }
        status = trk_trace_next(trace, &event, error);
    }
    if (status != TRK_E_END) {
        return status;
    }
    trk_oracle_end(oracle, &found);
    if (found.found && read_finding(read, &found) != TRK_OK) {
        return trk_error_set(error, TRK_E_MEMORY, "no memory for the plan");
    }
    return TRK_OK;
}

enum trk_status plan_read(struct plan_raws *raws, struct trk_trace *trace, struct trk_error *error)
{
    struct read *read = calloc(1, sizeof *read);
    struct trk_oracle *oracle = NULL;
    enum trk_status status = read ? trk_oracle_create(&oracle, trace, error)
                                  : trk_error_set(error, TRK_E_MEMORY, "no memory for the plan");
    if (status == TRK_OK && read != NULL) {
        read->raws = raws;
        read->oracle = oracle;
        read->stream_count = trk_trace_stream_count(trace);
        read->streams = calloc(read->stream_count + 1, sizeof *read->streams);
        status = read->streams
                     ? read_all(read, trace, oracle, error)
                     : trk_error_set(error, TRK_E_MEMORY, "no memory for the plan's threads");
    }
    if (read != NULL) {
        for (size_t i = 0; read->streams != NULL && i < read->stream_count; i++) {
            free(read->streams[i].hashes);
        }
        free(read->streams);
        plan_views_deinit(&read->views);
        free(read);
    }
    trk_oracle_destroy(oracle);
    return status;
}
