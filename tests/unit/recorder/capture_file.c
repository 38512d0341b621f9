#define _GNU_SOURCE /* mkdtemp */
#include "capture_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <criterion/criterion.h>

char capture_folder[] = "/tmp/trk-capture-XXXXXX";
char capture_path[64];

void capture_file_begin(void)
{
    cr_assert_not_null(mkdtemp(capture_folder));
    snprintf(capture_path, sizeof(capture_path), "%s/a.trk", capture_folder);
}

void capture_file_end(void)
{
    (void)unlink(capture_path);
    cr_assert_eq(rmdir(capture_folder), 0, "something was left in %s", capture_folder);
}

uint64_t capture_file_marks(struct trk_trace_state *state)
{
    struct trk_trace *trace = NULL;
    struct trk_trace_event event;
    struct trk_error error;
    uint64_t marks = 0;
    cr_assert_eq(trk_trace_open(&trace, capture_path, &error), TRK_OK, "%s", error.text);
    while (trk_trace_next(trace, &event, &error) == TRK_OK)
        marks += event.event.type == TRK_EVENT_MARK;
    *state = trk_trace_state(trace);
    trk_trace_close(trace);
    return marks;
}
