/*
 * JSON objects as the commands print them.
 *
 * Each carries its schema's name and version. Numbers above 2^53 and all addresses are strings,
 * because readers keep numbers as doubles; what is not known is null. Text from files becomes valid
 * UTF-8. A want of memory ends the program with exit code 4.
 */
#ifndef CLI_JSON_OUT_H
#define CLI_JSON_OUT_H

#include <stdint.h>
#include <stdio.h>

#include <cjson/cJSON.h>

#include "track/status.h"

/* A new object with "schema": schema, for instance "trk-sim/1". */
cJSON *trk_json_out_object(const char *schema);
/* A new object at a list's end; the list's. */
cJSON *trk_json_out_item(cJSON *list);

/* Add a member. A text of NULL and a number of TRK_NOT_KNOWN become null. */
void trk_json_out_text(cJSON *object, const char *key, const char *text);
void trk_json_out_number(cJSON *object, const char *key, uint64_t number);
void trk_json_out_address(cJSON *object, const char *key, uint64_t address);

/* Add "exit_code" and "signal" of a process: one of them, or neither for -1 (not known), is null.
 */
void trk_json_out_end(cJSON *object, int32_t wait_status);

/* Add "error": what went wrong, and where. */
void trk_json_out_error(cJSON *object, const struct trk_error *error);

/* Print on standard output, a newline behind it, and free. */
void trk_json_out_print(cJSON *object);
/* The same without a line break inside, for commands that give an object a line. */
void trk_json_out_print_line(cJSON *object);

/* Copy text to out as valid UTF-8, each bad byte replaced; at most size - 1 bytes and a NUL. */
void trk_json_out_utf8(const char *text, char *out, size_t size);

/* Print what stands between the quotation marks of a JSON string. text: valid UTF-8. */
void trk_json_out_escaped(FILE *out, const char *text);

#endif
