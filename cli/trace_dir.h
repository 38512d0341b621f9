/*
 * Where traces without a name live.
 *
 * TRK_TRACE_DIR, else $XDG_DATA_HOME/trk, else $HOME/.local/share/trk. Files in it are called
 * trk-<n>.trk; the latest is the one with the greatest n, whatever its time of writing.
 */
#ifndef CLI_TRACE_DIR_H
#define CLI_TRACE_DIR_H

#include <stddef.h>

#include "track/status.h"

/* The directory's path; nothing is looked at or created. TRK_E_UNSUPPORTED: no variable says it. */
TRK_MUST_USE enum trk_status trk_trace_dir_path(char *out, size_t size, struct trk_error *error);

/* The latest trace. TRK_E_ARGUMENT: there is none yet. */
TRK_MUST_USE enum trk_status trk_trace_dir_latest(char *out, size_t size, struct trk_error *error);

/*
 * The path of the trace that an operand names, for who reads it by its path alone: standard input's
 * for `-`, which must then be a regular file, and the latest trace for NULL.
 */
TRK_MUST_USE enum trk_status trk_trace_dir_named(char *out, size_t size, const char *operand,
                                                 struct trk_error *error);

/* The first free name behind the latest; creates the directory. TRK_E_SYSTEM with os_errno. */
TRK_MUST_USE enum trk_status trk_trace_dir_next(char *out, size_t size, struct trk_error *error);

#endif
