/*
 * The frame of a benchmark that runs `trk demo` in rounds: its command line, and a file for a
 * trace.
 *
 *     NAME --trk PATH [--rounds N] [--frames N] [--load NAME]
 */
#ifndef TRK_BENCH_DEMO_ROUNDS_H
#define TRK_BENCH_DEMO_ROUNDS_H

struct demo_rounds {
    const char *trk;
    unsigned rounds; /* 1 to BENCH_SAMPLES_MAX */
    unsigned frames;
    const char *load; /* one of its loads only; NULL: all */
    char scratch[32]; /* a file that is there, and gone afterwards */
};

/* Exit code: what measure gives, 2 after saying the usage, 70 without a scratch file. */
int demo_rounds_main(int argc, char **argv, const char *name, unsigned rounds,
                     int (*measure)(const struct demo_rounds *));

#endif
