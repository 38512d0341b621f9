/* What a regression came to, as JUnit XML. There are no times in it. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include "junit.h"
#include "regress.h"

static void put(FILE *out, const char *text)
{
    trk_junit_text(out, text, strlen(text));
}

static void put_failure(FILE *out, const struct trk_regress_item *item)
{
    const struct trk_regress_outcome *which;
    uint64_t event = trk_regress_first(item, &which);
    fputs("<failure message=\"", out);
    put(out, item->why);
    fputs("\">", out);
    if (event != TRK_NOT_KNOWN) {
        fprintf(out, "%s %s: %" PRIu64 ", thread ",
                trk_regress_unchanged(item) ? "broken at" : "first changed",
                item->scenario ? "operation" : "event", event);
        put(out, which->thread);
        fputs(": ", out);
        put(out, which->event);
        putc('\n', out);
    }
    put(out, which->text);
    fputs("</failure>", out);
}

static void put_case(FILE *out, const struct trk_regress_item *item)
{
    fprintf(out, "  <testcase classname=\"trk.regress.%s\" name=\"",
            item->scenario ? "scenario" : "trace");
    put(out, item->name);
    fputs("\">", out);
    switch (item->end) {
    case TRK_REGRESS_FAIL:
    case TRK_REGRESS_CHANGED:
        put_failure(out, item);
        break;
    case TRK_REGRESS_LEFT_OUT:
        fputs("<skipped message=\"", out);
        put(out, item->why);
        fputs("\"/>", out);
        break;
    case TRK_REGRESS_UNSTABLE:
    case TRK_REGRESS_UNREADABLE:
        fputs("<error message=\"", out);
        put(out, item->why);
        fputs("\"/>", out);
        break;
    default:
        break;
    }
    fputs("</testcase>\n", out);
}

enum trk_status trk_regress_junit(const struct trk_regress *regress, int fd,
                                  struct trk_error *error)
{
    int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    FILE *out = own >= 0 ? fdopen(own, "w") : NULL;
    if (out == NULL) {
        return trk_error_set_errno(error, TRK_E_SYSTEM, errno, "%s", "");
    }
    fprintf(out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<testsuite name=\"trk regress\" tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" "
            "skipped=\"%zu\">\n",
            regress->count, regress->ends[TRK_REGRESS_FAIL] + regress->ends[TRK_REGRESS_CHANGED],
            regress->ends[TRK_REGRESS_UNSTABLE] + regress->ends[TRK_REGRESS_UNREADABLE],
            regress->ends[TRK_REGRESS_LEFT_OUT]);
    for (size_t i = 0; i < regress->count; i++) {
        put_case(out, &regress->items[i]);
    }
    fputs("</testsuite>\n", out);
    bool bad = ferror(out) != 0;
    bad |= fclose(out) != 0;
    return bad ? trk_error_set_errno(error, TRK_E_SYSTEM, errno != 0 ? errno : EIO, "%s", "")
               : TRK_OK;
}
