/*
 * A byte that looks wrong: its past in one pass, and probes.
 */
#include "symptom_force.h"

#include <inttypes.h>
#include <stdlib.h>

#include "judge.h"
#include "losses.h"
#include "newest.h"
#include "track/address.h"

/* From an event on, until the next span. */
struct span {
    uint64_t event;
    uint64_t moments; /* that were before it: of the spans before, all that are not busy */
    bool gpu_older, guest_older, left; /* left: by the log's word a synchronisation leaves it so */
    bool lost;                         /* neither side has its newest bytes */
    bool busy;
};

struct trk_symptom {
    struct trk_trace *trace;
    struct losses losses;
    uint64_t guest_addr, last_event;
    struct span *spans;
    size_t count, capacity;
};

/* ---- following the oracle -------------------------------------------------------------------- */

struct following {
    struct trk_trace *trace;
    struct judge judge;
    struct losses_passed passed;
    bool windowed; /* the trace begins in the middle, with states that only the core takes over */
    struct trk_error *error;
};

static enum trk_status follow_begin(struct following *following)
{
    size_t streams = trk_trace_stream_count(following->trace);
    const uint8_t *end;
    following->windowed = trk_trace_snapshot(following->trace, &end) != NULL;
    if (streams > ORDER_STREAMS_MAX)
        return trk_error_set(following->error, TRK_E_UNSUPPORTED, "more than %u threads",
                             ORDER_STREAMS_MAX);
    enum trk_status status = judge_init(&following->judge, (uint32_t)streams, 1);
    if (status != TRK_OK)
        return trk_error_set(following->error, status, "no memory");
    judge_disorder(&following->judge, &following->passed.losses.disorder);
    return trk_trace_rewind(following->trace, following->error);
}

/* Take the next event; TRK_E_END behind the last. */
static enum trk_status follow_next(struct following *following, struct trk_trace_event *event)
{
    struct finding finding = {.found = false}; /* what breaks is told by others */
    enum trk_status status = trk_trace_next(following->trace, event, following->error);
    if (status != TRK_OK)
        return status;
    losses_pass(&following->passed, event);
    if (following->passed.among)
        judge_among_losses(&following->judge);
    else if (following->passed.end > 0)
        judge_behind_losses(&following->judge, following->passed.end);
    status = judge_take(&following->judge, event, &finding);
    return status == TRK_OK ? TRK_OK : trk_error_set(following->error, status, "no memory");
}

/* ---- which byte ------------------------------------------------------------------------------ */

/* What is looked at behind an event: a part of a range. */
struct part {
    uint64_t first_addr, end_addr;
    uint64_t event;
    size_t range;
    bool counts; /* bytes of no known past do */
};

/*
 * The event behind which nothing may be missing for bytes to be older, and the tracker not to know
 * of it: the newest store, or what made the page's state.
 */
static uint64_t rests_on(const struct newest *newest)
{
    uint64_t made = newest_made(newest) ? newest->said->event - 1 : 0;
    if (newest->history == NULL)
        return made;
    uint64_t store = newest->history->stores[0].event;
    return made < store ? made : store;
}

/* What is known of bytes beside each other. */
struct aged {
    bool known;
    bool older; /* one side is, and no operation will mend it, as far as is known */
    bool sure;  /* nor can anything that is missing */
    bool gpu;
};

static struct aged judge_bytes(const struct following *following, const struct newest *newest)
{
    struct aged of = {.known = newest->history != NULL || newest_made(newest)};
    bool open = following->windowed && !newest_made(newest); /* of which state the page is */
    if (following->windowed)
        of.known = newest->history != NULL && newest->history->store_count > 0;
    of.older = newest_stays(newest, &of.gpu);
    if (open) {
        of.gpu = newest->gpu == TRK_WHY_OLDER;
        of.older = of.gpu || newest->guest == TRK_WHY_OLDER;
    }
    of.sure = of.older && !open && !losses_since(&following->passed, rests_on(newest));
    return of;
}

static void find_byte(const struct following *following, const struct part *part,
                      struct trk_symptom_found *found)
{
    const struct judge *judge = &following->judge;
    for (uint64_t at = part->first_addr; at < part->end_addr && !found->there;) {
        struct newest newest;
        uint32_t stream;
        newest_find(judge, at, &newest);
        uint64_t end_addr = newest.first_addr + newest.size_bytes;
        end_addr = end_addr < part->end_addr ? end_addr : part->end_addr;
        struct aged of = judge_bytes(following, &newest);
        bool lies_still = newest_under_way(judge, at, &stream) == NULL;
        found->known |= of.known;
        if (part->counts && !of.known && (following->windowed || !newest.mapped))
            found->unknown_bytes += end_addr - at;
        if (of.older && lies_still && (of.sure || !found->doubted)) {
            found->gpu = of.gpu;
            found->guest_addr = at;
            found->event = part->event;
            found->range = part->range;
        }
        found->there = of.sure && lies_still;
        found->doubted |= of.older && lies_still && !of.sure;
        at = end_addr;
    }
}

/* How many bytes an event reads. */
static uint64_t reads(const struct trk_event *event)
{
    switch (event->type) {
    case TRK_EVENT_GPU_READ:
    case TRK_EVENT_WITNESS_CHECK:
        return event->seq;
    case TRK_EVENT_ACCESS:
        return event->context == TRK_ACCESS_READ ? trk_event_size(event) : 0;
    default:
        return 0;
    }
}

/* What an event reads of a range, or all of it where its frame ends. */
static void find_in(const struct following *following, const struct trk_trace_event *event,
                    const struct trk_symptom_range *range, size_t number,
                    struct trk_symptom_found *found)
{
    uint64_t first = event->event.argument, end = first + reads(&event->event);
    uint64_t range_end = range->guest_addr + range->size_bytes;
    if (end > first) {
        const struct part part = {.first_addr =
                                      first > range->guest_addr ? first : range->guest_addr,
                                  .end_addr = end < range_end ? end : range_end,
                                  .event = event->number,
                                  .range = number};
        find_byte(following, &part, found);
    }
    const struct part whole = {range->guest_addr, range_end, event->number, number, true};
    if (event->number == range->last_event)
        find_byte(following, &whole, found);
}

static enum trk_status find(struct following *following, const struct trk_symptom_asked *asked,
                            struct trk_symptom_found *found)
{
    struct trk_trace_event event;
    enum trk_status status = TRK_OK;
    size_t first = 0; /* those before it are over */
    while (status == TRK_OK && first < asked->range_count && !found->there) {
        status = follow_next(following, &event);
        for (size_t i = first; status == TRK_OK && i < asked->range_count && !found->there; i++) {
            if (asked->ranges[i].first_event > event.number)
                break;
            find_in(following, &event, &asked->ranges[i], i, found);
        }
        while (status == TRK_OK && first < asked->range_count &&
               asked->ranges[first].last_event <= event.number)
            first++;
    }
    return status == TRK_E_END
               ? trk_error_set(following->error, TRK_E_ARGUMENT, "the trace has no event %" PRIu64,
                               asked->ranges[first].last_event)
               : status;
}

/* ---- its past -------------------------------------------------------------------------------- */

/* The holds that are open over the region of an address, of all trackers. */
struct holds {
    uint32_t region;
    uint32_t open[2 * SAID_TRACKERS]; /* whether, of region locks and of page managers */
};

static void note_hold(struct holds *holds, const struct trk_event *event)
{
    enum trk_domain_class class = trk_domain_class(event->domain);
    uint32_t region = trk_domain_region(event->domain);
    bool pages = class == TRK_DOMAIN_PAGES;
    if (!trk_event_in_hold(event) || (class != TRK_DOMAIN_REGION && !pages) ||
        (region != holds->region && region != TRK_DOMAIN_SHARED))
        return;
    holds->open[2 * trk_domain_tracker(event->domain) + pages] = !trk_event_ends_hold(event);
}

static bool held(const struct holds *holds)
{
    uint32_t open = 0;
    for (size_t i = 0; i < sizeof holds->open / sizeof holds->open[0]; i++)
        open |= holds->open[i];
    return open != 0;
}

static enum trk_status add_span(struct trk_symptom *symptom, const struct span *span)
{
    const struct span *last = symptom->count > 0 ? &symptom->spans[symptom->count - 1] : NULL;
    if (last != NULL && last->gpu_older == span->gpu_older &&
        last->guest_older == span->guest_older && last->left == span->left &&
        last->lost == span->lost && last->busy == span->busy)
        return TRK_OK;
    if (symptom->count == symptom->capacity) {
        size_t capacity = symptom->capacity == 0 ? 256 : symptom->capacity * 2;
        struct span *spans = realloc(symptom->spans, capacity * sizeof *spans);
        if (spans == NULL)
            return TRK_E_MEMORY;
        symptom->spans = spans;
        symptom->capacity = capacity;
        last = symptom->count > 0 ? &spans[symptom->count - 1] : NULL;
    }
    struct span *to = &symptom->spans[symptom->count++];
    *to = *span;
    to->moments = last == NULL ? 0 : last->moments + (last->busy ? 0 : span->event - last->event);
    return TRK_OK;
}

static enum trk_status note_past(struct trk_symptom *symptom, struct following *following)
{
    struct holds holds = {.region = UINT32_MAX};
    struct trk_trace_event event = {.number = TRK_NOT_KNOWN};
    enum trk_status status = TRK_OK;
    while (status == TRK_OK &&
           (event.number == TRK_NOT_KNOWN || event.number < symptom->last_event)) {
        struct newest newest;
        uint32_t stream;
        status = follow_next(following, &event);
        if (status != TRK_OK)
            break;
        uint64_t tracked = versions_tracked_addr(following->judge.versions, symptom->guest_addr);
        if (trk_range_valid(TRK_ARENA_LOW_EXTENDED, tracked, 1))
            holds.region = trk_region_index(tracked);
        note_hold(&holds, &event.event);
        newest_find(&following->judge, symptom->guest_addr, &newest);
        bool gpu;
        struct span span = {
            .event = event.number,
            .gpu_older = newest.gpu == TRK_WHY_OLDER,
            .guest_older = newest.guest == TRK_WHY_OLDER,
            .left = newest_stays(&newest, &gpu),
            .lost = newest.lost,
            .busy = held(&holds) ||
                    newest_under_way(&following->judge, symptom->guest_addr, &stream) != NULL,
        };
        status = add_span(symptom, &span);
        if (status != TRK_OK)
            (void)trk_error_set(following->error, status, "no memory");
    }
    return status;
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* Begin the trace anew and do one of the two passes. */
static enum trk_status pass(struct trk_symptom *symptom, const struct trk_symptom_asked *asked,
                            struct trk_symptom_found *found, struct trk_error *error)
{
    struct following following = {
        .trace = symptom->trace, .passed = {.losses = symptom->losses}, .error = error};
    enum trk_status status = follow_begin(&following);
    if (status == TRK_OK)
        status = asked != NULL ? find(&following, asked, found) : note_past(symptom, &following);
    judge_deinit(&following.judge);
    return status;
}

enum trk_status trk_symptom_create(struct trk_symptom **out, struct trk_trace *trace,
                                   const struct trk_symptom_asked *asked,
                                   struct trk_symptom_found *found, struct trk_error *error)
{
    struct trk_symptom *symptom = calloc(1, sizeof *symptom);
    *out = NULL;
    *found = (struct trk_symptom_found){.there = false};
    if (symptom == NULL)
        return trk_error_set(error, TRK_E_MEMORY, "no memory");
    symptom->trace = trace;
    enum trk_status status = TRK_OK;
    if (!trk_trace_state(trace).complete)
        status = losses_find_all(&symptom->losses, trace);
    if (status != TRK_OK)
        (void)trk_error_set(error, status, "what the trace lacks cannot be read");
    else
        status = pass(symptom, asked, found, error);
    symptom->guest_addr = found->guest_addr;
    symptom->last_event = found->event;
    if (status == TRK_OK && found->there)
        status = pass(symptom, NULL, NULL, error);
    if (status == TRK_OK && found->there)
        *out = symptom;
    else
        trk_symptom_destroy(symptom);
    return status;
}

void trk_symptom_destroy(struct trk_symptom *symptom)
{
    if (symptom != NULL) {
        losses_deinit(&symptom->losses);
        free(symptom->spans);
    }
    free(symptom);
}

uint64_t trk_symptom_moments(const struct trk_symptom *symptom)
{
    const struct span *last = &symptom->spans[symptom->count - 1];
    return last->moments + (last->busy ? 0 : symptom->last_event + 1 - last->event);
}

/* The span that a moment lies in. */
static const struct span *span_of(const struct trk_symptom *symptom, uint64_t moment)
{
    size_t first = 0, end = symptom->count;
    while (end - first > 1) {
        size_t middle = first + (end - first) / 2;
        if (symptom->spans[middle].moments < moment)
            first = middle;
        else
            end = middle;
    }
    return &symptom->spans[first];
}

uint64_t trk_symptom_event(const struct trk_symptom *symptom, uint64_t moment)
{
    const struct span *span = span_of(symptom, moment);
    return moment == 0 ? TRK_NOT_KNOWN : span->event + (moment - 1 - span->moments);
}

enum trk_status trk_symptom_ask(struct trk_symptom *symptom, uint64_t moment,
                                struct trk_symptom_probe *probe, struct trk_error *error)
{
    const struct span *span = span_of(symptom, moment);
    struct symptom_forced forced;
    enum trk_status status = symptom_force(symptom->trace, symptom->guest_addr,
                                           trk_symptom_event(symptom, moment), &forced, error);
    *probe = (struct trk_symptom_probe){
        .forced = forced.done, .from_checkpoint = forced.from_checkpoint, .events = forced.events};
    bool left = span->left;
    if (forced.done)
        left = span->lost || (span->gpu_older && !forced.up) || (span->guest_older && !forced.down);
    probe->answer = forced.done && forced.busy ? TRK_SYMPTOM_BUSY
                    : left                     ? TRK_SYMPTOM_LEFT
                                               : TRK_SYMPTOM_MENDED;
    return status;
}
