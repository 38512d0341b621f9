/*
 * Steps that are right on shared pages too, in every order; on a thread's own pages what must come
 * out stands behind them.
 *
 * A draw's upload and the read or write that it is for make one step: nothing that orders other
 * threads' work stands between them (scenario-format, fine print 19).
 */
#include "generate_draft.h"

#include <inttypes.h>

static uint32_t value(struct draft *draft)
{
    return 1 + draft_below(draft, 9);
}

static void say_ranges(struct draft *draft, struct span span, bool gpu)
{
    if (span.known)
        model_say_ranges(draft, span, gpu);
}

void step_access(struct draft *draft)
{
    struct span span;
    bool store = !draft_one_in(draft, 3);
    if (!memory_pick(draft, (struct wish){.bytes = !draft_one_in(draft, 6), .plain = true}, &span))
        return;
    struct access_found found = model_access(draft, span, store);
    if (found.endless)
        return;
    draft_begin(draft);
    draft_say(draft, store ? "store " : "load ");
    draft_say_span(draft, memory_view(draft, span));
    if (store)
        draft_say(draft, " %u", value(draft));
    if (span.known && found.unhandled)
        draft_say(draft, " => unhandled, faults %u", found.faults);
    else if (span.known)
        draft_say(draft, " => faults %u", found.faults);
    draft_end(draft);
}

void step_hle(struct draft *draft)
{
    struct span span;
    if (!memory_pick(draft, (struct wish){.bytes = !draft_one_in(draft, 4), .plain = true}, &span))
        return;
    draft_begin(draft);
    draft_say(draft, "hle_write ");
    draft_say_span(draft, memory_view(draft, span));
    draft_say(draft, " %u => %s", value(draft), model_hle(draft, span) ? "ok" : "denied");
    draft_end(draft);
}

/* A part of a range that a draw touches: all of it, or a few bytes. */
static struct span part_of(struct draft *draft, struct span span)
{
    if (span.size_bytes > 16 && draft_one_in(draft, 2)) {
        span.guest_addr += draft_one_in(draft, 2) ? 8 : 0;
        span.size_bytes = 8;
    }
    return span;
}

void step_upload(struct draft *draft)
{
    struct span span;
    if (!memory_pick(draft, (struct wish){0}, &span))
        return;
    struct span part = part_of(draft, span);
    bool inside = draft_has(draft, FEATURE_NESTED) && draft_one_in(draft, 2);
    draft_begin(draft);
    draft_say(draft, "upload ");
    draft_say_span(draft, span);
    if (inside) {
        draft_say(draft, " { gpu_read ");
        draft_say_span(draft, part);
        draft_say(draft, " }");
    }
    say_ranges(draft, span, false);
    draft_end(draft);
    model_upload(draft, span, false);
    if (inside)
        return;
    draft_op_on(draft, "gpu_read", part, "");
}

/* Whether a GPU write to the range is right now, whoever else runs; counts it. */
static bool may_write(struct draft *draft, struct span span)
{
    if (!draft_has(draft, FEATURE_GPU))
        return false;
    if (span.known)
        return true;
    if (draft->policy.invalidate == INVALIDATE_STRICT || draft->shared_gpu == SHARED_GPU_MOST)
        return false;
    draft->shared_gpu++;
    return true;
}

void step_draw(struct draft *draft)
{
    struct span span;
    if (!memory_pick(draft, (struct wish){0}, &span) || !may_write(draft, span))
        return;
    draft_begin(draft);
    draft_say(draft, "upload ");
    draft_say_span(draft, span);
    draft_say(draft, " written { ");
    if (draft_one_in(draft, 3)) {
        draft_say(draft, "gpu_read ");
        draft_say_span(draft, part_of(draft, span));
        draft_say(draft, " ; ");
    }
    draft_say(draft, "gpu_write ");
    draft_say_span(draft, part_of(draft, span));
    draft_say(draft, " %u }", value(draft));
    say_ranges(draft, span, false);
    draft_end(draft);
    model_upload(draft, span, true);
}

/* A page of the GPU's whose region is locked in the last callback: of one at a time, the last. */
static uint64_t locked_page(struct draft *draft, struct span span)
{
    struct page_walk walk = model_walk(draft, span);
    uint64_t found = 0;
    while (model_next(&walk))
        if (walk.page->gpu && (found == 0 || !draft->policy.all_regions))
            found = walk.guest_addr;
    return found;
}

void step_download(struct draft *draft)
{
    struct span span;
    bool clear = draft_one_in(draft, 2);
    if (!memory_pick(draft, (struct wish){0}, &span))
        return;
    if (span.known && draft_has(draft, FEATURE_GPU) && draft_one_in(draft, 3)) {
        draft_op_on(draft, "upload", span, " written");
        model_upload(draft, span, true);
    }
    uint64_t locked = span.known ? locked_page(draft, span) : 0;
    draft_begin(draft);
    draft_say(draft, "download ");
    draft_say_span(draft, span);
    draft_say(draft, clear ? " clear" : "");
    if (locked != 0 && draft_has(draft, FEATURE_NESTED) && draft_one_in(draft, 2)) {
        draft_say(draft, " { is_cpu ");
        draft_say_addr(draft, locked);
        draft_say(draft, " 1 => fatal lock }");
    }
    say_ranges(draft, span, true);
    draft_end(draft);
    if (clear)
        model_leave_gpu(draft, span, false);
}

void step_drain(struct draft *draft)
{
    struct span span;
    if (!memory_pick(draft, (struct wish){0}, &span))
        return;
    draft_begin(draft);
    draft_say(draft, "drain ");
    draft_say_span(draft, span);
    say_ranges(draft, span, true);
    draft_end(draft);
    model_leave_gpu(draft, span, true);
}

void step_invalidate(struct draft *draft)
{
    struct span span;
    bool nested = draft_has(draft, FEATURE_NESTED) && draft_one_in(draft, 2);
    if (!memory_pick(draft, (struct wish){.inside = nested}, &span))
        return;
    /* Where the flush itself has to hand the pages to the CPU, a download is none. */
    bool download = draft->policy.invalidate != INVALIDATE_PER_REGION && draft_one_in(draft, 2);
    draft_begin(draft);
    draft_say(draft, "invalidate ");
    draft_say_span(draft, span);
    if (nested) {
        draft_say(draft, download ? " { download " : " { frame ; drain ");
        draft_say_span(draft, span);
        draft_say(draft, download ? " clear }" : " }");
    }
    uint32_t flushes = model_invalidate(draft, span);
    if (span.known)
        draft_say(draft, " => flush %u", flushes);
    draft_end(draft);
}

/* A flush after which the GPU has the pages again: never, by `strict`; eight times, by `verify`. */
void step_retake(struct draft *draft)
{
    static const char *const results[] = {" => fatal livelock", " => fatal retained",
                                          " => flush 1"};
    struct span span;
    if (!draft_has(draft, FEATURE_GPU) ||
        !memory_pick(draft, (struct wish){.known = true, .inside = true}, &span))
        return;
    if (!model_any(draft, span, true)) {
        draft_op_on(draft, "upload", span, " written");
    }
    draft_begin(draft);
    draft_say(draft, "invalidate ");
    draft_say_span(draft, span);
    draft_say(draft, " { drain ");
    draft_say_span(draft, span);
    draft_say(draft, " ; upload ");
    draft_say_span(draft, span);
    draft_say(draft, " written }%s", results[draft->policy.invalidate]);
    draft_end(draft);
    model_upload(draft, span, true);
}

void step_query(struct draft *draft)
{
    struct span span;
    bool gpu = draft_one_in(draft, 2);
    if (!memory_pick(draft, (struct wish){.bytes = draft_one_in(draft, 2)}, &span))
        return;
    draft_begin(draft);
    draft_say(draft, gpu ? "is_gpu " : "is_cpu ");
    draft_say_span(draft, span);
    if (span.known)
        draft_say(draft, " => %d", model_any(draft, span, gpu));
    draft_end(draft);
}

/*
 * A read through the backing asks nobody, so the GPU's bytes must be brought home first; of one
 * region, which is locked for that. Over several, a write of the GPU can come between their parts:
 * the later part orders it, and the earlier has not brought it home.
 */
void step_sparse(struct draft *draft)
{
    struct span span;
    if (!memory_pick(draft, (struct wish){.inside = true}, &span))
        return;
    draft_op_on(draft, "download", span, "");
    draft_op_on(draft, "sparse_read", span, "");
}

/* What may not be asked inside an upload's callbacks. */
void step_nested(struct draft *draft)
{
    static const char *const refused[] = {"is_cpu", "is_gpu",   "invalidate",
                                          "upload", "download", "drain"};
    struct span span, other;
    if (!memory_pick(draft, (struct wish){0}, &span) ||
        !memory_pick(draft, (struct wish){.bytes = true}, &other))
        return;
    bool written = draft_one_in(draft, 3) && may_write(draft, span);
    draft_begin(draft);
    draft_say(draft, "upload ");
    draft_say_span(draft, span);
    draft_say(draft, written ? " written { " : " { ");
    if (draft_one_in(draft, 3))
        draft_say(draft, "in_range { frame } ; ");
    for (uint32_t i = 0; i < 2; i++) {
        draft_say(draft, "%s ", refused[draft_below(draft, 6)]);
        draft_say_span(draft, other);
        draft_say(draft, " => fatal reentry ; ");
    }
    draft_say(draft, "gpu_read ");
    draft_say_span(draft, part_of(draft, span));
    draft_say(draft, " }");
    say_ranges(draft, span, false);
    draft_end(draft);
    model_upload(draft, span, written);
}

/* Over regions that nobody has met: only what makes no regions. */
void step_wide(struct draft *draft)
{
    static const char *const words[] = {"invalidate", "drain", "is_gpu", "download"};
    struct span span;
    if (!memory_pick_wide(draft, &span))
        return;
    uint32_t which = draft_below(draft, 4);
    draft_begin(draft);
    draft_say(draft, "%s ", words[which]);
    draft_say_span(draft, span);
    if (which == 0) {
        uint32_t flushes = model_invalidate(draft, span);
        if (span.known)
            draft_say(draft, " => flush %u", flushes);
    } else if (which == 2 && span.known) {
        draft_say(draft, " => %d", model_any(draft, span, true));
    } else if (which != 2) {
        say_ranges(draft, span, true);
    }
    draft_end(draft);
    if (which == 1)
        model_leave_gpu(draft, span, true);
}

/* ---- order ----------------------------------------------------------------------------------- */

/* Threads wait only for events of those before them, so nobody waits in a circle. */
void step_sync(struct draft *draft)
{
    uint32_t which = draft_below(draft, 5);
    if (which == 0 && draft->events < EVENTS_MOST) {
        draft_op(draft, "signal e%u", draft->events++);
    } else if (which == 1 && draft->events_before > 0 && !draft->in_mutex) {
        draft_op(draft, "await e%u", draft_below(draft, draft->events_before));
    } else if (which <= 3 && !draft->in_mutex) {
        uint32_t mutex = draft_below(draft, 2);
        draft->in_mutex = true;
        draft_op(draft, "acquire m%u", mutex);
        for (uint32_t i = 1 + draft_below(draft, 2); i > 0; i--)
            step_any(draft);
        draft_op(draft, "release m%u => ok", mutex);
        draft->in_mutex = false;
    } else {
        draft_op(draft, "frame");
    }
}

void step_lock(struct draft *draft)
{
    static const char *const words[] = {"is_cpu", "is_gpu", "mark_cpu", "drain"};
    struct span span;
    if (!memory_pick(draft, (struct wish){.bytes = true, .inside = true}, &span))
        return;
    if (draft_one_in(draft, 4)) {
        draft_begin(draft);
        draft_say(draft, "unlock ");
        draft_say_addr(draft, span.guest_addr);
        draft_say(draft, " => fatal lock");
        draft_end(draft);
        return;
    }
    const struct draft_entry *entry = &draft->entries[0]; /* over a border, if any is */
    uint64_t next = (entry->guest_addr / REGION_BYTES + 1) * REGION_BYTES;
    if (next < memory_entry_end(draft, entry) && !draft_one_in(draft, 3)) {
        draft_op(draft, "lock 0x%" PRIx64 " => ok", next - 1);
        draft_op(draft, "repeat 3 { frame }");
        draft_op(draft, "lock 0x%" PRIx64 " => ok", next);
        draft_op(draft, "unlock 0x%" PRIx64 " => ok", next - 1);
        draft_op(draft, "unlock 0x%" PRIx64 " => ok", next);
        return;
    }
    const char *words_now[] = {"lock", words[draft_below(draft, 4)], "unlock"};
    for (uint32_t i = 0; i < 3; i++) {
        draft_begin(draft);
        draft_say(draft, "%s ", words_now[i]);
        draft_say_addr(draft, span.guest_addr);
        draft_say(draft, i == 1 ? " 1 => fatal lock" : " => ok");
        draft_end(draft);
    }
}

void step_refused(struct draft *draft)
{
    static const char *const words[] = {"is_cpu",     "is_gpu",     "mark_cpu", "mark_gpu",
                                        "unmark_gpu", "untrack",    "upload",   "download",
                                        "drain",      "invalidate", "watch",    "unwatch"};
    static const char *const ranges[] = {"A 0", "0 1", "0 2P", "1TiB-1P 2P", "1TiB 1", "8TiB-8 16"};
    /* One after the other: of two arguments each compiler takes another first. */
    uint32_t word = draft_below(draft, 12), range = draft_below(draft, 6);
    draft_op(draft, "%s %s => fatal range", words[word], ranges[range]);
}
