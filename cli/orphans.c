#define _GNU_SOURCE
#include "orphans.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS_MOST 64u /* generations that are ended; one that may not be stays */

static bool is_among(const struct trk_orphans *children, pid_t pid)
{
    for (size_t i = 0; i < children->count; i++) {
        if (children->pids[i] == pid) {
            return true;
        }
    }
    return false;
}

/* The parent of a process; 0: it is gone. */
static pid_t parent_of(const char *pid)
{
    char path[64], line[512];
    int parent = 0;
    snprintf(path, sizeof path, "/proc/%.20s/stat", pid);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return 0;
    }
    /* Its name stands in brackets, and may have any in it. */
    const char *behind = fgets(line, sizeof line, file) != NULL ? strrchr(line, ')') : NULL;
    if (behind == NULL || sscanf(behind, ") %*c %d", &parent) != 1) {
        parent = 0;
    }
    fclose(file);
    return parent;
}

/* The children of this process that are not among those known; as many as there is room for. */
static void find_children(struct trk_orphans *out, const struct trk_orphans *known)
{
    siginfo_t what = {.si_pid = 0};
    out->count = 0;
    if (waitid(P_ALL, 0, &what, WEXITED | WNOHANG | WNOWAIT) != 0 && errno == ECHILD) {
        return;
    }
    DIR *stream = opendir("/proc");
    if (stream == NULL) {
        return;
    }
    for (const struct dirent *entry = readdir(stream); entry != NULL; entry = readdir(stream)) {
        bool number = entry->d_name[0] >= '1' && entry->d_name[0] <= '9';
        pid_t pid = number ? (pid_t)strtol(entry->d_name, NULL, 10) : 0;
        if (number && out->count < TRK_ORPHANS_MOST && parent_of(entry->d_name) == getpid() &&
            (known == NULL || !is_among(known, pid))) {
            out->pids[out->count++] = pid;
        }
    }
    closedir(stream);
}

void trk_orphans_begin(struct trk_orphans *known)
{
    find_children(known, NULL);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
}

void trk_orphans_end(const struct trk_orphans *known)
{
    struct trk_orphans orphans;
    find_children(&orphans, known);
    for (unsigned round = 0; round < ROUNDS_MOST && orphans.count > 0; round++) {
        for (size_t i = 0; i < orphans.count; i++) {
            while (kill(orphans.pids[i], SIGKILL) == 0 && waitpid(orphans.pids[i], NULL, 0) < 0 &&
                   errno == EINTR) {
            }
        }
        find_children(&orphans, known);
    }
    (void)prctl(PR_SET_CHILD_SUBREAPER, 0);
}
