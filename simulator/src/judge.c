/*
 * The oracle of traces: what the recorded program said of itself.
 */
#include "judge.h"

#include <stdlib.h>
#include <string.h>

#include "track/address.h"
#include "versions_state.h"

enum trk_status judge_init(struct judge *judge, uint32_t streams, uint32_t granule_bytes)
{
    memset(judge, 0, sizeof *judge);
    judge->streams = calloc(streams + 1u, sizeof *judge->streams);
    if (judge->streams == NULL)
        return TRK_E_MEMORY;
    judge->stream_count = streams;
    for (uint32_t i = 0; i < SAID_TRACKERS; i++)
        judge->policies[i].page_size_bytes = TRK_HOST_PAGE_BYTES;
    enum trk_status status = order_create(&judge->order, streams);
    if (status == TRK_OK)
        status = versions_create(&judge->versions, judge->order, granule_bytes);
    return status;
}

void judge_deinit(struct judge *judge)
{
    versions_destroy(judge->versions);
    order_destroy(judge->order);
    said_deinit(&judge->said);
    latents_deinit(&judge->latents);
    free(judge->streams);
    judge->streams = NULL;
}

void judge_doubt(struct judge *judge, uint64_t event)
{
    versions_doubt(judge->versions, event);
    /* A page may have been handed over by what is missing. */
    latents_forget(&judge->latents);
}

void judge_disorder(struct judge *judge, const struct disorder *disorder)
{
    judge->disorder_known = disorder != NULL;
    versions_disorder(judge->versions, disorder);
}

void judge_lose_views(struct judge *judge, uint64_t lost)
{
    versions_lose_views(judge->versions, lost);
}

/* What is open may be so because its end is missing. */
static void forget_open(struct judge *judge)
{
    for (uint32_t i = 0; i < judge->stream_count; i++) {
        struct judge_stream *stream = &judge->streams[i];
        stream->depth = stream->copy_count = stream->copies_beyond = 0;
        stream->faulted = false;
    }
}

void judge_holes(struct judge *judge)
{
    judge->lossy = judge->holes = true;
    latents_forget(&judge->latents);
    forget_open(judge);
}

bool judge_sure(const struct judge *judge)
{
    return !judge->holes && !judge->among_losses;
}

void judge_among_losses(struct judge *judge)
{
    judge->lossy = judge->among_losses = true;
    latents_forget(&judge->latents);
    versions_lose(judge->versions, UINT64_MAX);
}

void judge_behind_losses(struct judge *judge, uint64_t lost)
{
    if (judge->among_losses)
        forget_open(judge);
    judge->among_losses = false;
    versions_lose(judge->versions, lost);
}

/* Bytes of a type whose size is 64 bits, or 32 bits in seq. */
static struct access access_of(const struct trk_trace_event *event, uint64_t size_bytes)
{
    return (struct access){event->number, event->stream, event->event.argument, size_bytes};
}

/* ---- stores and checks ----------------------------------------------------------------------- */

/* What the tracker says of the page at a store. */
static void store_said(const struct judge *judge, uint64_t guest_addr, uint32_t stream,
                       struct shadow_store *store)
{
    const struct said_page *page =
        said_find(&judge->said, versions_tracked_addr(judge->versions, guest_addr));
    if (versions_in_doubt(judge->versions,
                          page == NULL || page->event == 0 ? 0 : page->event - 1)) {
        store->flags |= SHADOW_STORE_UNSAID;
        return;
    }
    if (page == NULL)
        return;
    store->flags |= SHADOW_STORE_SAID;
    store->state = page->state;
    store->since_op = page->op;
    store->since_stream = page->stream;
    store->since = page->event == 0 ? TRK_NOT_KNOWN : page->event - 1;
    if (page->event != 0 && order_before(judge->order, page->stream, page->event - 1, stream))
        store->flags |= SHADOW_STORE_SAID_BEFORE;
}

/*
 * A store to a closed page that nobody was told of: wrong at the end, unless somebody tells later.
 * Where it races the closing, the opening is in the log behind it, and removes it from the list.
 */
static enum trk_status keep_latent(struct judge *judge, const struct access *access,
                                   const struct shadow_store *store)
{
    if (!finding_latent(store))
        return TRK_OK;
    const uint64_t mask = TRK_HOST_PAGE_BYTES - 1;
    struct latent latent = {
        .page_addr = versions_tracked_addr(judge->versions, access->guest_addr) & ~mask,
        .guest_addr = access->guest_addr & ~mask,
        .since = access->event,
    };
    return latents_add(&judge->latents, &latent);
}

/* A store as it is to the page of an address, by the tracker's word. */
static struct shadow_store store_on_page(const struct judge *judge, const struct access *access,
                                         const struct shadow_store *made)
{
    const struct judge_stream *stream = &judge->streams[access->stream];
    struct shadow_store own = *made;
    if (made->agent == TRK_AGENT_CPU && stream->faulted &&
        stream->fault_page == access->guest_addr / TRK_HOST_PAGE_BYTES)
        own.flags |= SHADOW_STORE_FAULTED;
    if (versions_untracked(judge->versions, access->guest_addr))
        own.flags |= SHADOW_STORE_UNTRACKED;
    store_said(judge, access->guest_addr, access->stream, &own);
    return own;
}

/* A store by who must tell the tracker: page by page, and pages that are alike together. */
static enum trk_status store_pages(struct judge *judge, const struct access *access,
                                   const struct shadow_store *made)
{
    uint64_t at = access->guest_addr, end_addr = at + access->size_bytes;
    struct access run = *access, one = *access;
    struct shadow_store run_made = *made;
    enum trk_status status = TRK_OK;
    struct piece piece;
    run.size_bytes = 0;
    while (status == TRK_OK && piece_next(&at, end_addr, &piece)) {
        one.guest_addr = piece.guest_addr;
        one.size_bytes = piece.end - piece.first;
        struct shadow_store own = store_on_page(judge, &one, made);
        status = keep_latent(judge, &one, &own);
        if (status == TRK_OK && run.size_bytes > 0 && memcmp(&own, &run_made, sizeof own) != 0) {
            status = versions_store(judge->versions, &run, &run_made);
            run.guest_addr = piece.guest_addr;
            run.size_bytes = 0;
        }
        run.size_bytes += one.size_bytes;
        run_made = own;
    }
    return status != TRK_OK ? status : versions_store(judge->versions, &run, &run_made);
}

static enum trk_status store(struct judge *judge, const struct trk_trace_event *event,
                             enum trk_agent agent)
{
    bool unknown = event->event.type == TRK_EVENT_ACCESS; /* which content, that is */
    struct access access =
        access_of(event, unknown ? trk_event_size(&event->event) : event->event.seq);
    struct shadow_store made = {
        .stamp = unknown ? 0 : event->event.domain,
        .agent = (uint8_t)agent,
        .flags = agent == TRK_AGENT_GPU ? SHADOW_STORE_GPU : 0,
    };
    if (event->event.type == TRK_EVENT_GPU_WRITE)
        made.tick = trk_event_number32(&event->event);
    enum trk_status status = TRK_OK;
    if (agent == TRK_AGENT_GPU)
        status = versions_store(judge->versions, &access, &made);
    else if (access_valid(&access))
        status = store_pages(judge, &access, &made);
    judge->streams[event->stream].faulted = false;
    return status;
}

/* What the story of a stale read needs beside the bytes. */
static void finding_complete(const struct judge *judge, struct finding *finding)
{
    uint64_t known = versions_tracked_addr(judge->versions, finding->guest_addr);
    const struct said_page *page = said_find(&judge->said, known);
    finding->has_said = page != NULL;
    if (page == NULL)
        return;
    finding->said = *page;
    if (finding->cause == CAUSE_NOT_ARMED && page->protect != 0 &&
        page->protect - 1 < finding->store.event &&
        (finding->store.since == TRK_NOT_KNOWN || page->protect - 1 > finding->store.since))
        finding->protect = page->protect;
}

static void check(struct judge *judge, const struct trk_trace_event *event, enum trk_agent agent,
                  struct finding *finding)
{
    bool access = event->event.type == TRK_EVENT_ACCESS;
    bool stamp = event->event.type == TRK_EVENT_WITNESS_CHECK || event->event.domain != 0;
    *finding = (struct finding){
        .agent = agent == TRK_AGENT_GPU ? TRK_AGENT_GPU : TRK_AGENT_CPU,
        .check = access_of(event, access ? trk_event_size(&event->event) : event->event.seq),
        .stamped = !access && stamp,
        .seen = access ? 0 : event->event.domain,
    };
    judge->checks++;
    enum versions_word word = versions_check(judge->versions, finding);
    judge->unknown += word == VERSIONS_UNKNOWN;
    if (word != VERSIONS_STALE)
        finding->found = false;
}

/* ---- views ----------------------------------------------------------------------------------- */

static enum trk_status change_views(struct judge *judge, const struct trk_trace_event *event)
{
    struct access access = access_of(event, trk_event_size(&event->event));
    latents_forget(&judge->latents); /* other bytes may be there now */
    if (event->event.type == TRK_EVENT_MAP)
        return versions_map(judge->versions, &access, trk_event_number32(&event->event),
                            event->event.flags);
    return versions_unmap(judge->versions, &access);
}

/* ---- all events ------------------------------------------------------------------------------ */

static enum trk_agent agent_of(const struct trk_event *event)
{
    return event->flags <= TRK_AGENT_FOREIGN ? (enum trk_agent)event->flags : TRK_AGENT_CPU;
}

/* What a foreign tracker keeps together, where it is a size that a page can have. */
static uint32_t foreign_page_bytes(const struct trk_event *event)
{
    uint64_t bytes = trk_event_size(event);
    bool usable =
        bytes >= TRK_HOST_PAGE_BYTES && bytes <= TRK_REGION_BYTES && (bytes & (bytes - 1)) == 0;
    return (uint32_t)(usable ? bytes : TRK_HOST_PAGE_BYTES);
}

static enum trk_status annotation(struct judge *judge, const struct trk_trace_event *due,
                                  struct finding *finding)
{
    const struct trk_event *event = &due->event;
    switch (event->type) {
    case TRK_EVENT_TRACKER:
        if (event->page >= SAID_TRACKERS)
            return TRK_OK;
        said_forget(&judge->said, event->page);
        judge->foreign &= ~(1u << event->page);
        if (trk_policy_unpack(event->argument, &judge->policies[event->page]) != TRK_OK)
            judge->policies[event->page].page_size_bytes = TRK_HOST_PAGE_BYTES;
        return TRK_OK;
    case TRK_EVENT_FOREIGN:
        if (event->page >= SAID_TRACKERS)
            return TRK_OK;
        said_forget(&judge->said, event->page);
        judge->foreign &= ~(1u << event->page);
        judge->foreign |= event->argument == 0 ? 1u << event->page : 0;
        judge->policies[event->page].page_size_bytes = foreign_page_bytes(event);
        return TRK_OK;
    case TRK_EVENT_HANDED:
        return judge_handed(judge, due, trk_event_size(event));
    case TRK_EVENT_ACCESS:
        if (event->context == TRK_ACCESS_WRITE)
            return store(judge, due, agent_of(event));
        check(judge, due, agent_of(event), finding);
        return TRK_OK;
    case TRK_EVENT_COPY_BEGIN:
        judge_copy_begin(judge, due);
        return TRK_OK;
    case TRK_EVENT_COPY_END:
        return judge_copy_end(judge, due, finding);
    case TRK_EVENT_GPU_WRITE:
        return store(judge, due, TRK_AGENT_GPU);
    case TRK_EVENT_WITNESS_STORE:
        return store(judge, due, agent_of(event));
    case TRK_EVENT_GPU_READ:
        check(judge, due, TRK_AGENT_GPU, finding);
        return TRK_OK;
    case TRK_EVENT_WITNESS_CHECK:
        check(judge, due, agent_of(event), finding);
        return TRK_OK;
    case TRK_EVENT_GPU_COMPLETE:
        versions_complete(judge->versions, due->number, event->argument);
        return TRK_OK;
    case TRK_EVENT_MAP:
    case TRK_EVENT_UNMAP:
        return change_views(judge, due);
    case TRK_EVENT_FRAME:
        judge->frames++;
        return TRK_OK;
    case TRK_EVENT_SIGNAL:
        return order_signal(judge->order, due->stream, due->number, event->domain, event->argument);
    case TRK_EVENT_AWAIT:
        judge->streams[due->stream].last_await = due->number + 1;
        order_await(judge->order, due->stream, event->domain, event->argument);
        return TRK_OK;
    default: /* nothing follows from the others */
        return TRK_OK;
    }
}

/* A place is that of the stream's very next event, if that is a fault. Where losses are about, none
 * is known to be that across chunks: one between them may be missing. */
static void note_place(struct judge *judge, const struct trk_trace_event *event)
{
    struct judge_stream *stream = &judge->streams[event->stream];
    if (event->event.type == TRK_EVENT_FAULT) {
        bool next = !judge->lossy || event->file_offset == stream->place_offset;
        stream->fault_pc = next ? stream->next_pc : 0;
        stream->fault_event = event->number;
    }
    stream->next_pc = event->event.type == TRK_EVENT_FAULT_AT ? event->event.argument : 0;
    stream->place_offset = event->file_offset;
}

uint64_t judge_fault_pc(const struct judge *judge, uint32_t stream, uint64_t event)
{
    if (stream >= judge->stream_count || judge->streams[stream].fault_event != event)
        return 0;
    return judge->streams[stream].fault_pc;
}

static bool changes_views(const struct trk_trace_event *event)
{
    return event->event.type == TRK_EVENT_MAP || event->event.type == TRK_EVENT_UNMAP;
}

/* Where events are missing, a thread that waited for one of them may come too late: behind changes
 * of views that came after what it did. Times tell that. */
static void note_order(struct judge *judge, const struct trk_trace_event *event)
{
    judge->guessed |= event->guessed || judge->lossy;
    if (judge->guessed && !judge->disorder_known &&
        event->tsc < (changes_views(event) ? judge->newest_tsc : judge->views_tsc))
        versions_views_astray(judge->versions);
    if (event->tsc > judge->newest_tsc)
        judge->newest_tsc = event->tsc;
    if (changes_views(event) && event->tsc > judge->views_tsc)
        judge->views_tsc = event->tsc;
}

enum trk_status judge_take(struct judge *judge, const struct trk_trace_event *event,
                           struct finding *finding)
{
    finding->found = false;
    if (event->stream >= judge->stream_count)
        return TRK_E_DAMAGED;
    versions_now(judge->versions, event->number);
    note_order(judge, event);
    note_place(judge, event);
    enum trk_status status = event->event.type >= TRK_EVENT_FIRST_ANNOTATION
                                 ? annotation(judge, event, finding)
                                 : judge_operation_event(judge, event, finding);
    if (finding->found)
        finding_complete(judge, finding);
    return status;
}

void judge_end(struct judge *judge, bool whole, struct finding *finding)
{
    finding->found = versions_unexcused(judge->versions, finding);
    if (!finding->found && whole)
        versions_untold(judge->versions, &judge->latents, finding);
    if (finding->found)
        finding_complete(judge, finding);
}
