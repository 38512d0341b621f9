/*
 * Putting a checkpoint together: from the last full one on, each says what is other than before.
 *
 * What was said is kept in lists, newest last; of each number, or region, the newest counts.
 */
#include <stdlib.h>
#include <string.h>

#include "checkpoint_list.h"
#include "reader.h"
#include "recorder/checkpoint.h"
#include "track/image.h"

#define TRACKERS_MAX    16u
#define LAYER_BITS      3u
#define SET_BYTES       (TRK_IMAGE_WORDS * 8u)
#define PROLOGUE_MAX    (1u << 20)
#define EVENT_WORDS     8u
#define POINT_KINDS     2u /* domains, timelines */
#define FIRST_ITEM_ROOM 64u

/* A domain, a timeline or a region, and what was said of it. */
struct item {
    uint64_t key;
    uint64_t value;
    const uint8_t *bytes; /* of a region, behind its number */
    size_t size_bytes;
    size_t order;
};

struct items {
    struct item *list;
    size_t count, room;
};

struct load {
    struct trk_checkpoint_state *out;
    uint8_t **payloads; /* what regions lie in */
    size_t payload_count;
    struct items points[POINT_KINDS];
    struct items regions;
    uint64_t layers[TRACKERS_MAX]; /* + 1; 0: there is no such tracker */
    size_t prologue_room;
};

static bool add_item(struct items *items, struct item item)
{
    if (items->count == items->room) {
        size_t room = items->room > 0 ? 2 * items->room : FIRST_ITEM_ROOM;
        struct item *list = realloc(items->list, room * sizeof *list);
        if (list == NULL) {
            return false;
        }
        items->list = list;
        items->room = room;
    }
    item.order = items->count;
    items->list[items->count++] = item;
    return true;
}

static int compare(const void *left, const void *right)
{
    const struct item *a = left;
    const struct item *b = right;
    if (a->key != b->key) {
        return a->key < b->key ? -1 : 1;
    }
    return (a->order > b->order) - (a->order < b->order);
}

/* Ascending, the newest of each. */
static void settle(struct items *items)
{
    size_t kept = 0;
    if (items->count > 1) {
        qsort(items->list, items->count, sizeof items->list[0], compare);
    }
    for (size_t i = 0; i < items->count; i++) {
        if (i + 1 == items->count || items->list[i + 1].key != items->list[i].key) {
            items->list[kept++] = items->list[i];
        }
    }
    items->count = kept;
}

/* ---- reading --------------------------------------------------------------------------------- */

static enum trk_status read_streams(struct load *load, struct trk_unpacking *in)
{
    struct trk_checkpoint_state *out = load->out;
    size_t count = (size_t)trk_unpacking_number(in, TRK_FORMAT_STREAMS_MAX);
    free(out->streams);
    out->streams = calloc(count + 1, sizeof *out->streams);
    out->stream_count = count;
    if (out->streams == NULL) {
        return TRK_E_MEMORY;
    }
    for (size_t i = 0; i < count; i++) {
        out->streams[i].stream_id = (uint32_t)trk_unpacking_number(in, UINT32_MAX - 1);
        out->streams[i].ordinal = trk_unpacking_number(in, UINT64_MAX);
    }
    return TRK_OK;
}

static enum trk_status read_points(struct items *points, struct trk_unpacking *in)
{
    uint64_t count = trk_unpacking_number(in, UINT64_MAX);
    for (uint64_t i = 0; i < count && !in->failed; i++) {
        struct item item = {.key = trk_unpacking_number(in, UINT32_MAX)};
        item.value = trk_unpacking_number(in, UINT64_MAX);
        if (!in->failed && !add_item(points, item)) {
            return TRK_E_MEMORY;
        }
    }
    return TRK_OK;
}

static enum trk_status read_prologue(struct load *load, struct trk_unpacking *in)
{
    static const uint64_t most[EVENT_WORDS] = {UINT8_MAX,  UINT8_MAX,  UINT16_MAX, UINT16_MAX,
                                               UINT16_MAX, UINT32_MAX, UINT32_MAX, UINT64_MAX};
    struct trk_checkpoint_state *out = load->out;
    uint64_t count = trk_unpacking_number(in, PROLOGUE_MAX);
    for (uint64_t i = 0; i < count && !in->failed; i++) {
        if (out->prologue_count == load->prologue_room) {
            size_t room = 2 * load->prologue_room + FIRST_ITEM_ROOM;
            struct trk_trace_event *events = realloc(out->prologue, room * sizeof *events);
            if (events == NULL) {
                return TRK_E_MEMORY;
            }
            out->prologue = events;
            load->prologue_room = room;
        }
        uint32_t stream_id = (uint32_t)trk_unpacking_number(in, UINT32_MAX - 1);
        uint64_t tsc = trk_unpacking_number(in, UINT64_MAX);
        uint64_t words[EVENT_WORDS];
        for (unsigned word = 0; word < EVENT_WORDS; word++) {
            words[word] = trk_unpacking_number(in, most[word]);
        }
        out->prologue[out->prologue_count++] = (struct trk_trace_event){
            .tsc = tsc,
            .stream = stream_id, /* its index, once it is known which that is */
            .event = {.type = (uint8_t)words[0],
                      .flags = (uint8_t)words[1],
                      .context = (uint16_t)words[2],
                      .page = (uint16_t)words[3],
                      .pages = (uint16_t)words[4],
                      .domain = (uint32_t)words[5],
                      .seq = (uint32_t)words[6],
                      .argument = words[7]},
        };
    }
    return TRK_OK;
}

/* Behind a region's number, as [F-37] has it. */
static void skip_region(struct trk_unpacking *in)
{
    (void)trk_unpacking_number(in, UINT32_MAX);
    (void)trk_unpacking_number(in, UINT32_MAX);
    unsigned sets = (unsigned)trk_unpacking_number(in, (1u << TRK_IMAGE_SETS) - 1);
    for (unsigned i = 0; i < TRK_IMAGE_SETS; i++) {
        if (sets >> i & 1) {
            (void)trk_unpacking_bytes(in, SET_BYTES);
        }
    }
    if (sets >> TRK_IMAGE_MANY & 1) {
        (void)trk_unpacking_bytes(in, TRK_IMAGE_PAGES);
    }
    uint64_t spans = trk_unpacking_number(in, TRK_REGION_BYTES / 2);
    for (uint64_t i = 0; i < 2 * spans && !in->failed; i++) {
        (void)trk_unpacking_number(in, TRK_REGION_BYTES);
    }
}

static enum trk_status read_trackers(struct load *load, struct trk_unpacking *in)
{
    uint64_t trackers = trk_unpacking_number(in, TRACKERS_MAX);
    memset(load->layers, 0, sizeof load->layers);
    for (uint64_t i = 0; i < trackers && !in->failed; i++) {
        uint64_t id = trk_unpacking_number(in, TRACKERS_MAX - 1);
        load->layers[id] = trk_unpacking_number(in, LAYER_BITS) + 1;
        uint64_t regions = trk_unpacking_number(in, TRK_REGION_COUNT);
        for (uint64_t at = 0; at < regions && !in->failed; at++) {
            uint64_t region = trk_unpacking_number(in, TRK_REGION_COUNT - 1);
            struct item item = {.key = id << 32 | region, .bytes = in->at};
            skip_region(in);
            item.size_bytes = in->failed ? 0 : (size_t)(in->at - item.bytes);
            if (!in->failed && !add_item(&load->regions, item)) {
                return TRK_E_MEMORY;
            }
        }
    }
    return TRK_OK;
}

static void free_lists(struct load *load)
{
    free(load->points[0].list);
    free(load->points[1].list);
    free(load->regions.list);
}

static void forget(struct load *load)
{
    for (unsigned i = 0; i < POINT_KINDS; i++) {
        load->points[i].count = 0;
    }
    load->regions.count = 0;
    load->out->prologue_count = 0;
}

static enum trk_status take_payload(struct load *load, const uint8_t *bytes, size_t size_bytes)
{
    struct trk_unpacking in = {.at = bytes, .end = bytes + size_bytes};
    if ((trk_unpacking_number(&in, UINT32_MAX) & TRK_CHECKPOINT_FULL) != 0) {
        forget(load);
    }
    enum trk_status status = read_streams(load, &in);
    for (unsigned i = 0; i < POINT_KINDS && status == TRK_OK; i++) {
        status = read_points(&load->points[i], &in);
    }
    if (status == TRK_OK) {
        status = read_prologue(load, &in);
    }
    if (status == TRK_OK) {
        status = read_trackers(load, &in);
    }
    return status == TRK_OK && (in.failed || in.at != in.end) ? TRK_E_DAMAGED : status;
}

enum trk_status trk_checkpoint_look(const uint8_t *bytes, size_t size_bytes,
                                    struct trk_checkpoint_state *out)
{
    struct load load = {.out = out};
    *out = (struct trk_checkpoint_state){.streams = NULL};
    enum trk_status status = take_payload(&load, bytes, size_bytes);
    free_lists(&load);
    if (status != TRK_OK) {
        trk_checkpoint_state_deinit(out);
    }
    return status;
}

/* ---- putting together ------------------------------------------------------------------------ */

static enum trk_status pack(struct load *load)
{
    struct trk_packing *out = &load->out->snapshot;
    uint64_t trackers = 0;
    for (unsigned i = 0; i < POINT_KINDS; i++) {
        settle(&load->points[i]);
        trk_packing_number(out, load->points[i].count);
        for (size_t at = 0; at < load->points[i].count; at++) {
            trk_packing_number(out, load->points[i].list[at].key);
            trk_packing_number(out, load->points[i].list[at].value);
        }
    }
    settle(&load->regions);
    for (unsigned id = 0; id < TRACKERS_MAX; id++) {
        trackers += load->layers[id] != 0;
    }
    trk_packing_number(out, trackers);
    size_t at = 0;
    for (uint64_t id = 0; id < TRACKERS_MAX; id++) {
        size_t first = at;
        while (at < load->regions.count && load->regions.list[at].key >> 32 == id) {
            at++;
        }
        if (load->layers[id] == 0) {
            continue;
        }
        trk_packing_number(out, id);
        trk_packing_number(out, load->layers[id] - 1);
        trk_packing_number(out, at - first);
        for (size_t i = first; i < at; i++) {
            trk_packing_number(out, load->regions.list[i].key & UINT32_MAX);
            trk_packing_bytes(out, load->regions.list[i].bytes, load->regions.list[i].size_bytes);
        }
    }
    return out->failed ? TRK_E_MEMORY : TRK_OK;
}

enum trk_status trk_checkpoint_read(struct trk_trace *trace, size_t index, uint8_t **bytes,
                                    size_t *size_bytes, struct trk_error *error)
{
    uint64_t offset = trace->index.checkpoints.places[index].offset;
    struct trk_format_chunk chunk;
    *bytes = NULL;
    enum trk_status status = trk_unpack_header(&trace->unpack, offset, &chunk, error);
    if (status == TRK_OK && chunk.kind != TRK_FORMAT_CHECKPOINT) {
        status = TRK_E_DAMAGED;
    }
    if (status == TRK_OK) {
        status = trk_unpack_payload(&trace->unpack, offset, &chunk, error);
    }
    if (status != TRK_OK) {
        return trk_unpack_is_damage(status) ? TRK_E_DAMAGED : status;
    }
    *bytes = malloc((size_t)chunk.raw_bytes + 1);
    if (*bytes == NULL) {
        return TRK_E_MEMORY;
    }
    memcpy(*bytes, trace->unpack.raw, chunk.raw_bytes);
    *size_bytes = chunk.raw_bytes;
    return TRK_OK;
}

/* Read backwards to a full one, then take them in forwards. */
static enum trk_status read_all(struct load *load, struct trk_trace *trace, size_t index,
                                struct trk_error *error)
{
    size_t *sizes = calloc(index + 1, sizeof *sizes);
    load->payloads = calloc(index + 1, sizeof *load->payloads);
    enum trk_status status = sizes != NULL && load->payloads != NULL ? TRK_OK : TRK_E_MEMORY;
    bool full = false;
    while (status == TRK_OK && !full && load->payload_count <= index) {
        size_t at = load->payload_count++;
        status = trk_checkpoint_read(trace, index - at, &load->payloads[at], &sizes[at], error);
        full = status == TRK_OK && sizes[at] > 0 && (load->payloads[at][0] & TRK_CHECKPOINT_FULL);
    }
    if (status == TRK_OK && !full) {
        status = TRK_E_DAMAGED;
    }
    for (size_t i = load->payload_count; i > 0 && status == TRK_OK; i--) {
        status = take_payload(load, load->payloads[i - 1], sizes[i - 1]);
    }
    free(sizes);
    return status;
}

enum trk_status trk_checkpoint_load(struct trk_trace *trace, size_t index,
                                    struct trk_checkpoint_state *out, struct trk_error *error)
{
    struct load load = {.out = out};
    *out = (struct trk_checkpoint_state){.streams = NULL};
    enum trk_status status = read_all(&load, trace, index, error);
    if (status == TRK_OK) {
        status = pack(&load);
    }
    for (size_t i = 0; i < load.payload_count; i++) {
        free(load.payloads[i]);
    }
    free(load.payloads);
    free_lists(&load);
    if (status != TRK_OK) {
        trk_checkpoint_state_deinit(out);
    }
    return status;
}

void trk_checkpoint_state_deinit(struct trk_checkpoint_state *state)
{
    free(state->streams);
    free(state->snapshot.bytes);
    free(state->prologue);
    *state = (struct trk_checkpoint_state){.streams = NULL};
}
