/*
 * Foreign trackers: whose an event is, and what their operations leave behind.
 */
#include "foreign.h"

#include <stdio.h>
#include <stdlib.h>

#include "foreign_core.h"
#include "foreign_rules.h"
#include "run.h"
#include "track/address.h"

/* A range of more pages than this is not followed. */
#define RANGE_PAGES_MAX (UINT64_C(1) << 16)

void foreign_deinit(struct foreign *foreign)
{
    for (uint32_t i = 0; i < FOREIGN_TRACKERS; i++)
        foreign_core_destroy(foreign->trackers[i].core);
    foreign_pages_deinit(&foreign->pages);
    foreign_runs_deinit(&foreign->joined);
    for (uint32_t i = 0; i < foreign->stream_count; i++)
        for (uint32_t d = 0; d < FOREIGN_DEPTH; d++)
            foreign_runs_deinit(&foreign->streams[i].handed[d]);
    free(foreign->streams);
    foreign->streams = NULL;
    foreign->stream_count = 0;
}

/* ---- whose an event is ----------------------------------------------------------------------- */

static bool declared(const struct foreign *foreign, uint32_t tracker)
{
    return tracker < FOREIGN_TRACKERS && foreign->declared >> tracker & 1u;
}

bool foreign_owns(struct foreign *foreign, const struct trk_trace_event *event)
{
    const struct trk_event *what = &event->event;
    if (what->type >= TRK_EVENT_FOREIGN && what->type <= TRK_EVENT_HANDED)
        return true;
    if (foreign->streams == NULL)
        return false;
    struct foreign_stream *stream = &foreign->streams[event->stream];
    bool owned = stream->owned & 1u;
    switch (what->type) {
    case TRK_EVENT_OP_BEGIN:
    case TRK_EVENT_FAULT:
        owned = declared(foreign, what->type == TRK_EVENT_FAULT ? trk_domain_tracker(what->domain)
                                                                : what->page);
        stream->owned = stream->owned << 1 | owned;
        return owned;
    case TRK_EVENT_OP_END:
        stream->owned >>= 1;
        return owned;
    case TRK_EVENT_LOCK:
    case TRK_EVENT_UNLOCK:
        return trk_domain_class(what->domain) == TRK_DOMAIN_OWNER;
    case TRK_EVENT_CALLBACK:
    case TRK_EVENT_FAIL:
        return owned;
    default:
        return false;
    }
}

/* ---- pages of a range ------------------------------------------------------------------------ */

static struct foreign_range range_of(const struct foreign *foreign, uint32_t tracker,
                                     uint64_t guest_addr, uint64_t size_bytes)
{
    uint64_t page_bytes = foreign->trackers[tracker].page_bytes;
    if (!trk_range_valid(TRK_ARENA_LOW_EXTENDED, guest_addr, size_bytes))
        return (struct foreign_range){tracker, 0, 0};
    return (struct foreign_range){tracker, guest_addr / page_bytes,
                                  (guest_addr + size_bytes - 1) / page_bytes + 1};
}

/* The page of a number; NULL: it is not followed, or the run has failed. */
static struct foreign_page *page_of(struct run *run, uint32_t tracker, uint64_t number)
{
    struct foreign *foreign = &run->foreign;
    struct foreign_page *page;
    uint8_t fresh = foreign->trackers[tracker].policy != 0 ? FOREIGN_CPU : FOREIGN_ANY;
    if (foreign_pages_touch(&foreign->pages, tracker, number, fresh, &page) != TRK_OK) {
        run->failure = TRK_E_MEMORY;
        return NULL;
    }
    foreign->limited |= page == NULL;
    return page;
}

/* Note an event that has changed a page, or may have. */
static void touch(struct foreign_page *page, unsigned op, const struct trk_trace_event *event)
{
    page->touched = event->number + 1;
    page->touched_stream = event->stream;
    if (op == TRK_OP_UPLOAD || op == TRK_OP_MARK_GPU || op == TRK_OP_NONE)
        page->taken = event->number + 1;
}

/* ---- events ---------------------------------------------------------------------------------- */

static void declare(struct run *run, const struct trk_event *event)
{
    struct foreign *foreign = &run->foreign;
    uint64_t page_bytes = trk_event_size(event);
    if (event->page >= FOREIGN_TRACKERS)
        return;
    if (foreign->streams == NULL)
        foreign->streams = calloc(run->stream_count + 1u, sizeof *foreign->streams);
    if (foreign->streams == NULL) {
        run->failure = TRK_E_MEMORY;
        return;
    }
    foreign->stream_count = run->stream_count + 1u;
    foreign->declared |= 1u << event->page;
    bool usable = page_bytes >= TRK_HOST_PAGE_BYTES && (page_bytes & (page_bytes - 1)) == 0;
    struct foreign_core *core = NULL;
    foreign_core_destroy(foreign->trackers[event->page].core);
    if ((event->argument != 0 || core_is_trackers_own()) &&
        foreign_core_create(&core, event->argument, page_bytes) != TRK_OK)
        run->failure = TRK_E_MEMORY;
    if (core == NULL && core_is_trackers_own())
        foreign->core_why = "the plug-in takes no pages of the tracker's size";
    foreign->trackers[event->page] = (struct foreign_tracker){
        .declared = true,
        .notes = event->flags,
        .page_bytes = usable ? page_bytes : TRK_HOST_PAGE_BYTES,
        .policy = core == NULL ? 0 : event->argument,
        .core = core,
    };
    foreign_pages_forget(&foreign->pages, event->page);
}

/* Whether the operation that a stream is inside of is about a page and may change it. */
static bool inside_of(const struct foreign *foreign, uint32_t stream, uint32_t tracker,
                      uint64_t number)
{
    uint32_t depth = foreign->streams[stream].depth;
    if (depth == 0 || depth > FOREIGN_DEPTH)
        return false;
    const struct foreign_operation *open = &foreign->streams[stream].operations[depth - 1];
    struct foreign_range range =
        range_of(foreign, open->tracker, open->guest_addr, open->size_bytes);
    return open->tracker == tracker && foreign_rules_change(open) && number >= range.first &&
           number < range.end;
}

/* Whether a page's rights are more than before; where those are not known, whether it may be stored
 * to. */
static bool opens(const struct foreign_page *page, unsigned rights)
{
    return page->rights_known ? (rights & ~(unsigned)page->rights) != 0
                              : (rights & TRK_RIGHT_WRITE) != 0;
}

/* The rights of whole pages; a part of one is not followed. */
static void protect(struct run *run, const struct trk_trace_event *event)
{
    struct foreign *foreign = &run->foreign;
    uint32_t tracker = event->event.page;
    if (!declared(foreign, tracker) || event->event.flags & TRK_EVENT_FAILED)
        return;
    uint64_t page_bytes = foreign->trackers[tracker].page_bytes;
    uint64_t first_addr = event->event.argument, size_bytes = trk_event_size(&event->event);
    struct foreign_range range = range_of(foreign, tracker, first_addr, size_bytes);
    if (range.end - range.first > RANGE_PAGES_MAX)
        return;
    for (uint64_t number = range.first; number < range.end; number++) {
        struct foreign_page *page = page_of(run, tracker, number);
        if (page == NULL)
            return;
        bool opened = opens(page, event->event.flags & TRK_RIGHTS_RW);
        page->rights_known = number * page_bytes >= first_addr &&
                             (number + 1) * page_bytes <= first_addr + size_bytes;
        page->rights = event->event.flags & TRK_RIGHTS_RW;
        page->protect = event->number;
        page->protect_stream = event->stream;
        if (opened && !inside_of(foreign, event->stream, tracker, number)) {
            /* A fault that opens more than its page, for one: the state goes with the rights. */
            page->states = FOREIGN_ANY;
            page->unsettled = true;
            touch(page, TRK_OP_NONE, event);
        }
    }
}

static void begin(struct foreign *foreign, const struct trk_trace_event *event)
{
    struct foreign_stream *stream = &foreign->streams[event->stream];
    bool fault = event->event.type == TRK_EVENT_FAULT;
    if (stream->depth < FOREIGN_DEPTH) {
        foreign_runs_clear(&stream->handed[stream->depth]);
        stream->operations[stream->depth] = (struct foreign_operation){
            .event = event->number,
            .guest_addr = event->event.argument,
            .size_bytes = fault ? 1 : trk_event_size(&event->event),
            .op = fault ? TRK_OP_FAULT : (uint8_t)event->event.context,
            .flags = fault ? 0 : event->event.flags,
            .access = fault ? event->event.flags : 0,
            .tracker = (uint8_t)(fault ? trk_domain_tracker(event->event.domain)
                                       : event->event.page & (FOREIGN_TRACKERS - 1)),
        };
    } else {
        foreign->limited = true; /* what it leaves behind is not followed */
    }
    stream->depth++;
}

static void hand(struct run *run, const struct trk_trace_event *event)
{
    struct foreign *foreign = &run->foreign;
    uint32_t tracker = event->event.page;
    if (!declared(foreign, tracker))
        return;
    struct foreign_stream *stream = &foreign->streams[event->stream];
    if (stream->depth > 0 && stream->depth <= FOREIGN_DEPTH)
        foreign_runs_add(&stream->handed[stream->depth - 1], event->event.argument,
                         trk_event_size(&event->event));
    struct foreign_range range =
        range_of(foreign, tracker, event->event.argument, trk_event_size(&event->event));
    if (range.end - range.first > RANGE_PAGES_MAX) {
        foreign->limited = true;
        return;
    }
    for (uint64_t number = range.first; number < range.end; number++) {
        struct foreign_page *page = page_of(run, tracker, number);
        if (page != NULL)
            page->handed = event->number + 1;
    }
}

/* Whether an operation leaves its pages with the CPU, or as those inside it leave them. */
static bool ends_with_cpu(const struct foreign_operation *operation)
{
    switch (operation->op) {
    case TRK_OP_FAULT:
    case TRK_OP_INVALIDATE:
    case TRK_OP_HLE_WRITE:
    case TRK_OP_MARK_CPU:
    case TRK_OP_UNTRACK:
        return true;
    default:
        return false;
    }
}

/*
 * Whether what an open operation does meanwhile may change what another one is about. On the same
 * stream the other one is inside of it: a flush brings bytes home before the page is given away.
 */
static bool disturbs(const struct foreign_operation *open,
                     const struct foreign_operation *operation, bool same_stream)
{
    bool flush = operation->op == TRK_OP_DOWNLOAD || operation->op == TRK_OP_DRAIN;
    return open->tracker == operation->tracker && foreign_rules_change(open) &&
           !(same_stream && flush && ends_with_cpu(open));
}

/*
 * Whether another operation was under way on the page while this one was. Those that came inside of
 * this one, on its stream, count unless it makes no difference which of both was first.
 */
static bool overlapped(const struct run *run, const struct foreign_operation *operation,
                       const struct foreign_page *page, uint32_t stream, uint64_t number)
{
    const struct foreign *foreign = &run->foreign;
    bool same = page->touched_stream == stream && ends_with_cpu(operation);
    if ((same ? page->taken : page->touched) > operation->event)
        return true;
    for (uint32_t i = 0; i < run->stream_count; i++) {
        const struct foreign_stream *other = &foreign->streams[i];
        for (uint32_t d = 0; d < other->depth && d < FOREIGN_DEPTH; d++) {
            const struct foreign_operation *open = &other->operations[d];
            struct foreign_range range =
                range_of(foreign, open->tracker, open->guest_addr, open->size_bytes);
            if (disturbs(open, operation, i == stream) && number >= range.first &&
                number < range.end)
                return true;
        }
    }
    return false;
}

/* Bring the core's pages to where the log has them; false: that is not certain of all. */
static bool settle(struct run *run, const struct foreign_operation *operation,
                   const struct foreign_range *range, uint32_t stream)
{
    struct foreign_core *core = run->foreign.trackers[operation->tracker].core;
    bool certain = foreign_rules_sure(run) && foreign_core_knows(operation);
    for (uint64_t number = range->first; number < range->end; number++) {
        struct foreign_page *page = page_of(run, operation->tracker, number);
        if (page == NULL)
            return false;
        certain = certain && (page->states & (page->states - 1)) == 0 && page->states != 0 &&
                  !overlapped(run, operation, page, stream, number);
    }
    bool sure = certain;
    for (uint64_t number = range->first; number < range->end && certain; number++) {
        certain =
            foreign_core_settle(core, number, page_of(run, operation->tracker, number)) == TRK_OK;
    }
    if (sure && !certain)
        run->foreign.core_why = foreign_core_lacks();
    for (uint64_t number = range->first; number < range->end; number++) {
        struct foreign_page *page = page_of(run, operation->tracker, number);
        if (certain || foreign_rules_change(operation))
            page->unsettled = !certain;
    }
    return certain;
}

static void end_pages(struct run *run, const struct foreign_ending *ending,
                      const struct foreign_range *range)
{
    const struct foreign_operation *operation = ending->operation;
    const struct trk_trace_event *event = ending->event;
    for (uint64_t number = range->first; number < range->end && !run->stopped; number++) {
        struct foreign_page *page = page_of(run, operation->tracker, number);
        if (page == NULL)
            return;
        bool alone = !overlapped(run, operation, page, event->stream, number);
        foreign_rules_page(run, ending, number, page, alone);
        if (!foreign_rules_change(operation))
            continue;
        touch(page, operation->op, event);
    }
}

static void end(struct run *run, const struct trk_trace_event *event)
{
    struct foreign *foreign = &run->foreign;
    struct foreign_stream *stream = &foreign->streams[event->stream];
    if (stream->depth == 0 || --stream->depth >= FOREIGN_DEPTH)
        return;
    struct foreign_operation *operation = &stream->operations[stream->depth];
    struct foreign_range range =
        range_of(foreign, operation->tracker, operation->guest_addr, operation->size_bytes);
    if (operation->op != event->event.context) { /* events are missing */
        stream->depth = 0;
        return;
    }
    if (range.end - range.first > RANGE_PAGES_MAX) {
        foreign->limited = true;
        return;
    }
    struct foreign_runs *handed = &stream->handed[stream->depth];
    foreign_runs_copy(&foreign->joined, handed);
    foreign_runs_sort(&foreign->joined);
    foreign_runs_join(&foreign->joined);
    foreign->limited |= foreign->joined.lost;
    struct foreign_ending ending = {operation, event, handed, &foreign->joined};
    struct foreign_core *core = foreign->trackers[operation->tracker].core;
    bool certain = core != NULL && settle(run, operation, &range, event->stream);
    if (core != NULL && foreign_core_stuck(run, core, &ending))
        return;
    foreign->core.unknown += !certain;
    end_pages(run, &ending, &range);
    if (certain && !run->stopped && run->failure == TRK_OK)
        foreign_core_run(run, core, &ending, &range);
}

static void say(struct trk_sim_judged *judged, struct foreign_count count, bool broken,
                const char *why)
{
    *judged = (struct trk_sim_judged){count.judged, count.unknown, broken, ""};
    if (count.judged == 0 && !broken)
        snprintf(judged->why, sizeof judged->why, "%s", why);
}

const char *foreign_core_why(const struct run *run)
{
    const struct foreign *foreign = &run->foreign;
    bool any = false;
    for (uint32_t i = 0; i < FOREIGN_TRACKERS; i++)
        any |= foreign->trackers[i].core != NULL;
    if (core_is_trackers_own() && foreign->core_why != NULL)
        return foreign->core_why;
    return any ? "no operation's pages were ever certain" : "it follows no policy of the core's";
}

void foreign_report(struct run *run)
{
    const struct foreign *foreign = &run->foreign;
    struct trk_sim_report *report = run->report;
    bool locks = false, rights = false;
    report->foreign_trackers = foreign->declared;
    for (uint32_t i = 0; i < FOREIGN_TRACKERS; i++) {
        const struct foreign_tracker *tracker = &foreign->trackers[i];
        locks |= tracker->declared && tracker->notes & TRK_NOTES_LOCKS;
        rights |= tracker->declared && tracker->notes & TRK_NOTES_PROTECTION;
    }
    struct foreign_count bytes = {report->checks - report->unknown, report->unknown};
    bool broken_bytes = report->verdict >= TRK_VERDICT_STALE_GPU_READ &&
                        report->verdict <= TRK_VERDICT_LOST_GPU_WRITE;
    say(&report->judged[TRK_SIM_JUDGED_BYTES], bytes, broken_bytes,
        report->checks == 0 ? "the trace has no checks of bytes"
        : report->complete  ? "too little is known of the bytes that were checked"
                            : "events are missing that the bytes may depend on");
    say(&report->judged[TRK_SIM_JUDGED_STATES], foreign->states, foreign->broken_states,
        foreign->limited ? "too many pages" : "the state of no page was ever certain");
    say(&report->judged[TRK_SIM_JUDGED_PROTECTION], foreign->rights, foreign->broken_rights,
        rights ? "no page's rights and state were certain together"
               : "its protection is not noted");
    say(&report->judged[TRK_SIM_JUDGED_LOCKS], (struct foreign_count){foreign->holds, 0},
        foreign->broken_locks, locks ? "no lock was taken" : "its locks are not noted");
    say(&report->judged[TRK_SIM_JUDGED_CORE], foreign->core, foreign->broken_core,
        foreign_core_why(run));
}

void foreign_take(struct run *run, const struct trk_trace_event *event)
{
    switch (event->event.type) {
    case TRK_EVENT_FOREIGN:
        declare(run, &event->event);
        break;
    case TRK_EVENT_HOST_PROTECT:
        run->report->protect_calls++;
        protect(run, event);
        break;
    case TRK_EVENT_HANDED:
        run->report->ranges++;
        hand(run, event);
        break;
    case TRK_EVENT_OP_BEGIN:
    case TRK_EVENT_FAULT:
        begin(&run->foreign, event);
        break;
    case TRK_EVENT_OP_END:
        end(run, event);
        break;
    case TRK_EVENT_LOCK:
        run->foreign.holds++;
        break;
    default:
        break;
    }
}
