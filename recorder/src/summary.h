/*
 * The summary of an EVENTS chunk: which lock domains it touches, without decompressing it [F-34].
 *
 * It is a skippable frame between the chunk's header and its payload, with a checksum of its own.
 */
#ifndef RECORDER_SUMMARY_H
#define RECORDER_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "columns.h"

/* What a chunk has of one domain. */
struct trk_summary_domain {
    uint32_t domain;
    uint32_t first; /* hold of its first event there */
    uint32_t ended; /* newest hold that ends there; 0 when none does */
    uint32_t ends;  /* how many holds end there */
};

/**
 * The summary of the chunk that was encoded or decoded last, as a frame, the columns' until the
 * next call. 0 bytes: the chunk touches no domain.
 *
 * @return TRK_OK, TRK_E_MEMORY.
 */
TRK_MUST_USE enum trk_status trk_summary_make(struct trk_columns *columns, const uint8_t **frame,
                                              size_t *size_bytes);

/* Whether these bytes are a summary's frame, undamaged. */
bool trk_summary_sealed(const uint8_t *frame, size_t size_bytes);

/* Walks through a frame that is sealed. */
struct trk_summary_cursor {
    const uint8_t *at, *end;
    uint64_t left;
    uint32_t domain;
};

/* False: it has no list that could be read. */
bool trk_summary_begin(struct trk_summary_cursor *cursor, const uint8_t *frame, size_t size_bytes);
/* The next domain, ascending. False: no more, or not readable. */
bool trk_summary_next(struct trk_summary_cursor *cursor, struct trk_summary_domain *out);
/* Whether all that was promised was there, and nothing else. */
bool trk_summary_done(const struct trk_summary_cursor *cursor);

#endif
