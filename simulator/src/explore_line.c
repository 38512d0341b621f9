/*
 * The line that runs one order of a window again.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "explore_search.h"

void line_write(char *out, size_t size, const struct window *window, const char *schedule,
                const char *hash)
{
    const struct projection *projection = window->projection;
    /* trk1:CORE:SCENARIO:STEPS, with the hash of the window's own script. */
    int used = snprintf(out, size, "trkw1:%" PRIx64 "+%" PRIu32 ":%" PRIu64 "+%" PRIu32 ":%.9s%s%s",
                        projection->first_addr / SCENARIO_PAGE_BYTES, projection->page_count,
                        projection->items[window->first].event, window->steps, schedule + 5, hash,
                        schedule + 22);
    if (used < 0 || (size_t)used >= size)
        out[0] = '\0';
}

bool line_read(struct line *line, const char *text)
{
    uint64_t page;
    int used = 0;
    *line = (struct line){0};
    if (sscanf(text, "trkw1:%" SCNx64 "+%" SCNu32 ":%" SCNu64 "+%" SCNu32 ":%n", &page,
               &line->pages, &line->from, &line->steps, &used) != 4 ||
        used == 0)
        return false;
    line->page_addr = page * SCENARIO_PAGE_BYTES;
    int size = snprintf(line->schedule, sizeof line->schedule, "trk1:%s", text + used);
    return size > 23 && (size_t)size < sizeof line->schedule && page < UINT64_C(1) << 40 &&
           line->pages >= 1 && line->pages <= TRK_EXPLORE_PAGES_MOST && line->steps >= 1 &&
           line->steps <= WINDOW_ITEMS_MOST;
}
