#include "options.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "nearest.h"
#include "number.h"

static const struct trk_option common[] = {
    {.name = "color",
     .kind = TRK_OPTION_CHOICE,
     .value = "WHEN",
     .choices = "auto|always|never",
     .fallback = "auto",
     .about = "When to colour the text on standard output."},
    {.name = "help", .letter = 'h', .about = "Show this text and end."},
    {.name = NULL},
};

const struct trk_option *trk_options_common(void)
{
    return common;
}

void trk_options_twin(const char *command, const char *name, char *out, size_t size)
{
    int length =
        snprintf(out, size, "TRK_%s%s%s", command ? command : "", command ? "_" : "", name);
    for (char *at = out; *at && length > 0; at++) {
        *at = *at == '-' ? '_' : (char)toupper((unsigned char)*at);
    }
}

static bool is_help(const struct trk_option *option)
{
    return strcmp(option->name, "help") == 0;
}

static bool is_choice(const char *choices, const char *text)
{
    size_t length = strlen(text);
    for (const char *at = choices; length > 0;) {
        size_t word = strcspn(at, "|");
        if (word == length && strncmp(at, text, length) == 0) {
            return true;
        }
        if (!at[word]) {
            return false;
        }
        at += word + 1;
    }
    return false;
}

/* Put a text into a value. `source` names where it came from, for the message. */
static enum trk_status set_value(struct trk_option_value *value, const char *text,
                                 const char *source, struct trk_error *error)
{
    const struct trk_option *option = value->option;
    value->text = text;
    bool good = true;
    switch (option->kind) {
    case TRK_OPTION_FLAG: /* through its twin only: 0 or 1 */
        good = trk_number_parse(text, &value->number) && value->number <= 1;
        if (!good) {
            return trk_error_set(error, TRK_E_ARGUMENT, "%s=%s: expected 0 or 1", source, text);
        }
        break;
    case TRK_OPTION_TEXT:
        if (!*text) {
            return trk_error_set(error, TRK_E_ARGUMENT, "%s: the value is empty", source);
        }
        break;
    case TRK_OPTION_NUMBER:
    case TRK_OPTION_SIZE:
        good = option->kind == TRK_OPTION_SIZE ? trk_number_parse_size(text, &value->number)
                                               : trk_number_parse(text, &value->number);
        if (!good) {
            return trk_error_set(error, TRK_E_ARGUMENT, "%s: '%.40s' is not a %s", source, text,
                                 option->kind == TRK_OPTION_SIZE ? "size (bytes, or with K, M, G)"
                                                                 : "number");
        }
        if (value->number < option->least || value->number > option->most) {
            return trk_error_set(error, TRK_E_ARGUMENT,
                                 "%s: %.24s is not within %" PRIu64 " to %" PRIu64, source, text,
                                 option->least, option->most);
        }
        break;
    case TRK_OPTION_CHOICE:
        if (!is_choice(option->choices, text)) {
            return trk_error_set(error, TRK_E_ARGUMENT, "%s: '%.40s' is none of %s", source, text,
                                 option->choices);
        }
        break;
    }
    return TRK_OK;
}

/* The fallbacks; what is given overwrites them. */
static void add_table(struct trk_options *out, const struct trk_option *table)
{
    for (; table && table->name; table++) {
        assert(out->count < TRK_OPTIONS_MOST);
        struct trk_option_value *value = &out->values[out->count++];
        *value = (struct trk_option_value){.option = table, .from = "default"};
        if (table->fallback) {
            enum trk_status status = set_value(value, table->fallback, table->name, NULL);
            assert(status == TRK_OK);
            (void)status;
        }
    }
}

static const struct trk_config *settings;

void trk_options_use(const struct trk_config *config)
{
    settings = config;
}

/* The environment's word on an option, and the name of the variable; NULL when it has none. */
static const char *environment_value(const char *command, const char *name, char *twin, size_t size)
{
    const char *const commands[] = {command, NULL};
    for (size_t i = 0; i < 2; i++) {
        trk_options_twin(commands[i], name, twin, size);
        const char *text = getenv(twin);
        if (text && *text) {
            return text;
        }
    }
    return NULL;
}

const char *trk_options_elsewhere(const char *command, const char *name)
{
    char twin[80];
    const char *text = environment_value(command, name, twin, sizeof twin);
    const struct trk_config_entry *entry =
        text != NULL || settings == NULL ? NULL : trk_config_find(settings, command, name);
    return entry != NULL ? entry->value : text;
}

/* Others are looked at only where the command line is silent, so a bad value can be overruled. */
static enum trk_status read_twins(struct trk_options *out, struct trk_error *error)
{
    for (size_t i = 0; i < out->count; i++) {
        struct trk_option_value *value = &out->values[i];
        const char *name = value->option->name;
        char source[80];
        if (value->given || is_help(value->option)) {
            continue;
        }
        const char *text = environment_value(out->command->name, name, source, sizeof source);
        const char *from = "environment";
        const struct trk_config_entry *entry =
            text || !settings ? NULL : trk_config_find(settings, out->command->name, name);
        if (entry) {
            text = entry->value;
            from = "file";
            snprintf(source, sizeof source, "%.40s:%u: %.20s", settings->path, entry->line, name);
        }
        if (!text) {
            continue;
        }
        enum trk_status status = set_value(value, text, source, error);
        if (status != TRK_OK) {
            return status;
        }
        value->given = true;
        value->from = from;
    }
    return TRK_OK;
}

cJSON *trk_options_json(const struct trk_options *options)
{
    cJSON *object = cJSON_CreateObject();
    for (size_t i = 0; i < options->count; i++) {
        const struct trk_option_value *value = &options->values[i];
        if (is_help(value->option)) {
            continue;
        }
        cJSON *entry = cJSON_AddObjectToObject(object, value->option->name);
        if (value->option->kind == TRK_OPTION_FLAG) {
            cJSON_AddBoolToObject(entry, "value", value->number != 0);
        } else if (value->text) {
            cJSON_AddStringToObject(entry, "value", value->text);
        } else {
            cJSON_AddNullToObject(entry, "value");
        }
        cJSON_AddStringToObject(entry, "from", value->from);
    }
    return object;
}

/* The option that was probably meant by a word; NULL: none. */
static const char *nearest_option(const struct trk_options *options, const char *name,
                                  size_t length)
{
    char word[TRK_NEAREST_LETTERS + 1];
    const char *best = NULL;
    if (length < sizeof word) {
        memcpy(word, name, length);
        word[length] = 0;
        for (size_t i = 0; i < options->count; i++) {
            trk_nearest_consider(word, options->values[i].option->name, &best);
        }
    }
    return best;
}

static enum trk_status unknown_option(const struct trk_options *options, const char *name,
                                      size_t length, struct trk_error *error)
{
    const char *best = nearest_option(options, name, length);
    int shown = (int)(length < 40 ? length : 40);
    if (best) {
        return trk_error_set(error, TRK_E_ARGUMENT, "no option --%.*s; did you mean --%s?", shown,
                             name, best);
    }
    return trk_error_set(error, TRK_E_ARGUMENT, "no option --%.*s", shown, name);
}

/* Take one option's value: behind '=' or in the next argument. Flags have none. */
static enum trk_status take(struct trk_option_value *value, const char *joined,
                            char *const **arguments, struct trk_error *error)
{
    char source[40];
    snprintf(source, sizeof source, "--%s", value->option->name);
    value->given = true;
    value->from = "command line";
    if (value->option->kind == TRK_OPTION_FLAG) {
        value->number = 1;
        return joined ? trk_error_set(error, TRK_E_ARGUMENT, "%s takes no value (%.40s)", source,
                                      joined)
                      : TRK_OK;
    }
    if (!joined) {
        joined = *++*arguments;
        if (!joined) {
            return trk_error_set(error, TRK_E_ARGUMENT, "%s needs a value: %s", source,
                                 value->option->value);
        }
    }
    return set_value(value, joined, source, error);
}

static enum trk_status take_long(struct trk_options *out, char *const **arguments,
                                 struct trk_error *error)
{
    const char *name = **arguments + 2;
    size_t length = strcspn(name, "=");
    for (size_t i = 0; i < out->count; i++) {
        const struct trk_option *option = out->values[i].option;
        if (strlen(option->name) == length && strncmp(option->name, name, length) == 0) {
            out->help = out->help || (is_help(option) && !name[length]);
            return take(&out->values[i], name[length] ? name + length + 1 : NULL, arguments, error);
        }
    }
    return unknown_option(out, name, length, error);
}

/* A word of letters: flags, and at its end an option with its value. */
static enum trk_status take_letters(struct trk_options *out, char *const **arguments,
                                    struct trk_error *error)
{
    for (const char *letter = **arguments + 1; *letter; letter++) {
        struct trk_option_value *value = NULL;
        for (size_t i = 0; i < out->count && !value; i++) {
            value = out->values[i].option->letter == *letter ? &out->values[i] : NULL;
        }
        if (!value) {
            return trk_error_set(error, TRK_E_ARGUMENT, "no option -%c", *letter);
        }
        if (value->option->kind != TRK_OPTION_FLAG) {
            return take(value, letter[1] ? letter + 1 : NULL, arguments, error);
        }
        value->given = true;
        value->from = "command line";
        value->number = 1;
        out->help = out->help || is_help(value->option);
    }
    return TRK_OK;
}

static enum trk_status add_operand(struct trk_options *out, const char *text,
                                   struct trk_error *error)
{
    if (out->operand_count == out->command->operands_most) {
        return trk_error_set(error, TRK_E_ARGUMENT, "'%.60s' is one argument too many", text);
    }
    out->operands[out->operand_count++] = text;
    return TRK_OK;
}

enum trk_status trk_options_parse(struct trk_options *out, const struct trk_command *command,
                                  char *const *arguments, struct trk_error *error)
{
    assert(command->runs_command || command->operands_most <= TRK_OPTIONS_OPERANDS_MOST);
    *out = (struct trk_options){.command = command};
    add_table(out, command->options);
    add_table(out, common);
    bool options_end = false;
    for (; *arguments && !out->help; arguments++) {
        const char *text = *arguments;
        enum trk_status status = TRK_OK;
        if (!options_end && strcmp(text, "--") == 0) {
            options_end = true;
        } else if (!options_end && text[0] == '-' && text[1] == '-') {
            status = take_long(out, &arguments, error);
        } else if (!options_end && text[0] == '-' && text[1]) {
            status = take_letters(out, &arguments, error);
        } else if (command->runs_command) {
            out->rest = arguments;
            break;
        } else {
            status = add_operand(out, text, error);
        }
        if (status != TRK_OK) {
            return status;
        }
    }
    if (out->help) {
        return TRK_OK;
    }
    if (command->runs_command ? !out->rest : out->operand_count < command->operands_least) {
        return trk_error_set(error, TRK_E_ARGUMENT, "arguments are missing: %s", command->operands);
    }
    return read_twins(out, error);
}

bool trk_options_flag_meant(const struct trk_command *command, const char *name,
                            char *const *arguments)
{
    struct trk_options options = {.command = command};
    add_table(&options, command->options);
    add_table(&options, common);
    for (; *arguments != NULL && strcmp(*arguments, "--") != 0; arguments++) {
        const char *word = *arguments + strspn(*arguments, "-");
        const char *best =
            word > *arguments ? nearest_option(&options, word, strcspn(word, "=")) : NULL;
        if (best != NULL && strcmp(best, name) == 0) {
            return true;
        }
    }
    uint64_t number;
    const char *text = trk_options_elsewhere(command->name, name);
    return text != NULL && !(trk_number_parse(text, &number) && number == 0);
}

static const struct trk_option_value *value_of(const struct trk_options *options, const char *name)
{
    for (size_t i = 0; i < options->count; i++) {
        if (strcmp(options->values[i].option->name, name) == 0) {
            return &options->values[i];
        }
    }
    assert(0 && "the option stands in the table");
    abort();
}

bool trk_options_flag(const struct trk_options *options, const char *name)
{
    return value_of(options, name)->number != 0;
}

bool trk_options_given(const struct trk_options *options, const char *name)
{
    return value_of(options, name)->given;
}

const char *trk_options_asked(const struct trk_options *options, const char *const *names)
{
    for (; *names; names++) {
        const struct trk_option_value *value = value_of(options, *names);
        if (value->given && strcmp(value->from, "command line") == 0) {
            return *names;
        }
    }
    return NULL;
}

const char *trk_options_text(const struct trk_options *options, const char *name)
{
    return value_of(options, name)->text;
}

uint64_t trk_options_number(const struct trk_options *options, const char *name)
{
    return value_of(options, name)->number;
}
