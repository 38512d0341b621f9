#include "diff_print.h"

#include <inttypes.h>
#include <stdio.h>

#include "event_print.h"
#include "json_out.h"
#include "terminal.h"

void trk_diff_describe(const struct trk_event *event, char out[TRK_DIFF_TEXT_BYTES])
{
    struct trk_event_field fields[TRK_EVENT_FIELDS_MOST];
    size_t count = trk_event_text_fields(event, fields);
    FILE *file = fmemopen(out, TRK_DIFF_TEXT_BYTES, "w");
    out[0] = '\0';
    if (file == NULL) {
        return;
    }
    fputs(trk_event_type_name(event->type), file);
    trk_event_text_print(file, fields, count);
    fclose(file);
    out[TRK_DIFF_TEXT_BYTES - 1] = '\0';
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
    char told[TRK_DIFF_TEXT_BYTES] = "";
    printf("region 0x%" PRIx64 ": %" PRIu64 " of %" PRIu64 " differ, %" PRIu32
           " pages at the end\n",
           region->region_addr, region->differ, region->commands, region->pages);
    if (region->first == TRK_POLICY_LOG_NONE) {
        return;
    }
    const struct trk_policy_command *command = &said->diff->log.commands[region->first];
    trk_diff_describe(&command->event, told);
    printf("  event %" PRIu32 ", ", command->number);
    trk_terminal_text(stdout, thread_of(said->input, command, thread));
    fputs(": ", stdout);
    trk_terminal_text(stdout, told);
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
    if (diff->log.behind > 0) {
        printf("not run: %" PRIu64 " operations and accesses behind the first loss\n",
               diff->log.behind);
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
    char told[TRK_DIFF_TEXT_BYTES] = "";
    cJSON *object = cJSON_CreateObject();
    bool any = region->first != TRK_POLICY_LOG_NONE;
    const struct trk_policy_command *command =
        any ? &said->diff->log.commands[region->first] : NULL;
    if (any) {
        trk_diff_describe(&command->event, told);
    }
    trk_json_out_address(object, "region_addr", region->region_addr);
    trk_json_out_text(object, "thread", any ? thread_of(said->input, command, thread) : NULL);
    trk_json_out_number(object, "event", any ? command->number : TRK_NOT_KNOWN);
    trk_json_out_text(object, "text", any ? told : NULL);
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
    trk_json_out_number(object, "not_run", diff->log.behind);
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
