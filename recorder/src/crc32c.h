/* CRC32C (Castagnoli, reflected, start and final complement), the checksum of every header. */
#ifndef RECORDER_CRC32C_H
#define RECORDER_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/**
 * Checksum a buffer, or go on with one: pass 0 first, then what the call before gave.
 *
 * Allocates: no. Blocks: no. Signal-safe: yes. Threads: any.
 */
uint32_t trk_crc32c_update(uint32_t crc, const void *bytes, size_t size_bytes);

/* The same by table alone, for machines without the instruction and for the test that compares. */
uint32_t trk_crc32c_update_table(uint32_t crc, const void *bytes, size_t size_bytes);

#endif
