/*
 * Reading a command line by the command's own table.
 *
 * `--name=value` and `--name value`, `-n value` and `-nvalue`; `--` ends the options, and in a
 * command that runs another the first operand does. A value comes from the command line, else from
 * the option's twins in the environment (TRK_COMMAND_NAME, then TRK_NAME; empty counts as absent),
 * else from the settings file (config.h), else from the table. A value that does not parse ends the
 * run; nothing is guessed, cut or taken instead.
 */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include "command.h"
#include "config.h"

/* No command has more options than this, the common ones included. */
#define TRK_OPTIONS_MOST          20
#define TRK_OPTIONS_OPERANDS_MOST 64u

struct trk_option_value {
    const struct trk_option *option;
    const char *text; /* as given, or the fallback; NULL when there is none */
    uint64_t number;  /* numbers and sizes; 1 for a flag that is set */
    bool given;       /* by command line, environment or settings file */
    const char *from; /* "command line", "environment", "file" or "default" */
};

struct trk_options {
    const struct trk_command *command;
    struct trk_option_value values[TRK_OPTIONS_MOST];
    size_t count;
    const char *operands[TRK_OPTIONS_OPERANDS_MOST];
    size_t operand_count;
    char *const *rest; /* of a command that runs another: its argv, ended by NULL */
    bool help;         /* --help was there; nothing else was looked at behind it */
};

/* Options that every command has, ended by a NULL name. */
const struct trk_option *trk_options_common(void);

/**
 * Parse the arguments behind a command's name.
 *
 * @param arguments  Ended by NULL; must outlive out.
 * @return TRK_OK, or TRK_E_ARGUMENT with a message that names the option and, where one is near,
 *         the one that was probably meant.
 *
 * Allocates: no. Threads: any while nobody changes the environment.
 */
TRK_MUST_USE enum trk_status trk_options_parse(struct trk_options *out,
                                               const struct trk_command *command,
                                               char *const *arguments, struct trk_error *error);

/*
 * Whether a flag may be meant by what was not understood: by a word before "--" that is it, has a
 * value or is nearest to it, or by what the environment or the settings file say of it but 0.
 */
bool trk_options_flag_meant(const struct trk_command *command, const char *name,
                            char *const *arguments);
/* What the environment or the settings file say of an option; NULL: nothing. */
const char *trk_options_elsewhere(const char *command, const char *name);

/* Values by name. The name must stand in the command's table or among the common options. */
bool trk_options_flag(const struct trk_options *options, const char *name);
bool trk_options_given(const struct trk_options *options, const char *name);
/*
 * The first of some options that stands on the command line itself; NULL: none. names ends with
 * NULL. For options that have no use with another: what stands in the environment or in the
 * settings is for where it applies.
 */
const char *trk_options_asked(const struct trk_options *options, const char *const *names);
const char *trk_options_text(const struct trk_options *options, const char *name);
uint64_t trk_options_number(const struct trk_options *options, const char *name);

/* Where values come from that neither command line nor environment give; NULL: from nowhere. */
void trk_options_use(const struct trk_config *config);

/* All that a command goes by, as a JSON object of `value` and `from` by the options' names; the
 * caller's to cJSON_Delete. NULL without memory. */
struct cJSON *trk_options_json(const struct trk_options *options);

/* The environment twin's name, cut to size: "trace-dir" becomes TRK_TRACE_DIR,
 * and of a command TRK_RECORD_TRACE_DIR. command NULL: that of every command. */
void trk_options_twin(const char *command, const char *name, char *out, size_t size);

#endif
