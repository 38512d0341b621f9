/*
 * Goal: no HEADER text makes those crash or hang that look into it; what redaction leaves is JSON
 * without what is private.
 * Method: each input is the text, NULs cut off as the reader refuses them.
 */
#include "given.h"

#include <cjson/cJSON.h>
#include <string.h>

#include "clock.h"
#include "fuzz.h"
#include "redact.h"

static void redact(const char *text)
{
    static struct trk_redact all;
    static const char *const gone[] = {"command", "environment", "host", "options", "pid"};
    trk_redact_init(&all, NULL); /* no event is noted */
    trk_redact_note_region(&all, 7);
    trk_redact_decide(&all);
    char *left = trk_redact_header(&all, text);
    expect(left != NULL, "fuzz_header: nothing is left");
    cJSON *header = cJSON_Parse(left);
    expect(cJSON_IsObject(header), "fuzz_header: what is left is no object");
    for (size_t i = 0; i < sizeof gone / sizeof gone[0]; i++)
        expect(!cJSON_HasObjectItem(header, gone[i]), "fuzz_header: something private is left");
    cJSON_Delete(header);
    cJSON_free(left);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
    char *text = malloc(size_bytes + 1); /* of its own, so that a sanitizer sees its end */
    if (text == NULL)
        return 0;
    memcpy(text, bytes, size_bytes);
    text[size_bytes] = '\0';
    struct trk_clock clock = trk_clock_from_header(text);
    expect(clock.ticks_a_microsecond == 0 ||
               (clock.ticks_a_microsecond >= 1 && clock.ticks_a_microsecond <= 1e6),
           "fuzz_header: a clock that nobody has");
    redact(text);
    free(text);
    return 0;
}
