/*
 * Recording without a parent: the program writes its own trace.
 *
 * A thread of the program drains the rings into the file, with all signals blocked and a low
 * priority. What trk record has over this: when the program is killed, everything that it had
 * committed is still written, and compression costs the program nothing. The header is written at
 * the start: what trk_capture_about and trk_capture_tracker say comes too late for it.
 */
#ifndef RECORDER_RECORD_HERE_H
#define RECORDER_RECORD_HERE_H

#include "recorder/record.h"

TRK_EXTERN_C_BEGIN

struct trk_record_here;

/**
 * Start recording this process, in the place of trk_capture_open.
 *
 * @param options  size, path, overwrite, ring_records, block_ms, settings_json and sync count; the
 *                 path is a file's.
 * @return TRK_OK: trk_capture_active; TRK_E_EXISTS: the file is there, or the process records
 *         already; TRK_E_ARGUMENT, TRK_E_MEMORY, TRK_E_SYSTEM: nothing is left of it.
 *
 * Allocates: yes. Blocks: on the file. Signal-safe: no. Threads: one, before others record. A
 * forked child records nothing and must not stop it.
 */
TRK_MUST_USE enum trk_status trk_record_here_start(struct trk_record_here **out,
                                                   const struct trk_record_options *options,
                                                   struct trk_error *error);

/**
 * End the recording: drain what is there and write END, with no program's status.
 *
 * Events that others emit meanwhile or later are lost and not counted.
 *
 * @return TRK_OK, or why the file is not whole. here is used up; result may be NULL.
 *
 * Blocks: until the file is written. Signal-safe: no. Threads: one, once.
 */
TRK_MUST_USE enum trk_status trk_record_here_stop(struct trk_record_here *here,
                                                  struct trk_record_result *result,
                                                  struct trk_error *error);

TRK_EXTERN_C_END

#endif
