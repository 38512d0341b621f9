/* trk catalogue: stored traces, by their content, with what was said of them. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "catalogue_add.h"
#include "catalogue_tell.h"
#include "command.h"
#include "options.h"
#include "refusal.h"
#include "terminal.h"
#include "traces/catalogue.h"
#include "traces/json_text.h"
#include "traces/plain_file.h"

#define BENCH_SCHEMA "trk-bench/1"
/* The most bytes of a bench's result. */
#define BENCH_BYTES (16u << 20)

static const struct trk_option catalogue_options[] = {
    {.name = "expected",
     .kind = TRK_OPTION_TEXT,
     .value = "V",
     .about = "The verdict that an added trace must get. Default: what the manifest beside it "
              "says, else ok."},
    {.name = "origin",
     .kind = TRK_OPTION_TEXT,
     .value = "TEXT",
     .about = "Where an added trace comes from."},
    {.name = "licence",
     .kind = TRK_OPTION_TEXT,
     .value = "TEXT",
     .about = "What may be done with an added trace."},
    {.name = "json",
     .about = "list, show and runs: one JSON object, schema " TRK_CATALOGUE_SCHEMA "."},
    {.name = NULL},
};

struct job {
    const struct trk_options *options;
    struct trk_catalogue *catalogue;
    const char *folder;
    const char *name; /* bench: which; a name, a hash or its beginning */
    uint64_t found;
    char hash[TRK_CONTENT_BYTES]; /* of the one that is meant */
    uint64_t bytes;
};

/* ---- list, show, runs ------------------------------------------------------------------------ */

static struct trk_catalogue_told told(const struct job *job)
{
    return (struct trk_catalogue_told){job->catalogue, job->folder,
                                       trk_options_flag(job->options, "json")};
}

static int list_all(struct job *job)
{
    const struct trk_catalogue_told all = told(job);
    return trk_catalogue_tell_all(&all);
}

static int show(struct job *job)
{
    const struct trk_catalogue_told one = told(job);
    return trk_catalogue_tell_one(&one, job->options->operands[2]);
}

static int runs(struct job *job)
{
    const struct trk_catalogue_told all = told(job);
    return trk_catalogue_tell_runs(&all);
}

/* ---- add, rm, gc, bench ---------------------------------------------------------------------- */

static int add(struct job *job)
{
    return trk_catalogue_add_operands(job->folder, job->options);
}

static int rm(struct job *job)
{
    const struct trk_options *options = job->options;
    for (size_t i = 2; i < options->operand_count; i++) {
        struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
        if (trk_catalogue_remove(job->catalogue, options->operands[i], &error) != TRK_OK) {
            return trk_terminal_error("catalogue", job->folder, &error);
        }
    }
    return TRK_EXIT_OK;
}

static void tell_removed(void *context, const char *file)
{
    (void)context;
    trk_terminal_text(stdout, file);
    putchar('\n');
}

static int gc(struct job *job)
{
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    struct trk_catalogue_swept swept;
    if (trk_catalogue_gc(job->catalogue, tell_removed, NULL, &swept, &error) != TRK_OK) {
        return trk_terminal_error("catalogue", job->folder, &error);
    }
    printf("%" PRIu64 " files removed\n", swept.removed);
    if (swept.kept > 0) {
        trk_terminal_say("catalogue",
                         "%" PRIu64 " stored files are not in the database, but "
                         "described: trk catalogue rebuild takes them up, or says why not",
                         swept.kept);
    }
    return TRK_EXIT_OK;
}

struct rebuilt {
    uint64_t taken, left_out;
};

static void tell_taken(void *context, const char *file, const struct trk_manifest_entry *entry,
                       const char *lacks)
{
    struct rebuilt *rebuilt = context;
    if (lacks != NULL) {
        trk_terminal_say("catalogue", "%s%s: %s", entry == NULL ? "left out: " : "", file, lacks);
    }
    if (entry == NULL) {
        rebuilt->left_out++;
        return;
    }
    rebuilt->taken++;
    printf("%s ", entry->hash);
    trk_terminal_text(stdout, entry->file);
    putchar('\n');
}

static int rebuild(struct job *job)
{
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    struct rebuilt rebuilt = {.taken = 0};
    char old[64];
    enum trk_status status = trk_catalogue_rebuild(job->folder, old, tell_taken, &rebuilt, &error);
    if (old[0] != '\0') {
        trk_terminal_say("catalogue",
                         TRK_CATALOGUE_FILE " was of no use and is called %s now; "
                                            "the verdicts in it are not taken over",
                         old);
    }
    if (status != TRK_OK) {
        return trk_terminal_error("catalogue", job->folder, &error);
    }
    printf("%" PRIu64 " files taken up\n", rebuilt.taken);
    return rebuilt.left_out == 0 ? TRK_EXIT_OK : TRK_EXIT_DAMAGED;
}

/* The hash of the one that is meant. */
static enum trk_status find_entry(void *context, const struct trk_manifest_entry *entry,
                                  struct trk_error *error)
{
    struct job *job = context;
    (void)error;
    if (trk_catalogue_is_meant(job->name, entry)) {
        job->found++;
        memcpy(job->hash, entry->hash, sizeof job->hash);
        job->bytes = entry->bytes;
    }
    return TRK_OK;
}

/* Whether it is a result of trk bench, of a trace of so many bytes. */
static enum trk_status check_bench(const cJSON *root, uint64_t bytes, struct trk_error *error)
{
    const cJSON *schema = cJSON_GetObjectItemCaseSensitive(root, "schema");
    const cJSON *trace = cJSON_GetObjectItemCaseSensitive(root, "trace");
    const cJSON *hash = cJSON_GetObjectItemCaseSensitive(trace, "hash");
    const cJSON *size = cJSON_GetObjectItemCaseSensitive(trace, "bytes");
    if (!cJSON_IsString(schema) || strcmp(schema->valuestring, BENCH_SCHEMA) != 0 ||
        !cJSON_IsString(hash) || !cJSON_IsNumber(size)) {
        return trk_error_set(error, TRK_E_DAMAGED, "no result of trk bench --json");
    }
    return size->valuedouble == (double)bytes
               ? TRK_OK
               : trk_error_set(error, TRK_E_ARGUMENT,
                               "it is of another trace: that one has %.0f bytes, this one %" PRIu64,
                               size->valuedouble, bytes);
}

/* The text of a result of trk bench, as it stands in its file. bytes: of the trace that it is of.
 */
static enum trk_status read_bench(const char *path, uint64_t bytes, char **text,
                                  struct trk_error *error)
{
    size_t size;
    cJSON *root = NULL;
    enum trk_status status = trk_plain_file_read(path, BENCH_BYTES, text, &size, error);
    if (status == TRK_OK) {
        status = trk_json_text_parse(*text, size, &root, error);
    }
    if (status == TRK_OK) {
        status = check_bench(root, bytes, error);
    }
    cJSON_Delete(root);
    return status;
}

static int bench(struct job *job)
{
    const char *path = job->options->operands[3];
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    job->name = job->options->operands[2];
    enum trk_status status = trk_catalogue_list(job->catalogue, find_entry, job, &error);
    if (status == TRK_OK && job->found != 1) {
        status = trk_error_set(
            &error, TRK_E_ARGUMENT,
            job->found == 0 ? "none is called %.60s" : "several are called %.60s", job->name);
    }
    if (status != TRK_OK) {
        return trk_terminal_error("catalogue", job->folder, &error);
    }
    char *text = NULL;
    status = read_bench(path, job->bytes, &text, &error);
    if (status == TRK_OK) {
        status = trk_catalogue_bench(job->catalogue, job->hash, text, &error);
    }
    free(text);
    return status == TRK_OK ? TRK_EXIT_OK : trk_terminal_error("catalogue", path, &error);
}

/* ---- which ----------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    size_t least, most; /* operands, with the name and the catalogue */
    bool json;          /* --json means something */
    int (*run)(struct job *job);
    enum trk_catalogue_for what; /* it is opened for */
} actions[] = {
    {"add", 3, TRK_OPTIONS_OPERANDS_MOST, false, add, TRK_CATALOGUE_TO_ADD},
    {"list", 2, 2, true, list_all, TRK_CATALOGUE_TO_READ},
    {"show", 3, 3, true, show, TRK_CATALOGUE_TO_READ},
    {"runs", 2, 2, true, runs, TRK_CATALOGUE_TO_READ},
    {"rm", 3, TRK_OPTIONS_OPERANDS_MOST, false, rm, TRK_CATALOGUE_TO_WRITE},
    {"gc", 2, 2, false, gc, TRK_CATALOGUE_TO_WRITE},
    {"rebuild", 2, 2, false, rebuild, TRK_CATALOGUE_TO_REBUILD},
    {"bench", 4, 4, false, bench, TRK_CATALOGUE_TO_WRITE},
};

static int run_catalogue(const struct trk_options *options)
{
    static const char *const of_add[] = {"expected", "origin", "licence", NULL};
    static const char *const of_list[] = {"json", NULL};
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    const size_t count = sizeof actions / sizeof actions[0];
    size_t i = 0;
    trk_refusal_path(options->operands[1]);
    while (i < count && strcmp(options->operands[0], actions[i].name) != 0) {
        i++;
    }
    if (i == count) {
        trk_terminal_say("catalogue",
                         "no '%.40s'; there are: add, list, show, runs, rm, gc, rebuild, bench",
                         options->operands[0]);
        return TRK_EXIT_USAGE;
    }
    if (options->operand_count < actions[i].least || options->operand_count > actions[i].most) {
        trk_terminal_say("catalogue", "%s: %s", actions[i].name,
                         options->operand_count < actions[i].least ? "which ones?"
                                                                   : "arguments too many");
        return TRK_EXIT_USAGE;
    }
    if ((actions[i].run != add && trk_terminal_refuse(options, of_add, "goes with add")) ||
        (!actions[i].json &&
         trk_terminal_refuse(options, of_list, "goes with list, show and runs"))) {
        return TRK_EXIT_USAGE;
    }
    if (!actions[i].json && trk_options_flag(options, "json")) {
        trk_refusal_not_needed(); /* a setting's word, which is for others */
    }
    struct job job = {.options = options, .folder = options->operands[1]};
    /* These open it themselves: one as what it is, one when there is something to store. */
    if (actions[i].run != rebuild && actions[i].run != add &&
        trk_catalogue_open(&job.catalogue, job.folder, actions[i].what, &error) != TRK_OK) {
        return trk_terminal_error("catalogue", job.folder, &error);
    }
    int code = actions[i].run(&job);
    trk_catalogue_close(job.catalogue);
    return code;
}

const struct trk_command trk_cmd_catalogue = {
    .name = "catalogue",
    .about = "store traces, and what was said of them",
    .operands = "add|list|show|runs|rm|gc|rebuild|bench CATALOGUE [F...]",
    .text =
        "A catalogue is a folder: the files lie in CATALOGUE/traces by the hash of their content, "
        "catalogue.db is a database of SQLite. trk regress CATALOGUE runs what is stored and keeps "
        "the verdicts.\n\n"
        "add stores traces and scenarios (*.json), when it has looked at all, and makes the "
        "catalogue where there is none; what a manifest.json beside a file says of it is taken "
        "over. A file's name has at most 127 bytes. What is stored already keeps "
        "its name, and what was said of it where nothing else is said. list lists. show tells all "
        "of one, by its name or the beginning of its hash. runs lists the runs of trk regress "
        "whose verdicts are kept, a core and a build of trk each, by the id that regress --against "
        "takes. rm removes it, with its verdicts. gc removes "
        "files in CATALOGUE/traces that nothing speaks of, as a process leaves that was killed, "
        "and names them; stored files that only the database does not know stay. bench keeps a "
        "result of trk bench --json with the trace that it measured: bench CATALOGUE NAME "
        "RESULT.json.\n\n"
        "Many processes may use a catalogue at once. A database that is damaged, or another "
        "program's, without its tables, or empty beside stored files, is refused. rebuild makes "
        "a new one of the stored files and what lies beside each (HASH.about: name, expected "
        "verdict, command, origin, licence); the old one is renamed, or gives place if it is "
        "empty. Verdicts and benches are not in there. In a catalogue "
        "that can be used rebuild takes up files that the database does not have. One that may "
        "only be read can be listed, shown and run; the verdicts are not kept then.",
    .examples = "trk catalogue add kept trace.trk\ntrk catalogue list kept\n"
                "trk regress -j 4 kept\ntrk catalogue show kept trace.trk",
    .schema = TRK_CATALOGUE_SCHEMA,
    .options = catalogue_options,
    .operands_least = 2,
    .operands_most = TRK_OPTIONS_OPERANDS_MOST,
    .run = run_catalogue,
};
