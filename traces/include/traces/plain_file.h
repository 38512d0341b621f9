/*
 * Files that are read whole or from their beginning: regular ones and no others. A pipe that nobody
 * writes to, a folder and a device are refused; none of them is waited for.
 */
#ifndef TRACES_PLAIN_FILE_H
#define TRACES_PLAIN_FILE_H

#include <stddef.h>

#include "track/status.h"

TRK_EXTERN_C_BEGIN

/**
 * Open a regular file for reading.
 *
 * @return TRK_OK; TRK_E_SYSTEM: it cannot be opened; TRK_E_ARGUMENT: it is no regular file. *fd is
 *         -1 then.
 *
 * Allocates: no. Blocks: no. Signal-safe: no. Threads: any.
 */
TRK_MUST_USE enum trk_status trk_plain_file_open(const char *path, int *fd,
                                                 struct trk_error *error);

/**
 * Read a regular file whole.
 *
 * @param most_bytes  What it may have.
 * @param text        Set to its bytes, with a NUL behind them; the caller frees them.
 * @return TRK_OK; as trk_plain_file_open; TRK_E_DAMAGED: it has more bytes; TRK_E_MEMORY. *text is
 *         NULL then.
 *
 * Allocates: yes. Blocks: no. Signal-safe: no. Threads: any.
 */
TRK_MUST_USE enum trk_status trk_plain_file_read(const char *path, size_t most_bytes, char **text,
                                                 size_t *size_bytes, struct trk_error *error);

TRK_EXTERN_C_END

#endif
