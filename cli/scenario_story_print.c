/* The stories of scenario verdicts, for people and for programs. */
#include "scenario_story_print.h"

#include <stdio.h>
#include <string.h>

#include "terminal.h"

/* What is wanted of a story, and what comes of it. */
struct telling {
    const struct trk_scenario *scenario;
    const struct trk_scenario_report *report;
};

struct told {
    enum trk_status status;
    struct trk_scenario_story story;
};

static void tell_one(void *out, const void *context)
{
    const struct telling *telling = context;
    struct told *told = out;
    told->status = trk_scenario_tell(telling->scenario, telling->report, &told->story);
}

/*
 * The story of a verdict that is not ok; of a folder's files only of those that failed. False:
 * there is none.
 */
static bool tell(const struct trk_scenario_file *file, bool folder,
                 struct trk_scenario_story *story)
{
    bool ran = file->end == TRK_SCENARIO_FAILED || (file->end == TRK_SCENARIO_HELD && !folder);
    struct trk_scenario_fault fault;
    struct trk_scenario *scenario = NULL;
    if (!ran || strcmp(file->report.verdict, "ok") == 0 ||
        trk_scenario_load(&scenario, file->path, &fault) != TRK_OK) {
        return false;
    }
    struct telling telling = {scenario, &file->report};
    struct told told = {.status = TRK_OK};
    struct trk_error error;
    enum trk_status status = TRK_OK;
    if (file->core != NULL) {
        status = trk_contained_run(file->core, tell_one, &telling, &told, sizeof told, &error);
    } else {
        tell_one(&told, &telling);
    }
    trk_scenario_destroy(scenario);
    *story = told.story;
    return status == TRK_OK && told.status == TRK_OK;
}

static void print_sentence(const char *label, const char *text)
{
    if (text[0] != '\0') {
        printf("  %s ", label);
        trk_terminal_text(stdout, text);
        putchar('\n');
    }
}

void trk_scenario_story_print_one(const struct trk_scenario_story *story)
{
    if (story->count > 0) {
        puts("  what happened:");
    }
    for (size_t i = 0; i < story->count; i++) {
        printf("%6zu  ", i + 1);
        trk_terminal_text(stdout, story->lines[i].thread);
        fputs(": ", stdout);
        trk_terminal_text(stdout, story->lines[i].text);
        if (story->lines[i].role[0] != '\0') {
            printf("  <- %s", story->lines[i].role);
        }
        putchar('\n');
    }
    print_sentence("last writer:", story->writer);
    print_sentence("missing edge:", story->missing);
    print_sentence("would pass:", story->passes);
}

void trk_scenario_story_print(const struct trk_scenario_file *file, bool folder)
{
    struct trk_scenario_story story;
    if (tell(file, folder, &story)) {
        trk_scenario_story_print_one(&story);
    }
}

static void add_sentence(cJSON *object, const char *key, const char *text)
{
    trk_json_out_text(object, key, text[0] != '\0' ? text : NULL);
}

void trk_scenario_story_json_one(cJSON *object, const struct trk_scenario_story *story)
{
    cJSON *list = cJSON_AddArrayToObject(object, "story");
    for (size_t i = 0; i < story->count; i++) {
        cJSON *line = cJSON_CreateObject();
        trk_json_out_number(line, "step", i + 1);
        trk_json_out_text(line, "thread", story->lines[i].thread);
        trk_json_out_text(line, "text", story->lines[i].text);
        add_sentence(line, "role", story->lines[i].role);
        cJSON_AddItemToArray(list, line);
    }
    add_sentence(object, "writer", story->writer);
    add_sentence(object, "missing", story->missing);
    add_sentence(object, "passes", story->passes);
}

void trk_scenario_story_json(cJSON *object, const struct trk_scenario_file *file, bool folder)
{
    struct trk_scenario_story story;
    if (!tell(file, folder, &story)) {
        story = (struct trk_scenario_story){0};
    }
    trk_scenario_story_json_one(object, &story);
}

void trk_scenario_step_json(cJSON *object, const char *key, const struct trk_scenario_step *step)
{
    cJSON *its = cJSON_AddObjectToObject(object, key);
    trk_json_out_text(its, "thread", step->thread);
    trk_json_out_number(its, "operation", step->operation);
    trk_json_out_text(its, "operation_text", step->operation_text);
}
