#include "manual.h"

#include <string.h>

#include "options.h"

#define TEXT_COLUMNS 80
#define ABOUT_COLUMN 26

static const struct {
    const char *code, *about;
} exits[] = {
    {"0", "All is well."},
    {"1", "A rule is broken, or a difference was found."},
    {"2", "The command line cannot be meant."},
    {"3", "The input is damaged or incomplete."},
    {"4", "The machine lacks something or forbids it: no Vulkan device, no permission."},
    {"70", "A fault of trk itself."},
};

static const struct {
    const char *name, *about;
} variables[] = {
    {"TRK_OPTION", "Stands for --option where that is not given: TRK_JSON=1, TRK_OUTPUT=F; for one "
                   "command only with its name: TRK_RECORD_OUTPUT=F."},
    {"TRK_CONFIG", "The file with settings, else $XDG_CONFIG_HOME/trk/config or "
                   "~/.config/trk/config: lines of option = value, behind [command] for that one."},
    {"TRK_TRACE_DIR", "Where traces without a name are written and the latest is looked for. "
                      "Default $XDG_DATA_HOME/trk or ~/.local/share/trk."},
    {"NO_COLOR", "When set, no colour unless --color=always."},
};

/* Words of text, wrapped, each line from the indent on; an empty line stays one. */
static void print_wrapped(FILE *out, const char *text, int indent, int column)
{
    while (*text) {
        size_t word = strcspn(text, " \n");
        if (column > indent && column + 1 + (int)word > TEXT_COLUMNS) {
            fprintf(out, "\n%*s", indent, "");
            column = indent;
        } else if (column > indent) {
            fputc(' ', out);
            column++;
        }
        fwrite(text, 1, word, out);
        column += (int)word;
        text += word;
        if (strncmp(text, "\n\n", 2) == 0) {
            fprintf(out, "\n\n%*s", indent, "");
            column = indent;
        }
        text += strspn(text, " \n");
    }
    fputc('\n', out);
}

static void print_entry(FILE *out, const char *term, const char *about)
{
    int length = fprintf(out, "  %s", term);
    if (length > ABOUT_COLUMN - 2) {
        fputc('\n', out);
        length = 0;
    }
    fprintf(out, "%*s", ABOUT_COLUMN - length, "");
    print_wrapped(out, about, ABOUT_COLUMN, ABOUT_COLUMN);
}

#define SENTENCES_BYTES 640

/* What an option is for, which words it takes, and what stands for one that is not given. */
struct sentences {
    char text[SENTENCES_BYTES];
};

static struct sentences sentences_of(const struct trk_option *option)
{
    struct sentences all;
    size_t room = sizeof all.text;
    size_t used = (size_t)snprintf(all.text, room, "%s", option->about);
    const char *word = option->choices != NULL ? option->choices : "";
    const char *before = " One of ";
    while (*word != '\0') {
        size_t length = strcspn(word, "|");
        bool last = word[length] == '\0';
        used += (size_t)snprintf(all.text + used, room - used, "%s%.*s%s", before, (int)length,
                                 word, last ? "." : "");
        word += length + !last;
        before = strchr(word, '|') != NULL ? ", " : " or ";
    }
    if (option->fallback != NULL) {
        snprintf(all.text + used, room - used, " Default %s.", option->fallback);
    }
    return all;
}

static void print_option(FILE *out, const struct trk_option *option)
{
    char letter[8] = "    ";
    char term[64];
    if (option->letter) {
        snprintf(letter, sizeof letter, "-%c, ", option->letter);
    }
    snprintf(term, sizeof term, "%s--%s%s%s", letter, option->name, option->value ? " " : "",
             option->value ? option->value : "");
    print_entry(out, term, sentences_of(option).text);
}

static void print_lines(FILE *out, const char *lines, const char *prefix)
{
    while (*lines) {
        size_t length = strcspn(lines, "\n");
        fprintf(out, "%s%.*s\n", prefix, (int)length, lines);
        lines += length + (lines[length] == '\n');
    }
}

void trk_manual_overview(FILE *out)
{
    fputs("usage: trk COMMAND [OPTION...] [ARGUMENT...]\n\n", out);
    print_wrapped(out,
                  "Records how CPU and GPU share an emulated console's memory, runs recordings "
                  "again, and says who broke which rule.",
                  0, 0);
    fputs("\ncommands\n", out);
    for (const struct trk_command *const *at = trk_command_list(); *at; at++) {
        print_entry(out, (*at)->name, (*at)->about);
    }
    fputs("\nexit codes\n", out);
    for (size_t i = 0; i < sizeof exits / sizeof exits[0]; i++) {
        print_entry(out, exits[i].code, exits[i].about);
    }
    fputs("\nenvironment\n", out);
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        print_entry(out, variables[i].name, variables[i].about);
    }
    fputs("\n`trk help COMMAND` says more of one.\n", out);
}

/* What is read where no F is named; NULL: one must be, or none is read. */
static const char *left_out(const struct trk_command *command)
{
    return strncmp(command->operands, "[F", 2) == 0
               ? "Without F it is the latest recording that was not given a name: trk-N.trk with "
                 "the greatest N in TRK_TRACE_DIR, else $XDG_DATA_HOME/trk, else "
                 "~/.local/share/trk."
               : NULL;
}

void trk_manual_help(FILE *out, const struct trk_command *command)
{
    fprintf(out, "usage: trk %s [OPTION...]%s%s\n\n", command->name,
            command->operands[0] ? " " : "", command->operands);
    print_wrapped(out, command->text, 0, 0);
    if (left_out(command) != NULL) {
        fputc('\n', out);
        print_wrapped(out, left_out(command), 0, 0);
    }
    fputs("\noptions\n", out);
    for (const struct trk_option *at = command->options; at && at->name; at++) {
        print_option(out, at);
    }
    for (const struct trk_option *at = trk_options_common(); at->name; at++) {
        print_option(out, at);
    }
    if (command->exits) {
        fputs("\nexit codes\n", out);
        print_wrapped(out, command->exits, 0, 0);
    }
    if (command->examples) {
        fputs("\nexamples\n", out);
        print_lines(out, command->examples, "  ");
    }
}

/* Text for roff: a dash stays a dash, nothing at the start of a line is a request. */
static void roff(FILE *out, const char *text)
{
    bool line_start = true;
    for (; *text; text++) {
        if (line_start && (*text == '.' || *text == '\'')) {
            fputs("\\&", out);
        }
        if (strncmp(text, "\n\n", 2) == 0) {
            fputs("\n.PP", out);
        } else if (*text == '-') {
            fputs("\\-", out);
        } else if (*text == '\\') {
            fputs("\\e", out);
        } else {
            fputc(*text, out);
        }
        line_start = *text == '\n';
    }
    fputc('\n', out);
}

static void roff_entry(FILE *out, const char *term, const char *about)
{
    fputs(".TP\n.B ", out);
    roff(out, term);
    roff(out, about);
}

static void roff_options(FILE *out, const struct trk_option *at)
{
    for (; at && at->name; at++) {
        char twin[40];
        char term[80];
        char letter[8] = "";
        if (at->letter) {
            snprintf(letter, sizeof letter, "-%c, ", at->letter);
        }
        snprintf(term, sizeof term, "%s--%s%s%s", letter, at->name, at->value ? " " : "",
                 at->value ? at->value : "");
        roff_entry(out, term, sentences_of(at).text);
        if (strcmp(at->name, "help") != 0) {
            trk_options_twin(NULL, at->name, twin, sizeof twin);
            fprintf(out, "In the environment: %s.\n", twin);
        }
    }
}

static void roff_examples(FILE *out, const char *examples)
{
    fputs(".SH EXAMPLES\n.nf\n", out);
    roff(out, examples);
    fputs(".fi\n", out);
}

void trk_manual_page(FILE *out, const struct trk_command *command)
{
    const char *dash = command ? "\\-" : "";
    const char *name = command ? command->name : "";
    fprintf(out, ".TH trk%s%s 1 \"\" \"trk %s\"\n.SH NAME\ntrk%s%s \\- ", dash, name, TRK_VERSION,
            dash, name);
    roff(out, command ? command->about : "who has the current bytes: record, run again, judge");
    fprintf(out, ".SH SYNOPSIS\n.B trk %s\n", command ? name : "COMMAND");
    roff(out, "[OPTION...]");
    if (!command || command->operands[0]) {
        roff(out, command ? command->operands : "[ARGUMENT...]");
    }
    fputs(".SH DESCRIPTION\n", out);
    if (command) {
        roff(out, command->text);
        if (left_out(command) != NULL) {
            fputs(".PP\n", out);
            roff(out, left_out(command));
        }
        fputs(".SH OPTIONS\n", out);
        roff_options(out, command->options);
        roff_options(out, trk_options_common());
    } else {
        for (const struct trk_command *const *at = trk_command_list(); *at; at++) {
            roff_entry(out, (*at)->name, (*at)->about);
        }
    }
    fputs(".SH EXIT STATUS\n", out);
    for (size_t i = 0; i < sizeof exits / sizeof exits[0] && !(command && command->exits); i++) {
        roff_entry(out, exits[i].code, exits[i].about);
    }
    if (command && command->exits) {
        roff(out, command->exits);
    }
    fputs(".SH ENVIRONMENT\n", out);
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        roff_entry(out, variables[i].name, variables[i].about);
    }
    if (command && command->examples) {
        roff_examples(out, command->examples);
    }
}

void trk_manual_completion(FILE *out)
{
    fputs(
        "_trk() {\n    local word=${COMP_WORDS[COMP_CWORD]} words=\n    case ${COMP_WORDS[1]} in\n",
        out);
    for (const struct trk_command *const *at = trk_command_list(); *at; at++) {
        fprintf(out, "    %s) words='", (*at)->name);
        for (const struct trk_option *option = (*at)->options; option && option->name; option++) {
            fprintf(out, "--%s ", option->name);
        }
        for (const struct trk_option *option = trk_options_common(); option->name; option++) {
            fprintf(out, "--%s%s", option->name, option[1].name ? " " : "';;\n");
        }
    }
    fputs("    esac\n    if ((COMP_CWORD == 1)); then\n        words='", out);
    for (const struct trk_command *const *at = trk_command_list(); *at; at++) {
        fprintf(out, "%s%s", (*at)->name, at[1] ? " " : "'\n");
    }
    fputs("    fi\n"
          "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
          "    ((COMP_CWORD > 1)) && COMPREPLY+=($(compgen -f -- \"$word\"))\n"
          "}\n"
          "complete -o filenames -F _trk trk\n",
          out);
}
