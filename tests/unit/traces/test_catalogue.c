/*
 * Goal: a catalogue that a failing opening has made, and gives up, is not taken away under another
 * that adds to it; who waits for a folder that is gone then makes a new one.
 * Method: the other one is a process, held before each of its steps; this one does what a failing
 * opening does, in between.
 */
#define _GNU_SOURCE /* mkdtemp */
#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "traces/catalogue.h"

static char folder[64], catalogue_path[96], file_path[96];

static void below(char *out, size_t size, const char *name)
{
    snprintf(out, size, "%s/%s", folder, name);
}

static void set_up(void)
{
    snprintf(folder, sizeof folder, "/tmp/trk-catalogue-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
    below(catalogue_path, sizeof catalogue_path, "kept");
    below(file_path, sizeof file_path, "mine.trk");
    FILE *file = fopen(file_path, "we");
    cr_assert_not_null(file);
    fputs("whatever is stored", file);
    cr_assert_eq(fclose(file), 0);
}

/* Everything below it that a test leaves. */
static void remove_all(const char *path)
{
    DIR *stream = opendir(path);
    const struct dirent *entry;
    while (stream != NULL && (entry = readdir(stream)) != NULL) {
        char inner[PATH_MAX];
        snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name);
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            unlink(inner) != 0) {
            remove_all(inner);
        }
    }
    if (stream != NULL) {
        closedir(stream);
    }
    (void)rmdir(path);
}

static void tear_down(void)
{
    remove_all(folder);
}

TestSuite(catalogue, .init = set_up, .fini = tear_down);

/* ---- the other one --------------------------------------------------------------------------- */

struct other {
    pid_t pid;
    int go[2], opened[2]; /* a byte each: it may add; it has the catalogue open */
};

static _Noreturn void add_when_told(const struct other *other)
{
    struct trk_catalogue *catalogue = NULL;
    struct trk_manifest_entry entry = {.file = "mine.trk"};
    struct trk_error error = {.text = ""};
    char byte = 0;
    enum trk_status status =
        trk_catalogue_open(&catalogue, catalogue_path, TRK_CATALOGUE_TO_ADD, &error);
    bool told = write(other->opened[1], &byte, 1) == 1 && read(other->go[0], &byte, 1) == 1;
    if (status == TRK_OK && told) {
        status = trk_catalogue_add(catalogue, file_path, "", &entry, &error);
    }
    if (status != TRK_OK) {
        fprintf(stderr, "the other one: %s\n", error.text);
    }
    trk_catalogue_close(catalogue);
    _exit(status == TRK_OK && told ? 0 : 1);
}

/* not_its: a lock of this one's; -1: there is none. */
static struct other start(int not_its)
{
    struct other other;
    cr_assert(pipe2(other.go, O_CLOEXEC) == 0 && pipe2(other.opened, O_CLOEXEC) == 0);
    other.pid = fork();
    cr_assert(other.pid >= 0);
    if (other.pid == 0) {
        close(not_its);
        add_when_told(&other);
    }
    return other;
}

static void wait_until_open(const struct other *other)
{
    char byte;
    cr_assert_eq(read(other->opened[0], &byte, 1), 1);
}

/* Whether it has a folder open, or ends before. */
static bool comes_to(const struct other *other, const char *path)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    char fds[64], link[PATH_MAX], to[PATH_MAX];
    struct stat about;
    snprintf(fds, sizeof fds, "/proc/%d/fd", (int)other->pid);
    for (;;) {
        DIR *stream = opendir(fds);
        const struct dirent *entry;
        bool found = false;
        while (stream != NULL && !found && (entry = readdir(stream)) != NULL) {
            snprintf(link, sizeof link, "%s/%s", fds, entry->d_name);
            const ssize_t length = readlink(link, to, sizeof to - 1);
            to[length > 0 ? length : 0] = '\0';
            found = strcmp(to, path) == 0 && stat(link, &about) == 0;
        }
        if (stream != NULL) {
            closedir(stream);
        }
        siginfo_t what = {.si_pid = 0};
        struct timespec none = {0};
        fd_set ready;
        FD_ZERO(&ready);
        FD_SET(other->opened[0], &ready);
        if (found || waitid(P_PID, (id_t)other->pid, &what, WEXITED | WNOHANG | WNOWAIT) != 0 ||
            what.si_pid != 0 ||
            pselect(other->opened[0] + 1, &ready, NULL, NULL, &none, NULL) > 0) {
            return found;
        }
        (void)nanosleep(&pause, NULL);
    }
}

/* Let it add, and see it end; then what it has added is there. */
static void expect_added(const struct other *other)
{
    char byte = 0;
    int end;
    cr_assert_eq(write(other->go[1], &byte, 1), 1);
    cr_assert_eq(waitpid(other->pid, &end, 0), other->pid);
    cr_assert(WIFEXITED(end) && WEXITSTATUS(end) == 0, "the other one could not add");
}

static enum trk_status count(void *context, const struct trk_manifest_entry *entry,
                             struct trk_error *error)
{
    (void)error;
    cr_assert_str_eq(entry->file, "mine.trk");
    ++*(unsigned *)context;
    return TRK_OK;
}

static void expect_stored(void)
{
    struct trk_catalogue *catalogue = NULL;
    struct trk_error error = {.text = ""};
    unsigned stored = 0;
    cr_assert_eq(trk_catalogue_open(&catalogue, catalogue_path, TRK_CATALOGUE_TO_READ, &error),
                 TRK_OK, "%s", error.text);
    cr_assert_eq(trk_catalogue_list(catalogue, count, &stored, &error), TRK_OK);
    trk_catalogue_close(catalogue);
    cr_assert_eq(stored, 1);
}

static struct trk_catalogue *open_to_add(void)
{
    struct trk_catalogue *catalogue = NULL;
    struct trk_error error = {.text = ""};
    cr_assert_eq(trk_catalogue_open(&catalogue, catalogue_path, TRK_CATALOGUE_TO_ADD, &error),
                 TRK_OK, "%s", error.text);
    return catalogue;
}

/* ---- tests ----------------------------------------------------------------------------------- */

Test(catalogue, one_that_is_given_up_alone_is_gone)
{
    struct stat about;
    trk_catalogue_abandon(open_to_add());
    cr_assert_neq(stat(catalogue_path, &about), 0);
}

Test(catalogue, one_that_is_given_up_stays_for_who_has_it_open)
{
    struct trk_catalogue *first = open_to_add();
    const struct other other = start(-1);
    wait_until_open(&other);
    trk_catalogue_abandon(first);
    expect_added(&other);
    expect_stored();
}

/* with_database: one of which nothing has been stored lies there. */
static void take_away_while_it_waits(bool with_database)
{
    char path[PATH_MAX];
    cr_assert_eq(mkdir(catalogue_path, 0777), 0);
    if (with_database) {
        trk_catalogue_close(open_to_add());
    }
    const int fd = open(catalogue_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    cr_assert(fd >= 0 && flock(fd, LOCK_EX) == 0);
    const struct other other = start(fd);
    cr_assert(comes_to(&other, catalogue_path), "it does not wait for who has the lock");
    snprintf(path, sizeof path, "%s/" TRK_CATALOGUE_FILE, catalogue_path);
    cr_assert_eq(unlink(path) == 0, with_database);
    snprintf(path, sizeof path, "%s/" TRK_CATALOGUE_TRACES, catalogue_path);
    (void)rmdir(path);
    cr_assert_eq(rmdir(catalogue_path), 0);
    close(fd);
    wait_until_open(&other);
    expect_added(&other);
    expect_stored();
}

Test(catalogue, who_waits_for_a_folder_that_is_gone_makes_another)
{
    take_away_while_it_waits(false);
}

Test(catalogue, who_waits_for_a_database_that_is_gone_makes_another)
{
    take_away_while_it_waits(true);
}
