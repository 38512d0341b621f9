#include "symptom_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "contents.h"
#include "terminal.h"

#define ADDRESSES (UINT64_C(1) << 46) /* guest addresses are below */
#define SIZE_MOST (UINT64_C(1) << 32)

static bool read_numbers(const char *text, uint64_t *frame, struct trk_symptom_range *range)
{
    char copy[128];
    struct trk_content_place place;
    if (strlen(text) >= sizeof copy) {
        return false;
    }
    snprintf(copy, sizeof copy, "%s", text);
    if (trk_contents_place(copy, &place) != TRK_CONTENT_GOOD) {
        return false;
    }
    *frame = place.frame;
    range->guest_addr = place.guest_addr;
    range->size_bytes = place.size_bytes;
    return true;
}

bool trk_symptom_text_read(const char *text, uint64_t *frame, struct trk_symptom_range *range)
{
    if (!read_numbers(text, frame, range)) {
        trk_terminal_say("bisect", "--symptom: expected frame:N,range:A+S, such as "
                                   "frame:12,range:0x200010000+4096");
        return false;
    }
    bool sized = range->size_bytes > 0 && range->size_bytes <= SIZE_MOST;
    bool below =
        range->guest_addr < ADDRESSES && range->size_bytes <= ADDRESSES - range->guest_addr;
    if (!sized || !below) {
        trk_terminal_say("bisect", "--symptom: the range 0x%" PRIx64 "+%" PRIu64 ": expected %s",
                         range->guest_addr, range->size_bytes,
                         sized ? "one below 2^46" : "1 to 2^32 bytes");
    }
    return sized && below;
}
