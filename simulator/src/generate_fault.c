/*
 * Steps into which a fault is injected, on a thread's own pages, each with what makes it good
 * again: an operation that fails changes nothing, a copy that was dropped is made by hand, bytes
 * that came unseen are reported. After each the model is as if nothing had been.
 */
#include "generate_draft.h"

#include <string.h>

static bool plain_page(struct draft *draft, const struct page_walk *walk)
{
    return walk->page->space == SPACE_MAPPED && walk->page->rights == RIGHTS_RW &&
           walk->page->watches == 0 && !walk->page->read_watch &&
           !model_lot(draft, walk->guest_addr)->armed;
}

/* Pages of one region that are mapped, the guest's to write, and armed by nobody. */
static bool pick_plain(struct draft *draft, struct wish wish, struct span *span)
{
    wish.known = wish.inside = true;
    if (!memory_pick(draft, wish, span))
        return false;
    struct page_walk walk = model_walk(draft, *span);
    while (model_next(&walk))
        if (!plain_page(draft, &walk))
            return false;
    return true;
}

static bool all_alike(struct draft *draft, struct span span, bool cpu, bool gpu)
{
    struct page_walk walk = model_walk(draft, span);
    while (model_next(&walk))
        if (walk.page->cpu != cpu || walk.page->gpu != gpu)
            return false;
    return true;
}

/* ---- protection calls ------------------------------------------------------------------------ */

/* The first call of an operation that makes one is refused: nothing has happened. */
void step_protect_fail(struct draft *draft)
{
    struct span span;
    if (!pick_plain(draft, (struct wish){0}, &span))
        return;
    bool cpu = model_any(draft, span, false), gpu = model_any(draft, span, true);
    if (cpu && !gpu && all_alike(draft, span, true, false) && draft_one_in(draft, 3) &&
        draft_has(draft, FEATURE_GPU) && memory_entry_at(draft, span.guest_addr)->alias == 0) {
        /* The second call of a written upload takes what the first has left; views take more. */
        draft_op(draft, "inject protect-fail 2");
        draft_op_on(draft, "upload", span, " written => fatal protect");
        model_upload(draft, span, false);
        return;
    }
    draft_op(draft, "inject protect-fail 1");
    if (cpu && !gpu)
        draft_op_on(draft, "upload", span, " => fatal protect");
    else if (gpu)
        draft_op_on(draft, draft_one_in(draft, 2) ? "invalidate" : "drain", span,
                    " => fatal protect");
    else if (draft_one_in(draft, 3))
        draft_op_on(draft, "mark_cpu", span, " => fatal protect");
    else if (draft_one_in(draft, 2))
        draft_op_on(draft, "mark_gpu", span, " => fatal protect");
    else
        draft_op_on(draft, "store", span, " 14 => fatal protect");
}

/* ---- flushes, faults, copies ----------------------------------------------------------------- */

void step_drop_flush(struct draft *draft)
{
    struct span span;
    if (!pick_plain(draft, (struct wish){.bytes = true}, &span) ||
        span.guest_addr / draft->policy.page_bytes !=
            (span.guest_addr + 7) / draft->policy.page_bytes)
        return;
    span.size_bytes = 8;
    if (!all_alike(draft, span, false, true))
        return;
    bool load = draft_one_in(draft, 2);
    draft_op(draft, "inject drop-flush");
    if (load) {
        draft_op_on(draft, "load", span, " => faults 2");
        model_leave_gpu(draft, span, false);
    } else if (draft->policy.invalidate == INVALIDATE_PER_REGION) {
        draft_op_on(draft, "store", span, " 15 => faults 2");
        model_to_cpu(draft, span);
    } else {
        bool hle = draft_has(draft, FEATURE_HLE) && draft_one_in(draft, 2);
        draft_op_on(draft, hle ? "hle_write" : "invalidate", span,
                    hle ? " 15 => fatal retained" : " => fatal retained");
    }
}

/* A store that nobody saw is reported afterwards. */
void step_lose_fault(struct draft *draft)
{
    struct span span;
    if (!pick_plain(draft, (struct wish){.bytes = true}, &span) ||
        !all_alike(draft, span, false, false))
        return;
    draft_op(draft, "inject lose-fault");
    draft_op_on(draft, "store", span, " 16 => silent");
    draft_op_on(draft, "mark_cpu", span, " => ok");
    model_to_cpu(draft, span);
}

void step_drop_copy(struct draft *draft)
{
    struct span span;
    if (!pick_plain(draft, (struct wish){.whole = true}, &span))
        return;
    if (model_count_ranges(draft, span, false) == 1 && !model_any(draft, span, true)) {
        draft_op(draft, "inject drop-copy");
        draft_op_on(draft, "upload", span, "");
        draft_op_on(draft, "mark_cpu", span, " => ok");
        model_to_cpu(draft, span);
    } else if (all_alike(draft, span, false, true)) {
        bool drain = draft_one_in(draft, 2);
        draft_op(draft, "inject drop-copy");
        draft_op_on(draft, drain ? "drain" : "download", span, drain ? "" : " clear");
        draft_op_on(draft, "copy_down", span, "");
        model_leave_gpu(draft, span, drain);
    }
}

/* Work that completes late, on pages that stay the GPU's until it has. */
void step_delay(struct draft *draft)
{
    struct span span;
    if (!draft_has(draft, FEATURE_GPU) || !pick_plain(draft, (struct wish){.whole = true}, &span))
        return;
    draft_op(draft, "inject delay-gpu");
    draft_begin(draft);
    draft_say(draft, "upload ");
    draft_say_span(draft, span);
    draft_say(draft, " written { gpu_write ");
    draft_say_span(draft, span);
    draft_say(draft, " 17 }");
    model_say_ranges(draft, span, false);
    draft_end(draft);
    model_upload(draft, span, true);
    draft_op_on(draft, "is_gpu", span, " => 1");
    if (draft_one_in(draft, 2))
        draft_op_on(draft, "gpu_read", span, " => 17");
    draft_op(draft, "frame");
}
