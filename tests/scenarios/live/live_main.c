/*
 * Goal: scenario files give on real memory, with real faults, what they say and what the simulator
 * says of them.
 * Method: each file below a folder runs in a process of its own against the live core. Those that
 * need the simulated host or the oracle are left out, and must be the ones listed: the list is
 * pinned, with the reasons.
 *
 *     scenario_live FOLDER LIST
 *     scenario_live --one FILE     in this process: to be recorded; what is expected is no matter
 *
 * LIST has a line for each file left out, `file: reason`, sorted.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "live.h"
#include "recorder/capture.h"

enum { END_HELD = 0, END_FAILED = 1, END_LEFT_OUT = 2, END_BROKEN = 3 };

#define FILES_MOST 1024

/* The checks behind the last operation. */
static void finish(struct live *live)
{
    uint64_t loose = live->verdict[0] == '\0' ? live_loose_page(live) : 0;
    if (loose != 0)
        snprintf(live->verdict, sizeof live->verdict, "protection-loose");
    if (live->verdict[0] == '\0' && live_leaking_page(live) != 0)
        snprintf(live->verdict, sizeof live->verdict, "watch-leak");
    if (live->verdict[0] == '\0')
        snprintf(live->verdict, sizeof live->verdict, "ok");
}

static int judge_file(const struct live *live, const char *name)
{
    const struct scenario_expect *expect = &live->scenario->expect;
    bool held = false;
    for (uint32_t i = 0; i < expect->verdict_count; i++)
        held |= strcmp(expect->verdicts[i], live->verdict) == 0;
    if (held && expect->at != NULL)
        held =
            live->at != NULL && live->at->label != NULL && strcmp(live->at->label, expect->at) == 0;
    printf("%s: %s: %s", held ? "held" : "FAILED", name, live->verdict);
    if (live->at != NULL)
        printf(" at operation %u: %s (%s)", live->at->number, live->at->text, live->text);
    printf("\n");
    return held ? END_HELD : END_FAILED;
}

static int run_file(const char *path, const char *name)
{
    static struct live live;
    struct trk_scenario *scenario;
    struct trk_scenario_fault fault;
    if (trk_scenario_load(&scenario, path, &fault) != TRK_OK) {
        printf("broken: %s: %s: %s\n", name, fault.where, fault.text);
        return END_BROKEN;
    }
    const char *why = live_left_out(scenario);
    if (why[0] != '\0') {
        printf("%s: %s\n", name, why);
        return END_LEFT_OUT;
    }
    if (!live_open(&live, scenario)) {
        printf("broken: %s: %s\n", name, live.text);
        return END_BROKEN;
    }
    for (uint32_t thread = 0; thread < scenario->thread_count; thread++) {
        live_thread_begin(&live);
        for (uint32_t i = 0; i < scenario->threads[thread].op_count; i++)
            live_op(&live, &scenario->threads[thread].ops[i]);
    }
    finish(&live);
    int end = judge_file(&live, name);
    live_close(&live);
    return end;
}

/* In a child: a crash of one file is that file's. The line of a file left out goes to `left_out`.
 */
static int run_child(const char *folder, const char *name, FILE *left_out)
{
    int fds[2];
    char line[1024] = "", path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (pipe(fds) != 0)
        return END_BROKEN;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(fds[1], STDOUT_FILENO);
        close(fds[0]);
        int end = run_file(path, name);
        fflush(stdout);
        _exit(end);
    }
    close(fds[1]);
    size_t used = 0;
    for (ssize_t got = 1; got > 0 && used<sizeof line - 1; used += got> 0 ? (size_t)got : 0)
        got = read(fds[0], line + used, sizeof line - 1 - used);
    close(fds[0]);
    int status = 0;
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return END_BROKEN;
    if (WIFSIGNALED(status)) {
        printf("FAILED: %s: ended by signal %d\n", name, WTERMSIG(status));
        return END_FAILED;
    }
    fputs(line, WEXITSTATUS(status) == END_LEFT_OUT ? left_out : stdout);
    return WEXITSTATUS(status);
}

static int is_scenario(const struct dirent *entry)
{
    const char *dot = strrchr(entry->d_name, '.');
    return dot != NULL && strcmp(dot, ".json") == 0;
}

/* The files left out are those listed, for the reasons listed. */
static bool same_list(const char *path, const char *left_out)
{
    static char pinned[65536];
    FILE *file = fopen(path, "re");
    size_t size = file != NULL ? fread(pinned, 1, sizeof pinned - 1, file) : 0;
    pinned[size] = '\0';
    if (file != NULL)
        fclose(file);
    return strcmp(pinned, left_out) == 0;
}

/* One file, recorded where `trk record` is the parent. */
static int record_file(const char *path)
{
    struct trk_error error;
    if (trk_capture_open(&error) != TRK_OK) {
        fprintf(stderr, "%s\n", error.text);
        return 2;
    }
    trk_capture_thread("guest", TRK_ROLE_GUEST);
    int end = run_file(path, path);
    trk_capture_thread_end();
    return end == END_HELD || end == END_FAILED ? 0 : 2;
}

int main(int argc, char **argv)
{
    struct dirent **files;
    unsigned counts[4] = {0};
    char *left_out = NULL;
    size_t left_out_size = 0;
    if (argc != 3)
        return 2;
    if (strcmp(argv[1], "--one") == 0)
        return record_file(argv[2]);
    int count = scandir(argv[1], &files, is_scenario, alphasort);
    FILE *list = open_memstream(&left_out, &left_out_size);
    if (count <= 0 || count > FILES_MOST || list == NULL) {
        fprintf(stderr, "no scenarios in %s\n", argv[1]);
        return 2;
    }
    for (int i = 0; i < count; i++)
        counts[run_child(argv[1], files[i]->d_name, list) & 3]++;
    fclose(list);
    printf("left out:\n%s", left_out);
    printf("%u held, %u failed, %u left out, %u broken\n", counts[END_HELD], counts[END_FAILED],
           counts[END_LEFT_OUT], counts[END_BROKEN]);
    bool same = same_list(argv[2], left_out);
    if (!same)
        printf("the files left out are not those of %s\n", argv[2]);
    for (int i = 0; i < count; i++)
        free(files[i]);
    free(files);
    free(left_out);
    return same && counts[END_FAILED] + counts[END_BROKEN] == 0 && counts[END_HELD] > 0 ? 0 : 1;
}
