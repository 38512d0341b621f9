/*
 * A command of the program, described once.
 *
 * From this description come the parser (options.h), --help, the man page and the completions
 * (manual.h). Each cmd_NAME.c defines one, trk_cmd_NAME; command.c lists them.
 */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "track/status.h"

/* Exit codes of every command. */
enum trk_exit {
    TRK_EXIT_OK = 0,
    TRK_EXIT_BROKEN = 1,      /* a rule is broken or a difference was found */
    TRK_EXIT_USAGE = 2,       /* the command line cannot be meant */
    TRK_EXIT_DAMAGED = 3,     /* damaged or incomplete input */
    TRK_EXIT_ENVIRONMENT = 4, /* the machine lacks something, or forbids it */
    TRK_EXIT_INTERNAL = 70,   /* a fault of ours */
};

/* The exit code that says how a program ended, the shell's way: its own, or 128 and the signal's
 * number. */
int trk_exit_of_program(int32_t wait_status);

enum trk_option_kind {
    TRK_OPTION_FLAG = 0,
    TRK_OPTION_TEXT,
    TRK_OPTION_NUMBER,
    TRK_OPTION_SIZE,   /* bytes, with K, M or G */
    TRK_OPTION_CHOICE, /* one word of `choices` */
};

struct trk_option {
    const char *name; /* without the dashes; NULL ends a table */
    char letter;      /* short form; 0: none */
    enum trk_option_kind kind;
    const char *value;    /* what help calls the value; NULL for a flag */
    const char *about;    /* one sentence */
    const char *choices;  /* "auto|always|never" */
    const char *fallback; /* the value when none is given; NULL: there is none */
    uint64_t least;       /* bounds of a number or size, both included */
    uint64_t most;
};

struct trk_options;

struct trk_command {
    const char *name;
    const char *about;    /* half a sentence, for lists */
    const char *operands; /* "[F [RANGE]]"; "" when there are none */
    const char *text;     /* what it does, with paragraphs set apart by an empty line */
    const char *examples; /* a line each */
    const char *exits;    /* the exit codes, where they are not everybody's; NULL: they are */
    const char *schema;   /* of the JSON of a refusal; NULL: there is no --json */
    const struct trk_option *options;
    unsigned operands_least;
    unsigned operands_most;
    bool no_named_pipe;  /* its trace is read again and again */
    bool judges_nothing; /* events of newer types that are required do not stop it [F-36] */
    bool json_lines;     /* --json gives an object a line */
    bool runs_command;   /* the operands are a command line: the first ends the options */
    int (*run)(const struct trk_options *options);
    /* The exit code for what was not understood, arguments, settings or a command's name near this
     * one, given the usual one; NULL: that. */
    int (*refuse)(char *const *arguments, int code);
};

/* All commands in the order of `trk --help`, ended by NULL. */
const struct trk_command *const *trk_command_list(void);

/* The command of that name, or NULL. */
const struct trk_command *trk_command_find(const char *name);

/* The command's name that was probably meant, or NULL. */
const char *trk_command_nearest_name(const char *word);

extern const struct trk_command trk_cmd_record;
extern const struct trk_command trk_cmd_core_check;
extern const struct trk_command trk_cmd_ctl;
extern const struct trk_command trk_cmd_regress;
extern const struct trk_command trk_cmd_catalogue;
extern const struct trk_command trk_cmd_stat;
extern const struct trk_command trk_cmd_sim;
extern const struct trk_command trk_cmd_explore;
extern const struct trk_command trk_cmd_minimise;
extern const struct trk_command trk_cmd_why;
extern const struct trk_command trk_cmd_bisect;
extern const struct trk_command trk_cmd_diff;
extern const struct trk_command trk_cmd_fuzz;
extern const struct trk_command trk_cmd_info;
extern const struct trk_command trk_cmd_report;
extern const struct trk_command trk_cmd_dump;
extern const struct trk_command trk_cmd_assemble;
extern const struct trk_command trk_cmd_follow;
extern const struct trk_command trk_cmd_query;
extern const struct trk_command trk_cmd_doctor;
extern const struct trk_command trk_cmd_recover;
extern const struct trk_command trk_cmd_pack;
extern const struct trk_command trk_cmd_unpack;
extern const struct trk_command trk_cmd_trim;
extern const struct trk_command trk_cmd_merge;
extern const struct trk_command trk_cmd_bench;
extern const struct trk_command trk_cmd_advise;
extern const struct trk_command trk_cmd_devices;
extern const struct trk_command trk_cmd_replay;
extern const struct trk_command trk_cmd_demo;
extern const struct trk_command trk_cmd_emu_test;
extern const struct trk_command trk_cmd_help;
extern const struct trk_command trk_cmd_completion;
extern const struct trk_command trk_cmd_version;

#endif
