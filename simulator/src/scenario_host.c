/*
 * The simulated host of a scenario: its protection calls with what goes wrong in them, and what the
 * core tells of itself.
 *
 * Rules: scenario-format, Injected faults, fine print 8, 9, 13.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core_design.h"
#include "footprint.h"
#include "scenario_run.h"
#include "scenario_tape.h"

/* ---- protection calls ------------------------------------------------------------------------ */

static void rights_set(struct scenario_run *run, uint64_t guest_addr, uint64_t size_bytes,
                       unsigned rights)
{
    struct world_walk walk = world_walk(&run->world, guest_addr, size_bytes);
    while (world_next_mapped(&walk)) {
        if (walk.page->host_rights != rights)
            footprint_writes(OBJECT_PAGE, walk.guest_addr / SCENARIO_PAGE_BYTES);
        world_touch(&run->world, walk.page);
        walk.page->host_rights = (uint8_t)rights;
    }
}

static bool takes_rights(const struct scenario_run *run, uint64_t guest_addr, uint64_t size_bytes,
                         unsigned rights)
{
    struct world_walk walk = world_walk(&run->world, guest_addr, size_bytes);
    while (world_next_mapped(&walk))
        if (walk.page->host_rights & ~rights)
            return true;
    return false;
}

/* Whether one of the calls that are to fail is this one. */
static bool fails(struct run_thread *thread)
{
    struct span_list *list = &thread->protect_fails;
    bool now = false;
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        struct scenario_span span = list->spans[i];
        span.size_bytes--;
        if (span.size_bytes == 0)
            now = true;
        else
            list->spans[kept++] = span;
    }
    for (size_t i = kept; i < list->count; i++)
        list->spans[i] = (struct scenario_span){0};
    list->count = kept;
    return now;
}

/* A call of a thread's, with what goes wrong in it. */
static int call(struct run_thread *thread, uint64_t guest_addr, uint64_t size_bytes,
                unsigned rights)
{
    struct scenario_run *run = thread->run;
    uint64_t limit = run->scenario->policy.max_mappings;
    if (limit != 0)
        footprint_writes(OBJECT_MAPPINGS, 0);
    if (fails(thread) ||
        (limit != 0 && world_mappings(&run->world, guest_addr, size_bytes, rights) > limit))
        return ENOMEM;
    run_changed(run);
    run->report->host_calls++;
    run_span_add(thread, &thread->calls, (struct scenario_span){guest_addr, size_bytes, rights});
    run_span_add(thread, &thread->touched, (struct scenario_span){guest_addr, size_bytes, 0});
    if (thread->injected[INJECT_SKIP_REARM] > 0 &&
        takes_rights(run, guest_addr, size_bytes, rights)) {
        (void)run_inject(thread, INJECT_SKIP_REARM);
        return 0;
    }
    rights_set(run, guest_addr, size_bytes, rights);
    tape_rights(run, thread, guest_addr, size_bytes, rights);
    return 0;
}

int host_call(struct scenario_run *run, uint64_t guest_addr, uint64_t size_bytes, unsigned rights)
{
    struct run_thread *thread = run->current;
    if (run->quiet || thread == NULL || thread->quiet) {
        rights_set(run, guest_addr, size_bytes, rights);
        return 0;
    }
    run_point(thread, POINT_PROTECT, guest_addr);
    int error = call(thread, guest_addr, size_bytes, rights);
    run_point(thread, POINT_PROTECT, guest_addr);
    return error;
}

static int backend_protect(struct trk_backend *backend, uint64_t guest_addr, uint64_t size_bytes,
                           unsigned rights)
{
    return host_call((struct scenario_run *)backend, guest_addr, size_bytes, rights);
}

static void backend_destroy(struct trk_backend *backend)
{
    (void)backend;
}

void host_init(struct scenario_run *run)
{
    run->backend = (struct trk_backend){
        .kind = TRK_BACKEND_SIMULATED,
        .name = "simulated",
        .protect = backend_protect,
        .destroy = backend_destroy,
    };
}

/* ---- what the core tells --------------------------------------------------------------------- */

/* Whether the thread's operation names its pages by a mask. */
static bool has_mask(const struct run_thread *thread)
{
    return thread->doing != NULL && thread->doing->op->mask != NULL;
}

/* Only the pages of a mask: others in the region may be on their way under another thread. */
static void touch_mask(struct run_thread *thread, const struct scenario_op *op)
{
    uint64_t base = op->guest_addr;
    for (uint64_t page = 0; page < TRK_REGION_PAGES; page++)
        if (op->mask[page / 64] >> (page % 64) & 1)
            run_span_add(
                thread, &thread->touched,
                (struct scenario_span){base + page * SCENARIO_PAGE_BYTES, SCENARIO_PAGE_BYTES, 0});
}

/* All regions of views share a domain: what changed is somewhere in the operation's range. */
static void touch_shared(struct scenario_run *run)
{
    struct run_thread *thread = run->current;
    if (thread == NULL || thread->asked.count == 0)
        return;
    run_changed(run);
    struct scenario_span asked = thread->asked.spans[thread->asked.count - 1];
    if (has_mask(thread))
        touch_mask(thread, thread->doing->op);
    else
        run_span_add(thread, &thread->touched, asked);
    struct world_walk walk = world_walk(&run->world, asked.guest_addr, asked.size_bytes);
    while (world_next(&walk))
        if (run_tracked(run, walk.guest_addr, 1))
            (void)run_region(run, trk_region_index(walk.guest_addr));
}

/* The part of the innermost operation's range that lies in a region has changed. */
static void touch(struct scenario_run *run, uint32_t index)
{
    struct run_thread *thread = run->current;
    if (thread == NULL)
        return;
    run_changed(run);
    if (thread->asked.count == 0)
        return;
    if (has_mask(thread)) {
        touch_mask(thread, thread->doing->op);
        return;
    }
    struct scenario_span asked = thread->asked.spans[thread->asked.count - 1];
    uint64_t first = trk_region_address(index), end = first + TRK_REGION_BYTES;
    if (asked.guest_addr > first)
        first = asked.guest_addr;
    if (asked.guest_addr + asked.size_bytes < end)
        end = asked.guest_addr + asked.size_bytes;
    if (first < end)
        run_span_add(thread, &thread->touched, (struct scenario_span){first, end - first, 0});
}

/* Note an operation's range, rounded to tracker pages; masks stand for their region. */
static void ask(struct scenario_run *run, const struct trk_event *event)
{
    struct run_thread *thread = run->current;
    if (thread == NULL)
        return;
    uint64_t page = run_page_bytes(run);
    uint64_t first = event->argument, size_bytes = 1;
    if (event->type == TRK_EVENT_OP_BEGIN) {
        bool mask = event->context == TRK_OP_WATCH_MASK || event->context == TRK_OP_UNWATCH_MASK;
        size_bytes = mask ? TRK_REGION_BYTES : trk_event_size(event);
    } else {
        size_bytes = run->scenario->policy.core.fault_width_bytes;
    }
    uint64_t end;
    if (__builtin_add_overflow(first, size_bytes, &end) || end > UINT64_MAX - page)
        end = first;
    first &= ~(page - 1);
    end = (end + page - 1) & ~(page - 1);
    run_span_add(thread, &thread->asked, (struct scenario_span){first, end - first, 0});
}

static void asked_end(struct run_thread *thread)
{
    if (thread != NULL && thread->asked.count > 0)
        thread->asked.spans[--thread->asked.count] = (struct scenario_span){0};
}

static void lock_owner(struct scenario_run *run, const struct trk_event *event, uint32_t owner)
{
    if (trk_domain_class(event->domain) != TRK_DOMAIN_REGION)
        return;
    struct run_region *region = run_region(run, trk_domain_region(event->domain));
    if (region != NULL)
        region->owner = owner;
}

void host_observe(void *context, const struct trk_event *event)
{
    struct scenario_run *run = context;
    uint32_t region = trk_domain_region(event->domain);
    switch (event->type) {
    case TRK_EVENT_OP_BEGIN:
    case TRK_EVENT_FAULT:
        ask(run, event);
        break;
    case TRK_EVENT_OP_END:
        asked_end(run->current);
        break;
    case TRK_EVENT_LOCK:
        lock_owner(run, event, run->current != NULL ? run->current->index : SCENARIO_NONE);
        break;
    case TRK_EVENT_UNLOCK:
        lock_owner(run, event, SCENARIO_NONE);
        if (event->pages > 0 && trk_domain_class(event->domain) == TRK_DOMAIN_REGION)
            touch(run, region);
        break;
    case TRK_EVENT_WATCH:
    case TRK_EVENT_PROTECT:
        if (trk_domain_class(event->domain) != TRK_DOMAIN_PAGES)
            break;
        if (region == TRK_DOMAIN_SHARED) {
            touch_shared(run);
            break;
        }
        (void)run_region(run, region);
        if (event->type == TRK_EVENT_PROTECT || event->pages > 0)
            touch(run, region);
        break;
    default:
        break;
    }
}

static bool by_a_client(enum scenario_verb verb)
{
    return verb == VERB_WATCH || verb == VERB_UNWATCH || verb == VERB_WATCH_MASK ||
           verb == VERB_UNWATCH_MASK;
}

void host_failure(void *context, const struct trk_failure *failure)
{
    struct scenario_run *run = context;
    if (run->current == NULL || run->stopped)
        return;
    struct doing *doing = run->current->doing;
    if (failure->failure_class == TRK_E_WATCH && !by_a_client(doing->op->verb))
        core_design_needs(CORE_DESIGN_COUNTS);
    if (doing->found.failure == TRK_OK)
        doing->found.failure = failure->failure_class;
    if (scenario_expects(doing->op, RESULT_FATAL))
        return;
    char verdict[32];
    if (failure->failure_class == TRK_E_LIVELOCK)
        snprintf(verdict, sizeof verdict, "livelock");
    else
        snprintf(verdict, sizeof verdict, "fatal:%s", trk_status_name(failure->failure_class));
    run_stop(doing, verdict, failure->guest_addr, "%s", failure->text);
}
