/*
 * Goal: the parser takes what the table allows, in every spelling, and refuses the rest by name.
 * Method: a small command of each option kind; tables of argument lists, with and without twins in
 * the environment.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"

static const struct trk_option options_table[] = {
    {.name = "output", .letter = 'o', .kind = TRK_OPTION_TEXT, .value = "F", .about = "."},
    {.name = "force", .letter = 'f', .about = "."},
    {.name = "verbose", .letter = 'v', .about = "."},
    {.name = "frames",
     .letter = 'n',
     .kind = TRK_OPTION_NUMBER,
     .value = "N",
     .fallback = "60",
     .least = 1,
     .most = 100,
     .about = "."},
    {.name = "ring-size",
     .kind = TRK_OPTION_SIZE,
     .value = "BYTES",
     .fallback = "4M",
     .least = 4096,
     .most = 1 << 30,
     .about = "."},
    {.name = NULL},
};

static const struct trk_command plain = {
    .name = "plain", .operands = "[A [B]]", .options = options_table, .operands_most = 2};
static const struct trk_command strict = {.name = "strict",
                                          .operands = "A",
                                          .options = options_table,
                                          .operands_least = 1,
                                          .operands_most = 1};
static const struct trk_command runner = {.name = "runner",
                                          .operands = "CMD",
                                          .options = options_table,
                                          .operands_least = 1,
                                          .runs_command = true};

/* Split a line at blanks and parse it; an argument of '' is empty. */
static enum trk_status parse(const struct trk_command *command, const char *line,
                             struct trk_options *out, struct trk_error *error)
{
    static char copy[256];
    static char *arguments[32];
    size_t count = 0;
    snprintf(copy, sizeof copy, "%s", line);
    for (char *word = strtok(copy, " "); word; word = strtok(NULL, " ")) {
        arguments[count++] = strcmp(word, "''") == 0 ? word + 2 : word;
    }
    arguments[count] = NULL;
    return trk_options_parse(out, command, arguments, error);
}

Test(options, taken)
{
    static const struct {
        const char *line, *output;
        uint64_t frames, ring;
        bool force, verbose;
        size_t operands;
    } cases[] = {
        {"", NULL, 60, 4 << 20, false, false, 0},
        {"--output=x", "x", 60, 4 << 20, false, false, 0},
        {"--output x a", "x", 60, 4 << 20, false, false, 1},
        {"-o x", "x", 60, 4 << 20, false, false, 0},
        {"-ox", "x", 60, 4 << 20, false, false, 0},
        {"-fvox", "x", 60, 4 << 20, true, true, 0},
        {"-fn 7 -v", NULL, 7, 4 << 20, true, true, 0},
        {"--output=-", "-", 60, 4 << 20, false, false, 0},
        {"-o -f", "-f", 60, 4 << 20, false, false, 0},
        {"--output= --force", NULL, 0, 0, false, false, 9}, /* refused: empty */
        {"a --force b", NULL, 60, 4 << 20, true, false, 2},
        {"- --force", NULL, 60, 4 << 20, true, false, 1},
        {"-- --force", NULL, 60, 4 << 20, false, false, 1},
        {"--frames=1 --frames=100 --ring-size 8K", NULL, 100, 8192, false, false, 0},
        {"--output=a=b", "a=b", 60, 4 << 20, false, false, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct trk_options options;
        struct trk_error error = {.text = ""};
        enum trk_status status = parse(&plain, cases[i].line, &options, &error);
        if (cases[i].operands == 9) {
            cr_expect_eq(status, TRK_E_ARGUMENT, "'%s'", cases[i].line);
            continue;
        }
        cr_assert_eq(status, TRK_OK, "'%s': %s", cases[i].line, error.text);
        const char *output = trk_options_text(&options, "output");
        cr_expect((!output && !cases[i].output) ||
                      (output && cases[i].output && strcmp(output, cases[i].output) == 0),
                  "'%s'", cases[i].line);
        cr_expect_eq(trk_options_number(&options, "frames"), cases[i].frames, "'%s'",
                     cases[i].line);
        cr_expect_eq(trk_options_number(&options, "ring-size"), cases[i].ring, "'%s'",
                     cases[i].line);
        cr_expect_eq(trk_options_flag(&options, "force"), cases[i].force, "'%s'", cases[i].line);
        cr_expect_eq(trk_options_flag(&options, "verbose"), cases[i].verbose, "'%s'",
                     cases[i].line);
        cr_expect_eq(options.operand_count, cases[i].operands, "'%s'", cases[i].line);
    }
}

Test(options, refused)
{
    static const struct {
        const struct trk_command *command;
        const char *line, *message; /* a part of it */
    } cases[] = {
        {&plain, "--frmes 3", "did you mean --frames"},
        {&plain, "--zzz", "no option --zzz"},
        {&plain, "-x", "no option -x"},
        {&plain, "-fx", "no option -x"},
        {&plain, "--force=1", "takes no value"},
        {&plain, "--output", "needs a value"},
        {&plain, "-o", "needs a value"},
        {&plain, "--output ''", "empty"},
        {&plain, "--frames", "needs a value"},
        {&plain, "--frames=", "not a number"},
        {&plain, "--frames 1x", "not a number"},
        {&plain, "--frames -1", "not a number"},
        {&plain, "--frames 0", "not within 1 to 100"},
        {&plain, "--frames 101", "not within 1 to 100"},
        {&plain, "--ring-size 2T", "not a size"},
        {&plain, "--ring-size 1", "not within"},
        {&plain, "--color=red", "none of auto"},
        {&plain, "--color=", "none of auto"},
        {&plain, "--color=auto|always", "none of auto"},
        {&plain, "a b c", "one argument too many"},
        {&strict, "", "missing"},
        {&strict, "--force", "missing"},
        {&runner, "--force", "missing"},
        {&runner, "--force --", "missing"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct trk_options options;
        struct trk_error error = {.text = ""};
        cr_expect_eq(parse(cases[i].command, cases[i].line, &options, &error), TRK_E_ARGUMENT,
                     "'%s'", cases[i].line);
        cr_expect_not_null(strstr(error.text, cases[i].message), "'%s' said '%s'", cases[i].line,
                           error.text);
    }
}

Test(options, command_line_of_another)
{
    static const struct {
        const char *line, *first;
        bool force;
    } cases[] = {
        {"ls --force -x", "ls", false},
        {"--force -- ls -l", "ls", true},
        {"-- --force", "--force", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct trk_options options;
        cr_assert_eq(parse(&runner, cases[i].line, &options, NULL), TRK_OK, "'%s'", cases[i].line);
        cr_expect_str_eq(options.rest[0], cases[i].first);
        cr_expect_eq(trk_options_flag(&options, "force"), cases[i].force, "'%s'", cases[i].line);
    }
}

Test(options, help_ends_everything)
{
    struct trk_options options;
    cr_assert_eq(parse(&strict, "--help --nonsense", &options, NULL), TRK_OK);
    cr_expect(options.help);
    cr_assert_eq(parse(&strict, "-h", &options, NULL), TRK_OK);
    cr_expect(options.help);
    cr_expect_eq(parse(&strict, "--nonsense --help", &options, NULL), TRK_E_ARGUMENT);
}

Test(options, twins)
{
    static const struct {
        const char *name, *value, *line;
        enum trk_status status;
        uint64_t frames, ring;
        bool force;
    } cases[] = {
        {"TRK_FRAMES", "7", "", TRK_OK, 7, 4 << 20, false},
        {"TRK_FRAMES", "7", "--frames 8", TRK_OK, 8, 4 << 20, false},
        {"TRK_FRAMES", "", "", TRK_OK, 60, 4 << 20, false},
        {"TRK_FRAMES", "seven", "", TRK_E_ARGUMENT, 0, 0, false},
        {"TRK_FRAMES", "101", "", TRK_E_ARGUMENT, 0, 0, false},
        {"TRK_FRAMES", "seven", "--frames 8", TRK_OK, 8, 4 << 20, false},
        {"TRK_RING_SIZE", "8K", "", TRK_OK, 60, 8192, false},
        {"TRK_FORCE", "1", "", TRK_OK, 60, 4 << 20, true},
        {"TRK_FORCE", "0", "", TRK_OK, 60, 4 << 20, false},
        {"TRK_FORCE", "yes", "", TRK_E_ARGUMENT, 0, 0, false},
        {"TRK_HELP", "1", "", TRK_OK, 60, 4 << 20, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct trk_options options;
        struct trk_error error = {.text = ""};
        setenv(cases[i].name, cases[i].value, 1);
        enum trk_status status = parse(&plain, cases[i].line, &options, &error);
        unsetenv(cases[i].name);
        cr_assert_eq(status, cases[i].status, "%s=%s '%s': %s", cases[i].name, cases[i].value,
                     cases[i].line, error.text);
        if (status == TRK_E_ARGUMENT) {
            cr_expect_not_null(strstr(error.text, cases[i].name), "'%s'", error.text);
            continue;
        }
        cr_expect_eq(trk_options_number(&options, "frames"), cases[i].frames, "%zu", i);
        cr_expect_eq(trk_options_number(&options, "ring-size"), cases[i].ring, "%zu", i);
        cr_expect_eq(trk_options_flag(&options, "force"), cases[i].force, "%zu", i);
        cr_expect(!options.help);
    }
}
