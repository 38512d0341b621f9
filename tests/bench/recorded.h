/* Commands under the recorder, and this program itself as one. */
#ifndef TRK_BENCH_RECORDED_H
#define TRK_BENCH_RECORDED_H

#include <stddef.h>

/*
 * Record a command that must end with 0. Its events wait so long for room; where they do not, a
 * loaded machine may lose some. Time stamps lose so many low bits; NULL: the recorder's default.
 * 0, or 1 after a line on stderr.
 */
int bench_record(const char *path, char *const *argv, unsigned block_ms,
                 const unsigned *clock_shift);

/*
 * Record this program, without any waiting, with the given words, ended by NULL, and a last one:
 * the descriptor that it writes `size` bytes for `out` to. Likewise.
 */
int bench_record_self(const char *path, char *const *words, void *out, size_t size);

/* In the recorded process: join the recording, as a guest's thread of that name.
 * NULL: no thread yet. Likewise. */
int bench_recorded_begin(const char *thread);

/* And end there, with what is to be sent home. 0, or 1. */
int bench_recorded_end(int fd, const void *figures, size_t size);

#endif
