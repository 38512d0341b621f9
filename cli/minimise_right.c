#include "minimise_right.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "spawn.h"
#include "terminal.h"

/*
 * Cases of which it is known what a right core says: one holds whatever it does, in the other the
 * bytes change behind its back. Who says the same of both says nothing.
 */
#define CASE(name, last)                                                                           \
    "{\"scenario\": 1, \"name\": \"" name "\",\n"                                                  \
    " \"memory\": {\"A\": {\"at\": \"0x200010000\", \"size\": \"1P\"}},\n"                         \
    " \"threads\": {\"one\": [\"upload A 1P\", " last "\"gpu_read A 8\"]},\n"                      \
    " \"expect\": {\"verdict\": \"ok\"}}\n"
static const char holds[] = CASE("holds", "");
static const char breaks[] = CASE("breaks", "\"raw_write A 8 1\", ");

int trk_minimise_right_open(struct trk_minimise_right *right, const char *program)
{
    *right = (struct trk_minimise_right){
        .program = program, .stop = right->stop, .until_ns = right->until_ns, .said = -1};
    if (access(program, X_OK) != 0) {
        trk_terminal_say("minimise", "--good: %s: %s", program, strerror(errno));
        return TRK_EXIT_USAGE;
    }
    return trk_scratch_open(&right->folder, "minimise", NULL);
}

static bool put(const char *path, const char *script)
{
    FILE *file = fopen(path, "we");
    if (file == NULL) {
        return false;
    }
    bool good = fputs(script, file) >= 0;
    return fclose(file) == 0 && good;
}

/* Ask about a case: an exit code, -1, or TRK_SPAWN_ENDED. */
static int ask(const struct trk_minimise_right *right, const char *script)
{
    char program[PATH_MAX], path[PATH_MAX];
    const char *const words[] = {program, "sim", path, NULL};
    const struct trk_spawn spawn = {.command = "minimise",
                                    .argv = words,
                                    .until_ns = right->until_ns,
                                    .stop = right->stop,
                                    .quiet = true};
    /* A path, not a name to be looked for. */
    snprintf(program, sizeof program, "%s%s", strchr(right->program, '/') == NULL ? "./" : "",
             right->program);
    trk_scratch_file(&right->folder, "case.json", path);
    int status = put(path, script) ? trk_spawn_run(&spawn) : -1;
    return status < 0 ? status : trk_exit_of_program(status);
}

static bool is_blind(const struct trk_minimise_right *right)
{
    int code = ask(right, breaks);
    return code == TRK_EXIT_OK || (code == TRK_EXIT_BROKEN && ask(right, holds) == code);
}

bool trk_minimise_right_ask(struct trk_minimise_right *right, const char *script)
{
    if (right->asked == 0 && is_blind(right)) {
        right->failed = right->blind = true;
        return false;
    }
    int code = ask(right, script);
    bool judged = code == TRK_EXIT_OK || code == TRK_EXIT_BROKEN;
    /* An interrupt may have gone to the program, too: how that ended is not its answer. */
    right->ended |= code == TRK_SPAWN_ENDED || (!judged && code != -1 && *right->stop != 0);
    if (right->ended) {
        return false;
    }
    /* Nothing can be made smaller by a core that says nothing of the whole. */
    right->failed |= code == -1 || (!judged && right->asked == 0);
    right->said = judged ? right->said : code;
    right->unjudged += !judged;
    right->asked++;
    return code == TRK_EXIT_OK;
}

int trk_minimise_right_report(const struct trk_minimise_right *right)
{
    if (right->blind) {
        trk_terminal_say("minimise",
                         "--good: %s is no trk with a right core: it says the same of a case that "
                         "holds and of one that cannot",
                         right->program);
        return TRK_EXIT_USAGE;
    }
    if (right->failed && right->said >= 0) {
        trk_terminal_say("minimise", "--good: %s says nothing of the case: it ends with %d",
                         right->program, right->said);
    } else if (right->failed) {
        trk_terminal_say("minimise", "--good: %s cannot be run", right->program);
    } else if (right->unjudged > 0) {
        trk_terminal_say("minimise",
                         "--good: %s said nothing of %" PRIu64
                         " candidates: the last time it ended with %d",
                         right->program, right->unjudged, right->said);
    }
    return right->failed ? TRK_EXIT_ENVIRONMENT : TRK_EXIT_OK;
}

void trk_minimise_right_close(struct trk_minimise_right *right)
{
    trk_scratch_close(&right->folder);
}
