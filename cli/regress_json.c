/* What a regression came to, for programs. */
#include "json_out.h"
#include "regress.h"

static const char *or_null(const char *text)
{
    return text[0] != '\0' ? text : NULL;
}

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
    cJSON_AddBoolToObject(object, "ended", outcome->ended);
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
    bool differs = item->end == TRK_REGRESS_CHANGED ||
                   (item->end == TRK_REGRESS_FAIL && !trk_regress_unchanged(item));
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
