/*
 * JSON that somebody may have written by hand, taken as it stands or not at all: one value and
 * nothing behind it, no key twice in an object, no NUL in a text, behind which the rest would go
 * unread.
 */
#ifndef TRACES_JSON_TEXT_H
#define TRACES_JSON_TEXT_H

#include <cjson/cJSON.h>
#include <stddef.h>

#include "track/status.h"

TRK_EXTERN_C_BEGIN

/**
 * Parse a text.
 *
 * @param out  The value, to be given to cJSON_Delete().
 * @return TRK_OK; TRK_E_DAMAGED: error says from which byte on it is no JSON, or which key stands
 *         there twice; TRK_E_MEMORY. *out is NULL then.
 *
 * Allocates: yes. Blocks: no. Signal-safe: no. Threads: any.
 */
TRK_MUST_USE enum trk_status trk_json_text_parse(const char *text, size_t size_bytes, cJSON **out,
                                                 struct trk_error *error);

TRK_EXTERN_C_END

#endif
