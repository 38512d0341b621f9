/* All events of a trace in memory, a list a stream, and a trace made of them again. */
#ifndef TRK_BENCH_LOADED_H
#define TRK_BENCH_LOADED_H

#include <stddef.h>

#include "recorder/writer.h"

struct bench_loaded {
    size_t streams;
    struct bench_stream {
        struct trk_record *records;
        size_t count, room;
    } * list;
    uint64_t events; /* of all streams */
};

/* 0, or 1 after a line on stderr. To be unloaded in both cases. */
int bench_load(const char *path, struct bench_loaded *loaded);
void bench_unload(struct bench_loaded *loaded);

/* A file in memory, or -1 after a line on stderr. */
int bench_memory_file(void);

/* The drain's work without the rings: append by chunks, then END. 0, or 1 after a line on stderr.
 */
int bench_encode(const struct bench_loaded *loaded, unsigned clock_shift, int fd);

#endif
