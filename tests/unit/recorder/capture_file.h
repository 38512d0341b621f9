/* What the tests that record into a real file share: a folder of the test's own for it. */
#ifndef TESTS_CAPTURE_FILE_H
#define TESTS_CAPTURE_FILE_H

#include "recorder/trace.h"

extern char capture_folder[];
extern char capture_path[64]; /* a.trk in it */

/* A suite's .init and .fini. The test fails where it has left anything but the file. */
void capture_file_begin(void);
void capture_file_end(void);

/* Read the file; its marks, and how it ended. */
uint64_t capture_file_marks(struct trk_trace_state *state);

#endif
