/*
 * Where a file that is made will stand.
 *
 * A finished file takes its place by a new name. That is right for files and for nothing else: a
 * device node or a pipe would be gone, and a symbolic link would no longer lead anywhere. So this
 * is asked before anything is overwritten.
 */
#ifndef RECORDER_PLACE_H
#define RECORDER_PLACE_H

#include "track/status.h"

TRK_EXTERN_C_BEGIN

#define TRK_PLACE_BYTES 4096u /* of a path with its end, as PATH_MAX */

enum trk_place {
    TRK_PLACE_NEW = 0, /* nothing is there */
    TRK_PLACE_FILE,    /* a regular file, which may be replaced */
    TRK_PLACE_STREAM,  /* a pipe or a character device: what takes bytes one after the other */
};

/**
 * Find what a path leads to. Nothing is opened or changed.
 *
 * @param path    Of a file that is to be made.
 * @param target  Receives the path to make or replace, in TRK_PLACE_BYTES bytes: that of the file
 * that symbolic links lead to, else path itself.
 * @return TRK_OK, or with place and target unusable: TRK_E_SYSTEM with EISDIR for a directory, and
 *         when the path cannot be looked at; TRK_E_ARGUMENT for a link that leads nowhere, a block
 *         device, a socket.
 *
 * Allocates: no. Blocks: on the file system. Signal-safe: no. Threads: any.
 */
TRK_MUST_USE enum trk_status trk_place_find(const char *path, enum trk_place *place,
                                            char target[TRK_PLACE_BYTES], struct trk_error *error);

TRK_EXTERN_C_END

#endif
