/* trk catalogue: stored traces, by their content, with what was said of them. */
#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "command.h"
#include "json_out.h"
#include "options.h"
#include "recorder/trace.h"
#include "terminal.h"
#include "traces/catalogue.h"

#define SCHEMA "trk-catalogue/1"

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
    {.name = "json", .about = "list and show: one JSON object, schema " SCHEMA "."},
    {.name = NULL},
};

struct job {
    const struct trk_options *options;
    struct trk_catalogue *catalogue;
    const char *folder;
    cJSON *list;      /* --json */
    const char *name; /* show: which; a name, a hash or its beginning */
    uint64_t shown;
};

/* ---- add ------------------------------------------------------------------------------------- */

/* The policies of a trace's trackers, as its header has them. */
static void policy_of(const struct trk_trace *trace, char *out, size_t size)
{
    cJSON *header = cJSON_Parse(trk_trace_header_json(trace));
    const cJSON *trackers = cJSON_GetObjectItemCaseSensitive(header, "trackers");
    const cJSON *tracker;
    size_t used = 0;
    out[0] = '\0';
    cJSON_ArrayForEach(tracker, trackers)
    {
        const cJSON *policy = cJSON_GetObjectItemCaseSensitive(tracker, "policy");
        const cJSON *value;
        cJSON_ArrayForEach(value, policy)
        {
            char number[32], word[64];
            snprintf(number, sizeof number, "%.0f", value->valuedouble);
            const char *text = cJSON_IsString(value)  ? value->valuestring
                               : cJSON_IsTrue(value)  ? "true"
                               : cJSON_IsFalse(value) ? "false"
                                                      : number;
            int length = snprintf(word, sizeof word, "%s%.20s=%.20s", used > 0 ? "," : "",
                                  value->string, text);
            if (length > 0 && used + (size_t)length < size) {
                memcpy(out + used, word, (size_t)length + 1);
                used += (size_t)length;
            }
        }
    }
    cJSON_Delete(header);
}

/* Whether it is a trace that can be read to its end, or a scenario. */
static enum trk_status look_at(const char *path, struct trk_manifest_entry *entry,
                               struct trk_error *error)
{
    struct trk_trace *trace = NULL;
    size_t length = strlen(path);
    if (length > 5 && strcmp(path + length - 5, ".json") == 0) {
        entry->expected[0] = '\0'; /* it says so itself */
        return TRK_OK;
    }
    enum trk_status status = trk_trace_open(&trace, path, error);
    if (status == TRK_OK) {
        status = trk_trace_scan(trace, error);
    }
    if (status == TRK_OK && entry->policy[0] == '\0') {
        policy_of(trace, entry->policy, sizeof entry->policy);
    }
    if (trace != NULL) {
        trk_trace_close(trace);
    }
    return status;
}

/* What the manifest beside the file says of it, then what the options say. */
static enum trk_status describe(const struct trk_options *options, const char *path,
                                struct trk_manifest_entry *out, struct trk_error *error)
{
    char folder[PATH_MAX];
    struct trk_manifest manifest;
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    int length = snprintf(folder, sizeof folder, "%.*s", slash != NULL ? (int)(slash - path) : 1,
                          slash != NULL ? path : ".");
    *out = (struct trk_manifest_entry){.expected = "ok"};
    if (length < 0 || (size_t)length >= sizeof folder || strlen(name) >= sizeof out->file) {
        return trk_error_set(error, TRK_E_ARGUMENT, "the path is too long");
    }
    enum trk_status status = trk_manifest_load(folder, &manifest, error);
    const struct trk_manifest_entry *found =
        status == TRK_OK ? trk_manifest_find(&manifest, name) : NULL;
    if (found != NULL) {
        *out = *found;
    }
    trk_manifest_free(&manifest);
    memcpy(out->file, name, strlen(name) + 1);
    const struct {
        const char *option;
        char *to;
        size_t size;
    } given[] = {{"expected", out->expected, sizeof out->expected},
                 {"origin", out->origin, sizeof out->origin},
                 {"licence", out->licence, sizeof out->licence}};
    for (size_t i = 0; i < sizeof given / sizeof given[0]; i++) {
        const char *text = trk_options_text(options, given[i].option);
        if (text != NULL && strlen(text) >= given[i].size) {
            return trk_error_set(error, TRK_E_ARGUMENT, "--%s: more than %zu bytes",
                                 given[i].option, given[i].size - 1);
        }
        if (text != NULL) {
            memcpy(given[i].to, text, strlen(text) + 1);
        }
    }
    return status;
}

static int add(struct job *job)
{
    const struct trk_options *options = job->options;
    for (size_t i = 2; i < options->operand_count; i++) {
        struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
        struct trk_manifest_entry entry;
        const char *path = options->operands[i];
        enum trk_status status = describe(options, path, &entry, &error);
        if (status == TRK_OK) {
            status = look_at(path, &entry, &error);
        }
        if (status == TRK_OK) {
            status = trk_catalogue_add(job->catalogue, path, &entry, &error);
        }
        if (status != TRK_OK) {
            return trk_terminal_error("catalogue", path, &error);
        }
        printf("%s ", entry.hash);
        trk_terminal_text(stdout, entry.file);
        putchar('\n');
    }
    return TRK_EXIT_OK;
}

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
    cJSON *list = context;
    if (list == NULL) {
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
    cJSON_AddItemToArray(list, object);
}

static void show_bench(void *context, const char *json)
{
    cJSON *list = context;
    if (list != NULL) {
        cJSON *result = cJSON_Parse(json);
        cJSON_AddItemToArray(list, result != NULL ? result : cJSON_CreateNull());
    } else {
        printf("bench    %zu bytes of JSON, see --json\n", strlen(json));
    }
}

static enum trk_status show_entry(void *context, const struct trk_manifest_entry *entry,
                                  struct trk_error *error)
{
    struct job *job = context;
    if (strcmp(entry->file, job->name) != 0 &&
        strncmp(entry->hash, job->name, strlen(job->name)) != 0) {
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

static int list(struct job *job)
{
    return tell(job, list_entry);
}

static int show(struct job *job)
{
    job->name = job->options->operands[2];
    return tell(job, show_entry);
}

/* ---- rm, gc --------------------------------------------------------------------------- */

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
    uint64_t count = 0;
    if (trk_catalogue_gc(job->catalogue, &count, &error) != TRK_OK) {
        return trk_terminal_error("catalogue", job->folder, &error);
    }
    printf("%" PRIu64 " files removed\n", count);
    return TRK_EXIT_OK;
}

/* ---- which ----------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    size_t least, most; /* operands, with the name and the catalogue */
    bool json;          /* --json means something */
    int (*run)(struct job *job);
} actions[] = {
    {"add", 3, TRK_OPTIONS_OPERANDS_MOST, false, add},
    {"list", 2, 2, true, list},
    {"show", 3, 3, true, show},
    {"rm", 3, TRK_OPTIONS_OPERANDS_MOST, false, rm},
    {"gc", 2, 2, false, gc},
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
        trk_terminal_say("catalogue", "no '%.40s'; there are: add, list, show, rm, gc",
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
        (!actions[i].json && trk_terminal_refuse(options, of_list, "goes with list and show"))) {
        return TRK_EXIT_USAGE;
    }
    struct job job = {.options = options, .folder = options->operands[1]};
    if (trk_catalogue_open(&job.catalogue, job.folder, actions[i].run == add, &error) != TRK_OK) {
        return trk_terminal_error("catalogue", job.folder, &error);
    }
    int code = actions[i].run(&job);
    trk_catalogue_close(job.catalogue);
    return code;
}

const struct trk_command trk_cmd_catalogue = {
    .name = "catalogue",
    .about = "store traces, and what was said of them",
    .operands = "add|list|show|rm|gc CATALOGUE [F...]",
    .text =
        "A catalogue is a folder: the files lie in CATALOGUE/traces by the hash of their content, "
        "catalogue.db is a database of SQLite. trk regress CATALOGUE runs what is stored and keeps "
        "the verdicts.\n\n"
        "add stores traces and scenarios (*.json), and makes the catalogue where there is none; "
        "what a manifest.json beside a file says of it is taken over. list lists. show tells all "
        "of one, by its name or the beginning of its hash. rm removes it, with its verdicts. gc "
        "removes files that nothing speaks of, left by a process that was killed.\n\n"
        "Many processes may use a catalogue at once. A database that is damaged, or another "
        "program's, is refused; the files beside it are all that is needed for a new one.",
    .examples = "trk catalogue add kept trace.trk\ntrk catalogue list kept\n"
                "trk regress -j 4 kept\ntrk catalogue show kept trace.trk",
    .options = catalogue_options,
    .operands_least = 2,
    .operands_most = TRK_OPTIONS_OPERANDS_MOST,
    .run = run_catalogue,
};
