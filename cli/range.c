#include "range.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "event_print.h"
#include "number.h"
#include "text_lines.h"
#include "track/address.h"

/* So many spans are looked at where steps may fill the gaps of other ones. */
#define STEPS_MOST (UINT64_C(1) << 26)

struct trk_range trk_range_all(void)
{
    return (struct trk_range){.last = UINT64_MAX,
                              .step = 1,
                              .first_tsc = TRK_NOT_KNOWN,
                              .last_event = UINT64_MAX,
                              .closest_region = UINT64_MAX};
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
        return refuse(
            text, "expected N, N-M, N-, with /STEP, frame:N-M, time:A-B, region:0xADDRESS", error);
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

/* A time: digits, a point and digits perhaps, a unit. In nanoseconds. */
static bool parse_time(const char *text, size_t length, uint64_t *out)
{
    static const struct {
        const char *unit;
        uint64_t ns;
    } units[] = {{"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}};
    size_t digits = strspn(text, "0123456789.");
    const char *point = memchr(text, '.', digits < length ? digits : length);
    size_t whole = point ? (size_t)(point - text) : digits;
    uint64_t number;
    if (digits >= length || !trk_number_parse_part(text, whole, &number)) {
        return false;
    }
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        uint64_t part = units[i].ns;
        if (length - digits != strlen(units[i].unit) ||
            memcmp(text + digits, units[i].unit, length - digits) != 0 ||
            number > UINT64_MAX / 2 / part) {
            continue;
        }
        *out = number * part;
        for (const char *at = text + whole + 1; point && at < text + digits; at++) {
            part /= 10;
            if (*at == '.' || part == 0) { /* finer than a nanosecond */
                return false;
            }
            *out += (uint64_t)(*at - '0') * part;
        }
        return !point || whole + 1 < digits;
    }
    return false;
}

static enum trk_status parse_times(const char *text, const char *span, struct trk_range *out,
                                   struct trk_error *error)
{
    const char *dash = strchr(span, '-');
    size_t length = dash ? (size_t)(dash - span) : strlen(span);
    out->kind = TRK_RANGE_TIME;
    if (!dash || !parse_time(span, length, &out->first) ||
        (dash[1] && !parse_time(dash + 1, strlen(dash + 1), &out->last))) {
        return refuse(text, "time: wants A-B or A-, like 1.2s-1.5s, in s, ms, us or ns", error);
    }
    return out->last < out->first ? refuse(text, "it ends before it begins", error) : TRK_OK;
}

static enum trk_status add_span(struct trk_range *out, const struct trk_range *line,
                                struct trk_error *error)
{
    if (out->set_count % 64 == 0) {
        struct trk_range_span *set = realloc(out->set, (out->set_count + 64) * sizeof *set);
        if (!set) {
            return trk_error_set(error, TRK_E_MEMORY, "out of memory");
        }
        out->set = set;
    }
    out->set[out->set_count++] = (struct trk_range_span){line->first, line->last, line->step};
    return TRK_OK;
}

static enum trk_status read_set(const char *text, FILE *file, struct trk_range *out,
                                struct trk_error *error)
{
    struct trk_text_lines lines = {.file = file};
    enum trk_status status = TRK_OK;
    char *line;
    while (status == TRK_OK && (line = trk_text_lines_next(&lines)) != NULL) {
        struct trk_range one = trk_range_all();
        line[strcspn(line, "#")] = 0;
        line[strcspn(line, " \t\r")] = 0;
        if (line[0]) {
            status = parse_span(line, line, &one, error);
            status = status == TRK_OK ? add_span(out, &one, error) : status;
        }
    }
    if (status == TRK_OK && lines.why) {
        status = trk_error_set(error, TRK_E_ARGUMENT, "range '%.40s', line %" PRIu64 ": %s", text,
                               lines.number, lines.why);
    }
    if (status == TRK_OK && ferror(file)) {
        status = refuse(text, "it cannot be read", error);
    }
    return status == TRK_OK && out->set_count == 0 ? refuse(text, "no range is in it", error)
                                                   : status;
}

static enum trk_status parse_set(const char *text, const char *path, struct trk_range *out,
                                 struct trk_error *error)
{
    FILE *file = fopen(path, "re");
    out->kind = TRK_RANGE_SET;
    if (!file) {
        return refuse(text, strerror(errno), error);
    }
    enum trk_status status = read_set(text, file, out, error);
    fclose(file);
    if (status != TRK_OK) {
        trk_range_free(out);
    }
    return status;
}

void trk_range_free(struct trk_range *range)
{
    free(range->set);
    range->set = NULL;
    range->set_count = 0;
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
    if (strncmp(text, "time:", 5) == 0) {
        return parse_times(text, text + 5, out, error);
    }
    if (text[0] == '@') {
        return parse_set(text, text + 1, out, error);
    }
    return parse_span(text, text, out, error);
}

static bool in_span(const struct trk_range *range, uint64_t number)
{
    return number >= range->first && number <= range->last &&
           (number - range->first) % range->step == 0;
}

static uint64_t distance(uint64_t one, uint64_t other)
{
    return one > other ? one - other : other - one;
}

/* Whether an event is about the region; which other one is closest to it. */
static bool is_about(struct trk_range *range, const struct trk_event *event)
{
    uint64_t at;
    if (trk_event_text_touches(range->trace, event, range->first, TRK_REGION_BYTES, &at)) {
        return true;
    }
    const uint64_t region = at - at % TRK_REGION_BYTES;
    if (at != TRK_NOT_KNOWN &&
        (range->closest_region == UINT64_MAX ||
         distance(region, range->first) < distance(range->closest_region, range->first))) {
        range->closest_region = region;
    }
    return false;
}

/* How far a frame is from the range; in it too, where steps pass it over. */
static uint64_t off(const struct trk_range *range, uint64_t frame)
{
    return frame < range->first  ? range->first - frame
           : frame > range->last ? frame - range->last
                                 : 0;
}

static void note(struct trk_range *range, const struct trk_trace_event *event)
{
    range->last_event = event->number;
    range->last_tsc = event->tsc;
    if (range->first_tsc == TRK_NOT_KNOWN) {
        range->first_tsc = event->tsc;
    }
    if (event->event.type != TRK_EVENT_FRAME) {
        return;
    }
    range->frame = event->event.argument;
    if (!range->in_frame || off(range, range->frame) <= off(range, range->closest_frame)) {
        range->closest_frame = range->frame;
    }
    range->in_frame = true;
}

bool trk_range_has(struct trk_range *range, const struct trk_trace_event *event)
{
    note(range, event);
    switch (range->kind) {
    case TRK_RANGE_EVENTS:
        return in_span(range, event->number);
    case TRK_RANGE_FRAMES:
        return range->in_frame && in_span(range, range->frame);
    case TRK_RANGE_TIME: {
        double ns = event->tsc < range->first_tsc ? 0
                                                  : (double)(event->tsc - range->first_tsc) * 1000 /
                                                        range->ticks_a_microsecond;
        return ns >= (double)range->first && ns <= (double)range->last;
    }
    case TRK_RANGE_SET:
        for (size_t i = 0; i < range->set_count; i++) {
            const struct trk_range_span *span = &range->set[i];
            if (event->number >= span->first && event->number <= span->last &&
                (event->number - span->first) % span->step == 0) {
                return true;
            }
        }
        return false;
    case TRK_RANGE_REGION:
        return is_about(range, &event->event);
    }
    return false;
}

bool trk_range_ends_at(const struct trk_range *range, const struct trk_trace_event *event)
{
    return range->kind == TRK_RANGE_EVENTS && event->number >= range->last;
}

/* ---- what there is instead ------------------------------------------------------------------- */

void trk_range_closest(const struct trk_range *range, char out[TRK_RANGE_CLOSEST_BYTES])
{
    const size_t room = TRK_RANGE_CLOSEST_BYTES;
    const struct trk_clock clock = {range->ticks_a_microsecond};
    char last[40];
    if (range->last_event == UINT64_MAX) {
        snprintf(out, room, "the trace has no events");
    } else if (range->kind == TRK_RANGE_EVENTS || range->kind == TRK_RANGE_SET) {
        snprintf(out, room, "the last event is %" PRIu64, range->last_event);
    } else if (range->kind == TRK_RANGE_REGION && range->closest_region == UINT64_MAX) {
        snprintf(out, room, "no event is about a region");
    } else if (range->kind == TRK_RANGE_REGION) {
        snprintf(out, room,
                 "no event is about the 4 MiB from 0x%" PRIx64 "; closest are 0x%" PRIx64,
                 range->first, range->closest_region);
    } else if (range->kind == TRK_RANGE_TIME) {
        trk_clock_print(&clock, range->last_tsc, range->first_tsc, last, sizeof last);
        snprintf(out, room, "the last event is at %s us", last);
    } else if (!range->in_frame) {
        snprintf(out, room, "the trace has no frames");
    } else {
        snprintf(out, room, "the %s frame is %" PRIu64,
                 range->closest_frame == range->frame ? "last" : "closest", range->closest_frame);
    }
}

/* ---- one piece ------------------------------------------------------------------------------- */

static int by_first(const void *one, const void *other)
{
    const struct trk_range_span *a = one, *b = other;
    return (a->first > b->first) - (a->first < b->first);
}

/* Whether there is more than one number and something between two of them is left out. */
static bool has_gaps(const struct trk_range_span *span)
{
    return span->step > 1 && span->last - span->first >= span->step;
}

/* The last event of a span. */
static uint64_t last_of(const struct trk_range_span *span)
{
    return span->step > 1 ? span->last - (span->last - span->first) % span->step : span->last;
}

/* Whether the event behind one is in spans that have steps. */
static bool steps_on(const struct trk_range *range, size_t count, uint64_t behind)
{
    for (size_t i = 0; i < count; i++) {
        const struct trk_range_span *span = &range->set[i];
        if (has_gaps(span) && behind < last_of(span) &&
            (behind + 1 - span->first) % span->step == 0) {
            return true;
        }
    }
    return false;
}

/* The spans of a list in one, by their beginnings: false where it ends before a gap, or, with a
 * step of 0, where the steps are too many to be gone. */
static bool join_set(const struct trk_range *range, struct trk_range_span *all)
{
    uint64_t end = 0, work = 0;
    bool stepped = false;
    size_t begun = 0;
    for (size_t i = 0; i < range->set_count; i++) {
        const uint64_t last = last_of(&range->set[i]);
        end = last > end ? last : end;
        stepped |= has_gaps(&range->set[i]);
    }
    *all = (struct trk_range_span){range->set[0].first, range->set[0].first, 1};
    for (;;) {
        for (; begun < range->set_count; begun++) {
            const struct trk_range_span *span = &range->set[begun];
            if (span->first > all->last && span->first - all->last > 1) {
                break;
            }
            const uint64_t last = has_gaps(span) ? span->first : last_of(span);
            all->last = last > all->last ? last : all->last;
        }
        work += begun;
        all->step = work > STEPS_MOST ? 0 : 1;
        if (all->last >= end) {
            return true;
        }
        if (all->step == 0 || !stepped || !steps_on(range, begun, all->last)) {
            return false;
        }
        all->last++;
    }
}

enum trk_status trk_range_join(struct trk_range *range, struct trk_error *error)
{
    const struct trk_range_span one = {range->first, range->last, range->step};
    struct trk_range_span all;
    if (range->kind != TRK_RANGE_SET) {
        return has_gaps(&one)
                   ? trk_error_set(error, TRK_E_ARGUMENT, "one piece is wanted, without steps")
                   : TRK_OK;
    }
    qsort(range->set, range->set_count, sizeof range->set[0], by_first);
    const bool joined = join_set(range, &all);
    if (!joined && all.step == 0) {
        return trk_error_set(
            error, TRK_E_ARGUMENT,
            "one piece is wanted, and the list goes on in steps behind event %" PRIu64, all.last);
    }
    if (!joined) {
        return trk_error_set(error, TRK_E_ARGUMENT,
                             "one piece is wanted, and the list has a gap behind event %" PRIu64,
                             all.last);
    }
    trk_range_free(range);
    range->kind = TRK_RANGE_EVENTS;
    range->first = all.first;
    range->last = all.last;
    return TRK_OK;
}
