/* What a regression came to, for programs; and an earlier run, read back. */
#include <stdlib.h>
#include <string.h>

#include "json_out.h"
#include "regress.h"
#include "traces/json_text.h"
#include "traces/plain_file.h"

/* The most bytes of an earlier run. */
#define RUN_BYTES (256u << 20)

static const char *or_null(const char *text)
{
    return text[0] != '\0' ? text : NULL;
}

/* ---- writing --------------------------------------------------------------------------------- */

static void add_core(cJSON *object, const char *key, const struct trk_regress_core *core)
{
    char id[200];
    cJSON *about = cJSON_AddObjectToObject(object, key);
    trk_regress_core_id(core, id);
    trk_json_out_text(about, "path", core->path);
    trk_json_out_text(about, "name", core->about.name);
    trk_json_out_text(about, "build", or_null(core->about.build));
    trk_json_out_text(about, "id", id);
}

static void add_outcome(cJSON *object, const struct trk_regress_outcome *outcome)
{
    trk_json_out_text(object, "verdict", or_null(outcome->verdict));
    trk_json_out_text(object, "detail", or_null(outcome->detail));
    trk_json_out_text(object, "text", or_null(outcome->text));
    trk_json_out_number(object, "event_at", outcome->event_at);
    trk_json_out_number(object, "event_visible", outcome->event_visible);
    trk_json_out_text(object, "thread", or_null(outcome->thread));
    trk_json_out_text(object, "event", or_null(outcome->event));
}

static void add_item(cJSON *list, const struct trk_regress *regress,
                     const struct trk_regress_item *item)
{
    char seeds[48];
    const struct trk_regress_outcome *which;
    cJSON *object = cJSON_CreateObject();
    trk_regress_seeds(regress, item, seeds);
    trk_json_out_text(object, "name", item->name);
    trk_json_out_text(object, "end", trk_regress_end_name(item->end));
    trk_json_out_text(object, "why", or_null(item->why));
    trk_json_out_text(object, "hash", or_null(item->hash));
    trk_json_out_text(object, "schedule", trk_regress_schedule(regress, item));
    trk_json_out_text(object, "seeds", seeds);
    trk_json_out_text(object, "expected", or_null(item->expected));
    add_outcome(object, &item->outcome);
    if (item->compared) {
        add_outcome(cJSON_AddObjectToObject(object, "other"), &item->other);
    } else {
        cJSON_AddNullToObject(object, "other");
    }
    bool differs = item->end == TRK_REGRESS_CHANGED || item->end == TRK_REGRESS_FAIL;
    trk_json_out_number(object, "first_changed",
                        differs ? trk_regress_first(item, &which) : TRK_NOT_KNOWN);
    cJSON_AddItemToArray(list, object);
}

void trk_regress_print_json(const struct trk_regress *regress)
{
    cJSON *object = trk_json_out_object(TRK_REGRESS_SCHEMA);
    cJSON *paths = cJSON_AddArrayToObject(object, "paths");
    for (size_t i = 0; i < regress->folder_count; i++) {
        cJSON_AddItemToArray(paths, cJSON_CreateString(regress->folders[i]));
    }
    trk_json_out_text(object, "trk", regress->trk_build);
    add_core(object, "core", &regress->core);
    if (regress->two_cores) {
        add_core(object, "against", &regress->other);
    } else {
        trk_json_out_text(object, "against",
                          regress->kept.id[0] != '\0' ? regress->kept.id : regress->run);
    }
    for (int end = 0; end < TRK_REGRESS_END_COUNT; end++) {
        trk_json_out_number(object, trk_regress_end_name((enum trk_regress_end)end),
                            regress->ends[end]);
    }
    cJSON *list = cJSON_AddArrayToObject(object, "items");
    for (size_t i = 0; i < regress->count; i++) {
        add_item(list, regress, &regress->items[i]);
    }
    trk_json_out_print(object);
}

/* ---- reading --------------------------------------------------------------------------------- */

static const char *text_at(const cJSON *object, const char *key)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsString(value) ? value->valuestring : "";
}

static uint64_t number_at(const cJSON *object, const char *key)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, key);
    const double most = 9007199254740992.0; /* 2^53: what a JSON number holds exactly */
    return cJSON_IsNumber(value) && value->valuedouble >= 0 && value->valuedouble <= most
               ? (uint64_t)value->valuedouble
               : TRK_NOT_KNOWN;
}

static void take(struct trk_regress_outcome *out, const cJSON *object)
{
    snprintf(out->verdict, sizeof out->verdict, "%s", text_at(object, "verdict"));
    snprintf(out->detail, sizeof out->detail, "%s", text_at(object, "detail"));
    snprintf(out->text, sizeof out->text, "%s", text_at(object, "text"));
    snprintf(out->thread, sizeof out->thread, "%s", text_at(object, "thread"));
    snprintf(out->event, sizeof out->event, "%s", text_at(object, "event"));
    out->event_at = number_at(object, "event_at");
    out->event_visible = number_at(object, "event_visible");
}

/* The earlier run's item of that name and content. */
static void match(const struct trk_regress *regress, struct trk_regress_item *item,
                  const cJSON *root, bool same_builds)
{
    char seeds[48];
    const cJSON *one;
    trk_regress_seeds(regress, item, seeds);
    cJSON_ArrayForEach(one, cJSON_GetObjectItemCaseSensitive(root, "items"))
    {
        if (strcmp(text_at(one, "name"), item->name) != 0 ||
            strcmp(text_at(one, "hash"), item->hash) != 0 || text_at(one, "verdict")[0] == '\0') {
            continue;
        }
        item->compared = true;
        take(&item->other, one);
        bool same_key = same_builds && strcmp(text_at(one, "seeds"), seeds) == 0 &&
                        strcmp(text_at(one, "schedule"), trk_regress_schedule(regress, item)) == 0;
        if (same_key && item->outcome.verdict[0] != '\0' &&
            !trk_regress_same(&item->outcome, &item->other)) {
            item->end = TRK_REGRESS_UNSTABLE;
            snprintf(item->why, sizeof item->why, "was %s on the same core in the earlier run",
                     item->other.verdict);
        }
        return;
    }
}

static enum trk_status no_run(enum trk_status status, const char *why, struct trk_error *error)
{
    const int reason = error->os_errno;
    char text[160];
    snprintf(text, sizeof text, "%s", why);
    (void)trk_error_set(error, status, "no earlier run: %s", text);
    error->os_errno = reason;
    return status;
}

static enum trk_status parse(const char *path, cJSON **out, struct trk_error *error)
{
    char *text;
    size_t size;
    enum trk_status status = trk_plain_file_read(path, RUN_BYTES, &text, &size, error);
    if (status == TRK_OK) {
        status = trk_json_text_parse(text, size, out, error);
    }
    free(text);
    if (status != TRK_OK) {
        return no_run(status, error->text, error);
    }
    return strcmp(text_at(*out, "schema"), TRK_REGRESS_SCHEMA) == 0 &&
                   cJSON_IsArray(cJSON_GetObjectItemCaseSensitive(*out, "items"))
               ? TRK_OK
               : trk_error_set(error, TRK_E_DAMAGED,
                               "no earlier run: not JSON of schema " TRK_REGRESS_SCHEMA);
}

enum trk_status trk_regress_read_run(struct trk_regress *regress, const char *path,
                                     struct trk_error *error)
{
    char id[200];
    cJSON *root = NULL;
    enum trk_status status = parse(path, &root, error);
    if (status != TRK_OK) {
        cJSON_Delete(root);
        return status;
    }
    trk_regress_core_id(&regress->core, id);
    bool same_builds =
        strcmp(text_at(root, "trk"), regress->trk_build) == 0 &&
        strcmp(text_at(cJSON_GetObjectItemCaseSensitive(root, "core"), "id"), id) == 0;
    for (size_t i = 0; i < regress->count; i++) {
        match(regress, &regress->items[i], root, same_builds);
    }
    cJSON_Delete(root);
    return TRK_OK;
}
