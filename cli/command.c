#include "command.h"

#include <string.h>
#include <sys/wait.h>

#include "nearest.h"

static const struct trk_command *const commands[] = {
    &trk_cmd_record,     &trk_cmd_ctl,      &trk_cmd_stat,       &trk_cmd_sim,     &trk_cmd_explore,
    &trk_cmd_minimise,   &trk_cmd_bisect,   &trk_cmd_why,        &trk_cmd_diff,    &trk_cmd_fuzz,
    &trk_cmd_core_check, &trk_cmd_regress,  &trk_cmd_catalogue,  &trk_cmd_info,    &trk_cmd_report,
    &trk_cmd_dump,       &trk_cmd_assemble, &trk_cmd_follow,     &trk_cmd_query,   &trk_cmd_doctor,
    &trk_cmd_recover,    &trk_cmd_pack,     &trk_cmd_unpack,     &trk_cmd_trim,    &trk_cmd_merge,
    &trk_cmd_bench,      &trk_cmd_advise,   &trk_cmd_devices,    &trk_cmd_replay,  &trk_cmd_demo,
    &trk_cmd_emu_test,   &trk_cmd_help,     &trk_cmd_completion, &trk_cmd_version, NULL,
};

const struct trk_command *const *trk_command_list(void)
{
    return commands;
}

const struct trk_command *trk_command_find(const char *name)
{
    for (const struct trk_command *const *at = commands; *at; at++) {
        if (strcmp((*at)->name, name) == 0) {
            return *at;
        }
    }
    return NULL;
}

const char *trk_command_nearest_name(const char *word)
{
    const char *best = NULL;
    for (const struct trk_command *const *at = commands; *at; at++) {
        trk_nearest_consider(word, (*at)->name, &best);
    }
    return best;
}

int trk_exit_of_program(int32_t wait_status)
{
    return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}
