/* Random scenarios, one after the other. */
#include "fuzz_case.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "out_file.h"
#include "progress.h"

/*
 * A schedule that has not ended by then never will: the longest that seeds have shown yet took a
 * few thousand steps.
 */
#define SCHEDULE_STEPS UINT64_C(1000000)

/* FNV-1a: nobody tries to make two alike. */
static void digest_bytes(uint64_t *digest, const void *bytes, size_t size_bytes)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < size_bytes; i++) {
        *digest = (*digest ^ at[i]) * UINT64_C(0x100000001b3);
    }
}

static void digest_number(uint64_t *digest, uint64_t number)
{
    for (uint32_t i = 0; i < 8; i++) {
        unsigned char byte = (unsigned char)(number >> i * 8);
        digest_bytes(digest, &byte, 1);
    }
}

/* ---- a program that failed ------------------------------------------------------------------- */

static enum trk_status file_failed(struct trk_error *error, const char *path, int reason)
{
    return trk_error_set_errno(error, reason == EEXIST ? TRK_E_EXISTS : TRK_E_SYSTEM, reason,
                               "%.80s", path);
}

enum trk_status trk_fuzz_folder_check(const struct trk_fuzz *fuzz, struct trk_error *error)
{
    struct stat there;
    if (fuzz->folder == NULL) {
        return TRK_OK;
    }
    if (stat(fuzz->folder, &there) == 0) {
        int reason = !S_ISDIR(there.st_mode)                  ? ENOTDIR
                     : access(fuzz->folder, W_OK | X_OK) != 0 ? errno
                                                              : 0;
        return reason == 0 ? TRK_OK : file_failed(error, fuzz->folder, reason);
    }
    /* It is made for the first program that fails; whether that can be is known now. */
    if (mkdir(fuzz->folder, 0777) != 0 || rmdir(fuzz->folder) != 0) {
        return file_failed(error, fuzz->folder, errno);
    }
    return TRK_OK;
}

static enum trk_status write_program(const struct trk_fuzz *fuzz, const char *path,
                                     const char *text, size_t size_bytes, struct trk_error *error)
{
    if (mkdir(fuzz->folder, 0777) != 0 && errno != EEXIST) {
        return file_failed(error, fuzz->folder, errno);
    }
    struct trk_out_file out;
    struct trk_error reason = {.os_errno = 0};
    enum trk_status status = trk_out_file_begin(&out, path, fuzz->overwrite, &reason);
    if (status == TRK_OK) {
        status = trk_out_file_write(&out, text, size_bytes, &reason);
        if (status == TRK_OK) {
            status = trk_out_file_finish(&out, &reason);
        }
        trk_out_file_close(&out);
    }
    if (status != TRK_OK) {
        (void)trk_error_set(error, status, "%.80s: %s", path, reason.text);
        error->os_errno = reason.os_errno;
    }
    return status;
}

static enum trk_status keep_failure(struct trk_fuzz *fuzz, const struct trk_scenario_report *report,
                                    const char *text, size_t size_bytes, struct trk_error *error)
{
    struct trk_fuzz_failure failure = {.seed = fuzz->program.seed, .report = *report};
    fuzz->failed++;
    enum trk_status status = TRK_OK;
    if (fuzz->folder != NULL) {
        int length = snprintf(failure.path, sizeof failure.path, "%s/seed-%" PRIu64 ".json",
                              fuzz->folder, failure.seed);
        if (length < 0 || (size_t)length >= sizeof failure.path) {
            return file_failed(error, fuzz->folder, ENAMETOOLONG);
        }
        status = write_program(fuzz, failure.path, text, size_bytes, error);
    }
    if (fuzz->failure_count < fuzz->failures_most) {
        fuzz->failures[fuzz->failure_count++] = failure;
    }
    return status;
}

/* ---- a program ------------------------------------------------------------------------------- */

static void count(struct trk_fuzz *fuzz, const struct trk_scenario_report *report)
{
    const uint64_t numbers[] = {report->schedules, report->steps, report->operations,
                                report->faults, report->host_calls};
    fuzz->schedules += report->schedules;
    fuzz->steps_done += report->steps;
    fuzz->operations += report->operations;
    fuzz->faults += report->faults;
    fuzz->host_calls += report->host_calls;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        digest_number(&fuzz->digest, numbers[i]);
    }
    digest_bytes(&fuzz->digest, report->verdict, strlen(report->verdict));
    digest_bytes(&fuzz->digest, report->text, strlen(report->text));
    digest_bytes(&fuzz->digest, report->schedule, strlen(report->schedule));
}

/* An explored program whose schedules are more than may be run has held as far as it was run. */
static bool held(const struct trk_fuzz *fuzz, const struct trk_scenario_report *report)
{
    if (fuzz->program.careless) {
        return !report->differ;
    }
    return report->held || (fuzz->program.schedule == TRK_GENERATE_EXPLORE && !report->differ &&
                            strcmp(report->verdict, "ok") == 0);
}

static enum trk_status run_program(struct trk_fuzz *fuzz, const char *text, size_t size_bytes,
                                   struct trk_error *error)
{
    struct trk_scenario *scenario;
    struct trk_scenario_fault fault;
    struct trk_scenario_report report;
    enum trk_status status = trk_scenario_parse(&scenario, text, size_bytes, &fault);
    if (status == TRK_E_ARGUMENT) { /* a bug of the generator, shown like any other */
        report = (struct trk_scenario_report){.verdict = "no scenario", .expected = "ok"};
        snprintf(report.text, sizeof report.text, "%s: %s", fault.where, fault.text);
        return keep_failure(fuzz, &report, text, size_bytes, error);
    }
    if (status != TRK_OK) {
        return trk_error_set(error, status, "seed %" PRIu64 ": out of memory", fuzz->program.seed);
    }
    struct trk_scenario_options options = {
        .size = sizeof options,
        .steps = SCHEDULE_STEPS,
        .schedules = fuzz->program.schedule == TRK_GENERATE_EXPLORE ? fuzz->program.runs : 0,
        .engine = fuzz->engine,
        .walks = fuzz->walk ? fuzz->program.runs : 0,
        .seed = fuzz->program.seed,
    };
    status = trk_scenario_run_with(scenario, &options, &report);
    trk_scenario_destroy(scenario);
    if (status != TRK_OK) {
        return trk_error_set(error, status, "seed %" PRIu64 " cannot be run: %s",
                             fuzz->program.seed, trk_status_name(status));
    }
    fuzz->done++;
    fuzz->whole += report.interleavings[0] != '\0' && report.schedules < fuzz->program.runs;
    digest_bytes(&fuzz->digest, text, size_bytes);
    count(fuzz, &report);
    return held(fuzz, &report) ? TRK_OK : keep_failure(fuzz, &report, text, size_bytes, error);
}

/* By what ends it. */
static void tell(const struct trk_fuzz *fuzz, uint64_t programs)
{
    bool steps = fuzz->steps > 0;
    trk_progress_show(&(struct trk_progress){.unit = steps ? "steps" : "programs",
                                             .done = steps ? fuzz->steps_done : programs,
                                             .total = steps ? fuzz->steps : fuzz->runs});
}

enum trk_status trk_fuzz_run(struct trk_fuzz *fuzz, struct trk_error *error)
{
    enum trk_status status = TRK_OK;
    fuzz->digest = UINT64_C(0xcbf29ce484222325);
    for (uint64_t i = 0; status == TRK_OK && i < fuzz->runs; i++) {
        char *text;
        size_t size_bytes;
        if (fuzz->steps != 0 && fuzz->steps_done >= fuzz->steps) {
            break;
        }
        tell(fuzz, i);
        fuzz->program.seed = fuzz->first_seed + i;
        status = trk_generate_scenario(&text, &size_bytes, &fuzz->program);
        if (status != TRK_OK) {
            return trk_error_set(error, status, "out of memory");
        }
        status = run_program(fuzz, text, size_bytes, error);
        free(text);
    }
    tell(fuzz, fuzz->done);
    trk_progress_wipe();
    return status;
}
