/*
 * The stories of scenario verdicts, for people and for programs.
 *
 * A verdict that is not ok has one; of a folder's files only those that failed are told of.
 */
#ifndef CLI_SCENARIO_STORY_PRINT_H
#define CLI_SCENARIO_STORY_PRINT_H

#include "json_out.h"
#include "scenario_files.h"
#include "simulator/scenario_story.h"

/* A step of a schedule, as the object's member. */
void trk_scenario_step_json(cJSON *object, const char *key, const struct trk_scenario_step *step);

/* A story that was told already. */
void trk_scenario_story_print_one(const struct trk_scenario_story *story);
void trk_scenario_story_json_one(cJSON *object, const struct trk_scenario_story *story);

void trk_scenario_story_print(const struct trk_scenario_file *file, bool folder);

/* Keys story, writer, missing and passes, empty where there is none. */
void trk_scenario_story_json(cJSON *object, const struct trk_scenario_file *file, bool folder);

#endif
