/*
 * The one pass over a file that finds its chunks, its streams and its damage.
 *
 * Tries every chunk's checksums and decodes no event. After a damaged place it goes on at the next
 * undamaged header. Rules: [F-6] to [F-17].
 */
#ifndef RECORDER_SCAN_H
#define RECORDER_SCAN_H

#include "index.h"
#include "unpack.h"

/**
 * Fill an index from the first chunk behind HEADER on.
 *
 * @return TRK_OK, whatever the damage; TRK_E_VERSION, TRK_E_MEMORY, TRK_E_SYSTEM.
 */
TRK_MUST_USE enum trk_status trk_scan_run(struct trk_unpack *unpack, uint64_t offset,
                                          struct trk_index *index, struct trk_error *error);

#endif
