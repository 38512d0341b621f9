#include "progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"

#define CELLS 24u
#define UNITS 4u /* that one command counts */
/* Between two pictures, and between two lines that are no steps. */
#define PICTURE_NS UINT64_C(50000000)
#define LINE_NS    UINT64_C(250000000)
/* A command that ends sooner shows no bar. */
#define QUIET_NS UINT64_C(300000000)

/* What was told of a unit. */
struct counted {
    char unit[24];
    uint64_t done;
    uint64_t pass; /* from 1 on; 0: a place that is free */
    bool full;     /* the last that was told was all of it */
};

static struct {
    bool bar, lines; /* at most one of them; none: nothing is shown */
    bool always;     /* however short the work is */
    const char *command;
    struct counted units[UNITS];
    uint64_t next_ns; /* before, only what must be shown is */
    int width;        /* of the bar, in characters: the widest since it was taken away */
} shown;

static bool has_option(const struct trk_command *command)
{
    const struct trk_option *option = command->options;
    while (option != NULL && option->name != NULL && strcmp(option->name, "progress") != 0) {
        option++;
    }
    return option != NULL && option->name != NULL;
}

void trk_progress_open(const struct trk_options *options)
{
    if (!has_option(options->command)) {
        return;
    }
    const char *how = trk_options_text(options, "progress"), *term = getenv("TERM");
    bool terminal = isatty(STDERR_FILENO) == 1 && term != NULL && strcmp(term, "dumb") != 0;
    shown.always = strcmp(how, "always") == 0;
    shown.bar = shown.always || (strcmp(how, "auto") == 0 && terminal);
    shown.lines = strcmp(how, "json") == 0;
    shown.command = options->command->name;
    shown.next_ns = trk_clock_ns() + QUIET_NS;
}

bool trk_progress_is_shown(void)
{
    return shown.bar || shown.lines;
}

void trk_progress_stop(void)
{
    shown.bar = false;
    shown.lines = false;
    shown.width = 0;
}

void trk_progress_wipe(void)
{
    if (shown.width > 0) {
        fprintf(stderr, "\r%*s\r", shown.width, "");
        fflush(stderr);
    }
    shown.width = 0;
}

static void put_line(const struct trk_progress *now, uint64_t pass)
{
    char total[24] = "null";
    if (now->total > 0) {
        snprintf(total, sizeof total, "%" PRIu64, now->total);
    }
    fprintf(stderr,
            "{\"schema\": \"" TRK_PROGRESS_SCHEMA "\", \"command\": \"%s\", \"unit\": \"%s\", "
            "\"pass\": %" PRIu64 ", \"done\": %" PRIu64 ", \"total\": %s%s}\n",
            shown.command, now->unit, pass, now->done, total, now->json != NULL ? now->json : "");
}

static void put_bar(const struct trk_progress *now)
{
    char cells[CELLS + 1] = "", numbers[80];
    const char *text = now->text != NULL ? now->text : numbers;
    uint64_t done = now->done < now->total ? now->done : now->total;
    if (now->total > 0) {
        memset(cells, '.', CELLS);
        memset(cells, '#', (size_t)((double)CELLS * (double)done / (double)now->total));
        snprintf(numbers, sizeof numbers, "%" PRIu64 " of %" PRIu64 " %s", now->done, now->total,
                 now->unit);
    } else {
        snprintf(numbers, sizeof numbers, "%" PRIu64 " %s", now->done, now->unit);
    }
    int width = (int)(strlen(text) + (cells[0] != '\0' ? CELLS + 3 : 0));
    /* Blanks over what a longer one has left. */
    fprintf(stderr, cells[0] != '\0' ? "\r[%s] %s%*s" : "\r%s%s%*s", cells, text,
            shown.width > width ? shown.width - width : 0, "");
    fflush(stderr);
    shown.width = width > shown.width ? width : shown.width;
}

/* What is counted of a unit; one too many shares the last place. */
static struct counted *counted_of(const char *unit)
{
    size_t at = 0;
    while (at < UNITS - 1 && shown.units[at].pass > 0 && strcmp(shown.units[at].unit, unit) != 0) {
        at++;
    }
    snprintf(shown.units[at].unit, sizeof shown.units[at].unit, "%s", unit);
    return &shown.units[at];
}

void trk_progress_show(const struct trk_progress *now)
{
    if (!shown.bar && !shown.lines) {
        return;
    }
    struct counted *counted = counted_of(now->unit);
    bool full = now->total > 0 && now->done >= now->total;
    bool begins = counted->pass == 0 || now->done < counted->done;
    bool ends = full && (begins || !counted->full);
    counted->pass += begins;
    counted->done = now->done;
    counted->full = full;
    const uint64_t now_ns = trk_clock_ns();
    bool must = shown.lines    ? begins || ends || now->step
                : shown.always ? begins || ends
                               : now->step && shown.width == 0;
    if (now_ns < shown.next_ns && !must) {
        return;
    }
    shown.next_ns = now_ns + (shown.lines ? LINE_NS : PICTURE_NS);
    if (shown.lines) {
        put_line(now, counted->pass);
    } else {
        put_bar(now);
    }
}

static void on_read(void *context, const struct trk_trace_progress *progress)
{
    (void)context;
    trk_progress_show(&(struct trk_progress){.unit = progress->scanning ? "bytes" : "events",
                                             .done = progress->done,
                                             .total = progress->total});
}

struct trk_trace_watch trk_progress_of_trace(void)
{
    return (struct trk_trace_watch){.fn = trk_progress_is_shown() ? on_read : NULL};
}
