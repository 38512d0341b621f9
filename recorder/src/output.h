/*
 * Writing chunks to a descriptor: compression, checksums, whole writes.
 *
 * Knows chunks, not what is in them; INDEX chunks it makes by itself [F-35]. After one failed write
 * it refuses all others, because what stands in the file then ends in the middle of a chunk.
 */
#ifndef RECORDER_OUTPUT_H
#define RECORDER_OUTPUT_H

#include <stddef.h>
#include <stdint.h>

#include "format.h"

struct trk_output;

struct trk_output_options {
    int zstd_level;
    bool plain; /* no INDEX chunks, and no promise of summaries */
    const uint8_t *sync;
};

/**
 * Take a descriptor, which stays the caller's, and write the file header.
 *
 * @return TRK_OK, TRK_E_ARGUMENT (zstd knows no such level), TRK_E_MEMORY, TRK_E_SYSTEM.
 */
TRK_MUST_USE enum trk_status trk_output_create(struct trk_output **out, int fd,
                                               const struct trk_output_options *options,
                                               struct trk_error *error);
void trk_output_destroy(struct trk_output *output);

/**
 * Compress a payload and write it behind its header. Sizes, codec, checksum and numbers are filled
 * in here, the rest of `chunk` is the caller's.
 *
 * @return TRK_OK, TRK_E_MEMORY, TRK_E_SYSTEM; the output is then closed for more.
 */
TRK_MUST_USE enum trk_status trk_output_chunk(struct trk_output *output,
                                              struct trk_format_chunk *chunk, const void *payload,
                                              size_t size_bytes, struct trk_error *error);

/*
 * The summary of the chunk that is written next, a whole frame [F-34] [F-39]. It stays the
 * caller's until then.
 */
void trk_output_summary(struct trk_output *output, const uint8_t *frame, size_t size_bytes);

/* Write a chunk of another file with its payload as it is there; only numbers are filled in. */
TRK_MUST_USE enum trk_status trk_output_copy(struct trk_output *output,
                                             struct trk_format_chunk *chunk, void *packed,
                                             struct trk_error *error);

/* Write END and the end mark; where END stands is filled in here. */
TRK_MUST_USE enum trk_status trk_output_end(struct trk_output *output, struct trk_format_end *end,
                                            struct trk_error *error);

uint64_t trk_output_bytes(const struct trk_output *output);

#endif
