/*
 * Running a build of a tracker over a trace or a scenario, in a process of its own, for its
 * digests.
 */
#include <stdio.h>
#include <string.h>

#include "bisect_cores.h"
#include "refusal.h"
#include "terminal.h"

#define CRASHED UINT64_MAX /* a digest behind the step that ended the process */

/* A run, in the build's process. */
struct look {
    const struct trk_cores *cores;
    struct trk_cores_side *side;
    enum trk_cores_pass pass;
    uint64_t first, end; /* steps whose digests count */
    uint64_t rolling;
    bool enough;
};

/* ---- in a build's process -------------------------------------------------------------------- */

static void roll(struct look *look, uint64_t digest)
{
    uint64_t mixed = (look->rolling ^ digest) * UINT64_C(0x9e3779b97f4a7c15);
    look->rolling = mixed ^ mixed >> 29;
}

static void roll_text(struct look *look, const char *text)
{
    for (; *text != '\0'; text++) {
        roll(look, (unsigned char)*text);
    }
}

/* From the step on, the digest stays as it is. */
static void note(const struct look *look, uint64_t step, bool to_the_end)
{
    struct trk_cores_side *side = look->side;
    if (look->pass == TRK_CORES_MARKS) {
        uint64_t at = step / TRK_CORES_BLOCK;
        do {
            side->marks[at++] = look->rolling;
        } while (to_the_end && at < look->cores->blocks);
    } else if (look->pass == TRK_CORES_STEPS && step < look->end) {
        uint64_t at = step < look->first ? 0 : step - look->first;
        do {
            side->block[at++] = look->rolling;
        } while (to_the_end && at < TRK_CORES_BLOCK);
    }
}

static void keep_page(void *context, uint64_t guest_addr, const struct trk_page_view *page)
{
    struct trk_cores_side *side = context;
    if (side->page_count < TRK_CORES_PAGES) {
        side->pages[side->page_count++] = (struct trk_cores_page){guest_addr, *page};
    }
}

static void keep_step(struct trk_cores_side *side, const struct trk_states_step *step)
{
    side->page_count = 0;
    trk_states_pages(step, keep_page, side);
    side->operation = step->operation;
    snprintf(side->thread, sizeof side->thread, "%s", step->thread != NULL ? step->thread : "");
    snprintf(side->operation_text, sizeof side->operation_text, "%s",
             step->operation_text != NULL ? step->operation_text : "");
}

static bool take(void *context, const struct trk_states_step *step)
{
    struct look *look = context;
    bool counts = step->number >= look->first && step->number < look->end;
    if (step->number >= look->cores->steps) {
        look->enough = true;
        return false;
    }
    if (trk_core_misused()) { /* within this step */
        return false;
    }
    if (counts && look->pass == TRK_CORES_VIEWS) {
        keep_step(look->side, step);
    } else if (counts && step->span_count > 0) {
        roll(look, trk_states_digest(step));
    }
    if (trk_core_misused()) { /* when it was asked for the pages */
        return false;
    }
    if (counts) {
        note(look, step->number, false);
    }
    /* What stands there behind a crash is how far it came. */
    __atomic_store_n(&look->side->reached, step->number + 1, __ATOMIC_RELEASE);
    look->enough = step->number + 1 == look->end;
    return !look->enough;
}

/* Where a build ended by itself counts as a state. */
static void end_of(struct look *look)
{
    const struct trk_cores_side *side = look->side;
    roll(look, side->status);
    if (side->status != TRK_OK) {
        roll_text(look, look->cores->scenario != NULL ? side->fault.text : side->error.text);
    } else if (look->cores->scenario != NULL) {
        roll_text(look, side->scenario.verdict);
        roll_text(look, side->scenario.text);
    } else {
        roll_text(look, trk_verdict_name(&side->report));
        roll_text(look, side->report.detail);
        roll_text(look, side->report.text);
    }
    note(look, side->reached, true);
}

/* What it did that is no answer, before there was enough. */
static void note_complaint(const struct look *look)
{
    struct trk_cores_side *side = look->side;
    const char *complaint = trk_core_complaint();
    bool ended = side->status == TRK_E_UNSUPPORTED || side->status == TRK_E_MEMORY;
    if (complaint != NULL && !look->enough && (ended || trk_core_misused())) {
        snprintf(side->complaint, sizeof side->complaint, "%s", complaint);
    }
}

static void run_in_child(void *out, const void *context)
{
    (void)out;
    struct look look = *(const struct look *)context;
    struct trk_cores_side *side = look.side;
    const struct trk_scenario *scenario = look.cores->scenario;
    const struct trk_states_listener listener = {take, &look};
    const char *lacks = scenario != NULL ? trk_core_lacks(scenario) : NULL;
    if (lacks != NULL) {
        snprintf(side->lacks, sizeof side->lacks, "%s", lacks);
        return;
    }
    if (look.pass == TRK_CORES_VERDICT) {
        side->status = trk_scenario_run(scenario, &side->scenario);
    } else if (scenario != NULL) {
        side->status = trk_states_scenario(scenario, look.cores->schedule, &listener,
                                           &side->scenario, &side->fault);
    } else {
        side->status =
            trk_states_trace(look.cores->input.trace, &listener, &side->report, &side->error);
    }
    side->over = !look.enough;
    if (!look.enough && look.pass != TRK_CORES_VERDICT) {
        end_of(&look);
    }
    note_complaint(&look);
}

/* ---- runs ------------------------------------------------------------------------------------ */

size_t trk_cores_side_bytes(const struct trk_cores *cores)
{
    return sizeof(struct trk_cores_side) + cores->blocks * sizeof(uint64_t);
}

static const char *name_of(int which)
{
    return which == 0 ? "good" : "bad";
}

/* Behind where its process ended, or it did what is no answer, there is nothing. */
static void fill_crashed(struct look *look)
{
    struct trk_cores_side *side = look->side;
    side->crashed = true;
    side->over = true;
    look->rolling = CRASHED;
    if (look->pass != TRK_CORES_VIEWS && look->pass != TRK_CORES_VERDICT) {
        note(look, side->reached, true);
    }
}

/* Say why there is no report: an exit code. */
static int refuse(const struct trk_cores *cores, const char *subject, const struct trk_error *error)
{
    trk_refusal_path(cores->path);
    (void)trk_terminal_error("bisect", subject, error);
    return trk_contained_exit_code(error->status);
}

/* One run of one build: an exit code. A crash is none: it is noted. */
static int run_one(struct trk_cores *cores, int which, struct look *look)
{
    struct trk_cores_side *side = cores->sides[which];
    const struct trk_contained *core = &cores->cores[which];
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    memset(side, 0, trk_cores_side_bytes(cores));
    look->cores = cores;
    look->side = side;
    cores->runs++;
    side->error = error;
    enum trk_status status = trk_contained_run(core, run_in_child, look, NULL, 0, &error);
    if (status == TRK_E_INCOMPLETE) {
        side->error = error;
        fill_crashed(look);
        return TRK_EXIT_OK;
    }
    if (status != TRK_OK) {
        error.status = status;
        return refuse(cores, core->core, &error);
    }
    if (side->complaint[0] != '\0') {
        fill_crashed(look);
        return TRK_EXIT_OK;
    }
    if (side->lacks[0] != '\0') {
        (void)trk_error_set(&error, TRK_E_UNSUPPORTED, "the %s core cannot be tried: %s",
                            name_of(which), side->lacks);
        return refuse(cores, core->core, &error);
    }
    if (side->status != TRK_OK && side->status != TRK_E_ARGUMENT) {
        if (cores->scenario != NULL) {
            trk_terminal_say("bisect", "%s: it cannot be run: %s", cores->path,
                             trk_status_name(side->status));
            return side->status == TRK_E_UNSUPPORTED ? TRK_EXIT_ENVIRONMENT : TRK_EXIT_INTERNAL;
        }
        side->error.status = side->status;
        return trk_input_fail(&cores->input, cores->options, TRK_BISECT_CORES_SCHEMA, &side->error);
    }
    return TRK_EXIT_OK;
}

int trk_cores_run(struct trk_cores *cores, enum trk_cores_pass pass, uint64_t first, uint64_t end)
{
    int code = TRK_EXIT_OK;
    for (int which = 0; which < 2 && code == TRK_EXIT_OK; which++) {
        struct look look = {.pass = pass, .first = first, .end = end};
        code = run_one(cores, which, &look);
    }
    return code;
}
