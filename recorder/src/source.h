/*
 * Where a trace's bytes come from: a file or memory.
 *
 * Files are read with pread and never mapped: one that is cut short meanwhile then reads short
 * instead of raising SIGBUS.
 */
#ifndef RECORDER_SOURCE_H
#define RECORDER_SOURCE_H

#include <stddef.h>
#include <stdint.h>

#include "track/status.h"

struct trk_source {
    int fd; /* -1: memory */
    const uint8_t *bytes;
    uint64_t size_bytes;  /* when it was opened */
    uint64_t *read_bytes; /* counts what is read; NULL: nobody asks */
};

/* TRK_OK, TRK_E_SYSTEM (os_errno), TRK_E_ARGUMENT: not a regular file. */
TRK_MUST_USE enum trk_status trk_source_open(struct trk_source *source, const char *path,
                                             struct trk_error *error);
void trk_source_open_bytes(struct trk_source *source, const void *bytes, size_t size_bytes);
void trk_source_close(struct trk_source *source);

/* A piece to read. */
struct trk_source_part {
    uint64_t offset;
    uint8_t *to;
    size_t size_bytes;
    size_t got; /* out: fewer than asked for only at the end of the file */
};

/* Read a piece. TRK_OK, also when less was there; TRK_E_SYSTEM. */
TRK_MUST_USE enum trk_status trk_source_read(const struct trk_source *source,
                                             struct trk_source_part *part, struct trk_error *error);

#endif
