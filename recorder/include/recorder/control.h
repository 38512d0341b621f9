/*
 * Talking to a running recording: one line there, one line back.
 *
 * A recording makes a folder with two FIFOs, below $XDG_RUNTIME_DIR/trk, else /tmp/trk-UID, named
 * by its process id. A command is a line: enable, disable, snapshot, status, or mark N. The answer
 * is a line that begins with "ok" or "error". "#NUMBER " before a command comes back before its
 * answer, so that nobody takes another's. One command at a time: who talks holds a lock on the
 * folder.
 */
#ifndef RECORDER_CONTROL_H
#define RECORDER_CONTROL_H

#include <stddef.h>
#include <stdint.h>

#include "track/status.h"

TRK_EXTERN_C_BEGIN

#define TRK_CONTROL_LINE 256u /* bytes of a command or answer, its end included */

/**
 * Send a command to the recording of process `pid`, and wait for its answer.
 *
 * @param answer  TRK_CONTROL_LINE bytes; the line without its end.
 * @return TRK_OK: there is an answer; TRK_E_ARGUMENT: no such recording, or it has none;
 *         TRK_E_SYSTEM: also when no answer came within timeout_ms, or another waited for one all
 *         that time. The recording may still obey a command that it has not answered.
 *
 * Allocates: no. Blocks: up to timeout_ms. Signal-safe: no. Threads: any.
 */
TRK_MUST_USE enum trk_status trk_control_send(uint32_t pid, const char *command, char *answer,
                                              uint32_t timeout_ms, struct trk_error *error);

TRK_EXTERN_C_END

#endif
