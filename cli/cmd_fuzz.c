/* trk fuzz: random scenarios from a seed, run and judged. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "fuzz_case.h"
#include "json_out.h"
#include "options.h"
#include "progress.h"
#include "terminal.h"

/* Scenario files hold seeds, and their numbers are exact up to there. */
#define SEED_MOST (UINT64_C(1) << 53)

#define SCHEMA       "trk-fuzz/1"
#define FEATURE_MOST 32u
#define SHOWN_MOST   20u /* failures that are told one by one */

static const struct trk_option fuzz_options[] = {
    {.name = "seed",
     .kind = TRK_OPTION_NUMBER,
     .value = "N",
     .about = "The first program's seed; the next has the next.",
     .fallback = "1",
     .most = SEED_MOST},
    {.name = "runs",
     .kind = TRK_OPTION_NUMBER,
     .value = "N",
     .about = "Programs to run; without it 100, or as many as --steps takes.",
     .least = 1,
     .most = UINT64_MAX},
    {.name = "steps",
     .kind = TRK_OPTION_NUMBER,
     .value = "N",
     .about = "Stop once so many steps were run, from scheduling point to scheduling point.",
     .least = 1,
     .most = UINT64_MAX},
    {.name = "schedule",
     .kind = TRK_OPTION_CHOICE,
     .value = "HOW",
     .about = "How threads take turns; explore makes small programs.",
     .choices = "random|pct|walk|explore|in-order",
     .fallback = "random"},
    {.name = "schedules",
     .kind = TRK_OPTION_NUMBER,
     .value = "N",
     .about = "Schedules of each program, or at most so many to explore.",
     .fallback = "5",
     .least = 1,
     .most = 1000000},
    {.name = "engine",
     .kind = TRK_OPTION_CHOICE,
     .value = "NAME",
     .about = "What explores: over states, by classes, or both, which must agree.",
     .choices = "hashed|dpor|both",
     .fallback = "hashed"},
    {.name = "careless",
     .about =
         "Let threads spoil each other's pages, so that any verdict may come: for --engine both, "
         "and it alone decides."},
    {.name = "threads",
     .kind = TRK_OPTION_NUMBER,
     .value = "N",
     .about = "Threads of each program; without it 1 to 4, as the seed says.",
     .least = 1,
     .most = TRK_GENERATE_THREADS},
    {.name = "features",
     .kind = TRK_OPTION_TEXT,
     .value = "LIST",
     .about = "What programs may use, names with commas between; each program takes a part. A - "
              "before the first name takes them away from all."},
    {.name = "print", .about = "Print the first program and run nothing."},
    {.name = "output",
     .letter = 'o',
     .kind = TRK_OPTION_TEXT,
     .value = "DIR",
     .about = "Write each program that failed to DIR/seed-N.json."},
    {.name = "force", .letter = 'f', .about = "Overwrite such a file if it exists."},
    {.name = "json", .about = "One JSON object, schema " SCHEMA "."},
    TRK_PROGRESS_OPTION,
    {.name = NULL},
};

/* ---- what is asked --------------------------------------------------------------------------- */

static bool feature_bit(const char *name, size_t length, uint32_t *bit)
{
    for (uint32_t i = 0; i < FEATURE_MOST; i++) {
        const char *known = trk_generate_feature_name(i);
        if (known == NULL) {
            return false;
        }
        if (strlen(known) == length && memcmp(known, name, length) == 0) {
            *bit = UINT32_C(1) << i;
            return true;
        }
    }
    return false;
}

static void say_features(const char *name, size_t length)
{
    char list[400] = "";
    for (uint32_t i = 0; trk_generate_feature_name(i) != NULL; i++) {
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", i > 0 ? ", " : "",
                 trk_generate_feature_name(i));
    }
    trk_terminal_say("fuzz", "no feature '%.*s'; there are: %s", (int)(length < 40 ? length : 40),
                     name, list);
}

static bool parse_features(const char *list, uint32_t *out)
{
    *out = TRK_GENERATE_ALL;
    if (list == NULL) {
        return true;
    }
    bool without = list[0] == '-';
    uint32_t named = 0;
    for (const char *name = list + without;; name++) {
        size_t length = strcspn(name, ",");
        uint32_t bit;
        if (!feature_bit(name, length, &bit)) {
            say_features(name, length);
            return false;
        }
        named |= bit;
        name += length;
        if (*name == '\0') {
            break;
        }
    }
    *out = without ? ~named : named;
    return true;
}

static enum trk_scenario_engine engine_named(const char *word)
{
    return strcmp(word, "both") == 0   ? TRK_SCENARIO_BOTH
           : strcmp(word, "dpor") == 0 ? TRK_SCENARIO_DPOR
                                       : TRK_SCENARIO_HASHED;
}

/* --schedule in-order: there is one, and nothing to count. */
static bool one_order(const struct trk_options *options)
{
    return strcmp(trk_options_text(options, "schedule"), "in-order") == 0;
}

static bool ask(const struct trk_options *options, struct trk_fuzz *fuzz)
{
    static const struct {
        const char *word;
        enum trk_generate_schedule schedule;
    } ways[] = {{"random", TRK_GENERATE_RANDOM},
                {"pct", TRK_GENERATE_PCT},
                {"walk", TRK_GENERATE_RANDOM}, /* no schedule of a file's */
                {"explore", TRK_GENERATE_EXPLORE},
                {"in-order", TRK_GENERATE_IN_ORDER}};
    *fuzz = (struct trk_fuzz){
        .program = {.size = sizeof fuzz->program,
                    .seed = trk_options_number(options, "seed"),
                    .threads = (uint32_t)trk_options_number(options, "threads"),
                    .careless = trk_options_flag(options, "careless"),
                    .runs = (uint32_t)trk_options_number(options, "schedules")},
        .engine = engine_named(trk_options_text(options, "engine")),
        .first_seed = trk_options_number(options, "seed"),
        .runs = trk_options_number(options, "runs"),
        .steps = trk_options_number(options, "steps"),
        .folder = trk_options_text(options, "output"),
        .overwrite = trk_options_flag(options, "force"),
    };
    uint64_t seeds = SEED_MOST - fuzz->first_seed + 1;
    if (fuzz->runs == 0) {
        fuzz->runs = fuzz->steps > 0 ? seeds : 100;
    }
    if (fuzz->runs > seeds) {
        trk_terminal_say("fuzz",
                         "%" PRIu64 " programs from seed %" PRIu64
                         " on go beyond the last seed, %" PRIu64,
                         fuzz->runs, fuzz->first_seed, SEED_MOST);
        return false;
    }
    const char *way = trk_options_text(options, "schedule");
    fuzz->walk = strcmp(way, "walk") == 0;
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        if (strcmp(way, ways[i].word) == 0) {
            fuzz->program.schedule = ways[i].schedule;
        }
    }
    if (fuzz->program.careless && fuzz->engine != TRK_SCENARIO_BOTH) {
        trk_terminal_say("fuzz", "--careless goes with --engine both");
        return false;
    }
    if (fuzz->engine != TRK_SCENARIO_HASHED && fuzz->program.schedule != TRK_GENERATE_EXPLORE) {
        trk_terminal_say("fuzz", "--engine goes with --schedule explore");
        return false;
    }
    return parse_features(trk_options_text(options, "features"), &fuzz->program.features);
}

/* ---- what came out --------------------------------------------------------------------------- */

/* The command that shows a failure again. */
static void again(const struct trk_options *options, uint64_t seed, char *out, size_t size)
{
    static const char *const names[] = {"schedule", "schedules", "engine", "threads", "features"};
    snprintf(out, size, "trk fuzz --seed %" PRIu64 " --runs 1", seed);
    if (trk_options_flag(options, "careless")) {
        snprintf(out + strlen(out), size - strlen(out), " --careless");
    }
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *text = trk_options_text(options, names[i]);
        size_t used = strlen(out);
        if (strcmp(names[i], "schedules") == 0 && one_order(options)) {
            continue;
        }
        if (trk_options_given(options, names[i]) && text != NULL && used < size) {
            snprintf(out + used, size - used, " --%s %s", names[i], text);
        } else if (trk_options_given(options, names[i]) && used < size) {
            snprintf(out + used, size - used, " --%s %" PRIu64, names[i],
                     trk_options_number(options, names[i]));
        }
    }
}

static void print_failure(const struct trk_options *options, const struct trk_fuzz_failure *failure)
{
    char line[400];
    const struct trk_scenario_report *report = &failure->report;
    again(options, failure->seed, line, sizeof line);
    trk_terminal_word(TRK_TONE_BAD, "failed");
    printf(": seed %" PRIu64 "\n  verdict: %s, expected %s\n", failure->seed, report->verdict,
           report->expected);
    if (report->thread[0] != '\0') {
        printf("  at: thread %s, operation %" PRIu32 ": %s\n", report->thread, report->operation,
               report->operation_text);
    }
    if (report->text[0] != '\0') {
        fputs("  ", stdout);
        trk_terminal_text(stdout, report->text);
        putchar('\n');
    }
    printf("  again: %s\n", line);
    if (failure->path[0] != '\0') {
        fputs("  written: ", stdout);
        trk_terminal_text(stdout, failure->path);
        putchar('\n');
    }
}

static void print_text(const struct trk_options *options, const struct trk_fuzz *fuzz)
{
    for (size_t i = 0; i < fuzz->failure_count; i++) {
        print_failure(options, &fuzz->failures[i]);
    }
    if (fuzz->failed > fuzz->failure_count) {
        printf("%" PRIu64 " more failed\n", fuzz->failed - fuzz->failure_count);
    }
    printf("%" PRIu64 " programs: %" PRIu64 " held, %" PRIu64 " failed\n", fuzz->done,
           fuzz->done - fuzz->failed, fuzz->failed);
    printf("%" PRIu64 " schedules, %" PRIu64 " steps, %" PRIu64 " operations, %" PRIu64
           " faults, %" PRIu64 " protection calls\n",
           fuzz->schedules, fuzz->steps_done, fuzz->operations, fuzz->faults, fuzz->host_calls);
    if (fuzz->program.schedule == TRK_GENERATE_EXPLORE) {
        printf("%" PRIu64 " programs with all of their schedules\n", fuzz->whole);
    }
    printf("digest %016" PRIx64 "\n", fuzz->digest);
}

static void print_json(const struct trk_options *options, const struct trk_fuzz *fuzz)
{
    char text[400];
    cJSON *object = trk_json_out_object(SCHEMA);
    const struct {
        const char *key;
        uint64_t number;
    } counts[] = {{"seed", fuzz->first_seed},       {"programs", fuzz->done},
                  {"failed", fuzz->failed},         {"whole", fuzz->whole},
                  {"schedules", fuzz->schedules},   {"steps", fuzz->steps_done},
                  {"operations", fuzz->operations}, {"faults", fuzz->faults},
                  {"host_calls", fuzz->host_calls}};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        trk_json_out_number(object, counts[i].key, counts[i].number);
    }
    snprintf(text, sizeof text, "%016" PRIx64, fuzz->digest);
    trk_json_out_text(object, "digest", text);
    cJSON *list = cJSON_AddArrayToObject(object, "failures");
    for (size_t i = 0; i < fuzz->failure_count; i++) {
        const struct trk_fuzz_failure *failure = &fuzz->failures[i];
        const struct trk_scenario_report *report = &failure->report;
        cJSON *one = cJSON_CreateObject();
        trk_json_out_number(one, "seed", failure->seed);
        trk_json_out_text(one, "verdict", report->verdict);
        trk_json_out_text(one, "text", report->text);
        trk_json_out_text(one, "thread", report->thread[0] ? report->thread : NULL);
        trk_json_out_number(one, "operation", report->operation);
        trk_json_out_text(one, "operation_text", report->operation_text);
        trk_json_out_text(one, "schedule", report->schedule[0] ? report->schedule : NULL);
        again(options, failure->seed, text, sizeof text);
        trk_json_out_text(one, "again", text);
        trk_json_out_text(one, "path", failure->path[0] ? failure->path : NULL);
        cJSON_AddItemToArray(list, one);
    }
    trk_json_out_print(object);
}

/* What is asked for and would do nothing; said. */
static bool refused(const struct trk_options *options)
{
    static const char *const of_runs[] = {"runs", "steps", "output", "force", "json", NULL};
    static const char *const of_orders[] = {"schedules", NULL};
    static const char *const of_files[] = {"force", NULL};
    return (trk_options_flag(options, "print") &&
            trk_terminal_refuse(options, of_runs,
                                "does not go with --print, which runs nothing")) ||
           (one_order(options) &&
            trk_terminal_refuse(options, of_orders,
                                "does not go with --schedule in-order, which is one")) ||
           (trk_options_text(options, "output") == NULL &&
            trk_terminal_refuse(options, of_files, "goes with --output"));
}

static int print_program(const struct trk_fuzz *fuzz)
{
    char *text;
    size_t size_bytes;
    if (trk_generate_scenario(&text, &size_bytes, &fuzz->program) != TRK_OK) {
        trk_terminal_say("fuzz", "out of memory");
        return TRK_EXIT_ENVIRONMENT;
    }
    fwrite(text, 1, size_bytes, stdout);
    free(text);
    return TRK_EXIT_OK;
}

static int run_fuzz(const struct trk_options *options)
{
    static struct trk_fuzz_failure failures[SHOWN_MOST];
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    struct trk_fuzz fuzz;
    if (refused(options) || !ask(options, &fuzz)) {
        return TRK_EXIT_USAGE;
    }
    if (trk_options_flag(options, "print")) {
        return print_program(&fuzz);
    }
    int refused = trk_fuzz_folder_check(&fuzz, &error) == TRK_OK
                      ? TRK_EXIT_OK
                      : trk_terminal_error("fuzz", NULL, &error);
    if (refused != TRK_EXIT_OK) {
        return refused;
    }
    fuzz.failures = failures;
    fuzz.failures_most = SHOWN_MOST;
    enum trk_status status = trk_fuzz_run(&fuzz, &error);
    (trk_options_flag(options, "json") ? print_json : print_text)(options, &fuzz);
    if (status != TRK_OK) {
        trk_terminal_flush();
        return trk_terminal_error("fuzz", NULL, &error);
    }
    return fuzz.failed > 0 ? TRK_EXIT_BROKEN : TRK_EXIT_OK;
}

const struct trk_command trk_cmd_fuzz = {
    .name = "fuzz",
    .about = "run random scenarios and judge them",
    .operands = "",
    .text =
        "Makes scenario files from seeds and runs them: one to four threads that work on guest "
        "memory, the tracker and the GPU, with faults injected into some of their steps, and an "
        "end "
        "at which nothing goes wrong any more and both copies of every byte must be the newest. "
        "Each program uses a random part of the features. On a correct core every schedule of "
        "every program ends in ok, so whatever is found is a bug of the core or of the "
        "simulator.\n\n"
        "Features: threads, sharing (pages that several threads touch), gpu (writes of the GPU), "
        "sync, locks, nested, marks, hle, kernel, protect, map, alias, generations, watch, edges, "
        "wide, policy, pages, faults, delay.\n\n"
        "The same options give the same programs, the same schedules and the same report, byte for "
        "byte; the digest stands for all of the programs and what came out of them. A program that "
        "fails is told with the command that shows it again. The exit code is 1 when one failed.",
    .examples = "trk fuzz\ntrk fuzz --steps 1000000 --schedule pct\n"
                "trk fuzz --seed 7 --print > case.json && trk sim case.json\n"
                "trk fuzz --schedule explore --features gpu,sharing,threads -o failed",
    .schema = SCHEMA,
    .options = fuzz_options,
    .run = run_fuzz,
};
