#include "kept_pages.h"

#include <stdlib.h>

static int compare(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left;
    uint64_t b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

bool trk_kept_pages_note(struct trk_kept_pages *pages, const struct trk_event *event)
{
    if (event->type != TRK_EVENT_PAGE) {
        return true;
    }
    if (pages->count == pages->room) {
        size_t room = pages->room > 0 ? 2 * pages->room : 1024;
        uint64_t *hashes = realloc(pages->hashes, room * sizeof *hashes);
        if (!hashes) {
            return false;
        }
        pages->hashes = hashes;
        pages->room = room;
    }
    pages->hashes[pages->count++] = trk_event_size(event); /* the pair, as one number */
    return true;
}

static bool is_noted(void *context, uint64_t hash)
{
    const struct trk_kept_pages *pages = context;
    return bsearch(&hash, pages->hashes, pages->count, sizeof hash, compare) != NULL;
}

enum trk_status trk_kept_pages_copy(struct trk_kept_pages *pages, struct trk_writer *writer,
                                    struct trk_trace *trace, struct trk_error *error)
{
    if (pages->count == 0) {
        return TRK_OK;
    }
    qsort(pages->hashes, pages->count, sizeof pages->hashes[0], compare);
    return trk_writer_copy_blobs(writer, trace, is_noted, pages, error);
}

void trk_kept_pages_deinit(struct trk_kept_pages *pages)
{
    free(pages->hashes);
    *pages = (struct trk_kept_pages){.hashes = NULL};
}
