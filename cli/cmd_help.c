/* trk help, trk completion, trk version: what the program says of itself. */
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "json_out.h"
#include "manual.h"
#include "options.h"
#include "refusal.h"
#include "terminal.h"

#define HELP_SCHEMA "trk-help/1"

static const struct trk_option help_options[] = {
    {.name = "man", .about = "Print the man page in roff, of trk itself when no COMMAND is named."},
    {.name = "json",
     .about =
         "One JSON object, schema " HELP_SCHEMA ": the commands with their options, or COMMAND "
         "alone."},
    {.name = NULL},
};

static void add_options(cJSON *list, const struct trk_option *option)
{
    static const char *const kinds[] = {
        [TRK_OPTION_FLAG] = "flag", [TRK_OPTION_TEXT] = "text",     [TRK_OPTION_NUMBER] = "number",
        [TRK_OPTION_SIZE] = "size", [TRK_OPTION_CHOICE] = "choice",
    };
    for (; option != NULL && option->name != NULL; option++) {
        const char letter[2] = {option->letter};
        bool bounded = option->kind == TRK_OPTION_NUMBER || option->kind == TRK_OPTION_SIZE;
        cJSON *one = trk_json_out_item(list);
        trk_json_out_text(one, "name", option->name);
        trk_json_out_text(one, "letter", option->letter != 0 ? letter : NULL);
        trk_json_out_text(one, "kind", kinds[option->kind]);
        trk_json_out_text(one, "value", option->value);
        trk_json_out_text(one, "choices", option->choices);
        trk_json_out_text(one, "default", option->fallback);
        trk_json_out_number(one, "least", bounded ? option->least : TRK_NOT_KNOWN);
        trk_json_out_number(one, "most", bounded ? option->most : TRK_NOT_KNOWN);
        trk_json_out_text(one, "about", option->about);
    }
}

static void add_command(cJSON *list, const struct trk_command *command)
{
    cJSON *one = trk_json_out_item(list);
    trk_json_out_text(one, "name", command->name);
    trk_json_out_text(one, "about", command->about);
    trk_json_out_text(one, "operands", command->operands);
    trk_json_out_text(one, "text", command->text);
    trk_json_out_text(one, "exits", command->exits);
    trk_json_out_text(one, "examples", command->examples);
    cJSON *options = cJSON_AddArrayToObject(one, "options");
    add_options(options, command->options);
    add_options(options, trk_options_common());
}

/* command NULL: all of them. */
static void print_json(const struct trk_command *command)
{
    cJSON *object = trk_json_out_object(HELP_SCHEMA);
    cJSON *list = cJSON_AddArrayToObject(object, "commands");
    const struct trk_command *const *at = trk_command_list();
    if (command != NULL) {
        add_command(list, command);
    }
    for (; command == NULL && *at != NULL; at++) {
        add_command(list, *at);
    }
    trk_json_out_print(object);
}

static int run_help(const struct trk_options *options)
{
    static const char *const of_json[] = {"json", NULL};
    const struct trk_command *command = NULL;
    trk_refusal_path(NULL);
    if (trk_options_flag(options, "man") &&
        trk_terminal_refuse(options, of_json, "does not go with --man")) {
        return TRK_EXIT_USAGE;
    }
    if (options->operand_count > 0) {
        const char *name = options->operands[0];
        command = trk_command_find(name);
        if (!command) {
            const char *near = trk_command_nearest_name(name);
            trk_terminal_say("help",
                             near ? "no command '%.60s'; did you mean %s?" : "no command '%.60s'",
                             name, near);
            return TRK_EXIT_USAGE;
        }
    }
    if (trk_options_flag(options, "man")) {
        trk_manual_page(stdout, command);
    } else if (trk_options_flag(options, "json")) {
        print_json(command);
    } else if (command) {
        trk_manual_help(stdout, command);
    } else {
        trk_manual_overview(stdout);
    }
    return TRK_EXIT_OK;
}

const struct trk_command trk_cmd_help = {
    .name = "help",
    .about = "explain a command",
    .operands = "[COMMAND]",
    .text = "Prints the same text as COMMAND --help; without COMMAND, the list of commands.",
    .examples = "trk help sim\ntrk help --man sim | man -l -\ntrk help --json",
    .schema = HELP_SCHEMA,
    .options = help_options,
    .operands_most = 1,
    .run = run_help,
};

static int run_completion(const struct trk_options *options)
{
    if (strcmp(options->operands[0], "bash") != 0) {
        trk_terminal_say("completion", "no completions for '%.60s'; there are: bash",
                         options->operands[0]);
        return TRK_EXIT_USAGE;
    }
    trk_manual_completion(stdout);
    return TRK_EXIT_OK;
}

const struct trk_command trk_cmd_completion = {
    .name = "completion",
    .about = "print completions for a shell",
    .operands = "SHELL",
    .text = "Prints completions of trk's commands and options for SHELL: bash.",
    .examples = "source <(trk completion bash)",
    .operands_least = 1,
    .operands_most = 1,
    .run = run_completion,
};

static const struct trk_option version_options[] = {
    {.name = "json", .about = "One JSON object, schema trk-version/1."},
    {.name = NULL},
};

static int run_version(const struct trk_options *options)
{
    if (trk_options_flag(options, "json")) {
        cJSON *object = trk_json_out_object("trk-version/1");
        trk_json_out_text(object, "version", TRK_VERSION);
        trk_json_out_print(object);
    } else {
        puts("trk " TRK_VERSION);
    }
    return TRK_EXIT_OK;
}

const struct trk_command trk_cmd_version = {
    .name = "version",
    .about = "print the version",
    .operands = "",
    .text = "Prints the version of trk.",
    .schema = "trk-version/1",
    .options = version_options,
    .run = run_version,
};
