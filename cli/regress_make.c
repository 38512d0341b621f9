/* The traces of a manifest, recorded again. */
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command.h"
#include "regress.h"
#include "terminal.h"
#include "traces/manifest.h"

/* This program comes first where commands say `trk`. */
static bool set_path(void)
{
    char self[PATH_MAX];
    const char *former = getenv("PATH");
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length <= 0) {
        return false;
    }
    self[length] = '\0';
    const char *folder = dirname(self);
    size_t size = strlen(folder) + (former != NULL ? strlen(former) : 0) + 2;
    char *path = malloc(size);
    if (path == NULL) {
        return false;
    }
    snprintf(path, size, "%s:%s", folder, former != NULL ? former : "/bin:/usr/bin");
    bool set = setenv("PATH", path, 1) == 0;
    free(path);
    return set;
}

/* Run one command; what it prints goes to standard error. An exit code. */
static int make_one(struct trk_manifest_entry *entry, const char *out)
{
    char path[PATH_MAX];
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    snprintf(path, sizeof path, "%s/%s", out, entry->file);
    int end = 0;
    pid_t pid = fork();
    if (pid == 0) {
        (void)dup2(STDERR_FILENO, STDOUT_FILENO);
        if (setenv("OUT", path, 1) == 0) {
            execl("/bin/sh", "sh", "-c", entry->command, (char *)NULL);
        }
        _exit(127);
    }
    while (pid > 0 && waitpid(pid, &end, 0) < 0 && errno == EINTR) {
    }
    struct stat about;
    if (pid < 0 || stat(path, &about) != 0) {
        trk_terminal_say("regress", "%s: its command made no trace: %s", entry->file,
                         entry->command);
        return TRK_EXIT_ENVIRONMENT;
    }
    if (trk_content_name(path, entry->hash, &entry->bytes, &error) != TRK_OK) {
        return trk_terminal_error("regress", path, &error);
    }
    return TRK_EXIT_OK;
}

int trk_regress_make(const char *folder, const char *out)
{
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    struct trk_manifest manifest;
    int code = TRK_EXIT_OK;
    if (trk_manifest_load(folder, &manifest, &error) != TRK_OK) {
        code = trk_terminal_error("regress", folder, &error);
    } else if (manifest.count == 0) {
        trk_terminal_say("regress", "%s: no " TRK_MANIFEST_FILE " with commands to run", folder);
        code = TRK_EXIT_USAGE;
    } else if (mkdir(out, 0777) != 0 || !set_path()) {
        (void)trk_error_set_errno(&error, errno == EEXIST ? TRK_E_EXISTS : TRK_E_SYSTEM, errno,
                                  "a new folder is wanted");
        code = trk_terminal_error("regress", out, &error);
    }
    for (size_t i = 0; i < manifest.count && code == TRK_EXIT_OK; i++) {
        code = make_one(&manifest.entries[i], out);
    }
    if (code == TRK_EXIT_OK && trk_manifest_save(&manifest, out, &error) != TRK_OK) {
        code = trk_terminal_error("regress", out, &error);
    }
    trk_manifest_free(&manifest);
    return code;
}
