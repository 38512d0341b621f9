#include "range.h"

#include <string.h>

#include "event_text.h"
#include "number.h"
#include "track/address.h"

struct trk_range trk_range_all(void)
{
    return (struct trk_range){.last = UINT64_MAX, .step = 1, .frame = UINT64_MAX};
}

static enum trk_status refuse(const char *text, const char *why, struct trk_error *error)
{
    return trk_error_set(error, TRK_E_ARGUMENT, "range '%.40s': %s", text, why);
}

/* FIRST, FIRST-, FIRST-LAST, each with /STEP. */
static enum trk_status parse_span(const char *text, const char *span, struct trk_range *out,
                                  struct trk_error *error)
{
    size_t length = strcspn(span, "/");
    if (span[length] && (!trk_number_parse(span + length + 1, &out->step) || out->step == 0)) {
        return refuse(text, "the step behind / is a number from 1 on", error);
    }
    const char *dash = memchr(span, '-', length);
    size_t first_length = dash ? (size_t)(dash - span) : length;
    if (!trk_number_parse_part(span, first_length, &out->first)) {
        return refuse(text, "expected N, N-M, N-, with /STEP, frame:N-M or region:0xADDRESS",
                      error);
    }
    out->last = dash ? UINT64_MAX : out->first;
    if (dash && first_length + 1 < length &&
        !trk_number_parse_part(dash + 1, length - first_length - 1, &out->last)) {
        return refuse(text, "what is behind - is not a number", error);
    }
    if (out->last < out->first) {
        return refuse(text, "it ends before it begins", error);
    }
    return TRK_OK;
}

static enum trk_status parse_region(const char *text, const char *address, struct trk_range *out,
                                    struct trk_error *error)
{
    uint64_t guest_addr;
    if (strncmp(address, "0x", 2) != 0 || !trk_number_parse(address, &guest_addr)) {
        return refuse(text, "region: wants a guest address, 0x and hexadecimal digits", error);
    }
    if (!trk_range_valid(TRK_ARENA_LOW_EXTENDED, guest_addr, 1)) {
        return refuse(text, "the address lies in no band of guest memory", error);
    }
    out->kind = TRK_RANGE_REGION;
    out->first = trk_region_address(trk_region_index(guest_addr));
    return TRK_OK;
}

enum trk_status trk_range_parse(const char *text, struct trk_range *out, struct trk_error *error)
{
    *out = trk_range_all();
    if (strncmp(text, "region:", 7) == 0) {
        return parse_region(text, text + 7, out, error);
    }
    if (strncmp(text, "frame:", 6) == 0) {
        out->kind = TRK_RANGE_FRAMES;
        return parse_span(text, text + 6, out, error);
    }
    if (strncmp(text, "time:", 5) == 0 || text[0] == '@') {
        return refuse(text, "time: and @FILE are not understood yet", error);
    }
    return parse_span(text, text, out, error);
}

static bool in_span(const struct trk_range *range, uint64_t number)
{
    return number >= range->first && number <= range->last &&
           (number - range->first) % range->step == 0;
}

bool trk_range_has(struct trk_range *range, const struct trk_trace_event *event)
{
    if (event->event.type == TRK_EVENT_FRAME) {
        range->frame = event->event.argument;
    }
    switch (range->kind) {
    case TRK_RANGE_EVENTS:
        return in_span(range, event->number);
    case TRK_RANGE_FRAMES:
        return range->frame != UINT64_MAX && in_span(range, range->frame);
    case TRK_RANGE_REGION:
        return trk_event_text_touches(&event->event, range->first, TRK_REGION_BYTES);
    }
    return false;
}

bool trk_range_ends_at(const struct trk_range *range, const struct trk_trace_event *event)
{
    return range->kind == TRK_RANGE_EVENTS && event->number >= range->last;
}
