#include "minimise_progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"

#define CELLS   24u
#define SEEN_NS UINT64_C(50000000) /* between two pictures */

void trk_minimise_progress_open(struct trk_minimise_progress *progress,
                                const struct trk_options *options)
{
    const char *how = trk_options_text(options, "progress"), *term = getenv("TERM");
    bool terminal = isatty(STDERR_FILENO) == 1 && term != NULL && strcmp(term, "dumb") != 0;
    *progress = (struct trk_minimise_progress){
        .bar = strcmp(how, "always") == 0 || (strcmp(how, "auto") == 0 && terminal),
        .lines = strcmp(how, "json") == 0,
    };
}

static void put_line(const struct trk_minimise_report *so_far)
{
    fprintf(stderr,
            "{\"schema\": \"" TRK_PROGRESS_SCHEMA "\", \"replays\": %" PRIu64
            ", \"threads\": %" PRIu32 ", \"operations\": %" PRIu32 ", \"pages\": %" PRIu32 "}\n",
            so_far->replays, so_far->to.threads, so_far->to.operations, so_far->to.pages);
}

/* The bar is what was taken out of the first case. */
static void put_bar(struct trk_minimise_progress *progress,
                    const struct trk_minimise_report *so_far)
{
    char cells[CELLS + 1], text[160];
    const struct trk_minimise_size *from = &so_far->from, *to = &so_far->to;
    uint32_t gone = from->operations > to->operations ? from->operations - to->operations : 0;
    uint32_t full =
        from->operations == 0 ? 0 : (uint32_t)((uint64_t)CELLS * gone / from->operations);
    memset(cells, '.', CELLS);
    memset(cells, '#', full);
    cells[CELLS] = '\0';
    int width =
        snprintf(text, sizeof text,
                 "[%s] %" PRIu32 " of %" PRIu32 " operations, %" PRIu32 " threads, %" PRIu32
                 " pages, %" PRIu64 " replays",
                 cells, to->operations, from->operations, to->threads, to->pages, so_far->replays);
    /* Blanks over what a longer one has left. */
    fprintf(stderr, "\r%s%*s", text, progress->width > width ? progress->width - width : 0, "");
    fflush(stderr);
    progress->width = width > progress->width ? width : progress->width;
}

void trk_minimise_progress_show(struct trk_minimise_progress *progress,
                                const struct trk_minimise_report *so_far)
{
    if ((!progress->bar && !progress->lines) || so_far->from.operations == 0) {
        return;
    }
    const uint64_t now_ns = trk_clock_ns();
    bool first = progress->shown_ns == 0;
    bool other = memcmp(&progress->size, &so_far->to, sizeof progress->size) != 0;
    bool due = progress->lines ? other : now_ns - progress->shown_ns >= SEEN_NS;
    if (!first && !due) {
        return;
    }
    progress->shown_ns = now_ns;
    progress->size = so_far->to;
    if (progress->lines) {
        put_line(so_far);
    } else {
        put_bar(progress, so_far);
    }
}

void trk_minimise_progress_close(struct trk_minimise_progress *progress)
{
    if (progress->width > 0) {
        fprintf(stderr, "\r%*s\r", progress->width, "");
        fflush(stderr);
    }
    progress->width = 0;
}
