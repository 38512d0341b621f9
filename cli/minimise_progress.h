/*
 * How far minimising has come, on standard error: a bar for people, lines for programs.
 */
#ifndef CLI_MINIMISE_PROGRESS_H
#define CLI_MINIMISE_PROGRESS_H

#include "options.h"
#include "simulator/minimise.h"

#define TRK_PROGRESS_SCHEMA "trk-progress/1"

struct trk_minimise_progress {
    bool bar, lines;               /* at most one of them; none: nothing is shown */
    struct trk_minimise_size size; /* last shown */
    uint64_t shown_ns;             /* when; 0: nothing was */
    int width;                     /* of the bar, in characters */
};

/* The option --progress of a table. */
#define TRK_MINIMISE_PROGRESS_OPTION                                                               \
    {                                                                                              \
        .name = "progress", .kind = TRK_OPTION_CHOICE, .value = "HOW",                             \
        .choices = "auto|always|never|json", .fallback = "auto",                                   \
        .about = "Show on standard error how far it has come: auto, a bar if that is a terminal; " \
                 "json, a line at each step, schema " TRK_PROGRESS_SCHEMA "."                      \
    }

/* Decide by --progress, and by where standard error goes. */
void trk_minimise_progress_open(struct trk_minimise_progress *progress,
                                const struct trk_options *options);
/* What there is now: not more often than can be seen. */
void trk_minimise_progress_show(struct trk_minimise_progress *progress,
                                const struct trk_minimise_report *so_far);
/* Wipe the bar away. */
void trk_minimise_progress_close(struct trk_minimise_progress *progress);

#endif
