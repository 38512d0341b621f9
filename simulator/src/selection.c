#include "simulator/selection.h"

#include <stdlib.h>
#include <string.h>

#include "recorder/event_text.h"
#include "selection_views.h"
#include "track/address.h"

/* Nodes beside the regions: what one lock ties together for all of them. */
#define NODE_SHARED      TRK_REGION_COUNT
#define NODE_GENERATIONS (TRK_REGION_COUNT + 1)
#define NODES            (TRK_REGION_COUNT + 2)
#define NODE_NONE        UINT32_MAX

/* A range of more regions is tied together by its holds, not by its size; but for the target. */
#define RANGE_REGIONS 64u
/* MASKs and OPERANDs before one OP_BEGIN. */
#define AHEAD_MOST 32u

/* What a RESULT is of, by its flags, and what an OBJECT_DETAIL is of. */
#define FOLLOWED_OBJECT (TRK_RESULT_OF_MAP + 1)
#define FOLLOWED        (FOLLOWED_OBJECT + 1)

struct stream {
    uint32_t depth; /* operations that are open */
    uint32_t node;  /* of the outermost, once it is known */
    bool chosen;    /* the outermost is */
    uint32_t ahead; /* MASKs, OPERANDs, FAULT_ATs: what they are of is to come */
    uint64_t number[AHEAD_MOST];
    bool followed[FOLLOWED]; /* the newest event that later ones say more of is chosen */
};

struct choice {
    struct trk_trace *trace;
    struct trk_error *error;
    struct trk_selection *out;
    uint32_t *parent; /* a node's group leads to one that is its own parent */
    bool *met;        /* by an operation */
    uint32_t *newest; /* hold of each class and node, while it is looked for gaps */
    bool *tainted;    /* groups, by their leader */
    struct stream *streams;
    struct selection_views views;
    uint32_t target; /* NODE_NONE: all that are untainted */
};

static uint32_t leader(struct choice *choice, uint32_t node)
{
    while (choice->parent[node] != node) {
        choice->parent[node] = choice->parent[choice->parent[node]];
        node = choice->parent[node];
    }
    return node;
}

static void meet(struct choice *choice, uint32_t node)
{
    choice->out->regions += !choice->met[node] && node < TRK_REGION_COUNT;
    choice->met[node] = true;
}

static void join(void *context, uint32_t node, uint32_t other)
{
    struct choice *choice = context;
    uint32_t a = leader(choice, node), b = leader(choice, other);
    if (a == b)
        return;
    choice->parent[b] = a;
    choice->tainted[a] |= choice->tainted[b];
}

static void tie(struct choice *choice, struct stream *stream, uint32_t node)
{
    meet(choice, node);
    if (stream->node == NODE_NONE)
        stream->node = node;
    join(choice, stream->node, node);
}

static void taint(struct choice *choice, uint32_t node)
{
    meet(choice, node);
    choice->tainted[leader(choice, node)] = true;
}

/* Whether only the file says what events of the type are [F-36]. */
static bool is_newer(const struct choice *choice, const struct trk_event *event)
{
    struct trk_trace_type type;
    (void)trk_trace_type(choice->trace, event->type, &type);
    return !type.known;
}

/* The node of a hold's domain; NONE: the event is in no hold. */
static uint32_t hold_node(const struct choice *choice, const struct trk_event *event)
{
    if (!trk_trace_event_in_hold(choice->trace, event))
        return NODE_NONE;
    if (trk_domain_class(event->domain) == TRK_DOMAIN_GENERATIONS)
        return NODE_GENERATIONS;
    if (trk_domain_region(event->domain) == TRK_DOMAIN_SHARED)
        return NODE_SHARED;
    return trk_domain_region(event->domain) < TRK_REGION_COUNT ? trk_domain_region(event->domain)
                                                               : NODE_SHARED;
}

/* Regions of bytes that are valid addresses: the first, and how many. */
static uint32_t range_nodes(uint64_t guest_addr, uint64_t size_bytes, uint32_t *count)
{
    *count = 0;
    if (!trk_range_valid(TRK_ARENA_LOW_EXTENDED, guest_addr, size_bytes))
        return NODE_NONE;
    uint32_t first = trk_region_index(guest_addr);
    *count = trk_region_index(guest_addr + size_bytes - 1) - first + 1;
    return first;
}

/* An operation that is about all of the tracker: its range says nothing. */
static bool is_global(const struct trk_event *event)
{
    return event->type == TRK_EVENT_OP_BEGIN && event->context == TRK_OP_RESOURCE_LAYER;
}

static bool begins(const struct trk_event *event)
{
    return event->type == TRK_EVENT_OP_BEGIN || event->type == TRK_EVENT_FAULT;
}

/* ---- first pass: groups ---------------------------------------------------------------------- */

/* A hold that does not follow the one before it is missing one. */
static void look_for_gap(struct choice *choice, const struct trk_event *event, uint32_t node)
{
    unsigned which = trk_domain_class(event->domain) == TRK_DOMAIN_PAGES ? 1 : 0;
    uint32_t *newest = &choice->newest[2 * (size_t)node + which];
    if (event->seq > *newest + 1 && (*newest != 0 || event->seq != 1))
        taint(choice, node);
    *newest = event->seq;
}

static void group_event(struct choice *choice, struct stream *stream, const struct trk_event *event)
{
    uint32_t node = hold_node(choice, event);
    if (event->type == TRK_EVENT_DROP) {
        /* What was under way is not known to its end. */
        if (stream->depth > 0 && stream->node != NODE_NONE)
            taint(choice, stream->node);
        stream->depth = 0;
        stream->node = NODE_NONE;
        return;
    }
    if (begins(event) && stream->depth++ == 0)
        stream->node = NODE_NONE;
    if (event->type == TRK_EVENT_OP_BEGIN && !is_global(event)) {
        uint32_t count;
        uint32_t first = range_nodes(event->argument, trk_event_size(event), &count);
        for (uint32_t i = 0; i < count && (count <= RANGE_REGIONS || i == 0); i++)
            tie(choice, stream, first + i);
        const uint32_t target = choice->target; /* of a larger range, too, it may be all there is */
        if (target != NODE_NONE && target >= first && target - first < count)
            tie(choice, stream, target);
    }
    if (node != NODE_NONE) {
        look_for_gap(choice, event, node);
        if (stream->depth > 0)
            tie(choice, stream, node);
        else if (is_newer(choice, event))
            meet(choice, node);
        else
            taint(choice, node); /* of an operation whose beginning is lost */
    }
    if (event->type == TRK_EVENT_OP_END && stream->depth > 0)
        stream->depth--;
}

/* ---- second pass: events --------------------------------------------------------------------- */

static bool is_chosen(struct choice *choice, uint32_t node)
{
    if (choice->target != NODE_NONE)
        return leader(choice, node) == leader(choice, choice->target);
    return !choice->tainted[leader(choice, node)];
}

static void choose(struct choice *choice, uint64_t number)
{
    choice->out->bits[number / 64] |= UINT64_C(1) << number % 64;
    choice->out->chosen++;
}

/* An outermost operation: by its first region, or its first hold where it has no range. */
static bool operation_chosen(struct choice *choice, const struct trk_event *event)
{
    uint32_t count;
    uint32_t node = hold_node(choice, event);
    if (node == NODE_NONE && !is_global(event)) {
        uint64_t size = event->type == TRK_EVENT_FAULT ? 1 : trk_event_size(event);
        node = range_nodes(event->argument, size, &count);
    }
    return node == NODE_NONE || is_chosen(choice, node);
}

/* What no operation is: by the bytes that it is about. */
static bool annotation_chosen(struct choice *choice, const struct stream *stream,
                              const struct trk_event *event)
{
    uint64_t size_bytes;
    switch (event->type) {
    case TRK_EVENT_COPY_BEGIN:
    case TRK_EVENT_COPY_END:
    case TRK_EVENT_GUEST_PROTECT:
    case TRK_EVENT_MAP:
    case TRK_EVENT_UNMAP:
    case TRK_EVENT_INVALIDATE_REQUEST:
    case TRK_EVENT_HOST_PROTECT:
    case TRK_EVENT_HANDED:
    case TRK_EVENT_ACCESS:
    case TRK_EVENT_OBJECT:
    case TRK_EVENT_IMAGE:
        size_bytes = trk_event_size(event);
        break;
    case TRK_EVENT_PAGE:
    case TRK_EVENT_DECISION:
        size_bytes = 1;
        break;
    case TRK_EVENT_GPU_WRITE:
    case TRK_EVENT_GPU_READ:
    case TRK_EVENT_WITNESS_STORE:
    case TRK_EVENT_WITNESS_CHECK:
        size_bytes = event->seq;
        break;
    case TRK_EVENT_DROP:
        return choice->target != NODE_NONE; /* where losses are the matter they are known */
    case TRK_EVENT_RESULT:
        return event->flags > TRK_RESULT_OF_MAP || stream->followed[event->flags];
    case TRK_EVENT_OBJECT_DETAIL:
        return stream->followed[FOLLOWED_OBJECT];
    default:
        if (hold_node(choice, event) != NODE_NONE)
            return is_chosen(choice, hold_node(choice, event));
        if (!is_newer(choice, event) || !trk_trace_event_range(choice->trace, event, &size_bytes))
            return true;
        size_bytes += size_bytes == 0;
        break;
    }
    uint32_t count;
    uint32_t first = range_nodes(event->argument, size_bytes, &count);
    bool chosen = count == 0;
    for (uint32_t i = 0; i < count && !chosen; i++)
        chosen = is_chosen(choice, first + i);
    return chosen;
}

/* What is left out takes with it what later events of its thread say of it. */
static void note_followed(struct stream *stream, const struct trk_event *event, bool chosen)
{
    switch (event->type) {
    case TRK_EVENT_ACCESS:
        stream->followed[TRK_RESULT_OF_ACCESS] = chosen;
        break;
    case TRK_EVENT_COPY_END:
        stream->followed[TRK_RESULT_OF_COPY] = chosen;
        break;
    case TRK_EVENT_MAP:
    case TRK_EVENT_UNMAP:
        stream->followed[TRK_RESULT_OF_MAP] = chosen;
        break;
    case TRK_EVENT_OBJECT:
        stream->followed[FOLLOWED_OBJECT] = chosen;
        break;
    default:
        break;
    }
}

static void choose_event(struct choice *choice, struct stream *stream,
                         const struct trk_trace_event *due)
{
    const struct trk_event *event = &due->event;
    if (event->type == TRK_EVENT_MASK || event->type == TRK_EVENT_OPERAND ||
        event->type == TRK_EVENT_FAULT_AT) {
        if (stream->ahead < AHEAD_MOST)
            stream->number[stream->ahead++] = due->number;
        return;
    }
    if (begins(event) && stream->depth++ == 0)
        stream->chosen = operation_chosen(choice, event);
    bool chosen = stream->chosen;
    if (event->type >= TRK_EVENT_FIRST_ANNOTATION || is_newer(choice, event))
        chosen = annotation_chosen(choice, stream, event);
    else if (stream->depth == 0)
        chosen = choice->target != NODE_NONE && hold_node(choice, event) != NODE_NONE &&
                 is_chosen(choice, hold_node(choice, event));
    note_followed(stream, event, chosen);
    for (uint32_t i = 0; i < stream->ahead && chosen; i++)
        choose(choice, stream->number[i]);
    stream->ahead = 0;
    if (chosen)
        choose(choice, due->number);
    if (event->type == TRK_EVENT_DROP)
        stream->depth = 0;
    if (event->type == TRK_EVENT_OP_END && stream->depth > 0)
        stream->depth--;
}

/* ---- both ------------------------------------------------------------------------------------ */

static enum trk_status pass(struct choice *choice, bool second)
{
    size_t count = trk_trace_stream_count(choice->trace);
    memset(choice->streams, 0, (count + 1) * sizeof *choice->streams);
    for (size_t i = 0; i < count; i++) {
        choice->streams[i].node = NODE_NONE;
        memset(choice->streams[i].followed, true, sizeof choice->streams[i].followed);
    }
    struct trk_trace_event event;
    enum trk_status status;
    while ((status = trk_trace_next(choice->trace, &event, choice->error)) == TRK_OK) {
        struct stream *stream = &choice->streams[event.stream];
        if (second)
            choose_event(choice, stream, &event);
        else
            group_event(choice, stream, &event.event);
        if (!second && event.event.type == TRK_EVENT_MAP &&
            selection_views_note(&choice->views, &event.event) != TRK_OK)
            return TRK_E_MEMORY;
        choice->out->events = event.number + 1;
    }
    return status == TRK_E_END ? trk_trace_rewind(choice->trace, choice->error) : status;
}

static enum trk_status run(struct choice *choice)
{
    choice->parent = malloc(NODES * sizeof *choice->parent);
    choice->met = calloc(NODES, sizeof *choice->met);
    choice->newest = calloc(2 * (size_t)NODES, sizeof *choice->newest);
    choice->tainted = calloc(NODES, sizeof *choice->tainted);
    choice->streams = malloc((trk_trace_stream_count(choice->trace) + 1) * sizeof *choice->streams);
    if (choice->parent == NULL || choice->met == NULL || choice->newest == NULL ||
        choice->tainted == NULL || choice->streams == NULL)
        return TRK_E_MEMORY;
    for (uint32_t node = 0; node < NODES; node++)
        choice->parent[node] = node;
    enum trk_status status = pass(choice, false);
    if (status != TRK_OK)
        return status;
    selection_views_pairs(&choice->views, join, choice);
    choice->out->bits = calloc(choice->out->events / 64 + 1, sizeof *choice->out->bits);
    if (choice->out->bits == NULL)
        return TRK_E_MEMORY;
    for (uint32_t node = 0; node < TRK_REGION_COUNT; node++)
        choice->out->regions_left += choice->met[node] && !is_chosen(choice, node);
    return pass(choice, true);
}

static enum trk_status select_events(struct choice *choice)
{
    *choice->out = (struct trk_selection){0};
    enum trk_status status = trk_trace_scan(choice->trace, choice->error);
    if (status == TRK_OK)
        status = trk_trace_rewind(choice->trace, choice->error);
    if (status == TRK_OK)
        status = run(choice);
    free(choice->parent);
    free(choice->met);
    free(choice->newest);
    free(choice->tainted);
    free(choice->streams);
    selection_views_deinit(&choice->views);
    if (status != TRK_OK)
        trk_selection_deinit(choice->out);
    return status == TRK_E_MEMORY ? trk_error_set(choice->error, status, "out of memory") : status;
}

enum trk_status trk_selection_region(struct trk_selection *out, struct trk_trace *trace,
                                     uint64_t guest_addr, struct trk_error *error)
{
    struct choice choice = {
        .trace = trace, .error = error, .out = out, .target = trk_region_index(guest_addr)};
    return select_events(&choice);
}

enum trk_status trk_selection_untainted(struct trk_selection *out, struct trk_trace *trace,
                                        struct trk_error *error)
{
    struct choice choice = {.trace = trace, .error = error, .out = out, .target = NODE_NONE};
    return select_events(&choice);
}

void trk_selection_deinit(struct trk_selection *selection)
{
    free(selection->bits);
    *selection = (struct trk_selection){0};
}
