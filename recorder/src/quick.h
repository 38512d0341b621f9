/*
 * What a trace holds, from its end mark, END and INDEX chunks: without reading what is between.
 */
#ifndef RECORDER_QUICK_H
#define RECORDER_QUICK_H

#include "scan.h"

/**
 * Fill an index. The payloads of EVENTS are not looked at, so what is wrong in them is found when
 * they are decoded.
 *
 * @param offset  Of the first chunk behind HEADER.
 * @return TRK_OK; TRK_E_END: this file has no INDEX that leads to all, or something is wrong with
 *         it: the index is then unusable and trk_scan_run is needed; TRK_E_MEMORY; TRK_E_SYSTEM;
 *         TRK_E_VERSION.
 */
TRK_MUST_USE enum trk_status trk_quick_run(const struct trk_scan_target *target, uint64_t offset,
                                           struct trk_error *error);

#endif
