/* Running the items of a regression, and judging what comes out. */
#define _GNU_SOURCE /* open_memstream */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "event_print.h"
#include "jobs.h"
#include "progress.h"
#include "regress.h"
#include "scenario_files.h"
#include "simulator/sim.h"

/* ---- in the item's process ------------------------------------------------------------------- */

struct errand {
    const struct trk_regress *regress;
    const struct trk_regress_item *item;
};

static void name_thread(const struct trk_trace *trace, uint32_t stream,
                        struct trk_regress_outcome *out)
{
    if (stream < trk_trace_stream_count(trace)) {
        trk_event_text_thread(trk_trace_stream(trace, stream)->name, stream, out->thread,
                              sizeof out->thread);
    }
}

/* The words of an event. */
static void describe(struct trk_trace *trace, uint64_t number, struct trk_regress_outcome *out)
{
    struct trk_trace_event event;
    struct trk_error error;
    enum trk_status status = trk_trace_rewind(trace, &error);
    while (status == TRK_OK) {
        status = trk_trace_next(trace, &event, &error);
        if (status == TRK_OK && event.number == number) {
            break;
        }
    }
    struct trk_trace_type type;
    if (status != TRK_OK || !trk_trace_type(trace, event.event.type, &type)) {
        return;
    }
    if (out->thread[0] == '\0') {
        name_thread(trace, event.stream, out);
    }
    struct trk_event_field fields[TRK_EVENT_FIELDS_MOST];
    size_t count = trk_event_text_fields(&event.event, fields);
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    if (stream == NULL) {
        return;
    }
    fputs(type.name, stream);
    trk_event_text_print(stream, fields, count);
    fclose(stream);
    snprintf(out->event, sizeof out->event, "%s", text);
    free(text);
}

void trk_regress_describe(const struct trk_regress_item *item, struct trk_regress_outcome *outcome)
{
    struct trk_trace *trace = NULL;
    struct trk_error error;
    if (item->scenario || outcome->event_at == TRK_NOT_KNOWN ||
        trk_trace_open(&trace, item->path, &error) != TRK_OK) {
        return;
    }
    if (trk_trace_scan(trace, &error) == TRK_OK) {
        describe(trace, outcome->event_at, outcome);
    }
    trk_trace_close(trace);
}

bool trk_regress_may_have(const struct trk_regress_item *item, uint64_t event)
{
    struct trk_regress_outcome words = {.event_at = event};
    trk_regress_describe(item, &words);
    return item->scenario || event == TRK_NOT_KNOWN || item->unreadable[0] != '\0' ||
           item->outcome.unreadable[0] != '\0' || words.event[0] != '\0';
}

static uint64_t events_of(const struct trk_trace *trace)
{
    uint64_t events = 0;
    for (size_t i = 0; i < trk_trace_stream_count(trace); i++) {
        events += trk_trace_stream(trace, i)->events;
    }
    return events;
}

static void fill(struct trk_regress_outcome *out, struct trk_trace *trace,
                 const struct trk_sim_report *report)
{
    snprintf(out->verdict, sizeof out->verdict, "%s", trk_verdict_name(report));
    snprintf(out->detail, sizeof out->detail, "%s", report->detail);
    snprintf(out->text, sizeof out->text, "%s", report->text);
    out->event_at = report->event_at;
    out->event_visible = report->event_visible;
    if (report->event_at != TRK_NOT_KNOWN) {
        name_thread(trace, report->stream_at, out);
        describe(trace, report->event_at, out);
    }
}

/* The core broke the interface, or an exception left it: that says nothing of the item, and is not
 * its fault. at: the event that it happened at, where that is known. */
static bool core_broke(struct trk_regress_outcome *out, enum trk_status status,
                       struct trk_trace *trace, uint64_t at)
{
    const char *complaint = trk_core_complaint();
    bool ended = status == TRK_E_UNSUPPORTED || status == TRK_E_MEMORY;
    if (complaint == NULL || (!ended && !trk_core_misused())) {
        return false;
    }
    *out = (struct trk_regress_outcome){.event_at = at, .event_visible = TRK_NOT_KNOWN};
    snprintf(out->verdict, sizeof out->verdict, "crashed");
    snprintf(out->text, sizeof out->text, "%s", complaint);
    if (at != TRK_NOT_KNOWN) {
        describe(trace, at, out);
    }
    return true;
}

static void run_trace(struct trk_regress_outcome *out, const struct errand *errand)
{
    static struct trk_sim_report report; /* some KiB */
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    struct trk_trace *trace = NULL;
    const uint64_t most = errand->regress->events_most;
    bool broke = false;
    enum trk_status status = trk_trace_open(&trace, errand->item->path, &error);
    if (status == TRK_OK) {
        status = trk_trace_scan(trace, &error);
    }
    if (status == TRK_OK && most != 0 && events_of(trace) > most) {
        snprintf(out->left_out, sizeof out->left_out, "%" PRIu64 " events, more than %" PRIu64,
                 events_of(trace), most);
    } else if (status == TRK_OK) {
        status = trk_sim_trace(trace, &report, &error);
        broke = core_broke(out, status, trace, error.event_number);
        if (status == TRK_OK && !broke) {
            fill(out, trace, &report);
        }
        if (status == TRK_E_UNSUPPORTED && !broke) { /* whole, but nothing for this core */
            snprintf(out->left_out, sizeof out->left_out, "%.95s", error.text);
        }
    }
    if (broke || out->left_out[0] != '\0') {
        /* whatever the run came to */
    } else if (status != TRK_OK && error.file_offset != TRK_NOT_KNOWN) {
        snprintf(out->unreadable, sizeof out->unreadable, "byte %" PRIu64 ": %s", error.file_offset,
                 error.text);
    } else if (status != TRK_OK) {
        snprintf(out->unreadable, sizeof out->unreadable, "%s", error.text);
    }
    if (trace != NULL) {
        trk_trace_close(trace);
    }
}

static void run_scenario(struct trk_regress_outcome *out, const struct errand *errand)
{
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    const struct trk_scenario_asked asked = {
        .jobs = 1,
        .brief = true,
        .options = {.size = sizeof asked.options,
                    .walks = errand->regress->walks,
                    .seed = errand->regress->seed},
    };
    struct trk_scenario_files files;
    enum trk_status status = trk_scenario_files_run(&files, errand->item->path, &asked, &error);
    const struct trk_scenario_file *file = files.files;
    if (core_broke(out, status, NULL, TRK_NOT_KNOWN)) {
        /* whatever the run came to */
    } else if (status != TRK_OK) {
        snprintf(out->unreadable, sizeof out->unreadable, "%s", error.text);
    } else if (file->end == TRK_SCENARIO_REFUSED) {
        snprintf(out->left_out, sizeof out->left_out, "needs %.80s", file->needs);
    } else if (file->end != TRK_SCENARIO_HELD && file->end != TRK_SCENARIO_FAILED) {
        snprintf(out->unreadable, sizeof out->unreadable, "%.64s%s%.90s", file->fault.where,
                 file->fault.where[0] != '\0' ? ": " : "", file->fault.text);
    } else {
        const struct trk_scenario_report *report = &file->report;
        out->met = report->held;
        snprintf(out->verdict, sizeof out->verdict, "%s", report->verdict);
        snprintf(out->detail, sizeof out->detail, "%.60s",
                 report->held ? "" : "not as its file says");
        snprintf(out->thread, sizeof out->thread, "%s", report->thread);
        snprintf(out->text, sizeof out->text, "%.250s", report->text);
        snprintf(out->event, sizeof out->event, "%s", report->operation_text);
        out->event_at = report->thread[0] != '\0' ? report->operation : TRK_NOT_KNOWN;
    }
    trk_scenario_files_destroy(&files);
}

static void run_item(void *out, const void *context)
{
    const struct errand *errand = context;
    trk_progress_stop(); /* of the items the regression tells */
    (errand->item->scenario ? run_scenario : run_trace)(out, errand);
}

/* ---- in the job's ---------------------------------------------------------------------------- */

static uint64_t now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec;
}

static enum trk_status run_once(const struct errand *errand, const struct trk_regress_core *core,
                                struct trk_regress_outcome *out, struct trk_error *error)
{
    const struct trk_regress *regress = errand->regress;
    const struct trk_contained contained = {.core = core->path, .seconds = regress->limit_s};
    *out = (struct trk_regress_outcome){.event_at = TRK_NOT_KNOWN, .event_visible = TRK_NOT_KNOWN};
    if (regress->budget_s != 0 && now_s() - regress->begun_s >= regress->budget_s) {
        snprintf(out->left_out, sizeof out->left_out, "the time for all, %" PRIu64 " s, was over",
                 regress->budget_s);
        return TRK_OK;
    }
    enum trk_status status =
        trk_contained_run(&contained, run_item, errand, out, sizeof *out, error);
    /* What comes of other bytes is no outcome of these. */
    if (core->path != NULL && trk_regress_changed(core->path, &core->stamp)) {
        return trk_error_set(error, TRK_E_SYSTEM, "%.60s has changed while it was tried",
                             core->path);
    }
    if (trk_regress_changed(errand->item->path, &errand->item->stamp)) {
        *out =
            (struct trk_regress_outcome){.event_at = TRK_NOT_KNOWN, .event_visible = TRK_NOT_KNOWN};
        snprintf(out->unreadable, sizeof out->unreadable, "it has changed while it was run");
        return TRK_OK;
    }
    if (status != TRK_E_INCOMPLETE) {
        return status;
    }
    out->ended = trk_contained_ended(error);
    snprintf(out->verdict, sizeof out->verdict, "crashed");
    snprintf(out->text, sizeof out->text, "%s", error->text);
    return TRK_OK;
}

/* One side, as often as asked for. unstable: two of them differ. That one had to be ended is what
 * the side came to, but not another outcome: how long it takes is chance. */
static enum trk_status run_side(const struct errand *errand, const struct trk_regress_core *core,
                                struct trk_regress_outcome *out, bool *unstable,
                                struct trk_error *error)
{
    enum trk_status status = run_once(errand, core, out, error);
    for (unsigned i = 1; i < errand->regress->repeat && status == TRK_OK && !out->ended; i++) {
        struct trk_regress_outcome again;
        status = run_once(errand, core, &again, error);
        if (again.unreadable[0] != '\0' || again.ended) {
            *out = again;
            break;
        }
        if (again.left_out[0] == '\0' && out->left_out[0] == '\0') {
            *unstable |= !trk_regress_same(out, &again);
        }
    }
    return status;
}

static enum trk_status run_job(void *work, const void *context, struct trk_error *error)
{
    struct trk_regress_item *item = work;
    const struct trk_regress *regress = context;
    const struct errand errand = {regress, item};
    bool unstable = false;
    if (item->unreadable[0] != '\0') {
        return TRK_OK;
    }
    enum trk_status status = run_side(&errand, &regress->core, &item->outcome, &unstable, error);
    if (status == TRK_OK && regress->two_cores) {
        item->compared = true;
        status = run_side(&errand, &regress->other, &item->other, &unstable, error);
    }
    if (status == TRK_OK && regress->keeps) {
        status = trk_regress_keep(regress, item, &regress->core, &item->outcome, error);
    }
    if (status == TRK_OK && regress->keeps && item->compared) {
        status = trk_regress_keep(regress, item, &regress->other, &item->other, error);
    }
    if (unstable) {
        item->end = TRK_REGRESS_UNSTABLE;
        snprintf(item->why, sizeof item->why, "two runs on the same core differ");
    }
    return status;
}

static const char *name_of(const void *item)
{
    return ((const struct trk_regress_item *)item)->path;
}

enum trk_status trk_regress_run(struct trk_regress *regress, struct trk_error *error)
{
    regress->begun_s = now_s();
    const struct trk_jobs jobs = {regress->items, sizeof *regress->items,
                                  regress->count, regress->jobs,
                                  run_job,        regress,
                                  name_of,        "items"};
    enum trk_status status = trk_jobs_run(&jobs, error);
    if (regress->keeps) {
        struct trk_error other;
        enum trk_status kept = trk_regress_kept(regress, status == TRK_OK ? error : &other);
        status = status == TRK_OK ? kept : status;
    }
    return status;
}

/* ---- cores ----------------------------------------------------------------------------------- */

enum trk_status trk_regress_core_open(struct trk_regress_core *core, unsigned limit_s,
                                      struct trk_error *error)
{
    if (core->path == NULL) {
        core->about = (struct trk_core_about){.name = "built-in", .inside = true, .events = true};
        return trk_content_name("/proc/self/exe", core->build, NULL, error);
    }
    const struct trk_contained contained = {.core = core->path, .seconds = limit_s};
    core->stamp = trk_regress_stamp(core->path);
    enum trk_status status = trk_contained_probe(&contained, &core->about, error);
    return status == TRK_OK ? trk_content_name(core->path, core->build, NULL, error) : status;
}

enum trk_status trk_regress_name_trk(struct trk_regress *regress, struct trk_error *error)
{
    char name[TRK_CONTENT_BYTES];
    enum trk_status status = trk_content_name("/proc/self/exe", name, NULL, error);
    snprintf(regress->trk_build, sizeof regress->trk_build, TRK_VERSION "+%.16s",
             status == TRK_OK ? name : "");
    return status;
}

void trk_regress_core_id(const struct trk_regress_core *core, char out[200])
{
    snprintf(out, 200, "%s %s %s", core->about.name,
             core->about.build[0] != '\0' ? core->about.build : "-", core->build);
}
