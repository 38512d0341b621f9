/*
 * Foreign trackers: what must hold of a page when an operation has ended.
 */
#include "foreign_rules.h"

#include "run.h"
#include "story.h"

static void tell_state(struct run *run, const struct foreign_page *page)
{
    if (page->event != TRK_NOT_KNOWN)
        story_add(run, page->event, page->stream, "the page is %s after %s",
                  page->states == FOREIGN_CPU   ? "the CPU's"
                  : page->states == FOREIGN_GPU ? "the GPU's"
                                                : "not the CPU's",
                  trk_op_name(page->op));
}

static void broken(struct run *run, const struct foreign_ending *ending, uint64_t number,
                   const struct foreign_page *page, struct breach breach)
{
    const struct foreign_operation *operation = ending->operation;
    const struct trk_trace_event *event = ending->event;
    uint64_t page_bytes = run->foreign.trackers[operation->tracker].page_bytes;
    bool loose = breach.kind == TRK_VERDICT_PROTECTION_LOOSE;
    story_set(run, breach.kind, operation->event, event->stream, event->number);
    story_range(run, number * page_bytes, page_bytes);
    story_detail(run, breach.detail);
    story_text(run, "after %s by %s, page %#" PRIx64 " of foreign tracker %u: %s",
               trk_op_name(operation->op), story_stream(run, event->stream).text,
               number * page_bytes, operation->tracker, breach.detail);
    tell_state(run, page);
    if (loose && page->protect != TRK_NOT_KNOWN)
        story_add(run, page->protect, page->protect_stream, "the host lets %s through",
                  page->rights & TRK_RIGHT_WRITE ? "stores" : "loads");
    story_add(run, operation->event, event->stream, "%s " STORY_SPAN, trk_op_name(operation->op),
              operation->guest_addr, operation->size_bytes);
    story_add(run, event->number, event->stream, "it ends");
    run->foreign.broken_rights |= loose;
    run->foreign.broken_states |= !loose;
    run->stopped = true;
}

bool foreign_rules_sure(const struct run *run)
{
    return !run->foreign.limited && !run->windowed && !run_doubtful(run);
}

/* Whether a page was handed over, but not all of it. What became of the rest nobody has noted. */
static bool in_part(const struct run *run, const struct foreign_ending *ending, uint64_t number)
{
    uint64_t page_bytes = run->foreign.trackers[ending->operation->tracker].page_bytes;
    uint64_t bytes =
        foreign_runs_bytes(ending->joined, number * page_bytes, (number + 1) * page_bytes);
    return bytes > 0 && bytes < page_bytes;
}

/* The states after a transfer that has handed over a part of a page. */
static unsigned after_part(const struct foreign_operation *operation, unsigned states)
{
    bool clears = operation->op == TRK_OP_UPLOAD || operation->flags & TRK_OP_FLAG_CLEAR;
    if (operation->op == TRK_OP_UPLOAD && operation->flags & TRK_OP_FLAG_WRITTEN)
        return FOREIGN_GPU;
    return clears ? states | FOREIGN_CLEAN : states;
}

/* The states a page may be in when an operation on it alone has ended well. 0: there is none. */
static unsigned states_after(const struct run *run, const struct foreign_ending *ending,
                             const struct foreign_page *page)
{
    const struct foreign_operation *operation = ending->operation;
    bool notes = run->foreign.trackers[operation->tracker].notes & TRK_NOTES_HANDED;
    bool handed = page->handed > operation->event;
    unsigned states = page->states, moved = states & ~FOREIGN_GPU;
    switch (operation->op) {
    case TRK_OP_MARK_CPU:
    case TRK_OP_INVALIDATE:
    case TRK_OP_UNTRACK:
    case TRK_OP_DRAIN:
    case TRK_OP_HLE_WRITE:
        return operation->op == TRK_OP_DRAIN ? (states & FOREIGN_CLEAN) | FOREIGN_CPU : FOREIGN_CPU;
    case TRK_OP_MARK_GPU:
        return FOREIGN_GPU;
    case TRK_OP_UNMARK_GPU:
        return states & FOREIGN_GPU ? moved | FOREIGN_CLEAN : states;
    case TRK_OP_UPLOAD:
        if (notes && !handed && !(states & ~FOREIGN_CPU))
            return 0;
        if (operation->flags & TRK_OP_FLAG_WRITTEN)
            return FOREIGN_GPU;
        return notes && handed ? FOREIGN_CLEAN
                               : (states & ~FOREIGN_CPU) | (notes ? 0 : FOREIGN_CLEAN);
    case TRK_OP_DOWNLOAD:
        if (notes && !handed && !(states & ~FOREIGN_GPU))
            return 0;
        if (!(operation->flags & TRK_OP_FLAG_CLEAR))
            return states;
        if (notes)
            return handed ? FOREIGN_CLEAN : moved;
        return states & FOREIGN_GPU ? moved | FOREIGN_CLEAN : states;
    case TRK_OP_FAULT:
        if (ending->event->event.argument != TRK_FAULT_SERVED)
            return states;
        if (operation->access == TRK_ACCESS_WRITE)
            return FOREIGN_CPU;
        return states & FOREIGN_GPU ? moved | FOREIGN_CLEAN : states;
    default:
        return states;
    }
}

/* The host lets nothing through that the page's state forbids. */
static void check_rights(struct run *run, const struct foreign_ending *ending, uint64_t number,
                         const struct foreign_page *page)
{
    const struct foreign_tracker *tracker = &run->foreign.trackers[ending->operation->tracker];
    if (!(tracker->notes & TRK_NOTES_PROTECTION))
        return;
    bool closed = !(page->states & FOREIGN_CPU);
    bool dark = page->states == FOREIGN_GPU && tracker->notes & TRK_NOTES_LOADS;
    if (!page->rights_known || !(closed || page->states == FOREIGN_CPU) ||
        !foreign_rules_sure(run)) {
        run->foreign.rights.unknown++;
        return;
    }
    run->foreign.rights.judged++;
    if ((closed && page->rights & TRK_RIGHT_WRITE) || (dark && page->rights & TRK_RIGHT_READ))
        broken(run, ending, number, page,
               (struct breach){TRK_VERDICT_PROTECTION_LOOSE, "host allows more than the state"});
}

bool foreign_rules_change(const struct foreign_operation *operation)
{
    switch (operation->op) {
    case TRK_OP_MARK_CPU:
    case TRK_OP_INVALIDATE:
    case TRK_OP_UNTRACK:
    case TRK_OP_DRAIN:
    case TRK_OP_HLE_WRITE:
    case TRK_OP_MARK_GPU:
    case TRK_OP_UNMARK_GPU:
    case TRK_OP_UPLOAD:
    case TRK_OP_DOWNLOAD:
    case TRK_OP_FAULT:
        return true;
    default:
        return false;
    }
}

/* The state that a question is about; 0: it is none. */
static unsigned asked_of(const struct foreign_operation *operation)
{
    return operation->op == TRK_OP_IS_CPU   ? FOREIGN_CPU
           : operation->op == TRK_OP_IS_GPU ? FOREIGN_GPU
                                            : 0;
}

/* A question that is answered with no, though the page is what was asked for. */
static void check_answer(struct run *run, const struct foreign_ending *ending, uint64_t number,
                         const struct foreign_page *page, bool alone)
{
    struct foreign_count *count = &run->foreign.states;
    bool yes = ending->event->event.argument != 0; /* more than is so is no harm */
    bool judged = !yes && alone && page->states != FOREIGN_ANY && foreign_rules_sure(run);
    count->judged += judged;
    count->unknown += !judged;
    if (judged && page->states == asked_of(ending->operation))
        broken(run, ending, number, page,
               (struct breach){TRK_VERDICT_ILLEGAL_STATE, "a question answered with no"});
}

static bool transfers(const struct foreign_operation *operation)
{
    return operation->op == TRK_OP_UPLOAD || operation->op == TRK_OP_DOWNLOAD;
}

/* Transfers say which pages they found in a state. */
static void count_transfer(struct run *run, const struct foreign_operation *operation,
                           const struct foreign_page *page, bool certain)
{
    if (!transfers(operation))
        return;
    bool notes = run->foreign.trackers[operation->tracker].notes & TRK_NOTES_HANDED;
    bool judged = notes && certain && page->states != FOREIGN_ANY && foreign_rules_sure(run);
    run->foreign.states.judged += judged;
    run->foreign.states.unknown += !judged;
}

void foreign_rules_page(struct run *run, const struct foreign_ending *ending, uint64_t number,
                        struct foreign_page *page, bool alone)
{
    const struct foreign_operation *operation = ending->operation;
    bool refused = operation->op != TRK_OP_FAULT && ending->event->event.flags != TRK_OK;
    if (asked_of(operation) != 0 && !refused)
        check_answer(run, ending, number, page, alone);
    if (!foreign_rules_change(operation))
        return;
    bool part = transfers(operation) && in_part(run, ending, number);
    count_transfer(run, operation, page, alone && !part);
    if (!alone) {
        page->states = FOREIGN_ANY;
        return;
    }
    if (refused)
        return; /* nothing has changed */
    unsigned after = part ? after_part(operation, page->states) : states_after(run, ending, page);
    if (after == 0 && foreign_rules_sure(run)) {
        broken(run, ending, number, page,
               (struct breach){TRK_VERDICT_ILLEGAL_STATE, operation->op == TRK_OP_UPLOAD
                                                              ? "left dirty by an upload"
                                                              : "left to the GPU by a download"});
        return;
    }
    if (after != page->states) {
        page->states = (uint8_t)(after == 0 ? FOREIGN_ANY : after);
        page->event = ending->event->number;
        page->stream = ending->event->stream;
        page->op = operation->op;
    }
    check_rights(run, ending, number, page);
}
