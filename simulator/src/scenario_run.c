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
#include "simulator/core.h"
#include "states_scenario.h"

/* ---- verdicts -------------------------------------------------------------------------------- */

bool run_named(const struct scenario_run *run, const struct scenario_op *op)
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
    run->at |= run_named(run, op);
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

static void span_add(struct run_thread *thread, struct scenario_pool *pool, struct span_list *list,
                     struct scenario_span span)
{
    struct scenario_span *spans =
        scenario_pool_grow(pool, list->spans, list->count, &list->capacity, sizeof *spans);
    thread->run->no_memory |= spans == NULL;
    if (spans == NULL)
        return;
    list->spans = spans;
    spans[list->count++] = span;
}

void run_span_add(struct run_thread *thread, struct span_list *list, struct scenario_span span)
{
    span_add(thread, &thread->pool, list, span);
}

void run_span_scratch(struct run_thread *thread, struct span_list *list, struct scenario_span span)
{
    span_add(thread, &thread->scratch, list, span);
}

void run_span_clear(struct span_list *list)
{
    if (list->count > 0)
        memset(list->spans, 0, list->count * sizeof *list->spans);
    list->count = 0;
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
    regions[place] = (struct run_region){
        .index = index, .owner = SCENARIO_NONE, .clock = oracle_clock_new(&run->oracle)};
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

/* Run one operation to its end, and judge it. */
static void run_op(struct run_thread *thread, const struct scenario_op *op)
{
    struct scenario_run *run = thread->run;
    run_point_op(thread, op);
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

void run_thread_body(void *context)
{
    struct run_thread *thread = context;
    for (uint32_t i = 0; i < thread->text->op_count; i++) {
        thread->next_op = i;
        thread->digest = 0;
        run_op(thread, &thread->text->ops[i]);
        if (thread->run->looker != NULL)
            states_operation(thread->run->looker, thread, &thread->text->ops[i]);
        scenario_pool_reset(&thread->scratch);
    }
    gpu_settle(thread);
    thread->done = true;
}

/* ---- phases ---------------------------------------------------------------------------------- */

enum trk_status run_trouble(const struct scenario_run *run)
{
    if (run->no_memory || run->oracle.no_memory || run->world.no_memory)
        return TRK_E_MEMORY;
    /* No run with it counts: to go on would only take time. */
    return trk_core_misused() ? TRK_E_UNSUPPORTED : run->broken;
}

/* One thread alone, whole. */
static enum trk_status phase_alone(struct scenario_run *run, uint32_t index)
{
    enum trk_status status = TRK_OK;
    coroutine_restart(run->threads[index].coroutine);
    run->stepping = false;
    while (status == TRK_OK && !run->threads[index].done && !run->stopped) {
        struct run_thread *thread = &run->threads[index];
        if (run_can(thread) || thread->wait == WAIT_CHANGE)
            run_resume(thread);
        else
            run_deadlock(run, index, index + 1);
        status = run_trouble(run);
    }
    return status;
}

static void order_after(struct scenario_run *run, uint32_t thread, uint32_t first, uint32_t end)
{
    for (uint32_t i = first; i < end; i++)
        oracle_join(&run->oracle, oracle_clock(&run->oracle, thread),
                    oracle_clock(&run->oracle, i));
}

enum trk_status run_first(struct scenario_run *run)
{
    enum trk_status status = phase_alone(run, 0);
    for (uint32_t i = 1; i + 1 < run->thread_count; i++)
        order_after(run, i, 0, 1);
    return status;
}

enum trk_status run_last(struct scenario_run *run)
{
    uint32_t last = run->thread_count - 1;
    for (uint32_t i = 0; i < last; i++)
        check_protection(&run->threads[i], NULL);
    order_after(run, last, 0, last);
    enum trk_status status = TRK_OK;
    if (!run->stopped)
        status = phase_alone(run, last);
    check_protection(&run->threads[last], NULL);
    if (status == TRK_OK && !run->stopped)
        check_watches(run);
    return status;
}
