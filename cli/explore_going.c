#include "explore_going.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>

#include "contained.h"
#include "progress.h"
#include "terminal.h"

struct trk_explore_kept {
    volatile sig_atomic_t stop;
    struct trk_core_about core;
    uint64_t count; /* reports that were kept; the newest is in slot (count - 1) % 2 */
    struct trk_explore_report slots[2];
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

/* A report that is being written is never the newest: the process may end in between. */
static void keep(struct trk_explore_kept *kept, const struct trk_explore_report *so_far)
{
    struct trk_explore_report *slot = &kept->slots[kept->count % 2];
    *slot = *so_far;
    slot->script = NULL; /* memory of one process */
    slot->ended = true;
    (void)trk_core_about(&kept->core);
    __atomic_store_n(&kept->count, kept->count + 1, __ATOMIC_RELEASE);
}

/* Whether more is known than what was kept. */
static bool is_news(const struct trk_explore_kept *kept, const struct trk_explore_report *so_far)
{
    const struct trk_explore_report *last = &kept->slots[(kept->count + 1) % 2];
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

static volatile sig_atomic_t *stop_flag;

static void on_interrupt(int number)
{
    (void)number;
    *stop_flag = TRK_CONTAINED_INTERRUPTED;
}

void trk_explore_watch_interrupts(const struct trk_explore_going *going)
{
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND};
    stop_flag = &going->kept->stop;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
}

volatile sig_atomic_t *trk_explore_stop(const struct trk_explore_going *going)
{
    return &going->kept->stop;
}

/* ---- what there is --------------------------------------------------------------------------- */

const struct trk_explore_report *trk_explore_so_far(const struct trk_explore_going *going,
                                                    struct trk_core_about *core)
{
    const struct trk_explore_kept *kept = going->kept;
    uint64_t count = __atomic_load_n(&kept->count, __ATOMIC_ACQUIRE);
    *core = kept->core;
    return count > 0 ? &kept->slots[(count - 1) % 2] : NULL;
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
