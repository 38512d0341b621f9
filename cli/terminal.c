#include "terminal.h"

#include "progress.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "refusal.h"

static bool use_color;
static int write_errno; /* of the first write to standard output that was seen to fail */
static bool code_is_kept;

/* Not SIG_IGN: that would be inherited by the command that `trk record` runs. */
static void on_broken_pipe(int number)
{
    (void)number;
}

void trk_terminal_open(void)
{
    static char buffer[1 << 16];
    struct sigaction now;
    if (sigaction(SIGPIPE, NULL, &now) == 0 && now.sa_handler == SIG_DFL) {
        struct sigaction ours = {.sa_handler = on_broken_pipe, .sa_flags = SA_RESTART};
        sigemptyset(&ours.sa_mask);
        sigaction(SIGPIPE, &ours, NULL);
    }
    setvbuf(stdout, buffer, isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF, sizeof buffer);
}

void trk_terminal_set_color(const struct trk_options *options)
{
    const char *when = trk_options_text(options, "color");
    const char *none = getenv("NO_COLOR");
    const char *term = getenv("TERM");
    if (strcmp(when, "auto") != 0) {
        use_color = strcmp(when, "always") == 0;
        return;
    }
    use_color = isatty(STDOUT_FILENO) && !(none && *none) && term && strcmp(term, "dumb") != 0;
}

void trk_terminal_word(enum trk_terminal_tone tone, const char *word)
{
    static const char *const codes[] = {"0", "1;32", "1;31", "1;33"};
    if (use_color && tone != TRK_TONE_PLAIN) {
        printf("\033[%sm%s\033[0m", codes[tone], word);
    } else {
        fputs(word, stdout);
    }
}

void trk_terminal_text(FILE *out, const char *text)
{
    for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
        /* C1 controls, which some terminals obey, are 0xc2 0x80..0x9f in UTF-8. */
        bool c1 = at[0] == 0xc2 && at[1] >= 0x80 && at[1] < 0xa0;
        if (*at < 0x20 || *at == 0x7f || c1) {
            fprintf(out, "\\x%02x", c1 ? at[1] : at[0]);
            at += c1;
        } else {
            fputc(*at, out);
        }
    }
}

void trk_terminal_quote(FILE *out, const char *path)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                "_-+=:,./@%";
    bool bare = *path != '\0', control = false;
    for (const unsigned char *at = (const unsigned char *)path; *at; at++) {
        bool c1 = at[0] == 0xc2 && at[1] >= 0x80 && at[1] < 0xa0;
        control |= *at < 0x20 || *at == 0x7f || c1;
        bare &= *at >= 0x80 || strchr(plain, *at) != NULL;
    }
    if (bare && !control) {
        fputs(path, out);
        return;
    }
    fputs(control ? "$'" : "'", out);
    for (const unsigned char *at = (const unsigned char *)path; *at; at++) {
        if (control && (*at < 0x20 || *at >= 0x7f)) {
            fprintf(out, "\\%03o", *at);
        } else if (control && (*at == '\'' || *at == '\\')) {
            fprintf(out, "\\%c", *at);
        } else if (*at == '\'') {
            fputs("'\\''", out);
        } else {
            fputc(*at, out);
        }
    }
    fputc('\'', out);
}

void trk_terminal_say(const char *command, const char *format, ...)
{
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    trk_progress_wipe();
    trk_refusal_note_line(line);
    flockfile(stderr);
    fprintf(stderr, command ? "trk %s: " : "trk: ", command);
    trk_terminal_text(stderr, line);
    fputc('\n', stderr);
    funlockfile(stderr);
}

bool trk_terminal_refuse(const struct trk_options *options, const char *const *names,
                         const char *why)
{
    const char *name = trk_options_asked(options, names);
    if (name != NULL) {
        trk_terminal_say(options->command->name, "--%s %s", name, why);
    }
    return name != NULL;
}

int trk_terminal_exit_code(const struct trk_error *error)
{
    switch (error->status) {
    case TRK_OK:
    case TRK_E_END:
        return TRK_EXIT_OK;
    case TRK_E_ARGUMENT:
    case TRK_E_EXISTS:
        return TRK_EXIT_USAGE;
    case TRK_E_DAMAGED:
    case TRK_E_INCOMPLETE:
        return TRK_EXIT_DAMAGED;
    case TRK_E_SYSTEM: /* a name that does not exist was not meant */
        return error->os_errno == ENOENT || error->os_errno == ENOTDIR || error->os_errno == EISDIR
                   ? TRK_EXIT_USAGE
                   : TRK_EXIT_ENVIRONMENT;
    case TRK_E_UNSUPPORTED:
    case TRK_E_MEMORY:
    case TRK_E_VERSION:
        return TRK_EXIT_ENVIRONMENT;
    default:
        return TRK_EXIT_INTERNAL;
    }
}

int trk_terminal_error(const char *command, const char *subject, const struct trk_error *error)
{
    char place[64] = "";
    if (error->event_number != TRK_NOT_KNOWN) {
        snprintf(place, sizeof place, " (event %" PRIu64 ")", error->event_number);
    } else if (error->file_offset != TRK_NOT_KNOWN) {
        snprintf(place, sizeof place, " (at byte %" PRIu64 ")", error->file_offset);
    }
    const size_t length = subject != NULL ? strlen(subject) : 0;
    if (length > 0 && strncmp(error->text, subject, length) == 0 && error->text[length] == ':') {
        subject = NULL; /* the text names it already */
    }
    trk_refusal_note_error(subject, error);
    trk_terminal_say(command, "%s%s%s%s", subject ? subject : "", subject ? ": " : "", error->text,
                     place);
    return trk_terminal_exit_code(error);
}

bool trk_terminal_alive(void)
{
    if (!ferror(stdout)) {
        return true;
    }
    if (write_errno == 0) {
        write_errno = errno;
    }
    return false;
}

void trk_terminal_flush(void)
{
    if (fflush(stdout) != 0 && write_errno == 0) {
        write_errno = errno;
    }
}

void trk_terminal_keep_code(void)
{
    code_is_kept = true;
}

int trk_terminal_close(int exit_code)
{
    trk_terminal_flush();
    if (trk_terminal_alive() || write_errno == EPIPE) {
        return exit_code;
    }
    trk_terminal_say(NULL, "standard output: %s", strerror(write_errno));
    return exit_code == TRK_EXIT_OK && !code_is_kept ? TRK_EXIT_ENVIRONMENT : exit_code;
}
