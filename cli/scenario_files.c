#include "scenario_files.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "command.h"
#include "jobs.h"
#include "progress.h"
#include "simulator/core.h"

/* Folders below folders; deeper ones are a loop or no test suite. */
#define DEPTH_MOST 32

static bool ends_in_json(const char *path)
{
    size_t length = strlen(path);
    return length > 5 && strcmp(path + length - 5, ".json") == 0;
}

bool trk_scenario_files_named(const char *path)
{
    struct stat stat_of;
    if (strcmp(path, "-") == 0 || stat(path, &stat_of) != 0) {
        return false;
    }
    return S_ISDIR(stat_of.st_mode) || ends_in_json(path);
}

/* ---- listing --------------------------------------------------------------------------------- */

static enum trk_status system_error(struct trk_error *error, const char *path)
{
    return trk_error_set_errno(error, TRK_E_SYSTEM, errno, "%.80s", path);
}

static enum trk_status add(struct trk_scenario_files *files, const char *path,
                           struct trk_error *error)
{
    if (files->count == TRK_SCENARIO_FILES_MOST) {
        return trk_error_set(error, TRK_E_ARGUMENT, "more than %u scenario files",
                             TRK_SCENARIO_FILES_MOST);
    }
    if (files->count == files->capacity) {
        size_t capacity = files->capacity == 0 ? 64 : files->capacity * 2;
        struct trk_scenario_file *larger = realloc(files->files, capacity * sizeof *larger);
        if (larger == NULL) {
            return trk_error_set(error, TRK_E_MEMORY, "no memory for the list of files");
        }
        files->files = larger;
        files->capacity = capacity;
    }
    struct trk_scenario_file *file = &files->files[files->count];
    memset(file, 0, sizeof *file);
    file->path = strdup(path);
    if (file->path == NULL) {
        return trk_error_set(error, TRK_E_MEMORY, "no memory for the list of files");
    }
    files->count++;
    return TRK_OK;
}

static enum trk_status list(struct trk_scenario_files *files, const char *folder, unsigned depth,
                            struct trk_error *error);

static enum trk_status list_one(struct trk_scenario_files *files, const char *path, unsigned depth,
                                struct trk_error *error)
{
    struct stat stat_of;
    if (lstat(path, &stat_of) != 0) {
        return system_error(error, path);
    }
    if (S_ISDIR(stat_of.st_mode)) {
        return depth < DEPTH_MOST
                   ? list(files, path, depth + 1, error)
                   : trk_error_set(error, TRK_E_ARGUMENT, "%.80s: folders deeper than %d", path,
                                   DEPTH_MOST);
    }
    return ends_in_json(path) ? add(files, path, error) : TRK_OK;
}

static enum trk_status list(struct trk_scenario_files *files, const char *folder, unsigned depth,
                            struct trk_error *error)
{
    DIR *stream = opendir(folder);
    if (stream == NULL) {
        return system_error(error, folder);
    }
    enum trk_status status = TRK_OK;
    size_t length = strlen(folder);
    const char *slash = length > 0 && folder[length - 1] == '/' ? "" : "/";
    for (struct dirent *entry = readdir(stream); entry != NULL && status == TRK_OK;
         entry = readdir(stream)) {
        char path[PATH_MAX];
        if (entry->d_name[0] == '.') {
            continue;
        }
        int size = snprintf(path, sizeof path, "%s%s%s", folder, slash, entry->d_name);
        if (size < 0 || (size_t)size >= sizeof path) {
            status = trk_error_set(error, TRK_E_ARGUMENT, "%.80s: a path too long", folder);
        } else {
            status = list_one(files, path, depth, error);
        }
    }
    closedir(stream);
    return status;
}

static int by_path(const void *a, const void *b)
{
    const struct trk_scenario_file *one = a, *other = b;
    return strcmp(one->path, other->path);
}

/* ---- running --------------------------------------------------------------------------------- */

/* An order that passes, for a report that is shown. */
static enum trk_status look_beside(struct trk_scenario_file *file,
                                   const struct trk_scenario *scenario)
{
    const struct trk_scenario_report *report = &file->report;
    struct trk_scenario_fault fault;
    if (report->schedule[0] == '\0' || strcmp(report->verdict, "ok") == 0) {
        return TRK_OK;
    }
    return trk_scenario_nearest(scenario, report->schedule, &file->passing, &fault);
}

/* Others in a folder nobody named: reading a pipe waits for a writer, a device may never end. */
static bool is_regular(const char *path)
{
    struct stat stat_of;
    return stat(path, &stat_of) != 0 || S_ISREG(stat_of.st_mode); /* absent: reading it tells */
}

/*
 * Make it one of the tracker's own larger pages, where it takes no smaller ones and has what the
 * scenario needs else. What cannot be made so stays, and is refused for its pages.
 */
static enum trk_status scale(struct trk_scenario_file *file, struct trk_scenario *scenario)
{
    uint32_t page_size_bytes = trk_core_page_size(scenario);
    if (page_size_bytes == trk_scenario_policy(scenario)->page_size_bytes) {
        return TRK_OK;
    }
    enum trk_status status = trk_scenario_scale(scenario, page_size_bytes, &file->unscaled);
    file->scaled_bytes = status == TRK_OK ? page_size_bytes : 0;
    return status == TRK_E_UNSUPPORTED ? TRK_OK : status;
}

static enum trk_status run_here(struct trk_scenario_file *file,
                                const struct trk_scenario_asked *asked, struct trk_error *error)
{
    struct trk_scenario *scenario = NULL;
    if (asked->folder && file->json == NULL && !is_regular(file->path)) {
        file->end = TRK_SCENARIO_BROKEN;
        snprintf(file->fault.text, sizeof file->fault.text, "no regular file, so it is not read");
        return TRK_OK;
    }
    enum trk_status status = file->json != NULL
                                 ? trk_scenario_parse(&scenario, (const char *)file->json,
                                                      file->size_bytes, &file->fault)
                                 : trk_scenario_load(&scenario, file->path, &file->fault);
    if (status == TRK_E_ARGUMENT || status == TRK_E_SYSTEM) {
        file->end = TRK_SCENARIO_BROKEN;
        return TRK_OK;
    }
    if (status != TRK_OK) {
        return trk_error_set(error, status, "%.80s: no memory", file->path);
    }
    snprintf(file->name, sizeof file->name, "%s", trk_scenario_name(scenario));
    status = asked->scale ? scale(file, scenario) : TRK_OK;
    file->policy = *trk_scenario_policy(scenario);
    const char *needs = trk_scenario_needs(scenario);
    if (needs == NULL) {
        needs = trk_core_lacks(scenario);
    }
    if (status == TRK_OK && needs == NULL && asked->scale) {
        status = trk_core_differs(scenario, &asked->options, &needs);
    }
    if (status != TRK_OK) {
        trk_scenario_destroy(scenario);
        return trk_error_set(error, status, "%.80s: no memory", file->path);
    }
    if (needs != NULL) {
        file->end = TRK_SCENARIO_REFUSED;
        snprintf(file->needs, sizeof file->needs, "%s", needs);
    } else {
        status = asked->schedule != NULL
                     ? trk_scenario_replay(scenario, asked->schedule, &file->report, &file->fault)
                     : trk_scenario_run_with(scenario, &asked->options, &file->report);
        file->end = file->report.held ? TRK_SCENARIO_HELD : TRK_SCENARIO_FAILED;
        if (status == TRK_OK && !asked->brief &&
            (!asked->folder || file->end == TRK_SCENARIO_FAILED)) {
            status = look_beside(file, scenario);
        }
    }
    trk_scenario_destroy(scenario);
    if (status == TRK_E_ARGUMENT && asked->schedule != NULL) { /* the file is good */
        return trk_error_set(error, status, "--schedule: %s", file->fault.text);
    }
    return status == TRK_OK
               ? TRK_OK
               : trk_error_set(error, status, "%.80s: %s", file->path, trk_status_name(status));
}

/* A run in a plug-in's process: what it gives. */
struct apart {
    struct trk_scenario_file file;
    enum trk_status status;
    struct trk_error error;
};

static void run_apart(void *out, const void *context)
{
    struct apart *apart = out;
    trk_progress_stop(); /* of the files whoever asked for them tells */
    apart->status = run_here(&apart->file, context, &apart->error);
    const char *complaint = trk_core_complaint();
    /* The other cases go on. */
    if ((apart->status != TRK_OK || trk_core_misused()) && complaint != NULL) {
        apart->file.end = TRK_SCENARIO_CRASHED;
        snprintf(apart->file.fault.text, sizeof apart->file.fault.text, "the core %.60s: %s",
                 apart->file.core->core, complaint);
    }
}

static const char *name_of(const void *file)
{
    return ((const struct trk_scenario_file *)file)->path;
}

static enum trk_status run_one(void *item, const void *context, struct trk_error *error)
{
    struct trk_scenario_file *file = item;
    const struct trk_scenario_asked *asked = context;
    if (asked->core.core == NULL) {
        return run_here(file, asked, error);
    }
    file->core = &asked->core;
    struct apart apart = {.file = *file, .error = *error};
    enum trk_status status =
        trk_contained_run(&asked->core, run_apart, asked, &apart, sizeof apart, error);
    if (status == TRK_E_INCOMPLETE) {
        file->end = TRK_SCENARIO_CRASHED;
        file->slow = trk_contained_slow(error);
        snprintf(file->fault.text, sizeof file->fault.text, "%s", error->text);
        return TRK_OK;
    }
    if (status != TRK_OK) {
        return status;
    }
    *file = apart.file;
    *error = apart.error;
    return file->end == TRK_SCENARIO_CRASHED ? TRK_OK : apart.status;
}

static enum trk_status run_all(struct trk_scenario_files *files,
                               const struct trk_scenario_asked *asked, struct trk_error *error)
{
    qsort(files->files, files->count, sizeof *files->files, by_path);
    files->asked = *asked;
    files->asked.folder = files->folder;
    files->core.inside = true;
    enum trk_status status = TRK_OK;
    if (asked->core.core != NULL) {
        status = trk_contained_probe(&asked->core, &files->core, error);
    }
    if (status == TRK_OK) {
        const struct trk_jobs jobs = {
            files->files, sizeof *files->files, files->count, asked->jobs != 0 ? asked->jobs : 1,
            run_one,      &files->asked,        name_of,      "scenarios"};
        status = trk_jobs_run(&jobs, error);
    }
    for (size_t i = 0; i < files->count && status == TRK_OK; i++) {
        files->ends[files->files[i].end]++;
    }
    return status;
}

enum trk_status trk_scenario_files_run(struct trk_scenario_files *out, const char *path,
                                       const struct trk_scenario_asked *asked,
                                       struct trk_error *error)
{
    struct stat stat_of;
    memset(out, 0, sizeof *out);
    if (stat(path, &stat_of) != 0) {
        return system_error(error, path);
    }
    out->folder = S_ISDIR(stat_of.st_mode);
    if (out->folder && asked->schedule != NULL) {
        return trk_error_set(error, TRK_E_ARGUMENT, "--schedule goes with one scenario file");
    }
    enum trk_status status = out->folder ? list(out, path, 0, error) : add(out, path, error);
    if (status != TRK_OK) {
        return status;
    }
    if (out->count == 0) {
        return trk_error_set(error, TRK_E_ARGUMENT, "no scenario files (*.json) below it");
    }
    return run_all(out, asked, error);
}

enum trk_status trk_scenario_files_add(struct trk_scenario_files *files, const char *path,
                                       const unsigned char *json, size_t size_bytes,
                                       struct trk_error *error)
{
    enum trk_status status = add(files, path, error);
    if (status == TRK_OK) {
        files->files[files->count - 1].json = json;
        files->files[files->count - 1].size_bytes = size_bytes;
    }
    return status;
}

enum trk_status trk_scenario_files_run_added(struct trk_scenario_files *files,
                                             const struct trk_scenario_asked *asked,
                                             struct trk_error *error)
{
    files->folder = true;
    return run_all(files, asked, error);
}

void trk_scenario_files_destroy(struct trk_scenario_files *files)
{
    for (size_t i = 0; i < files->count; i++) {
        free(files->files[i].path);
    }
    free(files->files);
}

const char *trk_scenario_end_name(enum trk_scenario_end end)
{
    static const char *const names[TRK_SCENARIO_END_COUNT] = {
        [TRK_SCENARIO_HELD] = "held",       [TRK_SCENARIO_FAILED] = "failed",
        [TRK_SCENARIO_REFUSED] = "refused", [TRK_SCENARIO_BROKEN] = "broken",
        [TRK_SCENARIO_CRASHED] = "crashed",
    };
    return names[end];
}

int trk_scenario_files_exit_code(const struct trk_scenario_files *files)
{
    if (files->ends[TRK_SCENARIO_FAILED] + files->ends[TRK_SCENARIO_CRASHED] > 0) {
        return TRK_EXIT_BROKEN;
    }
    if (files->ends[TRK_SCENARIO_BROKEN] > 0) {
        return TRK_EXIT_USAGE;
    }
    return files->ends[TRK_SCENARIO_REFUSED] > 0 ? TRK_EXIT_ENVIRONMENT : TRK_EXIT_OK;
}
