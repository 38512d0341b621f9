/*
 * Goal: what is minimised on a core with a seeded fault still fails there, and holds on the right
 * core; and it is small.
 * Method: one simulated core has all faults in it (matrix.c). For each fault scenario files that
 * fail under it, and hold with the verdict ok on the right core, are minimised with the fault in
 * force, each in a process of its own, until one is small; the right core, asked of every
 * candidate, is the same one without the fault.
 *
 *     minimise LIST FOLDER...
 *
 * Exit code 1: a case does not fail with the fault, or not hold without it, or too few faults gave
 * one, or too few of those are small.
 */
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mutation.h"
#include "simulator/minimise.h"

#define FILES_MOST     1024u
#define CPU_SECONDS    20u
#define MEMORY_BYTES   (UINT64_C(3) << 30)
#define SCHEDULES_MOST UINT64_C(20000)
/* Operations of a small case, threads and pages beside. */
#define SMALL_OPERATIONS 4u
#define SMALL_REST       2u
/* Files that are minimised for a fault, until one is small: some faults need large pages there. */
#define CASES_MOST 6u
/* Faults that must give a case, and how many of those must be small; measured, with some room. */
#define CASES_LEAST 40u
#define SMALL_LEAST 35u

enum end {
    END_SMALL = 0,
    END_LARGE,
    END_NONE,
    END_WRONG,
};

static unsigned in_force;

bool trk_mutant(unsigned number)
{
    return number == in_force;
}

struct files {
    char *paths[FILES_MOST];
    size_t count;
};

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void add_files(struct files *files, const char *folder)
{
    DIR *dir = opendir(folder);
    if (dir == NULL) {
        perror(folder);
        exit(2);
    }
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        size_t length = strlen(entry->d_name);
        char path[4096];
        if (length < 5 || strcmp(entry->d_name + length - 5, ".json") != 0 ||
            files->count == FILES_MOST)
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        files->paths[files->count++] = strdup(path);
    }
    closedir(dir);
}

static char *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    char *bytes = malloc(TRK_SCENARIO_FILE_BYTES);
    if (file == NULL || bytes == NULL) {
        perror(path);
        exit(2);
    }
    *size = fread(bytes, 1, TRK_SCENARIO_FILE_BYTES, file);
    fclose(file);
    return bytes;
}

/* The verdict under a fault; "" what cannot be told. */
static bool holds(const char *json, size_t size, unsigned fault, char verdict[32])
{
    struct trk_scenario_fault why;
    struct trk_scenario_report report = {.held = false};
    struct trk_scenario *scenario;
    const struct trk_scenario_options options = {.size = sizeof options,
                                                 .schedules = SCHEDULES_MOST};
    verdict[0] = '\0';
    if (trk_scenario_parse(&scenario, json, size, &why) != TRK_OK)
        return false;
    unsigned was = in_force;
    in_force = fault;
    if (trk_scenario_run_with(scenario, &options, &report) != TRK_OK)
        report = (struct trk_scenario_report){.verdict = ""};
    in_force = was;
    memcpy(verdict, report.verdict, sizeof report.verdict);
    trk_scenario_destroy(scenario);
    return report.held;
}

static bool is_right(void *context, const char *script)
{
    char verdict[32];
    (void)context;
    return holds(script, strlen(script), 0, verdict) && strcmp(verdict, "ok") == 0;
}

/* In a child: minimise the file under the fault, if it fails there. */
static enum end try_file(const char *path, unsigned fault)
{
    static struct trk_minimise_report report;
    struct trk_minimise_options options = trk_minimise_options_default();
    struct trk_scenario_fault why;
    char verdict[32];
    size_t size;
    char *json = read_file(path, &size);
    if (!holds(json, size, 0, verdict) || strcmp(verdict, "ok") != 0 ||
        holds(json, size, fault, verdict) || verdict[0] == '\0' || strcmp(verdict, "ok") == 0)
        return END_NONE;
    options.right = is_right;
    in_force = fault;
    enum trk_status status = trk_minimise_scenario(json, size, &options, &report, &why);
    in_force = 0;
    free(json);
    if (status != TRK_OK || report.script == NULL) {
        printf("fault %u: %s: no case: %s%s\n", fault, path, why.text, report.why);
        return END_WRONG;
    }
    size = strlen(report.script);
    char bad[32], good[32];
    bool fails = !holds(report.script, size, fault, bad),
         held = holds(report.script, size, 0, good);
    printf("fault %u: %s: %u operations, %u threads, %u pages of %u, %u, %u: %s, %s\n", fault,
           strrchr(path, '/') + 1, report.to.operations, report.to.threads, report.to.pages,
           report.from.operations, report.from.threads, report.from.pages, bad, good);
    if (!fails || strcmp(bad, verdict) != 0 || !held || strcmp(good, "ok") != 0)
        return END_WRONG;
    return report.to.operations <= SMALL_OPERATIONS && report.to.threads <= SMALL_REST &&
                   report.to.pages <= SMALL_REST
               ? END_SMALL
               : END_LARGE;
}

/* A fault may end the process, or never end: then the file gives no case. */
static enum end try_in_child(const char *path, unsigned fault)
{
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        struct rlimit limit = {CPU_SECONDS, CPU_SECONDS}, none = {0, 0};
        struct rlimit memory = {MEMORY_BYTES, MEMORY_BYTES};
        setrlimit(RLIMIT_AS, &memory);
        setrlimit(RLIMIT_CPU, &limit);
        setrlimit(RLIMIT_CORE, &none);
        if (freopen("/dev/null", "w", stderr) == NULL)
            _exit(END_NONE);
        enum end end = try_file(path, fault);
        fflush(stdout);
        _exit((int)end);
    }
    int status = 0;
    if (pid < 0 || waitpid(pid, &status, 0) != pid) {
        perror("fork");
        exit(4);
    }
    return WIFEXITED(status) ? (enum end)WEXITSTATUS(status) : END_NONE;
}

int main(int count, char **words)
{
    static struct files files;
    unsigned ends[4] = {0}, fault;
    char line[160];
    for (int i = 2; i < count; i++)
        add_files(&files, words[i]);
    qsort(files.paths, files.count, sizeof files.paths[0], by_text);
    FILE *list = count > 2 ? fopen(words[1], "r") : NULL;
    if (list == NULL) {
        fprintf(stderr, "usage: minimise LIST FOLDER...\n");
        return 2;
    }
    while (fgets(line, sizeof line, list) != NULL && sscanf(line, "%u", &fault) == 1) {
        enum end end = END_NONE;
        unsigned cases = 0;
        for (size_t i = 0;
             i < files.count && end != END_SMALL && end < END_WRONG && cases < CASES_MOST; i++) {
            enum end one = try_in_child(files.paths[i], fault);
            cases += one != END_NONE;
            end = one == END_NONE ? end : one;
        }
        ends[end < END_WRONG ? end : END_WRONG]++;
    }
    fclose(list);
    for (size_t i = 0; i < files.count; i++)
        free(files.paths[i]);
    printf("%u small, %u large, %u faults without a case, %u wrong\n", ends[END_SMALL],
           ends[END_LARGE], ends[END_NONE], ends[END_WRONG]);
    bool enough =
        ends[END_SMALL] + ends[END_LARGE] >= CASES_LEAST && ends[END_SMALL] >= SMALL_LEAST;
    return ends[END_WRONG] == 0 && enough ? 0 : 1;
}
