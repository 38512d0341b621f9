#include "explore_export.h"

#include <string.h>
#include <sys/stat.h>

#include "out_file.h"
#include "terminal.h"

/* Whether it can be written, before the search: an exit code. A pipe's reader would take it for the
 * end if that were opened. */
int trk_explore_export_check(const struct trk_options *options)
{
    struct trk_out_file out;
    struct stat there;
    const char *path = trk_options_text(options, "export");
    const bool overwrite = trk_options_flag(options, "force");
    if (path == NULL || (overwrite && stat(path, &there) == 0 && !S_ISREG(there.st_mode) &&
                         !S_ISDIR(there.st_mode))) {
        return TRK_EXIT_OK;
    }
    int code = trk_out_file_open_at(&out, path, overwrite, options);
    trk_out_file_close(&out);
    return code;
}

static int write_script(const struct trk_options *options, const char *script)
{
    struct trk_out_file out;
    const char *path = trk_options_text(options, "export");
    int code = trk_out_file_open_at(&out, path, trk_options_flag(options, "force"), options);
    if (code != TRK_EXIT_OK) {
        return code;
    }
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    if (trk_out_file_write(&out, script, strlen(script), &error) != TRK_OK) {
        trk_out_file_close(&out);
        return trk_terminal_error("explore", path, &error);
    }
    return trk_out_file_keep(&out, options);
}

int trk_explore_export(const struct trk_options *options, const struct trk_explore_report *report,
                       int code)
{
    const char *path = trk_options_text(options, "export");
    const char *script = report->script;
    if (path == NULL) {
        return code;
    }
    /* Where it was ended by force and nothing is found, what it was about to try is the finding. */
    if (script == NULL || (report->finding_count == 0 && report->trying != NULL)) {
        script = report->trying;
    }
    if (script == NULL) {
        trk_terminal_say("explore", "no window to export: %s is not written", path);
        return code;
    }
    if (script == report->trying) {
        trk_terminal_say("explore", "%s has the window that was being tried", path);
    }
    int written = write_script(options, script);
    return written == TRK_EXIT_OK ? code : written;
}
