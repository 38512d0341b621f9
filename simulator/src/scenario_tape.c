/*
 * What a run did to one page.
 */
#include "scenario_tape.h"

#include "said.h"
#include "scenario_run.h"

/* Whether a range shows bytes of the page in focus. */
static bool concerns(const struct scenario_run *run, uint64_t guest_addr, uint64_t size_bytes)
{
    uint64_t page = run->tape->focus & ~(uint64_t)(SCENARIO_PAGE_BYTES - 1);
    if (guest_addr < page + SCENARIO_PAGE_BYTES && page < guest_addr + size_bytes)
        return true;
    const struct world_page *focus = world_page_at(&run->world, page);
    const struct world_page *other = world_page_at(&run->world, guest_addr);
    return focus != NULL && other != NULL && focus->frame != NULL && focus->frame == other->frame;
}

static uint8_t state_of(const struct scenario_run *run)
{
    uint64_t focus = run->tape->focus;
    if (!run_tracked(run, focus, 1))
        return SAID_CPU;
    struct trk_page_view view = core_sim->page(run->tracker, focus);
    return view.gpu_dirty ? SAID_GPU : view.cpu_dirty ? SAID_CPU : SAID_CLEAN;
}

/* The new note; NULL: nobody wants it. */
static struct tape_note *add(struct scenario_run *run, const struct run_thread *thread,
                             enum tape_kind kind, uint64_t guest_addr, uint64_t size_bytes)
{
    struct scenario_tape *tape = run->tape;
    if (tape == NULL || !concerns(run, guest_addr, size_bytes))
        return NULL;
    struct tape_note *note = &tape->notes[tape->count++ % SCENARIO_TAPE_NOTES];
    *note = (struct tape_note){
        .kind = kind,
        .thread = thread->index,
        .op = thread->doing != NULL ? thread->doing->op : NULL,
        .guest_addr = guest_addr,
        .size_bytes = size_bytes,
        .state = state_of(run),
        .after_fault = thread->doing != NULL && thread->doing->found.faults > 0,
    };
    return note;
}

void tape_note(struct scenario_run *run, const struct run_thread *thread, enum tape_kind kind,
               uint64_t guest_addr, uint64_t size_bytes)
{
    (void)add(run, thread, kind, guest_addr, size_bytes);
}

void tape_rights(struct scenario_run *run, const struct run_thread *thread, uint64_t guest_addr,
                 uint64_t size_bytes, unsigned rights)
{
    struct tape_note *note = add(run, thread, TAPE_RIGHTS, guest_addr, size_bytes);
    if (note != NULL)
        note->rights = rights;
}

void tape_finding(struct scenario_run *run, uint32_t newer, uint32_t seen)
{
    if (run->tape == NULL)
        return;
    run->tape->newer = oracle_write_op(&run->oracle, newer);
    run->tape->seen = oracle_write_op(&run->oracle, seen);
}
