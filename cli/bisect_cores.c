/*
 * Bisecting by two builds of a tracker: each runs the trace, or one schedule of the scenario, in a
 * process of its own, and gives a rolling digest of the states of all pages that a step may have
 * changed. Once two such digests differ, all later ones do. So those behind each block of events
 * are compared by halving, then the one block is run again, and compared event by event.
 */
#include "bisect_cores.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "progress.h"
#include "refusal.h"
#include "scenario_files.h"
#include "sim_print.h"
#include "terminal.h"

/* ---- the search ------------------------------------------------------------------------------ */

static enum trk_bisect_answer ask_mark(void *context, uint64_t at)
{
    const struct trk_cores *cores = context;
    return cores->sides[0]->marks[at - 1] == cores->sides[1]->marks[at - 1] ? TRK_BISECT_GOOD
                                                                            : TRK_BISECT_BAD;
}

static enum trk_bisect_answer ask_step(void *context, uint64_t at)
{
    const struct trk_cores *cores = context;
    return cores->sides[0]->block[at - 1] == cores->sides[1]->block[at - 1] ? TRK_BISECT_GOOD
                                                                            : TRK_BISECT_BAD;
}

/* The first of `count` digests that differ; false: not even the last ones do. */
static bool first_other(struct trk_cores *cores, uint64_t count,
                        enum trk_bisect_answer (*ask)(void *context, uint64_t at), uint64_t *at)
{
    struct trk_bisect bisect = {.bad = count, .ask = ask, .context = cores};
    cores->probes++;
    if (ask(cores, count) == TRK_BISECT_GOOD) {
        return false;
    }
    (void)trk_bisect_search(&bisect);
    cores->probes += bisect.probes;
    *at = bisect.bad - 1;
    return true;
}

/* Whether a build ended there for want of being able to go on, which is no difference. */
static bool cannot_go_on(const struct trk_cores *cores, int which)
{
    const struct trk_cores_side *side = cores->sides[which];
    return cores->scenario == NULL && side->over && !side->crashed && side->status == TRK_OK &&
           (side->report.verdict == TRK_VERDICT_UNKNOWN ||
            side->report.verdict == TRK_VERDICT_TRACE_INCOMPLETE);
}

/* Both have the same to the end, or to where both ended. */
static void no_difference(struct trk_cores *cores)
{
    const struct trk_cores_side *side = cores->sides[0];
    bool broke = cores->scenario == NULL && side->report.verdict != TRK_VERDICT_OK;
    if (side->crashed) {
        cores->why = "both crash at the same place";
    } else if (cores->scenario != NULL && strcmp(cores->verdicts[0], cores->verdicts[1]) != 0) {
        cores->why = "not in the order that was compared, though the verdicts differ";
    } else if (cores->scenario == NULL && (broke || !side->report.complete)) {
        cores->why = side->report.text[0] != '\0' ? side->report.text : "the trace is not whole";
    }
}

static bool same_view(const struct trk_page_view *a, const struct trk_page_view *b)
{
    return a->cpu_dirty == b->cpu_dirty && a->gpu_dirty == b->gpu_dirty &&
           a->registered == b->registered && a->armed == b->armed &&
           a->read_watch == b->read_watch && a->write_watches == b->write_watches &&
           a->guest_rights == b->guest_rights && a->host_rights == b->host_rights;
}

/* The first page that differs. */
static bool find_page(struct trk_cores *cores)
{
    const struct trk_cores_side *good = cores->sides[0], *bad = cores->sides[1];
    for (size_t i = 0; i < good->page_count && i < bad->page_count; i++) {
        if (!same_view(&good->pages[i].view, &bad->pages[i].view)) {
            cores->page = i;
            return true;
        }
    }
    return false;
}

/* Of a trace: the event that was found, and the page's story. */
static int find_story(struct trk_cores *cores, struct trk_error *error)
{
    struct trk_trace *trace = cores->input.trace;
    enum trk_status status = trk_trace_rewind(trace, error);
    while (status == TRK_OK && !cores->has_event) {
        status = trk_trace_next(trace, &cores->event, error);
        cores->has_event = status == TRK_OK && cores->event.number == cores->step;
    }
    status = status == TRK_E_END ? TRK_OK : status; /* both ended otherwise behind the last */
    if (status == TRK_OK && cores->state) {
        status = trk_why_trace(trace, cores->sides[0]->pages[cores->page].guest_addr, cores->step,
                               &cores->story, error);
    }
    if (status == TRK_OK) {
        return TRK_EXIT_OK;
    }
    error->status = status;
    return trk_input_fail(&cores->input, cores->options, TRK_BISECT_CORES_SCHEMA, error);
}

/* What is other behind the step that was found. */
static int look_at(struct trk_cores *cores)
{
    bool ended = false;
    for (int which = 0; which < 2; which++) {
        const struct trk_cores_side *side = cores->sides[which];
        bool here = side->over && side->reached <= cores->step;
        ended |= here;
        if (here && cannot_go_on(cores, which)) {
            cores->why = side->report.text;
            return TRK_EXIT_DAMAGED;
        }
    }
    cores->found = true;
    int code = TRK_EXIT_OK;
    if (!ended) {
        code = trk_cores_run(cores, TRK_CORES_VIEWS, cores->step, cores->step + 1);
        cores->state = code == TRK_EXIT_OK && find_page(cores);
    }
    if (code == TRK_EXIT_OK && cores->scenario == NULL) {
        struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
        code = find_story(cores, &error);
    }
    return code == TRK_EXIT_OK ? TRK_EXIT_BROKEN : code;
}

/* An exit code; 0, 1 and 3 are found and to be printed. */
static int search(struct trk_cores *cores)
{
    uint64_t block = 0, step = 0;
    int code = trk_cores_run(cores, TRK_CORES_MARKS, 0, UINT64_MAX);
    if (code != TRK_EXIT_OK) {
        return code;
    }
    if (!first_other(cores, cores->blocks, ask_mark, &block)) {
        no_difference(cores);
        return cores->why == NULL ? TRK_EXIT_OK : TRK_EXIT_DAMAGED;
    }
    cores->step = block * TRK_CORES_BLOCK;
    code = trk_cores_run(cores, TRK_CORES_STEPS, cores->step, cores->step + TRK_CORES_BLOCK);
    if (code != TRK_EXIT_OK) {
        return code;
    }
    if (!first_other(cores, TRK_CORES_BLOCK, ask_step, &step)) {
        cores->why = "a core does not answer the same twice: run again, they do not differ";
        return TRK_EXIT_DAMAGED;
    }
    cores->step += step;
    return look_at(cores);
}

/* ---- both kinds of input --------------------------------------------------------------------- */

static int run_search(struct trk_cores *cores)
{
    cores->blocks = cores->steps / TRK_CORES_BLOCK + 1;
    int code = TRK_EXIT_OK;
    for (int which = 0; which < 2; which++) {
        void *memory = mmap(NULL, trk_cores_side_bytes(cores), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        cores->sides[which] = memory != MAP_FAILED ? memory : NULL;
        code = memory != MAP_FAILED ? code : TRK_EXIT_ENVIRONMENT;
    }
    if (code != TRK_EXIT_OK) {
        trk_terminal_say("bisect", "no memory for what comes of two cores");
    } else if (cores->scenario != NULL) {
        code = trk_cores_run(cores, TRK_CORES_VERDICT, 0, 0);
        const struct trk_cores_side *good = cores->sides[0], *bad = cores->sides[1];
        /* The order in which the bad one breaks, or any that both have. */
        const char *line =
            bad->scenario.schedule[0] != '\0' ? bad->scenario.schedule : good->scenario.schedule;
        static char schedule[sizeof bad->scenario.schedule];
        snprintf(schedule, sizeof schedule, "%s", line);
        for (int which = 0; which < 2; which++) {
            const struct trk_cores_side *side = cores->sides[which];
            snprintf(cores->verdicts[which], sizeof cores->verdicts[which], "%s",
                     side->crashed ? "crashed" : side->scenario.verdict);
        }
        cores->schedule = schedule[0] != '\0' ? schedule : NULL;
    }
    if (code == TRK_EXIT_OK) {
        code = search(cores);
        bool told = code == TRK_EXIT_OK || code == TRK_EXIT_BROKEN || cores->why != NULL;
        if (told) {
            trk_progress_wipe();
            trk_cores_print(cores);
            trk_terminal_flush();
        }
    }
    for (int which = 0; which < 2; which++) {
        if (cores->sides[which] != NULL) {
            munmap(cores->sides[which], trk_cores_side_bytes(cores));
        }
    }
    return code;
}

static int bisect_trace(struct trk_cores *cores)
{
    int code = trk_input_open(&cores->input, cores->options, TRK_BISECT_CORES_SCHEMA);
    if (code != TRK_EXIT_OK) {
        return code;
    }
    cores->path = cores->input.path;
    cores->steps = 1; /* how it ends counts as one */
    for (size_t i = 0; i < trk_trace_stream_count(cores->input.trace); i++) {
        cores->steps += trk_trace_stream(cores->input.trace, i)->events;
    }
    code = run_search(cores);
    (void)trk_input_report(&cores->input, cores->options);
    trk_input_close(&cores->input);
    return code;
}

static int bisect_scenario(struct trk_cores *cores)
{
    struct trk_scenario *scenario = NULL;
    struct trk_scenario_fault fault;
    cores->path = cores->options->operands[0];
    if (trk_scenario_load(&scenario, cores->path, &fault) != TRK_OK) {
        trk_terminal_say("bisect", "%s: %s%s%s", cores->path, fault.where,
                         fault.where[0] ? ": " : "", fault.text);
        return TRK_EXIT_USAGE;
    }
    cores->scenario = scenario;
    cores->steps = TRK_SCENARIO_STEPS;
    int code = run_search(cores);
    trk_scenario_destroy(scenario);
    return code;
}

int trk_bisect_cores(const struct trk_options *options)
{
    static struct trk_cores cores; /* some KiB */
    cores = (struct trk_cores){.options = options};
    trk_refusal_schema(TRK_BISECT_CORES_SCHEMA);
    static const char *const names[] = {"good", "bad"};
    for (int which = 0; which < 2; which++) {
        cores.cores[which] =
            (struct trk_contained){.core = trk_options_text(options, names[which]),
                                   .seconds = (unsigned)trk_options_number(options, "core-limit")};
        if (cores.cores[which].core == NULL) {
            trk_terminal_say("bisect", "expected two plug-ins: --good X.so --bad Y.so");
            return TRK_EXIT_USAGE;
        }
    }
    if (options->operand_count > 1) {
        trk_terminal_say("bisect", "--good and --bad go with one file");
        return TRK_EXIT_USAGE;
    }
    return options->operand_count > 0 && trk_scenario_files_named(options->operands[0])
               ? bisect_scenario(&cores)
               : bisect_trace(&cores);
}
