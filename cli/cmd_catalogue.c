/* trk catalogue: stored traces, by their content, with what was said of them. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "catalogue_add.h"
#include "command.h"
#include "json_out.h"
#include "options.h"
#include "terminal.h"
#include "traces/catalogue.h"

#define SCHEMA       "trk-catalogue/1"
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
    {.name = "json", .about = "list, show and runs: one JSON object, schema " SCHEMA "."},
    {.name = NULL},
};

struct job {
    const struct trk_options *options;
    struct trk_catalogue *catalogue;
    const char *folder;
    cJSON *list;      /* --json */
    const char *name; /* show: which; a name, a hash or its beginning */
    uint64_t shown;
    char hash[TRK_CONTENT_BYTES]; /* of the one that is meant */
};

/* ---- list, show ------------------------------------------------------------------------------ */

static cJSON *entry_json(const struct trk_manifest_entry *entry)
{
    cJSON *object = cJSON_CreateObject();
    trk_json_out_text(object, "name", entry->file);
    trk_json_out_text(object, "hash", entry->hash);
    trk_json_out_number(object, "bytes", entry->bytes);
    trk_json_out_text(object, "command", entry->command);
    trk_json_out_text(object, "origin", entry->origin);
    trk_json_out_text(object, "licence", entry->licence);
    trk_json_out_text(object, "policy", entry->policy);
    trk_json_out_text(object, "expected", entry->expected[0] != '\0' ? entry->expected : NULL);
    return object;
}

static enum trk_status list_entry(void *context, const struct trk_manifest_entry *entry,
                                  struct trk_error *error)
{
    struct job *job = context;
    (void)error;
    if (job->list != NULL) {
        cJSON_AddItemToArray(job->list, entry_json(entry));
        return TRK_OK;
    }
    printf("%.12s %10" PRIu64 "  %-16s ", entry->hash, entry->bytes,
           entry->expected[0] != '\0' ? entry->expected : "-");
    trk_terminal_text(stdout, entry->file);
    putchar('\n');
    return TRK_OK;
}

static void show_verdict(void *context, const struct trk_catalogue_verdict *verdict)
{
    cJSON *into = context;
    if (into == NULL) {
        printf("verdict  %-16s schedule %s, seeds %s, trk %s, core ", verdict->verdict,
               verdict->schedule, verdict->seeds, verdict->trk);
        trk_terminal_text(stdout, verdict->core);
        putchar('\n');
        return;
    }
    cJSON *object = cJSON_CreateObject();
    trk_json_out_text(object, "core", verdict->core);
    trk_json_out_text(object, "schedule", verdict->schedule);
    trk_json_out_text(object, "seeds", verdict->seeds);
    trk_json_out_text(object, "trk", verdict->trk);
    trk_json_out_text(object, "verdict", verdict->verdict);
    trk_json_out_text(object, "detail", verdict->detail[0] != '\0' ? verdict->detail : NULL);
    trk_json_out_number(object, "event_at", verdict->event_at);
    trk_json_out_number(object, "event_visible", verdict->event_visible);
    trk_json_out_text(object, "thread", verdict->thread[0] != '\0' ? verdict->thread : NULL);
    trk_json_out_text(object, "text", verdict->text[0] != '\0' ? verdict->text : NULL);
    cJSON_AddItemToArray(into, object);
}

static void show_bench(void *context, const char *json)
{
    cJSON *into = context;
    if (into != NULL) {
        cJSON *result = cJSON_Parse(json);
        cJSON_AddItemToArray(into, result != NULL ? result : cJSON_CreateNull());
    } else {
        printf("bench    %zu bytes of JSON, see --json\n", strlen(json));
    }
}

/* By its name, or the beginning of its hash. */
static bool is_meant(const struct job *job, const struct trk_manifest_entry *entry)
{
    return strcmp(entry->file, job->name) == 0 ||
           (job->name[0] != '\0' && strncmp(entry->hash, job->name, strlen(job->name)) == 0);
}

static enum trk_status show_entry(void *context, const struct trk_manifest_entry *entry,
                                  struct trk_error *error)
{
    struct job *job = context;
    if (!is_meant(job, entry)) {
        return TRK_OK;
    }
    job->shown++;
    cJSON *object = NULL, *verdicts = NULL, *benches = NULL;
    if (job->list != NULL) {
        object = entry_json(entry);
        verdicts = cJSON_AddArrayToObject(object, "verdicts");
        benches = cJSON_AddArrayToObject(object, "benches");
        cJSON_AddItemToArray(job->list, object);
    } else {
        const struct {
            const char *label, *text;
        } lines[] = {{"name", entry->file},        {"hash", entry->hash},
                     {"command", entry->command},  {"origin", entry->origin},
                     {"licence", entry->licence},  {"policy", entry->policy},
                     {"expected", entry->expected}};
        for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
            printf("%-8s ", lines[i].label);
            trk_terminal_text(stdout, lines[i].text);
            putchar('\n');
        }
        printf("bytes    %" PRIu64 "\n", entry->bytes);
    }
    enum trk_status status =
        trk_catalogue_verdicts(job->catalogue, entry->hash, show_verdict, verdicts, error);
    return status == TRK_OK
               ? trk_catalogue_benches(job->catalogue, entry->hash, show_bench, benches, error)
               : status;
}

/* Either of the two, in JSON where that is asked for. */
static int tell(struct job *job, trk_catalogue_entry_fn *fn)
{
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    cJSON *object = NULL;
    if (trk_options_flag(job->options, "json")) {
        object = trk_json_out_object(SCHEMA);
        trk_json_out_text(object, "path", job->folder);
        job->list = cJSON_AddArrayToObject(object, "traces");
    }
    enum trk_status status = trk_catalogue_list(job->catalogue, fn, job, &error);
    if (status == TRK_OK && fn == show_entry && job->shown == 0) {
        status = trk_error_set(&error, TRK_E_ARGUMENT, "none is called %.60s", job->name);
    }
    if (status != TRK_OK) {
        cJSON_Delete(object);
        return trk_terminal_error("catalogue", job->folder, &error);
    }
    if (object != NULL) {
        trk_json_out_print(object);
    }
    return TRK_EXIT_OK;
}

static int list_all(struct job *job)
{
    return tell(job, list_entry);
}

static void tell_run(void *context, const struct trk_catalogue_run *run)
{
    cJSON *into = context;
    if (into == NULL) {
        printf("%s %6" PRIu64 " verdicts, trk %s, core ", run->id, run->verdicts, run->trk);
        trk_terminal_text(stdout, run->core);
        putchar('\n');
        return;
    }
    cJSON *object = cJSON_CreateObject();
    trk_json_out_text(object, "id", run->id);
    trk_json_out_text(object, "core", run->core);
    trk_json_out_text(object, "trk", run->trk);
    trk_json_out_number(object, "verdicts", run->verdicts);
    cJSON_AddItemToArray(into, object);
}

static int runs(struct job *job)
{
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    bool json = trk_options_flag(job->options, "json");
    cJSON *object = json ? trk_json_out_object(SCHEMA) : NULL;
    cJSON *list = NULL;
    if (json) {
        trk_json_out_text(object, "path", job->folder);
        list = cJSON_AddArrayToObject(object, "runs");
    }
    if (trk_catalogue_runs(job->catalogue, tell_run, list, &error) != TRK_OK) {
        cJSON_Delete(object);
        return trk_terminal_error("catalogue", job->folder, &error);
    }
    if (json) {
        trk_json_out_print(object);
    }
    return TRK_EXIT_OK;
}

static int show(struct job *job)
{
    job->name = job->options->operands[2];
    return tell(job, show_entry);
}

/* ---- add, rm, gc, bench
 * --------------------------------------------------------------------------- */

static int add(struct job *job)
{
    return trk_catalogue_add_operands(job->catalogue, job->options);
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

static int gc(struct job *job)
{
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    struct trk_catalogue_swept swept;
    if (trk_catalogue_gc(job->catalogue, &swept, &error) != TRK_OK) {
        return trk_terminal_error("catalogue", job->folder, &error);
    }
    printf("%" PRIu64 " files removed\n", swept.removed);
    if (swept.kept > 0) {
        trk_terminal_say("catalogue",
                         "%" PRIu64 " stored files are not in the database, but "
                         "described: trk catalogue rebuild takes them up",
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
    if (is_meant(job, entry)) {
        job->shown++;
        memcpy(job->hash, entry->hash, sizeof job->hash);
    }
    return TRK_OK;
}

/* The text of a result of trk bench; NULL: it is none, or there is no memory. */
static char *read_bench(const char *path)
{
    FILE *file = fopen(path, "rbe");
    char *text = file != NULL ? malloc(BENCH_BYTES + 1) : NULL;
    size_t size = text != NULL ? fread(text, 1, BENCH_BYTES, file) : 0;
    if (file != NULL) {
        fclose(file);
    }
    if (text == NULL) {
        return NULL;
    }
    text[size] = '\0';
    cJSON *root = size < BENCH_BYTES ? cJSON_Parse(text) : NULL;
    const cJSON *schema = cJSON_GetObjectItemCaseSensitive(root, "schema");
    bool good = cJSON_IsString(schema) && strcmp(schema->valuestring, BENCH_SCHEMA) == 0;
    cJSON_Delete(root);
    if (!good) {
        free(text);
        text = NULL;
    }
    return text;
}

static int bench(struct job *job)
{
    const char *path = job->options->operands[3];
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    job->name = job->options->operands[2];
    enum trk_status status = trk_catalogue_list(job->catalogue, find_entry, job, &error);
    if (status == TRK_OK && job->shown != 1) {
        status = trk_error_set(
            &error, TRK_E_ARGUMENT,
            job->shown == 0 ? "none is called %.60s" : "several are called %.60s", job->name);
    }
    if (status != TRK_OK) {
        return trk_terminal_error("catalogue", job->folder, &error);
    }
    char *text = read_bench(path);
    status = text != NULL ? trk_catalogue_bench(job->catalogue, job->hash, text, &error)
                          : trk_error_set(&error, TRK_E_DAMAGED, "no result of trk bench --json");
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
    struct job job = {.options = options, .folder = options->operands[1]};
    if (actions[i].run != rebuild && /* which opens it itself, as what it is */
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
        "add stores traces and scenarios (*.json), and makes the catalogue where there is none; "
        "what a manifest.json beside a file says of it is taken over. What is stored already keeps "
        "its name, and what was said of it where nothing else is said. list lists. show tells all "
        "of one, by its name or the beginning of its hash. runs lists the runs of trk regress "
        "whose verdicts are kept, a core and a build of trk each, by the id that regress --against "
        "takes. rm removes it, with its verdicts. gc "
        "removes files that nothing speaks of, left by a process that was killed; stored files "
        "that "
        "only the database does not know stay. bench keeps a result "
        "of trk bench --json with the trace that it measured: bench CATALOGUE NAME RESULT.json.\n\n"
        "Many processes may use a catalogue at once. A database that is damaged, or another "
        "program's, or empty beside stored files, is refused. rebuild makes a new one of the "
        "stored "
        "files and what lies beside each (HASH.about: name, expected verdict, command, origin, "
        "licence); the old one is renamed. Verdicts and benches are not in there. In a catalogue "
        "that can be used rebuild takes up files that the database does not have. One that may "
        "only be read can be listed, shown and run; the verdicts are not kept then.",
    .examples = "trk catalogue add kept trace.trk\ntrk catalogue list kept\n"
                "trk regress -j 4 kept\ntrk catalogue show kept trace.trk",
    .options = catalogue_options,
    .operands_least = 2,
    .operands_most = TRK_OPTIONS_OPERANDS_MOST,
    .run = run_catalogue,
};
