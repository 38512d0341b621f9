/* trk bisect: the event, the decision or the swap that broke it. */
#include <string.h>

#include "bisect_probe.h"
#include "command.h"
#include "out_file.h"
#include "progress.h"
#include "refusal.h"
#include "scenario_files.h"
#include "terminal.h"

static const struct trk_option bisect_options[] = {
    {.name = "json",
     .about = "One JSON object, schema " TRK_BISECT_SCHEMA ", " TRK_BISECT_RUN_SCHEMA
              ", trk-bisect-symptom/1, trk-bisect-cores/1 or " TRK_BISECT_LIVE_SCHEMA "."},
    {.name = "symptom",
     .kind = TRK_OPTION_TEXT,
     .value = "WHAT",
     .about = "Bytes that are wrong in a frame, frame:N,range:A+S, or a file of what pages should "
              "hold (bisect hashes): find the event behind which no synchronisation brings them "
              "up to date any more."},
    {.name = "schedule",
     .kind = TRK_OPTION_TEXT,
     .value = "PASS",
     .about = "Of a scenario file: find the one swap of neighbours that lies between the schedule "
              "PASS and the schedule FAIL, the operand behind it."},
    {.name = "good",
     .kind = TRK_OPTION_TEXT,
     .value = "X.so",
     .about = "With --bad: run the trace or scenario F against two builds of a tracker, each in a "
              "process of its own, and find the first step behind which they differ."},
    {.name = "bad",
     .kind = TRK_OPTION_TEXT,
     .value = "Y.so",
     .about = "The plug-in that is held against the one of --good."},
    {.name = "core-limit",
     .kind = TRK_OPTION_NUMBER,
     .value = "S",
     .fallback = "120",
     .least = 1,
     .most = 86400,
     .about = "Of --good and --bad: seconds that one run against a plug-in may take."},
    {.name = "git",
     .about = "Judge the trace F, or one of the command behind the word record, with exit codes "
              "for git bisect run: 0 good, 1 bad, 125 it cannot be told."},
    {.name = "core",
     .kind = TRK_OPTION_TEXT,
     .value = "X.so",
     .about = "Of --git: judge the tracker in this plug-in by the trace."},
    {.name = "answer",
     .kind = TRK_OPTION_CHOICE,
     .value = "HOW",
     .choices = "exit|sim|ask",
     .fallback = "exit",
     .about = "Of live: whether a run was good is said by CMD's exit code (125: skip it), by what "
              "trk sim says of its trace, or by you."},
    {.name = "judge",
     .kind = TRK_OPTION_TEXT,
     .value = "COMMAND",
     .about =
         "Of live: a shell command says it instead, by its exit code, 125 and 3: skip it; $1 is "
         "the run's trace."},
    {.name = "repeat",
     .kind = TRK_OPTION_NUMBER,
     .value = "N",
     .fallback = "1",
     .least = 1,
     .most = 1000,
     .about = "Of live: run each limit N times; answers that differ are told as flapping."},
    {.name = "output",
     .letter = 'o',
     .kind = TRK_OPTION_TEXT,
     .value = "G",
     .about = "Of live: write the trace of the last bad run to G. Needed."},
    {.name = "force", .letter = 'f', .about = "Overwrite G if it exists."},
    TRK_PROGRESS_OPTION,
    {.name = NULL},
};

/* Said. Of a trace it is found where that is opened. */
static bool is_scenario_pipe(const char *path)
{
    bool pipe = trk_scenario_files_named(path) && trk_input_is_named_pipe(path);
    if (pipe) {
        trk_terminal_say("bisect", "%s: " TRK_INPUT_NAMED_PIPE, path);
    }
    return pipe;
}

/* For a refusal: what it is that is asked for by a first word. */
static void note_kind(const struct trk_options *options)
{
    static const struct {
        const char *word, *schema;
    } kinds[] = {{"live", TRK_BISECT_LIVE_SCHEMA},
                 {"run", TRK_BISECT_RUN_SCHEMA},
                 {"hashes", TRK_BISECT_SYMPTOM_SCHEMA}};
    for (size_t i = 0; options->operand_count > 0 && i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(options->operands[0], kinds[i].word) == 0) {
            trk_refusal_schema(kinds[i].schema);
            trk_refusal_path(options->operand_count > 1 && i > 0 ? options->operands[1] : NULL);
        }
    }
}

static int answer(const struct trk_options *options)
{
    const char *first = options->operand_count > 0 ? options->operands[0] : "";
    bool live = strcmp(first, "live") == 0;
    note_kind(options);
    static const char *const of_live[] = {"answer", "judge", "repeat", "output", "force", NULL};
    static const char *const of_git[] = {"core", NULL};
    static const char *const of_cores[] = {"core-limit", NULL};
    static const char *const of_files[] = {"symptom", "schedule", NULL};
    static const char *const not_git[] = {"symptom", "schedule", "json", NULL};
    static const char *const of_scenarios[] = {"schedule", NULL};
    static const char *const not_cores[] = {"symptom", "schedule", "git", "core", NULL};
    if (!live && trk_terminal_refuse(options, of_live, "goes with live")) {
        return TRK_EXIT_USAGE;
    }
    if (is_scenario_pipe(first)) {
        return TRK_EXIT_USAGE;
    }
    bool cores = trk_options_given(options, "good") || trk_options_given(options, "bad");
    if (!cores && trk_terminal_refuse(options, of_cores, "goes with --good and --bad")) {
        return TRK_EXIT_USAGE;
    }
    if (cores) {
        return trk_terminal_refuse(options, not_cores, "does not go with --good and --bad")
                   ? TRK_EXIT_USAGE
                   : trk_bisect_cores(options);
    }
    if (trk_options_flag(options, "git")) {
        if (trk_terminal_refuse(options, not_git, "does not go with --git")) {
            return TRK_EXIT_USAGE;
        }
        trk_refusal_not_needed(); /* its exit code says all */
        return trk_bisect_git(options);
    }
    if (trk_terminal_refuse(options, of_git, "goes with --git")) {
        return TRK_EXIT_USAGE;
    }
    bool run = strcmp(first, "run") == 0, hashes = strcmp(first, "hashes") == 0;
    if ((live || run || hashes) &&
        trk_terminal_refuse(options, of_files, "does not go with live, run or hashes")) {
        return TRK_EXIT_USAGE;
    }
    if (live || run || hashes) {
        return live  ? trk_bisect_live(options)
               : run ? trk_bisect_run(options)
                     : trk_bisect_hashes(options);
    }
    if (trk_options_text(options, "symptom") == NULL) {
        return trk_bisect_trace(options);
    }
    if (trk_terminal_refuse(options, of_scenarios, "does not go with --symptom")) {
        return TRK_EXIT_USAGE;
    }
    if (options->operand_count > 1 || trk_scenario_files_named(first)) {
        trk_terminal_say("bisect", "--symptom goes with one trace");
        return TRK_EXIT_USAGE;
    }
    return trk_bisect_symptom(options);
}

/* To git every other code but 125 is an answer. */
static int in_words_of_git(int code)
{
    return code == TRK_EXIT_OK || code == TRK_EXIT_BROKEN ? code : TRK_BISECT_CANNOT;
}

/* Whether another option took the word for its value: its own is missing. */
static bool git_swallowed(const struct trk_options *options)
{
    for (size_t i = 0; i < options->count; i++) {
        const char *text = options->values[i].text;
        if (text != NULL && strcmp(text, "--git") == 0) {
            return true;
        }
    }
    return false;
}

static int run_bisect(const struct trk_options *options)
{
    int code = answer(options);
    bool git =
        trk_options_flag(options, "git") || (code == TRK_EXIT_USAGE && git_swallowed(options));
    return git ? in_words_of_git(code) : code;
}

/* What was not understood, or asks for help: git must not take it for an answer. */
static int refuse_bisect(char *const *arguments, int code)
{
    return trk_options_flag_meant(&trk_cmd_bisect, "git", arguments) ? TRK_BISECT_CANNOT : code;
}

const struct trk_command trk_cmd_bisect = {
    .name = "bisect",
    .about = "find the event, the decision or the swap that broke it",
    .operands = "[F | F.json [FAIL] | run F -- CMD... | live -- CMD... | hashes F]",
    .text =
        "Of a trace F: what trk sim finds in one pass, with its story, and the point of no return: "
        "the step of the failing order behind which no order of the rest passes. With --symptom, "
        "of bytes that look wrong though no rule is seen to break, the event that let them get out "
        "of step, by halving. With --good and --bad, of two builds of a tracker as plug-ins, the "
        "first event or operation behind which a page's state differs, or one of them goes another "
        "way or crashes. Of a scenario file its point of no return, and with --schedule PASS "
        "FAIL the swap that lies between two schedules.\n\n"
        "run: halves the trace by a command. CMD gets the path of a trace with the first events of "
        "F, in place of {} or behind its arguments, and says with its exit code, as for git bisect "
        "run: 0 good, 125 cannot be told, anything else bad, but for 3: trk's own commands end "
        "with "
        "it where a trace cannot tell, so it counts as 125. Let a script of yours that runs trk "
        "end "
        "with 125 for all codes above 1. The result is the first event that makes it bad.\n\n"
        "live: records CMD again and again with a limit (TRK_TRUST_LIMIT): decisions that a page "
        "is clean and need not be copied are trusted before it alone. The first run trusts all, "
        "the second none, then the limit is halved: what is left is the decision that must not be "
        "trusted. CMD has to ask (recorder/trust.h), as trk demo does.\n\n"
        "hashes: prints what each page was last uploaded with in each frame, of a trace with "
        "hashes of contents (trk record --payload hash), as lines frame:N,range:A+4096,hash:H. The "
        "file of a good recording is what --symptom takes of a bad one.\n\n"
        "--git goes the other way round: git bisect run trk bisect --git F --core ./build/mine.so "
        "lets a trace bisect a tracker's own history.",
    .examples = "trk bisect bad.trk\n"
                "trk bisect bad.trk --symptom frame:12,range:0x80000485000+4096\n"
                "trk bisect hashes good.trk >good.hashes\n"
                "trk bisect bad.trk --symptom good.hashes\n"
                "trk bisect any.trk --good ./old.so --bad ./new.so\n"
                "trk bisect run bad.trk -- trk sim --oracle-only\n"
                "trk bisect live -o bad.trk --answer sim -- trk demo --bug kernel-store\n"
                "git bisect run trk bisect --git bad.trk --core ./build/mine.so",
    .exits =
        "1 when it is found, or a rule is broken; 0 when all is good; 3 when nothing is found in "
        "what there is of a damaged trace that what is missing cannot explain, or the search ends "
        "in what cannot be tested, or flaps, or CMD is bad with no event at all, too. "
        "With --git 0, 1 and 125.",
    .schema = TRK_BISECT_SCHEMA,
    .options = bisect_options,
    .operands_most = TRK_OPTIONS_OPERANDS_MOST,
    .no_named_pipe = true,
    .run = run_bisect,
    .refuse = refuse_bisect,
};
