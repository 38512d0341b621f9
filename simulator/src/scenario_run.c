/*
 * One run of a scenario: threads as coroutines, the schedule, the verdict.
 *
 * Rules: scenario-format, Schedules, Verdicts, Order and fine print 1 to 3, 8, 11.
 */
#include "scenario_run.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "scenario_expect.h"

/* ---- verdicts -------------------------------------------------------------------------------- */

static bool named(const struct scenario_run *run, const struct scenario_op *op)
{
    const char *at = run->scenario->expect.at;
    return at != NULL && op->label != NULL && strcmp(op->label, at) == 0;
}

void run_verdict(struct scenario_run *run, const struct doing *doing, const char *verdict,
                 uint64_t guest_addr, const char *text)
{
    struct trk_scenario_report *report = run->report;
    if (run->stopped)
        return;
    run->stopped = true;
    snprintf(report->verdict, sizeof report->verdict, "%s", verdict);
    snprintf(report->text, sizeof report->text, "%s", text);
    report->guest_addr = guest_addr;
    if (doing == NULL)
        return;
    const struct scenario_op *op = doing->op;
    snprintf(report->thread, sizeof report->thread, "%s", doing->thread->text->name);
    snprintf(report->operation_text, sizeof report->operation_text, "%s", op->text);
    snprintf(report->label, sizeof report->label, "%s", op->label != NULL ? op->label : "");
    report->operation = op->number;
    report->column = op->column;
    run->at |= named(run, op);
}

_Noreturn void run_stop(struct doing *doing, const char *verdict, uint64_t guest_addr,
                        const char *format, ...)
{
    char text[sizeof((struct trk_scenario_report *)0)->text];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    run_verdict(doing_run(doing), doing, verdict, guest_addr, text);
    for (;;)
        coroutine_yield(doing->thread->coroutine);
}

/* ---- small things ---------------------------------------------------------------------------- */

void run_span_add(struct scenario_run *run, struct span_list *list, uint64_t guest_addr,
                  uint64_t size_bytes, unsigned rights)
{
    struct scenario_span *spans =
        scenario_pool_grow(&run->pool, list->spans, list->count, &list->capacity, sizeof *spans);
    run->no_memory |= spans == NULL;
    if (spans == NULL)
        return;
    list->spans = spans;
    spans[list->count++] = (struct scenario_span){guest_addr, size_bytes, rights};
}

struct run_region *run_region_known(const struct scenario_run *run, uint32_t index)
{
    size_t first = 0, end = run->region_count;
    while (first < end) {
        size_t middle = first + (end - first) / 2;
        if (run->regions[middle].index == index)
            return &run->regions[middle];
        if (run->regions[middle].index < index)
            first = middle + 1;
        else
            end = middle;
    }
    return NULL;
}

struct run_region *run_region(struct scenario_run *run, uint32_t index)
{
    struct run_region *known = run_region_known(run, index);
    if (known != NULL)
        return known;
    struct run_region *regions = scenario_pool_grow(&run->pool, run->regions, run->region_count,
                                                    &run->region_capacity, sizeof *regions);
    run->no_memory |= regions == NULL;
    if (regions == NULL)
        return NULL;
    run->regions = regions;
    size_t place = run->region_count++;
    for (; place > 0 && regions[place - 1].index > index; place--)
        regions[place] = regions[place - 1];
    regions[place] = (struct run_region){.index = index, .owner = SCENARIO_NONE};
    return &regions[place];
}

void run_status(struct doing *doing, enum trk_status status)
{
    if (status != TRK_OK && doing->found.failure == TRK_OK && status >= TRK_E_ARGUMENT)
        doing_run(doing)->broken = status;
}

bool run_inject(struct run_thread *thread, enum scenario_inject inject)
{
    if (thread->injected[inject] == 0)
        return false;
    thread->injected[inject]--;
    return true;
}

/* ---- operations ------------------------------------------------------------------------------ */

static verb_fn *const perform[VERB_COUNT] = {
    [VERB_STORE] = verb_store,
    [VERB_LOAD] = verb_load,
    [VERB_HLE_WRITE] = verb_hle_write,
    [VERB_RAW_WRITE] = verb_raw_write,
    [VERB_SYS_READ] = verb_sys_read,
    [VERB_SYS_WRITE] = verb_sys_write,
    [VERB_MAP] = verb_map,
    [VERB_UNMAP] = verb_unmap,
    [VERB_GUEST_PROTECT] = verb_guest_protect,
    [VERB_COMMIT] = verb_commit,
    [VERB_RESERVE] = verb_reserve,
    [VERB_SPARSE_READ] = verb_sparse_read,
    [VERB_PROT] = verb_prot,
    [VERB_IS_CPU] = verb_query,
    [VERB_IS_GPU] = verb_query,
    [VERB_MARK_CPU] = verb_mark,
    [VERB_MARK_GPU] = verb_mark,
    [VERB_UNMARK_GPU] = verb_mark,
    [VERB_UNTRACK] = verb_mark,
    [VERB_UPLOAD] = verb_upload,
    [VERB_UPLOAD_AT_END] = verb_upload,
    [VERB_IN_RANGE] = NULL, /* run by the operation around it */
    [VERB_DOWNLOAD] = verb_download,
    [VERB_INVALIDATE] = verb_invalidate,
    [VERB_DRAIN] = verb_drain,
    [VERB_WATCH] = verb_watch,
    [VERB_UNWATCH] = verb_watch,
    [VERB_WATCH_MASK] = verb_watch_mask,
    [VERB_UNWATCH_MASK] = verb_watch_mask,
    [VERB_CALLS] = verb_calls,
    [VERB_LOCK] = verb_lock,
    [VERB_UNLOCK] = verb_unlock,
    [VERB_COPY_UP] = verb_copy,
    [VERB_COPY_DOWN] = verb_copy,
    [VERB_HOST_PROTECT] = verb_host_protect,
    [VERB_GPU_READ] = verb_gpu,
    [VERB_GPU_WRITE] = verb_gpu,
    [VERB_SIGNAL] = verb_signal,
    [VERB_AWAIT] = verb_await,
    [VERB_ACQUIRE] = verb_acquire,
    [VERB_RELEASE] = verb_release,
    [VERB_FRAME] = verb_frame,
    [VERB_REPEAT] = verb_repeat,
    [VERB_GEN_TRACK] = verb_gen_track,
    [VERB_GEN] = verb_gen,
    [VERB_GEN_HLE] = verb_gen_hle,
    [VERB_GEN_REMAP] = verb_gen_remap,
    [VERB_INJECT] = verb_inject,
};

void run_op(struct run_thread *thread, const struct scenario_op *op)
{
    struct scenario_run *run = thread->run;
    struct doing doing = {.outer = thread->doing, .op = op, .thread = thread};
    thread->doing = &doing;
    run->report->operations++;
    perform[op->verb](&doing);
    if (!doing.late)
        judge_results(&doing);
    check_protection(thread, &doing);
    thread->doing = doing.outer;
}

void run_nested(struct doing *doing, bool in_range)
{
    const struct scenario_op *op = doing->op;
    for (uint32_t i = 0; i < op->nested_count; i++) {
        const struct scenario_op *nested = &op->nested[i];
        if (nested->verb != VERB_IN_RANGE) {
            if (!in_range)
                run_op(doing->thread, nested);
        } else if (in_range) {
            for (uint32_t j = 0; j < nested->nested_count; j++)
                run_op(doing->thread, &nested->nested[j]);
        }
    }
}

static void thread_body(void *context)
{
    struct run_thread *thread = context;
    for (uint32_t i = 0; i < thread->text->op_count; i++)
        run_op(thread, &thread->text->ops[i]);
    gpu_settle(thread);
    thread->done = true;
}

/* ---- waiting --------------------------------------------------------------------------------- */

static bool can_run(const struct run_thread *thread)
{
    struct scenario_run *run = thread->run;
    if (thread->done)
        return false;
    switch (thread->wait) {
    case WAIT_EVENT:
        return run->events[thread->wait_for].set;
    case WAIT_MUTEX:
        return run->mutexes[thread->wait_for].owner == SCENARIO_NONE;
    case WAIT_LOCK:
        return run_region(run, thread->wait_for)->owner == SCENARIO_NONE;
    case WAIT_CHANGE:
        return run->changes != thread->stood_at;
    default:
        return true;
    }
}

void run_wait(struct run_thread *thread, enum wait_kind kind, uint32_t wait_for)
{
    thread->wait = kind;
    thread->wait_for = wait_for;
    coroutine_yield(thread->coroutine);
    thread->wait = WAIT_NONE;
}

void run_stand_back(struct run_thread *thread)
{
    thread->stood_at = thread->run->changes;
    run_wait(thread, WAIT_CHANGE, 0);
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
        owner = run_region(run, thread->wait_for)->owner;
        snprintf(out, size, "%s waits for the lock of region 0x%llx", name,
                 (unsigned long long)trk_region_address(thread->wait_for));
    }
    if (owner != SCENARIO_NONE)
        snprintf(out + strlen(out), size - strlen(out), " of %s", run->threads[owner].text->name);
}

/* Nobody can run: the first that waits stands in the report, and all stand in its text. */
static void deadlock(struct scenario_run *run, uint32_t first, uint32_t end)
{
    char text[sizeof run->report->text] = "";
    const struct doing *shown = NULL;
    for (uint32_t i = first; i < end; i++) {
        const struct run_thread *thread = &run->threads[i];
        if (thread->done)
            continue;
        size_t used = strlen(text);
        if (used > 0 && used + 3 < sizeof text) {
            memcpy(text + used, "; ", 3);
            used += 2;
        }
        describe_wait(thread, text + used, sizeof text - used);
        if (shown == NULL)
            shown = thread->doing;
        run->at |= named(run, thread->doing->op);
    }
    run_verdict(run, shown, "deadlock", TRK_NOT_KNOWN, text);
}

/* ---- the schedule ---------------------------------------------------------------------------- */

/* In order: the first that can run; who stands back only when no other can. */
static struct run_thread *choose(struct scenario_run *run, uint32_t first, uint32_t end)
{
    for (uint32_t i = first; i < end; i++)
        if (can_run(&run->threads[i]))
            return &run->threads[i];
    for (uint32_t i = first; i < end; i++)
        if (!run->threads[i].done && run->threads[i].wait == WAIT_CHANGE)
            return &run->threads[i];
    return NULL;
}

static void resume(struct scenario_run *run, struct run_thread *thread)
{
    struct trk_thread *host = trk_thread_swap(&thread->core);
    run->current = thread;
    coroutine_resume(thread->coroutine);
    run->current = NULL;
    (void)trk_thread_swap(host);
}

/* Run threads [first, end) until all have ended. */
static enum trk_status phase(struct scenario_run *run, uint32_t first, uint32_t end)
{
    uint32_t left = end - first;
    for (uint32_t i = first; i < end; i++) {
        enum trk_status status =
            coroutine_create(&run->threads[i].coroutine, thread_body, &run->threads[i]);
        if (status != TRK_OK)
            return status;
    }
    while (left > 0 && !run->stopped) {
        struct run_thread *thread = choose(run, first, end);
        if (thread == NULL) {
            deadlock(run, first, end);
            break;
        }
        resume(run, thread);
        if (run->no_memory || run->oracle.no_memory || run->world.no_memory)
            return TRK_E_MEMORY;
        if (run->broken != TRK_OK)
            return run->broken;
        if (thread->done)
            left--;
    }
    return TRK_OK;
}

static void order_after(struct scenario_run *run, uint32_t thread, uint32_t first, uint32_t end)
{
    for (uint32_t i = first; i < end; i++)
        oracle_join(&run->oracle, oracle_clock(&run->oracle, thread),
                    oracle_clock(&run->oracle, i));
}

static enum trk_status phases(struct scenario_run *run)
{
    uint32_t last = run->thread_count - 1;
    enum trk_status status = phase(run, 0, 1);
    for (uint32_t i = 1; i < last; i++)
        order_after(run, i, 0, 1);
    if (status == TRK_OK && !run->stopped)
        status = phase(run, 1, last);
    for (uint32_t i = 0; i < last; i++)
        check_protection(&run->threads[i], NULL);
    order_after(run, last, 0, last);
    if (status == TRK_OK && !run->stopped)
        status = phase(run, last, last + 1);
    check_protection(&run->threads[last], NULL);
    if (status == TRK_OK && !run->stopped)
        check_watches(run);
    return status;
}

/* ---- one run --------------------------------------------------------------------------------- */

static enum trk_status run_init(struct scenario_run *run)
{
    const struct trk_scenario *scenario = run->scenario;
    size_t names = scenario->name_count + 1;
    run->thread_count = scenario->thread_count;
    run->threads = scenario_pool_take(&run->pool, run->thread_count * sizeof *run->threads);
    run->events = scenario_pool_take(&run->pool, names * sizeof *run->events);
    run->mutexes = scenario_pool_take(&run->pool, names * sizeof *run->mutexes);
    run->generations = scenario_pool_take(&run->pool, names * sizeof *run->generations);
    if (run->threads == NULL || run->events == NULL || run->mutexes == NULL ||
        run->generations == NULL || !world_init(&run->world, &run->pool, scenario) ||
        !oracle_init(&run->oracle, &run->pool, run->thread_count, scenario->policy.line_bytes))
        return TRK_E_MEMORY;
    for (uint32_t i = 0; i < scenario->name_count; i++)
        run->mutexes[i].owner = SCENARIO_NONE;
    for (uint32_t i = 0; i < run->thread_count; i++) {
        struct run_thread *thread = &run->threads[i];
        thread->run = run;
        thread->index = i;
        thread->text = &scenario->threads[i];
        thread->core.id = i + 1;
    }
    host_init(run);
    struct trk_tracker_options options = trk_tracker_options_default();
    options.policy = scenario->policy.core;
    options.backend = &run->backend;
    options.observer = (struct trk_observer){host_observe, host_wait, run};
    options.failure = host_failure;
    options.failure_context = run;
    return trk_tracker_create(&run->tracker, &options, NULL);
}

static void run_deinit(struct scenario_run *run)
{
    run->stopped = true; /* what is said from here on is nobody's */
    for (uint32_t i = 0; run->threads != NULL && i < run->thread_count; i++)
        coroutine_destroy(run->threads[i].coroutine);
    trk_tracker_destroy(run->tracker);
    scenario_pool_deinit(&run->pool);
}

enum trk_status trk_scenario_run(const struct trk_scenario *scenario,
                                 struct trk_scenario_report *report)
{
    memset(report, 0, sizeof *report);
    report->guest_addr = TRK_NOT_KNOWN;
    if (trk_scenario_needs(scenario) != NULL)
        return TRK_E_UNSUPPORTED;
    struct scenario_run run = {.scenario = scenario, .report = report};
    enum trk_status status = run_init(&run);
    if (status == TRK_OK)
        status = space_init(&run);
    if (status == TRK_OK)
        status = phases(&run);
    if (status == TRK_OK && !run.stopped)
        snprintf(report->verdict, sizeof report->verdict, "ok");
    report->schedules = 1;
    report->held =
        status == TRK_OK && scenario_expect_holds(&scenario->expect, report->verdict, run.at);
    scenario_expect_words(&scenario->expect, report->expected, sizeof report->expected);
    run_deinit(&run);
    return status;
}
