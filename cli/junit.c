#include "junit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "json_out.h"

void trk_junit_text(FILE *out, const char *text, size_t length)
{
    char clean[2048], cut[1024];
    snprintf(cut, sizeof cut, "%.*s", (int)length, text);
    trk_json_out_utf8(cut, clean, sizeof clean);
    for (const char *at = clean; *at != '\0'; at++) {
        switch (*at) {
        case '&':
            fputs("&amp;", out);
            break;
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        case '"':
            fputs("&quot;", out);
            break;
        default:
            putc((unsigned char)*at < 0x20 ? '?' : *at, out);
            break;
        }
    }
}

static void put_failure(FILE *out, const struct trk_scenario_report *report)
{
    fputs("<failure message=\"", out);
    trk_junit_text(out, report->verdict, strlen(report->verdict));
    fputs(", expected ", out);
    trk_junit_text(out, report->expected, strlen(report->expected));
    if (strcmp(report->verdict, report->expected) == 0) {
        fputs(", but ", out);
        trk_junit_text(out, report->text, strlen(report->text));
    }
    fputs("\">", out);
    if (report->thread[0] != '\0') {
        fputs("thread ", out);
        trk_junit_text(out, report->thread, strlen(report->thread));
        fprintf(out, ", operation %u: ", report->operation);
        trk_junit_text(out, report->operation_text, strlen(report->operation_text));
        putc('\n', out);
    }
    trk_junit_text(out, report->text, strlen(report->text));
    fputs("</failure>", out);
}

static void put_case(FILE *out, const struct trk_scenario_file *file)
{
    const char *slash = strrchr(file->path, '/');
    const char *name = slash != NULL ? slash + 1 : file->path;
    size_t folder = slash != NULL ? (size_t)(slash - file->path) : 0;
    fputs("  <testcase classname=\"", out);
    trk_junit_text(out, folder > 0 ? file->path : ".", folder > 0 ? folder : 1);
    fputs("\" name=\"", out);
    trk_junit_text(out, name, strlen(name));
    fputs("\">", out);
    switch (file->end) {
    case TRK_SCENARIO_FAILED:
        put_failure(out, &file->report);
        break;
    case TRK_SCENARIO_REFUSED:
        fputs("<skipped message=\"", out);
        trk_junit_text(out, file->needs, strlen(file->needs));
        fputs("\"/>", out);
        break;
    case TRK_SCENARIO_BROKEN:
    case TRK_SCENARIO_CRASHED:
        fputs("<error message=\"", out);
        trk_junit_text(out, file->fault.where, strlen(file->fault.where));
        fputs(file->fault.where[0] != '\0' ? ": " : "", out);
        trk_junit_text(out, file->fault.text, strlen(file->fault.text));
        fputs("\"/>", out);
        break;
    default:
        break;
    }
    fputs("</testcase>\n", out);
}

static void put_suite(FILE *out, const struct trk_scenario_files *files)
{
    fprintf(out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<testsuite name=\"trk sim\" tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" "
            "skipped=\"%zu\">\n",
            files->count, files->ends[TRK_SCENARIO_FAILED],
            files->ends[TRK_SCENARIO_BROKEN] + files->ends[TRK_SCENARIO_CRASHED],
            files->ends[TRK_SCENARIO_REFUSED]);
    for (size_t i = 0; i < files->count; i++) {
        put_case(out, &files->files[i]);
    }
    fputs("</testsuite>\n", out);
}

enum trk_status trk_junit_write(const struct trk_scenario_files *files, int fd,
                                struct trk_error *error)
{
    int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    FILE *out = own >= 0 ? fdopen(own, "w") : NULL;
    bool bad = out == NULL;
    if (out != NULL) {
        put_suite(out, files);
        bad = ferror(out) != 0;
        bad |= fclose(out) != 0;
    }
    if (!bad)
        return TRK_OK;
    int reason = errno != 0 ? errno : EIO;
    return trk_error_set_errno(error, TRK_E_SYSTEM, reason, "%s", "");
}
