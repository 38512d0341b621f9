/*
 * Run a function in a child process and say how the child ended: for tests of what kills.
 *
 * The child writes no core file. Standard error can be captured.
 */
#ifndef TESTS_CHILD_H
#define TESTS_CHILD_H

#include <stddef.h>

struct child_end {
    int exit_code;      /* -1 when a signal ended it */
    int signal_number;  /* 0 when it exited */
    char output[16384]; /* standard error, terminated; the beginning of it */
};

/* body's return value becomes the child's exit code. */
struct child_end child_run(int (*body)(const void *argument), const void *argument);

#endif
