/* What is measured on a stored trace: size, encoding, decoding, re-execution. */
#ifndef TRK_BENCH_STORED_H
#define TRK_BENCH_STORED_H

#include "samples.h"

struct bench_stored {
    uint64_t events, bytes, faults, dropped;
    struct bench_spread encode_ns;           /* ns an event: columns and zstd, to a memory file */
    struct bench_spread decode_per_second;   /* events: file to events in canonical order */
    struct bench_spread simulate_per_second; /* events: file to verdict */
    struct bench_spread oracle_per_second;   /* the same by the oracle alone, every byte */
    struct bench_spread lines_per_second;    /* in granules of 64 bytes */
    struct bench_spread pages_per_second;    /* in granules of a page */
    bool ok;                                 /* the verdict */
};

/* 0, or 1 after a line on stderr. */
int bench_stored(const char *path, unsigned rounds, struct bench_stored *out);

#endif
