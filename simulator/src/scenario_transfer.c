/*
 * Verbs that move bytes: the iterators with their copies, invalidate and its flush, raw copies.
 *
 * Rules: scenario-format, Tracker, Raw data movement and fine print 7, 16.
 */
#include "scenario_run.h"
#include "scenario_tape.h"

/* ---- copies ---------------------------------------------------------------------------------- */

/* Copy mapped bytes of a range between guest memory and the GPU's copy. */
static void copy_range(struct doing *doing, uint64_t guest_addr, uint64_t size_bytes, enum side to)
{
    struct scenario_run *run = doing_run(doing);
    struct world_walk walk = world_walk(&run->world, guest_addr, size_bytes);
    tape_note(run, doing->thread, to == SIDE_GPU ? TAPE_COPY_UP : TAPE_COPY_DOWN, guest_addr,
              size_bytes);
    while (world_next_mapped(&walk)) {
        struct oracle_finding finding = oracle_copy(&run->oracle, walk.part, to);
        if (!finding.found)
            continue;
        uint64_t at = walk.guest_addr - walk.part.first + finding.offset;
        const struct scenario_op *newer = oracle_write_op(&run->oracle, finding.newer);
        tape_finding(run, finding.newer, finding.seen);
        run_stop(doing, to == SIDE_GPU ? "lost-gpu-write" : "lost-cpu-write", at,
                 "byte 0x%llx: an older copy goes over '%s'", (unsigned long long)at,
                 newer != NULL ? newer->text : "a write");
    }
}

/* A reported range goes home; also when its copy is dropped, the GPU's work on it has been. */
static void copy_down(struct doing *doing, uint64_t guest_addr, uint64_t size_bytes)
{
    struct scenario_run *run = doing_run(doing);
    struct world_walk walk = world_walk(&run->world, guest_addr, size_bytes);
    while (world_next_mapped(&walk))
        oracle_order_gpu(&run->oracle, walk.part, oracle_clock(&run->oracle, doing->thread->index));
    if (run_inject(doing->thread, INJECT_DROP_COPY))
        tape_note(run, doing->thread, TAPE_LEFT_DOWN, guest_addr, size_bytes);
    else
        copy_range(doing, guest_addr, size_bytes, SIDE_GUEST);
}

void verb_copy(struct doing *doing)
{
    const struct scenario_op *op = doing->op;
    copy_range(doing, op->guest_addr, op->size_bytes,
               op->verb == VERB_COPY_UP ? SIDE_GPU : SIDE_GUEST);
}

/* ---- upload ---------------------------------------------------------------------------------- */

#define SPAN_DROPPED 1u /* in a reported span's rights: its copy was dropped */

static void upload_range(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    struct doing *doing = context;
    bool first = doing->found.spans.count == 0;
    if (!first)
        run_point(doing->thread, POINT_CALLBACK, 0);
    bool dropped = run_inject(doing->thread, INJECT_DROP_COPY);
    unsigned flags = dropped ? SPAN_DROPPED : 0;
    run_span_scratch(doing->thread, &doing->found.spans,
                     (struct scenario_span){guest_addr, size_bytes, flags});
    if (dropped)
        tape_note(doing_run(doing), doing->thread, TAPE_LEFT_UP, guest_addr, size_bytes);
    else if (doing->op->verb == VERB_UPLOAD)
        copy_range(doing, guest_addr, size_bytes, SIDE_GPU);
    if (first)
        run_nested(doing, true);
}

static void upload_completion(void *context)
{
    struct doing *doing = context;
    if (doing->found.spans.count > 0)
        run_point(doing->thread, POINT_CALLBACK, 0);
    run_nested(doing, false);
    if (doing->op->verb == VERB_UPLOAD)
        return;
    for (size_t i = 0; i < doing->found.spans.count; i++) {
        struct scenario_span span = doing->found.spans.spans[i];
        if (!(span.rights & SPAN_DROPPED))
            copy_range(doing, span.guest_addr, span.size_bytes, SIDE_GPU);
    }
}

void verb_upload(struct doing *doing)
{
    const struct scenario_op *op = doing->op;
    struct trk_transfer upload = {
        .size = sizeof upload,
        .guest_addr = op->guest_addr,
        .size_bytes = op->size_bytes,
        .written = op->written,
        .range = upload_range,
        .completion = upload_completion,
        .context = doing,
    };
    run_status(doing, core_sim->upload(doing_run(doing)->tracker, &upload));
}

/* ---- download and drain ---------------------------------------------------------------------- */

/* Whether the operation's range has a GPU page behind this address: then its run comes later. */
static bool more_to_come(const struct doing *doing, uint64_t guest_addr)
{
    struct scenario_run *run = doing_run(doing);
    uint64_t page = run_page_bytes(run);
    uint64_t end = (doing->op->guest_addr + doing->op->size_bytes + page - 1) & ~(page - 1);
    for (size_t i = 0; i < run->region_count; i++) {
        uint64_t first = trk_region_address(run->regions[i].index);
        uint64_t last = first + TRK_REGION_BYTES < end ? first + TRK_REGION_BYTES : end;
        for (uint64_t at = first > guest_addr ? first : guest_addr; at < last;
             at += SCENARIO_PAGE_BYTES)
            if (core_sim->page(run->tracker, at).gpu_dirty)
                return true;
    }
    return false;
}

static void download_range(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    struct doing *doing = context;
    bool first = doing->found.spans.count == 0;
    if (!first)
        run_point(doing->thread, POINT_CALLBACK, 0);
    run_span_scratch(doing->thread, &doing->found.spans,
                     (struct scenario_span){guest_addr, size_bytes, 0});
    copy_down(doing, guest_addr, size_bytes);
    if (first)
        run_nested(doing, true);
    if (doing->nested_done || !doing->op->has_nested)
        return;
    bool more = more_to_come(doing, guest_addr + size_bytes);
    if (more)
        return;
    doing->nested_done = true;
    run_nested(doing, false);
}

void verb_download(struct doing *doing)
{
    const struct scenario_op *op = doing->op;
    struct trk_transfer download = {
        .size = sizeof download,
        .guest_addr = op->guest_addr,
        .size_bytes = op->size_bytes,
        .clear = op->clear,
        .range = download_range,
        .context = doing,
    };
    if (core_sim->download(doing_run(doing)->tracker, &download) == TRK_OK && !doing->nested_done)
        run_nested(doing, false);
}

void verb_drain(struct doing *doing)
{
    struct trk_transfer drain = {
        .size = sizeof drain,
        .guest_addr = doing->op->guest_addr,
        .size_bytes = doing->op->size_bytes,
        .range = download_range,
        .context = doing,
    };
    run_status(doing, core_sim->drain(doing_run(doing)->tracker, &drain));
}

/* ---- flushes --------------------------------------------------------------------------------- */

/* A range of a flush that is no operation of its own. */
struct flush {
    struct run_thread *thread;
    bool later; /* a range has been reported */
};

static void flush_range(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    struct flush *flush = context;
    if (flush->later)
        run_point(flush->thread, POINT_CALLBACK, 0);
    flush->later = true;
    copy_down(flush->thread->doing, guest_addr, size_bytes);
}

void transfer_flush(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    struct scenario_run *run = context;
    if (run_inject(run->current, INJECT_DROP_FLUSH))
        return;
    struct flush flush = {.thread = run->current};
    struct trk_transfer drain = {
        .size = sizeof drain,
        .guest_addr = guest_addr,
        .size_bytes = size_bytes,
        .range = flush_range,
        .context = &flush,
    };
    run_status(run->current->doing, core_sim->drain(run->tracker, &drain));
}

void transfer_read_back(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    struct scenario_run *run = context;
    if (run_inject(run->current, INJECT_DROP_FLUSH))
        return;
    struct flush flush = {.thread = run->current};
    struct trk_transfer download = {
        .size = sizeof download,
        .guest_addr = guest_addr,
        .size_bytes = size_bytes,
        .clear = true,
        .range = flush_range,
        .context = &flush,
    };
    run_status(run->current->doing, core_sim->download(run->tracker, &download));
}

/* The flush of an invalidate: its nested operations, or the usual one. */
static void invalidate_flush(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    struct doing *doing = context;
    doing->found.number++;
    if (!doing->op->has_nested)
        transfer_flush(doing_run(doing), guest_addr, size_bytes);
    else if (!run_inject(doing->thread, INJECT_DROP_FLUSH))
        run_nested(doing, false);
}

void verb_invalidate(struct doing *doing)
{
    const struct scenario_op *op = doing->op;
    run_status(doing, core_sim->invalidate(doing_run(doing)->tracker, op->guest_addr,
                                           op->size_bytes, invalidate_flush, doing));
}
