#include "record_handlers.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIGNALS       64
#define LINE_BYTES    256
#define STATE_LINE    "State:"
#define FIRST_RUNTIME 34 /* the C library keeps those before it to itself */

static const char *const names[SIGNALS + 1] = {
    [SIGHUP] = "SIGHUP",       [SIGINT] = "SIGINT",   [SIGQUIT] = "SIGQUIT",
    [SIGILL] = "SIGILL",       [SIGTRAP] = "SIGTRAP", [SIGABRT] = "SIGABRT",
    [SIGBUS] = "SIGBUS",       [SIGFPE] = "SIGFPE",   [SIGUSR1] = "SIGUSR1",
    [SIGSEGV] = "SIGSEGV",     [SIGUSR2] = "SIGUSR2", [SIGPIPE] = "SIGPIPE",
    [SIGALRM] = "SIGALRM",     [SIGTERM] = "SIGTERM", [SIGCHLD] = "SIGCHLD",
    [SIGCONT] = "SIGCONT",     [SIGTSTP] = "SIGTSTP", [SIGTTIN] = "SIGTTIN",
    [SIGTTOU] = "SIGTTOU",     [SIGURG] = "SIGURG",   [SIGXCPU] = "SIGXCPU",
    [SIGXFSZ] = "SIGXFSZ",     [SIGPROF] = "SIGPROF", [SIGVTALRM] = "SIGVTALRM",
    [SIGWINCH] = "SIGWINCH",   [SIGIO] = "SIGIO",     [SIGPWR] = "SIGPWR",
    [SIGSTKFLT] = "SIGSTKFLT", [SIGSYS] = "SIGSYS",
};

/* A line of hexadecimal digits behind its key; false: it is another. */
static bool read_set(const char *line, const char *key, uint64_t *out)
{
    size_t length = strlen(key);
    char *end;
    if (strncmp(line, key, length) != 0)
        return false;
    uint64_t set = strtoull(line + length, &end, 16);
    if (end == line + length || *end != '\n')
        return false;
    *out = set;
    return true;
}

/* One that has ended and was not awaited yet takes none any more, and says so. */
static bool has_ended(const char *line)
{
    const char *state = line + strlen(STATE_LINE);
    state += strspn(state, " \t");
    return *state == 'Z' || *state == 'X';
}

void trk_record_handlers_look(struct trk_record_handlers *handlers, pid_t pid)
{
    char line[LINE_BYTES];
    struct trk_record_handlers seen = {.known = true};
    unsigned sets = 0;
    snprintf(line, sizeof line, "/proc/%d/status", (int)pid);
    FILE *file = fopen(line, "re");
    if (!file)
        return;
    while (seen.known && fgets(line, sizeof line, file)) {
        if (strncmp(line, STATE_LINE, strlen(STATE_LINE)) == 0)
            seen.known = !has_ended(line);
        sets += read_set(line, "SigIgn:", &seen.ignored);
        sets += read_set(line, "SigCgt:", &seen.caught);
    }
    fclose(file);
    if (seen.known && sets == 2)
        *handlers = seen;
}

static void print_set(cJSON *object, const char *key, uint64_t set)
{
    cJSON *list = cJSON_AddArrayToObject(object, key);
    for (int number = 1; number <= SIGNALS; ++number) {
        char name[24] = "";
        if ((set >> (number - 1) & 1) == 0)
            continue;
        if (names[number])
            snprintf(name, sizeof name, "%s", names[number]);
        else if (number >= FIRST_RUNTIME)
            snprintf(name, sizeof name, "SIGRTMIN+%d", number - FIRST_RUNTIME);
        if (name[0] != '\0')
            cJSON_AddItemToArray(list, cJSON_CreateString(name));
    }
}

void trk_record_handlers_print(const struct trk_record_handlers *handlers, cJSON *object)
{
    if (!handlers->known) {
        cJSON_AddNullToObject(object, "signals");
        return;
    }
    cJSON *signals = cJSON_AddObjectToObject(object, "signals");
    print_set(signals, "caught", handlers->caught);
    print_set(signals, "ignored", handlers->ignored);
}
