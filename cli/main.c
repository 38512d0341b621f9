/* trk: one program, a subcommand a task. */
#define _GNU_SOURCE /* O_PATH */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "config.h"
#include "manual.h"
#include "options.h"
#include "progress.h"
#include "refusal.h"
#include "terminal.h"

/* A file that is opened later must not be what reports go to. Reading and writing fail as before.
 */
static void keep_standard_places(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && open("/", O_PATH) < 0) { /* it takes the lowest number */
            return;
        }
    }
}

static bool has_option(const struct trk_option *table, const char *name)
{
    for (; table && table->name; table++) {
        if (strcmp(table->name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* Whether a setting can be meant: of its command, or of any when it names none. */
static bool is_known(const struct trk_config_entry *entry)
{
    bool known = strcmp(entry->name, "help") != 0 && has_option(trk_options_common(), entry->name);
    for (const struct trk_command *const *at = trk_command_list(); *at && !known; at++) {
        known = (!entry->command || strcmp(entry->command, (*at)->name) == 0) &&
                has_option((*at)->options, entry->name);
    }
    return known && (!entry->command || trk_command_find(entry->command));
}

/* Read the settings file; a line that cannot be meant ends the run. */
static enum trk_status read_config(struct trk_error *error)
{
    static struct trk_config config;
    enum trk_status status = trk_config_read(&config, error);
    for (size_t i = 0; i < config.count && status == TRK_OK; i++) {
        const struct trk_config_entry *entry = &config.entries[i];
        if (!is_known(entry)) {
            status = trk_error_set(error, TRK_E_ARGUMENT, "%.60s:%u: no option %.24s of %.20s",
                                   config.path, entry->line, entry->name,
                                   entry->command ? entry->command : "any command");
        }
    }
    trk_options_use(&config);
    return status;
}

/* Commands that tell about the program work whatever the settings are. */
static bool needs_config(const struct trk_command *command)
{
    return command != &trk_cmd_help && command != &trk_cmd_version &&
           command != &trk_cmd_completion;
}

static int run_command(const struct trk_command *command, char *const *arguments)
{
    static struct trk_options options;
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    if ((needs_config(command) && read_config(&error) != TRK_OK) ||
        trk_options_parse(&options, command, arguments, &error) != TRK_OK) {
        trk_refusal_expect(command, arguments);
        int code = trk_terminal_error(command->name, NULL, &error);
        trk_terminal_say(command->name, "see trk %s --help", command->name);
        return command->refuse != NULL ? command->refuse(arguments, code) : code;
    }
    if (options.help) {
        trk_manual_help(stdout, command);
        return command->refuse != NULL ? command->refuse(arguments, TRK_EXIT_OK) : TRK_EXIT_OK;
    }
    trk_terminal_set_color(&options);
    trk_progress_open(&options);
    trk_refusal_expect_of(&options);
    return command->run(&options);
}

static int unknown_command(const char *name, char *const *arguments)
{
    const char *near = name[0] == '-' ? NULL : trk_command_nearest_name(name);
    if (near) {
        trk_terminal_say(NULL, "no command '%.60s'; did you mean %s?", name, near);
    } else {
        trk_terminal_say(NULL,
                         name[0] == '-' ? "no option %.60s before a command"
                                        : "no command '%.60s'; see trk --help",
                         name);
    }
    const struct trk_command *meant = near != NULL ? trk_command_find(near) : NULL;
    if (meant == NULL || meant->refuse == NULL) {
        return TRK_EXIT_USAGE;
    }
    (void)!read_config(NULL); /* it may say what the refusal has to be */
    return meant->refuse(arguments, TRK_EXIT_USAGE);
}

int main(int argc, char **argv)
{
    keep_standard_places();
    trk_terminal_open();
    if (argc < 2) {
        trk_manual_overview(stderr);
        return TRK_EXIT_USAGE;
    }
    const char *name = argv[1];
    int code;
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        trk_manual_overview(stdout);
        code = TRK_EXIT_OK;
    } else if (strcmp(name, "--version") == 0) {
        code = run_command(&trk_cmd_version, argv + 2);
    } else {
        const struct trk_command *command = trk_command_find(name);
        code = command ? run_command(command, argv + 2) : unknown_command(name, argv + 2);
    }
    trk_refusal_print(code);
    return trk_terminal_close(code);
}
