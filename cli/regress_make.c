/* The traces of a manifest, recorded again. */
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "command.h"
#include "regress.h"
#include "scratch.h"
#include "spawn.h"
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
static int make_one(struct trk_manifest_entry *entry, const struct trk_scratch *out,
                    unsigned limit_s)
{
    char path[PATH_MAX];
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    trk_scratch_file(out, entry->file, path);
    const char *const words[] = {"/bin/sh", "-c", entry->command, NULL};
    const struct trk_spawn spawn = {
        .command = "regress", .argv = words, .until_ns = trk_clock_ns_in(limit_s)};
    struct stat about;
    int end = setenv("OUT", path, 1) == 0 ? trk_spawn_run(&spawn) : -1;
    if (end == TRK_SPAWN_ENDED) {
        trk_terminal_say("regress", "%s: its command took longer than %u s and was ended: %s",
                         entry->file, limit_s, entry->command);
        return TRK_EXIT_ENVIRONMENT;
    }
    if (end == -1 || stat(path, &about) != 0) {
        trk_terminal_say("regress", "%s: its command made no trace: %s", entry->file,
                         entry->command);
        return TRK_EXIT_ENVIRONMENT;
    }
    if (trk_content_name(path, entry->hash, &entry->bytes, &error) != TRK_OK) {
        return trk_terminal_error("regress", path, &error);
    }
    return TRK_EXIT_OK;
}

/* All of them, in a folder that gets its name when they are there. */
static int make_all(struct trk_manifest *manifest, const char *out, unsigned limit_s)
{
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    struct trk_scratch folder;
    int code = trk_scratch_open(&folder, "regress", out);
    for (size_t i = 0; i < manifest->count && code == TRK_EXIT_OK; i++) {
        code = make_one(&manifest->entries[i], &folder, limit_s);
    }
    if (code == TRK_EXIT_OK && trk_manifest_save(manifest, folder.path, &error) != TRK_OK) {
        code = trk_terminal_error("regress", out, &error);
    }
    int reason = code == TRK_EXIT_OK ? trk_scratch_keep(&folder, out) : 0;
    if (reason != 0) {
        (void)trk_error_set_errno(&error, reason == EEXIST ? TRK_E_EXISTS : TRK_E_SYSTEM, reason,
                                  "a new folder is wanted");
        code = trk_terminal_error("regress", out, &error);
    }
    trk_scratch_close(&folder);
    return code;
}

int trk_regress_make(const char *folder, const char *out, unsigned limit_s)
{
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    struct trk_manifest manifest;
    struct stat about;
    int code = TRK_EXIT_OK;
    if (trk_manifest_load(folder, &manifest, &error) != TRK_OK) {
        code = trk_terminal_error("regress", folder, &error);
    } else if (manifest.count == 0) {
        trk_terminal_say("regress", "%s: no " TRK_MANIFEST_FILE " with commands to run", folder);
        code = TRK_EXIT_USAGE;
    } else if (lstat(out, &about) == 0) {
        (void)trk_error_set_errno(&error, TRK_E_EXISTS, EEXIST, "a new folder is wanted");
        code = trk_terminal_error("regress", out, &error);
    } else if (!set_path()) {
        trk_terminal_say("regress", "PATH cannot be set: %s", strerror(errno));
        code = TRK_EXIT_ENVIRONMENT;
    } else {
        code = make_all(&manifest, out, limit_s);
    }
    trk_manifest_free(&manifest);
    return code;
}
