#include "refusal.h"

#include <stdio.h>
#include <string.h>

#include "json_out.h"
#include "number.h"

static struct {
    const struct trk_command *command; /* NULL: JSON was not asked for */
    const char *schema, *path;
    bool not_needed;
    char subject[512]; /* of the first error */
    struct trk_error error;
    char line[1024]; /* the last one */
} refusal = {.error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN}};

/* ---- what was asked for ---------------------------------------------------------------------- */

static bool has_json(const struct trk_command *command)
{
    const struct trk_option *option = command->options;
    while (option != NULL && option->name != NULL && strcmp(option->name, "json") != 0) {
        option++;
    }
    return option != NULL && option->name != NULL;
}

/* Whether the flag is among arguments that could not all be read. A word behind an option may be
 * its value; another one is where the command line of another command begins. */
static bool is_asked(const struct trk_command *command, char *const *arguments)
{
    bool behind_option = false;
    for (; *arguments != NULL && strcmp(*arguments, "--") != 0; arguments++) {
        const bool option = (*arguments)[0] == '-';
        if (strcmp(*arguments, "--json") == 0) {
            return true;
        }
        if (command->runs_command && !option && !behind_option) {
            break;
        }
        behind_option = option && strchr(*arguments, '=') == NULL;
    }
    uint64_t number;
    const char *text = trk_options_elsewhere(command->name, "json");
    return text != NULL && trk_number_parse(text, &number) && number != 0;
}

void trk_refusal_expect(const struct trk_command *command, char *const *arguments)
{
    if (has_json(command) && is_asked(command, arguments)) {
        refusal.command = command;
        refusal.schema = command->schema;
    }
}

void trk_refusal_expect_of(const struct trk_options *options)
{
    const struct trk_command *command = options->command;
    if (has_json(command) && trk_options_flag(options, "json")) {
        refusal.command = command;
        refusal.schema = command->schema;
        refusal.path = options->operand_count > 0 ? options->operands[0] : NULL;
    }
}

void trk_refusal_schema(const char *schema)
{
    refusal.schema = schema;
}

void trk_refusal_path(const char *path)
{
    refusal.path = path;
}

/* ---- what was said --------------------------------------------------------------------------- */

void trk_refusal_note_error(const char *subject, const struct trk_error *error)
{
    if (refusal.error.status == TRK_OK) {
        refusal.error = *error;
        snprintf(refusal.subject, sizeof refusal.subject, "%s", subject != NULL ? subject : "");
    }
}

void trk_refusal_note_line(const char *line)
{
    snprintf(refusal.line, sizeof refusal.line, "%s", line);
}

void trk_refusal_not_needed(void)
{
    refusal.not_needed = true;
}

/* ---- the object ------------------------------------------------------------------------------ */

/* Of an error that has only words. */
static const char *status_of(int code)
{
    static const struct {
        int code;
        enum trk_status status;
    } statuses[] = {{TRK_EXIT_USAGE, TRK_E_ARGUMENT},
                    {TRK_EXIT_DAMAGED, TRK_E_INCOMPLETE},
                    {TRK_EXIT_ENVIRONMENT, TRK_E_SYSTEM}};
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++) {
        if (statuses[i].code == code) {
            return trk_status_name(statuses[i].status);
        }
    }
    return code == TRK_EXIT_BROKEN ? "broken" : "internal";
}

/* Words that begin with the path say no more with it. */
static const char *without_path(const char *text)
{
    const size_t length = refusal.path != NULL ? strlen(refusal.path) : 0;
    const bool begins = length > 0 && strncmp(text, refusal.path, length) == 0;
    return begins && strncmp(text + length, ": ", 2) == 0 ? text + length + 2 : text;
}

static void add_error(cJSON *object, int code)
{
    char text[sizeof refusal.subject + sizeof refusal.error.text + 8];
    const struct trk_error *error = &refusal.error;
    const bool known = error->status != TRK_OK;
    const bool subject = refusal.subject[0] != '\0';
    snprintf(text, sizeof text, "%s%s%s", refusal.subject, subject ? ": " : "", error->text);
    cJSON *detail = cJSON_AddObjectToObject(object, "error");
    cJSON_AddStringToObject(detail, "status",
                            known ? trk_status_name(error->status) : status_of(code));
    trk_json_out_text(detail, "text", without_path(known ? text : refusal.line));
    trk_json_out_number(detail, "file_offset", error->file_offset);
    trk_json_out_number(detail, "event", error->event_number);
}

void trk_refusal_print(int code)
{
    if (refusal.command == NULL || refusal.not_needed || code == TRK_EXIT_OK) {
        return;
    }
    cJSON *object = trk_json_out_object(refusal.schema);
    trk_json_out_text(object, "path", refusal.path);
    cJSON_AddBoolToObject(object, "complete", false);
    add_error(object, code);
    if (refusal.command->json_lines) {
        trk_json_out_print_line(object);
    } else {
        trk_json_out_print(object);
    }
}
