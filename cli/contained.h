/*
 * Work with a plug-in core, in a process of its own.
 *
 * A plug-in may crash, loop or call exit(): that ends its process, and is told. What the work gives
 * and prints comes back in memory that both share. What the plug-in prints goes to standard error:
 * no thread of its, whenever started, is ever in a process that prints for trk.
 */
#ifndef CLI_CONTAINED_H
#define CLI_CONTAINED_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include "input.h"
#include "options.h"
#include "simulator/core.h"
#include "track/status.h"

/* Why work is to come to an end of its own; 0: it is not. */
enum trk_contained_stop {
    TRK_CONTAINED_LATE = 1,
    TRK_CONTAINED_INTERRUPTED, /* set by whoever asked for the work */
};

/* A plug-in to run against, and how long one piece of work may take. */
struct trk_contained {
    const char *core; /* path; NULL: the core that is built in */
    unsigned seconds;
    /* In memory that the work's process sees, too: work that can end early looks there, and has
     * time for that. NULL: it is ended when it is late. */
    volatile sig_atomic_t *stop;
};

/* How long, where nobody says. */
#define TRK_CORE_LIMIT_S 120

/* The options --core and --core-limit of a table. */
#define TRK_CONTAINED_OPTIONS                                                                      \
    {.name = "core",                                                                               \
     .kind = TRK_OPTION_TEXT,                                                                      \
     .value = "X.so",                                                                              \
     .about = "Run against the tracker in this plug-in instead of the built-in core, in a "        \
              "process of its own (simulator/core_plugin.h)."},                                    \
    {                                                                                              \
        .name = "core-limit", .kind = TRK_OPTION_NUMBER, .value = "S", .fallback = "120",          \
        .least = 1, .most = 86400,                                                                 \
        .about = "Seconds that one scenario, or one trace, may take against a plug-in."            \
    }

struct trk_contained trk_contained_asked(const struct trk_options *options);

typedef void trk_contained_fn(void *out, const void *context);

/**
 * Load the plug-in in a process, and run work there. Files that are open for reading are so there,
 * too, whatever the plug-in closes while it is loaded.
 *
 * @param out  size_bytes, given to the work as they are and taken back as it leaves them; left
 * alone unless the work came to its end.
 * @return TRK_OK; with error filled
 *         TRK_E_UNSUPPORTED  the plug-in is not to be loaded,
 *         TRK_E_INCOMPLETE   the plug-in ended the process, or took longer than it may,
 *         TRK_E_SYSTEM, TRK_E_MEMORY.
 *
 * Allocates: yes. Blocks: until the process has ended. Signal-safe: no. Threads: the process has
 * one.
 */
TRK_MUST_USE enum trk_status trk_contained_run(const struct trk_contained *contained,
                                               trk_contained_fn *work, const void *context,
                                               void *out, size_t size_bytes,
                                               struct trk_error *error);

/* Whether it can be loaded and makes trackers, and what it is: the same with no other work. */
TRK_MUST_USE enum trk_status trk_contained_probe(const struct trk_contained *contained,
                                                 struct trk_core_about *out,
                                                 struct trk_error *error);

/* Of TRK_E_INCOMPLETE: it took too long, but was coming to the end of one schedule after another,
 * so nothing is wrong with the plug-in. */
bool trk_contained_slow(const struct trk_error *error);
/* Likewise, or it came to the end of nothing any more. */
bool trk_contained_stuck(const struct trk_error *error);
/* Likewise: it was ended, for either, or because it did not heed an interrupt. */
bool trk_contained_ended(const struct trk_error *error);

/*
 * For work that prints itself: the plug-in is called no more, and what is printed and said from
 * here on is trk's own. The process that asked for the work prints it, when that has come to its
 * end. Threads, handlers and timers of the plug-in's are left behind, in a process whose output is
 * standard error, from before it was loaded on.
 */
void trk_contained_leave(void);

/* The exit code of such an error: 4 for a plug-in that is none, 1 for one that ended. */
int trk_contained_exit_code(enum trk_status status);

/* Say such an error of a trace's run, in JSON too with --json. The exit code. */
int trk_contained_fail(const struct trk_input *input, const struct trk_options *options,
                       const char *schema, const struct trk_error *error);
/* Likewise what trk_core_complaint() says. */
int trk_contained_complain(const struct trk_input *input, const struct trk_options *options,
                           const char *schema);

#endif
