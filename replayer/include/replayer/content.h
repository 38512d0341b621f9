/*
 * The bytes that stand for what a trace did not record: they follow from a number and the place.
 *
 * Allocates: no. Blocks: no. Signal-safe: yes. Threads: any.
 */
#ifndef REPLAYER_CONTENT_H
#define REPLAYER_CONTENT_H

#include <stddef.h>
#include <stdint.h>

#include "track/macros.h"

TRK_EXTERN_C_BEGIN

/* What a store leaves: `offset` is the first byte's place in the mirror. All words differ. */
void trk_content_store(void *bytes, uint64_t offset, uint64_t size_bytes, uint64_t content);

/* What a write by the GPU leaves: one 32-bit word at each multiple of 4. */
void trk_content_gpu(void *bytes, uint64_t offset, uint64_t size_bytes, uint64_t content);
uint32_t trk_content_gpu_word(uint64_t content);

TRK_EXTERN_C_END

#endif
