/*
 * A trace's columns against the same records as they lie in memory, by zstd at level 3.
 *
 * Both are written to a file in memory in chunks of the same events and read from there again, by
 * the processor's time of one thread, in rounds that alternate. The raw records have no checksum,
 * no index and no order among threads. Ratios are those of rates: above 1 the columns are faster.
 */
#ifndef TRK_BENCH_AGAINST_RAW_H
#define TRK_BENCH_AGAINST_RAW_H

#include "loaded.h"
#include "samples.h"

struct bench_against_raw {
    unsigned clock_shift;
    double bytes, raw_bytes; /* an event */
    struct bench_spread encode_ns, raw_encode_ns, writer_ratio;
    struct bench_spread decode_per_second;  /* chunk by chunk, as the raw records are */
    struct bench_spread ordered_per_second; /* all threads in one order, from opening the file on */
    struct bench_spread raw_decode_per_second, reader_ratio, ordered_ratio;
};

/*
 * Time stamps of what is loaded lose so many low bits, for good. 0, or 1 after a line on stderr.
 */
int bench_against_raw(struct bench_loaded *loaded, unsigned clock_shift, unsigned rounds,
                      struct bench_against_raw *out);

#endif
