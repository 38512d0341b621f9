/*
 * The name of a file by its content.
 *
 * 128 bits of XXH3 as 32 hexadecimal digits: enough to tell stored traces and builds of a core
 * apart, and no defence against somebody who makes two files alike on purpose.
 */
#ifndef TRACES_CONTENT_H
#define TRACES_CONTENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "track/status.h"

TRK_EXTERN_C_BEGIN

#define TRK_CONTENT_BYTES 33u /* of a name, with its NUL */

/**
 * Name a file.
 *
 * @param bytes  Set to the file's size; may be NULL.
 * @return TRK_OK; TRK_E_SYSTEM when it cannot be read; TRK_E_ARGUMENT: it is no regular file;
 *         TRK_E_MEMORY.
 *
 * Allocates: yes. Blocks: no. Signal-safe: no. Threads: any.
 */
TRK_MUST_USE enum trk_status trk_content_name(const char *path, char out[TRK_CONTENT_BYTES],
                                              uint64_t *bytes, struct trk_error *error);

/* Whether a text is such a name. */
bool trk_content_is_name(const char *text);

/* Name bytes, as a file that has them. */
void trk_content_name_bytes(const void *bytes, size_t size_bytes, char out[TRK_CONTENT_BYTES]);

TRK_EXTERN_C_END

#endif
