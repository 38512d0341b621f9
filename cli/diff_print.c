#include "diff_print.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "event_print.h"
#include "json_out.h"
#include "terminal.h"
#include "track/address.h"

/* What an event says, in a line. */
struct told {
    char text[240];
};

struct telling {
    const struct trk_diff *diff;
    uint32_t count; /* lanes that are told of */
    struct told told[2][TRK_DIFF_TOLD];
};

static uint32_t event_of(const struct trk_diff_hunk *hunk, int side)
{
    return side == 0 ? hunk->event_a : hunk->event_b;
}

static uint64_t page_addr(const struct trk_diff_hunk *hunk)
{
    return hunk->place < TRK_ITEMS_TIMELINE ? hunk->place * TRK_HOST_PAGE_BYTES : TRK_NOT_KNOWN;
}

static uint64_t region_addr(const struct trk_diff_hunk *hunk)
{
    return hunk->place < TRK_ITEMS_TIMELINE ? page_addr(hunk) & ~(TRK_REGION_BYTES - 1)
                                            : TRK_NOT_KNOWN;
}

static void describe(const struct trk_event *event, struct told *told)
{
    struct trk_event_field fields[TRK_EVENT_FIELDS_MOST];
    size_t count = trk_event_text_fields(event, fields);
    FILE *out = fmemopen(told->text, sizeof told->text, "w");
    if (out == NULL) {
        return;
    }
    fputs(trk_event_type_name(event->type), out);
    trk_event_text_print(out, fields, count);
    fclose(out);
    told->text[sizeof told->text - 1] = '\0';
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
                describe(&event.event, &telling->told[side][i]);
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
    trk_terminal_text(stdout, telling->told[side][lane].text);
    putchar('\n');
}

static void print_lane(const struct telling *telling, uint32_t lane)
{
    const struct trk_diff_hunk *hunk = &telling->diff->lanes[lane];
    fputs("thread ", stdout);
    trk_terminal_text(stdout, hunk->thread);
    if (hunk->place < TRK_ITEMS_TIMELINE) {
        printf(", region 0x%" PRIx64 ", page 0x%" PRIx64, region_addr(hunk), page_addr(hunk));
    } else if (hunk->place != TRK_ITEMS_NO_PLACE) {
        printf(", timeline %" PRIu64, hunk->place & ~TRK_ITEMS_TIMELINE);
    }
    printf(": %" PRIu32 " of A, %" PRIu32 " of B%s\n", hunk->count_a, hunk->count_b,
           hunk->hunks > 1 ? "; further ones behind" : "");
    print_side(telling, lane, 0);
    print_side(telling, lane, 1);
}

static void print_text(const struct telling *telling)
{
    const struct trk_diff *diff = telling->diff;
    fputs("traces: ", stdout);
    trk_terminal_word(diff->lane_count > 0 ? TRK_TONE_BAD : TRK_TONE_GOOD,
                      diff->lane_count > 0 ? "differ" : "same");
    printf("\n%" PRIu32 " of %" PRIu32 " threads' parts of pages differ, %" PRIu64
           " events of A, %" PRIu64 " of B\n",
           diff->lane_count, diff->compared, diff->items_a, diff->items_b);
    for (uint32_t i = 0; i < telling->count; i++) {
        fputs(i == 0 ? "first: " : "then: ", stdout);
        print_lane(telling, i);
    }
    if (diff->missing > 0) {
        printf("not compared: %" PRIu64 " events that the other trace may have lost\n",
               diff->missing);
    }
    if (diff->lane_count > telling->count) {
        printf("and %" PRIu32 " more\n", diff->lane_count - telling->count);
    }
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
                          there ? telling->told[side][lane].text : NULL);
        trk_json_out_number(object, side == 0 ? "count_a" : "count_b",
                            side == 0 ? hunk->count_a : hunk->count_b);
    }
    trk_json_out_number(object, "places", hunk->hunks);
    return object;
}

static void print_json(const struct telling *telling, struct trk_input inputs[2],
                       const struct trk_items items[2])
{
    cJSON *object = trk_json_out_object(TRK_DIFF_SCHEMA);
    const struct trk_diff *diff = telling->diff;
    trk_json_out_text(object, "a", inputs[0].path);
    trk_json_out_text(object, "b", inputs[1].path);
    cJSON_AddBoolToObject(object, "complete", items[0].complete && items[1].complete);
    cJSON_AddBoolToObject(object, "same", diff->lane_count == 0);
    trk_json_out_number(object, "compared", diff->compared);
    trk_json_out_number(object, "differ", diff->lane_count);
    trk_json_out_number(object, "items_a", diff->items_a);
    trk_json_out_number(object, "items_b", diff->items_b);
    trk_json_out_number(object, "missing", diff->missing);
    cJSON *list = cJSON_AddArrayToObject(object, "differences");
    for (uint32_t i = 0; i < telling->count; i++) {
        cJSON_AddItemToArray(list, lane_json(telling, i));
    }
    trk_json_out_print(object);
}

enum trk_status trk_diff_print(struct trk_input inputs[2], const struct trk_items items[2],
                               const struct trk_diff *diff, bool json, struct trk_error *error)
{
    struct telling telling = {.diff = diff};
    telling.count = diff->lane_count < TRK_DIFF_TOLD ? diff->lane_count : TRK_DIFF_TOLD;
    for (int side = 0; side < 2; side++) {
        enum trk_status status = read_told(&telling, side, inputs[side].trace, error);
        if (status != TRK_OK) {
            return status;
        }
    }
    if (json) {
        print_json(&telling, inputs, items);
    } else {
        print_text(&telling);
    }
    return TRK_OK;
}

static void add_rows(cJSON *object, const struct trk_scenario_diff *diff)
{
    cJSON *list = cJSON_AddArrayToObject(object, "rows");
    for (size_t i = 0; i < diff->count; i++) {
        const struct trk_scenario_diff_row *row = &diff->rows[i];
        cJSON *one = cJSON_CreateObject();
        trk_json_out_text(one, "key", row->key);
        trk_json_out_text(one, "a", row->a[0] ? row->a : NULL);
        trk_json_out_text(one, "b", row->b[0] ? row->b : NULL);
        cJSON_AddBoolToObject(one, "same", row->equal);
        cJSON_AddItemToArray(list, one);
    }
}

static void print_rows(const struct trk_scenario_diff *diff, const char *what)
{
    printf("%s: ", what);
    trk_terminal_word(diff->differ ? TRK_TONE_BAD : TRK_TONE_GOOD,
                      diff->differ ? "differ" : "same");
    putchar('\n');
    for (size_t i = 0; i < diff->count; i++) {
        const struct trk_scenario_diff_row *row = &diff->rows[i];
        if (row->equal) {
            printf("  %s: ", row->key);
            trk_terminal_text(stdout, row->a);
        } else {
            printf("  %s\n    A: ", row->key);
            trk_terminal_text(stdout, row->a[0] ? row->a : "-");
            fputs("\n    B: ", stdout);
            trk_terminal_text(stdout, row->b[0] ? row->b : "-");
        }
        putchar('\n');
    }
    if (!diff->complete) {
        puts("not every order was tried");
    }
}

void trk_diff_print_scenarios(const struct trk_scenario_diff *diff, const char *const names[2],
                              bool json)
{
    if (!json) {
        print_rows(diff, "runs");
        return;
    }
    cJSON *object = trk_json_out_object(TRK_DIFF_SCHEMA);
    trk_json_out_text(object, "a", names[0]);
    trk_json_out_text(object, "b", names[1]);
    cJSON_AddBoolToObject(object, "complete", diff->complete);
    cJSON_AddBoolToObject(object, "same", !diff->differ);
    add_rows(object, diff);
    trk_json_out_print(object);
}

/* ---- policies -------------------------------------------------------------------------------- */

static const char *thread_of(const struct trk_input *input,
                             const struct trk_policy_command *command, char out[32])
{
    trk_event_text_thread(trk_trace_stream(input->trace, command->stream)->name, command->stream,
                          out, 32);
    return out;
}

static void print_region(const struct trk_diff_policies *said,
                         const struct trk_policy_region *region)
{
    char thread[32];
    struct told told = {.text = ""};
    printf("region 0x%" PRIx64 ": %" PRIu64 " of %" PRIu64 " differ, %" PRIu32
           " pages at the end\n",
           region->region_addr, region->differ, region->commands, region->pages);
    if (region->first == TRK_POLICY_LOG_NONE) {
        return;
    }
    const struct trk_policy_command *command = &said->diff->log.commands[region->first];
    describe(&command->event, &told);
    printf("  event %" PRIu32 ", ", command->number);
    trk_terminal_text(stdout, thread_of(said->input, command, thread));
    fputs(": ", stdout);
    trk_terminal_text(stdout, told.text);
    printf("\n  A: %s\n  B: %s\n", region->text[0], region->text[1]);
}

static void print_policies(const struct trk_diff_policies *said)
{
    const struct trk_policy_diff *diff = said->diff;
    fputs("trace: ", stdout);
    trk_terminal_word(diff->differ > 0 ? TRK_TONE_BAD : TRK_TONE_GOOD,
                      diff->differ > 0 ? "differ" : "same");
    printf("\n%" PRIu32 " of %" PRIu32 " regions differ; %" PRIu64 " operations and %" PRIu64
           " accesses run under A, %s, and B, %s\n",
           diff->differ, diff->count, diff->operations, diff->accesses, said->names[0],
           said->names[1]);
    if (diff->left_out + diff->log.foreign > 0) {
        printf("%" PRIu64 " operations left out\n", diff->left_out + diff->log.foreign);
    }
    for (uint32_t i = 0; i < diff->differ && i < TRK_DIFF_TOLD; i++) {
        fputs(i == 0 ? "first: " : "then: ", stdout);
        print_region(said, &diff->regions[i]);
    }
    if (diff->differ > TRK_DIFF_TOLD) {
        printf("and %" PRIu32 " more\n", diff->differ - TRK_DIFF_TOLD);
    }
    if (said->window != NULL) {
        print_rows(said->window, "orders of a window");
    }
}

static cJSON *region_json(const struct trk_diff_policies *said,
                          const struct trk_policy_region *region)
{
    char thread[32];
    struct told told = {.text = ""};
    cJSON *object = cJSON_CreateObject();
    bool any = region->first != TRK_POLICY_LOG_NONE;
    const struct trk_policy_command *command =
        any ? &said->diff->log.commands[region->first] : NULL;
    if (any) {
        describe(&command->event, &told);
    }
    trk_json_out_address(object, "region_addr", region->region_addr);
    trk_json_out_text(object, "thread", any ? thread_of(said->input, command, thread) : NULL);
    trk_json_out_number(object, "event", any ? command->number : TRK_NOT_KNOWN);
    trk_json_out_text(object, "text", any ? told.text : NULL);
    trk_json_out_text(object, "text_a", any ? region->text[0] : NULL);
    trk_json_out_text(object, "text_b", any ? region->text[1] : NULL);
    trk_json_out_number(object, "commands", region->commands);
    trk_json_out_number(object, "differ", region->differ);
    trk_json_out_number(object, "pages", region->pages);
    return object;
}

void trk_diff_print_policies(const struct trk_diff_policies *said, bool json)
{
    const struct trk_policy_diff *diff = said->diff;
    if (!json) {
        print_policies(said);
        return;
    }
    bool window_differs = said->window != NULL && said->window->differ;
    cJSON *object = trk_json_out_object(TRK_DIFF_SCHEMA);
    trk_json_out_text(object, "path", said->input->path);
    trk_json_out_text(object, "a", said->names[0]);
    trk_json_out_text(object, "b", said->names[1]);
    cJSON_AddBoolToObject(object, "complete", said->complete);
    cJSON_AddBoolToObject(object, "same", diff->differ == 0 && !window_differs);
    trk_json_out_number(object, "operations", diff->operations);
    trk_json_out_number(object, "accesses", diff->accesses);
    trk_json_out_number(object, "left_out", diff->left_out + diff->log.foreign);
    trk_json_out_number(object, "compared", diff->count);
    trk_json_out_number(object, "differ", diff->differ);
    cJSON *list = cJSON_AddArrayToObject(object, "differences");
    for (uint32_t i = 0; i < diff->differ && i < TRK_DIFF_TOLD; i++) {
        cJSON_AddItemToArray(list, region_json(said, &diff->regions[i]));
    }
    if (said->window != NULL) {
        add_rows(object, said->window);
    } else {
        cJSON_AddNullToObject(object, "rows");
    }
    trk_json_out_print(object);
}
