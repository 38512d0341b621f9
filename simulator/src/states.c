/*
 * The states that the core in force gives to the pages of a trace, event by event.
 */
#include "simulator/states.h"

#include "foreign_core.h"
#include "run.h"
#include "track/address.h"

/* Of a foreign operation's range; what lies behind is not looked at. */
#define SPAN_BYTES_MOST (64 * TRK_REGION_BYTES)

/* ---- a step ---------------------------------------------------------------------------------- */

void trk_states_pages(const struct trk_states_step *step, trk_states_page_fn *page, void *context)
{
    const struct core_calls *core = step->scenario ? core_sim : core_live;
    for (size_t i = 0; i < step->span_count; i++) {
        uint64_t end = step->spans[i].end_addr;
        for (uint64_t at = step->spans[i].first_addr; at < end; at += TRK_HOST_PAGE_BYTES) {
            struct trk_page_view view = core->page(step->tracker, at);
            page(context, at, &view);
        }
    }
}

static void add_page(void *context, uint64_t guest_addr, const struct trk_page_view *page)
{
    uint64_t *digest = context;
    uint64_t state = (uint64_t)page->cpu_dirty | (uint64_t)page->gpu_dirty << 1 |
                     (uint64_t)page->registered << 2 | (uint64_t)page->armed << 3 |
                     (uint64_t)page->read_watch << 4 | (uint64_t)page->write_watches << 8 |
                     (uint64_t)page->guest_rights << 16 | (uint64_t)page->host_rights << 24 |
                     guest_addr << 20;
    uint64_t mixed = (*digest ^ state) * UINT64_C(0x9e3779b97f4a7c15);
    *digest = mixed ^ mixed >> 29;
}

uint64_t trk_states_digest(const struct trk_states_step *step)
{
    uint64_t digest = step->span_count;
    trk_states_pages(step, add_page, &digest);
    return digest != 0 || step->span_count == 0 ? digest : 1;
}

/* ---- a trace --------------------------------------------------------------------------------- */

/* The region that an event gives free, while nobody holds its lock. */
static void look_region(const struct run *run, const struct trk_event *event,
                        struct trk_states_step *step, struct trk_states_span *span)
{
    uint32_t id = trk_domain_tracker(event->domain), region = trk_domain_region(event->domain);
    enum trk_domain_class class = trk_domain_class(event->domain);
    if (!trk_event_in_hold(event) || !trk_event_ends_hold(event) ||
        (class != TRK_DOMAIN_REGION && class != TRK_DOMAIN_PAGES))
        return;
    if (region == TRK_DOMAIN_SHARED && event->type == TRK_EVENT_PROTECT)
        region = trk_region_index(event->argument);
    const struct domain *domain =
        domains_find(&run->domains, trk_domain(TRK_DOMAIN_REGION, id, region));
    if (region >= TRK_REGION_COUNT || run->machines[id].tracker == NULL ||
        (domain != NULL && domain->holder != 0))
        return;
    step->tracker = run->machines[id].tracker;
    span->first_addr = trk_region_address(region);
    span->end_addr = span->first_addr + TRK_REGION_BYTES;
    step->span_count = 1;
}

/* The range of a foreign tracker's operation, which has ended with the event. */
static void look_operation(const struct run *run, const struct judge_operation *operation,
                           struct trk_states_step *step, struct trk_states_span *span)
{
    const struct foreign_tracker *foreign = &run->foreign.trackers[operation->tracker];
    uint64_t size_bytes =
        operation->size_bytes < SPAN_BYTES_MOST ? operation->size_bytes : SPAN_BYTES_MOST;
    if (foreign->core == NULL ||
        !trk_range_valid(TRK_ARENA_LOW_EXTENDED, operation->guest_addr, size_bytes))
        return;
    step->tracker = foreign_core_tracker(foreign->core);
    span->first_addr = operation->guest_addr & ~(foreign->page_bytes - 1);
    span->end_addr =
        (operation->guest_addr + size_bytes + foreign->page_bytes - 1) & ~(foreign->page_bytes - 1);
    step->span_count = 1;
}

/* Take an event and tell of it; false: the run is over. */
static bool follow(struct run *run, const struct trk_trace_event *event,
                   const struct trk_states_listener *listener)
{
    const struct judge_operation *open =
        event->stream < run->stream_count ? judge_operation_of(&run->judge, event->stream) : NULL;
    struct judge_operation operation = open != NULL ? *open : (struct judge_operation){.op = 0};
    struct trk_states_span span = {0};
    struct trk_states_step step = {.number = event->number, .spans = &span};
    run_event(run, event);
    if (run->failure != TRK_OK || run->stopped || run->core_lost)
        return false;
    bool foreign = event->event.type == TRK_EVENT_OP_END && operation.op != 0 &&
                   (run->foreign.declared >> operation.tracker & 1u) != 0;
    if (foreign)
        look_operation(run, &operation, &step, &span);
    else
        look_region(run, &event->event, &step, &span);
    return listener->fn(listener->context, &step);
}

enum trk_status trk_states_trace(struct trk_trace *trace,
                                 const struct trk_states_listener *listener,
                                 struct trk_sim_report *report, struct trk_error *error)
{
    const struct trk_sim_options options = trk_sim_options_default();
    struct trk_trace_event event;
    struct run *run;
    enum trk_status status = run_create(&run, trace, &options, report, error);
    if (status != TRK_OK)
        return status;
    run->deaf = true;
    while ((status = trk_trace_next(trace, &event, error)) == TRK_OK &&
           follow(run, &event, listener)) {
    }
    if (status == TRK_E_END)
        status = run_finish(run);
    else if (status == TRK_OK && run->failure != TRK_OK)
        status = trk_error_set(error, run->failure, "re-execution ended at event %llu: %s",
                               (unsigned long long)event.number, trk_status_name(run->failure));
    run_destroy(run);
    return status;
}
