/* Reading memory that may not be readable, without a fault. Internal to libtrack. */
#ifndef TRACK_PEEK_H
#define TRACK_PEEK_H

#include <stddef.h>
#include <stdint.h>

/*
 * Copy from host memory as far as it can be read now, from the first byte on.
 *
 * @return How many bytes were copied, 0 to size_bytes; the byte behind them cannot be read.
 *
 * Allocates: no. Blocks: no. Signal-safe: yes, errno is kept. Threads: any.
 */
size_t trk_peek(uint64_t host_addr, void *into, size_t size_bytes);

#endif
