#include "demo_rounds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "samples.h"

#define FRAMES_MAX 100000u

static void usage(const char *name)
{
    fprintf(stderr, "usage: %s --trk PATH [--rounds 1..%u] [--frames 1..%u]\n", name,
            BENCH_SAMPLES_MAX, FRAMES_MAX);
}

int demo_rounds_main(int argc, char **argv, const char *name, unsigned rounds,
                     int (*measure)(const struct demo_rounds *))
{
    struct demo_rounds asked = {.scratch = "/tmp/trk-bench-XXXXXX"};
    unsigned long round_count = rounds;
    unsigned long frame_count = 300;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--trk") == 0) {
            asked.trk = argv[i + 1];
        } else if (strcmp(argv[i], "--rounds") == 0) {
            round_count = strtoul(argv[i + 1], NULL, 10);
        } else if (strcmp(argv[i], "--frames") == 0) {
            frame_count = strtoul(argv[i + 1], NULL, 10);
        } else if (strcmp(argv[i], "--load") == 0) {
            asked.load = argv[i + 1];
        }
    }
    if (asked.trk == NULL || round_count < 1 || round_count > BENCH_SAMPLES_MAX ||
        frame_count < 1 || frame_count > FRAMES_MAX) {
        usage(name);
        return 2;
    }
    asked.rounds = (unsigned)round_count;
    asked.frames = (unsigned)frame_count;
    int fd = mkstemp(asked.scratch);
    if (fd < 0) {
        perror("mkstemp");
        return 70;
    }
    close(fd);
    int code = measure(&asked);
    unlink(asked.scratch);
    return code;
}
