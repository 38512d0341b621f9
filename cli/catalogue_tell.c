/* trk catalogue list, show and runs: what is stored, and what was said of it. */
#include "catalogue_tell.h"

#include <inttypes.h>
#include <string.h>

#include "command.h"
#include "json_out.h"
#include "terminal.h"

struct telling {
    const struct trk_catalogue_told *told;
    cJSON *list;      /* --json */
    const char *name; /* show: which; a name, a hash or its beginning */
    uint64_t shown;
};

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
    struct telling *telling = context;
    (void)error;
    if (telling->list != NULL) {
        cJSON_AddItemToArray(telling->list, entry_json(entry));
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

bool trk_catalogue_is_meant(const char *name, const struct trk_manifest_entry *entry)
{
    return strcmp(entry->file, name) == 0 ||
           (name[0] != '\0' && strncmp(entry->hash, name, strlen(name)) == 0);
}

static enum trk_status show_entry(void *context, const struct trk_manifest_entry *entry,
                                  struct trk_error *error)
{
    struct telling *telling = context;
    if (!trk_catalogue_is_meant(telling->name, entry)) {
        return TRK_OK;
    }
    telling->shown++;
    cJSON *object = NULL, *verdicts = NULL, *benches = NULL;
    if (telling->list != NULL) {
        object = entry_json(entry);
        verdicts = cJSON_AddArrayToObject(object, "verdicts");
        benches = cJSON_AddArrayToObject(object, "benches");
        cJSON_AddItemToArray(telling->list, object);
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
    enum trk_status status = trk_catalogue_verdicts(telling->told->catalogue, entry->hash,
                                                    show_verdict, verdicts, error);
    return status == TRK_OK ? trk_catalogue_benches(telling->told->catalogue, entry->hash,
                                                    show_bench, benches, error)
                            : status;
}

/* Either of the two, in JSON where that is asked for. */
static int tell(struct telling *telling, trk_catalogue_entry_fn *fn)
{
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    cJSON *object = NULL;
    if (telling->told->json) {
        object = trk_json_out_object(TRK_CATALOGUE_SCHEMA);
        trk_json_out_text(object, "path", telling->told->folder);
        telling->list = cJSON_AddArrayToObject(object, "traces");
    }
    enum trk_status status = trk_catalogue_list(telling->told->catalogue, fn, telling, &error);
    if (status == TRK_OK && fn == show_entry && telling->shown == 0) {
        status = trk_error_set(&error, TRK_E_ARGUMENT, "none is called %.60s", telling->name);
    }
    if (status != TRK_OK) {
        cJSON_Delete(object);
        return trk_terminal_error("catalogue", telling->told->folder, &error);
    }
    if (object != NULL) {
        trk_json_out_print(object);
    }
    return TRK_EXIT_OK;
}

int trk_catalogue_tell_all(const struct trk_catalogue_told *told)
{
    struct telling telling = {.told = told};
    return tell(&telling, list_entry);
}

int trk_catalogue_tell_one(const struct trk_catalogue_told *told, const char *name)
{
    struct telling telling = {.told = told, .name = name};
    return tell(&telling, show_entry);
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

int trk_catalogue_tell_runs(const struct trk_catalogue_told *told)
{
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    cJSON *object = told->json ? trk_json_out_object(TRK_CATALOGUE_SCHEMA) : NULL;
    cJSON *list = NULL;
    if (told->json) {
        trk_json_out_text(object, "path", told->folder);
        list = cJSON_AddArrayToObject(object, "runs");
    }
    if (trk_catalogue_runs(told->catalogue, tell_run, list, &error) != TRK_OK) {
        cJSON_Delete(object);
        return trk_terminal_error("catalogue", told->folder, &error);
    }
    if (told->json) {
        trk_json_out_print(object);
    }
    return TRK_EXIT_OK;
}
