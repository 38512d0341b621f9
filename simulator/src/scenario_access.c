/*
 * Verbs of guest, kernel and emulator accesses to memory.
 *
 * Rules: scenario-format, Guest and host memory, Injected faults and fine print 8, 12, 14, 16.
 */
#include "core_design.h"
#include "footprint.h"
#include "scenario_run.h"
#include "scenario_tape.h"
#include "track/hle.h"

/* ---- bytes ----------------------------------------------------------------------------------- */

static void stop_stale(struct doing *doing, enum side side, uint64_t guest_addr,
                       struct oracle_finding finding)
{
    const struct oracle *oracle = &doing_run(doing)->oracle;
    const struct scenario_op *newer = oracle_write_op(oracle, finding.newer);
    const struct scenario_op *seen = oracle_write_op(oracle, finding.seen);
    tape_finding(doing_run(doing), finding.newer, finding.seen);
    tape_note(doing_run(doing), doing->thread, TAPE_READ, guest_addr, 1);
    run_stop(doing, side == SIDE_GPU ? "stale-gpu-read" : "stale-cpu-read", guest_addr,
             "byte 0x%llx: sees '%s', but '%s' is newer and ordered before it",
             (unsigned long long)guest_addr, seen != NULL ? seen->text : "the fill of the mapping",
             newer != NULL ? newer->text : "a write");
}

void access_read(struct doing *doing, uint64_t guest_addr, uint64_t size_bytes, enum side side)
{
    struct scenario_run *run = doing_run(doing);
    struct world_walk walk = world_walk(&run->world, guest_addr, size_bytes);
    uint64_t taken = 0;
    while (world_next_mapped(&walk)) {
        struct oracle_finding finding =
            oracle_read(&run->oracle, walk.part, side, doing->thread->index);
        if (finding.found)
            stop_stale(doing, side, walk.guest_addr - walk.part.first + finding.offset, finding);
        /* A cell's bytes are alike. */
        for (uint32_t at = walk.part.first; at < walk.part.first + walk.part.size;
             at = oracle_cell_end(&run->oracle, at))
            found_value(&doing->found, frame_byte(&run->oracle, walk.page->frame, side, at));
        taken += walk.part.size;
    }
    if (taken < size_bytes)
        found_value(&doing->found, 0); /* holes */
}

void access_write(struct doing *doing, uint64_t guest_addr, uint64_t size_bytes, enum side side)
{
    struct scenario_run *run = doing_run(doing);
    struct world_walk walk = world_walk(&run->world, guest_addr, size_bytes);
    uint32_t write = 0;
    tape_note(run, doing->thread, side == SIDE_GPU ? TAPE_GPU_WRITE : TAPE_STORE, guest_addr,
              size_bytes);
    while (world_next_mapped(&walk)) {
        if (write == 0)
            write =
                oracle_write_begin(&run->oracle, doing->thread->index, side == SIDE_GPU, doing->op);
        oracle_write(&run->oracle, walk.part, side, write, (uint8_t)doing->op->value);
    }
}

/* ---- faults ---------------------------------------------------------------------------------- */

/* The first byte of a range whose page lacks a right at the host; false: all pages have it. */
static bool first_closed(const struct scenario_run *run, uint64_t guest_addr, uint64_t size_bytes,
                         unsigned right, uint64_t *out)
{
    uint64_t end = guest_addr + size_bytes;
    struct world_walk walk = world_walk(&run->world, guest_addr, size_bytes);
    for (uint64_t at = guest_addr; at < end; at = walk.at) {
        if (!world_next(&walk) || walk.guest_addr != at || !(walk.page->host_rights & right)) {
            *out = at;
            return true;
        }
    }
    return false;
}

/* A load that the guest may do has met a closed page. What a client closed to loads is its own. */
static void note_closed_load(const struct scenario_run *run, uint64_t guest_addr)
{
    const struct world_page *page = world_page_at(&run->world, guest_addr);
    if (!core_design_asked() || page == NULL || page->state != PAGE_MAPPED ||
        (page->guest_rights & ~page->host_rights & TRK_RIGHT_READ) == 0 ||
        !run_tracked(run, guest_addr, 1))
        return;
    struct trk_page_view view = core_sim->page(run->tracker, guest_addr);
    if (view.gpu_dirty || !view.read_watch)
        core_design_needs(CORE_DESIGN_LOADS);
}

/*
 * Whether the bytes that a fault is taken to touch are the GPU's, but some are not mapped: of such
 * the tracker does not know.
 */
static bool fault_in_hole(const struct scenario_run *run, uint64_t guest_addr)
{
    uint64_t width = run->scenario->policy.core.fault_width_bytes;
    if (!run_tracked(run, guest_addr, width))
        width = 1;
    return !world_all(&run->world, guest_addr, width, PAGE_MAPPED);
}

/* What the tracker knows of a page, through a registered view of all registered ones. */
struct fault_views {
    bool gpu, armed;
};

static struct fault_views look_at_views(const struct scenario_run *run, uint64_t guest_addr)
{
    struct fault_views found = {0};
    if (!run_tracked(run, guest_addr, 1))
        return found;
    struct trk_page_view view = core_sim->page(run->tracker, guest_addr);
    found = (struct fault_views){view.gpu_dirty, view.armed};
    struct world_views views = world_views(&run->world, guest_addr);
    if (!views.entry->text->gpu)
        return found;
    for (uint64_t other = world_views_next(&views); other != 0; other = world_views_next(&views)) {
        if (!run_tracked(run, other, 1))
            continue;
        view = core_sim->page(run->tracker, other);
        found.gpu |= view.gpu_dirty;
        found.armed |= view.armed;
    }
    return found;
}

/* Livelock is this host's to see: it knows of changes anywhere, the core of one region's. */
static void forget_fault(struct trk_thread *core)
{
    core->fault_tracker = core->fault_page = 0;
    core->fault_access = core->fault_repeats = core->fault_changes = 0;
}

/*
 * What the GPU has done to a page by now. A fault orders that, and not what others do while it is
 * served: of such the read-back's copy knows, or it comes behind.
 */
static void gpu_done(const struct scenario_run *run, uint64_t guest_addr, uint32_t *clock)
{
    uint64_t page_bytes = run_page_bytes(run);
    struct world_walk walk = world_walk(&run->world, guest_addr & ~(page_bytes - 1), page_bytes);
    while (world_next_mapped(&walk))
        oracle_order_gpu(&run->oracle, walk.part, clock);
}

/* The fault handler: the host's own part of the decision, then the core's. */
static enum trk_fault_outcome serve(struct doing *doing, uint64_t guest_addr, bool store)
{
    struct scenario_run *run = doing_run(doing);
    unsigned right = store ? TRK_RIGHT_WRITE : TRK_RIGHT_READ;
    tape_note(run, doing->thread, TAPE_FAULT, guest_addr, 1);
    const struct world_page *page = world_page_at(&run->world, guest_addr);
    if (page == NULL || page->state != PAGE_MAPPED)
        return TRK_FAULT_UNHANDLED;
    /* What the guest's own rights forbid the core must say. */
    if (page->host_rights & page->guest_rights & right)
        return TRK_FAULT_RETRY;
    struct fault_views views = look_at_views(run, guest_addr);
    if (!(store && views.armed) && fault_in_hole(run, guest_addr))
        return TRK_FAULT_UNHANDLED;
    uint32_t done[TRK_SCENARIO_THREADS + 2] = {0};
    if (views.gpu)
        gpu_done(run, guest_addr, done);
    for (uint32_t i = 0; views.gpu && i < run->thread_count; i++)
        run_saw(doing->thread, done[i]);
    enum trk_fault_outcome outcome =
        core_sim->fault(run->tracker, guest_addr, store ? TRK_ACCESS_WRITE : TRK_ACCESS_READ);
    forget_fault(&doing->thread->core.thread);
    if (outcome == TRK_FAULT_SERVED && views.gpu)
        oracle_join(&run->oracle, oracle_clock(&run->oracle, doing->thread->index), done);
    return outcome;
}

/* The same access again and again. */
struct repeats {
    uint64_t page;
    unsigned count;
};

static void count_repeats(struct doing *doing, struct repeats *repeats, uint64_t guest_addr)
{
    struct change_watch *changes = &doing->thread->changes;
    uint64_t page = guest_addr / SCENARIO_PAGE_BYTES;
    bool again = repeats->count > 0 && repeats->page == page && !changes->since_count;
    footprint_writes(OBJECT_CHANGE, doing->thread->index);
    repeats->count = again ? repeats->count + 1 : 1;
    repeats->page = page;
    changes->since_count = false;
    run_saw(doing->thread, repeats->count);
    if (repeats->count == LIVELOCK_FAULTS)
        run_stop(doing, "livelock", guest_addr,
                 "the access faulted %u times in a row and nothing changed", LIVELOCK_FAULTS);
}

/* Let the host check one access, with faults and their service; false: it is not carried out. */
static bool access_tries(struct doing *doing, bool store)
{
    const struct scenario_op *op = doing->op;
    struct scenario_run *run = doing_run(doing);
    struct change_watch *changes = &doing->thread->changes;
    struct repeats repeats = {0};
    uint64_t guest_addr;
    while (first_closed(run, op->guest_addr, op->size_bytes,
                        store ? TRK_RIGHT_WRITE : TRK_RIGHT_READ, &guest_addr)) {
        if (!store)
            note_closed_load(run, guest_addr);
        if (run_inject(doing->thread, INJECT_LOSE_FAULT))
            return true;
        run_saw(doing->thread, guest_addr);
        doing->found.faults++;
        run->report->faults++;
        count_repeats(doing, &repeats, guest_addr);
        changes->since_fault = changes->own_since_fault = false;
        run_point(doing->thread, POINT_FAULT, guest_addr);
        enum trk_fault_outcome outcome = serve(doing, guest_addr, store);
        if (doing->found.failure != TRK_OK)
            return false;
        if (outcome == TRK_FAULT_UNHANDLED) {
            doing->found.outcome = OUTCOME_UNHANDLED;
            if (!scenario_expects(op, RESULT_UNHANDLED))
                run_stop(doing, "unhandled-fault", guest_addr,
                         "a %s at 0x%llx faulted and nobody owned it", store ? "store" : "load",
                         (unsigned long long)guest_addr);
            return false;
        }
        if (!changes->own_since_fault)
            footprint_writes(OBJECT_CHANGE, doing->thread->index);
        run_point_again(doing->thread, changes->since_fault);
    }
    return true;
}

static bool access_check(struct doing *doing, bool store)
{
    doing->thread->changes.on = true;
    bool carried_out = access_tries(doing, store);
    doing->thread->changes = (struct change_watch){0};
    return carried_out;
}

void verb_store(struct doing *doing)
{
    if (access_check(doing, true))
        access_write(doing, doing->op->guest_addr, doing->op->size_bytes, SIDE_GUEST);
}

void verb_load(struct doing *doing)
{
    if (access_check(doing, false))
        access_read(doing, doing->op->guest_addr, doing->op->size_bytes, SIDE_GUEST);
}

/* ---- the emulator ---------------------------------------------------------------------------- */

static bool guest_allows(const struct scenario_run *run, uint64_t guest_addr, uint64_t size_bytes)
{
    if (!world_all(&run->world, guest_addr, size_bytes, PAGE_MAPPED))
        return false;
    struct world_walk walk = world_walk(&run->world, guest_addr, size_bytes);
    while (world_next(&walk))
        if (!(walk.page->guest_rights & TRK_RIGHT_WRITE))
            return false;
    return true;
}

/* The emulator's own bytes, written like a native store. */
static void hle_bytes(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    (void)guest_addr;
    (void)size_bytes;
    verb_store(context);
}

void verb_hle_write(struct doing *doing)
{
    struct scenario_run *run = doing_run(doing);
    const struct scenario_op *op = doing->op;
    /* The tracker knows the guest's rights where it was told; elsewhere nothing is mapped. */
    bool owned = true;
    struct world_walk walk = world_walk(&run->world, op->guest_addr, op->size_bytes);
    for (uint64_t at = op->guest_addr; owned && at < walk.end; at = walk.at)
        owned = world_next(&walk) && walk.guest_addr == at;
    bool written = owned && guest_allows(run, op->guest_addr, op->size_bytes);
    if (owned && run_tracked(run, op->guest_addr, op->size_bytes)) {
        struct trk_hle_write write = {
            .size = sizeof write,
            .guest_addr = op->guest_addr,
            .size_bytes = op->size_bytes,
            .write = hle_bytes,
            .context = doing,
        };
        run_status(doing, core_sim->hle_write(run->tracker, &write, &written));
    } else if (written) {
        verb_store(doing);
    }
    if (!written && doing->found.failure == TRK_OK)
        doing->found.outcome = OUTCOME_DENIED;
}

void verb_raw_write(struct doing *doing)
{
    access_write(doing, doing->op->guest_addr, doing->op->size_bytes, SIDE_GUEST);
}

void verb_sparse_read(struct doing *doing)
{
    struct scenario_run *run = doing_run(doing);
    const struct scenario_op *op = doing->op;
    struct world_walk walk = world_walk(&run->world, op->guest_addr, op->size_bytes);
    for (uint64_t at = op->guest_addr; at < walk.end; at = walk.at) {
        if (!world_next(&walk) || walk.guest_addr != at || walk.entry->text->is_private) {
            doing->found.outcome = OUTCOME_REJECTED;
            return;
        }
    }
    access_read(doing, op->guest_addr, op->size_bytes, SIDE_GUEST);
}

/* ---- the kernel ------------------------------------------------------------------------------ */

/* How many bytes the kernel gets at; less than asked ends in an error or a short count. */
static uint64_t kernel_bytes(struct doing *doing, unsigned right, uint64_t *closed)
{
    const struct scenario_op *op = doing->op;
    if (!first_closed(doing_run(doing), op->guest_addr, op->size_bytes, right, closed))
        return op->size_bytes;
    uint64_t taken = *closed - op->guest_addr;
    doing->found.outcome = taken == 0 ? OUTCOME_EFAULT : OUTCOME_SHORT;
    doing->found.number = taken;
    return taken;
}

/* A page that only a watch closed was in the way, and the file does not say so. */
static void kernel_refused(struct doing *doing, unsigned right, uint64_t closed)
{
    const struct world_page *page = world_page_at(&doing_run(doing)->world, closed);
    if (page == NULL || page->state != PAGE_MAPPED || !(page->guest_rights & right) ||
        scenario_expects(doing->op, RESULT_EFAULT) || scenario_expects(doing->op, RESULT_SHORT))
        return;
    run_stop(doing, "kernel-access", closed,
             "the kernel was refused at 0x%llx by a page that only a watch closes",
             (unsigned long long)closed);
}

void verb_sys_read(struct doing *doing)
{
    uint64_t closed = 0;
    uint64_t taken = kernel_bytes(doing, TRK_RIGHT_WRITE, &closed);
    if (taken > 0)
        access_write(doing, doing->op->guest_addr, taken, SIDE_GUEST);
    if (taken < doing->op->size_bytes)
        kernel_refused(doing, TRK_RIGHT_WRITE, closed);
}

void verb_sys_write(struct doing *doing)
{
    uint64_t closed = 0;
    uint64_t taken = kernel_bytes(doing, TRK_RIGHT_READ, &closed);
    if (taken < doing->op->size_bytes)
        note_closed_load(doing_run(doing), closed);
    if (taken > 0)
        access_read(doing, doing->op->guest_addr, taken, SIDE_GUEST);
    if (taken < doing->op->size_bytes)
        kernel_refused(doing, TRK_RIGHT_READ, closed);
}
