/* An earlier run of a regression, read back from what --json printed. */
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "regress.h"
#include "simulator/scenario.h"
#include "traces/json_text.h"
#include "traces/plain_file.h"

/* The most bytes of an earlier run. */
#define RUN_BYTES (256u << 20)

/* An item that has a verdict, and where it stands in the list. */
struct former {
    const char *name, *hash;
    const cJSON *object;
    size_t number;
};

struct earlier {
    cJSON *root;
    struct former *formers; /* by name and hash */
    size_t count;
    bool same_builds;
};

static const char *text_at(const cJSON *object, const char *key)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsString(value) ? value->valuestring : "";
}

/* ---- what a run may say ---------------------------------------------------------------------- */

static bool is_text(const cJSON *object, const char *key)
{
    return cJSON_IsString(cJSON_GetObjectItemCaseSensitive(object, key));
}

static bool is_text_or_null(const cJSON *object, const char *key)
{
    return is_text(object, key) || cJSON_IsNull(cJSON_GetObjectItemCaseSensitive(object, key));
}

/* Whether a member is the number of an event, or null. */
static bool is_event(const cJSON *object, const char *key)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, key);
    const double most = 9007199254740992.0; /* 2^53: what a JSON number holds exactly */
    return cJSON_IsNull(value) ||
           (cJSON_IsNumber(value) && value->valuedouble >= 0 && value->valuedouble <= most &&
            (double)(uint64_t)value->valuedouble == value->valuedouble);
}

static uint64_t event_at(const cJSON *object, const char *key)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsNumber(value) ? (uint64_t)value->valuedouble : TRK_NOT_KNOWN;
}

static bool is_verdict(const char *word)
{
    return trk_scenario_verdict_may_come(word) || strcmp(word, "crashed") == 0;
}

/* The key of an item whose value is none; NULL: all can be. */
static const char *wrong_key(const cJSON *object)
{
    static const char *const texts[] = {"name", "schedule", "seeds"};
    static const char *const others[] = {"hash", "verdict", "detail", "text", "thread", "event"};
    static const char *const events[] = {"event_at", "event_visible"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (!is_text(object, texts[i])) {
            return texts[i];
        }
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (!is_text_or_null(object, others[i])) {
            return others[i];
        }
    }
    for (size_t i = 0; i < sizeof events / sizeof events[0]; i++) {
        if (!is_event(object, events[i])) {
            return events[i];
        }
    }
    const bool judged = is_text(object, "verdict");
    return judged && !is_verdict(text_at(object, "verdict"))         ? "verdict"
           : judged && !trk_content_is_name(text_at(object, "hash")) ? "hash"
                                                                     : NULL;
}

static int by_key(const void *one, const void *other)
{
    const struct former *mine = one, *others = other;
    int order = strcmp(mine->name, others->name);
    return order != 0 ? order : strcmp(mine->hash, others->hash);
}

static void take(struct trk_regress_outcome *out, const cJSON *object)
{
    snprintf(out->verdict, sizeof out->verdict, "%s", text_at(object, "verdict"));
    snprintf(out->detail, sizeof out->detail, "%s", text_at(object, "detail"));
    snprintf(out->text, sizeof out->text, "%s", text_at(object, "text"));
    snprintf(out->thread, sizeof out->thread, "%s", text_at(object, "thread"));
    snprintf(out->event, sizeof out->event, "%s", text_at(object, "event"));
    out->event_at = event_at(object, "event_at");
    out->event_visible = event_at(object, "event_visible");
}

/* Two of one name and content must say the same. */
static enum trk_status check_twice(const struct earlier *earlier, struct trk_error *error)
{
    for (size_t i = 1; i < earlier->count; i++) {
        const struct former *one = &earlier->formers[i - 1], *other = &earlier->formers[i];
        struct trk_regress_outcome first = {.met = false}, second = {.met = false};
        take(&first, one->object);
        take(&second, other->object);
        if (by_key(one, other) == 0 && !trk_regress_same(&first, &second)) {
            return trk_error_set(error, TRK_E_DAMAGED,
                                 "no earlier run: items[%zu] and items[%zu] are of the same, and "
                                 "say two things",
                                 one->number < other->number ? one->number : other->number,
                                 one->number < other->number ? other->number : one->number);
        }
    }
    return TRK_OK;
}

/* All items are looked at, also those that nothing is compared with. */
static enum trk_status take_items(struct earlier *earlier, struct trk_error *error)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(earlier->root, "items");
    const cJSON *object;
    size_t number = 0;
    earlier->formers = calloc((size_t)cJSON_GetArraySize(list) + 1, sizeof *earlier->formers);
    if (earlier->formers == NULL) {
        return trk_error_set(error, TRK_E_MEMORY, "no memory for the earlier run");
    }
    cJSON_ArrayForEach(object, list)
    {
        if (!cJSON_IsObject(object)) {
            return trk_error_set(error, TRK_E_DAMAGED, "no earlier run: items[%zu] is no object",
                                 number);
        }
        const char *wrong = wrong_key(object);
        if (wrong != NULL) {
            const bool there = cJSON_HasObjectItem(object, wrong);
            return trk_error_set(error, TRK_E_DAMAGED, "no earlier run: items[%zu].%s %s", number,
                                 wrong, there ? "has a value that cannot be" : "is missing");
        }
        if (is_text(object, "verdict")) {
            earlier->formers[earlier->count++] =
                (struct former){text_at(object, "name"), text_at(object, "hash"), object, number};
        }
        number++;
    }
    qsort(earlier->formers, earlier->count, sizeof *earlier->formers, by_key);
    return check_twice(earlier, error);
}

/* ---- comparing ------------------------------------------------------------------------------- */

/* The earlier run's item of that name and content. */
static enum trk_status match(const struct trk_regress *regress, struct trk_regress_item *item,
                             const struct earlier *earlier, struct trk_error *error)
{
    char seeds[48];
    const struct former key = {.name = item->name, .hash = item->hash};
    const struct former *found =
        bsearch(&key, earlier->formers, earlier->count, sizeof key, by_key);
    if (found == NULL) {
        return TRK_OK;
    }
    item->compared = true;
    take(&item->other, found->object);
    const uint64_t events[] = {item->other.event_at, item->other.event_visible};
    for (size_t i = 0; i < 2; i++) {
        if (events[i] != item->outcome.event_at && events[i] != item->outcome.event_visible &&
            !trk_regress_may_have(item, events[i])) {
            return trk_error_set(
                error, TRK_E_DAMAGED, "no earlier run: items[%zu].%s: the trace has no event %.0f",
                found->number, i == 0 ? "event_at" : "event_visible", (double)events[i]);
        }
    }
    trk_regress_seeds(regress, item, seeds);
    bool same_key =
        earlier->same_builds && strcmp(text_at(found->object, "seeds"), seeds) == 0 &&
        strcmp(text_at(found->object, "schedule"), trk_regress_schedule(regress, item)) == 0;
    if (same_key && trk_regress_lasts(&item->outcome) && trk_regress_lasts(&item->other) &&
        !trk_regress_same(&item->outcome, &item->other)) {
        item->end = TRK_REGRESS_UNSTABLE;
        snprintf(item->why, sizeof item->why, "was %s on the same core in the earlier run",
                 item->other.verdict);
    }
    return TRK_OK;
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
    return strcmp(text_at(*out, "schema"), TRK_REGRESS_SCHEMA) == 0 && is_text(*out, "trk") &&
                   is_text(cJSON_GetObjectItemCaseSensitive(*out, "core"), "id") &&
                   cJSON_IsArray(cJSON_GetObjectItemCaseSensitive(*out, "items"))
               ? TRK_OK
               : trk_error_set(error, TRK_E_DAMAGED,
                               "no earlier run: not JSON of schema " TRK_REGRESS_SCHEMA);
}

enum trk_status trk_regress_read_run(struct trk_regress *regress, const char *path,
                                     struct trk_error *error)
{
    char id[200];
    struct earlier earlier = {.root = NULL};
    enum trk_status status = parse(path, &earlier.root, error);
    if (status == TRK_OK) {
        status = take_items(&earlier, error);
    }
    if (status == TRK_OK) {
        trk_regress_core_id(&regress->core, id);
        const cJSON *core = cJSON_GetObjectItemCaseSensitive(earlier.root, "core");
        earlier.same_builds = strcmp(text_at(earlier.root, "trk"), regress->trk_build) == 0 &&
                              strcmp(text_at(core, "id"), id) == 0;
    }
    for (size_t i = 0; i < regress->count && status == TRK_OK; i++) {
        status = match(regress, &regress->items[i], &earlier, error);
    }
    free(earlier.formers);
    cJSON_Delete(earlier.root);
    return status;
}
