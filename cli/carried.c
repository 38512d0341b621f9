#define _GNU_SOURCE
#include "carried.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "progress.h"
#include "refusal.h"
#include "terminal.h"

enum stream {
    REPORT = 1, /* standard output */
    TALK,
};

/* In front of its bytes. */
struct piece {
    uint32_t stream, size_bytes;
};

struct trk_carried {
    uint32_t used, newest; /* where the newest piece begins */
    bool full;
    unsigned char bytes[TRK_CARRIED_BYTES];
};

struct trk_carried *trk_carried_create(void)
{
    struct trk_carried *carried = mmap(NULL, sizeof *carried, PROT_READ | PROT_WRITE,
                                       MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return carried != MAP_FAILED ? carried : NULL;
}

void trk_carried_destroy(struct trk_carried *carried)
{
    if (carried != NULL) {
        munmap(carried, sizeof *carried);
    }
}

/* ---- in the other process -------------------------------------------------------------------- */

static ssize_t add(struct trk_carried *carried, enum stream stream, const char *bytes, size_t size)
{
    struct piece piece = {.stream = 0};
    if (carried->used > 0) {
        memcpy(&piece, carried->bytes + carried->newest, sizeof piece);
    }
    bool more = piece.stream == stream;
    size_t room = sizeof carried->bytes - carried->used;
    if (carried->full || size + sizeof piece > room) {
        carried->full = true;
        errno = EFBIG;
        return 0;
    }
    if (!more) {
        piece = (struct piece){.stream = stream};
        carried->newest = carried->used;
        carried->used += (uint32_t)sizeof piece;
    }
    memcpy(carried->bytes + carried->used, bytes, size);
    carried->used += (uint32_t)size;
    piece.size_bytes += (uint32_t)size;
    memcpy(carried->bytes + carried->newest, &piece, sizeof piece);
    return (ssize_t)size;
}

static ssize_t add_report(void *carried, const char *bytes, size_t size)
{
    return add(carried, REPORT, bytes, size);
}

static ssize_t add_talk(void *carried, const char *bytes, size_t size)
{
    return add(carried, TALK, bytes, size);
}

/* Of this process: where its output led before. */
static struct {
    FILE *report, *talk;
} before;

void trk_carried_begin(struct trk_carried *carried)
{
    FILE *report = fopencookie(carried, "w", (cookie_io_functions_t){.write = add_report});
    FILE *talk = fopencookie(carried, "w", (cookie_io_functions_t){.write = add_talk});
    if (report == NULL || talk == NULL) {
        carried->full = true;
        return;
    }
    (void)setvbuf(talk, NULL, _IOLBF, BUFSIZ);
    before.report = stdout;
    before.talk = stderr;
    stdout = report;
    stderr = talk;
}

void trk_carried_end(struct trk_carried *carried)
{
    if (before.report == NULL) {
        return;
    }
    bool all = fclose(stdout) == 0;
    all = fclose(stderr) == 0 && all;
    carried->full |= !all;
    stdout = before.report;
    stderr = before.talk;
    before.report = NULL;
}

/* ---- in this one ----------------------------------------------------------------------------- */

bool trk_carried_print(const struct trk_carried *carried)
{
    uint32_t at = 0, used = carried->used;
    if (carried->full || used > sizeof carried->bytes) {
        return false;
    }
    trk_progress_wipe();
    while (used - at >= sizeof(struct piece)) {
        struct piece piece;
        memcpy(&piece, carried->bytes + at, sizeof piece);
        at += (uint32_t)sizeof piece;
        if (piece.size_bytes > used - at) {
            return false;
        }
        if (piece.stream == TALK) {
            trk_terminal_flush();
        } else {
            trk_refusal_not_needed();
        }
        fwrite(carried->bytes + at, 1, piece.size_bytes, piece.stream == TALK ? stderr : stdout);
        at += piece.size_bytes;
    }
    return true;
}
