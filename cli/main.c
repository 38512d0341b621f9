/* trk: one program, a subcommand a task. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "manual.h"
#include "options.h"
#include "terminal.h"

static int unknown_command(const char *name)
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
    return TRK_EXIT_USAGE;
}

static int run_command(const struct trk_command *command, char *const *arguments)
{
    static struct trk_options options;
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    if (trk_options_parse(&options, command, arguments, &error) != TRK_OK) {
        int code = trk_terminal_error(command->name, NULL, &error);
        trk_terminal_say(command->name, "see trk %s --help", command->name);
        return code;
    }
    if (options.help) {
        trk_manual_help(stdout, command);
        return TRK_EXIT_OK;
    }
    trk_terminal_set_color(&options);
    return command->run(&options);
}

int main(int argc, char **argv)
{
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
        code = command ? run_command(command, argv + 2) : unknown_command(name);
    }
    return trk_terminal_close(code);
}
