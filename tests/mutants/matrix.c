/*
 * Goal: every seeded fault of the core that scenarios can show is killed by at least two files.
 * Method: one simulated core has all faults in it; which is in force is a variable. Each file runs
 * on the right core first, which tells what faults it meets at all; then, in a process of its own,
 * each fault runs against the files that meet it. What a fault does to the process is part of the
 * answer. Budgets are counted in steps, so that the table is the same on every machine.
 *
 *     matrix MUTANTS EXEMPT FOLDER... [--json] [--all] [--only N] [--dpor]
 *
 * With --dpor the files that ask for every schedule get one of each class, by the second engine.
 *
 * Exit code 1: a fault has too few kills, or an exempt one has any, or a file does not hold.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "matrix.h"
#include "mutation.h"
#include "scenario_schedule.h"

/* Exploring stops there: the largest of the files needs 1,900 schedules. */
#define SCHEDULES_MOST UINT64_C(20000)
/* The core asks for its faults so often in one file at most; the largest asks 40,000 times. */
#define STEPS_MOST UINT64_C(1000000)
/* A loop in which the core asks for no fault at all is ended by this. */
#define CPU_SECONDS 20u
/* A loop that takes memory is ended by this; the tracker's reservations are most of what is usual.
 */
#define MEMORY_BYTES (UINT64_C(3) << 30)

#define EXIT_ENDLESS 99

static unsigned in_force;
static bool dpor;
static bool met[MATRIX_NUMBER_MOST];
static uint64_t steps;

bool trk_mutant(unsigned number)
{
    met[number] = true;
    if (++steps > STEPS_MOST)
        _exit(EXIT_ENDLESS);
    return number == in_force;
}

size_t matrix_kills(const struct matrix *matrix, size_t mutant)
{
    size_t kills = 0;
    for (size_t file = 0; file < matrix->file_count; file++)
        kills += cell_kills(*matrix_cell(matrix, mutant, file));
    return kills;
}

static struct trk_scenario *load(const char *path)
{
    struct trk_scenario *scenario = NULL;
    struct trk_scenario_fault fault;
    if (trk_scenario_load(&scenario, path, &fault) == TRK_OK)
        return scenario;
    fprintf(stderr, "matrix: %s: %s: %s\n", path, fault.where, fault.text);
    exit(2);
}

static enum matrix_cell run(const struct trk_scenario *scenario, const char *expected)
{
    struct schedule_request request = {.most = SCHEDULES_MOST, .dpor = dpor};
    struct trk_scenario_report report;
    steps = 0;
    enum trk_status status = schedule_scenario(scenario, &request, &report);
    if (status == TRK_E_MEMORY)
        return CELL_ENDLESS;
    if (status != TRK_OK)
        return CELL_KILLED; /* the core gave a status that it never gives */
    if (report.held)
        return CELL_HELD;
    bool cut = request.stopped_early && strcmp(report.verdict, expected) == 0;
    return cut ? CELL_UNDECIDED : CELL_KILLED;
}

struct file {
    struct trk_scenario *scenario;
    char verdict[32]; /* that is shown on the right core */
};

/* On the right core; notes which faults the file meets. */
static bool run_right(struct matrix *matrix, struct file *files)
{
    bool good = true;
    for (size_t file = 0; file < matrix->file_count; file++) {
        struct trk_scenario_report report;
        files[file].scenario = load(matrix->files[file]);
        memset(met, 0, sizeof met);
        in_force = 0;
        steps = 0;
        if (trk_scenario_run(files[file].scenario, &report) != TRK_OK || !report.held) {
            printf("%s: does not hold on the right core\n", matrix->files[file]);
            good = false;
        }
        snprintf(files[file].verdict, sizeof files[file].verdict, "%s", report.verdict);
        for (size_t mutant = 0; mutant < matrix->mutant_count; mutant++)
            *matrix_cell(matrix, mutant, file) =
                met[matrix->mutants[mutant].number] ? CELL_UNDECIDED : CELL_NOT_MET;
    }
    return good;
}

/* In a child: the files from one on that meet the fault; *at says which is under way. */
static _Noreturn void child(struct matrix *matrix, const struct file *files, size_t mutant,
                            volatile size_t *at)
{
    struct rlimit limit = {CPU_SECONDS, CPU_SECONDS}, none = {0, 0};
    struct rlimit memory = {MEMORY_BYTES, MEMORY_BYTES};
    setrlimit(RLIMIT_AS, &memory);
    setrlimit(RLIMIT_CPU, &limit);
    setrlimit(RLIMIT_CORE, &none);
    /* What a broken core says on its way out is no part of the table. */
    if (freopen("/dev/null", "w", stderr) == NULL)
        _exit(2);
    in_force = matrix->mutants[mutant].number;
    for (; *at < matrix->file_count; (*at)++) {
        uint8_t *cell = matrix_cell(matrix, mutant, *at);
        if (*cell != CELL_NOT_MET)
            *cell = (uint8_t)run(files[*at].scenario, files[*at].verdict);
    }
    _exit(0);
}

static void run_mutant(struct matrix *matrix, const struct file *files, size_t mutant,
                       volatile size_t *at)
{
    *at = 0;
    while (*at < matrix->file_count) {
        fflush(stdout);
        pid_t pid = fork();
        if (pid == 0)
            child(matrix, files, mutant, at);
        int end = 0;
        if (pid < 0 || waitpid(pid, &end, 0) != pid) {
            perror("matrix: fork");
            exit(4);
        }
        if (*at == matrix->file_count)
            continue;
        bool endless = (WIFEXITED(end) && WEXITSTATUS(end) == EXIT_ENDLESS) ||
                       (WIFSIGNALED(end) && WTERMSIG(end) == SIGXCPU);
        /* The second engine knows no states, and may just have too much to do. */
        bool much = dpor && files[*at].scenario->schedule.kind == SCHEDULE_EXPLORE;
        enum matrix_cell too_long = much ? CELL_UNDECIDED : CELL_ENDLESS;
        *matrix_cell(matrix, mutant, (*at)++) = (uint8_t)(endless ? too_long : CELL_CRASHED);
    }
}

static void *shared(size_t size_bytes)
{
    void *memory =
        mmap(NULL, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        perror("matrix: mmap");
        exit(4);
    }
    return memory;
}

/* What stands against the table; each is said. */
static bool judge(const struct matrix *matrix, unsigned only)
{
    bool good = true;
    for (size_t mutant = 0; mutant < matrix->mutant_count; mutant++) {
        const struct matrix_mutant *it = &matrix->mutants[mutant];
        size_t kills = matrix_kills(matrix, mutant);
        if (only != 0 && it->number != only)
            continue;
        if (it->exempt[0] == '\0' && kills < MATRIX_KILLS_LEAST)
            fprintf(stderr, "mutant %u (%s): killed by %zu files, %u wanted\n", it->number,
                    it->name, kills, MATRIX_KILLS_LEAST);
        else if (it->exempt[0] != '\0' && kills > 0)
            fprintf(stderr, "mutant %u (%s): exempt, but killed by %zu files\n", it->number,
                    it->name, kills);
        else
            continue;
        good = false;
    }
    return good;
}

struct arguments {
    const char *paths[16];
    size_t path_count;
    bool json, all, dpor;
    unsigned only;
};

static struct arguments arguments_of(int count, char **words)
{
    struct arguments out = {0};
    for (int i = 1; i < count; i++) {
        if (strcmp(words[i], "--json") == 0)
            out.json = true;
        else if (strcmp(words[i], "--all") == 0)
            out.all = true;
        else if (strcmp(words[i], "--dpor") == 0)
            out.dpor = true;
        else if (strcmp(words[i], "--only") == 0 && i + 1 < count)
            out.only = (unsigned)strtoul(words[++i], NULL, 10);
        else if (out.path_count < sizeof out.paths / sizeof out.paths[0])
            out.paths[out.path_count++] = words[i];
    }
    if (out.path_count < 3) {
        fprintf(stderr, "matrix MUTANTS EXEMPT FOLDER... [--json] [--all] [--only N] [--dpor]\n");
        exit(2);
    }
    return out;
}

int main(int count, char **words)
{
    static struct matrix matrix;
    static struct file files[MATRIX_FILES_MOST];
    struct arguments arguments = arguments_of(count, words);
    dpor = arguments.dpor;
    matrix_read_mutants(&matrix, arguments.paths[0], arguments.paths[1]);
    for (size_t i = 2; i < arguments.path_count; i++)
        matrix_add_files(&matrix, arguments.paths[i]);
    matrix.cells = shared(matrix.mutant_count * matrix.file_count);
    volatile size_t *at = shared(sizeof *at);
    bool good = run_right(&matrix, files);
    for (size_t mutant = 0; good && mutant < matrix.mutant_count; mutant++)
        if (arguments.only == 0 || matrix.mutants[mutant].number == arguments.only)
            run_mutant(&matrix, files, mutant, at);
    if (arguments.json)
        matrix_print_json(&matrix);
    else
        matrix_print(&matrix, arguments.all);
    good = good && judge(&matrix, arguments.only);
    for (size_t file = 0; file < matrix.file_count; file++) {
        trk_scenario_destroy(files[file].scenario);
        free(matrix.files[file]);
    }
    return good ? 0 : 1;
}
