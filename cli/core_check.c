#include "core_check.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "json_out.h"
#include "terminal.h"

/* ---- summing up ------------------------------------------------------------------------------ */

/* What became of a file. */
static enum trk_core_case case_of(const struct trk_scenario_file *file)
{
    const struct trk_scenario_report *report = &file->report;
    switch (file->end) {
    case TRK_SCENARIO_HELD:
        return TRK_CORE_HOLDS;
    case TRK_SCENARIO_REFUSED:
        return TRK_CORE_LACKS;
    case TRK_SCENARIO_CRASHED:
        return file->slow ? TRK_CORE_UNDECIDED : TRK_CORE_CRASHES;
    case TRK_SCENARIO_BROKEN:
        return TRK_CORE_BROKEN;
    case TRK_SCENARIO_FAILED:
        return report->undecided ? TRK_CORE_UNDECIDED : TRK_CORE_DEPARTS;
    default:
        return TRK_CORE_DEPARTS;
    }
}

static const char *case_name(enum trk_core_case what)
{
    static const char *const names[TRK_CORE_CASE_COUNT] = {
        [TRK_CORE_HOLDS] = "holds",         [TRK_CORE_DEPARTS] = "departs",
        [TRK_CORE_UNDECIDED] = "undecided", [TRK_CORE_CRASHES] = "crashes",
        [TRK_CORE_LACKS] = "lacks",         [TRK_CORE_BROKEN] = "broken",
    };
    return names[what];
}

static void count_in(struct trk_core_report *report, const char *key, const char *value,
                     enum trk_core_case what)
{
    for (size_t i = 0; i < report->share_count; i++) {
        struct trk_core_share *share = &report->shares[i];
        if (strcmp(share->key, key) == 0 && strcmp(share->value, value) == 0) {
            share->cases[what]++;
        }
    }
}

static void add_share(struct trk_core_report *report, const char *key, const char *value)
{
    report->shares[report->share_count++] = (struct trk_core_share){.key = key, .value = value};
}

static const char *const presets[TRK_CORE_PRESETS] = {"default", "strict", "kyty-2026-08"};
static const uint32_t page_sizes[] = {4096, 16384, 65536};
static const char *const page_words[] = {"4096", "16384", "65536"};

static void add_shares(struct trk_core_report *report)
{
    for (size_t i = 0; i < TRK_CORE_PRESETS; i++) {
        add_share(report, "preset", presets[i]);
    }
    for (int i = TRK_INVALIDATE_VERIFY; i <= TRK_INVALIDATE_PER_REGION; i++) {
        add_share(report, "invalidate", trk_invalidate_policy_name((enum trk_invalidate_policy)i));
    }
    for (int i = TRK_DOWNLOAD_PER_REGION; i <= TRK_DOWNLOAD_ALL_REGIONS; i++) {
        add_share(report, "download", trk_download_policy_name((enum trk_download_policy)i));
    }
    for (size_t i = 0; i < sizeof page_words / sizeof page_words[0]; i++) {
        add_share(report, "page_size", page_words[i]);
    }
    add_share(report, "generations", "true");
}

static void count_file(struct trk_core_report *report, const struct trk_scenario_file *file)
{
    const struct trk_policy *policy = &file->policy;
    enum trk_core_case what = case_of(file);
    report->cases[what]++;
    report->unscaled += file->unscaled != NULL;
    if (file->scaled_bytes != 0 && what != TRK_CORE_LACKS) {
        report->scaled++;
        report->scaled_bytes = file->scaled_bytes;
    }
    if (what == TRK_CORE_BROKEN) {
        return; /* it has no policy */
    }
    for (size_t i = 0; i < TRK_CORE_PRESETS; i++) {
        struct trk_policy preset = *policy;
        if (trk_policy_preset(presets[i], &preset) != TRK_OK) {
            continue;
        }
        /* Pages of another size, and generations beside them, are no other policy. */
        preset.page_size_bytes = policy->page_size_bytes;
        preset.generations = policy->generations;
        if (trk_policy_pack(&preset) == trk_policy_pack(policy)) {
            count_in(report, "preset", presets[i], what);
        }
    }
    count_in(report, "invalidate", trk_invalidate_policy_name(policy->invalidate), what);
    count_in(report, "download", trk_download_policy_name(policy->download), what);
    for (size_t i = 0; i < sizeof page_sizes / sizeof page_sizes[0]; i++) {
        if (policy->page_size_bytes == page_sizes[i]) {
            count_in(report, "page_size", page_words[i], what);
        }
    }
    if (policy->generations) {
        count_in(report, "generations", "true", what);
    }
}

/* Cases that could be run. */
static size_t ran(const struct trk_core_share *share)
{
    size_t count = 0;
    for (int what = 0; what < TRK_CORE_CASE_COUNT; what++) {
        count += what != TRK_CORE_LACKS ? share->cases[what] : 0;
    }
    return count;
}

void trk_core_report_fill(struct trk_core_report *report, const struct trk_scenario_files *files,
                          const char *path)
{
    *report = (struct trk_core_report){.files = files, .path = path};
    add_shares(report);
    for (size_t i = 0; i < files->count; i++) {
        count_file(report, &files->files[i]);
    }
    for (size_t i = 0; i < TRK_CORE_PRESETS; i++) {
        const struct trk_core_share *share = &report->shares[i], *best = report->best;
        if (ran(share) == 0) {
            continue;
        }
        /* The larger part that holds; of equal ones the one with more cases. */
        size_t its = share->cases[TRK_CORE_HOLDS] * (best != NULL ? ran(best) : 1);
        size_t former = best != NULL ? best->cases[TRK_CORE_HOLDS] * ran(share) : 0;
        if (best == NULL || its > former || (its == former && ran(share) > ran(best))) {
            report->best = share;
        }
    }
}

int trk_core_report_exit_code(const struct trk_core_report *report)
{
    size_t holds = report->cases[TRK_CORE_HOLDS], broken = report->cases[TRK_CORE_BROKEN];
    if (broken > 0 && holds + report->cases[TRK_CORE_LACKS] + broken == report->files->count) {
        return TRK_EXIT_USAGE;
    }
    return holds > 0 && holds + report->cases[TRK_CORE_LACKS] == report->files->count
               ? TRK_EXIT_OK
               : TRK_EXIT_BROKEN;
}

/* Whether it came to no verdict, and the fault says why. */
static bool has_fault(const struct trk_scenario_file *file)
{
    return file->end == TRK_SCENARIO_CRASHED || file->end == TRK_SCENARIO_BROKEN;
}

/* ---- for people ------------------------------------------------------------------------------ */

/* The words for a way in which a core is tried. */
static const char *how(const struct trk_core_about *core)
{
    return core->inside ? "inside its operations"
                        : "operation by operation, since it does not take its locks through the "
                          "host";
}

static void print_shares(const struct trk_core_report *report)
{
    printf("%-12s %-14s %6s %8s %10s %8s %6s %6s\n", "policy", "", "holds", "departs", "undecided",
           "crashes", "lacks", "broken");
    for (size_t i = 0; i < report->share_count; i++) {
        const struct trk_core_share *share = &report->shares[i];
        printf("%-12s %-14s", share->key, share->value);
        static const int widths[TRK_CORE_CASE_COUNT] = {6, 8, 10, 8, 6, 6};
        for (int what = 0; what < TRK_CORE_CASE_COUNT; what++) {
            printf(" %*zu", widths[what], share->cases[what]);
        }
        putchar('\n');
    }
    if (report->best != NULL) {
        printf("best match: %s, %zu of %zu cases hold\n", report->best->value,
               report->best->cases[TRK_CORE_HOLDS], ran(report->best));
    } else {
        puts("best match: none, no case of a policy with a name could be run");
    }
}

static void print_file(const struct trk_scenario_file *file)
{
    enum trk_core_case what = case_of(file);
    if (what == TRK_CORE_HOLDS || what == TRK_CORE_LACKS) {
        return;
    }
    trk_terminal_word(TRK_TONE_BAD, case_name(what));
    fputs(": ", stdout);
    trk_terminal_text(stdout, file->path);
    fputs("\n  ", stdout);
    if (has_fault(file)) {
        trk_terminal_text(stdout, file->fault.text);
    } else {
        printf("%s, expected %s", file->report.verdict, file->report.expected);
        if (file->report.thread[0] != '\0') {
            fputs("; at ", stdout);
            trk_terminal_text(stdout, file->report.thread);
            fputs(": ", stdout);
            trk_terminal_text(stdout, file->report.operation_text);
        }
        if (file->report.text[0] != '\0') {
            fputs("; ", stdout);
            trk_terminal_text(stdout, file->report.text);
        }
    }
    putchar('\n');
}

/* What is lacking, each once, in the order in which it comes. */
static void print_lacks(const struct trk_core_report *report)
{
    const struct trk_scenario_files *files = report->files;
    for (size_t i = 0; i < files->count; i++) {
        size_t same = 0;
        bool first = case_of(&files->files[i]) == TRK_CORE_LACKS;
        for (size_t j = 0; j < files->count && first; j++) {
            bool alike = case_of(&files->files[j]) == TRK_CORE_LACKS &&
                         strcmp(files->files[j].needs, files->files[i].needs) == 0;
            first = !(alike && j < i);
            same += alike;
        }
        if (first) {
            printf("lacks: %s (%zu cases)\n", files->files[i].needs, same);
        }
    }
}

/* Cases of smaller pages than the tracker's: how many ran in another way, and what of the others
 * cannot be had so, each reason once. */
static void print_scaled(const struct trk_core_report *report)
{
    const struct trk_scenario_files *files = report->files;
    if (report->scaled > 0) {
        printf("scaled: %zu cases of 4096-byte pages ran with pages of %" PRIu32 " bytes\n",
               report->scaled, report->scaled_bytes);
    }
    for (size_t i = 0; i < files->count; i++) {
        size_t same = 0;
        bool first = files->files[i].unscaled != NULL;
        for (size_t j = 0; j < files->count && first; j++) {
            bool alike = files->files[j].unscaled != NULL &&
                         strcmp(files->files[j].unscaled, files->files[i].unscaled) == 0;
            first = !(alike && j < i);
            same += alike;
        }
        if (first) {
            printf("not scaled: %s (%zu cases)\n", files->files[i].unscaled, same);
        }
    }
}

void trk_core_report_print(const struct trk_core_report *report)
{
    const struct trk_scenario_files *files = report->files;
    for (size_t i = 0; i < files->count; i++) {
        print_file(&files->files[i]);
    }
    print_lacks(report);
    if (files->core.unseen) {
        puts("not seen: that each page has a lock of its own, since it takes them itself");
    }
    print_scaled(report);
    print_shares(report);
    fputs("core ", stdout);
    trk_terminal_text(stdout, files->core.name);
    fputs(", build ", stdout);
    trk_terminal_text(stdout, files->core.build);
    printf(": tried %s\n%zu cases:", how(&files->core), files->count);
    for (int what = 0; what < TRK_CORE_CASE_COUNT; what++) {
        printf("%s %zu %s", what > 0 ? "," : "", report->cases[what],
               case_name((enum trk_core_case)what));
    }
    putchar('\n');
}

/* ---- for programs ---------------------------------------------------------------------------- */

static void add_counts(cJSON *object, const size_t cases[TRK_CORE_CASE_COUNT])
{
    for (int what = 0; what < TRK_CORE_CASE_COUNT; what++) {
        trk_json_out_number(object, case_name((enum trk_core_case)what), cases[what]);
    }
}

static void add_case(cJSON *list, const struct trk_scenario_file *file)
{
    cJSON *object = cJSON_CreateObject();
    enum trk_core_case what = case_of(file);
    const struct trk_scenario_report *report = &file->report;
    bool ran_it = file->end == TRK_SCENARIO_HELD || file->end == TRK_SCENARIO_FAILED;
    bool fault = has_fault(file);
    bool scaled = file->scaled_bytes != 0; /* then no line runs it again from the file */
    trk_json_out_text(object, "path", file->path);
    trk_json_out_text(object, "outcome", case_name(what));
    trk_json_out_text(object, "lacks", what == TRK_CORE_LACKS ? file->needs : NULL);
    trk_json_out_text(object, "verdict", ran_it ? report->verdict : NULL);
    trk_json_out_text(object, "expected", ran_it ? report->expected : NULL);
    trk_json_out_text(object, "text",
                      fault                               ? file->fault.text
                      : ran_it && report->text[0] != '\0' ? report->text
                                                          : NULL);
    trk_json_out_text(object, "thread",
                      ran_it && report->thread[0] != '\0' ? report->thread : NULL);
    trk_json_out_text(object, "operation_text",
                      ran_it && report->thread[0] != '\0' ? report->operation_text : NULL);
    trk_json_out_text(object, "schedule",
                      ran_it && !scaled && report->schedule[0] != '\0' ? report->schedule : NULL);
    trk_json_out_number(object, "scaled_bytes", scaled ? file->scaled_bytes : TRK_NOT_KNOWN);
    trk_json_out_text(object, "unscaled", file->unscaled);
    cJSON_AddItemToArray(list, object);
}

void trk_core_report_print_json(const struct trk_core_report *report)
{
    const struct trk_core_about *about = &report->files->core;
    cJSON *object = trk_json_out_object(TRK_CORE_CHECK_SCHEMA);
    trk_json_out_text(object, "path", report->path);
    cJSON *core = cJSON_AddObjectToObject(object, "core");
    trk_json_out_text(core, "name", about->name);
    trk_json_out_text(core, "build", about->build);
    cJSON_AddBoolToObject(core, "inside", about->inside);
    cJSON_AddBoolToObject(core, "events", about->events);
    cJSON_AddBoolToObject(core, "returns", about->returns);
    cJSON_AddBoolToObject(core, "knows", about->knows);
    cJSON_AddBoolToObject(core, "unseen", about->unseen);
    add_counts(object, report->cases);
    trk_json_out_number(object, "scaled", report->scaled);
    trk_json_out_number(object, "unscaled", report->unscaled);
    trk_json_out_text(object, "best", report->best != NULL ? report->best->value : NULL);
    cJSON *policies = cJSON_AddArrayToObject(object, "policies");
    for (size_t i = 0; i < report->share_count; i++) {
        cJSON *share = cJSON_CreateObject();
        trk_json_out_text(share, "key", report->shares[i].key);
        trk_json_out_text(share, "value", report->shares[i].value);
        add_counts(share, report->shares[i].cases);
        cJSON_AddItemToArray(policies, share);
    }
    cJSON *cases = cJSON_AddArrayToObject(object, "cases");
    for (size_t i = 0; i < report->files->count; i++) {
        add_case(cases, &report->files->files[i]);
    }
    trk_json_out_print(object);
}
