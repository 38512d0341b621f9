/*
 * Steps on a thread's own pages only: what other threads could spoil, or what they would have to
 * agree on first.
 */
#include "generate_draft.h"

#include <inttypes.h>

static const struct wish own = {.known = true};

void step_mark(struct draft *draft)
{
    struct span span;
    if (!memory_pick(draft, own, &span))
        return;
    if (draft_one_in(draft, 2)) {
        bool conflict = model_any(draft, span, true);
        draft_op_on(draft, "mark_cpu", span, conflict ? " => fatal conflict" : " => ok");
        if (!conflict)
            model_to_cpu(draft, span);
    } else {
        bool conflict = model_any(draft, span, false);
        draft_op_on(draft, "mark_gpu", span, conflict ? " => fatal conflict" : " => ok");
        if (!conflict)
            model_upload(draft, span, true);
    }
}

void step_untrack(struct draft *draft)
{
    struct span span;
    if (!memory_pick(draft, own, &span))
        return;
    if (draft_one_in(draft, 2)) {
        draft_op_on(draft, "drain", span, "");
        model_leave_gpu(draft, span, true);
    }
    bool refused = model_any(draft, span, true);
    draft_op_on(draft, "untrack", span, refused ? " => fatal untrack" : " => ok");
    if (!refused)
        model_to_cpu(draft, span);
}

void step_unmark(struct draft *draft)
{
    struct span span;
    if (!memory_pick(draft, own, &span))
        return;
    draft_op_on(draft, "download", span, "");
    draft_op_on(draft, "unmark_gpu", span, " => ok");
    model_leave_gpu(draft, span, false);
}

static bool all_gpu(struct draft *draft, struct span span)
{
    struct page_walk walk = model_walk(draft, span);
    while (model_next(&walk))
        if (!walk.page->gpu)
            return false;
    return true;
}

/* GPU work on pages that the GPU has. */
void step_gpu(struct draft *draft)
{
    struct span span;
    if (!memory_pick(draft, (struct wish){.known = true, .bytes = true}, &span))
        return;
    if (draft_has(draft, FEATURE_GPU) && all_gpu(draft, span))
        draft_op_on(draft, "gpu_write", span, draft_one_in(draft, 2) ? " 10" : " 11");
    else if (!model_any(draft, span, false))
        draft_op_on(draft, "gpu_read", span, "");
}

static void say_kernel(struct draft *draft, struct span span, uint64_t taken)
{
    if (taken == span.size_bytes)
        draft_say(draft, " => ok");
    else if (taken == 0)
        draft_say(draft, " => efault");
    else
        draft_say(draft, " => short %" PRIu64, taken);
    draft_end(draft);
}

static bool open_to_all(struct draft *draft, struct span span)
{
    struct page_walk walk = model_walk(draft, span);
    while (model_next(&walk))
        if (!walk.page->cpu || walk.page->space != SPACE_MAPPED ||
            model_lot(draft, walk.guest_addr)->armed)
            return false;
    return true;
}

void step_kernel(struct draft *draft)
{
    struct span span;
    if (!memory_pick(draft, (struct wish){.known = true, .bytes = !draft_one_in(draft, 3)}, &span))
        return;
    switch (draft_below(draft, 3)) {
    case 0:
        if (open_to_all(draft, span))
            draft_op_on(draft, "raw_write", memory_view(draft, span), " 12");
        break;
    case 1:
        draft_begin(draft);
        draft_say(draft, "sys_read ");
        draft_say_span(draft, memory_view(draft, span));
        draft_say(draft, " 13");
        say_kernel(draft, span, model_kernel(draft, span, RIGHT_WRITE));
        break;
    default:
        draft_begin(draft);
        draft_say(draft, "sys_write ");
        draft_say_span(draft, memory_view(draft, span));
        say_kernel(draft, span, model_kernel(draft, span, RIGHT_READ));
        break;
    }
}

/* Copies that happen at the end: nobody may have touched the pages in between. */
void step_at_end(struct draft *draft)
{
    struct span span;
    if (!memory_pick(draft, own, &span))
        return;
    bool written = draft_has(draft, FEATURE_GPU) && draft_one_in(draft, 3);
    draft_begin(draft);
    draft_say(draft, "upload_at_end ");
    draft_say_span(draft, span);
    draft_say(draft, written ? " written" : "");
    if (draft_has(draft, FEATURE_NESTED) && draft_one_in(draft, 2)) {
        draft_say(draft, " { is_gpu ");
        draft_say_span(draft, span);
        draft_say(draft, " => fatal reentry }");
    }
    model_say_ranges(draft, span, false);
    draft_end(draft);
    model_upload(draft, span, written);
    draft_op_on(draft, "gpu_read", span, "");
}

/* The first and the last page of a range, as the host has them. */
void step_prot(struct draft *draft)
{
    struct span span;
    if (!memory_pick(draft, own, &span))
        return;
    model_op_prot(draft, span.guest_addr);
    if (span.size_bytes > draft->policy.page_bytes)
        model_op_prot(draft, span.guest_addr + span.size_bytes - 1);
}

/* ---- the page manager ------------------------------------------------------------------------ */

static void count_watches(struct draft *draft, struct span span, int by)
{
    struct page_walk walk = model_walk(draft, span);
    while (model_next(&walk))
        walk.page->watches = (uint8_t)(walk.page->watches + by);
}

/* What a watched range still goes through; no store, which would fault for ever. */
static void amid_watches(struct draft *draft, struct span span)
{
    switch (draft_below(draft, 4)) {
    case 0:
        draft_op_on(draft, "upload", span, "");
        model_upload(draft, span, false);
        break;
    case 1:
        draft_op_on(draft, "invalidate", span, "");
        (void)model_invalidate(draft, span);
        break;
    case 2:
        draft_op_on(draft, "drain", span, "");
        model_leave_gpu(draft, span, true);
        break;
    default:
        break;
    }
    model_op_prot(draft, span.guest_addr);
}

void step_watch(struct draft *draft)
{
    struct span span;
    if (!memory_pick(draft, own, &span))
        return;
    bool twice = draft_one_in(draft, 2);
    draft_op_on(draft, "watch", span, " => ok");
    count_watches(draft, span, 1);
    amid_watches(draft, span);
    if (twice) {
        draft_op_on(draft, "watch", span, " => ok");
        count_watches(draft, span, 1);
        amid_watches(draft, span);
        draft_op_on(draft, "unwatch", span, " => ok");
        count_watches(draft, span, -1);
        model_op_prot(draft, span.guest_addr);
    }
    draft_op_on(draft, "unwatch", span, " => ok");
    count_watches(draft, span, -1);
    model_op_prot(draft, span.guest_addr);
    if (!model_any(draft, span, true) && model_any(draft, span, false) && span.size_bytes == 1)
        draft_op_on(draft, "unwatch", span, " => fatal watch");
}

static void say_mask(struct draft *draft, const char *word, struct span span, bool read,
                     const char *result)
{
    uint64_t base = span.guest_addr / REGION_BYTES * REGION_BYTES;
    uint64_t page = draft->policy.page_bytes, end = span.guest_addr + span.size_bytes;
    uint64_t first = ((span.guest_addr & ~(page - 1)) - base) / HOST_PAGE_BYTES;
    uint64_t last = (((end + page - 1) & ~(page - 1)) - base) / HOST_PAGE_BYTES - 1;
    draft_begin(draft);
    draft_say(draft, "%s 0x%" PRIx64 " {%" PRIu64 "-%" PRIu64 "} %c%s", word, base, first, last,
              read ? 'r' : 'w', result);
    draft_end(draft);
}

/* The most watches that a page can have, and one more. */
void step_watch_full(struct draft *draft)
{
    struct span span;
    if (!memory_pick(draft, (struct wish){.known = true, .whole = true, .inside = true}, &span))
        return;
    /* A page that is not the CPU's has the tracker's own. */
    struct page_walk walk = model_walk(draft, span);
    uint32_t most = 127;
    while (model_next(&walk))
        most = walk.page->cpu ? most : 126;
    draft_begin(draft);
    draft_say(draft, "repeat %u { watch ", most);
    draft_say_span(draft, span);
    draft_say(draft, " }");
    draft_end(draft);
    draft_op_on(draft, "watch", span, " => fatal watch");
    say_mask(draft, "watch_mask", span, false, " => fatal watch");
    draft_begin(draft);
    draft_say(draft, "repeat %u { unwatch ", most);
    draft_say_span(draft, span);
    draft_say(draft, " => ok }");
    draft_end(draft);
    model_op_prot(draft, span.guest_addr);
}

void step_watch_mask(struct draft *draft)
{
    struct span span;
    if (!memory_pick(draft, (struct wish){.known = true, .inside = true}, &span))
        return;
    bool read = !model_any(draft, span, true) && draft_one_in(draft, 2);
    struct page_walk walk = model_walk(draft, span);
    say_mask(draft, "watch_mask", span, read, " => ok");
    count_watches(draft, span, !read);
    while (model_next(&walk))
        walk.page->read_watch = read;
    model_op_prot(draft, span.guest_addr);
    model_op_prot(draft, span.guest_addr + span.size_bytes - 1);
    say_mask(draft, "unwatch_mask", span, read, " => ok");
    count_watches(draft, span, -!read);
    walk = model_walk(draft, span);
    while (model_next(&walk))
        walk.page->read_watch = false;
    model_op_prot(draft, span.guest_addr);
}
