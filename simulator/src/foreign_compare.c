/*
 * What a core did of a foreign tracker's operation, held against the log.
 */
#include "foreign_core_inside.h"

#include <stdio.h>

#include "simulator/core.h"
#include "story.h"
#include "track/pages.h"

void foreign_core_diverge(struct run *run, const struct foreign_ending *ending,
                          const char *recorded, const char *executed)
{
    const struct foreign_operation *operation = ending->operation;
    const struct trk_trace_event *event = ending->event;
    story_set(run, TRK_VERDICT_DIVERGENCE, operation->event, event->stream, event->number);
    story_range(run, operation->guest_addr, operation->size_bytes);
    story_detail(run, "not what the policy does");
    story_text(run, "%s " STORY_SPAN " of foreign tracker %u: recorded %s; the core did %s",
               trk_op_name(operation->op), operation->guest_addr, operation->size_bytes,
               operation->tracker, recorded, executed);
    story_add(run, operation->event, event->stream, "%s " STORY_SPAN, trk_op_name(operation->op),
              operation->guest_addr, operation->size_bytes);
    story_add(run, event->number, event->stream, "recorded: %s", recorded);
    story_add(run, event->number, event->stream, "executed: %s", executed);
    run->report->divergences = 1;
    run->foreign.broken_core = true;
    run->stopped = true;
}

void foreign_core_deadlock(struct run *run, const struct foreign_ending *ending)
{
    const struct foreign_operation *operation = ending->operation;
    const struct trk_trace_event *event = ending->event;
    story_set(run, TRK_VERDICT_DEADLOCK, operation->event, event->stream, event->number);
    story_range(run, operation->guest_addr, operation->size_bytes);
    story_detail(run, "the core waits for itself");
    story_text(run,
               "%s " STORY_SPAN
               " of foreign tracker %u: the core waits for a lock that it has taken "
               "itself, now or before, and has not given back",
               trk_op_name(operation->op), operation->guest_addr, operation->size_bytes,
               operation->tracker);
    story_add(run, operation->event, event->stream, "%s " STORY_SPAN ", which the core never ends",
              trk_op_name(operation->op), operation->guest_addr, operation->size_bytes);
    run->foreign.broken_core = true;
    run->stopped = true;
}

static const char *rights_words(unsigned rights)
{
    return rights & TRK_RIGHT_WRITE ? "stores" : rights & TRK_RIGHT_READ ? "loads" : "nobody";
}

static const char *states_words(unsigned states)
{
    return states == FOREIGN_CPU   ? "the CPU's"
           : states == FOREIGN_GPU ? "the GPU's"
           : states == 0           ? "clean"
                                   : "both sides'";
}

/* Whose a page is, where the log leaves no doubt. */
static void compare_state(struct run *run, const struct foreign_ending *ending,
                          const struct foreign_page *page, const struct trk_page_view *view,
                          uint64_t at)
{
    unsigned its = (view->cpu_dirty ? FOREIGN_CPU : 0) | (view->gpu_dirty ? FOREIGN_GPU : 0);
    unsigned states = page->states == FOREIGN_CLEAN ? 0 : page->states;
    char recorded[96], executed[96];
    if ((page->states & (page->states - 1)) != 0 || its == states)
        return;
    snprintf(recorded, sizeof recorded, "page %#" PRIx64 " is %s", at, states_words(states));
    snprintf(executed, sizeof executed, "say that it is %s", states_words(its));
    foreign_core_diverge(run, ending, recorded, executed);
}

/*
 * What was handed over of a page: all of it, as the interface has it, or what the log has. false:
 * it is another part.
 */
static bool compare_handed(struct run *run, const struct foreign_core *core,
                           const struct foreign_ending *ending, const struct foreign_page *page,
                           uint64_t at)
{
    uint64_t end = at + core->page_bytes;
    uint64_t bytes = foreign_runs_bytes(&core->runs, at, end);
    bool handed = page->handed > ending->operation->event, again = bytes > 0;
    char recorded[96], executed[96];
    if (handed == again && (bytes == 0 || bytes == core->page_bytes ||
                            foreign_runs_agree(&core->runs, ending->handed, at, end)))
        return true;
    snprintf(recorded, sizeof recorded, "page %#" PRIx64 " %shanded over", at,
             handed ? "" : "not ");
    if (handed && again)
        snprintf(executed, sizeof executed, "hand over %" PRIu64 " of its %" PRIu64 " bytes", bytes,
                 core->page_bytes);
    else
        snprintf(executed, sizeof executed, "%shand it over", again ? "" : "not ");
    foreign_core_diverge(run, ending, recorded, executed);
    return false;
}

static bool transfers_noted(const struct run *run, const struct foreign_ending *ending)
{
    const struct foreign_operation *operation = ending->operation;
    bool transfers = operation->op == TRK_OP_UPLOAD || operation->op == TRK_OP_DOWNLOAD ||
                     operation->op == TRK_OP_DRAIN;
    return transfers && run->foreign.trackers[operation->tracker].notes & TRK_NOTES_HANDED;
}

/* What no page of the range shows: bytes that come twice, runs of nothing, and other pages. */
static void compare_runs(struct run *run, struct foreign_core *core,
                         const struct foreign_ending *ending, const struct foreign_range *range)
{
    struct foreign_runs *theirs = ending->handed, *its = &core->runs;
    const struct span below = {0, range->first * core->page_bytes};
    const struct span above = {range->end * core->page_bytes,
                               UINT64_MAX - range->end * core->page_bytes};
    uint64_t at = 0, other = 0;
    char executed[96];
    foreign_runs_sort(its);
    foreign_runs_sort(theirs);
    bool same = foreign_runs_same(its, theirs);
    if (!same && foreign_runs_twice(its, &at) && !foreign_runs_twice(theirs, &other)) {
        snprintf(executed, sizeof executed, "hand %#" PRIx64 " over twice", at);
        foreign_core_diverge(run, ending, "no byte handed over twice", executed);
    } else if (!same && foreign_runs_empty(its, &at) && !foreign_runs_empty(theirs, &other)) {
        snprintf(executed, sizeof executed, "hand over 0 bytes at %#" PRIx64, at);
        foreign_core_diverge(run, ending, "no run without a byte handed over", executed);
    }
    foreign_runs_join(its);
    foreign_runs_join(theirs);
    if (!run->stopped && (foreign_runs_more(its, theirs, below, &at) ||
                          foreign_runs_more(its, theirs, above, &at))) {
        snprintf(executed, sizeof executed, "hand over %#" PRIx64 ", which is outside", at);
        foreign_core_diverge(run, ending, "only pages of the range handed over", executed);
    }
}

/* Whose a page is and what the host lets through of it afterwards. */
static void compare_page(struct run *run, const struct foreign_core *core,
                         const struct foreign_ending *ending, uint64_t number)
{
    const struct foreign_operation *operation = ending->operation;
    unsigned notes = run->foreign.trackers[operation->tracker].notes;
    const struct foreign_page *page =
        foreign_pages_find(&run->foreign.pages, operation->tracker, number);
    uint64_t at = number * core->page_bytes;
    char recorded[96], executed[96];
    if (page == NULL)
        return;
    if (transfers_noted(run, ending) && !core->runs.lost && !ending->handed->lost &&
        !compare_handed(run, core, ending, page, at))
        return;
    struct trk_page_view view = core_live->page(core->tracker, at);
    unsigned rights = view.host_rights & TRK_RIGHTS_RW;
    if (foreign_rules_change(operation) && notes & TRK_NOTES_PROTECTION && page->rights_known &&
        rights != page->rights) {
        snprintf(recorded, sizeof recorded, "page %#" PRIx64 " open to %s", at,
                 rights_words(page->rights));
        snprintf(executed, sizeof executed, "leave it open to %s", rights_words(rights));
        foreign_core_diverge(run, ending, recorded, executed);
    } else {
        compare_state(run, ending, page, &view, at);
    }
}

/* A fault's outcome, or a status, in words. */
const char *foreign_core_outcome(enum trk_status status, bool fault)
{
    if (fault && status == TRK_E_INCOMPLETE)
        return "unhandled";
    return fault && status == TRK_E_CONFLICT ? "retry, which changes nothing, and changed the page"
                                             : trk_status_name(status);
}

/* Whether the operation was refused in words, and its status is another. */
bool foreign_core_belied(const struct foreign_core *core, enum trk_status status, bool fault)
{
    return core->refused && (status == TRK_OK || (!fault && status != core->refusal));
}

void foreign_core_diverge_belied(struct run *run, const struct foreign_core *core,
                                 const struct foreign_ending *ending, enum trk_status status)
{
    bool fault = ending->operation->op == TRK_OP_FAULT;
    char executed[96];
    snprintf(executed, sizeof executed, "refuse it (%s), and end with %s",
             core->refusal == TRK_OK ? "for nothing" : trk_status_name(core->refusal),
             fault && status == TRK_OK ? "served" : foreign_core_outcome(status, fault));
    foreign_core_diverge(
        run, ending,
        fault ? "served" : trk_status_name((enum trk_status)ending->event->event.flags), executed);
}

/* Run again, it came to the same end. */
void foreign_core_compare(struct run *run, struct foreign_core *core,
                          const struct foreign_ending *ending, const struct foreign_range *range)
{
    if (transfers_noted(run, ending) && !core->runs.lost && !ending->handed->lost)
        compare_runs(run, core, ending, range);
    for (uint64_t i = range->first; i < range->end && !run->stopped; i++)
        compare_page(run, core, ending, i);
    if (!run->stopped && foreign_core_belied(core, TRK_OK, false))
        foreign_core_diverge_belied(run, core, ending, TRK_OK); /* asked how its pages are */
}
