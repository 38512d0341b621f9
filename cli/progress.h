/*
 * How far a command has come, on standard error: a bar for people, lines for programs.
 *
 * There is one bar, since there is one standard error. Work tells of each of its units; less than
 * that is shown. Messages of trk_terminal_say take the bar away first.
 */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include "options.h"
#include "recorder/trace.h"

#define TRK_PROGRESS_SCHEMA "trk-progress/1"

/* The option --progress of a table. */
#define TRK_PROGRESS_OPTION                                                                        \
    {                                                                                              \
        .name = "progress", .kind = TRK_OPTION_CHOICE, .value = "HOW",                             \
        .choices = "auto|always|never|json", .fallback = "auto",                                   \
        .about = "Show on standard error how far it has come: auto, a bar if that is a terminal; " \
                 "json, lines, schema " TRK_PROGRESS_SCHEMA "."                                    \
    }

struct trk_progress {
    const char *unit;     /* what is counted: "events" */
    uint64_t done, total; /* total 0: not known */
    const char *text;     /* behind the bar; NULL: the numbers and the unit */
    const char *json;     /* further members of the line, each behind a comma; NULL: none */
    bool step;            /* has a line of its own, however soon it comes */
};

/* Decide by the option, if the command has it, and by where standard error goes. Before it, and
 * without the option, nothing is shown. */
void trk_progress_open(const struct trk_options *options);

/* Whether anything is shown: for work that would have to count. */
bool trk_progress_is_shown(void);

/* What there is now; fewer of a unit than before is another pass. Costs a look at the clock. */
void trk_progress_show(const struct trk_progress *now);

/* Take the bar away, before something is printed. */
void trk_progress_wipe(void);

/* No more of it in this process: another one tells. */
void trk_progress_stop(void);

/* Who tells how far reading a trace has come. */
struct trk_trace_watch trk_progress_of_trace(void);

#endif
