/*
 * The default of fail-fast: one line and a stack to stderr, then abort.
 *
 * It may run inside a fault handler while another thread holds stdio's or malloc's locks, so the
 * line is put together by hand and leaves through write(2).
 *
 * Rules: [M-62].
 */
#define _GNU_SOURCE
#include "failure_default.h"

#include <execinfo.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STACK_FRAMES_MAX 64
#define LINE_BYTES_MAX   384

struct line {
    char bytes[LINE_BYTES_MAX];
    size_t used;
};

static void line_text(struct line *line, const char *text, size_t limit)
{
    for (size_t i = 0; i < limit && text[i] != '\0' && line->used < LINE_BYTES_MAX; i++)
        line->bytes[line->used++] = text[i];
}

static void line_number(struct line *line, uint64_t number, unsigned base)
{
    char digits[24];
    size_t count = 0;
    do {
        digits[count++] = "0123456789abcdef"[number % base];
        number /= base;
    } while (number != 0);
    while (count > 0 && line->used < LINE_BYTES_MAX)
        line->bytes[line->used++] = digits[--count];
}

static void write_all(const char *bytes, size_t size_bytes)
{
    while (size_bytes > 0) {
        ssize_t written = write(STDERR_FILENO, bytes, size_bytes);
        if (written <= 0)
            return; /* stderr is gone; the abort still tells */
        bytes += written;
        size_bytes -= (size_t)written;
    }
}

void trk_failure_default(const struct trk_failure *failure)
{
    struct line line = {.used = 0};
    line_text(&line, "trk: fatal: ", SIZE_MAX);
    line_text(&line, trk_status_name(failure->failure_class), SIZE_MAX);
    line_text(&line, ": ", SIZE_MAX);
    line_text(&line, failure->text, sizeof failure->text);
    line_text(&line, " (", SIZE_MAX);
    line_text(&line, trk_op_name((uint16_t)failure->op), SIZE_MAX);
    line_text(&line, " 0x", SIZE_MAX);
    line_number(&line, failure->guest_addr, 16);
    line_text(&line, " +0x", SIZE_MAX);
    line_number(&line, failure->size_bytes, 16);
    line_text(&line, ", thread ", SIZE_MAX);
    line_number(&line, failure->thread_id, 10);
    line_text(&line, ")\n", SIZE_MAX);
    write_all(line.bytes, line.used);

    void *frames[STACK_FRAMES_MAX];
    int count = backtrace(frames, STACK_FRAMES_MAX);
    backtrace_symbols_fd(frames, count, STDERR_FILENO);
    abort();
}

void trk_failure_default_prepare(void)
{
    /* The first call loads the unwinder's library, which allocates and locks. */
    void *frame;
    (void)backtrace(&frame, 1);
}
