#include "diff_print.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "json_out.h"
#include "terminal.h"
#include "track/address.h"

struct telling {
    const struct trk_diff *diff;
    uint32_t count;                                   /* lanes that are told of */
    char told[2][TRK_DIFF_TOLD][TRK_DIFF_TEXT_BYTES]; /* what their events say */
};

static uint32_t event_of(const struct trk_diff_hunk *hunk, int side)
{
    return side == 0 ? hunk->event_a : hunk->event_b;
}

static uint64_t page_addr(const struct trk_diff_hunk *hunk)
{
    return hunk->place < TRK_PLACE_TIMELINE ? hunk->place * TRK_HOST_PAGE_BYTES : TRK_NOT_KNOWN;
}

static uint64_t region_addr(const struct trk_diff_hunk *hunk)
{
    return hunk->place < TRK_PLACE_TIMELINE ? page_addr(hunk) & ~(TRK_REGION_BYTES - 1)
                                            : TRK_NOT_KNOWN;
}

/* Read a side again, for what the told events say. */
static enum trk_status read_told(struct telling *telling, int side, struct trk_trace *trace,
                                 struct trk_error *error)
{
    struct trk_trace_event event;
    uint64_t last = 0;
    bool any = false;
    for (uint32_t i = 0; i < telling->count; i++) {
        uint32_t wanted = event_of(&telling->diff->lanes[i], side);
        if (wanted != TRK_DIFF_NONE) {
            last = wanted > last ? wanted : last;
            any = true;
        }
    }
    enum trk_status status = trk_trace_rewind(trace, error);
    while (any && status == TRK_OK) {
        status = trk_trace_next(trace, &event, error);
        for (uint32_t i = 0; status == TRK_OK && i < telling->count; i++) {
            if (event_of(&telling->diff->lanes[i], side) == event.number) {
                trk_diff_describe(&event.event, telling->told[side][i]);
            }
        }
        if (status == TRK_OK && event.number >= last) {
            break;
        }
    }
    return status == TRK_E_END ? TRK_OK : status;
}

static void print_side(const struct telling *telling, uint32_t lane, int side)
{
    uint32_t event = event_of(&telling->diff->lanes[lane], side);
    printf("  %c: ", side == 0 ? 'A' : 'B');
    if (event == TRK_DIFF_NONE) {
        puts("nothing here");
        return;
    }
    printf("event %" PRIu32 ", ", event);
    trk_terminal_text(stdout, telling->told[side][lane]);
    putchar('\n');
}

static void print_lane(const struct telling *telling, uint32_t lane)
{
    const struct trk_diff_hunk *hunk = &telling->diff->lanes[lane];
    fputs("thread ", stdout);
    trk_terminal_text(stdout, hunk->thread);
    if (hunk->place < TRK_PLACE_TIMELINE) {
        printf(", region 0x%" PRIx64 ", page 0x%" PRIx64, region_addr(hunk), page_addr(hunk));
    } else if (hunk->place != TRK_PLACE_NONE) {
        printf(", timeline %" PRIu64, hunk->place & ~TRK_PLACE_TIMELINE);
    }
    printf(": %" PRIu32 " of A, %" PRIu32 " of B%s\n", hunk->count_a, hunk->count_b,
           hunk->hunks > 1 ? "; further ones behind" : "");
    print_side(telling, lane, 0);
    print_side(telling, lane, 1);
}

/* ---- what was compared ----------------------------------------------------------------------- */

static uint64_t missing_of(const struct trk_diff *diff)
{
    return diff->missing[0] + diff->missing[1];
}

static bool is_whole(const struct trk_diff_said *said)
{
    return said->looks[0].complete && said->looks[1].complete && missing_of(said->diff) == 0;
}

/* Whether nothing stands against nothing: then they are neither the same nor do they differ. */
static bool is_nothing(const struct trk_diff_said *said)
{
    const struct trk_diff *diff = said->diff;
    return diff->lane_count == 0 && !is_whole(said) &&
           (diff->judged[0] == 0 || diff->judged[1] == 0);
}

int trk_diff_verdict(const struct trk_diff_said *said)
{
    return said->diff->lane_count > 0 ? TRK_EXIT_BROKEN
           : is_whole(said)           ? TRK_EXIT_OK
                                      : TRK_EXIT_DAMAGED;
}

static void print_headline(const struct trk_diff_said *said)
{
    const bool differ = said->diff->lane_count > 0;
    fputs("traces: ", stdout);
    if (is_nothing(said)) {
        puts("nothing of them can be compared");
        return;
    }
    trk_terminal_word(differ ? TRK_TONE_BAD : TRK_TONE_GOOD, differ ? "differ" : "same");
    puts(differ || is_whole(said) ? "" : " as far as they go");
}

/* What is not there of a side. */
static void print_lost(const struct trk_diff_said *said, int side)
{
    const struct trk_trace_state state = trk_trace_state(said->inputs[side].trace);
    const struct trk_look *look = &said->looks[side];
    const char *before = ": ";
    if (look->complete && look->part == TRK_LOOK_ALL) {
        return;
    }
    printf("lost of %c", side == 0 ? 'A' : 'B');
    if (state.damaged_chunks > 0) {
        printf("%s%" PRIu64 " chunk%s", before, state.damaged_chunks,
               state.damaged_chunks > 1 ? "s" : "");
        before = ", ";
    }
    if (state.dropped > 0) {
        printf("%s%" PRIu64 " event%s", before, state.dropped, state.dropped > 1 ? "s" : "");
        before = ", ";
    }
    if (!state.ended || state.cut) {
        printf("%sits end", before);
        before = ", ";
    }
    if (state.header_lost) {
        printf("%sits header: what part it is of is not known", before);
    } else if (look->part == TRK_LOOK_SPARSE) {
        printf("%sall but one region (it is a part)", before);
    } else if (look->part == TRK_LOOK_PART) {
        printf("%sthe time before and behind it (it is a part)", before);
    } else if (before[0] == ':') {
        printf("%swhat is damaged", before);
    }
    putchar('\n');
}

static void print_compared(const struct trk_diff_said *said)
{
    const struct trk_diff *diff = said->diff;
    if (is_whole(said)) {
        return;
    }
    printf("compared: %" PRIu64 " events of A with %" PRIu64 " of B\n", diff->judged[0],
           diff->judged[1]);
    if (missing_of(diff) > 0) {
        printf("not compared: %" PRIu64 " events that the other trace may have lost, %" PRIu64
               " of A, %" PRIu64 " of B\n",
               missing_of(diff), diff->missing[0], diff->missing[1]);
    }
    if (said->places_unknown) {
        puts("not compared: pages, since the lowest memory of one trace may be lost and the "
             "others' places follow from it");
    }
    for (int side = 0; side < 2; side++) {
        print_lost(said, side);
    }
}

static void print_text(const struct trk_diff_said *said, const struct telling *telling)
{
    const struct trk_diff *diff = said->diff;
    print_headline(said);
    printf("%" PRIu32 " of %" PRIu32 " threads' parts of pages differ, %" PRIu64
           " events of A, %" PRIu64 " of B\n",
           diff->lane_count, diff->compared, diff->items_a, diff->items_b);
    for (uint32_t i = 0; i < telling->count; i++) {
        fputs(i == 0 ? "first: " : "then: ", stdout);
        print_lane(telling, i);
    }
    if (diff->lane_count > telling->count) {
        printf("and %" PRIu32 " more\n", diff->lane_count - telling->count);
    }
    print_compared(said);
}

static cJSON *lane_json(const struct telling *telling, uint32_t lane)
{
    const struct trk_diff_hunk *hunk = &telling->diff->lanes[lane];
    cJSON *object = cJSON_CreateObject();
    trk_json_out_text(object, "thread", hunk->thread);
    trk_json_out_address(object, "region_addr", region_addr(hunk));
    trk_json_out_address(object, "page_addr", page_addr(hunk));
    for (int side = 0; side < 2; side++) {
        uint32_t event = event_of(hunk, side);
        bool there = event != TRK_DIFF_NONE;
        trk_json_out_number(object, side == 0 ? "event_a" : "event_b",
                            there ? event : TRK_NOT_KNOWN);
        trk_json_out_text(object, side == 0 ? "text_a" : "text_b",
                          there ? telling->told[side][lane] : NULL);
        trk_json_out_number(object, side == 0 ? "count_a" : "count_b",
                            side == 0 ? hunk->count_a : hunk->count_b);
    }
    trk_json_out_number(object, "places", hunk->hunks);
    return object;
}

static void add_lost(cJSON *object, const struct trk_diff_said *said, int side)
{
    const struct trk_trace_state state = trk_trace_state(said->inputs[side].trace);
    cJSON *lost = cJSON_AddObjectToObject(object, side == 0 ? "lost_a" : "lost_b");
    trk_json_out_number(lost, "chunks", state.damaged_chunks);
    trk_json_out_number(lost, "events", state.dropped);
    cJSON_AddBoolToObject(lost, "end", !state.ended || state.cut);
    cJSON_AddBoolToObject(lost, "part", said->looks[side].part != TRK_LOOK_ALL);
}

static void print_json(const struct trk_diff_said *said, const struct telling *telling)
{
    cJSON *object = trk_json_out_object(TRK_DIFF_SCHEMA);
    const struct trk_diff *diff = said->diff;
    trk_json_out_text(object, "a", said->inputs[0].path);
    trk_json_out_text(object, "b", said->inputs[1].path);
    cJSON_AddBoolToObject(object, "complete", is_whole(said));
    if (is_nothing(said)) {
        cJSON_AddNullToObject(object, "same");
    } else {
        cJSON_AddBoolToObject(object, "same", diff->lane_count == 0);
    }
    trk_json_out_number(object, "compared", diff->compared);
    trk_json_out_number(object, "differ", diff->lane_count);
    trk_json_out_number(object, "items_a", diff->items_a);
    trk_json_out_number(object, "items_b", diff->items_b);
    trk_json_out_number(object, "compared_a", diff->judged[0]);
    trk_json_out_number(object, "compared_b", diff->judged[1]);
    trk_json_out_number(object, "missing", missing_of(diff));
    trk_json_out_number(object, "missing_a", diff->missing[0]);
    trk_json_out_number(object, "missing_b", diff->missing[1]);
    cJSON_AddBoolToObject(object, "places_unknown", said->places_unknown);
    add_lost(object, said, 0);
    add_lost(object, said, 1);
    cJSON *list = cJSON_AddArrayToObject(object, "differences");
    for (uint32_t i = 0; i < telling->count; i++) {
        cJSON_AddItemToArray(list, lane_json(telling, i));
    }
    trk_json_out_print(object);
}

enum trk_status trk_diff_print(const struct trk_diff_said *said, bool json, struct trk_error *error)
{
    struct telling telling = {.diff = said->diff};
    telling.count = said->diff->lane_count < TRK_DIFF_TOLD ? said->diff->lane_count : TRK_DIFF_TOLD;
    for (int side = 0; side < 2; side++) {
        enum trk_status status = read_told(&telling, side, said->inputs[side].trace, error);
        if (status != TRK_OK) {
            return status;
        }
    }
    if (json) {
        print_json(said, &telling);
    } else {
        print_text(said, &telling);
    }
    return TRK_OK;
}
