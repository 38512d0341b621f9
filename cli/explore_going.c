#include "explore_going.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "contained.h"
#include "interrupt.h"
#include "progress.h"
#include "terminal.h"

/* A window as a scenario file; one that has no room is not kept. */
#define SCRIPT_BYTES (UINT32_C(1) << 20)

struct kept_report {
    struct trk_explore_report report;
    char script[SCRIPT_BYTES], trying[SCRIPT_BYTES]; /* "": none */
};

struct trk_explore_kept {
    volatile sig_atomic_t stop;
    struct trk_core_about core;
    uint64_t count; /* reports that were kept; the newest is in slot (count - 1) % 2 */
    struct kept_report slots[2];
};

bool trk_explore_going_open(struct trk_explore_going *going, const struct trk_options *options)
{
    *going = (struct trk_explore_going){.limited = trk_options_given(options, "budget")};
    struct trk_explore_kept *kept = mmap(NULL, sizeof *kept, PROT_READ | PROT_WRITE,
                                         MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    going->kept = kept != MAP_FAILED ? kept : NULL;
    if (going->limited) {
        clock_gettime(CLOCK_MONOTONIC, &going->end);
        going->end.tv_sec += (time_t)trk_options_number(options, "budget");
    }
    return going->kept != NULL;
}

void trk_explore_going_close(struct trk_explore_going *going)
{
    if (going->kept != NULL) {
        munmap(going->kept, sizeof *going->kept);
    }
}

/* ---- going on -------------------------------------------------------------------------------- */

static bool past(const struct timespec *end)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec > end->tv_sec || (now.tv_sec == end->tv_sec && now.tv_nsec >= end->tv_nsec);
}

static void keep_text(char *out, const char *text)
{
    const size_t length = text != NULL ? strlen(text) : 0;
    const bool fits = length < SCRIPT_BYTES;
    memcpy(out, fits && length > 0 ? text : "", (fits ? length : 0) + 1);
}

/* A report that is being written is never the newest: the process may end in between. */
static void keep(struct trk_explore_kept *kept, const struct trk_explore_report *so_far)
{
    struct kept_report *slot = &kept->slots[kept->count % 2];
    slot->report = *so_far;
    slot->report.script = NULL; /* memory of one process */
    slot->report.trying = NULL;
    slot->report.ended = true;
    keep_text(slot->script, so_far->script);
    keep_text(slot->trying, so_far->trying);
    (void)trk_core_about(&kept->core);
    __atomic_store_n(&kept->count, kept->count + 1, __ATOMIC_RELEASE);
}

/* Whether more is known than what was kept. */
static bool is_news(const struct trk_explore_kept *kept, const struct trk_explore_report *so_far)
{
    const struct trk_explore_report *last = &kept->slots[(kept->count + 1) % 2].report;
    return kept->count == 0 || last->windows != so_far->windows ||
           last->finding_count != so_far->finding_count;
}

static void show(const struct trk_explore_report *so_far)
{
    char text[100];
    if (!trk_progress_is_shown()) {
        return;
    }
    snprintf(text, sizeof text, "%" PRIu64 " windows, %" PRIu64 " orders, %" PRIu64 " findings",
             so_far->windows, so_far->schedules, so_far->finding_count);
    trk_progress_show(
        &(struct trk_progress){.unit = "windows", .done = so_far->windows, .text = text});
}

bool trk_explore_go_on(void *context, const struct trk_explore_report *so_far)
{
    const struct trk_explore_going *going = context;
    bool news = is_news(going->kept, so_far);
    if (news) {
        keep(going->kept, so_far);
    }
    show(so_far);
    return going->kept->stop == 0 && !(going->limited && past(&going->end));
}

/* ---- interrupts ------------------------------------------------------------------------------ */

void trk_explore_watch_interrupts(const struct trk_explore_going *going)
{
    trk_interrupt_watch(&going->kept->stop, TRK_CONTAINED_INTERRUPTED, false);
}

volatile sig_atomic_t *trk_explore_stop(const struct trk_explore_going *going)
{
    return &going->kept->stop;
}

/* ---- what there is --------------------------------------------------------------------------- */

const struct trk_explore_report *trk_explore_so_far(const struct trk_explore_going *going,
                                                    struct trk_core_about *core)
{
    struct trk_explore_kept *kept = going->kept;
    uint64_t count = __atomic_load_n(&kept->count, __ATOMIC_ACQUIRE);
    struct kept_report *newest = &kept->slots[(count + 1) % 2];
    *core = kept->core;
    if (count == 0) {
        return NULL;
    }
    newest->script[SCRIPT_BYTES - 1] = newest->trying[SCRIPT_BYTES - 1] = '\0';
    newest->report.script = newest->script[0] != '\0' ? newest->script : NULL;
    newest->report.trying = newest->trying[0] != '\0' ? newest->trying : NULL;
    return &newest->report;
}

void trk_explore_say_ended(const struct trk_explore_going *going, const struct trk_options *options,
                           const struct trk_core_about *core)
{
    char why[64] = "--budget is over";
    if (going->kept->stop == TRK_CONTAINED_LATE) {
        snprintf(why, sizeof why, "--core-limit is over (%" PRIu64 " s)",
                 trk_options_number(options, "core-limit"));
    } else if (going->kept->stop == TRK_CONTAINED_INTERRUPTED) {
        snprintf(why, sizeof why, "interrupted");
    }
    trk_terminal_say("explore",
                     "%s: not everything was tried; fewer pages, events or orders take less time "
                     "(--page, RANGE, --window, --schedules), --budget ends before",
                     why);
    if (core != NULL && !core->knows) {
        trk_terminal_say("explore", "the plug-in has no digest(), by which known states are tried "
                                    "once");
    }
}
