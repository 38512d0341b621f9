/* trk explore: other legal orders of a recorded trace. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "contained.h"
#include "explore_export.h"
#include "explore_going.h"
#include "explore_print.h"
#include "explore_range.h"
#include "input.h"
#include "json_out.h"
#include "options.h"
#include "progress.h"
#include "terminal.h"

static const struct trk_option explore_options[] = {
    {.name = "page",
     .kind = TRK_OPTION_NUMBER,
     .value = "ADDR",
     .least = 4096,
     .most = UINT64_C(1) << 46,
     .about = "Explore what happened to the page of this guest address. Default: the pages of the "
              "verdict that trk sim gives, or else those that threads took turns at most often."},
    {.name = "pages",
     .kind = TRK_OPTION_NUMBER,
     .value = "N",
     .least = 1,
     .most = TRK_EXPLORE_PAGES_MOST,
     .about = "With --page so many neighbours together, default 1; without it so many pages one "
              "by one, default 8."},
    {.name = "from",
     .kind = TRK_OPTION_NUMBER,
     .value = "EVENT",
     .fallback = "0",
     .most = UINT64_MAX - 1,
     .about = "No window begins before this event; as the beginning of RANGE."},
    {.name = "to",
     .kind = TRK_OPTION_NUMBER,
     .value = "EVENT",
     .most = UINT64_MAX - 1,
     .about = "No window begins, or goes on, behind this event; as the end of RANGE."},
    {.name = "window",
     .kind = TRK_OPTION_NUMBER,
     .value = "N",
     .fallback = "12",
     .least = 1,
     .most = TRK_EXPLORE_STEPS_MOST,
     .about = "Operations in a window, more where one is under way."},
    {.name = "engine",
     .kind = TRK_OPTION_CHOICE,
     .value = "HOW",
     .choices = "exhaustive|random|pct",
     .fallback = "exhaustive",
     .about = "Which orders are tried: all, random ones, or random ones with few preemptions."},
    {.name = "seed",
     .kind = TRK_OPTION_NUMBER,
     .value = "N",
     .fallback = "1",
     .most = UINT32_MAX,
     .about = "The same seed gives the same orders."},
    {.name = "schedules",
     .kind = TRK_OPTION_NUMBER,
     .value = "N",
     .fallback = "100000",
     .least = 1,
     .most = 1000000,
     .about = "Orders tried in a window, at most."},
    {.name = "preemptions",
     .kind = TRK_OPTION_NUMBER,
     .value = "N",
     .fallback = "2",
     .most = 62,
     .about = "With pct: preemptions in an order."},
    {.name = "budget",
     .kind = TRK_OPTION_NUMBER,
     .value = "SECONDS",
     .least = 1,
     .most = 1000000,
     .about = "Try no further order after so many seconds. What is reported then depends on "
              "the machine; by default nothing does."},
    {.name = "schedule",
     .kind = TRK_OPTION_TEXT,
     .value = "S",
     .about = "Run one order again, as a report gives it (trkw1:...)."},
    {.name = "export",
     .kind = TRK_OPTION_TEXT,
     .value = "F",
     .about = "Write the window of the first finding, or else the one with the most orders, to F "
              "as a scenario file that trk sim runs."},
    {.name = "force", .letter = 'f', .about = "Overwrite F if it exists."},
    {.name = "json", .about = "One JSON object, schema " TRK_EXPLORE_SCHEMA "."},
    TRK_CONTAINED_OPTIONS,
    TRK_PROGRESS_OPTION,
    {.name = NULL},
};

/* ---- options that would do nothing ------------------------------------------------------------
 */

static bool refused(const struct trk_options *options)
{
    static const char *const of_search[] = {"page",        "pages",  "from", "to",
                                            "window",      "engine", "seed", "schedules",
                                            "preemptions", "budget", NULL};
    static const char *const bounds[] = {"from", "to", NULL};
    static const char *const seed[] = {"seed", NULL};
    static const char *const preemptions[] = {"preemptions", NULL};
    static const char *const of_export[] = {"force", NULL};
    static const char *const of_core[] = {"core-limit", NULL};
    const char *engine = trk_options_text(options, "engine");
    if (!trk_options_given(options, "export") &&
        trk_terminal_refuse(options, of_export, "goes with --export")) {
        return true;
    }
    if (!trk_options_given(options, "core") &&
        trk_terminal_refuse(options, of_core, "goes with --core")) {
        return true;
    }
    if (trk_options_text(options, "schedule") != NULL) {
        if (options->operand_count > 1) {
            trk_terminal_say("explore", "a range does not go with --schedule");
            return true;
        }
        return trk_terminal_refuse(options, of_search, "does not go with --schedule");
    }
    return (options->operand_count > 1 &&
            trk_terminal_refuse(options, bounds, "does not go with a range")) ||
           (strcmp(engine, "exhaustive") == 0 &&
            trk_terminal_refuse(options, seed,
                                "does not go with --engine exhaustive, which tries all orders")) ||
           (strcmp(engine, "pct") != 0 &&
            trk_terminal_refuse(options, preemptions,
                                "does not go with another --engine than pct"));
}

/* ---- options --------------------------------------------------------------------------------- */

static bool read_options(const struct trk_options *options, struct trk_explore_options *explore)
{
    static const char *const engines[] = {"exhaustive", "random", "pct"};
    *explore = trk_explore_options_default();
    if (trk_options_given(options, "page")) {
        explore->guest_addr = trk_options_number(options, "page");
        explore->pages = 1;
    }
    if (trk_options_given(options, "pages")) {
        explore->pages = (uint32_t)trk_options_number(options, "pages");
    }
    explore->from = trk_options_number(options, "from");
    if (trk_options_given(options, "to")) {
        explore->to = trk_options_number(options, "to");
    }
    explore->steps = (uint32_t)trk_options_number(options, "window");
    for (size_t i = 0; i < sizeof engines / sizeof engines[0]; i++) {
        if (strcmp(trk_options_text(options, "engine"), engines[i]) == 0) {
            explore->engine = (enum trk_explore_engine)i;
        }
    }
    explore->seed = trk_options_number(options, "seed");
    explore->schedules = trk_options_number(options, "schedules");
    explore->preemptions = (uint32_t)trk_options_number(options, "preemptions");
    explore->want_script = trk_options_given(options, "export");
    if (explore->from > explore->to) {
        trk_terminal_say("explore", "--from is behind --to");
        return false;
    }
    if (trk_options_given(options, "schedule") && explore->want_script) {
        trk_terminal_say("explore", "--export does not go with --schedule");
        return false;
    }
    const char *path = trk_options_text(options, "export");
    if (path != NULL && strcmp(path, "-") == 0) {
        trk_terminal_say("explore", "--export: standard output has the report; name a file");
        return false;
    }
    return true;
}

/* ---- running --------------------------------------------------------------------------------- */

static int exit_code_of(const struct trk_explore_report *report, bool once)
{
    if (report->finding_count > 0 || (!once && report->recorded.verdict != TRK_VERDICT_OK &&
                                      report->recorded.verdict != TRK_VERDICT_TRACE_INCOMPLETE &&
                                      report->recorded.verdict != TRK_VERDICT_UNKNOWN)) {
        return TRK_EXIT_BROKEN;
    }
    return report->complete || once ? TRK_EXIT_OK : TRK_EXIT_DAMAGED;
}

struct trace_run {
    const struct trk_options *options;
    struct trk_explore_options explore;
    struct trk_explore_going going;
    struct trk_input input;
};

/* core: the plug-in; NULL: none. */
static int finish(const struct trace_run *run, const struct trk_explore_report *report,
                  const struct trk_core_about *core)
{
    const struct trk_options *options = run->options;
    const struct trk_input *input = &run->input;
    const bool once = trk_options_text(options, "schedule") != NULL;
    const struct trk_explore_of of = {
        .path = input->path,
        .core_path = trk_options_text(options, "core"),
        .core = core,
        .once = once,
    };
    int code = exit_code_of(report, once);
    (trk_options_flag(options, "json") ? trk_explore_print_json : trk_explore_print)(report, &of);
    trk_terminal_flush();
    (void)trk_input_report(input, options);
    if (report->ended) {
        trk_explore_say_ended(&run->going, options, core);
    }
    return trk_explore_export(options, report, code);
}

/* What a plug-in did that is no answer ends what can be said of it. */
static bool complains(const struct trace_run *run, enum trk_status status)
{
    const char *complaint = trk_core_complaint();
    bool ended = complaint != NULL && (status != TRK_OK || trk_core_misused());
    if (ended) {
        trk_contained_complain(&run->input, run->options, TRK_EXPLORE_SCHEMA);
    }
    return ended;
}

/* It was to end while the trace was still being read. */
static int ended_reading(const struct trace_run *run, struct trk_error *error)
{
    (void)trk_error_set(error, TRK_E_INCOMPLETE, "%s before anything was tried",
                        *trk_explore_stop(&run->going) == TRK_CONTAINED_LATE
                            ? "--core-limit was over"
                            : "interrupted");
    (void)trk_input_fail(&run->input, run->options, TRK_EXPLORE_SCHEMA, error);
    return TRK_EXIT_DAMAGED;
}

/* The plug-in's process did not come to its end. What it had found until it was ended stays. */
static int tell_so_far(const struct trace_run *run, const struct trk_error *error)
{
    struct trk_core_about core;
    const struct trk_explore_report *report = trk_explore_so_far(&run->going, &core);
    if (!trk_contained_ended(error) || report == NULL) {
        return trk_contained_fail(&run->input, run->options, TRK_EXPLORE_SCHEMA, error);
    }
    (void)trk_terminal_error("explore", trk_options_text(run->options, "core"), error);
    int code = finish(run, report, &core);
    return trk_contained_stuck(error) ? TRK_EXIT_BROKEN : code;
}

/* Before there is a plug-in, so what is printed of it is nobody else's: an exit code. */
static int open_trace(struct trace_run *run)
{
    const struct trk_options *options = run->options;
    if (!read_options(options, &run->explore)) {
        return TRK_EXIT_USAGE;
    }
    int code = trk_explore_export_check(options);
    if (code != TRK_EXIT_OK) {
        return code;
    }
    run->explore.go_on = trk_explore_go_on;
    run->explore.context = &run->going;
    code = trk_input_open(&run->input, options, TRK_EXPLORE_SCHEMA);
    if (code == TRK_EXIT_OK && options->operand_count > 1) {
        code = trk_explore_read_range(&run->input, options, &run->explore);
        if (code != TRK_EXIT_OK) {
            trk_input_close(&run->input);
        }
    }
    return code;
}

/* An open trace, in this process or in a plug-in's: an exit code. */
static void explore_opened(void *out, const void *context)
{
    static struct trk_explore_report report; /* some KiB */
    const struct trace_run *run = context;
    const struct trk_input *input = &run->input;
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    const char *schedule = trk_options_text(run->options, "schedule");
    int code = TRK_EXIT_OK;
    enum trk_status status = schedule != NULL
                                 ? trk_explore_replay(input->trace, schedule, &report, &error)
                                 : trk_explore_trace(input->trace, &run->explore, &report, &error);
    trk_contained_leave();
    if (complains(run, status)) {
        code = TRK_EXIT_BROKEN;
    } else if (status == TRK_E_SYSTEM && *trk_explore_stop(&run->going) != 0) {
        code = ended_reading(run, &error);
    } else if (status != TRK_OK) {
        error.status = status;
        code = trk_input_fail(input, run->options, TRK_EXPLORE_SCHEMA, &error);
        /* An order that leads elsewhere is a difference between the cores. */
        code = status == TRK_E_CONFLICT ? TRK_EXIT_BROKEN : code;
    } else {
        struct trk_core_about core;
        code = finish(run, &report, trk_core_about(&core) ? &core : NULL);
    }
    free(report.script);
    *(int *)out = code;
}

static void explore_apart(void *out, const void *context)
{
    trk_core_spare_traces();
    explore_opened(out, context);
}

/* With the trace open, in this process or another: an exit code. */
static int explore_somewhere(struct trace_run *run)
{
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    struct trk_contained contained = trk_contained_asked(run->options);
    int code = TRK_EXIT_OK;
    contained.stop = trk_explore_stop(&run->going);
    trk_explore_watch_interrupts(&run->going);
    trk_trace_stop_on(run->input.trace, contained.stop);
    if (contained.core == NULL) {
        explore_opened(&code, run);
        return code;
    }
    return trk_contained_run(&contained, explore_apart, run, &code, sizeof code, &error) == TRK_OK
               ? code
               : tell_so_far(run, &error);
}

static int run_explore(const struct trk_options *options)
{
    struct trace_run run = {.options = options};
    if (refused(options)) {
        return TRK_EXIT_USAGE;
    }
    if (!trk_explore_going_open(&run.going, options)) {
        trk_terminal_say("explore", "no memory");
        return TRK_EXIT_ENVIRONMENT;
    }
    int code = open_trace(&run);
    if (code == TRK_EXIT_OK) {
        code = explore_somewhere(&run);
        trk_input_close(&run.input);
    }
    trk_explore_going_close(&run.going);
    return code;
}

const struct trk_command trk_cmd_explore = {
    .name = "explore",
    .about = "try other legal orders of a recorded trace",
    .operands = "[F [RANGE]]",
    .text =
        "A trace is one order of what its threads did; the tracker's locks would have allowed "
        "others. What happened to a few pages is cut into windows of some operations of several "
        "threads, with the state in which they found the pages and the order that the program "
        "itself made (signals and awaits). Each window is a scenario, and its orders are tried: "
        "all of them, or as many as asked for. What concerns other pages is left out.\n\n"
        "An order in which a rule breaks is a finding: its verdict, the operation with its event, "
        "and a line that runs it again. Beyond the first read that sees other bytes than in the "
        "recording nobody knows what the guest would have done; the finding is then called "
        "speculative, with that event. A window whose recorded order does not end as the trace did "
        "is not judged, and counted.\n\n"
        "Orders grow fast with threads: two or three threads on a page are mostly tried in full; "
        "with "
        "many the tries run out (--schedules for each window), and 3 is the usual end, though "
        "nothing was found. Then name a page and fewer events (--page, RANGE), take a smaller "
        "--window, raise --schedules, or look at many long windows by chance (--engine pct), with "
        "--budget to end in time. What was found when that is over, or an interrupt (SIGINT) ends "
        "it, is reported.\n\n"
        "With --core the orders are tried on the tracker in a plug-in, of traces of libtrack's "
        "trackers and of the emulator's own: inside its operations where it takes its locks "
        "through "
        "the host, else operation by operation, which the report says. It is another tracker than "
        "the one that was recorded, so the recorded order counts, and what one thread did alone. "
        "Windows that need what it lacks are counted and named.\n\n"
        "The exit code is 0 when every order was tried and none breaks a rule, 1 when one does or "
        "the trace itself does (also when --schedule leads elsewhere than it did), and 3 when "
        "nothing was found but not everything was tried: more orders, or, without --page, more "
        "pages at which threads take turns.",
    .examples = "trk explore trace.trk\n"
                "trk explore --page 0x200010000 trace.trk 1000-2000\n"
                "trk explore trace.trk frame:5-9\n"
                "trk explore --engine pct --preemptions 3 --schedules 2000 --seed 7 trace.trk\n"
                "trk explore --export case.json trace.trk && trk sim case.json\n"
                "trk explore --core ./mine.so trace.trk",
    .schema = TRK_EXPLORE_SCHEMA,
    .options = explore_options,
    .operands_most = 2,
    .run = run_explore,
};
