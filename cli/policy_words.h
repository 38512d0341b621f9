/*
 * A tracker's policy as words of a command line: "strict,page_size=16384".
 */
#ifndef CLI_POLICY_WORDS_H
#define CLI_POLICY_WORDS_H

#include "track/policy.h"
#include "track/status.h"

/**
 * Read a preset's name, then any number of key=value, with commas between.
 *
 * Keys and values are those of the scenario format: invalidate, download, arena, fault_width,
 * page_size, generations (true or false).
 *
 * @return TRK_OK; TRK_E_ARGUMENT, with the word that is wrong in error (out is then undefined).
 *
 * Allocates: no. Blocks: no. Signal-safe: no. Threads: any.
 */
TRK_MUST_USE enum trk_status trk_policy_words_read(const char *text, struct trk_policy *out,
                                                   struct trk_error *error);

#endif
