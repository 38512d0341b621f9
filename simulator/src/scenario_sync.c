/*
 * Verbs of order and structure, and GPU work: signal, await, mutexes, frame, repeat, injections,
 * gpu_read and gpu_write.
 *
 * Rules: scenario-format, Operations, Injected faults and fine print 3, 11.
 */
#include "footprint.h"
#include "scenario_run.h"
#include "scenario_tape.h"

static void publish(struct doing *doing, uint32_t *clock)
{
    struct scenario_run *run = doing_run(doing);
    oracle_join(&run->oracle, clock, oracle_clock(&run->oracle, doing->thread->index));
}

static void learn(struct doing *doing, const uint32_t *clock)
{
    struct scenario_run *run = doing_run(doing);
    oracle_join(&run->oracle, oracle_clock(&run->oracle, doing->thread->index), clock);
}

void verb_signal(struct doing *doing)
{
    struct run_event *event = &doing_run(doing)->events[doing->op->name];
    footprint_writes(OBJECT_EVENT, doing->op->name);
    if (!event->set)
        footprint_opens(OBJECT_EVENT, doing->op->name);
    publish(doing, event->clock);
    event->set = true;
}

void verb_await(struct doing *doing)
{
    struct run_event *event = &doing_run(doing)->events[doing->op->name];
    footprint_reads(OBJECT_EVENT, doing->op->name);
    learn(doing, event->clock);
}

void verb_acquire(struct doing *doing)
{
    struct run_mutex *mutex = &doing_run(doing)->mutexes[doing->op->name];
    footprint_takes(OBJECT_MUTEX, doing->op->name);
    mutex->owner = doing->thread->index;
    learn(doing, mutex->clock);
}

void verb_release(struct doing *doing)
{
    struct run_mutex *mutex = &doing_run(doing)->mutexes[doing->op->name];
    footprint_writes(OBJECT_MUTEX, doing->op->name);
    if (mutex->owner != doing->thread->index) {
        doing->found.failure = TRK_E_LOCK;
        if (!scenario_expects(doing->op, RESULT_FATAL))
            run_stop(doing, "fatal:lock", TRK_NOT_KNOWN, "mutex released by a thread without it");
        return;
    }
    publish(doing, mutex->clock);
    mutex->owner = SCENARIO_NONE;
}

/* Locks by hand order what their threads do, unlike those that operations take. */
void verb_lock(struct doing *doing)
{
    struct scenario_run *run = doing_run(doing);
    uint64_t guest_addr = doing->op->guest_addr;
    if (core_sim->lock(run->tracker, guest_addr) != TRK_OK)
        return;
    const struct run_region *region = run_region(run, trk_region_index(guest_addr));
    if (region != NULL)
        learn(doing, region->clock);
}

void verb_unlock(struct doing *doing)
{
    struct scenario_run *run = doing_run(doing);
    uint64_t guest_addr = doing->op->guest_addr;
    if (run_tracked(run, guest_addr, 1)) {
        struct run_region *region = run_region(run, trk_region_index(guest_addr));
        if (region != NULL && region->owner == doing->thread->index)
            publish(doing, region->clock);
    }
    run_status(doing, core_sim->unlock(run->tracker, guest_addr));
}

void verb_repeat(struct doing *doing)
{
    for (uint64_t i = 0; i < doing->op->value; i++)
        run_nested(doing, false);
}

void verb_inject(struct doing *doing)
{
    struct run_thread *thread = doing->thread;
    if (doing->op->inject == INJECT_PROTECT_FAIL)
        run_span_add(thread, &thread->protect_fails,
                     (struct scenario_span){.size_bytes = doing->op->value});
    else
        thread->injected[doing->op->inject]++;
}

/* ---- GPU work -------------------------------------------------------------------------------- */

static void gpu_effect(struct doing *doing)
{
    const struct scenario_op *op = doing->op;
    if (op->verb == VERB_GPU_READ)
        access_read(doing, op->guest_addr, op->size_bytes, SIDE_GPU);
    else
        access_write(doing, op->guest_addr, op->size_bytes, SIDE_GPU);
}

void verb_gpu(struct doing *doing)
{
    struct run_thread *thread = doing->thread;
    if (thread->late_count == 0 && !run_inject(thread, INJECT_DELAY_GPU)) {
        gpu_effect(doing);
        return;
    }
    /* It waits, and so does whatever GPU work comes behind it; judged when it takes effect. */
    const struct scenario_op **late =
        scenario_pool_grow(&thread->pool, thread->late, thread->late_count, &thread->late_capacity,
                           sizeof(const struct scenario_op *));
    thread->run->no_memory |= late == NULL;
    if (late == NULL)
        return;
    thread->late = late;
    late[thread->late_count++] = doing->op;
    doing->late = true;
    if (doing->op->verb == VERB_GPU_WRITE)
        tape_note(thread->run, thread, TAPE_GPU_LATE, doing->op->guest_addr, doing->op->size_bytes);
}

void gpu_settle(struct run_thread *thread)
{
    size_t count = thread->late_count;
    thread->late_count = 0;
    for (size_t i = 0; i < count; i++) {
        struct doing doing = {.outer = thread->doing, .op = thread->late[i], .thread = thread};
        thread->doing = &doing;
        gpu_effect(&doing);
        judge_results(&doing);
        thread->doing = doing.outer;
    }
}

void verb_frame(struct doing *doing)
{
    gpu_settle(doing->thread);
}
