/*
 * Scheduling points: where a thread gives way, what it waits for, and who can go on.
 *
 * Rules: scenario-format, Schedules and fine print 3, 8, 11.
 */
#include <stdio.h>
#include <string.h>

#include "core_design.h"
#include "footprint.h"
#include "scenario_run.h"
#include "track/sim_build.h"

/* The run whose threads are on this host thread; one at a time in a process. */
static struct scenario_run *in_force;

static bool lock_free(const struct run_thread *thread)
{
    return *thread->wait_lock == 0;
}

/* A lock's name among objects. */
static uint64_t lock_name(const struct scenario_run *run, const uint32_t *word)
{
    uint32_t region;
    enum trk_sim_lock kind = core_insides->lock_kind(run->tracker, word, &region);
    return run_lock_name(kind, region);
}

bool run_can(const struct run_thread *thread)
{
    const struct scenario_run *run = thread->run;
    if (thread->done)
        return false;
    switch (thread->wait) {
    case WAIT_EVENT:
        return run->events[thread->wait_for].set;
    case WAIT_MUTEX:
        return run->mutexes[thread->wait_for].owner == SCENARIO_NONE;
    case WAIT_LOCK:
        return lock_free(thread);
    case WAIT_CHANGE:
        return thread->changes.since_fault;
    default:
        return true;
    }
}

static void give_way(struct run_thread *thread)
{
    coroutine_yield(thread->coroutine);
    const struct scenario_run *run = thread->run;
    run_saw(thread, core_insides->live_digest(run->tracker, run->reach, run->reach_count));
    thread->wait = WAIT_NONE;
    thread->wait_for = 0;
    thread->wait_lock = NULL;
    thread->before = NULL;
}

/* Inside a tracker that is tried operation by operation there are no points. */
static bool steps_here(const struct run_thread *thread)
{
    return thread->run->stepping && (core_ways.inside || thread->core_depth == 0);
}

void run_point(struct run_thread *thread, enum point_kind kind, uint64_t guest_addr)
{
    thread->point = (uint8_t)kind;
    thread->point_page = (uint8_t)(guest_addr / SCENARIO_PAGE_BYTES);
    if (steps_here(thread))
        give_way(thread);
    thread->point = thread->point_page = 0;
}

/* Let others run until the thing waited for is there. */
static void run_wait(struct run_thread *thread, enum wait_kind kind, uint32_t wait_for)
{
    thread->wait = kind;
    thread->wait_for = wait_for;
    if (steps_here(thread) || !run_can(thread))
        give_way(thread);
    thread->wait = WAIT_NONE;
}

void run_point_op(struct run_thread *thread, const struct scenario_op *op)
{
    thread->before = op;
    if (op->verb == VERB_AWAIT)
        run_wait(thread, WAIT_EVENT, op->name);
    else if (op->verb == VERB_ACQUIRE)
        run_wait(thread, WAIT_MUTEX, op->name);
    else
        run_point(thread, POINT_OPERATION, 0);
    thread->before = NULL;
}

void run_point_again(struct run_thread *thread, bool changed)
{
    if (changed) {
        run_point(thread, POINT_RETRY, 0);
        return;
    }
    thread->point = POINT_RETRY;
    run_wait(thread, WAIT_CHANGE, 0);
    thread->point = 0;
}

void run_changed(struct scenario_run *run)
{
    for (uint32_t i = 0; i < run->thread_count; i++) {
        struct change_watch *changes = &run->threads[i].changes;
        bool own = run->current == &run->threads[i];
        changes->since_fault |= changes->on;
        changes->since_count |= changes->on;
        changes->own_since_fault |= changes->on && own;
        if (!own) /* changes of one thread and another come to the same in both orders */
            footprint_reads(OBJECT_CHANGE, i);
    }
}

/* The core is about to take a lock. */
void trk_hook_lock(const uint32_t *word)
{
    struct scenario_run *run = in_force;
    uint32_t region;
    if (run == NULL || run->current == NULL || run->tracker == NULL)
        return;
    struct run_thread *thread = run->current;
    enum trk_sim_lock kind = core_insides->lock_kind(run->tracker, word, &region);
    if (kind == TRK_SIM_LOCK_MEMORY)
        return;
    if (kind != TRK_SIM_LOCK_GENERATIONS || *word != 0) {
        if (kind == TRK_SIM_LOCK_GENERATIONS)
            footprint_reads(OBJECT_LOCK, lock_name(run, word));
        thread->wait_lock = word;
        run_wait(thread, WAIT_LOCK, 0);
        thread->wait_lock = NULL;
    }
    footprint_takes(OBJECT_LOCK, lock_name(run, word));
    if (run->stepping)
        run_saw(thread,
                core_insides->lock_digest(run->tracker, word, run->reach, run->reach_count));
}

void trk_hook_unlock(const uint32_t *word)
{
    const struct scenario_run *run = in_force;
    uint32_t region;
    if (run != NULL && run->tracker != NULL && footprint_notes.footprint != NULL &&
        core_insides->lock_kind(run->tracker, word, &region) != TRK_SIM_LOCK_MEMORY)
        footprint_writes(OBJECT_LOCK, lock_name(run, word));
}

/* ---- a core that is looked at from outside --------------------------------------------------- */

/* One operation of such a core at a time: as if all of it were under one lock. */
void run_core_enter(void)
{
    struct scenario_run *run = in_force;
    if (run == NULL || run->current == NULL)
        return;
    struct run_thread *thread = run->current;
    if (thread->core_depth++ == 0 && !core_ways.inside) {
        while (run->core_busy != 0) {
            thread->wait_lock = &run->core_busy;
            run_wait(thread, WAIT_LOCK, 0);
            thread->wait_lock = NULL;
        }
        run->core_busy = thread->core.thread.id;
        footprint_takes(OBJECT_LOCK, lock_name(run, &run->core_busy));
    }
    if (run->stepping)
        run_saw(thread, core_insides->digest(run->tracker));
}

void run_core_leave(void)
{
    struct scenario_run *run = in_force;
    if (run == NULL || run->current == NULL || --run->current->core_depth > 0 || core_ways.inside)
        return;
    footprint_writes(OBJECT_LOCK, lock_name(run, &run->core_busy));
    run->core_busy = 0;
}

bool run_core_busy(void)
{
    const struct scenario_run *run = in_force;
    for (uint32_t i = 0; run != NULL && i < run->thread_count; i++)
        if (run->threads[i].core_depth > 0)
            return true;
    return false;
}

bool run_unlike_pages(uint32_t holder, struct scenario_span *its, struct scenario_span *other)
{
    const struct scenario_run *run = in_force;
    if (run == NULL || run->current == NULL || holder == 0 || holder > run->thread_count)
        return false;
    const struct span_list *mine = &run->current->asked;
    const struct span_list *others = &run->threads[holder - 1].asked; /* ids count from 1 */
    bool like = &run->threads[holder - 1] == run->current || mine->count == 0 || others->count == 0;
    for (size_t i = 0; i < mine->count; i++)
        for (size_t k = 0; k < others->count; k++) {
            const struct scenario_span *a = &mine->spans[i], *b = &others->spans[k];
            like |= a->guest_addr < b->guest_addr + b->size_bytes &&
                    b->guest_addr < a->guest_addr + a->size_bytes;
        }
    if (!like) {
        *its = mine->spans[mine->count - 1];
        *other = others->spans[others->count - 1];
    }
    return !like;
}

void run_core_yield(void)
{
    struct scenario_run *run = in_force;
    if (run != NULL && run->current != NULL)
        run_point(run->current, POINT_OTHER, 0);
}

/* ---- what the core touches ------------------------------------------------------------------- */

/* The operation under way touches what another's lock, or nobody's, guards. */
static void stop_unlocked(struct scenario_run *run, const char *what)
{
    struct doing *doing = run->current->doing;
    if (doing != NULL && run->current->core.thread.id != 0)
        run_stop(doing, "fatal:lock", TRK_NOT_KNOWN, "unlocked access: %s", what);
}

void trk_hook_word(const void *word, enum trk_sim_word access)
{
    struct scenario_run *run = in_force;
    if (run == NULL || run->current == NULL || run->tracker == NULL)
        return;
    if (footprint_notes.footprint != NULL) {
        uint64_t name = core_insides->word_name(run->tracker, word);
        if (access == TRK_SIM_STORE || access == TRK_SIM_SET)
            footprint_writes(OBJECT_CORE, name);
        else
            footprint_reads(OBJECT_CORE, name);
    }
    if ((access == TRK_SIM_LOAD || access == TRK_SIM_STORE) && !run->stopped &&
        !core_insides->word_held(run->tracker, word, run->current->core.thread.id))
        stop_unlocked(run, "a page set is touched without its region's lock");
}

void trk_hook_pages(const struct region *region, bool change)
{
    struct scenario_run *run = in_force;
    if (run == NULL || run->current == NULL || run->tracker == NULL)
        return;
    if (footprint_notes.footprint != NULL) {
        uint64_t name = core_insides->word_name(run->tracker, region);
        if (change)
            footprint_writes(OBJECT_WATCHES, name);
        else
            footprint_reads(OBJECT_WATCHES, name);
    }
    if (change && !run->stopped &&
        !core_insides->pages_owned(run->tracker, region, run->current->core.thread.id))
        stop_unlocked(run, "watches change without the page manager's lock");
}

void run_resume(struct run_thread *thread)
{
    struct scenario_run *run = thread->run;
    struct trk_thread *host = core_sim->thread_swap(&thread->core.thread);
    in_force = run;
    run->current = thread;
    coroutine_resume(thread->coroutine);
    run->current = NULL;
    in_force = NULL;
    (void)core_sim->thread_swap(host);
}

/* ---- nobody can run -------------------------------------------------------------------------- */

static void describe_lock(const struct run_thread *thread, char *out, size_t size)
{
    static const char *const words[] = {
        [TRK_SIM_LOCK_REGION] = "the lock of region",
        [TRK_SIM_LOCK_PAGES] = "the page manager of region",
        [TRK_SIM_LOCK_SHARED] = "the page manager of shared pages",
        [TRK_SIM_LOCK_GENERATIONS] = "the lock of generations",
        [TRK_SIM_LOCK_MEMORY] = "the tracker's memory",
        [TRK_SIM_LOCK_OTHER] = "a lock of the tracker",
    };
    uint32_t region;
    enum trk_sim_lock kind =
        core_insides->lock_kind(thread->run->tracker, thread->wait_lock, &region);
    int used = snprintf(out, size, "%s waits for %s", thread->text->name, words[kind]);
    if ((kind == TRK_SIM_LOCK_REGION || kind == TRK_SIM_LOCK_PAGES) && used > 0 &&
        (size_t)used < size)
        snprintf(out + used, size - (size_t)used, " 0x%llx",
                 (unsigned long long)trk_region_address(region));
}

static void describe_wait(const struct run_thread *thread, char *out, size_t size)
{
    struct scenario_run *run = thread->run;
    const char *name = thread->text->name;
    uint32_t owner = SCENARIO_NONE;
    if (thread->wait == WAIT_EVENT)
        snprintf(out, size, "%s waits for event %s", name, run->scenario->names[thread->wait_for]);
    if (thread->wait == WAIT_MUTEX) {
        owner = run->mutexes[thread->wait_for].owner;
        snprintf(out, size, "%s waits for mutex %s", name, run->scenario->names[thread->wait_for]);
    }
    if (thread->wait == WAIT_LOCK) {
        owner = *thread->wait_lock - 1; /* ids are numbers of threads, from 1 */
        describe_lock(thread, out, size);
    }
    if (owner < run->thread_count)
        snprintf(out + strlen(out), size - strlen(out), " of %s", run->threads[owner].text->name);
}

/* The operation that a thread waits in, or stands before. */
static struct doing standing(const struct run_thread *thread)
{
    if (thread->before != NULL)
        return (struct doing){.op = thread->before, .thread = thread->run->threads + thread->index};
    return *thread->doing;
}

const struct scenario_op *run_standing(const struct run_thread *thread)
{
    if (thread->before != NULL)
        return thread->before;
    return thread->doing != NULL ? thread->doing->op : NULL;
}

void run_deadlock(struct scenario_run *run, uint32_t first, uint32_t end)
{
    char text[sizeof run->report->text] = "";
    struct doing shown = {0};
    for (uint32_t i = first; i < end; i++) {
        const struct run_thread *thread = &run->threads[i];
        if (thread->done)
            continue;
        if (thread->wait == WAIT_LOCK)
            core_design_needs(CORE_DESIGN_LOCKS);
        size_t used = strlen(text);
        if (used > 0 && used + 3 < sizeof text) {
            memcpy(text + used, "; ", 3);
            used += 2;
        }
        describe_wait(thread, text + used, sizeof text - used);
        struct doing at = standing(thread);
        if (shown.op == NULL)
            shown = at;
        run->at |= run_named(run, at.op);
    }
    run_verdict(run, shown.op != NULL ? &shown : NULL, "deadlock", TRK_NOT_KNOWN, text);
}
